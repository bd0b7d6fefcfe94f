"""Translate other formats of records into the native format: what Claude Code 2.x writes on disk.

Each record is translated on its own, so a file can mix dialects: the first that recognises it wins. `stored` is asked
first, then those of add-ons, for what other agents write, then Claude Code's other dialects.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol, runtime_checkable

from reread.base.addons import load_parts
from reread.base.coerce import as_dict
from reread.records.dialects import early, history, stored, stream_json


@runtime_checkable
class Dialect(Protocol):
    """A format of records: a module, or an object with these members."""

    @property
    def NAME(self) -> str: ...
    def looks_like(self, value: dict[str, Any]) -> bool: ...
    def translate(self, value: dict[str, Any]) -> dict[str, Any]: ...


NATIVE = "native"
SESSIONLESS = frozenset({"summary", "file-history-snapshot", "file-history-delta"})
"""Native types that never have a session id, so a missing one says nothing about the dialect."""

DIALECTS: tuple[Dialect, ...] = (stored, early, stream_json, history)
"""The built-in dialects."""
BUILT_IN = frozenset({NATIVE, *(dialect.NAME for dialect in DIALECTS)})


@cache
def others() -> dict[str, Dialect]:
    """Load the dialects of add-ons, on the first record that is not plainly native."""
    return load_parts("dialects", _as_dialect)


def translate(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of a record's dialect, and the record in the native format."""
    if stored.looks_like(value):
        message, timestamp = _unwrap(value)
        return stored.NAME, stored.with_timestamp(translate(message)[1], timestamp)
    for dialect in others().values():
        native = _try_translate(dialect, value)
        if native is not None:
            return dialect.NAME, native
    for dialect in (early, stream_json, history):
        if dialect.looks_like(value):
            return dialect.NAME, dialect.translate(value)
    return NATIVE, value


def is_of_addon(name: str) -> bool:
    """True if a dialect comes with an add-on."""
    return name not in BUILT_IN


def was_printed(value: dict[str, Any]) -> bool:
    """True if a record, or the message stored in it, is stream output; also for the marker of a captured run."""
    return stored.is_run_marker(value) or translate(_unwrap(value)[0])[0] == stream_json.NAME


def _unwrap(value: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the message in a stored record, which may be a stored record itself, and when it was stored.

    The message comes without that time: the dialect of some messages shows only in that they have none.
    """
    timestamp: Any = None
    while stored.looks_like(value):
        timestamp = timestamp if value.get("timestamp") is None else value["timestamp"]
        value = stored.message_in(value)
    return value, timestamp


def _try_translate(dialect: Dialect, value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the translation of an add-on; None if it does not recognise the record or fails on it."""
    try:
        native: object = dialect.translate(value) if dialect.looks_like(value) else None
    except Exception:  # a broken add-on must not lose a record
        return None
    return as_dict(native) if isinstance(native, dict) else None


def _as_dialect(found: object) -> Dialect:
    if not isinstance(found, Dialect) or type(found.NAME) is not str:
        raise TypeError("expected a module or an object with NAME, looks_like and translate")
    if found.NAME in BUILT_IN:
        raise ValueError(f"the name {found.NAME!r} belongs to a built-in dialect")
    return found
