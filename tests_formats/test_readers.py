"""The real readers of each format read every session: Harbor, atif, datasets, TRL and OpenTelemetry.

The samples and `tests/real` are always read; if `REREAD_REAL_CLIENT` is set, so is its `data/` folder.
"""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from exported import attributes, check_atif, check_chat, check_otlp, check_pairs

import reread
from reread.cli._options import SAMPLES

HERE = Path(__file__).parent
LARGER = os.environ.get("REREAD_REAL_CLIENT")


def every_session() -> Iterator[reread.Session]:
    roots = [HERE.parent / "tests" / "real", *([Path(LARGER) / "data"] if LARGER else [])]
    paths = [Path(header.path) for header in reread.sessions(root=SAMPLES)]
    paths += [path for root in roots for path in sorted(root.glob("*/*/projects/*/*.jsonl"))]
    for path in paths:
        if not path.name.startswith("agent-"):
            yield reread.open(path)


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


def test_opentelemetry_parses_every_trace() -> None:
    pytest.importorskip("opentelemetry.proto")
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    for session in every_session():
        spans = check_otlp(session)
        document = json.loads(reread.export(session, "otlp"))
        for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for name in ("traceId", "spanId", "parentSpanId"):  # OTLP has hex where protobuf's JSON has base64
                if name in span:
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        request = ParseDict(document, ExportTraceServiceRequest())
        parsed = request.resource_spans[0].scope_spans[0].spans
        assert [span.name for span in parsed] == [span["name"] for span in spans]
        assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in parsed)
        responses = [attributes(span) for span in spans if span["name"].startswith("chat")]
        if len(session.branches) == 1 and set(session.dialects) <= {"native"}:
            counted = sum(int(one["gen_ai.usage.output_tokens"]) for one in responses)
            assert counted == session.usage.output_tokens
