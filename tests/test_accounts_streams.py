"""Streams whose lines do not all name their session: rows, counters and transcripts are counted together, once."""

import json
from pathlib import Path
from typing import Any

import pytest
from making import jsonl

import reread
from reread.reports.report import Report as UsageReport

S, OTHER = "11111111-2222-4333-8444-555555555555", "66666666-2222-4333-8444-555555555555"
MODEL = "claude-sonnet-4-20250514"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))


def init(session: str | None = S) -> dict[str, Any]:
    return named({"type": "system", "subtype": "init", "model": MODEL, "cwd": "/w"}, session)


def row(id: str = "msg_1", session: str | None = None, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": 5000}
    message = {"id": id, "role": "assistant", "model": MODEL, "content": [], "stop_reason": "end_turn", "usage": usage}
    return named({"type": "assistant", "message": message, **more}, session)


def total(cost: float = 0.08, session: str | None = S, **more: Any) -> dict[str, Any]:
    return named({"type": "result", "subtype": "success", "total_cost_usd": cost, **more}, session)


def named(value: dict[str, Any], session: str | None) -> dict[str, Any]:
    return value if session is None else {**value, "session_id": session}


def by_model(responses: int = 1) -> dict[str, Any]:
    return {"modelUsage": {MODEL: {"inputTokens": 3 * responses, "outputTokens": 5000 * responses, "costUSD": 0.08}}}


def stored(*values: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of a captured conversation."""
    line = {"conversationId": "talk", "agentId": "main", "timestamp": "2026-03-02T10:00:00.000Z"}
    return [{"id": str(n), **line, "claudeMessage": value} for n, value in enumerate(values)]


def assert_once(report: UsageReport, responses: int = 1, cost: float = 0.08, sessions: int = 1) -> None:
    """Nothing is counted twice: not the tokens, and not the cost beside what the client reported of the same rows."""
    assert (report.totals.responses, report.totals.output_tokens) == (responses, 5000 * responses)
    comparison = report.comparison
    assert comparison is not None
    assert (comparison.sessions, comparison.other_sessions) == (sessions, 0)
    assert comparison.best_usd == pytest.approx(cost)
    assert comparison.computed_usd == pytest.approx(report.totals.cost_usd)


NAMINGS = {
    "all but the rows": [init(), row(), total()],
    "only the first line": [init(), row(), total(session=None)],
    "only the last line": [init(None), row(), total()],
    "only the row": [init(None), row(session=S), total(session=None)],
    "no line": [init(None), row(), total(session=None)],
    "no first line": [row(), total()],
    "rows with other fields": [init(), row(uuid="u1", timestamp="2026-03-02T10:00:00.000Z"), total()],
    "a total by model": [init(), row(), total(**by_model())],
    "a total before the name": [row(), total(session=None), row(session=S), total()],
    "an agent's row": [init(), row(parent_tool_use_id="toolu_1"), total(**by_model())],
}


@pytest.mark.parametrize("records", NAMINGS.values(), ids=NAMINGS.keys())
@pytest.mark.parametrize("wrap", [list, lambda records: stored(*records)], ids=["printed", "captured"])
def test_a_stream_is_one_session_whichever_of_its_lines_say_so(records: list[Any], wrap: Any, tmp_path: Path) -> None:
    path = tmp_path / "stream.jsonl"
    path.write_bytes(jsonl(*wrap(records)))
    assert_once(reread.usage(path))
    assert_once(reread.usage(path.read_bytes()))
    for by in ("session", "project"):
        assert len(reread.usage(path, by=by).rows) == 1, by
    assert reread.open(path).usage.responses == 1


def test_a_copy_of_a_stream_under_another_name_adds_nothing(tmp_path: Path) -> None:
    records = [init(), row(), row("msg_2"), total()]
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(jsonl(*records))
    assert_once(reread.usage(tmp_path / "a.jsonl", tmp_path / "b.jsonl"), responses=2)


def test_the_transcript_of_a_stream_has_its_rows(tmp_path: Path) -> None:
    stream = tmp_path / "stream.jsonl"
    stream.write_bytes(jsonl(init(), row(), total(**by_model())))
    transcript = tmp_path / f"{S}.jsonl"
    more = {"sessionId": S, "requestId": "req_1", "uuid": "u1", "timestamp": "2026-03-02T10:00:00.000Z", "cwd": "/w"}
    transcript.write_bytes(jsonl({**row(), **more}))
    assert_once(reread.usage(stream, transcript))


def test_rows_belong_to_the_session_that_was_named_last(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_bytes(jsonl(init(), row(), total(), init(OTHER), row("msg_2"), row("msg_3"), total(0.16, OTHER)))
    report = reread.usage(path, by="session")
    assert {group["session"]: group["responses"] for group in report.rows} == {S: 1, OTHER: 2}
    assert_once(report, responses=3, cost=0.24, sessions=2)


def test_how_often_a_growing_stream_is_read_makes_no_difference(tmp_path: Path) -> None:
    records = [init(None), row(), row("msg_2"), total(), row("msg_3"), total(0.24)]
    path = tmp_path / "stream.jsonl"
    for n in range(len(records)):
        with path.open("ab") as file:
            file.write(json.dumps(records[n]).encode() + b"\n")
        report = reread.usage(path)
        assert report == reread.usage(path, cache=False)
    assert_once(report, responses=3, cost=0.24)
