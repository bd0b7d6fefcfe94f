"""Points in time as people type them (`7d`, `yesterday`, `2026-11-15`) and as records have them; time zones."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any

from reread.errors import Misuse

TimeLike = str | datetime | date
LOCAL = "local"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_AGO = re.compile(r"(\d+)\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS = {"today": 0, "yesterday": 1}
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)(ms|s)?)?")


def parse_time(text: str, *, now: datetime | None = None, zone: tzinfo | None = None) -> datetime:
    """The moment that a word, a span before now or an ISO date stands for, in a time zone or the local one."""
    current = (now or datetime.now()).astimezone(zone)
    word = text.strip().lower()
    midnight = current.replace(hour=0, minute=0, second=0, microsecond=0)
    if word in _DAYS:
        return midnight - timedelta(days=_DAYS[word])
    ago = _AGO.fullmatch(word)
    try:
        if ago:
            return current - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        given = datetime.fromisoformat(text.strip())
        return given.replace(tzinfo=zone) if zone is not None and given.tzinfo is None else given.astimezone()
    except (ValueError, OverflowError):
        raise Misuse(f"{text!r} is no time: say 7d, 12h, yesterday, 2026-11-15 or 2026-11-15T09:30") from None


def parse_time_zone(tz: str | tzinfo | None) -> tzinfo | None:
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


def parse_bound_ms(when: TimeLike | None, zone: tzinfo | None, *, end: bool = False) -> int | None:
    """Where a span begins or ends, in milliseconds since 1970; a day that ends it is in it to its last moment."""
    if when is None:
        return None
    if isinstance(when, str):
        text = when.strip()
        moment = parse_time(text, zone=zone)
        whole = text.lower() in _DAYS or _is_day(text)
    else:
        whole = not isinstance(when, datetime)
        moment = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone).astimezone() if zone else moment.astimezone()
    try:
        return round((_next_day(moment, zone) if whole and end else moment).timestamp() * 1000)
    except OverflowError:
        raise Misuse(f"{when} is beyond all calendars: say a time nearer to now") from None


def _next_day(moment: datetime, zone: tzinfo | None) -> datetime:
    following = (moment.astimezone(zone) + timedelta(hours=36)).replace(tzinfo=None)
    midnight = following.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.replace(tzinfo=zone) if zone else midnight.astimezone()


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def parse_timestamp(stamp: str | None) -> datetime | None:
    """A record's timestamp as a datetime with a time zone; None where it is none."""
    if stamp is None:
        return None
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def timestamp_ms(stamp: str | None) -> int | None:
    """A record's timestamp as whole milliseconds since 1970; None where it is none."""
    when = parse_timestamp(stamp)
    if when is None:
        return None
    since = when - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def seconds_between(first: datetime | None, last: datetime | None) -> float | None:
    """How long it is from one moment to another, and never less than nothing; None where one is not known."""
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
