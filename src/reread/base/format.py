"""Durations, sizes, token counts, money and times as short text.

Transcripts hold numbers of any kind, so nothing here raises: a value that cannot be written, such as NaN, an object or
an integer of 5,000 digits, becomes empty text. `web/src` has the same rules; `tests/fixtures/format.json` tests both.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

LARGEST = 10**15
"""Larger numbers count nothing that exists."""
LAST_TIMESTAMP = 250_000_000_000_000
"""Milliseconds since 1970; Python's calendar ends shortly after."""
MINUTE, HOUR = 60, 3600
SIZES = ("B", "kB", "MB", "GB", "TB")
TOKENS = ("", "k", "M", "B")


def as_number(value: object) -> int | float | None:
    """Return the value if it is a number that can be counted and written, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -LARGEST <= value <= LARGEST else None


def number_text(value: object) -> str:
    """Return a number with thousands separators: `2,310`."""
    number = as_number(value)
    return "" if number is None else f"{number:,}"


def duration_text(seconds: object) -> str:
    """Return a duration in at most two units: `50 ms`, `1.2 s`, `45 s`, `12 min 30 s`, `27 h 46 min`."""
    number = as_number(seconds)
    if number is None or number < 0:
        return ""
    if number < 0.9995:
        return f"{_rounded(number * 1000)} ms"
    if number < 9.95:
        return f"{_one_decimal(number)} s"
    whole = _rounded(number)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return _two_units(whole // MINUTE, "min", whole % MINUTE, "s")
    return _two_units(whole // HOUR, "h", whole % HOUR // MINUTE, "min")


def duration_ms_text(milliseconds: object) -> str:
    """Return a duration given in milliseconds."""
    number = as_number(milliseconds)
    return "" if number is None else duration_text(number / 1000)


def share_text(part: object) -> str:
    """Return a part of the whole in percent: `12 %`; what rounds to nothing is `< 1 %`."""
    number = as_number(part)
    if number is None or not math.isfinite(number):
        return ""
    return "< 1 %" if 0 < number < 0.005 else f"{math.floor(min(number, LARGEST) * 100 + 0.5)} %"


def size_text(count: object) -> str:
    """Return a number of bytes in decimal units: `950 B`, `1.4 MB`."""
    number = as_number(count)
    return "" if number is None or number < 0 else _scaled(number, SIZES, " ")


def tokens_text(count: object) -> str:
    """Return a number of tokens: `950`, `12.3k`, `4.5M`, `2.4B`; a count beyond all reason is cut to the largest."""
    if isinstance(count, int | float) and not isinstance(count, bool) and count > LARGEST:
        count = LARGEST
    number = as_number(count)
    if number is None:
        return ""
    return _scaled(number, TOKENS, "") if number >= 0 else number_text(number)


def money_text(dollars: object, *, lower_bound: bool = False) -> str:
    """Return an amount in US dollars with cents; an amount below half a cent has four decimals.

    A lower bound begins with `≥`; one that is too small to be written is `> $0`.
    """
    number = as_number(dollars)
    if number is None:
        return ""
    if number < 0:
        return f"-{money_text(-number)}"
    if 0 < number < 0.00005:
        return "> $0" if lower_bound else "<$0.0001"
    amount = f"${number:.4f}" if 0 < number < 0.005 else f"${number:,.2f}"
    return f"≥ {amount}" if lower_bound else amount


def time_text(when: datetime | None) -> str:
    """Return a time of day in the local time zone: `09:30`."""
    return f"{local_time(when):%H:%M}" if when is not None else ""


def date_text(when: datetime | None) -> str:
    """Return a date and a time of day in the local time zone: `2026-11-15 09:30`."""
    return local_time(when).isoformat(" ", "minutes")[:16] if when is not None else ""


def utc_text(milliseconds: object) -> str:
    """Return a timestamp given in milliseconds since 1970: `2026-11-15 09:30:00 UTC`."""
    number = as_number(milliseconds)
    if number is None or not 0 < number < LAST_TIMESTAMP:
        return ""
    return f"{datetime.fromtimestamp(number // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def local_time(when: datetime) -> datetime:
    """Return a time in the local time zone, unchanged if the calendar ends before that."""
    try:
        return when.astimezone()
    except (OverflowError, ValueError, OSError):
        return when


def period_text(started: datetime | None, ended: datetime | None) -> str:
    """Return when a session started and ended; the end without its date if it is the same day."""
    first, last = date_text(started), date_text(ended)
    if not first or not last or first == last:
        return first or last
    return f"{first} – {time_text(ended) if first[:10] == last[:10] else last}"


def _rounded(number: float) -> int:
    """Round half up, as the browser does; Python's `round` rounds half to even."""
    return math.floor(number + 0.5)


def _one_decimal(number: float) -> str:
    tenths = _rounded(number * 10)
    return f"{tenths // 10}.{tenths % 10}" if tenths % 10 else str(tenths // 10)


def _two_units(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"


def _scaled(number: float, units: tuple[str, ...], gap: str) -> str:
    """Divide by 1,000 until fewer than four digits are left, or the units run out."""
    step = 0
    while step < len(units) - 1 and number >= (999.5 if step == 0 else 999.95):
        number, step = number / 1000, step + 1
    return f"{_rounded(number) if step == 0 else _one_decimal(number)}{gap}{units[step]}"
