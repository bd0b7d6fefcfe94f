"""Parse points in time as people type them (`7d`, `last week`, `2026-11-15`) and as records contain them."""

from __future__ import annotations

import re
from calendar import monthrange
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any, NamedTuple

from reread.base.late_pattern import late_pattern
from reread.errors import Misuse

TimeLike = str | datetime | date
"""A point in time or a day; a string is parsed by `parse_span`."""
LOCAL = "local"
LONGEST_WAIT = 1e8
"""Seconds that one waits at most: a recording may say that thousands of years passed, which no system can wait."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_UNITS = {
    "seconds": ("s", "sec", "secs", "second"),
    "minutes": ("m", "min", "mins", "minute"),
    "hours": ("h", "hr", "hrs", "hour"),
    "days": ("d", "day"),
    "weeks": ("w", "wk", "wks", "week"),
    "months": ("mo", "mos", "month"),
    "years": ("y", "yr", "yrs", "year"),
}
"""Other names of the units of time."""
_UNIT_NAMES = {word: unit for unit, words in _UNITS.items() for word in (unit, *words)}
_CALENDAR_UNITS = {"months": 1, "years": 12}
"""The units that are not always as long, in months."""
_AGO = late_pattern(r"(?:(?:the )?(?:last|past) )?(\d+|an?|past) ?([a-z]+)(?: ago)?")
_DAYS = {"today": 0, "yesterday": 1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
SINGLE_WORDS = (*_DAYS, "7d", "30d", *_WEEKDAYS, *_MONTHS)
"""Times that are one word."""
_ISO_YEAR, _ISO_MONTH = re.compile(r"\d{4}"), re.compile(r"(\d{4})[-/](\d{1,2})")
_ISO_WEEK = late_pattern(r"(\d{4})-?w(\d{2})", re.IGNORECASE)
_DAY_OF_YEAR = late_pattern(r"(\d{1,2})-(\d{1,2})")
_MONTH_FIRST = late_pattern(r"([a-z]{3,9})(?: (\d{1,2})(?:st|nd|rd|th)?)?(?:,? (\d{4}))?")
_DAY_FIRST = late_pattern(r"(\d{1,2})(?:\.|st|nd|rd|th)? ([a-z]{3,9})(?: (\d{4}))?")
_DURATION = late_pattern(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)(ms|s)?)?")


class TimeSpan(NamedTuple):
    """The meaning of a text: a point in time, or a period from its start to before its end."""

    start: datetime
    end: datetime | None = None
    """None for a point in time."""


def parse_time(text: str, *, now: datetime | None = None, zone: tzinfo | None = None) -> datetime:
    """Return the point in time that a text means, or the start of the period; see `parse_span`."""
    return parse_span(text, now=now, zone=zone).start


def parse_span(text: str, *, now: datetime | None = None, zone: tzinfo | None = None) -> TimeSpan:
    """Return the time or period that people mean by a text.

    A time is a duration before now (`7d`, `2 weeks ago`) or an ISO time. A period is a day (`yesterday`, a weekday,
    which is the last one before today, `2026-11-15`, `11-15`, `15 nov`), a week (`last week`, `2026-W46`), a month
    (`this month`, `november`, `2026-11`) or a year. Without a year, it is the last one that has begun. A dash may stand
    for a space. `zone` is the time zone of days and of times without one; None means local time.
    """
    try:
        current = (now or datetime.now()).astimezone(zone)
        plain = text.strip()
        words = " ".join(re.split(r"[\s_-]+", plain.lower()))
        days = _named_days(words, current.date()) or _numbered_days(plain, current.date())
        if days is not None:
            return TimeSpan(*(_in_zone(datetime(day.year, day.month, day.day), zone) for day in days))
        time = _time_ago(words, current)
        if time is not None:
            return TimeSpan(time)
        given = datetime.fromisoformat(plain)
        return TimeSpan(given.replace(tzinfo=zone) if zone is not None and given.tzinfo is None else given.astimezone())
    except (ValueError, OverflowError):
        raise Misuse(
            f"Invalid time {text!r}; use 7d, 2 weeks ago, yesterday, tuesday, last week, 2026-11, 2026-11-15 or "
            "2026-11-15T09:30."
        ) from None


Days = tuple[date, date]
"""The first day of a period, and the day after its last one."""


def _named_days(words: str, today: date) -> Days | None:
    """Return the days that words mean: `yesterday`, `last month`, `november 2026`; None if they mean none."""
    if words in _DAYS:
        return _day(today - timedelta(days=_DAYS[words]))
    which, _, unit = words.rpartition(" ")
    if which in ("last", "previous", "this", "current"):
        back = which not in ("this", "current")
        if unit in ("week", "month", "year"):
            return _unit_days(unit, today, back=int(back))
        words = unit if back else words
    weekday = next((n for n, day in enumerate(_WEEKDAYS) if words in (day, day[:3])), None)
    if weekday is not None:
        return _day(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))
    if found := _MONTH_FIRST.fullmatch(words):
        return _month_days(found[1], found[2], found[3], today)
    if found := _DAY_FIRST.fullmatch(words):
        return _month_days(found[2], found[1], found[3], today)
    return None


def _unit_days(unit: str, today: date, *, back: int) -> Days:
    """Return the week, month or year that today is in, or one before."""
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return monday, monday + timedelta(days=7)
    first = today.replace(day=1) if unit == "month" else today.replace(month=1, day=1)
    months = 1 if unit == "month" else 12
    start = _add_months(first, -months * back)
    return start, _add_months(start, months)


def _month_days(name: str, day: str | None, year: str | None, today: date) -> Days | None:
    """Return a month by its name or its first three letters, or a day of it."""
    month = next((n for n, known in enumerate(_MONTHS, 1) if name in (known, known[:3])), None)
    if month is None:
        return None
    if day is not None:
        return _day(_last_day(month, int(day), today) if year is None else date(int(year), month, int(day)))
    first = date(today.year - (month > today.month) if year is None else int(year), month, 1)
    return first, _add_months(first, 1)


def _numbered_days(text: str, today: date) -> Days | None:
    """Return the days that numbers mean: `2026-11-15`, `11-15`, `2026-W46`, `2026`; None if they mean none."""
    if _ISO_YEAR.fullmatch(text):
        return date(int(text), 1, 1), date(int(text) + 1, 1, 1)
    if found := _ISO_MONTH.fullmatch(text):
        first = date(int(found[1]), int(found[2]), 1)
        return first, _add_months(first, 1)
    if found := _ISO_WEEK.fullmatch(text):
        monday = date.fromisocalendar(int(found[1]), int(found[2]), 1)
        return monday, monday + timedelta(days=7)
    if found := _DAY_OF_YEAR.fullmatch(text):
        return _day(_last_day(int(found[1]), int(found[2]), today))
    try:
        return _day(date.fromisoformat(text.replace("/", "-")))
    except ValueError:  # a time, or nothing
        return None


def _last_day(month: int, day: int, today: date) -> date:
    """Return the last such day that is not after today; 29 February may be some years ago."""
    for year in range(today.year, today.year - 9, -1):
        with suppress(ValueError):
            if (found := date(year, month, day)) <= today:
                return found
    raise ValueError


def _time_ago(words: str, now: datetime) -> datetime | None:
    """Return the time a duration before now: `7d`, `2 weeks ago`, `last 3 days`; None if it is no duration."""
    found = _AGO.fullmatch(words)
    unit = _UNIT_NAMES.get(found[2]) if found else None
    if words == "now":
        return now
    if found is None or unit is None:
        return None
    count = int(found[1]) if found[1].isdigit() else 1
    if unit not in _CALENDAR_UNITS:
        return now - timedelta(**{unit: count})
    day = _add_months(now.date(), -count * _CALENDAR_UNITS[unit])
    return now.replace(year=day.year, month=day.month, day=day.day)


def _day(day: date) -> Days:
    return day, day + timedelta(days=1)


def _add_months(day: date, months: int) -> date:
    """Return the same day of another month, or its last day if it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


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
    """Return the start or end of a period in milliseconds since 1970; a day or month given as the end is included."""
    if when is None:
        return None
    span = _span(when, zone)
    return _milliseconds(span.end if end and span.end is not None else span.start, when)


def parse_days_ms(text: str, zone: tzinfo | None) -> tuple[int, int]:
    """Return the start and end of the period that a text means, or of the day of a point in time."""
    start, end = parse_span(text, zone=zone)
    if end is None:
        start, end = _span(start.astimezone(zone).date(), zone)
    return _milliseconds(start, text), _milliseconds(end or start, text)


def _span(when: TimeLike, zone: tzinfo | None) -> TimeSpan:
    if isinstance(when, str):
        return parse_span(when, zone=zone)
    if isinstance(when, datetime):
        return TimeSpan(when if when.tzinfo else _in_zone(when, zone))
    return parse_span(when.isoformat(), zone=zone)


def _milliseconds(time: datetime, given: TimeLike) -> int:
    try:
        return round(time.timestamp() * 1000)
    except OverflowError:
        raise Misuse(f"Time {str(given)!r} is out of range; use one nearer to now.") from None


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
    return milliseconds(parse_timestamp(stamp))


def milliseconds(when: datetime | None) -> int | None:
    """Return a point in time in whole milliseconds since 1970; None if it is unknown."""
    if when is None:
        return None
    since = when - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def month_of(time_ms: int | None) -> str | None:
    """Return the month of a time in UTC, such as `2026-11`; None if it lies before the year 1."""
    try:
        return f"{_EPOCH + timedelta(milliseconds=time_ms):%Y-%m}".zfill(7) if time_ms is not None else None
    except OverflowError:
        return None


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
