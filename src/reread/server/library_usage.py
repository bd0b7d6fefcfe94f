"""The usage of the sessions that the server offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from reread.errors import Misuse
from reread.reports.cost_parts import cost_parts
from reread.reports.usage_report import report_value, usage
from reread.server.library import SessionLibrary

FILTERS = ("since", "until", "tz", "project", "person", "machine", "model")
OPTIONS = ("by", "sort", *FILTERS)
"""The query parameters of the report; besides them, `count` is how many rows to return."""


def library_usage(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the usage report of a library, grouped and filtered by the query parameters.

    With `listed`, a row of a session has its row in the library too; None if the library does not list it.
    """
    value = report_value(usage(*_sources(library), **_options(library, query, OPTIONS)))
    count = query.get("count")
    if count:
        if not count.isdecimal() or len(count) > 12:
            raise Misuse(f"Invalid count {count!r}; use a whole number.")
        del value["rows"][int(count) :]
    if query.get("listed"):
        known = library.rows_by_session()
        for row in value["rows"]:
            row["listed"] = known.get(row.get("session"))
    return value


def library_cost_parts(library: SessionLibrary, query: Mapping[str, str]) -> Any:
    """Return why the sessions of a library cost what they cost, filtered by the query parameters."""
    return msgspec.to_builtins(cost_parts(*_sources(library), **_options(library, query, FILTERS)))


def _sources(library: SessionLibrary) -> list[Path]:
    return [*library.paths, *(library.roots or [])] if library.paths else []


def _options(library: SessionLibrary, query: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = {name: query[name] for name in names if query.get(name)}
    return given if library.paths else {**given, "root": library.roots}
