"""Accounts: who spent what, where, when and on which model, over any number of sessions."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reread.counting.cache import Cache
from reread.counting.digests import SLOT_MS
from reread.counting.readers import Progress
from reread.counting.surveys import Asked, Survey, is_session
from reread.counting.tallies import Filter, Report, tally
from reread.errors import Misuse
from reread.money.prices import Prices, in_force
from reread.when import parse_when

if TYPE_CHECKING:
    from reread.counting.surveys import Source

When = str | datetime | date
LOCAL = "local"


def usage(
    *sources: Source | Iterable[Source],
    by: str | Sequence[str] = "day",
    since: When | None = None,
    until: When | None = None,
    tz: str | tzinfo | None = None,
    project: str | Path | Sequence[str | Path] | None = None,
    model: str | Sequence[str] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    prices: str | Path | Prices | None = None,
    cache: bool = True,
    keep_deleted: bool = False,
    progress: Progress | None = None,
) -> Report:
    """What sessions spent, in tokens and money: each response once, by group and in all.

    Without sources, all sessions of this machine (or below `root`). A source is a session (with its agents), a folder
    (all below it), a stream's file, bytes or a binary file. `by`: day, week, month, session, project, model, branch,
    agent, thread (main or subagents), block (five hours), or several of them.
    """
    zone = time_zone(tz)
    table = prices if isinstance(prices, Prices) else in_force(prices)
    groups = tuple(_words(by))
    keep = Filter(
        since=_milliseconds(since, zone),
        until=_milliseconds(until, zone, end=True),
        projects=tuple(os.path.realpath(Path(p).expanduser()) for p in _several(project)),
        models=tuple(_words(model)),
    )
    asked = Asked(list(_flat(sources)), root)
    with _no_collection(), _opened(cache) as kept:
        survey = Survey(asked, kept, table, keep_deleted=keep_deleted, progress=progress)
        exact = "block" in groups or any(edge is not None and edge % SLOT_MS for edge in (keep.since, keep.until))
        return tally(survey.spends(exact=exact), groups, zone=zone, prices=table, keep=keep)


def time_zone(tz: str | tzinfo | None) -> tzinfo | None:
    """A time zone by name (`Europe/Berlin`, `UTC`, `+02:00`); None, the local one."""
    if tz is None or isinstance(tz, tzinfo):
        return tz
    name = tz.strip()
    if name.lower() in ("", LOCAL):
        return None
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        if name[0] in "+-":
            offset = datetime.strptime(name, "%z").utcoffset()
            return timezone(offset or timedelta())
        from zoneinfo import ZoneInfo

        return ZoneInfo(name)
    except (ValueError, LookupError, OSError):
        raise Misuse(f"{tz!r} is no time zone: say local, UTC, +02:00 or a name such as Europe/Berlin") from None


def _several(value: Any) -> list[Any]:
    """One value, or several."""
    if value is None:
        return []
    return list(cast(list[Any], value)) if isinstance(value, list | tuple | set) else [value]


def _words(value: str | Sequence[str] | None) -> list[str]:
    """One word, several, or several with commas between them."""
    return [word.strip() for text in _several(value) for word in text.split(",") if word.strip()]


def _milliseconds(when: When | None, zone: tzinfo | None, *, end: bool = False) -> int | None:
    """A moment; a day that ends something is in it to its last moment."""
    if when is None:
        return None
    if isinstance(when, str):
        text = when.strip()
        moment = parse_when(text, zone=zone)
        whole = text.lower() in ("today", "yesterday") or (len(text) == 10 and text[:4].isdigit())
    else:
        whole = not isinstance(when, datetime)
        moment = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone).astimezone() if zone else moment.astimezone()
    if whole and end:
        moment = _next_day(moment, zone)
    return round(moment.timestamp() * 1000)


def _next_day(moment: datetime, zone: tzinfo | None) -> datetime:
    following = (moment.astimezone(zone) + timedelta(hours=36)).replace(tzinfo=None)
    midnight = following.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.replace(tzinfo=zone) if zone else midnight.astimezone()


def _flat(sources: Iterable[Any]) -> Iterator[Source]:
    for source in sources:
        if isinstance(source, str | Path | bytes | bytearray) or is_session(source) or hasattr(source, "read"):
            yield source  # pyright: ignore[reportReturnType]
        else:
            yield from _flat(source)


@contextmanager
def _opened(wanted: bool) -> Generator[Cache | None]:
    cache = Cache() if wanted else None
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()


@contextmanager
def _no_collection() -> Generator[None]:
    """Counting makes no garbage in cycles, and collecting while it runs costs half its time again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def report_value(report: Report) -> dict[str, Any]:
    """A report as JSON values: `rows` with their groups and figures, and `totals`."""
    rows = [{**row.group, **figures(row.usage)} for row in report.rows]
    more = {"unpriced_models": list(report.totals.unpriced_models), "lower_bound": report.totals.lower_bound}
    return {"rows": rows, "totals": {**figures(report.totals), **more}}


FIGURES = (
    "responses",
    "input_tokens",
    "output_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "cache_read_tokens",
    "web_searches",
    "cost_usd",
    "reported_cost_usd",
    "unconfirmed_responses",
)


def figures(usage: Any) -> dict[str, Any]:
    """The figures of a usage by name."""
    return {name: usage[name] for name in FIGURES}
