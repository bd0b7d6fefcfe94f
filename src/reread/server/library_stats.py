"""Statistics of the sessions that the server offers, and the calls behind each figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reread.errors import Misuse
from reread.reports.advice_report import advice_value, advise
from reread.reports.stats_report import CallPlace, StatsReport, call_place_value, stats, stats_value
from reread.server.library import SessionLibrary
from reread.tools.outcome import FAILED

OPTIONS = ("by", "since", "until", "tz", "project", "person", "machine", "tool", "state")
"""The query parameters of the report."""
ADVICE_OPTIONS = ("since", "until", "tz", "project", "person", "machine")
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
    calls = [_value(place, keys) for place in found[:MOST_CALLS]]
    return {"calls": calls, "total": len(found)}


def _value(place: CallPlace, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return a call and the key of its session; where its file lies is the server's own."""
    told = {name: value for name, value in call_place_value(place).items() if name != "path"}
    return {"key": keys.get(place.path), **told}


def library_failures(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what fails: each kind of failure of each tool, how often, where most, since when, and the last of them."""
    failed: dict[tuple[str, str], list[CallPlace]] = {}
    calls: Counter[str] = Counter()
    for place in _report(library, {**query, "by": "tool"}).calls:
        calls[place.call.tool] += 1
        if place.call.state == FAILED:
            failed.setdefault((place.call.tool, place.call.failure or "other"), []).append(place)
    keys = library.keys()
    rows = [
        {"tool": tool, "failure": failure, "count": len(places), "calls": calls[tool], **_where(places, keys)}
        for (tool, failure), places in sorted(failed.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return {"rows": rows, "failed": sum(map(len, failed.values())), "calls": calls.total()}


def _where(places: Sequence[CallPlace], keys: Mapping[str, str]) -> dict[str, Any]:
    timed = sorted((place for place in places if place.call.time_ms is not None), key=lambda one: one.call.time_ms or 0)
    last = (timed or list(places))[-1]
    [(project, there)] = Counter(place.project for place in places).most_common(1)
    return {
        "sessions": len({place.path for place in places}),
        "project": project,
        "there": there,
        "first_ms": timed[0].call.time_ms if timed else None,
        "last_ms": timed[-1].call.time_ms if timed else None,
        "last": _value(last, keys),
    }


def library_advice(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the sessions suggest to do differently, with the keys of the sessions that it comes from."""
    options: dict[str, Any] = {name: query[name] for name in ADVICE_OPTIONS if query.get(name)}
    sources = [*library.paths, *(library.roots or [])] if library.paths else []
    value = advice_value(advise(*sources, root=None if sources else library.roots, **options))
    known = library.rows_by_session()
    for place in (place for item in value["advice"] for place in item["places"]):
        row = known.get(place["session"])
        place["key"] = row.key if row is not None else None
    return value


def _report(library: SessionLibrary, query: Mapping[str, str]) -> StatsReport:
    options: dict[str, Any] = {name: query[name] for name in OPTIONS if query.get(name)}
    sources = [*library.paths, *(library.roots or [])] if library.paths else []
    return stats(*sources, root=None if sources else library.roots, **options)
