"""Tallies: what was spent, filtered, put into groups and summed. No I/O."""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import msgspec

from reread.accounting.billing import Usage, UsageSum
from reread.accounting.digest import SLOT_MS
from reread.accounting.entries import UsageEntry, sum_entries
from reread.accounting.prices import Prices, read_name
from reread.disk import layout
from reread.errors import Misuse

MAIN, SUBAGENTS = "main", "subagents"
BLOCK = timedelta(hours=5)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Key = Callable[[UsageEntry], str | None]


class UsageGroup(msgspec.Struct, frozen=True):
    """One group and its figures. `row["day"]` and `row["cost_usd"]` work alike."""

    group: dict[str, str | None]
    usage: Usage

    def __getitem__(self, name: str) -> Any:
        return self.group[name] if name in self.group else self.usage[name]


class UsageReport(msgspec.Struct, frozen=True):
    """What was spent, by group and in all."""

    by: tuple[str, ...]
    rows: list[UsageGroup]
    totals: Usage
    prices: str
    """The day of the price table that was used."""
    unread: tuple[str, ...] = ()
    """Files that could not be read: what they say is in no figure."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class UsageFilter(msgspec.Struct, frozen=True):
    """Which spends to count."""

    since: int | None = None
    until: int | None = None
    """Milliseconds since 1970; `since` is in, `until` is out."""
    projects: tuple[str, ...] = ()
    """Folders: what was spent there or below."""
    models: tuple[str, ...] = ()

    def passes(self, prices: Prices) -> Callable[[UsageEntry], bool] | None:
        """The test, or None where all pass."""
        tests = [test for test in (self._in_time(), self._in_projects(), self._of_models(prices)) if test is not None]
        if not tests:
            return None
        return lambda entry: all(test(entry) for test in tests)

    def _in_time(self) -> Callable[[UsageEntry], bool] | None:
        if self.since is None and self.until is None:
            return None
        first = self.since if self.since is not None else -(1 << 62)
        last = self.until if self.until is not None else 1 << 62
        return lambda entry: entry.when is not None and first <= entry.when < last

    def _in_projects(self) -> Callable[[UsageEntry], bool] | None:
        if not self.projects:
            return None
        return lambda entry: layout.is_within(entry.project, self.projects)

    def _of_models(self, prices: Prices) -> Callable[[UsageEntry], bool] | None:
        if not self.models:
            return None
        known: dict[str | None, bool] = {}

        def test(entry: UsageEntry) -> bool:
            model = entry.model
            if model not in known:
                known[model] = any(is_model(model, pattern, prices) for pattern in self.models)
            return known[model]

        return test


def is_model(model: str | None, pattern: str, prices: Prices) -> bool:
    """Whether a model is meant by an id, a pattern (`claude-opus-*`) or a family (`opus`); never by a neighbour's."""
    if model is None:
        return False
    asked = prices.name(pattern)
    if model == pattern or (asked is not None and prices.name(model) == asked):
        return True
    plain = read_name(model).model
    return fnmatch.fnmatchcase(plain, pattern) or (pattern.isalpha() and pattern in plain.split("-"))


def group_entries(
    entries: Sequence[UsageEntry],
    by: Sequence[str],
    *,
    zone: tzinfo | None,
    prices: Prices,
    keep: UsageFilter | None = None,
) -> UsageReport:
    """The figures of each group, ascending, and of all; `zone` None is the local time."""
    clock = ZoneClock(zone)
    keys = [_key(name, clock, entries) for name in by]
    test = keep.passes(prices) if keep is not None else None
    kept = entries if test is None else list(filter(test, entries))
    groups: defaultdict[tuple[str | None, ...], list[UsageEntry]] = defaultdict(list)
    for entry, *group in zip(kept, *(map(key, kept) for key in keys), strict=True):
        groups[tuple(group)].append(entry)
    everything = UsageSum()
    rows: list[UsageGroup] = []
    for group in sorted(groups, key=_ascending):
        figures = sum_entries(groups[group])
        everything.add(figures)
        rows.append(UsageGroup(dict(zip(by, group, strict=True)), figures.usage()))
    return UsageReport(tuple(by), rows if by else [], everything.usage(), prices.table.as_of)


def _ascending(group: tuple[str | None, ...]) -> list[tuple[bool, str]]:
    return [(value is not None, value or "") for value in group]


class ZoneClock:
    """Milliseconds as days of a time zone; each quarter of an hour is looked up once."""

    def __init__(self, zone: tzinfo | None) -> None:
        self.zone = zone
        self._days: dict[int, datetime] = {}

    def time(self, when: int) -> datetime:
        """A moment in the zone; of one that its calendar does not have, the first or the last that there is."""
        try:
            return (EPOCH + timedelta(0, 0, 0, when)).astimezone(self.zone)
        except (OverflowError, ValueError, OSError):
            return (datetime.min if when < 0 else datetime.max).replace(tzinfo=UTC)

    def slot(self, when: int) -> datetime:
        """The quarter of an hour in which a moment lies."""
        slot = when // SLOT_MS
        if slot not in self._days:
            self._days[slot] = self.time(slot * SLOT_MS)
        return self._days[slot]


def _day(clock: ZoneClock) -> Key:
    return _dated(clock, lambda day: day.date().isoformat())


def _week(clock: ZoneClock) -> Key:
    return _dated(clock, lambda day: (day.date() - timedelta(days=day.weekday())).isoformat())


def _month(clock: ZoneClock) -> Key:
    return _dated(clock, lambda day: f"{day.year:04}-{day.month:02}")


def _dated(clock: ZoneClock, name: Callable[[datetime], str]) -> Key:
    known: dict[int, str] = {}

    def key(entry: UsageEntry) -> str | None:
        if entry.when is None:
            return None
        slot = entry.when // SLOT_MS
        if slot not in known:
            known[slot] = name(clock.slot(entry.when))
        return known[slot]

    return key


def _block(clock: ZoneClock, entries: Iterable[UsageEntry]) -> Key:
    """The five hours that begin on the hour of the first response after the last such five ended."""
    length = int(BLOCK.total_seconds() * 1000)
    hour = 3_600_000
    starts: dict[int, str] = {}
    start: int | None = None
    name = ""
    for when in sorted({entry.when for entry in entries if entry.when is not None}):
        if start is None or when - start >= length:
            start = when // hour * hour
            name = clock.time(start).isoformat()
        starts[when] = name
    return lambda entry: None if entry.when is None else starts[entry.when]


_TIMES: dict[str, Callable[[ZoneClock], Key]] = {"day": _day, "week": _week, "month": _month}
_PLAIN: dict[str, Key] = {
    "session": lambda entry: entry.session,
    "project": lambda entry: entry.project,
    "model": lambda entry: entry.model,
    "branch": lambda entry: entry.branch,
    "agent": lambda entry: entry.agent or MAIN,
    "thread": lambda entry: SUBAGENTS if entry.agent else MAIN,
}
GROUPS = (*_TIMES, *_PLAIN, "block")
"""What usage can be grouped by: `thread` tells the main thread from subagents, `block` is five hours."""


def _key(name: str, clock: ZoneClock, entries: Sequence[UsageEntry]) -> Key:
    if name in _TIMES:
        return _TIMES[name](clock)
    if name == "block":
        return _block(clock, entries)
    if name not in _PLAIN:
        raise Misuse(f"cannot group by {name!r}: say {', '.join(GROUPS)}, several with commas")
    return _PLAIN[name]
