"""Find what in a tool's input or result differs from the known types."""

from __future__ import annotations

from typing import Any

from reread.records.types import FIELD, TOOL, Deviation, deviations
from reread.tools import is_known, tool_for


def input_deviations(name: str, value: Any) -> list[Deviation]:
    """Return how the input of a call differs from its type; an unknown tool is one difference.

    Fields of which the type knows nothing are none: a model may invent them.
    """
    if not is_known(name):
        return [Deviation(TOOL, f"tool/{name}")]
    found = _compare(value, tool_for(name).input, f"tool/{name}.input")
    return [one for one in found if one.kind != FIELD]


def result_deviations(name: str, value: Any) -> list[Deviation]:
    """Return how a structured result differs from its type; a text is the result of a call that failed."""
    return _compare(value, tool_for(name).result, f"tool/{name}.result") if not isinstance(value, str) else []


def _compare(value: Any, hint: Any, path: str) -> list[Deviation]:
    return deviations(value, hint, path) if hint is not None else []
