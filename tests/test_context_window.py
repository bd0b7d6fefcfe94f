"""How full the context was, and what compactions took out of it."""

import json
from typing import Any

import pytest
from batches import table

import reread
from reread.accounting.prices import bundled_prices
from reread.session import context_window
from reread.session.context_window import ContextDrop, ContextFill, ContextGauge


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
    rows = prompt("1"), answer("2", "1", input_tokens=900, output_tokens=9), prompt("3", "2")
    fills = opened(*rows, prompt("c", "3", isCompactSummary=True)).context
    assert [drop.before for fill in fills for drop in fill.compactions] == [909]


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


def test_a_fill_has_the_compactions_of_its_turn_with_all_they_say() -> None:
    figures = {"trigger": "manual", "preTokens": 5_000, "postTokens": 7_000}
    micro = record("system", subtype="microcompact_boundary", uuid="m", parentUuid="4", microcompactMetadata={})
    boundary = record("system", subtype="compact_boundary", uuid="b", parentUuid=None, compactMetadata=figures)
    session = opened(
        prompt("1"),
        answer("2", "1", input_tokens=900, output_tokens=9),
        prompt("3", "2"),
        answer("4", "3", input_tokens=1900, output_tokens=9),
        micro,
        boundary,
        prompt("c", "b", isCompactSummary=True),
    )
    drops = [
        (one.trigger, one.before, one.after, one.tokens, one.micro, one.line) for one in session.context[-1].compactions
    ]
    assert drops == [(None, 1909, None, None, True, 5), ("manual", 5_000, 7_000, 0, False, 6)]
    assert [fill.turn for fill in session.context if fill.compactions] == [session.context[-1].turn]
    assert ContextFill(1, None, None, None, 0, False).compactions == []


@pytest.mark.parametrize(
    ("tokens", "window", "share"), [(50, 200, 0.25), (0, 200, 0.0), (None, 200, None), (50, None, None), (50, 0, None)]
)
def test_the_share_of_a_window(tokens: int | None, window: int | None, share: float | None) -> None:
    assert ContextFill(1, "m", tokens, tokens, window, False).share == share


@pytest.mark.parametrize(
    ("model", "peak", "stated", "window"),
    [
        (None, 5, {}, (None, False)),
        ("claude-sonnet-4-5", 200_000, {}, (200_000, False)),
        ("claude-sonnet-4-5", 200_001, {}, (1_000_000, False)),
        ("claude-sonnet-4-5[1m]", 5, {}, (1_000_000, True)),
        ("claude-sonnet-4-5[1m]", 5, {"claude-sonnet-4-5": 7}, (7, True)),
        ("claude-sonnet-4-5", 9, {"claude-opus-4-5": 7}, (200_000, False)),
        ("other", 999_999, {}, (None, False)),
    ],
)
def test_a_window_is_stated_or_usual(model: str | None, peak: int, stated: dict[str, int], window: Any) -> None:
    assert context_window._window(model, peak, stated, bundled_prices()) == window


def test_results_state_windows_and_the_last_one_counts() -> None:
    usages: list[Any] = [
        {"claude-opus-4-5": {"contextWindow": 5}, "claude-sonnet-4-5": {"contextWindow": 6}},
        {"claude-opus-4-5": {"contextWindow": True}, "claude-sonnet-4-5": {"contextWindow": 8}},
        {"claude-opus-4-5": {"contextWindow": "9"}, "claude-sonnet-4-5": 9},
        [1],
    ]
    results = [{"type": "result", "session_id": "s", "modelUsage": usage} for usage in usages]
    session = opened(prompt("1"), answer("2", "1", input_tokens=9), *results)
    assert context_window._stated_windows(session.conversation) == {"claude-opus-4-5": 5, "claude-sonnet-4-5": 8}


@table(
    ("drops", "sizes", "usual"),
    [
        ([("auto", 170_000, False)], [5], True),
        ([("auto", 200_000, False)], [None], True),
        ([("auto", 200_001, False)], [5], False),
        ([("auto", 170_000, False)], [200_000], True),
        ([("auto", 170_000, False)], [200_001], False),
        ([("auto", 170_000, False), ("auto", 300_000, False)], [], False),
        ([("manual", 170_000, False)], [5], False),
        ([("auto", 170_000, True)], [5], False),
        ([("auto", None, False)], [5], False),
        ([], [5], False),
    ],
)
def test_a_usual_window_was_full(drops: list[Any], sizes: list[int | None], usual: bool) -> None:
    gauge = ContextGauge(opened(prompt("1")).conversation)
    gauge._sizes = sizes
    dropped = [ContextDrop(trigger, before, None, None, micro, 1) for trigger, before, micro in drops]
    assert gauge._compacted_as_usual(dropped) is usual


def test_a_window_that_the_client_states_is_not_taken_for_a_usual_one() -> None:
    figures = {"trigger": "auto", "preTokens": 170_000, "postTokens": 12_000}
    boundary = record("system", subtype="compact_boundary", uuid="b", parentUuid=None, compactMetadata=figures)
    rows = [prompt("1"), answer("2", "1", "claude-opus-5-5[1m]", input_tokens=9), boundary]
    (fill,) = opened(*rows, prompt("c", "b", isCompactSummary=True)).context
    assert (fill.window, fill.window_stated) == (1_000_000, True)


def test_fills_are_kept_until_something_is_measured_again() -> None:
    session = opened(
        prompt("1"),
        answer("2", "1", input_tokens=9),
        answer("3", "2", input_tokens=90, output_tokens=1),
        prompt("4", "3"),
    )
    conversation, prices = session.conversation, bundled_prices()
    gauge = ContextGauge(conversation)
    assert len(list(gauge.measure())) == len(conversation.messages) and list(gauge.measure()) == []
    assert gauge._sizes == [None, 9, 91, None]
    first, again = (gauge.fills(conversation.turns, prices) for _ in range(2))
    assert [(fill.tokens, fill.peak) for fill in first] == [(91, 91), (None, None)]
    assert all(one is other for one, other in zip(first, again, strict=True))
    gauge._sizes[1] = 500
    gauge._sizes[2] = 5
    gauge.remeasure(conversation.messages[2:3])
    changed = gauge.fills(conversation.turns, prices)[0]
    assert (changed.tokens, changed.peak) == (91, 500)
    del gauge._sizes[2:]
    gauge.remeasure(conversation.messages[2:])  # they are measured with what is new
    assert len(gauge._sizes) == 2 and len(list(gauge.measure())) == 2
    gauge.remeasure(conversation.messages)
    assert gauge.fills(conversation.turns, prices) == first == context_window.context_of(conversation, prices)
