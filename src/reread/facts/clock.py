"""The periods of times in a time zone: days, weeks, months, days of the week, hours, and blocks of five hours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, tzinfo

SLOT_MS = 900_000
"""A quarter of an hour: in every time zone the day begins on one."""
MS_PER_HOUR = 3_600_000
BLOCK_MS = 5 * MS_PER_HOUR
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PERIODS: dict[str, Callable[[datetime], str]] = {
    "day": lambda time: time.date().isoformat(),
    "week": lambda time: (time.date() - timedelta(days=time.weekday())).isoformat(),
    "month": lambda time: f"{time.year:04}-{time.month:02}",
    "weekday": lambda time: WEEKDAYS[time.weekday()],
    "hour": lambda time: f"{time.hour:02}:00",
}
"""The name of the period that a time is in."""
BLOCK = "block"


def zone_time(time_ms: int, zone: tzinfo | None) -> datetime:
    """Return a time in a zone, None for local time, or the first or last one of the calendar if it lies beyond it."""
    try:
        return (EPOCH + timedelta(0, 0, 0, time_ms)).astimezone(zone)
    except (OverflowError, ValueError, OSError):
        return (datetime.min if time_ms < 0 else datetime.max).replace(tzinfo=UTC)


def period_of_slot(period: str, zone: tzinfo | None) -> Callable[[int | None], str | None]:
    """Return a function that names the period of a quarter of an hour, counted from 1970."""
    name = PERIODS[period]
    return lambda slot: None if slot is None else name(zone_time(slot * SLOT_MS, zone))


def block_of_hour(hours: Iterable[int], zone: tzinfo | None) -> Callable[[int | None], str | None]:
    """Return a function that names the block of a full hour, counted from 1970, given all hours in which something was.

    A block is five hours, from the full hour of the first response after the block before it.
    """
    names: dict[int, str] = {}
    start: int | None = None
    for hour in sorted(hours):
        if start is None or hour - start >= BLOCK_MS // MS_PER_HOUR:
            start = hour
        names[hour] = zone_time(start * MS_PER_HOUR, zone).isoformat()
    return lambda hour: None if hour is None else names[hour]
