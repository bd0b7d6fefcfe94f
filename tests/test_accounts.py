"""The rule of counting, case by case.

A case in `fixtures/accounts` is a text file: what it proves, the files it is about (`== path`), and what must come of
them (`>> totals`, `>> by=day tz=UTC`; one JSON line a row, of which only the figures that are given are compared).
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.reports.usage_report import FIGURES, report_value

CASES = sorted((Path(__file__).parent / "fixtures" / "accounts").glob("*.case"))


@dataclass
class Case:
    """One case file, taken apart."""

    files: dict[str, list[str]] = field(default_factory=dict)
    expected: list[tuple[dict[str, str], list[Any]]] = field(default_factory=list)


def parse(path: Path) -> Case:
    case = Case()
    lines: list[Any] = []
    for line in path.read_bytes().decode().split("\n"):
        if line.startswith("== "):
            lines = case.files[line[3:]] = []
        elif line.startswith(">> "):
            lines = []
            case.expected.append((dict(word.split("=", 1) for word in line[3:].split() if "=" in word), lines))
        elif not line.startswith("# ") and line:
            lines.append(json.loads(line) if case.expected else line)
    return case


def lay_out(case: Case, folder: Path, end: str = "\n") -> None:
    for name, lines in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes("".join(line + end for line in lines).encode())


def agree(got: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        if isinstance(value, float):
            assert got[name] == pytest.approx(value, abs=1e-9), name
        else:
            assert got[name] == value, name


def check(case: Case, *sources: Any, **options: Any) -> None:
    for asked, wanted in case.expected:
        value = report_value(reread.usage(*sources, **options, **asked))
        if asked.get("by"):
            assert [[row[g] for g in asked["by"].split(",")] for row in value["rows"]] == [
                [row.get(g, value["rows"][n][g]) for g in asked["by"].split(",")] for n, row in enumerate(wanted)
            ]
            for got, row in zip(value["rows"], wanted, strict=True):
                agree(got, row)
        else:
            agree(value["totals"], wanted[0])


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nonexistent")
    monkeypatch.delenv("REREAD_PRICES", raising=False)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_case_is_counted_as_the_rule_says(path: Path, tmp_path: Path) -> None:
    case = parse(path)
    lay_out(case, tmp_path)
    check(case, tmp_path)
    check(case, tmp_path)  # from the cache


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_rule_whatever_the_order_and_the_line_ends(path: Path, tmp_path: Path) -> None:
    case = parse(path)
    lay_out(case, tmp_path, end="\r\n")
    files = sorted((file for file in tmp_path.rglob("*.jsonl") if file.name != "journal.jsonl"), reverse=True)
    check(case, files, cache=False)
    for file in files:
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().rstrip(b"\r\n"))
    check(case, *files, cache=False)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_copies_of_files_add_nothing(path: Path, tmp_path: Path) -> None:
    case = parse(path)
    lay_out(case, tmp_path / "one")
    lay_out(case, tmp_path / "two")
    check(case, tmp_path / "one", tmp_path / "two", cache=False)


def test_every_row_has_every_figure(tmp_path: Path) -> None:
    lay_out(parse(CASES[0]), tmp_path)
    value = report_value(reread.usage(tmp_path, by="day,model"))
    assert set(value) == {"rows", "totals"}
    assert all(list(row) == ["day", "model", *FIGURES] for row in value["rows"])
    assert list(value["totals"]) == [*FIGURES, "unpriced_models", "lower_bound"]


def test_a_line_of_many_megabytes(tmp_path: Path) -> None:
    line = {
        "type": "assistant",
        "sessionId": "a",
        "requestId": "r",
        "message": {
            "usage": {"input_tokens": 1, "output_tokens": 2},
            "id": "m",
            "model": "claude-opus-5-5",
            "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "x" * 6_000_000}],
        },
    }
    small = {**line, "message": {**line["message"], "id": "m2", "content": []}, "requestId": "r2"}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(small) + "\n")
    assert reread.usage(tmp_path).totals.responses == 2
    assert reread.usage((tmp_path / "a.jsonl").read_bytes()).totals.output_tokens == 4


def test_a_row_that_no_model_said_is_no_usage_of_its_message(tmp_path: Path) -> None:
    def row(output: int, model: str, **more: Any) -> str:
        usage = {"input_tokens": 1, "output_tokens": output}
        message = {
            "id": "m",
            "role": "assistant",
            "model": model,
            "stop_reason": "end_turn",
            "usage": usage,
            "content": [],
        }
        return json.dumps({"type": "assistant", "sessionId": "a", "requestId": "r", "message": message, **more}) + "\n"

    file = tmp_path / "a.jsonl"
    real = row(2, "claude-opus-5-5", uuid="1")
    file.write_text(
        real + row(3, "<synthetic>", uuid="2") + row(4, "claude-opus-5-5", uuid="3", isApiErrorMessage=True)
    )
    session = reread.open(file)
    assert [message.usage.output_tokens for message in session.messages if message.usage.responses] == [2]
    assert session.usage.output_tokens == 2


def test_a_price_file_goes_before_the_bundled_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(parse(next(path for path in CASES if path.stem == "unknown-models")), tmp_path)
    prices = tmp_path / "prices.json"
    prices.write_text('{"models": {"kimi-k2": {"input": 1, "output": 10}}}')
    totals = reread.usage(tmp_path, prices=prices).totals
    assert totals.cost_usd == pytest.approx(0.008)
    assert "kimi-k2" not in totals.unpriced_models
    monkeypatch.setenv("REREAD_PRICES", str(prices))
    assert reread.usage(tmp_path).totals.cost_usd == pytest.approx(0.008)
    assert reread.open(tmp_path / "projects/q/b.jsonl").usage.cost_usd == pytest.approx(0.002)


class TestChoosing:
    """Which spends are counted."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        rows = [
            ("a", "m1", "2026-11-10T10:00:00Z", "claude-opus-5-5", "/w/one"),
            ("a", "m2", "2026-11-11T10:00:00Z", "claude-sonnet-5-5", "/w/one/sub"),
            ("b", "m3", "2026-11-12T10:00:00Z", "claude-opus-5", "/w/onetwo"),
        ]
        for session, id, when, model, cwd in rows:
            path = tmp_path / "projects" / "p" / f"{session}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            message = {"id": id, "model": model, "stop_reason": "end_turn", "usage": {"output_tokens": 1}}
            row = {"type": "assistant", "sessionId": session, "requestId": id, "timestamp": when, "cwd": cwd}
            with path.open("a") as file:
                file.write(json.dumps({**row, "message": message}) + "\n")
        return tmp_path

    @pytest.mark.parametrize(
        ("options", "ids"),
        [
            ({"since": "2026-11-11", "tz": "UTC"}, 2),
            ({"since": "2026-11-11T10:00:00+00:00"}, 2),
            ({"since": "2026-11-11T10:00:01+00:00"}, 1),
            ({"until": "2026-11-11", "tz": "UTC"}, 2),
            ({"until": "2026-11-11", "since": "2026-11-11", "tz": "UTC"}, 1),
            ({"until": "2026-11-11T10:00:00+00:00"}, 1),
            ({"since": "2026-11-12", "tz": "+14:00"}, 2),
            ({"model": "opus"}, 2),
            ({"model": "claude-opus-5"}, 1),
            ({"model": ["claude-opus-5", "sonnet"]}, 2),
            ({"model": "claude-opus-*"}, 2),
            ({"model": "haiku"}, 0),
            ({"project": "/w/one"}, 2),
            ({"project": "/w/one/sub"}, 1),
            ({"project": ["/w/one/sub", "/w/onetwo"]}, 2),
        ],
    )
    def test_by_time_model_and_project(self, tree: Path, options: dict[str, Any], ids: int) -> None:
        assert reread.usage(root=tree, **options).totals.responses == ids

    def test_a_session_by_path_or_id(self, tree: Path) -> None:
        assert reread.usage(tree / "projects/p/a.jsonl").totals.responses == 2
        assert reread.usage("b", root=tree).totals.responses == 1
        assert reread.usage([tree / "projects/p/a.jsonl", "b"], root=tree).totals.responses == 3
        assert reread.usage(reread.open(tree / "projects/p/b.jsonl")).totals.responses == 1
        with (tree / "projects/p/b.jsonl").open("rb") as file:
            assert reread.usage(file).totals.responses == 1

    def test_linked_folders_are_followed_once(self, tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        root = tmp_path_factory.mktemp("linked")
        (root / "projects").mkdir()
        (root / "projects" / "p").symlink_to(tree / "projects" / "p")
        (root / "projects" / "round").symlink_to(root / "projects")
        assert reread.usage(root=root).totals.responses == 3

    def test_misuse_says_what_to_do(self, tree: Path) -> None:
        wrong = {"by": ("colour", "cannot group"), "tz": ("Mars", "time zone"), "since": ("x", "Invalid time")}
        for option, (value, words) in wrong.items():
            with pytest.raises(reread.Misuse, match=words):
                reread.usage(root=tree, **{option: value})
        with pytest.raises(reread.Misuse, match="Empty path"):
            reread.usage("")
        with pytest.raises(reread.NotFound):
            reread.usage(tree / "nowhere.jsonl")

    def test_rows_can_be_asked_by_name(self, tree: Path) -> None:
        report = reread.usage(root=tree, by="session")
        assert report["rows"][0]["session"] == "a"
        assert report.rows[0]["responses"] == report.rows[0].usage.responses == 2
        assert report["totals"]["output_tokens"] == report.totals.output_tokens == 3


def test_the_machine_is_searched_where_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(parse(CASES[0]), tmp_path)
    (tmp_path / "history.jsonl").write_text("{}\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert reread.usage().totals == reread.usage(tmp_path).totals
    assert os.environ["CLAUDE_CONFIG_DIR"] == str(tmp_path)
