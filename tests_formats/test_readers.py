"""The real readers of each format read every session: Harbor, atif, datasets and TRL."""

import json
from pathlib import Path
from typing import Any

import pytest
from every import every_session
from exported import check_atif, check_chat, check_pairs


def test_atif_accepts_every_trajectory() -> None:
    atif = pytest.importorskip("atif")
    for session in every_session():
        trajectory = atif.Trajectory.model_validate(check_atif(session))
        assert trajectory.session_id == session.id
        assert len(trajectory.subagent_trajectories or ()) <= len(session.agents)


def test_harbor_accepts_every_trajectory() -> None:
    module = pytest.importorskip("harbor.utils.trajectory_validator", reason="Harbor needs Python 3.12")
    for session in every_session():
        validator = module.TrajectoryValidator()
        assert validator.validate(check_atif(session)), (session, validator.errors)


def tokenizer() -> Any:
    """Return a tokenizer with a chat template that TRL ships, and next to no vocabulary."""
    trl = pytest.importorskip("trl")
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
    words = Tokenizer(models.WordLevel({"x": 0}, unk_token="x"))
    return PreTrainedTokenizerFast(tokenizer_object=words, chat_template=template)


def loaded(path: Path, cache: Path) -> Any:
    datasets = pytest.importorskip("datasets")
    return datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(cache))


@pytest.mark.parametrize(
    ("form", "check", "columns"),
    [("chat", check_chat, ("messages",)), ("pairs", check_pairs, ("prompt", "chosen", "rejected"))],
    ids=["chat", "pairs"],
)
def test_datasets_loads_every_line_and_trl_applies_a_template(
    tmp_path: Path, form: str, check: Any, columns: tuple[str, ...]
) -> None:
    tokens = tokenizer()
    from trl.data_utils import apply_chat_template

    lines = [line for session in every_session() for line in check(session)]
    file = tmp_path / f"{form}.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = loaded(file, tmp_path / "cache")
    assert len(rows) == len(lines) > 0
    for line, row in zip(lines, rows, strict=True):
        assert [row[name] for name in columns] == [line[name] for name in columns]
        example = {name: row[name] for name in columns}
        made = apply_chat_template(example, tokens, tools=json.loads(row["tools"]))
        for name in columns:
            said = row[name][-1]["content"]
            assert said.strip() in made["text" if name == "messages" else name]
