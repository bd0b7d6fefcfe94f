"""Report what sessions did: calls, failures, time, context, changed lines and cost, by group."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from reread.accounting.billing import Usage
from reread.accounting.group_by import (
    MAIN,
    OWNERS,
    SUBAGENTS,
    TIME_KEYS,
    TimedEntry,
    ZoneClock,
    ascending,
    limit_rows,
)
from reread.base.choices import CallState, StatsGrouping
from reread.base.paths import normalize_folder
from reread.base.text import split_names
from reread.base.times import TimeLike, parse_period_ms, parse_time_zone
from reread.catalog.resolve import resolve_session
from reread.disk import layout
from reread.errors import Misuse
from reread.reports.cache_figures import CacheFigures, figures_of, places_of
from reread.reports.facts_cache import Progress, facts_of
from reread.reports.file_owners import FileTest, file_owners, owner_test
from reread.reports.session_facts import CallFact, ResponseFact, SessionFacts, TurnFact
from reread.reports.usage_report import session_name, usage
from reread.tools.outcome import DENIED, FAILED, INTERRUPTED, RUNNING

if TYPE_CHECKING:
    from reread.session.session import Session

Fact = CallFact | ResponseFact | TurnFact
F = TypeVar("F", TurnFact, ResponseFact, CallFact)
Key = Callable[[SessionFacts, Fact], str | None]
NO_CALL = "(no call)"
"""The group of responses without a call, if responses are grouped by something that only calls have."""
NEVER = 1 << 62
"""After any time."""


class Stats(msgspec.Struct, kw_only=True):
    """The figures of a group, or of all sessions. Those of turns are None if groups split turns."""

    turns: int | None = 0
    responses: int | None = 0
    calls: int = 0
    failed: int = 0
    denied: int = 0
    interrupted: int = 0
    retries: int = 0
    """Calls that came next after a failed call of the same tool, in the same turn."""
    model_seconds: float | None = 0.0
    """Time in which the model answered and no tool ran."""
    tool_seconds: float | None = 0.0
    """Time in which some tool ran."""
    waiting_seconds: float | None = 0.0
    """All other time between the first prompt and the end."""
    call_seconds: float = 0.0
    """The durations of all calls, added up; calls that ran side by side count for each."""
    lines_added: int = 0
    lines_removed: int = 0
    context_peak: int | None = None
    """The most tokens that were in the context."""
    context_growth: int | None = 0
    """Tokens that turns added to the context."""
    compactions: int | None = 0
    tokens_removed: int | None = 0
    """By the compactions that say how many; None if there are some and none does."""
    unmeasured_compactions: int | None = 0
    """Compactions that do not say how many tokens they removed."""
    tokens: int | None = 0
    cost_usd: float | None = 0.0
    """None if no model that was used has a price."""

    def add_turn(self, turn: TurnFact) -> None:
        """Count a turn."""
        self.turns = (self.turns or 0) + 1
        self.model_seconds = (self.model_seconds or 0.0) + turn.model_seconds
        self.tool_seconds = (self.tool_seconds or 0.0) + turn.tool_seconds
        self.waiting_seconds = (self.waiting_seconds or 0.0) + turn.waiting_seconds
        self.context_growth = (self.context_growth or 0) + turn.context_growth
        self.compactions = (self.compactions or 0) + turn.compactions
        self.unmeasured_compactions = (self.unmeasured_compactions or 0) + turn.unmeasured_compactions
        removed = (self.tokens_removed or 0) + turn.tokens_removed
        self.tokens_removed = None if not removed and self.compactions == self.unmeasured_compactions > 0 else removed
        if turn.context_peak is not None:
            self.context_peak = max(self.context_peak or 0, turn.context_peak)

    def add_response(self, response: ResponseFact) -> None:
        """Count a response without its cost."""
        self.responses = (self.responses or 0) + 1
        self.tokens = (self.tokens or 0) + response.tokens

    def add_call(self, call: CallFact) -> None:
        """Count a call without its cost."""
        self.calls += 1
        self.failed += call.state == FAILED
        self.denied += call.state == DENIED
        self.interrupted += call.state == INTERRUPTED
        self.retries += call.is_retry
        self.call_seconds += call.seconds or 0.0
        self.lines_added += call.lines_added
        self.lines_removed += call.lines_removed

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class StatsGroup(msgspec.Struct, frozen=True):
    """One group and its figures. `row["tool"]` and `row["calls"]` work alike."""

    group: dict[str, str | None]
    stats: Stats

    def __getitem__(self, name: str) -> Any:
        return self.group[name] if name in self.group else self.stats[name]


class CallPlace(msgspec.Struct, frozen=True):
    """A call that a report counts, and the session it is in."""

    session: str
    title: str
    project: str
    path: str
    """The session's file; an agent's call is on a line of the agent's own file."""
    call: CallFact
    group: tuple[str | None, ...] = ()
    """The values of the report's groups for it."""


class StatsReport(msgspec.Struct, frozen=True):
    """Figures by group, the totals, and the calls behind them."""

    by: tuple[str, ...]
    rows: list[StatsGroup]
    totals: Stats
    sessions: int
    """The sessions of which anything is counted."""
    calls: list[CallPlace]
    """Every call that is counted, in the order of their sessions."""
    usage: Usage | None = None
    """The count of `reread.usage` for the same sessions and time; None if only some calls are counted."""
    unread: tuple[str, ...] = ()
    """Files that could not be read and are not included."""
    hidden: tuple[StatsGroup, ...] = ()
    """Rows that are more than were asked for; the totals include them."""
    known: dict[str, set[str]] = {}
    """All projects and tools that there are, also those that are not counted: by `project` and by `tool`."""
    cache: CacheFigures | None = None
    """What was written to the cache again; None if only some calls are counted."""
    empty_sessions: int = 0
    """Sessions without a turn of their own; 0 if only some calls or some time are counted."""
    titles: dict[str, str] = {}
    """The titles of the sessions, by their id."""

    @property
    def unplaced_cost_usd(self) -> float:
        """The cost that only `reread.usage` counts: the client's counters know of it, or a copy states more.

        It is negative if a copy of a response states less."""
        return 0.0 if self.usage is None else (self.usage.cost_usd or 0.0) - (self.totals.cost_usd or 0.0)

    def calls_of(self, row: StatsGroup) -> list[CallPlace]:
        """Return the calls that a row counts."""
        group = tuple(row.group.values())
        return [place for place in self.calls if place.group == group]

    def __iter__(self) -> Iterator[StatsGroup]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class _Filter(msgspec.Struct, frozen=True):
    since: int | None
    until: int | None
    tools: frozenset[str]
    states: frozenset[str]

    def accepts_time(self, fact: TimedEntry) -> bool:
        if self.since is None and self.until is None:
            return True
        time = fact.time_ms
        return time is not None and (self.since or -(1 << 62)) <= time < (self.until or 1 << 62)

    def accepts_call(self, call: CallFact) -> bool:
        if self.tools and call.tool.lower() not in self.tools:
            return False
        return (not self.states or call.state in self.states) and self.accepts_time(call)

    @property
    def is_on_calls(self) -> bool:
        return bool(self.tools or self.states)


def stats(
    *sources: str | os.PathLike[str] | Session,
    by: StatsGrouping | Sequence[StatsGrouping] = "tool",
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    tz: str | tzinfo | None = None,
    project: str | Path | Sequence[str | Path] | None = None,
    person: str | Sequence[str] | None = None,
    machine: str | Sequence[str] | None = None,
    tool: str | Sequence[str] | None = None,
    state: CallState | Sequence[CallState] | None = None,
    limit: int | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> StatsReport:
    """Return what sessions did: their calls, failures, time, context, changed lines and cost, by group and in total.

    Without sources, report on all sessions of this machine, or those below `root`. A source is a session or a
    folder. `by` is tool, failure (the kind), state, file, skill, mcp_server, agent, agent_type, thread (main or
    subagents), model, session, project, person, machine, team (of the machine that wrote a file), day, week, month,
    weekday or hour, or several of them. `tool` and `state` count only such calls. With `limit`, there are at most so
    many rows: the newest if they are in the order of time, else those that cost most, or with most calls if groups are
    of calls. What a fork copied from another session is counted once.
    """
    names = list(map(session_name, sources))
    zone = parse_time_zone(tz)
    groups = tuple(dict.fromkeys(split_names(by)))
    first, last = parse_period_ms(since, until, zone)
    keys = [_key(name, ZoneClock(zone)) for name in groups]
    keep = _Filter(
        since=first,
        until=last,
        tools=frozenset(word.lower() for word in split_names(tool)),
        states=frozenset(split_names(state)),
    )
    folders = layout.expand_folders(project)
    unread: list[str] = []
    known: dict[str, set[str]] = {"project": set(), "tool": set()}
    sessions: list[SessionFacts] = []
    paths = session_files_of(names, root, owner_test(person, machine))
    for facts in facts_of(paths, cache=cache, progress=progress, unread=unread):
        known["project"].update([normalize_folder(facts.project)] if facts.project else ())
        known["tool"].update(call.tool for call in facts.calls)
        if not folders or layout.is_within(facts.project, folders):
            sessions.append(facts)
    tally = _Tally(keys, keep, by_call=keep.is_on_calls or not CALL_GROUPS.isdisjoint(groups))
    sessions = originals_first(sessions)
    for facts in sessions:
        tally.add(facts)
    rows = [
        StatsGroup(dict(zip(groups, group, strict=True)), figures)
        for group, figures in sorted(tally.groups.items(), key=lambda item: _order(item, groups))
        if group  # without groups, there is only the total
    ]
    used = cached = None
    if not keep.is_on_calls:
        places, written = places_of(sessions, keep.accepts_time)
        cached = figures_of([found for _, found in places], written)
        only: dict[str, Any] = {"project": project, "person": person, "machine": machine}
        used = usage(*names, by=(), since=since, until=until, tz=tz, root=root, cache=cache, **only).totals
    rows, hidden = limit_rows(rows, limit, by=groups, weight=lambda row: tally.weight(row.stats))
    counted = (groups, rows, tally.totals, len(tally.counted), tally.calls)
    is_whole = not keep.is_on_calls and first is None and last is None
    empty = len({facts.session for facts in sessions} - tally.counted) if is_whole else 0
    titles = {facts.session: facts.title for facts in reversed(sessions)}
    return StatsReport(*counted, used, tuple(sorted(unread)), tuple(hidden), known, cached, empty, titles)


class _Tally:
    """Adds facts to their groups, each once however many sessions have a copy."""

    def __init__(self, keys: list[Key], keep: _Filter, *, by_call: bool) -> None:
        self.keys = keys
        self.keep = keep
        self.by_call = by_call
        """True if groups split turns: then only calls are counted, with their share of the cost."""
        self.groups: dict[tuple[str | None, ...], Stats] = {}
        self.totals = self._new()
        self.counted: set[str] = set()
        """The sessions of which anything is counted, whether or not groups have a place for it."""
        self.calls: list[CallPlace] = []
        self._seen: set[tuple[str, str]] = set()
        self._priced: set[int] = set()
        """The figures of which some cost is known."""

    def add(self, facts: SessionFacts) -> None:
        """Count a session."""
        for turn in filter(self._counts, self._fresh(facts.turns)):
            self.counted.add(facts.session)
            for stats in self._targets(facts, turn) if not self.by_call else ():
                stats.add_turn(turn)
        for response in filter(self._counts, self._fresh(facts.responses)):
            self.counted.add(facts.session)
            for stats in self._targets(facts, response) if not (self.by_call and response.calls) else ():
                self._add_response(stats, response)
        for call in self._fresh(facts.calls):
            if self.keep.accepts_call(call):
                self.counted.add(facts.session)
                group = self._group(facts, call)
                self.calls.append(CallPlace(facts.session, facts.title, facts.project, facts.path, call, group))
                for stats in self._targets(facts, call):
                    stats.add_call(call)
                    if self.by_call:
                        self._add_cost(stats, call.cost_usd)

    def weight(self, stats: Stats) -> tuple[float, float]:
        """Return what the largest groups have most of."""
        cost = stats.cost_usd or 0.0
        return (stats.calls, cost) if self.by_call else (cost, stats.calls)

    def _counts(self, fact: TurnFact | ResponseFact) -> bool:
        return not self.keep.is_on_calls and self.keep.accepts_time(fact)

    def _add_response(self, stats: Stats, response: ResponseFact) -> None:
        self._add_cost(stats, response.cost_usd)
        if not self.by_call:
            stats.add_response(response)

    def _add_cost(self, stats: Stats, cost: float | None) -> None:
        """Add a cost: one that nobody knows is no cost of zero."""
        if cost is not None:
            stats.cost_usd = cost + (stats.cost_usd or 0.0)
            self._priced.add(id(stats))
        elif id(stats) not in self._priced:
            stats.cost_usd = None

    def _group(self, facts: SessionFacts, fact: Fact) -> tuple[str | None, ...]:
        return tuple(key(facts, fact) for key in self.keys)

    def _targets(self, facts: SessionFacts, fact: Fact) -> Iterator[Stats]:
        """Yield the figures that a fact is added to."""
        yield self.totals
        group = self._group(facts, fact)
        if group not in self.groups:
            self.groups[group] = self._new()
        yield self.groups[group]

    def _new(self) -> Stats:
        if not self.by_call:
            return Stats()
        return Stats(
            turns=None,
            responses=None,
            model_seconds=None,
            tool_seconds=None,
            waiting_seconds=None,
            context_growth=None,
            compactions=None,
            tokens_removed=None,
            unmeasured_compactions=None,
            tokens=None,
        )

    def _fresh(self, facts: Iterable[F]) -> Iterator[F]:
        """Yield the facts that no session before had; one without an id is always new."""
        for fact in facts:
            key = (fact.__class__.__name__, fact.id)
            if not fact.id or key not in self._seen:
                self._seen.add(key)
                yield fact


def _of_call(name: str) -> Key:
    return lambda _, fact: getattr(fact, name) if isinstance(fact, CallFact) else NO_CALL


_CALL_KEYS: dict[str, Key] = {
    name: _of_call(name) for name in ("tool", "failure", "state", "file", "skill", "mcp_server")
}
CALL_GROUPS = frozenset(_CALL_KEYS)
"""The groups that split turns and responses."""
_KEYS: dict[str, Key] = {
    **_CALL_KEYS,
    "agent": lambda _, fact: getattr(fact, "agent", None) or MAIN,
    "agent_type": lambda _, fact: getattr(fact, "agent_type", None) if getattr(fact, "agent", None) else MAIN,
    "thread": lambda _, fact: SUBAGENTS if getattr(fact, "agent", None) else MAIN,
    "model": lambda _, fact: getattr(fact, "model", None),
    "session": lambda facts, _: facts.session,
    "project": lambda facts, _: normalize_folder(facts.project) if facts.project else None,
}
GROUPS = (*_KEYS, *TIME_KEYS, *OWNERS)
"""The groups of statistics."""


def _key(name: str, clock: ZoneClock) -> Key:
    if name in TIME_KEYS:
        time_key = TIME_KEYS[name](clock)
        return lambda _, fact: time_key(fact)
    if name in OWNERS:
        owner = file_owners()
        return lambda facts, _: owner(name, facts.path)
    if name not in _KEYS:
        raise Misuse(f"Cannot group by {name!r}; use {', '.join(GROUPS)}, or several of them with commas.")
    return _KEYS[name]


def _order(item: tuple[tuple[str | None, ...], Stats], groups: Sequence[str]) -> tuple[Any, ...]:
    """Sort periods by time, everything else by the number of calls, then by cost."""
    group, figures = item
    if any(name in TIME_KEYS for name in groups):
        return tuple(ascending(group))
    return (-figures.calls, -(figures.cost_usd or 0.0), *(value or "" for value in group))


def began_at(facts: SessionFacts) -> int:
    """Return when a session began, or the one that it copied."""
    times = (fact.time_ms for fact in (*facts.turns[:1], *facts.responses[:1]))
    return next((time for time in times if time is not None), NEVER)


def originals_first(found: Iterable[SessionFacts]) -> list[SessionFacts]:
    """Return sessions in the order in which what several files have is theirs.

    A fork follows the session that it copied, whose file was started before. Of the files of one session, the one with
    most of it is first: another may end while a call ran, whose outcome it does not know.
    """

    def order(facts: SessionFacts) -> tuple[int, int, str, int, str]:
        ended = sum(call.state != RUNNING for call in facts.calls)
        size = len(facts.turns) + len(facts.responses) + len(facts.calls) + ended
        start = facts.started_ms if facts.started_ms is not None else NEVER
        return began_at(facts), start, facts.session, -size, facts.path

    return sorted(found, key=order)


def session_files_of(
    names: Sequence[str | Path], root: str | Path | Sequence[str | Path] | None, counts: FileTest | None = None
) -> list[Path]:
    """Return the files of the sessions that are named, or of all sessions, and that pass a test."""
    roots = [root] if isinstance(root, str | Path) else root
    found: list[Path] = [] if names else list(layout.session_files(roots))
    for name in names:
        path = layout.expand_path(name)
        below = layout.sessions_below(path) if path.is_dir() else [resolve_session(name, root=root)]
        found += (path.absolute() for path in below)
    return [path for path in dict.fromkeys(found) if counts is None or counts(str(path))]


def stats_value(report: StatsReport) -> dict[str, Any]:
    """Return a report as JSON values: `rows` with their groups and figures, and `totals`."""
    rows = [{**row.group, **msgspec.to_builtins(row.stats)} for row in report.rows]
    used = report.usage or Usage()
    totals = {
        **msgspec.to_builtins(report.totals),
        "unplaced_cost_usd": report.unplaced_cost_usd,
        "unconfirmed_responses": used.unconfirmed_responses,
        "unpriced_models": list(used.unpriced_models),
    }
    cached = {"cache": msgspec.to_builtins(report.cache)} if report.cache is not None else {}
    sessions = {"sessions": report.sessions, "empty_sessions": report.empty_sessions}
    return {**sessions, "rows": rows, "totals": totals, **cached}


def call_place_value(place: CallPlace) -> dict[str, Any]:
    """Return a call that was counted as JSON values."""
    call = place.call
    fields = {name: getattr(call, name) for name in call.__struct_fields__}
    return {"session": place.session, "title": place.title, "project": place.project, "path": place.path, **fields}
