"""Reports as tables of plain text, with notes on what the figures leave out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from reread.accounting.billing import UNKNOWN, sum_known
from reread.accounting.prices import model_text
from reread.base.choices import CacheBreakCause
from reread.base.format import LARGEST, duration_text, money_text, tokens_text
from reread.base.sanitize import safe_line
from reread.base.shell_words import quote_command
from reread.base.text import SHORT_ID, plural
from reread.render.text_table import LOUD, PLAIN, STRONG, Styled, table_lines, wrapped_notes
from reread.reports.report import Report, Row
from reread.reports.usage_report import best_cost

Notes = Callable[[Report, Sequence[str]], Iterator[Styled]]


class Layout(NamedTuple):
    """How a kind of report is shown."""

    columns: Mapping[str, Callable[[Row], str]]
    optional: Sequence[str]
    """The columns that give way first."""
    weight: Callable[[Row], float]
    """What bars compare."""
    notes: Notes


def report_lines(
    report: Report,
    *,
    width: int | None = None,
    command: Sequence[str] = ("reread", "usage"),
    notes: Notes | None = None,
) -> Iterator[Styled]:
    """Yield the table, its totals and what they say in words; without a width, all columns are there.

    `command` is what counts the tokens of the same sessions; `notes` are said in place of those of the kind of report.
    """
    layout = layout_of(report)
    texts = layout.columns.values()
    rows = [(row_labels(report, row), [text(row) for text in texts], layout.weight(row)) for row in report.rows]
    totals = [text(report.totals) for text in texts]
    yield from table_lines(report.by, list(layout.columns), rows, totals, width, layout.optional)
    yield from wrapped_notes((*(notes or layout.notes)(report, command), *_unread_notes(report)), width)


def layout_of(report: Report) -> Layout:
    """Return how a report is shown."""
    totals = report.totals
    if report.kind == "stats":
        found = CALLS if totals.get("turns") is None else TURNS
    elif report.kind == "usage":
        found = USAGE if totals["reported_cost_usd"] is None else REPORTED
    else:
        found = {"cache_breaks": BREAKS, "sessions": SESSIONS}[report.kind]
    if "people" not in totals:
        return found
    known = {name: text for name, text in found.columns.items() if name != "cost" or "cost_usd" in totals}
    return found._replace(columns={"people": _count("people"), **known})


def row_labels(report: Report, row: Row) -> list[str]:
    """Return short texts for the values of a row's groups, with a `+` if some of it is in another row."""
    return [label(name, row[name], report.titles) + " +" * row.get("partial", False) for name in report.by]


def label(name: str, value: str | None, titles: Mapping[str, str] | None = None) -> str:
    """Return a short text for the value of a group."""
    if value is None:
        return f"(no {name.replace('_', ' ')})"
    if name == "session":
        title = " ".join((titles or {}).get(value, "").split())
        return safe_line(f"{value[:SHORT_ID]} {title}").strip()
    if name == "model":
        return safe_line(model_text(value))
    if name == "cause":
        from reread.render.format import CAUSES  # loaded late: it loads what reads sessions

        return CAUSES.get(cast(CacheBreakCause, value), safe_line(value))  # the store may be damaged
    return safe_line(value)[:16].replace("T", " ") if name == "block" else safe_line(value)


def _tokens(*names: str) -> Callable[[Row], str]:
    return lambda row: tokens_text(sum(row[name] for name in names))


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name]:,}" if row[name] else ""


def _time(name: str) -> Callable[[Row], str]:
    """Return durations as narrow as a column needs: `3m 49s`."""

    def text(row: Row) -> str:
        words = duration_text(row[name]) if row[name] else ""
        return words.replace(" min", "m").replace(" ms", "ms").replace(" s", "s").replace(" h", "h")

    return text


def _lines(row: Row) -> str:
    added, removed = row["lines_added"], row["lines_removed"]
    return " ".join([*([f"+{added:,}"] if added else []), *([f"−{removed:,}"] if removed else [])])


def cost_text(row: Any) -> str:
    """Return a cost, with `≥` if it is a lower bound and `?` if some model has no price."""
    if row["cost_usd"] is None:
        return "?"
    cost = money_text(row["cost_usd"], lower_bound=row["lower_bound"]).replace(" ", "")
    return f"{cost}{'?' if row['unpriced_models'] else ''}"


def _share(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _weight(row: Row) -> float:
    """Return what bars compare: cost, or tokens if there is no cost."""
    known = row["reported_cost_usd"] is not None or row["cost_usd"] is not None
    return best_cost(row) if known else min(row["tokens"], LARGEST) / 1e9


def hidden_note(report: Report) -> str:
    """Return a note on the rows that are left out."""
    costs = [best_cost(row) if report.kind == "usage" else row.get("cost_usd") for row in report.hidden]
    cost = f", {money_text(sum_known(costs)) or '?'} in all" if "cost_usd" in report.totals else ""
    return f"Not shown: {plural(len(report.hidden), 'row')}{cost}."


def unread_note(report: Report) -> str:
    """Return a note on the files that could not be read."""
    return safe_line(f"Cannot read {', '.join(report.unread)}: not included; run `reread check` on it.")


def _unread_notes(report: Report) -> Iterator[Styled]:
    if report.hidden:
        yield PLAIN, hidden_note(report)
    if report.unread:
        yield LOUD, unread_note(report)


def _usage_notes(report: Report, _: Sequence[str]) -> Iterator[Styled]:
    if report.comparison is not None:
        yield from _comparison(report.about["comparison"], report.totals)
    yield from _lower_bound(report.totals, report.totals)
    yield PLAIN, f"Prices of {report.prices}. Background calls (titles, recaps) are not recorded and not included."


def _stats_notes(report: Report, command: Sequence[str]) -> Iterator[Styled]:
    totals = report.totals
    yield PLAIN, f"{plural(report.sessions, 'session')}, {plural(totals.calls, 'call')}; copies are counted once."
    if report.empty_sessions:
        yield PLAIN, f"Sessions without a turn of their own, not counted: {report.empty_sessions:,}."
    if totals.compactions:
        yield PLAIN, _compactions(totals)
    if report.about.get("cache", {}).get("breaks"):
        yield PLAIN, cache_note(report.about["cache"], command)
    yield from _lower_bound(totals, report.about)


def _break_notes(report: Report, _: Sequence[str]) -> Iterator[Styled]:
    written = f"{tokens_text(report.cache_write_tokens)} tokens"
    yield PLAIN, f"Of {written} written to the cache. Cost is what writing cost more than reading; copies count once."
    if report.totals["unpriced_models"]:
        yield LOUD, "Some models have no price: their tokens are counted, their cost is not."


def _no_notes(report: Report, _: Sequence[str]) -> Iterator[Styled]:
    yield from ()


def cache_note(figures: Mapping[str, Any], command: Sequence[str] = ("reread", "usage")) -> str:
    """Return how much was written to the cache again, and the command to see more, as one sentence."""
    cost = f", {money_text(figures['cost_usd'])} more than reading it" if figures["cost_usd"] is not None else ""
    breaks, tokens = plural(figures["breaks"], "cache break"), tokens_text(figures["tokens"])
    see = quote_command([*command, "--by", "cache"])
    return f"{breaks}: {tokens} tokens written again ({_share(figures['share'])} of cache writes){cost}; see `{see}`."


def _lower_bound(totals: Row, used: Mapping[str, Any]) -> Iterator[Styled]:
    """Yield why the cost may be higher; `used` says how many responses there are."""
    if totals["unpriced_models"]:
        names = ", ".join("an unknown model" if name == UNKNOWN else name for name in totals["unpriced_models"])
        yield LOUD, safe_line(f"No price for {names}: tokens are counted, cost is not.")
    if unconfirmed := used.get("unconfirmed_responses"):
        has = "has" if unconfirmed == 1 else "have"
        share = f"{unconfirmed} of {used['responses']} responses"
        yield LOUD, f"Lower bound: {share} {has} no final token count."


def _comparison(comparison: Mapping[str, Any], totals: Row) -> Iterator[Styled]:
    """Yield the reported cost beside the computed cost of the same sessions, and the cost of the others."""
    reported, computed = comparison["reported_usd"], comparison["computed_usd"]
    same = "which have no price"
    if computed is not None:
        same = f"{_difference(reported - computed)} ({money_text(computed)})"
    sessions = plural(comparison["sessions"], "session")
    yield STRONG, f"The client reported {money_text(reported)} for {sessions}, {same}."
    if comparison["other_sessions"]:
        other = comparison["other_usd"]
        cost = money_text(other) if other is not None else "unknown"
        whole = money_text(comparison["best_usd"], lower_bound=totals["lower_bound"])
        others = plural(comparison["other_sessions"], "session")
        yield PLAIN, f"Without a report: {others}, {cost} as computed; with the reported cost {whole} in all."


def _difference(dollars: float) -> str:
    if abs(dollars) < 5e-9:
        return "as computed"
    return f"{money_text(abs(dollars))} {'more' if dollars > 0 else 'less'} than computed"


def _compactions(totals: Row) -> str:
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


Texts = dict[str, Callable[[Row], str]]


def _figure(name: str) -> Callable[[Row], float]:
    return lambda row: row[name]


def _money(name: str) -> Callable[[Row], str]:
    return lambda row: money_text(row[name]) or "?"


def _reported(row: Row) -> str:
    return money_text(row["reported_cost_usd"])


def _context(row: Row) -> str:
    return "" if row["context_peak"] is None else tokens_text(row["context_peak"])


def _share_text(row: Row) -> str:
    return _share(row["share"])


USED: Texts = {
    "resp": _tokens("responses"),
    "in": _tokens("input_tokens"),
    "out": _tokens("output_tokens"),
    "write": _tokens("cache_write_5m_tokens", "cache_write_1h_tokens"),
    "read": _tokens("cache_read_tokens"),
}
CALLED: Texts = {"calls": _count("calls"), "failed": _count("failed")}
DONE: Texts = {"lines": _lines, "cost": _money("cost_usd")}
ASKED: Texts = {"denied": _count("denied"), "retry": _count("retries"), "time": _time("call_seconds")}
LASTED: Texts = {"model": _time("model_seconds"), "tools": _time("tool_seconds"), "waiting": _time("waiting_seconds")}
REWRITTEN: Texts = {
    "breaks": _tokens("breaks"),
    "rewritten": _tokens("tokens"),
    "share": _share_text,
    "cost": _money("cost_usd"),
}
USAGE = Layout({**USED, "cost": cost_text}, ("write", "read", "resp"), _weight, _usage_notes)
REPORTED = USAGE._replace(columns={**USED, "reported": _reported, "computed": cost_text})
CALLS = Layout({**CALLED, **ASKED, **DONE}, ("retry", "denied", "time", "lines"), _figure("calls"), _stats_notes)
TURNS = Layout(
    {"turns": _count("turns"), **CALLED, **LASTED, "context": _context, **DONE},
    ("context", "waiting", "tools", "model", "lines"),
    _figure("calls"),
    _stats_notes,
)
BREAKS = Layout(REWRITTEN, (), _figure("tokens"), _break_notes)
BEGUN: Texts = {name: _count(name) for name in ("sessions", "turns", "compactions")}
SESSIONS = Layout(BEGUN, (), _figure("sessions"), _no_notes)
