"""The usage of the sessions that the server offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reread.errors import Misuse
from reread.reports.usage_report import report_value, usage
from reread.server.library import SessionLibrary

OPTIONS = ("by", "since", "until", "tz", "project", "model", "sort")
"""The query parameters of the report; besides them, `count` is how many rows to return."""


def library_usage(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the usage report of a library, grouped and filtered by the query parameters.

    With `listed`, a row of a session has its row in the library too; None if the library does not list it.
    """
    options: dict[str, Any] = {name: query[name] for name in OPTIONS if query.get(name)}
    sources = [*library.paths, *(library.roots or [])] if library.paths else []
    value = report_value(usage(*sources, root=None if sources else library.roots, **options))
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
