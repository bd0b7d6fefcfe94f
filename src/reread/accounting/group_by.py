"""Filter usage entries, group them and sum each group."""

from __future__ import annotations

import fnmatch
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Protocol, TypeVar

import msgspec

from reread.accounting.billing import Usage, UsageSum
from reread.accounting.digest import SLOT_MS
from reread.accounting.entries import UsageEntry, sum_entries
from reread.accounting.prices import Prices, parse_model_id
from reread.base.paths import normalize_folder
from reread.disk import layout
from reread.disk.repository import repository_of
from reread.errors import Misuse

MAIN, SUBAGENTS = "main", "subagents"
MS_PER_HOUR = 3_600_000
BLOCK_MS = 5 * MS_PER_HOUR
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimedEntry(Protocol):
    """Anything that happened at a time."""

    @property
    def time_ms(self) -> int | None: ...


Key = Callable[[UsageEntry], str | None]
"""Returns the group to which an entry belongs; None if unknown."""
TimeKey = Callable[[TimedEntry], str | None]
OwnerKey = Callable[[str, str | None], str | None]
"""Returns the person, machine or team of a file."""
Test = Callable[[UsageEntry], bool]
Row = TypeVar("Row")


class UsageGroup(msgspec.Struct, frozen=True):
    """One group and its usage. `row["day"]` and `row["cost_usd"]` work alike."""

    group: dict[str, str | None]
    usage: Usage

    def __getitem__(self, name: str) -> Any:
        return self.group[name] if name in self.group else self.usage[name]


class CostComparison(msgspec.Struct, frozen=True):
    """The cost that the client reported and the one computed for the same sessions, and the cost of all others."""

    sessions: int
    """The sessions for which the client reported a cost."""
    reported_usd: float
    computed_usd: float | None
    """None if no response of these sessions has a price."""
    other_sessions: int
    """The sessions without a report that have responses."""
    other_usd: float | None
    """Their computed cost; None if none of their responses has a price."""

    @property
    def best_usd(self) -> float:
        """The cost of all sessions: as reported if it was, else as computed."""
        return self.reported_usd + (self.other_usd or 0.0)


class UsageReport(msgspec.Struct, frozen=True):
    """Usage by group, and the totals."""

    by: tuple[str, ...]
    rows: list[UsageGroup]
    totals: Usage
    prices: str
    """The day of the price table that was used."""
    unread: tuple[str, ...] = ()
    """Files that could not be read and are not included."""
    comparison: CostComparison | None = None
    """None if the client reported no cost."""
    hidden: tuple[UsageGroup, ...] = ()
    """Rows that cost too little, or are more than were asked for; the totals include them."""
    known: dict[str, set[str]] = {}
    """If only some projects or models are counted, all that there are: by `project` and by `model`."""

    def __iter__(self) -> Iterator[UsageGroup]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class UsageFilter(msgspec.Struct, frozen=True):
    """Which entries to count."""

    since: int | None = None
    until: int | None = None
    """Milliseconds since 1970; `since` is included, `until` is not."""
    projects: tuple[str, ...] = ()
    """Only these folders and those below them."""
    models: tuple[str, ...] = ()
    file: Callable[[str | None], bool] | None = None
    """A test for the file of an entry."""

    def test(self, prices: Prices) -> Test | None:
        """Return a test for entries; None if all of them count."""
        every = (self._time_test(), self._project_test(), self._model_test(prices), self._file_test())
        tests = [test for test in every if test]
        if not tests:
            return None
        return lambda entry: all(test(entry) for test in tests)

    def _time_test(self) -> Test | None:
        if self.since is None and self.until is None:
            return None
        first = self.since if self.since is not None else -(1 << 62)
        last = self.until if self.until is not None else 1 << 62
        return lambda entry: entry.time_ms is not None and first <= entry.time_ms < last

    def _project_test(self) -> Test | None:
        if not self.projects:
            return None
        return lambda entry: layout.is_within(entry.project, self.projects)

    def _file_test(self) -> Test | None:
        accepts = self.file
        return None if accepts is None else lambda entry: accepts(entry.path)

    def _model_test(self, prices: Prices) -> Test | None:
        if not self.models:
            return None
        known: dict[str | None, bool] = {}

        def test(entry: UsageEntry) -> bool:
            model = entry.model
            if model not in known:
                known[model] = any(matches_model(model, pattern, prices) for pattern in self.models)
            return known[model]

        return test


def matches_model(model: str | None, pattern: str, prices: Prices) -> bool:
    """True if a model matches an id, a glob pattern (`claude-opus-*`) or a family (`opus`)."""
    if model is None:
        return False
    name = prices.name(pattern)
    if model == pattern or (name is not None and prices.name(model) == name):
        return True
    base = parse_model_id(model).model
    return fnmatch.fnmatchcase(base, pattern) or (pattern.isalpha() and pattern in base.split("-"))


def group_entries(
    entries: Sequence[UsageEntry],
    by: Sequence[str],
    *,
    zone: tzinfo | None,
    prices: Prices,
    keep: UsageFilter | None = None,
    agent_types: Mapping[str, str] | None = None,
    owner: OwnerKey | None = None,
) -> UsageReport:
    """Return the usage of each group, ascending, and the totals; `zone` None is local time.

    `owner` tells whose a file is: the group of it, by `person`, `machine` or `team`.
    """
    clock = ZoneClock(zone)
    keys = [_key(name, clock, entries, agent_types or {}, owner) for name in by]
    test = keep.test(prices) if keep is not None else None
    kept = entries if test is None else list(filter(test, entries))
    groups: defaultdict[tuple[str | None, ...], list[UsageEntry]] = defaultdict(list)
    for entry, *group in zip(kept, *(map(key, kept) for key in keys), strict=True):
        groups[tuple(group)].append(entry)
    totals = UsageSum()
    rows: list[UsageGroup] = []
    for group in sorted(groups, key=ascending):
        subtotal = sum_entries(groups[group])
        totals.add(subtotal)
        rows.append(UsageGroup(dict(zip(by, group, strict=True)), subtotal.to_usage()))
    report = UsageReport(tuple(by), rows if by else [], totals.to_usage(), prices.table.as_of)
    known = _known(entries) if keep is not None and (keep.projects or keep.models) else {}
    return msgspec.structs.replace(report, comparison=_compare(kept), known=known)


def _known(entries: Sequence[UsageEntry]) -> dict[str, set[str]]:
    projects = {entry.project for entry in entries if entry.project}
    return {"project": set(map(normalize_folder, projects)), "model": {entry.model for entry in entries if entry.model}}


def _compare(entries: Sequence[UsageEntry]) -> CostComparison | None:
    """Compare what was reported with what was computed for the same sessions; None if nothing was reported."""
    reported = {entry.session for entry in entries if entry.reported_nanos is not None}
    if not reported:
        return None
    same = sum_entries([entry for entry in entries if entry.session in reported]).to_usage()
    others = [entry for entry in entries if entry.session not in reported]
    return CostComparison(
        sessions=len(reported),
        reported_usd=same.reported_cost_usd or 0.0,
        computed_usd=same.cost_usd,
        other_sessions=len({entry.session for entry in others}),
        other_usd=sum_entries(others).to_usage().cost_usd if others else 0.0,
    )


def arrange(
    report: UsageReport, *, sort: str = "group", min_cost: float | None = None, limit: int | None = None
) -> UsageReport:
    """Return a report with its rows in another order, largest first, without those below a cost or beyond a limit."""
    rows = report.rows
    if sort not in SORTS:
        raise Misuse(f"Cannot sort by {sort!r}; use {', '.join(SORTS)}.")
    if sort != GROUP:
        rows = sorted(rows, key=lambda row: SORTS[sort](row.usage), reverse=True)
    least = -math.inf if min_cost is None else min_cost
    cheap = [row for row in rows if best_cost(row.usage) < least]
    rows = [row for row in rows if best_cost(row.usage) >= least]
    by = report.by if sort == GROUP else ()
    order = SORTS[sort if sort != GROUP else "cost"]
    rows, more = limit_rows(rows, limit, by=by, weight=lambda row: order(row.usage))
    return msgspec.structs.replace(report, rows=rows, hidden=(*cheap, *more))


def limit_rows(
    rows: list[Row], limit: int | None, *, by: Sequence[str], weight: Callable[[Row], Any]
) -> tuple[list[Row], list[Row]]:
    """Return at most so many rows, and the others: the newest ones in their order, or the largest, largest first."""
    if limit is None:
        return rows, []
    if limit < 1:
        raise Misuse(f"Invalid limit {limit}; use 1 or more.")
    if is_timeline(by):
        return rows[-limit:], rows[:-limit]
    rows = sorted(rows, key=weight, reverse=True)
    return rows[:limit], rows[limit:]


def is_timeline(by: Sequence[str]) -> bool:
    """True if rows that are in the order of their groups go from the oldest to the newest."""
    return bool(by) and by[0] in TIMELINE


def best_cost(usage: Usage) -> float:
    """Return a cost as the client reported it, else as computed."""
    return usage.reported_cost_usd if usage.reported_cost_usd is not None else usage.cost_usd or 0.0


GROUP = "group"
SORTS: dict[str, Callable[[Usage], float]] = {
    GROUP: lambda usage: 0,
    "cost": best_cost,
    "tokens": lambda usage: usage.tokens,
    "responses": lambda usage: usage.responses,
}
"""The orders of the rows of a report."""


WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEEKDAY_ORDER = {name: str(at) for at, name in enumerate(WEEKDAYS)}


def ascending(group: Iterable[str | None]) -> list[tuple[bool, str]]:
    """Return what groups are sorted by: unknown ones first, days of the week from Monday on, all else as text."""
    return [(value is not None, _WEEKDAY_ORDER.get(value or "", value or "")) for value in group]


class ZoneClock:
    """Converts timestamp_ms to times in a time zone; each quarter of an hour is converted once."""

    def __init__(self, zone: tzinfo | None) -> None:
        self.zone = zone
        self._slots: dict[int, datetime] = {}

    def time(self, time_ms: int) -> datetime:
        """Return a time in the zone, or the first or last one of the calendar if it lies beyond it."""
        try:
            return (EPOCH + timedelta(0, 0, 0, time_ms)).astimezone(self.zone)
        except (OverflowError, ValueError, OSError):
            return (datetime.min if time_ms < 0 else datetime.max).replace(tzinfo=UTC)

    def slot(self, time_ms: int) -> datetime:
        """Return the start of the quarter of an hour that contains a time."""
        slot = time_ms // SLOT_MS
        if slot not in self._slots:
            self._slots[slot] = self.time(slot * SLOT_MS)
        return self._slots[slot]


def _day_key(clock: ZoneClock) -> TimeKey:
    return _time_key(clock, lambda day: day.date().isoformat())


def _week_key(clock: ZoneClock) -> TimeKey:
    return _time_key(clock, lambda day: (day.date() - timedelta(days=day.weekday())).isoformat())


def _month_key(clock: ZoneClock) -> TimeKey:
    return _time_key(clock, lambda day: f"{day.year:04}-{day.month:02}")


def _weekday_key(clock: ZoneClock) -> TimeKey:
    return _time_key(clock, lambda day: WEEKDAYS[day.weekday()])


def _hour_key(clock: ZoneClock) -> TimeKey:
    return _time_key(clock, lambda day: f"{day.hour:02}:00")


def _time_key(clock: ZoneClock, name: Callable[[datetime], str]) -> TimeKey:
    names: dict[int, str] = {}

    def key(entry: TimedEntry) -> str | None:
        if entry.time_ms is None:
            return None
        slot = entry.time_ms // SLOT_MS
        if slot not in names:
            names[slot] = name(clock.slot(entry.time_ms))
        return names[slot]

    return key


def _block_key(clock: ZoneClock, entries: Iterable[UsageEntry]) -> Key:
    """Key for blocks of five hours, each from the full hour of the first response after the block before it."""
    names: dict[int, str] = {}
    start: int | None = None
    name = ""
    for time_ms in sorted({entry.time_ms for entry in entries if entry.time_ms is not None}):
        if start is None or time_ms - start >= BLOCK_MS:
            start = time_ms // MS_PER_HOUR * MS_PER_HOUR
            name = clock.time(start).isoformat()
        names[time_ms] = name
    return lambda entry: None if entry.time_ms is None else names[entry.time_ms]


TIME_KEYS: dict[str, Callable[[ZoneClock], TimeKey]] = {
    "day": _day_key,
    "week": _week_key,
    "month": _month_key,
    "weekday": _weekday_key,
    "hour": _hour_key,
}
_KEYS: dict[str, Key] = {
    "session": lambda entry: entry.session,
    "project": lambda entry: normalize_folder(entry.project) if entry.project else entry.project,
    "repository": lambda entry: repository_of(normalize_folder(entry.project)) if entry.project else entry.project,
    "model": lambda entry: entry.model,
    "branch": lambda entry: entry.branch,
    "agent": lambda entry: entry.agent or MAIN,
    "thread": lambda entry: SUBAGENTS if entry.agent else MAIN,
}
BLOCK, AGENT_TYPE = "block", "agent_type"
TIMELINE = ("day", "week", "month", BLOCK)
OWNERS = ("person", "machine", "team")
GROUPS = (*TIME_KEYS, *_KEYS, AGENT_TYPE, BLOCK, *OWNERS)
"""The groups of usage: `repository` joins worktrees and subfolders, `thread` is the main thread or subagents,
`block` is five hours, `machine` is where a file was written."""


def agent_type(entry: UsageEntry, agent_types: Mapping[str, str]) -> str | None:
    """Return the type of the agent of an entry, by its message or by its id; None if no agent did it."""
    return None if not entry.agent else agent_types.get(entry.message or "") or agent_types.get(entry.agent or "")


def _key(
    name: str,
    clock: ZoneClock,
    entries: Sequence[UsageEntry],
    agent_types: Mapping[str, str],
    owner: OwnerKey | None,
) -> Key:
    if name in OWNERS and owner is not None:
        return lambda entry: owner(name, entry.path)
    if name == AGENT_TYPE:
        return lambda entry: agent_type(entry, agent_types) if entry.agent else MAIN
    if name in TIME_KEYS:
        return TIME_KEYS[name](clock)
    if name == BLOCK:
        return _block_key(clock, entries)
    if name not in _KEYS:
        raise Misuse(f"Cannot group by {name!r}; use {', '.join(GROUPS)}, or several of them with commas.")
    return _KEYS[name]
