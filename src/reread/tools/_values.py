"""Read untrusted values for titles and nodes: as text, as a type, from JSON or from tags."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_list
from reread.base.text import as_text
from reread.records.blocks import to_struct
from reread.tools.tool import ToolCall

S = TypeVar("S", bound=msgspec.Struct)


def first_nonblank(*values: object) -> str:
    """Return the first value that is not blank, as text."""
    return next((text for value in values if (text := as_text(value)).strip()), "")


def join_parts(*parts: str, separator: str = " ") -> str:
    """Join the parts that are not empty."""
    return separator.join(part for part in parts if part)


def comma_separated(value: object) -> str:
    """Return a list as text, separated by commas; any other value as text."""
    if isinstance(value, list):
        return ", ".join(map(as_text, cast(list[Any], value)))
    return as_text(value)


def yes_no(value: object) -> str:
    """Return `yes` or `no` for a boolean, empty text for anything else."""
    return ("yes" if value else "no") if isinstance(value, bool) else ""


def list_of(value: object, shape: type[S]) -> list[S]:
    """Return the items of a list that have this type."""
    return [item for item in as_list(value) if isinstance(item, shape)]


def as_type(value: object, shape: type[S]) -> S | None:
    """Return the value if it has this type, else None."""
    return value if isinstance(value, shape) else None


def parse_json(text: str) -> Any:
    """Parse a text that is a JSON object or list; None if it is anything else."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return jsontext.loads(text.encode("utf-8", "replace"))
    except ValueError:
        return None


def typed_result(call: ToolCall, shape: type[S]) -> S | None:
    """Return the structured result, typed; if there is none, parse the text of the result."""
    output = call.output(shape)
    value = parse_json(call.text) if output is None else None
    return to_struct(cast(dict[str, Any], value), shape) if isinstance(value, dict) else output


def parse_tags(text: str, *tags: str) -> dict[str, str]:
    """Return the text between each of these tags in a result such as `<status>running</status>`."""
    found: dict[str, str] = {}
    for tag in tags:
        start, end = text.find(f"<{tag}>"), text.rfind(f"</{tag}>")
        if 0 <= start < end:
            found[tag] = text[start + len(tag) + 2 : end].removeprefix("\n").removesuffix("\n")
    return found
