"""Report how much was written to the cache again, by cause."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from reread.accounting.group_by import MAIN, SUBAGENTS, TIME_KEYS, ZoneClock, ascending, limit_rows, matches_model
from reread.accounting.prices import current_prices
from reread.base.choices import CacheGrouping
from reread.base.paths import normalize_folder
from reread.base.text import split_names
from reread.base.times import TimeLike, parse_period_ms, parse_time_zone
from reread.disk import layout
from reread.errors import Misuse
from reread.reports.cache_figures import CacheFigures, figures_of, places_of
from reread.reports.facts_cache import Progress, facts_of
from reread.reports.file_owners import owner_test
from reread.reports.session_facts import ResponseFact, SessionFacts
from reread.reports.stats_report import originals_first, session_files_of
from reread.reports.usage_report import session_name
from reread.session.cache_breaks import CacheBreak

if TYPE_CHECKING:
    from reread.session.session import Session


class CacheGroup(msgspec.Struct, frozen=True):
    """One group and its figures. `row["cause"]` and `row["tokens"]` work alike."""

    group: dict[str, str | None]
    figures: CacheFigures

    def __getitem__(self, name: str) -> Any:
        return self.group[name] if name in self.group else getattr(self.figures, name)


class BreakPlace(msgspec.Struct, frozen=True):
    """A cache break that a report counts, and the session it is in."""

    session: str
    title: str
    project: str
    path: str
    cache_break: CacheBreak


class CacheReport(msgspec.Struct, frozen=True):
    """Cache breaks by group, and the totals."""

    by: tuple[str, ...]
    rows: list[CacheGroup]
    totals: CacheFigures
    cache_write_tokens: int
    """All that was written to the cache, by the same responses."""
    breaks: list[BreakPlace]
    """Each break, in the order of their sessions."""
    unread: tuple[str, ...] = ()
    """Files that could not be read and are not included."""
    hidden: tuple[CacheGroup, ...] = ()
    """Rows that are more than were asked for; the totals include them."""

    def __iter__(self) -> Iterator[CacheGroup]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


Key = Callable[[SessionFacts, CacheBreak], str | None]
_KEYS: dict[str, Key] = {
    "cause": lambda _, found: found.cause,
    "session": lambda facts, _: facts.session,
    "project": lambda facts, _: normalize_folder(facts.project) if facts.project else None,
    "model": lambda _, found: found.model,
    "agent": lambda _, found: found.agent or MAIN,
    "thread": lambda _, found: SUBAGENTS if found.agent else MAIN,
}
GROUPS = (*_KEYS, *TIME_KEYS)
"""The groups of cache breaks."""


def cache_breaks(
    *sources: str | os.PathLike[str] | Session,
    by: CacheGrouping | Sequence[CacheGrouping] = "cause",
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    tz: str | tzinfo | None = None,
    project: str | Path | Sequence[str | Path] | None = None,
    model: str | Sequence[str] | None = None,
    person: str | Sequence[str] | None = None,
    machine: str | Sequence[str] | None = None,
    limit: int | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> CacheReport:
    """Return the requests that had to write again what was cached, by cause, with what that cost.

    Without sources, report on all sessions of this machine, or those below `root`. `by` is cause, session, project,
    model, agent, thread (main or subagents), day, week, month, weekday or hour, or several of them. With `limit`, there
    are at most so many rows: the newest if they are in the order of time, else those with most tokens. What a fork
    copied from another session is counted once.
    """
    zone = parse_time_zone(tz)
    groups = tuple(dict.fromkeys(split_names(by)))
    keys = [_key(name, ZoneClock(zone)) for name in groups]
    first, last = parse_period_ms(since, until, zone)
    folders, models = layout.expand_folders(project), tuple(split_names(model))
    unread: list[str] = []
    paths = session_files_of(list(map(session_name, sources)), root, owner_test(person, machine))
    found = facts_of(paths, cache=cache, progress=progress, unread=unread)
    sessions = originals_first(facts for facts in found if not folders or layout.is_within(facts.project, folders))

    def counts(fact: CacheBreak | ResponseFact) -> bool:
        time, table = fact.time_ms, current_prices()
        if (first is not None or last is not None) and time is None:
            return False
        if time is not None and not (first or -(1 << 62)) <= time < (last or 1 << 62):
            return False
        return not models or any(matches_model(fact.model, pattern, table) for pattern in models)

    places, written = places_of(sessions, counts)
    grouped: dict[tuple[str | None, ...], list[CacheBreak]] = {}
    for facts, item in places:
        grouped.setdefault(tuple(key(facts, item) for key in keys), []).append(item)
    rows = [
        CacheGroup(dict(zip(groups, group, strict=True)), figures_of(grouped[group], written))
        for group in sorted(grouped, key=lambda group: _order(group, groups, grouped))
    ]
    rows, hidden = limit_rows(rows if groups else [], limit, by=groups, weight=lambda row: row.figures.tokens)
    return CacheReport(
        by=groups,
        rows=rows,
        totals=figures_of([item for _, item in places], written),
        cache_write_tokens=written,
        breaks=[BreakPlace(facts.session, facts.title, facts.project, facts.path, item) for facts, item in places],
        unread=tuple(sorted(unread)),
        hidden=tuple(hidden),
    )


def _key(name: str, clock: ZoneClock) -> Key:
    if name in TIME_KEYS:
        time_key = TIME_KEYS[name](clock)
        return lambda _, found: time_key(found)
    if name not in _KEYS:
        raise Misuse(f"Cannot group cache breaks by {name!r}; use {', '.join(GROUPS)}, or several with commas.")
    return _KEYS[name]


def _order(
    group: tuple[str | None, ...], groups: Sequence[str], grouped: dict[tuple[str | None, ...], list[CacheBreak]]
) -> tuple[Any, ...]:
    """Sort periods by time, everything else by the tokens that were written again."""
    if any(name in TIME_KEYS for name in groups):
        return tuple(ascending(group))
    return (-sum(item.tokens for item in grouped[group]), *(value or "" for value in group))


def cache_value(report: CacheReport) -> dict[str, Any]:
    """Return a report as JSON values: `rows` with their groups and figures, `totals`, and each of the `breaks`."""
    rows = [{**row.group, **msgspec.to_builtins(row.figures)} for row in report.rows]
    totals = {**msgspec.to_builtins(report.totals), "cache_write_tokens": report.cache_write_tokens}
    return {"rows": rows, "totals": totals, "breaks": [_place_value(place) for place in report.breaks]}


def _place_value(place: BreakPlace) -> dict[str, Any]:
    where = {"session": place.session, "title": place.title, "project": place.project, "path": place.path}
    return {**where, **msgspec.to_builtins(place.cache_break)}
