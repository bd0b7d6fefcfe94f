"""The reports on the sessions that the server offers: one table, of which the route of all reports is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reread.base.choices import FAILED
from reread.base.scope_options import ALL, OF_RESPONSES, OF_SESSIONS, SCOPE_OPTIONS, SPANS
from reread.errors import Misuse, NotFound
from reread.git.repository import is_sha
from reread.reader.comparison_view import SessionComparison, compare_sessions
from reread.reader.library_schema import ReportFilter
from reread.reader.review_view import CommitReview, review_commits
from reread.render.file_listing import project_path
from reread.render.report_table import CAUSE, group_labels, label, report_value
from reread.reports.advice_report import advice_value, advise
from reread.reports.budget_report import budgets
from reread.reports.cache_report import cache_breaks
from reread.reports.cost_parts import PART_NAMES, behind_part, cost_parts
from reread.reports.report import CALL, PROJECT, SHARE, TIME, Report, ReportColumn, Row
from reread.reports.stats_report import files_changed, stats
from reread.reports.usage_report import usage
from reread.server.guard import GUEST
from reread.server.library import SessionLibrary
from reread.session.session import open as open_session

MOST_CALLS, MOST_RESPONSES, MOST_FILES, MOST_SESSIONS = 200, 50, 200, 20
MOST_DIGITS = 12
Query = Mapping[str, str]


class OfferedReport(NamedTuple):
    """A report that the server offers."""

    answer: Callable[[SessionLibrary, Query], dict[str, Any]]
    """Returns its JSON for the parameters of a request."""
    options: Sequence[str]
    """The parameters that it has."""
    lasts: bool = True
    """True if its answer holds until a file of a session changes."""


def asked(library: SessionLibrary, query: Query, names: Sequence[str]) -> tuple[list[Path], dict[str, Any]]:
    """Return the sources of a report on a library, and its options: those of the request that have these names."""
    options: dict[str, Any] = {name: query[name] for name in names if query.get(name)}
    limit = options.get("limit")
    if limit is not None:
        if not limit.isdecimal() or len(limit) > MOST_DIGITS:
            raise Misuse(f"Invalid limit {limit!r}; use a whole number.")
        options["limit"] = int(limit)
    if library.paths:
        return [*library.paths, *(library.roots or [])], options
    return [], {**options, "root": library.roots}


def counted_report(ask: Callable[..., Report], options: Sequence[str]) -> OfferedReport:
    """Return a report as the server offers it: with labels for groups that need them, and the keys of sessions."""

    def answer(library: SessionLibrary, query: Query) -> dict[str, Any]:
        sources, given = asked(library, query, options)
        return _value(library, query, ask(*sources, **given))

    return OfferedReport(answer, options)


def _value(library: SessionLibrary, query: Query, report: Report) -> dict[str, Any]:
    if query.get(GUEST):
        report.unread = ()  # where files lie is the server's own
    value = report_value(report)
    if "session" in report.by:
        known = library.rows_by_session()
        rows = {row["session"]: known.get(row["session"]) for row in report.rows}
        value["sessions_by_id"] = {
            id: {"key": row.key, "title": row.title, "project": row.project} for id, row in rows.items() if row
        }
    if labels := group_labels(report):
        value["labels"] = labels
    return value


def _calls(library: SessionLibrary, query: Query) -> dict[str, Any]:
    """Return the calls of one group of the statistics, newest first, with the key of the session of each.

    `group` is the value of the group; without it, calls without a value are returned.
    """
    report = _stats(library, query)
    if len(report.by) != 1:
        raise Misuse(
            f"Cannot list the calls of {len(report.by)} groups at once; set the parameter `by` to one of them."
        )
    keys = library.keys()
    found = [call for call in report.items if call.group[report.by[0]] == (query.get("group") or None)]
    found.sort(key=lambda call: call["time_ms"] or 0, reverse=True)
    calls = [_call_value(call, keys) for call in found[:MOST_CALLS]]
    return {"calls": calls, "total": len(found)}


def _call_value(call: Row, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return a call or a response and the key of its session; where its file lies is the server's own."""
    told = {name: value for name, value in call.items() if name != "path"}
    return {"key": keys.get(call["path"]), **told}


def _stats(library: SessionLibrary, query: Query) -> Report:
    sources, options = asked(library, query, ("by", *ALL))
    return stats(*sources, **options)


def _cost(library: SessionLibrary, query: Query) -> dict[str, Any]:
    """Return the parts of the cost, with labels for the causes, too."""
    sources, options = asked(library, query, OF_RESPONSES)
    value = _value(library, query, cost_parts(*sources, **options))
    value["labels"] |= {row["cause"]: label(CAUSE, row["cause"]) for row in value["causes"]}
    return value


def _responses(library: SessionLibrary, query: Query) -> dict[str, Any]:
    """Return the responses behind the parameter `part` of the cost, and `cause` of it, the dearest first."""
    part = query.get("part", "")
    if part not in PART_NAMES:
        raise Misuse(f"No part {part!r} of the cost; use {', '.join(PART_NAMES)}.")
    sources, options = asked(library, query, OF_RESPONSES)
    found = behind_part(part, *sources, cause=query.get("cause") or None, **options)
    keys, known = library.keys(), library.rows_by_session()
    return {
        "responses": [
            {
                **_call_value(row, keys),
                "title": known[row["session"]].title if row["session"] in known else "",
                "cost_usd": cost,
            }
            for row, cost in found[:MOST_RESPONSES]
        ],
        "total": len(found),
    }


FAILURE_COLUMNS = (
    ReportColumn("failed", "Failed", state=FAILED),
    ReportColumn("share", "Of the tool’s calls", SHARE),
    ReportColumn("project", "Most in", PROJECT),
    ReportColumn("first_ms", "Since", TIME),
    ReportColumn("last", "Last", CALL),
)


def _failures(library: SessionLibrary, query: Query) -> dict[str, Any]:
    """Return what fails: each kind of failure of each tool, how often, where most, since when, and the last of them."""
    failed: dict[tuple[str, str], list[Row]] = {}
    calls: Counter[str] = Counter()
    counted = _stats(library, {**query, "by": "tool"})
    for call in counted.items:
        calls[call["tool"]] += 1
        if call["state"] == FAILED:
            failed.setdefault((call["tool"], call["failure"] or "other"), []).append(call)
    keys = library.keys()
    rows = [
        Row({"tool": tool, "failure": failure}, _failed(found, calls[tool], keys))
        for (tool, failure), found in sorted(failed.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    totals = Row({}, {"failed": sum(map(len, failed.values())), "calls": calls.total()})
    report = Report("failures", ("tool", "failure"), rows, totals, unread=counted.unread, columns=FAILURE_COLUMNS)
    return _value(library, query, report)


def _failed(calls: Sequence[Row], of: int, keys: Mapping[str, str]) -> dict[str, Any]:
    timed = sorted((call for call in calls if call["time_ms"] is not None), key=lambda call: call["time_ms"])
    last = (timed or list(calls))[-1]
    [(project, there)] = Counter(call["project"] for call in calls).most_common(1)
    return {
        "failed": len(calls),
        "calls": of,
        "share": len(calls) / of,
        "sessions": len({call["path"] for call in calls}),
        "project": project,
        "there": there,
        "first_ms": timed[0]["time_ms"] if timed else None,
        "last": _call_value(last, keys),
    }


def _files(library: SessionLibrary, query: Query) -> dict[str, Any]:
    """Return the files that calls changed, the last changed one first, each with its sessions, the newest first.

    `path` is a part of their paths.
    """
    sources, options = asked(library, query, OF_SESSIONS)
    wanted = query.get("path", "").casefold()
    changed: dict[str, list[Row]] = {}
    for row in sorted(files_changed(*sources, **options), key=lambda row: -(row["last_ms"] or 0)):
        if wanted in row["file"].casefold():
            changed.setdefault(row["file"], []).append(row)
    keys = library.keys()
    files = [_changed_file(file, rows, keys) for file, rows in list(changed.items())[:MOST_FILES]]
    return {"files": files, "total": len(changed)}


def _changed_file(file: str, rows: Sequence[Row], keys: Mapping[str, str]) -> dict[str, Any]:
    sessions = [
        {**_call_value(row, keys), "file": project_path(file, row["project"] or "")} for row in rows[:MOST_SESSIONS]
    ]
    return {
        **{name: sessions[0][name] for name in ("file", "project", "last_ms")},
        **{name: sum(row[name] for row in rows) for name in ("added", "removed")},
        "path": file,
        "count": len(rows),
        "sessions": sessions,
    }


def _advice(library: SessionLibrary, query: Query) -> dict[str, Any]:
    """Return what the sessions suggest to do differently, with the keys of the sessions that it comes from."""
    sources, options = asked(library, query, OF_SESSIONS)
    value = advice_value(advise(*sources, **options))
    known = library.rows_by_session()
    for place in (place for item in value["advice"] for place in item["places"]):
        row = known.get(place["session"])
        place["key"] = row.key if row is not None else None
    return value


def _budgets(library: SessionLibrary, query: Query) -> dict[str, Any]:
    """Return the budgets that are set; those of a server are its own."""
    states = [] if query.get(GUEST) else budgets(root=library.roots, tz=query.get("tz") or None)
    return {"budgets": states}


REPORTS = {
    "usage": counted_report(usage, ("by", "sort", "limit", *OF_RESPONSES)),
    "cost": OfferedReport(_cost, OF_RESPONSES),
    "responses": OfferedReport(_responses, ("part", "cause", *OF_RESPONSES)),
    "stats": counted_report(stats, ("by", "limit", *ALL)),
    "cache": counted_report(cache_breaks, ("by", "limit", *OF_RESPONSES)),
    "calls": OfferedReport(_calls, ("by", "group", *ALL)),
    "failures": OfferedReport(_failures, ALL),
    "files": OfferedReport(_files, ("path", *OF_SESSIONS)),
    "advice": OfferedReport(_advice, OF_SESSIONS),
    "budgets": OfferedReport(_budgets, ("tz",), lasts=False),
}
"""The reports by name."""


def report_filters() -> list[ReportFilter]:
    """Return the filters of the reports; times are chosen otherwise, and calls by opening a figure."""
    return [
        ReportFilter(
            name, option.help, not option.metavar, [key for key, one in REPORTS.items() if name in one.options]
        )
        for name, option in SCOPE_OPTIONS.items()
        if name not in SPANS and not option.of_calls
    ]


def report_of(name: str) -> OfferedReport:
    """Return a report by its name; raise NotFound if there is none."""
    found = REPORTS.get(name)
    if found is None:
        raise NotFound(f"There is no report {name!r}; there are {', '.join(REPORTS)}.")
    return found


def library_review(library: SessionLibrary, key: str, query: Mapping[str, str]) -> CommitReview:
    """Return the review of the parameter `commit`, or of all commits of a session, in the folder that it worked in."""
    commit = query.get("commit", "")
    if commit and not is_sha(commit):
        raise Misuse("Name a commit by its hash, in the parameter `commit`.")
    return review_commits(open_session(library.find(key)), [commit] if commit else [], library.roots)


def library_comparison(library: SessionLibrary, key: str, other: str) -> SessionComparison:
    """Return two sessions beside each other."""
    found = compare_sessions(library.find(key), library.find(other))
    if found is None:
        raise Misuse("These are one session; name two to compare them.")
    return found
