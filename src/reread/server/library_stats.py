"""Statistics of the sessions that the server offers, and the calls behind each figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reread.errors import Misuse
from reread.reports.stats_report import StatsReport, call_place_value, stats, stats_value
from reread.server.library import SessionLibrary

OPTIONS = ("by", "since", "until", "tz", "project", "tool", "state")
"""The query parameters of the report."""
MOST_CALLS = 200


def library_stats(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the statistics of a library, grouped and filtered by the query parameters."""
    return stats_value(_report(library, query))


def library_calls(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the calls of one group of the statistics, newest first, with the key of the session of each.

    `group` is the value of the group; without it, calls without a value are returned.
    """
    report = _report(library, query)
    if len(report.by) != 1:
        raise Misuse(
            f"Cannot list the calls of {len(report.by)} groups at once; set the parameter `by` to one of them."
        )
    keys = library.keys()
    found = [place for place in report.calls if place.group == (query.get("group") or None,)]
    found.sort(key=lambda place: place.call.time_ms or 0, reverse=True)
    calls = [{"key": keys.get(place.path), **call_place_value(place)} for place in found[:MOST_CALLS]]
    return {"calls": calls, "total": len(found)}


def _report(library: SessionLibrary, query: Mapping[str, str]) -> StatsReport:
    options: dict[str, Any] = {name: query[name] for name in OPTIONS if query.get(name)}
    sources = [*library.paths, *(library.roots or [])] if library.paths else []
    return stats(*sources, root=None if sources else library.roots, **options)
