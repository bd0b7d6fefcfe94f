"""Parse points in time as people type them (`7d`, `yesterday`, `2026-11-15`) and as records contain them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any

from reread.errors import Misuse

TimeLike = str | datetime | date
"""A point in time or a day; a string is parsed by `parse_time`."""
LOCAL = "local"
LONGEST_WAIT = 1e8
"""Seconds that one waits at most: a recording may say that thousands of years passed, which no system can wait."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_AGO = re.compile(r"(\d+)\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS = {"today": 0, "yesterday": 1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)(ms|s)?)?")


def parse_time(text: str, *, now: datetime | None = None, zone: tzinfo | None = None) -> datetime:
    """Return the time given by `today`, `yesterday`, a weekday, a duration before now (`7d`) or an ISO date or time.

    A weekday is the last one before today, whole or as its first three letters.
    `zone` is the time zone of days and of times without one; None means local time.
    """
    current = (now or datetime.now()).astimezone(zone)
    word = text.strip().lower()
    days = _days_ago(word, current)
    if days is not None:
        return _in_zone(datetime(current.year, current.month, current.day) - timedelta(days=days), zone)
    ago = _AGO.fullmatch(word)
    try:
        if ago:
            return current - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        given = datetime.fromisoformat(text.strip())
        return given.replace(tzinfo=zone) if zone is not None and given.tzinfo is None else given.astimezone()
    except (ValueError, OverflowError):
        raise Misuse(
            f"Invalid time {text!r}; use 7d, 12h, yesterday, tuesday, 2026-11-15 or 2026-11-15T09:30."
        ) from None


def _days_ago(word: str, now: datetime) -> int | None:
    """Return how many days before today a word names; None if it names no day."""
    if word in _DAYS:
        return _DAYS[word]
    named = next((n for n, day in enumerate(_WEEKDAYS) if word in (day, day[:3])), None)
    return None if named is None else (now.weekday() - named - 1) % 7 + 1


def parse_time_zone(tz: str | tzinfo | None) -> tzinfo | None:
    """Return the time zone with a name such as `Europe/Berlin`, `UTC`, `+02:00` or `local`; None means local time."""
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
        raise Misuse(f"Invalid time zone {tz!r}; use local, UTC, +02:00 or a name such as Europe/Berlin.") from None


def parse_bound_ms(when: TimeLike | None, zone: tzinfo | None, *, end: bool = False) -> int | None:
    """Return the start or end of a period in milliseconds since 1970; a day given as the end is included."""
    if when is None:
        return None
    if isinstance(when, str):
        time = parse_time(when, zone=zone)
        is_day = _is_day(when.strip())
    elif isinstance(when, datetime):
        time, is_day = when if when.tzinfo else _in_zone(when, zone), False
    else:
        time, is_day = _in_zone(datetime(when.year, when.month, when.day), zone), True
    try:
        return round((_next_midnight(time, zone) if is_day and end else time).timestamp() * 1000)
    except OverflowError:
        raise Misuse(f"Time {str(when)!r} is out of range; use one nearer to now.") from None


def parse_period_ms(
    since: TimeLike | None, until: TimeLike | None, zone: tzinfo | None
) -> tuple[int | None, int | None]:
    """Return the start and end of a period in milliseconds since 1970; raise Misuse if it ends before it starts."""
    first, last = parse_bound_ms(since, zone), parse_bound_ms(until, zone, end=True)
    if first is not None and last is not None and first > last:
        raise Misuse(f"Nothing lies between {since} and {until}; use a `since` that is before `until`.")
    return first, last


def _in_zone(time: datetime, zone: tzinfo | None) -> datetime:
    return time.replace(tzinfo=zone) if zone else time.astimezone()


def _next_midnight(time: datetime, zone: tzinfo | None) -> datetime:
    next_day = time.astimezone(zone).replace(tzinfo=None) + timedelta(hours=36)  # noon
    return _in_zone(next_day.replace(hour=0, minute=0, second=0, microsecond=0), zone)


def _is_day(text: str) -> bool:
    """True if a text names a day, not a time."""
    if _days_ago(text.lower(), _EPOCH) is not None:
        return True
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def parse_timestamp(stamp: str | None) -> datetime | None:
    """Return a record's timestamp as a datetime with a time zone; None if it is missing or invalid."""
    if stamp is None:
        return None
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def timestamp_ms(stamp: str | None) -> int | None:
    """Return a record's timestamp in whole milliseconds since 1970; None if it is missing or invalid."""
    when = parse_timestamp(stamp)
    if when is None:
        return None
    since = when - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def seconds_between(first: datetime | None, last: datetime | None) -> float | None:
    """Return the seconds from one time to another, never negative; None if one of them is unknown."""
    return None if first is None or last is None else max(0.0, (last - first).total_seconds())


def parse_json_time(value: Any) -> datetime | None:
    """Return the time that a JSON value gives, as an ISO string or milliseconds since 1970; None if it gives none."""
    if isinstance(value, str):
        return parse_timestamp(value)
    try:
        return datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def parse_duration(text: str) -> float:
    """Return the seconds in `2s`, `1m30s`, `500ms` or a bare number."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or not text.strip():
        raise Misuse(f"Invalid duration {text!r}; use 2s, 500ms or 1m30s.")
    hours, minutes, rest, unit = found.groups()
    return float(hours or 0) * 3600 + float(minutes or 0) * 60 + float(rest or 0) * (0.001 if unit == "ms" else 1)


def parse_position(text: str) -> float | datetime:
    """Return a position in a recording: seconds from its start, or a point in time."""
    try:
        return parse_duration(text)
    except Misuse:
        return parse_time(text)
