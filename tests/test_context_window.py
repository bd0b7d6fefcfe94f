"""How full the context was, and what compactions took out of it."""

import json
from typing import Any

import reread


def record(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "sessionId": "s", "isSidechain": False, **more}


def prompt(uuid: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": f"do {uuid}"}
    return record("user", uuid=uuid, parentUuid=parent, message=message, **more)


def answer(uuid: str, parent: str, model: str = "claude-opus-4-5", **usage: int) -> dict[str, Any]:
    content = [{"type": "text", "text": uuid}]
    message = {"id": f"m{uuid}", "role": "assistant", "model": model, "content": content, "usage": usage}
    return record("assistant", uuid=uuid, parentUuid=parent, requestId=f"r{uuid}", message=message)


def opened(*rows: dict[str, Any]) -> reread.Session:
    return reread.open("\n".join(map(json.dumps, rows)).encode())


def test_the_context_grows_turn_by_turn() -> None:
    session = opened(
        prompt("1"),
        answer("2", "1", input_tokens=1000, output_tokens=100),
        answer("3", "2", input_tokens=1000, cache_read_input_tokens=1200, output_tokens=50),
        prompt("4", "3"),
        answer("5", "4", cache_creation_input_tokens=500, cache_read_input_tokens=3500, output_tokens=10),
        prompt("6", "5"),
    )
    first, second, third = session.context
    assert (first.turn, first.tokens, first.peak, first.model) == (1, 2250, 2250, "claude-opus-4-5")
    assert (second.tokens, second.window, second.window_stated) == (4010, 200_000, False)
    assert second.share == 4010 / 200_000
    assert (third.tokens, third.peak, third.share, third.window) == (None, None, None, None)


def test_what_a_compaction_dropped() -> None:
    figures = {"trigger": "auto", "preTokens": 150_000, "postTokens": 12_000}
    boundary = record("system", subtype="compact_boundary", uuid="b", parentUuid=None, compactMetadata=figures)
    summary = prompt("c", "b", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    session = opened(
        prompt("1"),
        answer("2", "1", input_tokens=149_000, output_tokens=900),
        boundary,
        summary,
        answer("3", "c", input_tokens=13_000, output_tokens=5),
    )
    (fill,) = session.context
    assert (fill.peak, fill.tokens) == (149_900, 13_005)
    (dropped,) = fill.compactions
    assert (dropped.trigger, dropped.before, dropped.after, dropped.tokens) == ("auto", 150_000, 12_000, 138_000)


def test_a_compaction_without_figures_is_told_by_the_response_before() -> None:
    summary = prompt("c", "2", isCompactSummary=True)
    session = opened(prompt("1"), answer("2", "1", input_tokens=900, output_tokens=9), summary)
    (dropped,) = session.context[0].compactions
    assert (dropped.before, dropped.after, dropped.tokens) == (909, None, None)


def test_the_window_is_the_clients_where_it_says() -> None:
    result = {"type": "result", "session_id": "s", "modelUsage": {"claude-opus-5[1m]": {"contextWindow": 1_000_000}}}
    (fill,) = opened(prompt("1"), answer("2", "1", "claude-opus-5", input_tokens=9), result).context
    assert (fill.window, fill.window_stated) == (1_000_000, True)


def test_a_prompt_beyond_the_window_was_one_of_a_million() -> None:
    (fill,) = opened(prompt("1"), answer("2", "1", "claude-sonnet-4-5", input_tokens=300_000)).context
    assert fill.window == 1_000_000


def test_an_automatic_compaction_tells_that_the_window_was_no_million() -> None:
    def compacted(trigger: str, peak: int) -> list[int | None]:
        figures = {"trigger": trigger, "preTokens": 170_000, "postTokens": 12_000}
        boundary = record("system", subtype="compact_boundary", uuid="b", parentUuid=None, compactMetadata=figures)
        first = answer("2", "1", "claude-opus-5-5", input_tokens=peak, output_tokens=900)
        after = [prompt("c", "b", isCompactSummary=True), prompt("4", "c"), answer("5", "4", "claude-opus-5-5")]
        return [fill.window for fill in opened(prompt("1"), first, boundary, *after).context]

    assert set(compacted("auto", 164_000)) == {200_000}
    assert set(compacted("manual", 164_000)) == {1_000_000}
    assert set(compacted("auto", 300_000)) == {1_000_000}


def test_an_unknown_model_has_no_window() -> None:
    (fill,) = opened(prompt("1"), answer("2", "1", "other", input_tokens=300)).context
    assert (fill.tokens, fill.window, fill.share) == (300, None, None)
