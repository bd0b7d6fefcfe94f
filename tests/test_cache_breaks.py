"""Cache breaks: found where a cache forgot, with the cause that was forced, and nowhere else."""

import importlib
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from batches import HERE, LARGER, each
from command import run
from effort import one_in
from hypothesis import given
from hypothesis import strategies as st
from making import SESSION, jsonl, read, reply, state, system, user
from prompt_cache import Client, PromptCache

import reread
from reread.accounting.prices import bundled_prices
from reread.base.choices import CacheBreakCause
from reread.session.cache_breaks import LEAST_TOKENS
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
    (forget, {}, "unknown", "none", ""),
    (name_no_version, {}, "unknown", "none", ""),
    (forget, {"model": None}, "unknown", "none", ""),
    (forget, diagnosed("tools_changed"), "tools_changed", "server", ""),
    (forget, diagnosed("system_changed"), "system_changed", "server", ""),
    (forget, diagnosed("messages_changed"), "messages_changed", "server", ""),
    (compact, diagnosed("messages_changed"), "compaction", "server", "compacted (auto)"),
    (forget, diagnosed("unavailable"), "unknown", "none", ""),
    (forget, diagnosed("a new reason"), "unknown", "none", ""),
    (lambda client: idle(client, minutes=22), diagnosed("system_changed"), "system_changed", "server", ""),
]


@pytest.mark.parametrize(("force", "message", "cause", "evidence", "detail"), FORCED)
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


@pytest.mark.parametrize(
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


LATE = "message 5 of 5 changed"


@pytest.mark.parametrize(
    ("force", "cause", "evidence", "detail"),
    [
        (late_message_after, "idle_over_5m", "time", "22 min idle"),
        (lambda client: late_message_after(client, minutes=2), "messages_changed", "requests", LATE),
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
        (forget, "unknown", "none", ""),
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
    assert reread.cache_breaks(root=root, since="2026-11-11").breaks == []
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
    assert run(*at, "usage", "--by", "cache", "--since", "2026-11-12").returncode == 1
