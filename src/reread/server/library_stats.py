"""Statistics of the sessions that the server offers, and the calls behind each figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reread.base.choices import FAILED
from reread.base.scope_options import ALL, OF_SESSIONS
from reread.errors import Misuse
from reread.reports.advice_report import advice_value, advise
from reread.reports.report import Report, Row, report_value
from reread.reports.stats_report import stats
from reread.server.library import SessionLibrary
from reread.server.library_usage import asked

OPTIONS = ("by", *ALL)
"""The query parameters of the report."""
MOST_CALLS = 200


def library_stats(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the statistics of a library, grouped and filtered by the query parameters."""
    return report_value(_report(library, query))


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
    found = [call for call in report.items if call.group[report.by[0]] == (query.get("group") or None)]
    found.sort(key=lambda call: call["time_ms"] or 0, reverse=True)
    calls = [_value(call, keys) for call in found[:MOST_CALLS]]
    return {"calls": calls, "total": len(found)}


def _value(call: Row, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return a call and the key of its session; where its file lies is the server's own."""
    told = {name: value for name, value in call.items() if name != "path"}
    return {"key": keys.get(call["path"]), **told}


def library_failures(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what fails: each kind of failure of each tool, how often, where most, since when, and the last of them."""
    failed: dict[tuple[str, str], list[Row]] = {}
    calls: Counter[str] = Counter()
    for call in _report(library, {**query, "by": "tool"}).items:
        calls[call["tool"]] += 1
        if call["state"] == FAILED:
            failed.setdefault((call["tool"], call["failure"] or "other"), []).append(call)
    keys = library.keys()
    rows = [
        {"tool": tool, "failure": failure, "count": len(found), "calls": calls[tool], **_where(found, keys)}
        for (tool, failure), found in sorted(failed.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return {"rows": rows, "failed": sum(map(len, failed.values())), "calls": calls.total()}


def _where(calls: Sequence[Row], keys: Mapping[str, str]) -> dict[str, Any]:
    timed = sorted((call for call in calls if call["time_ms"] is not None), key=lambda call: call["time_ms"])
    last = (timed or list(calls))[-1]
    [(project, there)] = Counter(call["project"] for call in calls).most_common(1)
    return {
        "sessions": len({call["path"] for call in calls}),
        "project": project,
        "there": there,
        "first_ms": timed[0]["time_ms"] if timed else None,
        "last_ms": timed[-1]["time_ms"] if timed else None,
        "last": _value(last, keys),
    }


def library_advice(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the sessions suggest to do differently, with the keys of the sessions that it comes from."""
    sources, options = asked(library, query, OF_SESSIONS)
    value = advice_value(advise(*sources, **options))
    known = library.rows_by_session()
    for place in (place for item in value["advice"] for place in item["places"]):
        row = known.get(place["session"])
        place["key"] = row.key if row is not None else None
    return value


def _report(library: SessionLibrary, query: Mapping[str, str]) -> Report:
    sources, options = asked(library, query, OPTIONS)
    return stats(*sources, **options)
