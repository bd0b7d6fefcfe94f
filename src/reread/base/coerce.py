"""Typed access to untrusted JSON: the value if it has the expected type, else an empty default."""

from __future__ import annotations

TYPE_CHECKING = False  # the status line starts without what loading types takes
if TYPE_CHECKING:
    from typing import Any

OBJECT: Any = dict
LIST: Any = list
"""The types of JSON's objects and lists, as ones of anything: `isinstance` then needs no `cast`, which takes longer."""


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, OBJECT) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, LIST) else []


def as_str(value: Any) -> str | None:
    """Return the value if it is a string, else None."""
    return value if isinstance(value, str) else None


def as_int(value: Any) -> int | None:
    """Return the value if it is an integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
