"""Typed access to untrusted JSON: the value if it has the expected type, else an empty default."""

from __future__ import annotations

from typing import Any, cast


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def as_str(value: Any) -> str | None:
    """Return the value if it is a string, else None."""
    return value if isinstance(value, str) else None


def as_int(value: Any) -> int | None:
    """Return the value if it is an integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
