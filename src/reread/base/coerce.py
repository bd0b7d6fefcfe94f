"""Shapes: values of whatever shape a transcript has, where they have the one that is wanted."""

from __future__ import annotations

from typing import Any, cast


def as_dict(value: Any) -> dict[str, Any]:
    """An object as it is; nothing for anything else."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A list as it is; nothing for anything else."""
    return cast(list[Any], value) if isinstance(value, list) else []


def as_str(value: Any) -> str | None:
    """A string as it is."""
    return value if isinstance(value, str) else None


def as_int(value: Any) -> int | None:
    """A whole number as it is."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
