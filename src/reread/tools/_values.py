"""Values of whatever shape a transcript has, read as what a title or a drawing needs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeVar, cast

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_list
from reread.base.text import plural
from reread.records.blocks import to_struct
from reread.tools.tool_call import ToolCall, one_line

S = TypeVar("S", bound=msgspec.Struct)

LARGEST = 10**15
"""Numbers beyond this count nothing that exists."""
LAST_MOMENT = 250_000_000_000_000
"""Milliseconds since 1970; Python's calendar ends shortly after."""
MINUTE, HOUR, DAY = 60, 3600, 86400
UNITS = ("bytes", "kB", "MB", "GB", "TB")


def words(value: object) -> str:
    """A value as text: a string as it is, nothing for null, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else jsontext.dumps(value).decode()


def line(value: object, length: int = 120) -> str:
    """A value as part of a title."""
    return one_line(words(value), length)


def first(*values: object) -> str:
    """The first value that says something."""
    return next((text for value in values if (text := words(value)).strip()), "")


def names(value: object) -> str:
    """A list of names as one text."""
    if isinstance(value, list):
        return ", ".join(words(item) for item in cast(list[Any], value))
    return words(value)


def yes(value: object) -> str:
    """A flag in words; nothing where it is none."""
    return ("yes" if value else "no") if isinstance(value, bool) else ""


def each(value: object, shape: type[S]) -> list[S]:
    """The items of a list that have that shape."""
    return [item for item in as_list(value) if isinstance(item, shape)]


def held(value: object, shape: type[S]) -> S | None:
    """The value, where it has that shape."""
    return value if isinstance(value, shape) else None


def number(value: object) -> int | float | None:
    """A number that can be counted and printed."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -LARGEST < value < LARGEST else None


def grouped(value: object) -> str:
    """A number with its thousands apart; nothing where it is none."""
    known = number(value)
    return "" if known is None else f"{known:,}"


def count(value: object, noun: str) -> str:
    """So many of something: a number, or the length of a list."""
    known = len(cast(list[Any], value)) if isinstance(value, list) else number(value)
    return "" if known is None else plural(known, noun)


def size(value: object) -> str:
    """Bytes in a unit that is easy to read."""
    left = number(value)
    if left is None:
        return ""
    step = 0
    while left >= 1000 and step < len(UNITS) - 1:
        left, step = left / 1000, step + 1
    return f"{left:.3g} {UNITS[step]}"


def span(seconds: object) -> str:
    """How long something took, in the two units that matter."""
    known = number(seconds)
    if known is None or known < 0:
        return ""
    if known < 1:
        return f"{round(known * 1000)} ms"
    if known < MINUTE:
        return f"{known:.3g} s"
    whole = round(known)
    for unit, name, part, small in (
        (DAY, "d", HOUR, "h"),
        (HOUR, "h", MINUTE, "min"),
        (MINUTE, "min", 1, "s"),
    ):
        if whole >= unit:
            rest = whole % unit // part
            return f"{whole // unit} {name} {rest} {small}" if rest else f"{whole // unit} {name}"
    return f"{whole} s"


def span_ms(milliseconds: object) -> str:
    """How long something took, from milliseconds."""
    known = number(milliseconds)
    return "" if known is None else span(known / 1000)


def moment(milliseconds: object) -> str:
    """A point in time, from milliseconds since 1970."""
    known = number(milliseconds)
    if known is None or not 0 < known < LAST_MOMENT:
        return ""
    return f"{datetime.fromtimestamp(known // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def parsed(text: str) -> Any:
    """The object or list that a text is the JSON of; None where it is no such text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return jsontext.loads(text.encode("utf-8", "replace"))
    except ValueError:
        return None


def answer(call: ToolCall, shape: type[S]) -> S | None:
    """The structured result, typed; read from the result's text where only that was kept."""
    output = call.output(shape)
    told = parsed(call.text) if output is None else None
    return to_struct(cast(dict[str, Any], told), shape) if isinstance(told, dict) else output


def tagged(text: str, *tags: str) -> dict[str, str]:
    """What stands between these tags in a result that is written as tags."""
    found: dict[str, str] = {}
    for tag in tags:
        start, end = text.find(f"<{tag}>"), text.rfind(f"</{tag}>")
        if 0 <= start < end:
            found[tag] = text[start + len(tag) + 2 : end].removeprefix("\n").removesuffix("\n")
    return found
