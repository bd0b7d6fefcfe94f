"""Points in time as people type them: `7d`, `yesterday`, `2026-11-15`, a full ISO time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from reread.errors import Misuse

_AGO = re.compile(r"(\d+)\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS = {"today": 0, "yesterday": 1}


def parse_when(text: str, *, now: datetime | None = None, zone: tzinfo | None = None) -> datetime:
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


def milliseconds(stamp: str | None) -> int | None:
    """A record's timestamp as milliseconds since 1970; None where it is none."""
    if stamp is None:
        return None
    try:
        when = datetime.fromisoformat(stamp)
        return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
