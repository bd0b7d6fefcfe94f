"""Statistics as a table and as CSV, as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import astuple

from reread.accounting.billing import Usage, sum_known
from reread.base.format import duration_text, money_text, tokens_text
from reread.base.text import one_line, plural, short_session, truncate
from reread.render.cache_table import cache_note
from reread.render.listings import QUIET
from reread.render.sanitize import safe_line
from reread.render.usage_table import (
    LOUD,
    PLAIN,
    STRONG,
    WIDTH,
    Styled,
    label,
    lower_bound_notes,
    table_csv,
    table_lines,
    wrapped_notes,
)
from reread.reports.call_list import ListedCall
from reread.reports.stats_report import Stats, StatsReport

HEADERS = ("calls", "failed", "denied", "retry", "time", "lines", "cost")
TURN_HEADERS = ("turns", "calls", "failed", "model", "tools", "waiting", "context", "lines", "cost")
"""The columns if groups do not split turns."""
OPTIONAL = ("context", "waiting", "retry", "denied", "tools", "model", "time", "lines")
"""The columns that give way first."""
SMALLEST_COST = 0.005
"""Less cannot be seen in a total in cents."""


UNPLACED = {
    "more": "no response in a transcript states it, but the client's counters, the result of an agent or a better copy",
    "less": "a copy of a response states less, or its figures come from the client's counters",
}
"""Why the cost in the responses of transcripts differs from that of `reread usage`."""


def stats_lines(
    report: StatsReport,
    *,
    width: int | None = None,
    usage: Sequence[str] = ("reread", "usage"),
) -> Iterator[Styled]:
    """Yield the table, its totals and what they say in words; without a width, all columns are there.

    `usage` is the command that counts the tokens of the same sessions.
    """
    by_call = report.totals.turns is None
    headers = HEADERS if by_call else TURN_HEADERS
    figures = _call_figures if by_call else _turn_figures
    rows = [
        ([label(name, row.group[name], report.titles) for name in report.by], figures(row.stats), row.stats.calls)
        for row in report.rows
    ]
    yield from table_lines(report.by, headers, rows, figures(report.totals), width, OPTIONAL)
    yield from wrapped_notes(_notes(report, usage), width)


def _notes(report: StatsReport, usage: Sequence[str]) -> Iterator[Styled]:
    totals = report.totals
    yield PLAIN, f"{plural(report.sessions, 'session')}, {plural(totals.calls, 'call')}; copies are counted once."
    if report.empty_sessions:
        yield PLAIN, f"Sessions without a turn of their own, not counted: {report.empty_sessions:,}."
    if report.hidden:
        cost = money_text(sum_known(row.stats.cost_usd for row in report.hidden)) or "?"
        yield PLAIN, f"Not shown: {plural(len(report.hidden), 'row')}, {cost} in all."
    if totals.compactions:
        yield PLAIN, _compactions(totals)
    if report.cache is not None and report.cache.breaks:
        yield PLAIN, cache_note(report.cache, usage)
    if report.usage is not None:
        yield from _unplaced(report, report.usage)
        yield from lower_bound_notes(report.usage)
    if report.unread:
        yield LOUD, safe_line(f"Cannot read {', '.join(report.unread)}: not included; run `reread check` on it.")


def _unplaced(report: StatsReport, usage: Usage) -> Iterator[Styled]:
    """Yield what only `reread usage` counts, and what it does not; groups of calls have no responses and tokens."""
    totals = report.totals
    for more, sign in (("more", 1), ("less", -1)):
        responses = sign * (usage.responses - totals.responses) if totals.responses is not None else 0
        tokens = sign * (usage.tokens - totals.tokens) if totals.tokens is not None else 0
        cost = sign * report.unplaced_cost_usd
        counted = [plural(responses, "response")] * (responses > 0) + [f"{tokens_text(tokens)} tokens"] * (tokens > 0)
        counted += [money_text(cost)] * (cost >= SMALLEST_COST)
        if counted:
            yield PLAIN, f"`reread usage` counts {', '.join(counted)} {more}: {UNPLACED[more]}."


def _compactions(totals: Stats) -> str:
    """Say how many compactions there were and what they removed: not each one says that."""
    count, unmeasured = totals.compactions or 0, totals.unmeasured_compactions or 0
    what = plural(count, "compaction")
    if not unmeasured:
        return f"{what}, which removed {tokens_text(totals.tokens_removed)} tokens."
    if count == unmeasured:
        return f"{what}; how much was removed is not recorded."
    says = "says" if count - unmeasured == 1 else "say"
    removed = f"at least {tokens_text(totals.tokens_removed)} tokens"
    return f"{what}, of which {count - unmeasured:,} {says} how much was removed: {removed} in all."


def call_lines(
    report: StatsReport, calls: Sequence[ListedCall], *, ids: Mapping[str, str], width: int = WIDTH
) -> Iterator[Styled]:
    """Yield the calls behind the figures by group: address, outcome, tool and what it was to do, then its error.

    `ids` has what tells sessions apart, by their ids: an address is there to be typed.
    """
    groups = [tuple(row.group.values()) for row in (*report.rows, *report.hidden)]
    for group in dict.fromkeys([*groups, *(one.place.group for one in calls)]):
        own = [one for one in calls if one.place.group == group]
        if not own:
            continue
        if report.by:
            names = [label(name, value, report.titles) for name, value in zip(report.by, group, strict=True)]
            yield STRONG, truncate(f"{'  '.join(names)}  ({plural(own, 'call')})", width)
        for one in own:
            call = one.place.call
            session = one.address.session
            where = one.address._replace(session=ids.get(session) or short_session(session))
            words = [str(where), call.failure or call.state, call.tool, one_line(one.what)]
            yield PLAIN, truncate(f"  {safe_line('  '.join(word for word in words if word))}", width)
            if one.error:
                yield QUIET, truncate(f"      {safe_line(one_line(one.error))}", width)


def _call_figures(stats: Stats) -> list[str]:
    counts = (stats.calls, stats.failed, stats.denied, stats.retries)
    return [*map(_count, counts), _time(stats.call_seconds), _lines(stats), money_text(stats.cost_usd) or "?"]


def _turn_figures(stats: Stats) -> list[str]:
    counts = (stats.turns or 0, stats.calls, stats.failed)
    times = map(_time, (stats.model_seconds, stats.tool_seconds, stats.waiting_seconds))
    context = "" if stats.context_peak is None else tokens_text(stats.context_peak)
    return [*map(_count, counts), *times, context, _lines(stats), money_text(stats.cost_usd) or "?"]


def _count(number: int) -> str:
    return f"{number:,}" if number else ""


def _time(seconds: float | None) -> str:
    """Return a duration as narrow as a column needs: `3m 49s`."""
    text = duration_text(seconds) if seconds else ""
    return text.replace(" min", "m").replace(" ms", "ms").replace(" s", "s").replace(" h", "h")


def _lines(stats: Stats) -> str:
    added, removed = stats.lines_added, stats.lines_removed
    return " ".join([*([f"+{added:,}"] if added else []), *([f"−{removed:,}"] if removed else [])])


def stats_csv(report: StatsReport) -> str:
    """Return the rows as CSV, with a header line."""
    header = [*report.by, *Stats.__struct_fields__]
    return table_csv(header, ((row.group, astuple(row.stats)) for row in report.rows))
