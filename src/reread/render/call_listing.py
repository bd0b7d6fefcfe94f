"""The calls behind figures as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reread.base.sanitize import safe_line
from reread.base.text import one_line, plural, short_session, truncate
from reread.render.listings import QUIET
from reread.render.report_table import label
from reread.render.text_table import PLAIN, STRONG, WIDTH, Styled
from reread.reports.call_list import ListedCall
from reread.reports.report import Report, Row


def call_lines(
    report: Report, calls: Sequence[ListedCall], *, ids: Mapping[str, str] | None = None, width: int = WIDTH
) -> Iterator[Styled]:
    """Yield the calls behind the figures by group: address, outcome, tool and what it was to do, then its error."""
    shown: dict[tuple[str | None, ...], list[ListedCall]] = {_key(row): [] for row in (*report.rows, *report.hidden)}
    for one in calls:
        shown.setdefault(_key(one.call), []).append(one)
    for group, own in shown.items():
        if not own:
            continue
        if report.by:
            names = [label(name, value, report.titles) for name, value in zip(report.by, group, strict=True)]
            yield STRONG, truncate(f"{'  '.join(names)}  ({plural(own, 'call')})", width)
        for one in own:
            call = one.call
            id = one.address.session
            where = one.address._replace(session=(ids or {}).get(id) or short_session(id))
            words = [str(where), call.failure or call.state, call.tool, one_line(one.what)]
            yield PLAIN, truncate(f"  {safe_line('  '.join(word for word in words if word))}", width)
            if one.error:
                yield QUIET, truncate(f"      {safe_line(one_line(one.error))}", width)


def _key(row: Row) -> tuple[str | None, ...]:
    return tuple(row.group.values())
