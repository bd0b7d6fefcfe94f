"""One question has one answer: whoever is asked for sessions, responses, tokens, cost or calls says the same.

The ways are the library, the command line, SQL and the reader's routes; the sessions are the samples, those of the real
client, and made ones that several files have.
"""

import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from batches import LARGER, some
from command import run
from effort import SAMPLE, sampled
from making import SESSION, answer, reply, result, told, use, user, write

import reread
from reread.base.paths import SAMPLES
from reread.reports.budget_report import budgets, parse_budget, set_budget
from reread.reports.digest_report import Digest
from reread.reports.stats_report import GROUPS
from reread.server.library import SessionLibrary
from reread.server.list_counts import CountJob, count_list
from reread.server.reports import REPORTS

HERE = Path(__file__).parent
FORK = SESSION.replace("5e55", "f02c")
Figures = dict[str, dict[str, Any]]
"""For each figure, what each way says."""


def said(id: str, command: str, session: str = SESSION) -> list[dict[str, Any]]:
    """A prompt, a response that makes a call, and its result."""
    made = reply(use(f"c{id}", command=command), id=f"m{id}", stop_reason="end_turn")
    used = {"input_tokens": 1000, "output_tokens": 50, "cache_creation_input_tokens": 70}
    message = {**made["message"], "model": "claude-opus-4-5-20251101", "usage": used}
    return [user(f"Do {id}"), {**made, "message": message, "requestId": f"r{id}"}, answer(result(f"c{id}"))]


def copied(records: list[dict[str, Any]], session: str) -> list[dict[str, Any]]:
    return [{**record, "sessionId": session} for record in records]


def make_copies(folder: Path) -> list[Path]:
    """A session in the folders of two projects; one of them goes on."""
    whole = told(*said("1", "ls"), *said("2", "pwd"))
    write(folder, *whole[:3], name=SESSION, project="p")
    write(folder, *whole, name=SESSION, project="q")
    return [folder]


def make_fork(folder: Path) -> list[Path]:
    """A session, one that copied it and went on, and one that copied all of it and did not."""
    whole = told(*said("1", "ls"), *said("2", "pwd"))
    write(folder, *whole[:3], name=SESSION)
    write(folder, *copied(whole, FORK), name=FORK)
    write(folder, *copied(whole[:3], FORK.replace("f02c", "f03c")), name=FORK.replace("f02c", "f03c"))
    return [folder]


def make_roots(folder: Path) -> list[Path]:
    """A session in two roots, and others in either."""
    whole = told(*said("1", "ls"), *said("2", "pwd"))
    for name, end in (("a", 3), ("b", 6)):
        write(folder / name, *whole[:end], name=SESSION)
        other = told(*said(name, "make"))
        own = FORK.replace("f02c", f"f02{name}")
        uuids = [{**one, "uuid": f"{name}{one['uuid']}", "parentUuid": None} for one in copied(other, own)]
        write(folder / name, *uuids, name=own)
    return [folder / "a", folder / "b"]


def make_idle(folder: Path) -> list[Path]:
    """A session without a response, and one without a record of a turn."""
    write(folder, *told(*said("1", "ls")), name=SESSION)
    write(folder, {**told(user("Hello"))[0], "sessionId": FORK, "uuid": "x1"}, name=FORK)
    file = write(folder, name=FORK.replace("f02c", "f03c"))
    file.write_text('{"type":"summary","summary":"nothing","leafUuid":"y"}\n')
    return [folder]


def make_each_scenario(folder: Path) -> list[Path]:
    """One of three scenarios of the real client, as one of its versions wrote it."""
    for path in some(sorted(path for path in LARGER.glob("*/*") if path.is_dir()), 3):
        shutil.copytree(path, folder / path.parent.name / path.name)
    return [folder]


def of(folder: Path) -> Callable[[Path], list[Path]]:
    return lambda _: [folder]


CORPORA: dict[str, Callable[[Path], list[Path]]] = {
    "samples": of(SAMPLES),
    "causes": of(HERE / "real-causes"),
    "real": of(HERE / "real" / "2.1.325" if SAMPLE and LARGER.is_dir() else HERE / "real"),
    **({path.name: of(path) for path in sorted(LARGER.glob("*"))} if not SAMPLE else {}),
    **({"scenarios": make_each_scenario} if SAMPLE and LARGER.is_dir() else {}),
    "copies": make_copies,
    "fork": make_fork,
    "roots": make_roots,
    "idle": make_idle,
}


def asked(roots: list[Path], folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield each figure, a way to it, and what that says."""
    yield from usage_figures(roots)
    yield from stats_figures(roots)
    yield from command_figures([word for root in roots for word in ("--root", str(root))])
    listed = list(reread.sessions(root=roots))
    yield "sessions", "ls", len({header.id for header in listed})
    yield "sessions", "advise", reread.advise(root=roots).sessions
    told_of = reread.digest(since="1970", root=roots)
    timed = reread.usage(by=(), since="1970", root=roots).totals.cost_usd
    yield "cost in time", "usage", timed
    yield "cost in time", "digest", told_of.cost_usd
    yield from period_figures(roots, told_of)
    yield "calls", "digest", sum(one.calls for project in told_of.projects for one in project.sessions)
    broken = reread.cache_breaks(root=roots)
    yield "cache writes", "cache_breaks", broken.cache_write_tokens
    yield "cache breaks", "cache_breaks", broken.totals.breaks
    yield "tokens of cache breaks", "cache_breaks", broken.totals.tokens
    yield "cost of cache breaks", "cache_breaks", broken.totals.cost_usd
    yield from table_figures(roots, folder)
    library = SessionLibrary(roots, count=False)
    library.refresh()
    yield from of_usage("/api/reports/usage", REPORTS["usage"].answer(library, {"by": "day"})["totals"])
    yield from of_stats("/api/reports/stats", REPORTS["stats"].answer(library, {"by": "session"}))
    yield from list_figures(roots)


def period_figures(roots: list[Path], told_of: Digest) -> Iterator[tuple[str, str, Any]]:
    """The cost and calls of each session, and the cost of a month."""
    for row in reread.stats(by="session", since="1970", root=roots).rows:
        yield f"calls of {row['session']}", "stats", row["calls"]
    for row in reread.usage(by="session", since="1970", root=roots).rows:
        yield f"cost of {row['session']}", "usage", row["cost_usd"]
    for one in (one for project in told_of.projects for one in project.sessions):
        yield f"calls of {one.session}", "digest", one.calls
        yield f"cost of {one.session}", "digest", one.cost_usd
    set_budget(parse_budget("1000/month"))
    (state,) = budgets(root=roots, tz="UTC", now=datetime(2026, 11, 30, tzinfo=UTC))
    month = reread.usage(by=(), since=state.start, until=state.end, root=roots).totals
    yield "cost of a month", "usage", month.cost_usd or 0.0
    yield "cost of a month", "budget", state.spent_usd


TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")


def of_usage(way: str, totals: Any) -> Iterator[tuple[str, str, Any]]:
    yield "responses", way, int(totals["responses"] or 0)
    yield "tokens", way, sum(int(totals[name] or 0) for name in TOKENS)
    yield "cache writes", way, sum(int(totals[name] or 0) for name in TOKENS[3:])
    yield "cost", way, totals["cost_usd"]


def of_stats(way: str, report: Any) -> Iterator[tuple[str, str, Any]]:
    totals = report["totals"]
    yield "sessions", way, report["sessions"] + report["empty_sessions"]
    yield "sessions with a turn", way, report["sessions"]
    yield "calls", way, totals["calls"]
    if totals["turns"] is not None:
        yield "turns", way, totals["turns"]
        yield "responses", way, totals["responses"]
        yield "tokens", way, totals["tokens"]
    yield "cost", way, totals["cost_usd"]


def usage_figures(roots: list[Path]) -> Iterator[tuple[str, str, Any]]:
    yield from of_usage("usage", reread.usage(by=(), root=roots).totals)
    for by in ("session", "project", "model", "day", "hour", "agent", "agent_type", "thread", "branch"):
        rows = reread.usage(by=by, root=roots).rows
        names = ("responses", *TOKENS, "cost_usd")
        if by in ("agent", "agent_type", "model", "project", "session"):
            for row in rows:
                if row[by]:
                    yield f"responses of {by} {row[by]}", f"usage by {by}", row["responses"]
        yield from of_usage(f"usage by {by}", {name: sum(row[name] or 0 for row in rows) for name in names})


def stats_figures(roots: list[Path]) -> Iterator[tuple[str, str, Any]]:
    yield "rows whose costs add up", "the law", True
    yield from of_stats("stats", reread.stats(by=(), root=roots))
    for model in {row["model"] for row in reread.usage(by="model", root=roots).rows if row["model"]}:
        yield f"cost of {model}", "usage", reread.usage(by=(), model=model, root=roots).totals.cost_usd
        for by in ("session", "tool"):
            report = reread.stats(by=by, model=model, root=roots)
            yield f"cost of {model}", f"stats by {by}", report.totals.cost_usd
            yield f"calls of {model}", f"stats by {by}", report.totals.calls
    for by in ("tool", "skill", "mcp_server"):
        for row in reread.stats(by=by, root=roots).rows:
            if row[by] and row["calls"]:
                yield f"calls of {by} {row[by]}", f"stats by {by}", row["calls"]
    larger = len(reread.stats(by="session", root=roots).rows) > 40
    for by in ("model", "project", "session", "tool") if larger else GROUPS:
        report = reread.stats(by=by, root=roots)
        yield from of_stats(f"stats by {by}", report)
        yield "calls", f"rows of stats by {by}", sum(row["calls"] for row in report.rows)
        for name in SUMS:
            yield f"{name} by {by}", "totals of stats", report.totals[name]
            if report.totals[name] is not None:
                yield f"{name} by {by}", "rows of stats", sum(row[name] or 0 for row in report.rows)
        cost = sum(row["cost_usd"] or 0 for row in report.rows)
        yield "rows whose costs add up", f"stats by {by}", cost == pytest.approx(report.totals["cost_usd"] or 0)
        if by == "session":
            yield "sessions with a turn", "rows of stats by session", len(report.rows)
        if by in ("agent_type", "model", "project", "session"):
            used = {row[by]: row["cost_usd"] for row in reread.usage(by=by, root=roots).rows if row["responses"]}
            costs = {row[by]: row["cost_usd"] for row in report.rows if row["responses"]}
            yield f"groups of {by} with responses", "usage", used.keys()
            yield f"groups of {by} with responses", "stats", costs.keys()
            for group, cost in costs.items():
                yield f"cost of {by} {group}", "usage", used.get(group)
                yield f"cost of {by} {group}", "stats", cost


SUMS = (
    *("failed", "denied", "interrupted", "retries", "lines_added", "lines_removed", "turns", "context_growth"),
    *("compactions", "tokens_removed", "model_seconds", "tool_seconds", "waiting_seconds", "call_seconds"),
)
"""What rows add up to."""


def table_figures(roots: list[Path], folder: Path) -> Iterator[tuple[str, str, Any]]:
    """What tables say: those that are made while one reads them, Parquet files, and both by SQL."""
    reread.tables(root=roots).write(folder)
    ways = {"tables": reread.tables(root=roots), "Parquet": reread.tables(folder)}
    rows = {way: {name: found[name].read_all().to_pylist() for name in ASKED} for way, found in ways.items()}
    rows["sql"] = {name: [*reread.sql(f"select * from {name}", root=roots)] for name in ASKED}
    rows["sql of Parquet"] = {name: [*reread.sql(f"select * from {name}", tables=folder)] for name in ASKED}
    for way, found in rows.items():
        yield from of_usage(way, {name: summed(found["usage"], name) for name in ("responses", *TOKENS, "cost_usd")})
        told = sorted(found["calls"], key=lambda row: row["skill"] or "")  # a captured stream does not name the skill
        calls = {row["id"]: row for row in told}
        yield "calls", way, len(calls)
        for by in ("tool", "skill", "mcp_server"):
            numbers = Counter(row[by] for row in calls.values())
            yield from ((f"calls of {by} {group}", way, number) for group, number in numbers.items() if group)
        yield "sessions", way, len({row["session"] for row in found["sessions"]})
        for by in ("agent", "agent_type", "model", "project", "session"):
            groups = Counter[str | None]()
            for row in found["usage"]:
                groups["main" if "agent" in by and row["agent"] is None else row[by]] += row["responses"]
            yield from ((f"responses of {by} {group}", way, number) for group, number in groups.items() if group)
        yield "turns", way, len({row["id"] for row in found["turns"]})
        breaks = {row["id"]: row["tokens"] for row in found["cache_breaks"]}
        yield "cache breaks", f"cache_breaks of {way}", len(breaks)
        yield "tokens of cache breaks", f"cache_breaks of {way}", sum(breaks.values())
        broken = [row for row in found["usage"] if row["cache_break_cause"]]
        yield "cache breaks", way, len(broken)
        yield "tokens of cache breaks", way, summed(broken, "cache_rewritten_tokens")
        yield "cost of cache breaks", way, summed(broken, "cache_rewritten_usd")


ASKED = ("usage", "calls", "sessions", "turns", "cache_breaks")


def summed(rows: Any, name: str) -> Any:
    return sum(row[name] or 0 for row in rows)


def command_figures(options: list[str]) -> Iterator[tuple[str, str, Any]]:
    def answered(*words: str) -> Any:
        return json.loads(run(*words, *options, "--json").stdout)

    yield from of_usage("usage --json", answered("usage")["totals"])
    yield from of_stats("stats --json", answered("stats", "--by", "session"))
    yield "cache writes", "usage --by cache --json", answered("usage", "--by", "cache")["cache_write_tokens"]
    yield "sessions", "ls --json", len({one["id"] for one in answered("ls")})
    shown = run("usage", "--by", "session", *options).stdout
    unused = re.search(r"Sessions without usage of their own: ([\d,]+)\.", shown)
    rows = len(answered("usage", "--by", "session")["rows"])
    yield "sessions", "usage --by session", rows + (int(unused[1].replace(",", "")) if unused else 0)


def differences(figures: Figures) -> dict[tuple[str, str], str]:
    """Return the figures that are not what the first way says."""
    found: dict[tuple[str, str], str] = {}
    for figure, ways in figures.items():
        first, expected = next(iter(ways.items()))
        for way, value in ways.items():
            if value != (pytest.approx(expected, abs=1e-9) if isinstance(expected, float) else expected):
                found[figure, way] = f"{figure}: {first} says {expected}, {way} {value}"
    return found


def list_figures(roots: list[Path]) -> Iterator[tuple[str, str, Any]]:
    """What reports say of each session, and then the list."""
    library = SessionLibrary(roots, count=False)
    library.refresh()
    library._set_counts(count_list(CountJob(roots), math.inf).counts)
    by_session: dict[str, dict[str, Any]] = {}
    for report, names in (
        (reread.stats(by="session", root=roots), ("lines_added", "lines_removed")),
        (reread.usage(by="session", root=roots), ("tokens", "output_tokens", "cost_usd", "unconfirmed_responses")),
    ):
        for row in report.rows:
            by_session.setdefault(row["session"], {}).update({name: row[name] for name in names})
    entries = [entry for entry in library._entries.values() if not entry.header.prompts_only]
    listed = [(id, entry) for entry in entries for id in entry.header.sessions or (entry.header.id,)]
    yield "listed sessions", "reports", by_session.keys() - dict(listed).keys()
    yield "listed sessions", "the list", set()
    for id, entry in listed:
        row = entry.row()
        found = msgspec.to_builtins(row) | msgspec.to_builtins(row.figures)
        expected = dict.fromkeys(("lines_added", "tokens"), 0) | by_session.get(id, {})
        alone = reread.stats(entry.path, by="session", root=roots)
        expected["turns"] = alone.totals.turns  # those of a file
        session = reread.open(entry.path, root=roots)
        calls = [*session.calls, *(call for agent in session.agents.values() for call in agent.calls)]
        yield f"calls in {entry.path}", "the session", {call.id: call.state for call in calls}
        yield f"calls in {entry.path}", "stats", {one["id"]: one["state"] for one in alone.items}
        yield f"cost of {entry.path}", "the session", session.usage.cost_usd or 0.0
        yield f"cost of {entry.path}", "stats", alone.totals.cost_usd or 0.0
        for name, value in expected.items():
            yield f"{name} of {id} in {entry.path}", "reports", value
            yield f"{name} of {id} in {entry.path}", "the list", found[name]


@sampled
@pytest.mark.parametrize("corpus", [*CORPORA])
def test_every_way_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: str) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "REREAD_HOME", "REREAD_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    figures: Figures = {}
    for figure, way, value in asked(CORPORA[corpus](tmp_path / "made"), tmp_path / "tables"):
        figures.setdefault(figure, {})[way] = value
    assert list(differences(figures).values()) == []


@pytest.mark.parametrize("name", ["0", "f"])
def test_what_a_fork_copied_is_the_originals_in_every_report(tmp_path: Path, name: str) -> None:
    """Whatever the fork is called: the client writes first into its file when it starts, and then the copies."""
    whole = told(*said("1", "ls"), *said("2", "pwd"))
    fork = f"{name}{FORK[1:]}"
    queued = {"type": "queue-operation", "operation": "enqueue", "sessionId": fork, "timestamp": "2026-01-01T00:00:00Z"}
    write(tmp_path, *whole[:3], name=SESSION)
    write(tmp_path, queued, *copied(whole, fork), name=fork)
    used = {row["session"]: row["cost_usd"] for row in reread.usage(by="session", root=tmp_path).rows}
    assert len(used) == 2
    assert {row["session"]: row["cost_usd"] for row in reread.stats(by="session", root=tmp_path).rows} == used
    digest = reread.digest(since="2000", root=tmp_path)
    assert {one.session: one.cost_usd for project in digest.projects for one in project.sessions} == used
    assert [one.calls for project in digest.projects for one in project.sessions] == [1, 1]


@pytest.mark.parametrize("project", ["a", "z"])
def test_a_file_that_ends_while_a_call_runs_does_not_hide_its_outcome(tmp_path: Path, project: str) -> None:
    whole = told(*said("1", "pytest -q"))
    whole[-1]["message"]["content"][0] |= {"is_error": True, "content": "Exit code 1"}
    write(tmp_path, *whole, name=SESSION, project="m")
    write(tmp_path, *whole[:-1], name=SESSION, project=project)
    assert reread.stats(root=tmp_path).totals.failed == 1
    ((one,),) = (project.sessions for project in reread.digest(since="2000", root=tmp_path).projects)
    assert (one.failed_calls, [test.failed for test in one.tests]) == (1, [1])
