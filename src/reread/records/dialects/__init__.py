"""The only room that knows formats differ.

A dialect is one module with a NAME, `looks_like(value)` and `translate(value)`, which gives the same record
in the native tongue: what Claude Code 2.x writes on disk. Dialects are told apart record by record. To add
one, write its module and give it a row below; the first that recognises a record wins, and what none does is
native.
"""

from __future__ import annotations

from typing import Any, Protocol

from reread.records.dialects import early, stored, stream_json


class Dialect(Protocol):
    """One way of writing records."""

    @property
    def NAME(self) -> str: ...
    def looks_like(self, value: dict[str, Any]) -> bool: ...
    def translate(self, value: dict[str, Any]) -> dict[str, Any]: ...


NATIVE = "native"
SESSIONLESS = frozenset({"summary", "file-history-snapshot", "file-history-delta"})
"""Native types that never name their session, so that its absence says nothing of the dialect."""

DIALECTS: tuple[Dialect, ...] = (stored, early, stream_json)

NAMES = (NATIVE, *(dialect.NAME for dialect in DIALECTS))


def translate(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The dialect of a record, and the record in the native tongue; what was kept is translated in its turn."""
    for dialect in DIALECTS:
        if dialect.looks_like(value):
            native = dialect.translate(value)
            while dialect is stored and stored.looks_like(native):
                native = stored.translate(native)
            return dialect.NAME, translate(native)[1] if dialect is stored else native
    return NATIVE, value


def was_printed(value: dict[str, Any]) -> bool:
    """Whether a record, or the message kept in it, was printed rather than written to disk; so is a capture's mark."""
    if stored.is_mark(value):
        return True
    while stored.looks_like(value):
        value = stored.translate(value)
    return not early.looks_like(value) and stream_json.looks_like(value)
