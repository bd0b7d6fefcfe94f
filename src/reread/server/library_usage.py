"""The usage of the sessions that the server offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from reread.base.scope_options import OF_RESPONSES
from reread.errors import Misuse
from reread.reports.cost_parts import cost_parts
from reread.reports.report import report_value
from reread.reports.usage_report import usage
from reread.server.library import SessionLibrary

OPTIONS = ("by", "sort", *OF_RESPONSES)
"""The query parameters of the report; besides them, `count` is how many rows to return."""


def library_usage(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the usage report of a library, grouped and filtered by the query parameters.

    With `listed`, a row of a session has its row in the library too; None if the library does not list it.
    """
    sources, options = asked(library, query, OPTIONS)
    value = report_value(usage(*sources, **options))
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
    sources, options = asked(library, query, OF_RESPONSES)
    return msgspec.to_builtins(cost_parts(*sources, **options))


def asked(library: SessionLibrary, query: Mapping[str, str], names: Sequence[str]) -> tuple[list[Path], dict[str, Any]]:
    """Return the sources of a report on a library, and its options: those of the request that have these names."""
    options: dict[str, Any] = {name: query[name] for name in names if query.get(name)}
    if library.paths:
        return [*library.paths, *(library.roots or [])], options
    return [], {**options, "root": library.roots}
