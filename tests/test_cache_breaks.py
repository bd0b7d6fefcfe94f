"""Cache breaks: found where a cache forgot, with the cause that was forced, and nowhere else."""

import importlib
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import msgspec
import pytest
from batches import HERE, LARGER, each, table
from command import run
from effort import one_in
from hypothesis import given
from hypothesis import strategies as st
from making import SESSION, attachment, jsonl, read, reply, state, system, thinking, user
from prompt_cache import Client, PromptCache

import reread
from reread.accounting.billing import Charge
from reread.accounting.prices import bundled_prices
from reread.base.choices import CacheBreakCause
from reread.base.times import timestamp_ms
from reread.session import cache_breaks
from reread.session.cache_breaks import LEAST_TOKENS, CacheBreak, CacheBreaks
from reread.session.cache_breaks import _is_before as is_before  # pyright: ignore[reportPrivateUsage]


def idle(client: Client, **time: float) -> None:
    client.now += timedelta(**time)
    client.prompt()


def switch_model(client: Client) -> None:
    client.model = "claude-sonnet-4-5"
    client.prompt()


def compact(client: Client) -> None:
    figures = {"trigger": "auto", "preTokens": 90_000}
    logical = client.last
    client.last = None
    client.write(system("compact_boundary", compactMetadata=figures, logicalParentUuid=logical))
    client.write(user("summary", isCompactSummary=True))
    client.messages = [("summary", 8_000, False)]


def clear_results(client: Client) -> None:
    client.write(system("microcompact_boundary", microcompactMetadata={"trigger": "auto", "tokensSaved": 100}))
    client.messages = [(f"cleared {content}", size, kind) for content, size, kind in client.messages]
    client.prompt()


def rewind(client: Client) -> None:
    client.last, client.messages = "u2", client.messages[:1]
    client.cache.expires.clear()
    client.prompt(4_000)


def rewind_to_what_expired(client: Client) -> None:
    """Go back to what was used last eight minutes ago, though the session was never idle for five."""
    for _ in range(2):
        client.now += timedelta(minutes=4)
        client.respond(1_000)
    rewind(client)


def resume(client: Client) -> None:
    client.records.append(state("cost-state"))
    client.shape = [("tools", 9_000), ("another folder", 6_000)]
    client.prompt()


def upgrade(client: Client) -> None:
    client.fields["version"] = "2.1.301"
    client.shape = [("more tools", 9_500), ("system", 6_000)]
    client.prompt()


def name_no_version(client: Client) -> None:
    del client.fields["version"]
    forget(client)


def forget(client: Client) -> None:
    client.cache.expires.clear()
    client.prompt()


def keep_warm(client: Client, messages: int) -> None:
    """Have another session read the beginning of the prompt."""
    prompt = [*client.shape, *((content, size) for content, size, _ in client.messages[:messages])]
    client.cache.request(client.model, prompt, client.now, timedelta(minutes=5))


def compact_and_wait(client: Client, *, warm: bool) -> None:
    compact(client)
    client.now += timedelta(minutes=22)
    if warm:
        keep_warm(client, 0)
    client.prompt()


def compact_after(client: Client) -> None:
    """Compact four minutes after the last request, which uses the cache, and go on four minutes later."""
    client.now += timedelta(minutes=4)
    compact(client)
    client.now += timedelta(minutes=4)
    client.prompt()


def switch_model_after(client: Client) -> None:
    client.now += timedelta(minutes=22)
    switch_model(client)


def diagnosed(reason: str) -> dict[str, Any]:
    return {"diagnostics": {"cache_miss_reason": {"type": reason, "cache_missed_input_tokens": 5}}}


FORCED: list[tuple[Callable[[Client], None], dict[str, Any], CacheBreakCause, str, str]] = [
    (lambda client: idle(client, minutes=22), {}, "idle_over_5m", "time", "22 min idle"),
    (lambda client: idle(client, hours=3), {}, "idle_over_1h", "time", "3 h idle"),
    (switch_model, {}, "model_changed", "transcript", "model switched from opus-4-5 to sonnet-4-5"),
    (switch_model_after, {}, "model_changed", "transcript", "model switched from opus-4-5 to sonnet-4-5"),
    (compact, {}, "compaction", "transcript", "compacted (auto)"),
    (lambda client: compact_and_wait(client, warm=False), {}, "idle_over_5m", "time", "22 min idle"),
    (lambda client: compact_and_wait(client, warm=True), {}, "compaction", "transcript", "compacted (auto)"),
    (clear_results, {}, "context_edited", "transcript", "old results cleared"),
    (rewind, {}, "rewind", "transcript", "rewound"),
    (rewind_to_what_expired, {}, "rewind", "transcript", "rewound"),
    (resume, {}, "resume", "transcript", "resumed"),
    (upgrade, {}, "resume", "transcript", "resumed with client 2.1.301"),
    (forget, {}, "unknown", "none", "nothing was read"),
    (name_no_version, {}, "unknown", "none", "nothing was read"),
    (forget, {"model": None}, "unknown", "none", "nothing was read"),
    (forget, diagnosed("tools_changed"), "tools_changed", "server", ""),
    (forget, diagnosed("system_changed"), "system_changed", "server", ""),
    (forget, diagnosed("messages_changed"), "messages_changed", "server", ""),
    (compact, diagnosed("messages_changed"), "compaction", "server", "compacted (auto)"),
    (forget, diagnosed("unavailable"), "unknown", "none", "nothing was read"),
    (switch_model, diagnosed("tools_changed"), "tools_changed", "server", ""),
    (
        switch_model,
        diagnosed("model_changed"),
        *("model_changed", "server", "model switched from opus-4-5 to sonnet-4-5"),
    ),
    (compact_after, {}, "compaction", "transcript", "compacted (auto)"),
    (forget, diagnosed("a new reason"), "unknown", "none", "nothing was read"),
    (lambda client: idle(client, minutes=22), diagnosed("system_changed"), "system_changed", "server", ""),
]


@table(("force", "message", "cause", "evidence", "detail"), FORCED)
def test_a_forced_cause_is_named(
    force: Callable[[Client], None], message: dict[str, Any], cause: str, evidence: str, detail: str
) -> None:
    client = Client()
    client.prompt()
    client.respond(20_000)
    client.respond(6_000, 6_000)
    force(client)
    id = client.respond(1_000, **message)
    client.respond()
    (found,) = client.opened().cache_breaks
    assert (found.message, found.cause, found.evidence, found.detail) == (id, cause, evidence, detail)


def test_the_causes_that_were_forced_in_the_real_client_are_named() -> None:
    (path,) = (HERE.parent / "examples" / "cost").glob("projects/*/*.jsonl")
    found = [(one.turn, one.cause, one.evidence) for one in reread.open(path).cache_breaks]
    assert found == [
        (3, "idle_over_5m", "time"),
        (4, "model_changed", "requests"),
        (5, "tools_changed", "requests"),
        (6, "system_changed", "requests"),
    ]


@table(
    ("name", "found"),
    [
        ("warm", []),
        ("idle_over_5m", [(2, "time", "7 min idle")]),
        (
            "idle_over_1h",
            [(3, "time", "1 h 10 min idle")],
        ),  # half an hour before that is no break: an hour was paid for
        ("model_changed", [(2, "requests", "model switched from sonnet-4-5 to opus-5-5")]),
        ("tools_changed", [(2, "requests", "tools changed: +mcp__berths__book, +mcp__berths__depth")]),
        ("system_changed", [(2, "requests", "system prompt changed")]),
        ("compaction", [(4, "requests", "compacted (manual)")]),
        ("resume", [(2, "transcript", "resumed")]),
        (
            "rewind",
            [(2, "transcript", "rewound")],
        ),  # ten minutes after what it went back to, two after the last request
        ("agent_start", [(2, "transcript", "agent started from this conversation")]),
    ],
)
def test_each_cause_that_was_forced_in_the_real_client_is_named(name: str, found: list[tuple[int, str, str]]) -> None:
    (path,) = (HERE / "real-causes" / name).glob("projects/*/*.jsonl")
    session = reread.open(path)
    breaks = session.cache_breaks
    assert [(one.cause, one.turn, one.evidence, one.detail) for one in breaks] == [(name, *one) for one in found]
    assert [one.agent is not None for one in breaks] == [name == "agent_start"] * len(found)
    is_cut = name in ("compaction", "agent_start")
    assert all(request.verified for request in session.requests) is not is_cut and session.requests
    check_sums(session)


def other_tools(client: Client) -> None:
    client.shape = [("tools more", 9_500), ("system", 6_000)]
    client.prompt()


def other_description(client: Client) -> None:
    client.shape = [("tools", 9_500), ("system", 6_000)]
    client.cache.expires.clear()
    client.prompt()


def other_system(client: Client) -> None:
    client.shape = [("tools", 9_000), ("another system", 6_000)]
    client.prompt()


def other_message(client: Client) -> None:
    client.messages[1] = ("edited", 9_000, False)
    client.prompt()


def late_message_after(client: Client, *, warm: int | None = None, minutes: float = 22) -> None:
    """Change the last message but one after some time; another session may have kept the beginning warm."""
    client.now += timedelta(minutes=minutes)
    if warm is not None:
        keep_warm(client, warm)
    client.messages[-2] = ("edited", 20_000, False)
    client.prompt()


def other_system_after(client: Client, **time: float) -> None:
    client.now += timedelta(**time)
    other_system(client)


def resume_with_other_memory(client: Client) -> None:
    client.records.append(state("cost-state"))
    other_message(client)


def forget_and_change(client: Client) -> None:
    """Lose the whole cache too soon for it to have expired, and change a late message."""
    client.cache.expires.clear()
    late_message_after(client, minutes=2)


LATE = "message 5 of 5 changed"


@table(
    ("force", "cause", "evidence", "detail"),
    [
        (late_message_after, "idle_over_5m", "time", "22 min idle"),
        (lambda client: late_message_after(client, minutes=2), "messages_changed", "requests", LATE),
        (forget_and_change, "messages_changed", "requests", LATE),
        (lambda client: late_message_after(client, warm=0), "idle_over_5m", "time", "22 min idle"),
        (lambda client: late_message_after(client, warm=4), "messages_changed", "requests", LATE),
        (lambda client: other_system_after(client, hours=2), "system_changed", "requests", "system prompt changed"),
        (lambda client: compact_and_wait(client, warm=False), "idle_over_5m", "time", "22 min idle"),
        (lambda client: compact_and_wait(client, warm=True), "compaction", "requests", "compacted (auto)"),
        (switch_model_after, "model_changed", "requests", "model switched from opus-4-5 to sonnet-4-5"),
        (resume_with_other_memory, "resume", "requests", "resumed"),
        (other_tools, "tools_changed", "requests", "tools changed: +more"),
        (other_description, "tools_changed", "requests", "tools changed: tools"),
        (other_system, "system_changed", "requests", "system prompt changed"),
        (other_message, "messages_changed", "requests", "message 2 of 5 changed"),
        (switch_model, "model_changed", "requests", "model switched from opus-4-5 to sonnet-4-5"),
        (compact, "compaction", "requests", "compacted (auto)"),
        (lambda client: idle(client, minutes=22), "idle_over_5m", "time", "22 min idle"),
        (forget, "unknown", "none", "nothing was read"),
    ],
)
def test_the_difference_of_two_requests_tells_the_cause(
    force: Callable[[Client], None], cause: str, evidence: str, detail: str
) -> None:
    client = Client()
    client.prompt()
    for calls in ([20_000], [6_000], []):
        client.note_request()
        client.respond(*calls)
    force(client)
    client.note_request()
    client.respond()
    (found,) = client.opened().cache_breaks
    assert (found.cause, found.evidence, found.detail) == (cause, evidence, detail)


@pytest.mark.parametrize("noted", [(True, False), (False, True)])
def test_one_request_alone_tells_no_cause(noted: tuple[bool, bool]) -> None:
    client = Client()
    client.prompt()
    for is_noted, calls in zip(noted, ([20_000], []), strict=True):
        if is_noted:
            client.note_request()
        client.respond(*calls, requestRef=None if is_noted else "another")
        client.cache.expires.clear()
    assert [(found.cause, found.evidence) for found in client.opened().cache_breaks] == [("unknown", "none")]


@pytest.mark.parametrize(("ref", "cause"), [(None, "tools_changed"), ("own", "tools_changed"), ("other", "unknown")])
def test_a_response_names_its_request(ref: str | None, cause: str) -> None:
    client = Client()
    client.prompt()
    client.note_request()
    client.respond(20_000)
    other_tools(client)
    client.note_request()
    own = client.records[-1]["id"]
    client.respond()
    if ref is not None:
        client.records[-1]["requestRef"] = own if ref == "own" else ref
    assert [found.cause for found in client.opened().cache_breaks] == [cause]


def test_a_request_is_sent_after_what_it_answers() -> None:
    session = read(user("go"), reply("a", id="m1"), reply("b", id="m2"), user("on"), reply("c", id="m3"))
    breaks = CacheBreaks(session.conversation)
    sent = [breaks._sent(message) for message in session.messages if message.kind == "response"]
    assert not any(breaks._is_of_parent(message) for message in session.messages)
    first = timestamp_ms("2025-01-29T14:00:01.000Z")
    assert first is not None and sent == [first, first + 2_000, first + 3_000]


def test_an_hour_that_was_paid_for_explains_nothing_before_it_is_over() -> None:
    for minutes, causes in ((22, []), (61, ["idle_over_1h"])):
        client = Client(hour=True)
        client.prompt()
        client.respond(20_000)
        idle(client, minutes=minutes)
        client.respond()
        assert [found.cause for found in client.opened().cache_breaks] == causes


@pytest.mark.parametrize(("hour", "cause"), [(True, "unknown"), (False, "idle_over_5m")])
def test_what_was_written_tells_how_long_a_cache_was_to_live(hour: bool, cause: str) -> None:
    client = Client(hour=hour)
    client.prompt()
    client.respond(20_000)
    client.respond()
    client.now += timedelta(minutes=22)
    forget(client)
    client.respond()
    assert [found.cause for found in client.opened().cache_breaks] == [cause]


def test_how_long_a_cache_was_to_live_that_was_only_read_is_not_known() -> None:
    usages = {"cache_read_input_tokens": 90_000}, {"cache_creation_input_tokens": 60_000}
    (found,) = read(user("go"), *(reply("a", id=f"m{n}", usage=usage) for n, usage in enumerate(usages))).cache_breaks
    assert (found.tokens, found.cached_tokens) == (60_000, 90_000)


@pytest.mark.parametrize(
    ("read_tokens", "reach", "is_less"),
    [
        (0, LEAST_TOKENS, True),
        (1, LEAST_TOKENS, False),
        (3 * LEAST_TOKENS, 4 * LEAST_TOKENS, False),
        (3 * LEAST_TOKENS - 1, 4 * LEAST_TOKENS, True),
        (90 * LEAST_TOKENS, 92 * LEAST_TOKENS, False),
    ],
)
def test_clearly_less_was_read_than_reaches_up_to_a_change(read_tokens: int, reach: int, is_less: bool) -> None:
    assert is_before(read_tokens, reach) is is_less


def test_tokens_and_price_of_a_break() -> None:
    client = Client(hour=True)
    client.prompt(300)
    client.respond(20_000)
    client.respond()
    idle(client, hours=2)
    client.respond()
    (found,) = client.opened().cache_breaks
    cached = 15_300 + 200 + 20_000
    assert (found.tokens, found.cached_tokens, found.read_tokens, found.turn) == (cached, cached, 0, 2)
    assert found.gap_seconds == pytest.approx(2 * 3600 + 5)
    rates = bundled_prices().rates("claude-opus-4-5", 20_767)
    assert rates is not None and found.cost_usd == pytest.approx(cached * (rates.write_1h - rates.read) / 1e12)


def test_a_part_that_is_still_read_is_not_written_again() -> None:
    client = Client()
    client.prompt()
    client.respond(20_000)
    client.respond()
    client.now += timedelta(minutes=9)
    client.cache.request(client.model, client.shape, client.now, timedelta(minutes=5))  # another session
    client.prompt()
    client.respond()
    (found,) = client.opened().cache_breaks
    assert (found.read_tokens, found.tokens, found.cause) == (15_000, 20_500, "idle_over_5m")


@pytest.mark.parametrize("seed", range(4))
def test_warm_requests_have_no_break(seed: int) -> None:
    client = Client(seed=seed, hour=seed % 2 == 1)
    client.prompt()
    client.work(250)
    session = client.opened()
    assert sum(message.kind == "response" for message in session.messages) == 250
    assert session.cache_breaks == []


def test_going_back_to_what_is_still_cached_is_no_break() -> None:
    client = Client()
    client.prompt()
    client.respond(20_000)
    client.respond(30_000)
    client.last, client.messages = "u3", client.messages[:3]
    client.prompt()
    client.respond()
    assert client.opened().cache_breaks == []


def test_agents_have_caches_of_their_own(tmp_path: Path) -> None:
    main, cache = Client(), PromptCache()
    main.prompt()
    main.respond(20_000)
    main.respond()
    for name, copies in (("a1", False), ("a2", True)):
        agent = Client(cache, agentId=name, isSidechain=True)
        agent.prompt()
        if copies:  # it starts with the conversation of the main thread, which another cache has
            agent.records += [{**record, **agent.fields} for record in main.records]
            agent.last, agent.messages, agent.shape = main.last, list(main.messages), main.shape
        agent.respond(3_000)
        agent.respond()
        file = tmp_path / SESSION / "subagents" / f"agent-{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(jsonl(*agent.records))
    file = tmp_path / f"{SESSION}.jsonl"
    file.write_bytes(jsonl(*main.records))
    (found,) = reread.open(file).cache_breaks
    assert (found.agent, found.cause) == ("a2", "agent_start")


def test_tools_of_the_api_within_a_response_read_the_cache_several_times() -> None:
    steps = [
        {"type": "message", "cache_read_input_tokens": n * 20_000, "cache_creation_input_tokens": 20_000}
        for n in (1, 2)
    ]
    summed = {"cache_read_input_tokens": 60_000, "cache_creation_input_tokens": 40_000, "iterations": steps}
    warm = {"cache_read_input_tokens": 60_000, "cache_creation_input_tokens": 9_000}
    session = read(user("go"), reply("a", id="m1", usage=summed), user("on"), reply("b", id="m2", usage=warm))
    assert session.cache_breaks == []


def test_context_that_the_api_removed_is_not_lost() -> None:
    full = {"cache_read_input_tokens": 90_000, "cache_creation_input_tokens": 9_000}
    for read_tokens, causes in ((39_000, []), (9_000, [("context_edited", 9_000)])):
        less = {"cache_read_input_tokens": read_tokens, "cache_creation_input_tokens": 9_000}
        edited = reply("b", id="m2", usage=less)
        edited["message"]["context_management"] = {
            "applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": 60_000}]
        }
        found = read(user("go"), reply("a", id="m1", usage=full), user("on"), edited).cache_breaks
        assert [(one.cause, one.tokens) for one in found] == causes


def test_a_clock_that_ran_back_says_nothing_of_idle_time() -> None:
    client = Client()
    client.now += timedelta(hours=3)
    client.prompt()
    client.respond(20_000)
    client.respond()
    client.now -= timedelta(hours=2)
    client.cache.expires.clear()
    client.respond()
    assert [(found.cause, found.gap_seconds) for found in client.opened().cache_breaks] == [("unknown", None)]


def test_records_without_a_time_say_nothing_of_idle_time() -> None:
    client = Client()
    client.prompt()
    client.respond(20_000)
    idle(client, minutes=22)
    client.respond()
    for record in client.records[:-2]:
        del record["timestamp"]
    assert [(found.cause, found.gap_seconds) for found in client.opened().cache_breaks] == [("unknown", None)]


def wrote(cached: int, read_tokens: int, written: int, *, cleared: Any = None) -> list[CacheBreak]:
    """The breaks after a response that cached so much, of one that read and wrote so much."""
    now = reply("b", id="m2", usage={"cache_read_input_tokens": read_tokens, "cache_creation_input_tokens": written})
    now["message"]["context_management"] = {"applied_edits": cleared}
    return list(read(user("go"), reply("a", id="m1", usage={"cache_creation_input_tokens": cached}), now).cache_breaks)


def edit(tokens: Any, type: str = "clear_tool_uses") -> dict[str, Any]:
    return {"type": type, "cleared_input_tokens": tokens}


@table(
    ("cached", "read_tokens", "written", "cleared", "tokens"),
    [
        (40_000, 38_000, 2_000, [], 2_000),
        (40_020, 38_020, 2_000, [], None),  # less than a twentieth of what was cached
        (10_000, 8_001, 9_000, [], None),
        (10_000, 8_000, 9_000, [], 2_000),
        (10_000, 8_000, 1_999, [], None),
        (10_000, 0, 3_000, [], 3_000),
        (10_000, 0, 90_000, [], 10_000),
        (20_000, 5_000, 9_000, [edit(12_000)], 3_000),
        (20_000, 5_000, 9_000, [edit(13_000)], 2_000),
        (20_000, 5_000, 9_000, [edit(13_001)], None),
        (20_000, 5_000, 9_000, [edit(6_000), edit(6_000, "clear_thinking")], 3_000),
        (20_000, 5_000, 9_000, [edit(6_000), edit(12_000)], 3_000),
        (20_000, 5_000, 9_000, [edit(-5_000), 7, edit("x", "y")], 9_000),
    ],
)
def test_a_break_has_lost_enough(
    cached: int, read_tokens: int, written: int, cleared: list[Any], tokens: int | None
) -> None:
    found = wrote(cached, read_tokens, written, cleared=cleared)
    assert [one.tokens for one in found] == ([] if tokens is None else [tokens])
    assert all(one.read_tokens == read_tokens and one.line == 3 for one in found)


def test_responses_without_a_prompt_are_none_that_cached() -> None:
    full, empty, now = {"cache_creation_input_tokens": 9_000}, {}, {"cache_creation_input_tokens": 8_000}
    replies = [reply("a", id=f"m{n}", usage=usage) for n, usage in enumerate((full, empty, now))]
    (found,) = read(user("go"), *replies).cache_breaks
    assert (found.message, found.cached_tokens, found.tokens, found.turn) == ("m2", 9_000, 8_000, 1)


def test_a_break_on_an_abandoned_branch_has_no_turn() -> None:
    usages = [{"cache_creation_input_tokens": 9_000}] * 2
    left = [reply("a", id=f"m{n}", usage=usage) for n, usage in enumerate(usages)]
    session = read(user("go"), *left, user("anew", parentUuid="u1"), reply("b", id="m9"))
    assert [(found.message, found.turn) for found in session.cache_breaks] == [("m1", None)]


HOUR, MINUTES = {"ephemeral_1h_input_tokens": 5_000}, {"ephemeral_5m_input_tokens": 5_000}


@table(
    ("written", "more", "reads", "seconds"),
    [
        (HOUR, {}, 0, 3600),
        (HOUR, {}, 19, 3600),
        (HOUR, {}, 20, 300),  # too far back
        (MINUTES, {}, 0, 300),
        (HOUR | MINUTES, {}, 0, 300),
        (MINUTES, {"promptCacheRequested": "1h"}, 0, 3600),
        (HOUR, {"promptCacheRequested": "5m"}, 0, 300),
        (HOUR, {"promptCacheRequested": "2h"}, 0, 3600),
    ],
)
def test_a_cache_lives_as_long_as_was_asked_or_paid_for(
    written: dict[str, int], more: dict[str, str], reads: int, seconds: int
) -> None:
    usage = {"cache_creation_input_tokens": sum(written.values()), "cache_creation": written}
    later = [reply("b", id=f"m{n}", usage={"cache_read_input_tokens": 5_000}) for n in range(reads)]
    session = read(user("go"), reply("a", id="m", usage=usage, **more), *later)
    assert CacheBreaks(session.conversation)._life(session.messages[-1]) == seconds


@table(
    ("old", "new", "between", "said"),
    [
        ({"version": "1"}, {"version": "2"}, "", "resumed with client 2"),
        ({}, {"version": "2"}, "", ""),
        ({"version": "1"}, {}, "", ""),
        ({"version": "1"}, {"version": "1"}, "", ""),
        ({"sessionId": "a"}, {"sessionId": "b"}, "", "forked"),
        ({"sessionId": None}, {"sessionId": "b"}, "", ""),
        ({"sessionId": "a"}, {"sessionId": None}, "", ""),
        ({"forkedFrom": {"sessionId": "a"}}, {}, "", "forked"),
        ({"forkedFrom": {"sessionId": "a"}}, {"forkedFrom": {"sessionId": "a"}}, "", ""),
        ({}, {}, "cost-state", "resumed"),
        ({}, {}, "last-prompt", ""),
        ({}, {}, user("<command-name>/exit</command-name>"), "resumed"),
        ({}, {}, user("<command-name>/quit</command-name>"), "resumed"),
        ({}, {}, user("<command-name>/clear-all</command-name>"), ""),
        ({}, {}, user("type /exit"), ""),
        ({}, {}, attachment("hook_success", {"hookName": "SessionStart:resume"}), "resumed"),
        ({}, {}, attachment("hook_success", {"hookName": "SessionStart:compact"}), ""),
        ({}, {}, user('say "SessionStart:resume"'), ""),
    ],
)
def test_records_tell_that_a_session_was_taken_up_again(
    old: dict[str, Any], new: dict[str, Any], between: Any, said: str
) -> None:
    record = state(between) if isinstance(between, str) else between
    records = [user("go"), reply("a", id="m1", **old), *([record] if between else []), user("on")]
    session = read(state("cost-state"), *records, reply("b", id="m2", **new), state("cost-state"))
    first, last = (message for message in session.messages if message.kind == "response")
    assert CacheBreaks(session.conversation)._resumed(first, last) == said


@table(
    ("read_again", "cause", "said"),
    [
        (0, "unknown", "nothing was read"),
        (5_000, "partly_cached", "nothing of the conversation was read"),
        (10_000, "partly_cached", "nothing after turn 1 was read"),
        (15_000, "partly_cached", "nothing after turn 2 was read"),
        (20_000, "partly_cached", "nothing after an earlier request of turn 3 was read"),
        (11_000, "unknown", "11k of 25k tokens were read"),
    ],
)
def test_where_the_reading_ended_is_told_if_a_request_ended_there(read_again: int, cause: str, said: str) -> None:
    records: list[Any] = []
    for turn, cached in enumerate((10_000, 15_000, 20_000, 25_000)):
        usage = {"cache_read_input_tokens": cached - 5_000, "cache_creation_input_tokens": 5_000}
        records += [*([user("go")] if turn < 3 else []), reply("a", id=f"m{turn}", usage=usage)]
    usage = {"cache_read_input_tokens": read_again, "cache_creation_input_tokens": 26_000 - read_again}
    (found,) = read(*records, reply("b", id="last", usage=usage)).cache_breaks
    assert (found.cause, found.evidence == "none", found.detail) == (cause, cause == "unknown", said)


def breaks_after(*said: Any, read_tokens: int = 0, written: int = 26_000) -> list[tuple[str, str, str]]:
    """The breaks of a response after two, of which 15,000 and 25,000 tokens were cached; `said` is between them."""
    usages = ({"cache_creation_input_tokens": 15_000}, cached_usage(15_000, 10_000), cached_usage(read_tokens, written))
    replies = [reply("a", id=f"m{n}", usage=usage) for n, usage in enumerate(usages)]
    records = [user("go"), *replies[:2], *said[:-1], replies[2]]
    for record, fields in zip((records[2], records[-1]), said[-1], strict=True):
        usage = {**record["message"]["usage"], **fields.pop("usage", {})}
        record.update(fields)
        record["message"]["usage"] = usage
    return [(one.cause, one.evidence, one.detail) for one in read(*records).cache_breaks]


def cached_usage(read_tokens: int, written: int) -> dict[str, Any]:
    return {"cache_read_input_tokens": read_tokens, "cache_creation_input_tokens": written}


FORGOTTEN = ("unknown", "none", "nothing was read")


@table(
    ("old", "new", "tokens", "found"),
    [
        ({"effort": "high"}, {"effort": "low"}, {}, ("settings_changed", "effort changed from high to low")),
        ({"effort": "high"}, {"effort": "high"}, {}, FORGOTTEN),
        ({"effort": "high"}, {}, {}, FORGOTTEN),
        ({}, {"effort": "low"}, {}, FORGOTTEN),
        ({"effort": "high"}, {"effort": "low", "perTurnEffort": "low"}, {}, FORGOTTEN),
        ({"effort": "high", "perTurnEffort": "high"}, {"effort": "low"}, {}, FORGOTTEN),
        (
            {"usage": {"speed": "standard"}},
            {"usage": {"speed": "fast"}},
            {},
            ("settings_changed", "speed changed from standard to fast"),
        ),
        ({"usage": {"speed": None}}, {"usage": {"speed": "fast"}}, {}, FORGOTTEN),
        # Some of the conversation was read: the setting did not keep the cache from being found.
        (
            {"effort": "high"},
            {"effort": "low"},
            {"read_tokens": 15_001, "written": 11_000},
            ("unknown", "none", "15k of 25k tokens were read"),
        ),
        (
            {"effort": "high"},
            {"effort": "low"},
            {"read_tokens": 15_000, "written": 11_000},
            ("settings_changed", "effort changed from high to low"),
        ),
        ({}, {}, {"written": 23_000}, ("shortened", "the prompt is 2k tokens shorter")),
        ({}, {}, {"written": 23_001}, FORGOTTEN),
        ({}, {}, {"read_tokens": 15_000, "written": 4_000}, ("shortened", "the prompt is 6k tokens shorter")),
    ],
)
def test_settings_and_the_length_of_the_prompt_are_evidence(
    old: dict[str, Any], new: dict[str, Any], tokens: dict[str, int], found: tuple[str, ...]
) -> None:
    (cause,) = breaks_after((old.copy(), new.copy()), **tokens)
    expected = found if len(found) == 3 else (found[0], "usage" if found[0] == "shortened" else "transcript", found[1])
    assert cause == expected


@table(
    ("old", "new", "detail"),
    [
        ({"level": "none"}, {"level": "high"}, "thinking changed from none to high"),
        ({"maxThinkingTokens": 0}, {"maxThinkingTokens": 31_999}, "thinking changed from 0 to 32k"),
        ({"level": "high"}, {"level": "high", "disabled": False}, None),
        ({"level": "high"}, None, None),
        (None, {"level": "high"}, None),
    ],
)
def test_the_thinking_that_two_prompts_ask_for_is_evidence(old: Any, new: Any, detail: str | None) -> None:
    first, second = (
        user(text) | ({"thinkingMetadata": noted} if noted else {}) for text, noted in (("a", old), ("b", new))
    )
    usages = (cached_usage(0, 15_000), cached_usage(15_000, 10_000), cached_usage(0, 26_000))
    one, two, three = (reply("a", id=f"m{n}", usage=usage) for n, usage in enumerate(usages))
    (found,) = read(first, one, two, second, three).cache_breaks
    assert (found.cause, found.detail) == (("settings_changed", detail) if detail else ("unknown", "nothing was read"))


def thought_of(*, first: bool = False, second: bool = False, asks: bool = True, turns: int = 1, **last: Any) -> Any:
    """The breaks of a response after a turn of two responses that may have thoughts: 10,000 and 15,000 were cached."""
    record: list[Any] = []
    for turn in range(turns):
        blocks = ([thinking("hm")] * bool(has) + ["a"] for has in (first, second))
        usages = (
            {"cache_creation_input_tokens": 10_000},
            {
                "cache_read_input_tokens": 10_000,
                "cache_creation_input_tokens": 5_000,
            },
        )
        record.append(user("go"))
        for n, (said, usage) in enumerate(zip(blocks, usages, strict=True)):
            record.append(reply(*said, id=f"m{turn}{n}", usage=usage))
    now = reply("b", id="last", usage={"cache_creation_input_tokens": 5_000, **last.pop("usage", {})})
    now["message"] |= last
    found = read(*record, *([user("on")] if asks else []), now).cache_breaks
    return [one.cause for one in found if one.message == "last"]


def read_again(tokens: int) -> dict[str, Any]:
    return {"usage": {"cache_read_input_tokens": tokens}}


@table(
    ("made", "causes"),
    [
        ({"first": True, **read_again(10_000)}, []),
        ({"second": True, **read_again(10_000)}, []),
        ({**read_again(10_000)}, ["partly_cached"]),
        ({"first": True, **read_again(8_001)}, []),
        ({"first": True, **read_again(8_000)}, ["shortened"]),
        ({"first": True, "asks": False, **read_again(10_000)}, ["partly_cached"]),
        ({"first": True, **read_again(10_000), **diagnosed("system_changed")}, ["system_changed"]),
        ({"first": True, "turns": 2, **read_again(10_000), **diagnosed("system_changed")}, []),
    ],
)
def test_thoughts_that_the_api_leaves_out_are_not_lost(made: dict[str, Any], causes: list[str]) -> None:
    assert thought_of(**made) == causes


def test_the_api_says_why_on_any_record_of_a_response() -> None:
    records = [reply(text, id="m2", usage={"cache_creation_input_tokens": 9_000}) for text in "abc"]
    records[1]["message"] |= diagnosed("tools_changed")
    records[2]["message"] |= diagnosed("system_changed")
    (found,) = read(
        user("go"), reply("a", id="m1", usage={"cache_creation_input_tokens": 9_000}), *records
    ).cache_breaks
    assert (found.cause, found.evidence) == ("tools_changed", "server")


@pytest.mark.parametrize(
    ("subtypes", "cause", "detail"),
    [
        ([("compact", None)], "compaction", "compacted"),
        ([("microcompact", "auto")], "context_edited", "old results cleared"),
        ([("microcompact", "auto"), ("compact", "manual")], "compaction", "compacted (manual)"),
    ],
)
def test_compactions_between_two_responses_are_the_cause(subtypes: list[Any], cause: str, detail: str) -> None:
    marks = [
        system(f"{kind}_boundary", "", **{f"{kind}Metadata": {"trigger": by} if by else {}}) for kind, by in subtypes
    ]
    usages = [{"cache_creation_input_tokens": tokens} for tokens in (20_000, 9_000)]
    before, after = (reply("a", id=f"m{n}", usage=usage) for n, usage in enumerate(usages))
    (found,) = read(user("go"), *marks[:0], before, *marks, after).cache_breaks
    assert (found.cause, found.detail) == (cause, detail)
    elsewhere = read(user("go"), *marks, before, after, *marks).cache_breaks
    assert [one.cause for one in elsewhere] == ["shortened"]


def asked(**fields: Any) -> Any:
    """A request as far as it is compared."""
    given = {"model": "m", "shape_hash": "s", "system": ["sys"], "tools": [{"name": "a"}], "message_hashes": ["1", "2"]}
    return SimpleNamespace(**{**given, **fields})


@table(
    ("new", "cause"),
    [
        ({}, None),
        ({"message_hashes": ["1", "2", "3"]}, None),
        ({"message_hashes": ["1"]}, None),
        ({"message_hashes": ["1", "?"]}, None),
        ({"model": "other"}, ("model_changed", "", "", 0)),
        ({"shape_hash": "t"}, None),
        ({"tools": []}, None),
        (
            {"shape_hash": "t", "tools": [], "system": ["x"]},
            ("tools_changed", "tools changed: −a", "", 0),
        ),
        ({"shape_hash": "t", "tools": [], "system": []}, None),
        ({"shape_hash": "t", "system": ["x"]}, ("system_changed", "system prompt changed", "system", 0)),
        ({"shape_hash": "t", "system": ["sys", "x"]}, ("system_changed", "system prompt changed", "system", 1)),
        ({"message_hashes": ["1", "x", "3"]}, ("messages_changed", "message 2 of 2 changed", "messages", 1)),
        ({"message_hashes": ["x"]}, ("messages_changed", "message 1 of 2 changed", "messages", 0)),
    ],
)
def test_the_first_difference_of_two_requests_counts(new: dict[str, Any], cause: Any) -> None:
    assert cache_breaks._change(asked(), asked(**new)) == cause
    other = {"shape_hash": "t", "tools": [{"name": "b"}]}
    for lacks in ("system", "tools"):
        found = cache_breaks._change(asked(**{lacks: []}), asked(**{**other, lacks: [], "system": ["z"]}))
        assert found is not None and found.cause == ("tools_changed" if lacks == "system" else "system_changed")


@table(
    ("old", "new", "text"),
    [
        ("a b", "a b c", "+c"),
        ("a b c", "a", "−b, −c"),
        ("a", "b", "+b, −a"),
        ("", "a b c", "+a, +b, +c"),
        ("", "a b c d e", "+a, +b, +c and 2 more"),
        ("a b", "b a", "their order"),
        ("a b", "a:x b", "a"),
        ("a b c d", "a:x b:x c:x d:x", "a, b, c and 1 more"),
        ("a", "a:x b", "+b"),
    ],
)
def test_tools_that_came_went_or_changed_are_named(old: str, new: str, text: str) -> None:
    was, now = (
        [{"name": name, "description": more} for name, _, more in (one.partition(":") for one in tools.split())]
        for tools in (old, new)
    )
    assert cache_breaks._tool_changes(was, now) == f"tools changed: {text}"


@table(
    ("part", "place", "marks", "tokens"),
    [
        ("", 1, [], 0),
        ("messages", 0, [], 400),
        ("messages", 1, [], 500),
        ("system", 0, [["system", 0]], 0),
        ("system", 1, [["system", 0]], 200),
        ("system", 1, [["system", 1], None], 0),
        ("system", 2, [["system", 0], ["system", 1]], 400),
        ("system", 2, [["system", 0], ["tools", 1]], 200),
    ],
)
def test_a_prompt_is_shared_out_up_to_a_change_by_bytes(part: str, place: int, marks: list[Any], tokens: int) -> None:
    sizes = {"tools": (8,), "system": (8, 18), "messages": (8, 48)}  # and two bytes for the quotes of each
    parts = {name: ["x" * size for size in own] for name, own in sizes.items()}
    request: Any = SimpleNamespace(**parts, cache_marks=[SimpleNamespace(path=path) for path in marks])
    response = read(user("go"), reply("a", usage={"input_tokens": 1_000, "output_tokens": 7})).messages[-1]
    change = cache_breaks._Change("unknown", "", part, place)
    assert cache_breaks._reach(request, response, change) == tokens
    empty: Any = SimpleNamespace(tools=[], system=[], messages=[], cache_marks=[])
    assert cache_breaks._reach(empty, response, change) == 0


def test_what_is_written_again_costs_more_than_reading_it_by_its_life() -> None:
    rates = bundled_prices().rates("claude-opus-4-5", 20_767)
    assert rates is not None
    for five, hour, tokens, in_hour in ((3_000, 1_000, 2_000, 500), (9_000, 0, 2_000, 0), (0, 9_000, 9_000, 9_000)):
        charge = Charge("claude-opus-4-5", write_5m=five, write_1h=hour, read=77, input=5)
        picos = (tokens - in_hour) * rates.write_5m + in_hour * rates.write_1h - tokens * rates.read
        one_hour = cache_breaks.hour_tokens(tokens, charge)
        assert cache_breaks.rewriting_cost(rates, tokens, one_hour) == pytest.approx(picos / 1e12, rel=1e-9)
    assert cache_breaks.rewriting_cost(None, 5, 0) is None


def check_sums(session: reread.Session) -> None:
    """Each response has one break at most, which is a part of what it wrote; all together never exceed the writes."""
    found = session.cache_breaks
    threads = [session.conversation, *session.agents.values()]
    messages = {message.id: message for thread in reversed(threads) for message in thread.messages}
    assert len({item.message for item in found}) == len(found)
    for item in found:
        used = messages[item.message].usage
        assert LEAST_TOKENS <= item.tokens <= used.cache_write_5m_tokens + used.cache_write_1h_tokens
        assert item.tokens <= item.cached_tokens and item.cause in get_args(CacheBreakCause)
        assert (item.cause == "unknown") == (item.evidence == "none")
        assert item.cost_usd is None or 0 <= item.cost_usd <= (used.cost_usd or 0) + 1e-9
    usage = session.usage
    assert sum(item.tokens for item in found) <= usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    msgspec.json.encode(found)


SAMPLES = Path(reread.__file__).parent / "samples" / "projects"
FILES = sorted(path for root in (HERE / "real", SAMPLES, LARGER) for path in root.rglob("*.jsonl"))


@one_in(3)
@each("path", [path for path in FILES if "subagents" not in path.parts])
def test_breaks_are_never_more_than_the_cache_writes(path: Path) -> None:
    check_sums(reread.open(path))


numbers = st.sampled_from([0, 1, 1_999, 20_000, 90_000, 10**20, -5, None, "x", 2.5])
usages = st.fixed_dictionaries(
    {},
    optional={
        "cache_read_input_tokens": numbers,
        "cache_creation_input_tokens": numbers,
        "cache_creation": st.fixed_dictionaries({}, optional={"ephemeral_1h_input_tokens": numbers}) | st.just([1]),
        "iterations": st.lists(st.fixed_dictionaries({"type": st.just("message"), "cache_read_input_tokens": numbers})),
    },
)
odd = st.sampled_from([None, [], "x", {"cache_miss_reason": 5}, {"cache_miss_reason": {"type": "tools_changed"}}])
replies = st.tuples(usages, odd, st.sampled_from(["u1", "u2", "u4", None, "gone"]), st.booleans())


@given(st.lists(replies, min_size=2, max_size=8))
def test_any_usage_keeps_the_sums(made: list[tuple[Any, Any, str | None, bool]]) -> None:
    records = [user("start")]
    for number, (usage, diagnostics, parent, prompted) in enumerate(made):
        record = reply("a", id=f"m{number % 6}", usage=usage, **({"parentUuid": parent} if parent else {}))
        record["message"] |= {"diagnostics": diagnostics, "context_management": {"applied_edits": diagnostics}}
        records += [record, *([user("next")] if prompted else [system("compact_boundary")])]
    check_sums(read(*records))


def two_sessions(folder: Path) -> Path:
    """A session that was idle twice, and a fork that copied it and switched the model."""
    client = Client(cwd="/work/shop")
    client.prompt()
    client.respond(20_000)
    client.respond()
    for minutes in (10, 80):
        idle(client, minutes=minutes)
        client.respond()
    project = folder / "projects" / "-work-shop"
    project.mkdir(parents=True)
    (project / f"{SESSION}.jsonl").write_bytes(jsonl(*client.records))
    fork = SESSION.replace("5e55", "f02c")
    client.records = [{**record, "sessionId": fork} for record in client.records]
    client.fields["sessionId"] = fork
    switch_model(client)
    client.respond()
    (project / f"{fork}.jsonl").write_bytes(jsonl(*client.records))
    return folder


def test_a_report_counts_each_break_once(tmp_path: Path) -> None:
    root = two_sessions(tmp_path)
    report = reread.cache_breaks(root=root)
    assert {row["cause"]: row["breaks"] for row in report.rows} == dict.fromkeys(
        ("idle_over_5m", "idle_over_1h", "model_changed"), 1
    )
    usage = reread.usage(root=root).totals
    assert report.cache_write_tokens == usage.cache_write_5m_tokens
    assert report.totals.tokens == sum(row["tokens"] for row in report.rows) <= report.cache_write_tokens
    assert report.totals.share == report.totals.tokens / report.cache_write_tokens
    assert report.totals.cost_usd == pytest.approx(sum(row["cost_usd"] for row in report.rows))
    assert reread.stats(root=root).cache == report.totals
    by_day = reread.cache_breaks(root=root, by=("thread", "day"), model="opus", tz="UTC")
    assert [(row.group, row["breaks"]) for row in by_day.rows] == [({"thread": "main", "day": "2026-11-10"}, 2)]
    assert reread.cache_breaks(root=root, since="2026-11-11").items == []
    with pytest.raises(reread.Misuse, match="cause, session"):
        reread.cache_breaks(root=root, by="tool")  # pyright: ignore[reportArgumentType]


def test_the_command_line_shows_causes_and_marks_responses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = ("--root", str(two_sessions(tmp_path)))
    table = run(*at, "usage", "--by", "cache", "--tz", "UTC").stdout
    assert "idle over 5 minutes" in table and "model switched" in table and "Total" in table
    value = json.loads(run(*at, "usage", "--by", "cache,project", "--json").stdout)
    assert {row["project"] for row in value["rows"]} == {"/work/shop"} and len(value["breaks"]) == 3
    assert run(*at, "usage", "--by", "cache", "--csv").stdout.splitlines()[0] == "cause,breaks,tokens,cost_usd,share"
    mark = "cache rewritten: 10 min idle · 35.5k tokens · $0.20"
    assert mark in run(*at, "show", SESSION).stdout
    assert f"<sub>⚠ {mark}</sub>" in run(*at, "export", SESSION, "-f", "markdown", "-o", "-").stdout
    exported = json.loads(run(*at, "export", SESSION, "-f", "json", "-o", "-").stdout)
    assert [found["cause"] for found in exported["cache_breaks"]] == ["idle_over_5m", "idle_over_1h"]
    assert "2 cache breaks" in run(*at, "usage", SESSION).stdout
    assert "3 cache breaks" in run(*at, "usage").stdout
    monkeypatch.setattr(importlib.import_module("reread.cli.usage"), "MOST_READ", 0)
    assert "3 cache breaks" in run(*at, "usage").stdout  # they are known by now
    assert "cache break" not in run(*at, "usage", env={"REREAD_CACHE": str(tmp_path / "empty")}).stdout
    assert run(*at, "usage", "--by", "cache", "--sort", "cost").returncode == 2
    named = json.loads(run(*at, "usage", "--by", "cache", "--list", "--json").stdout)
    assert sorted(one["id"] for one in named) == sorted(one["id"] for one in value["breaks"])
    assert [one["cost_usd"] for one in named] == sorted((one["cost_usd"] for one in named), reverse=True)
    listed = run(*at, "usage", "--by", "cache", "--list").stdout.splitlines()
    assert len([line for line in listed if line.startswith("  ")]) == len(named)
    for one in named:
        assert run(*at, "show", one["address"]).returncode == 0
        assert reread.open(one["address"], root=at[1]).at.turn == one["turn"]
    assert len(json.loads(run(*at, "usage", "--by", "cache", "--list", "--json", "-n", "1").stdout)) == 1
    assert run(*at, "usage", "--by", "cache", "--since", "2026-11-12").returncode == 1
