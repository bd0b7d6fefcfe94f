"""Words: numbers, sizes, times and marks as every view writes them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from reread.accounting.prices import parse_model_id
from reread.base.text import plural
from reread.tools.tool_call import one_line

if TYPE_CHECKING:
    from reread.accounting.billing import Usage
    from reread.session.results import TurnResult
    from reread.tools.nodes import Picture

SAID = 200
"""How much of an error's text stands in a line."""
LARGEST = 10**15
"""No count is written larger: files hold numbers of any size."""
MARKS = {True: "✓", False: "✗", None: "…"}
"""A call that went well, that failed, that still runs."""
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
BOXES = {"pending": "☐", "active": "◐", "done": "☑", "cancelled": "☒"}


def heading(text: str, length: int) -> str:
    """Prose as a title: one line, not too long, without the marks around code."""
    line = " ".join(text.split())[: 4 * length]
    return one_line(_CODE.sub(lambda found: found[2].strip(), line), length)


def size_text(size: int) -> str:
    """A number of bytes, short."""
    size = min(size, LARGEST)
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def count_text(number: int) -> str:
    """A number of tokens, short."""
    number = min(number, LARGEST)
    for unit, factor in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= factor:
            return f"{number / factor:.1f}{unit}".replace(".0", "")
    return str(number)


def seconds_text(seconds: float) -> str:
    """A duration, short."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def time_text(moment: datetime | None) -> str:
    """A time of day, local."""
    return local(moment).strftime("%H:%M") if moment is not None else ""


def date_text(moment: datetime | None) -> str:
    """A day and a time of day, local."""
    return local(moment).strftime("%Y-%m-%d %H:%M") if moment is not None else ""


def local(moment: datetime) -> datetime:
    """A time in the local zone; the first and last days of the calendar stay in their own."""
    try:
        return moment.astimezone()
    except (OverflowError, ValueError, OSError):
        return moment


def model_text(id: str | None) -> str:
    """A model's name, short: without its maker, its date, or through whom it was reached."""
    return parse_model_id(id).model.removeprefix("claude-") if id else ""


def usage_text(usage: Usage) -> str:
    """The tokens of an answer."""
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    bound = "≥ " if usage.unconfirmed_responses else ""
    return f"{count_text(read)} in, {bound}{count_text(usage.output_tokens)} out"


def picture_text(picture: Picture) -> str:
    """A picture in words."""
    size = f", {size_text(picture.size)}" if picture.size is not None else ""
    span = f", {picture.width} × {picture.height}" if picture.width and picture.height else ""
    name = f"{picture.name}: " if picture.name else ""
    return f"{name}{picture.media_type}{span}{size}"


def result_text(outcome: TurnResult) -> str:
    """How a turn ended, in a line: what the client calls it, whether that is an error, and what it took."""
    from reread.session.results import NO_RESULT, SUCCESS

    name = outcome.subtype.replace("_", " ") or "a result"
    words = [f"ended: {name}" if outcome.subtype != NO_RESULT else "ended without a result"]
    if outcome.is_error and outcome.subtype in ("", SUCCESS):
        words.append("but an error")
    if outcome.exit_code is not None:
        words.append(f"exit code {outcome.exit_code}")
    if outcome.denials:
        words.append(f"{plural(len(outcome.denials), 'call')} denied ({', '.join(dict.fromkeys(outcome.denials))})")
    if outcome.num_turns is not None:
        words.append(plural(outcome.num_turns, "turn"))
    if outcome.duration_ms is not None:
        words.append(seconds_text(outcome.duration_ms / 1000))
    if outcome.cost_usd is not None:
        words.append(f"${outcome.cost_usd:.4f} so far")
    said = " ".join(outcome.text.split())[:SAID] if outcome.is_error else ""
    return " · ".join([*words, *([said] if said else [])])


def unread_text(lines: int) -> str:
    """That lines could not be read, and what tells more."""
    return f"{plural(lines, 'line')} could not be read: `reread check` says which and why"
