"""Facets: how many of the texts that match are in each project and month, of each kind and tool."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from reread.disk import layout
from reread.index.compile import IndexScope
from reread.index.document import KINDS

MOST_VALUES = 20
"""How many projects, months or tools are counted."""
FIRST_YEAR, LAST_YEAR = 1970, 2999
"""The years whose months are counted: any time can be claimed, and not every system knows the clock of other years."""


def count_facets(scope: IndexScope, query: Any) -> dict[str, dict[str, int]]:
    """Return how many documents of a query there are by project, kind, tool and month, the most first."""
    projects: Counter[str] = Counter()
    for path, count in scope.count_by_file(query).items():
        main = layout.session_file(path)
        known = scope.reader.cursors.get(main) or scope.reader.cursors[path]
        projects[known.cwd or layout.guess_project(Path(main))] += count
    kinds = {KINDS[int(one["key"])]: int(one["doc_count"]) for one in scope.reader.count(query, "kind", len(KINDS))}
    tools = scope.reader.searcher.terms_with_prefix("tool", "", query, MOST_VALUES)
    return {
        "project": dict(projects.most_common(MOST_VALUES)),
        "kind": kinds,
        "tool": dict(tools),
        "month": _months(scope, query),
    }


def _months(scope: IndexScope, query: Any) -> dict[str, int]:
    """Count by month, as the local clock says, the newest first; texts without a time are in none."""
    span = scope.reader.time_span(query)
    if span is None or span[1] <= 0:
        return {}
    first, last = (_year(time) for time in span)
    years = list(range(first, last + 1))
    by_year = scope.reader.count_between(query, [*map(_start_ms, years), _start_ms(last + 1)])
    months: dict[str, int] = {}
    for year in (year for year, count in zip(reversed(years), reversed(by_year), strict=True) if count):
        bounds = [*(_start_ms(year, month) for month in range(1, 13)), _start_ms(year + 1)]
        counts = list(enumerate(scope.reader.count_between(query, bounds), 1))
        months |= {f"{year}-{month:02}": count for month, count in reversed(counts) if count}
        if len(months) >= MOST_VALUES:
            break
    return dict(list(months.items())[:MOST_VALUES])


def _year(time_ms: int) -> int:
    """Return the year of a time by the local clock, or the nearest whose months are counted."""
    latest = _start_ms(LAST_YEAR + 1) - 1
    return max(FIRST_YEAR, datetime.fromtimestamp(min(max(time_ms, 0), latest) / 1000).year)


def _start_ms(year: int, month: int = 1) -> int:
    """Return when a month begins by the local clock; the first, with the first time that texts claim."""
    return 1 if (year, month) == (FIRST_YEAR, 1) else int(datetime(year, month, 1).timestamp() * 1000)
