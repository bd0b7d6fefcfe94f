"""Reports as tables of plain text and as JSON, with notes on what the figures leave out; prices, budgets and advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reread.accounting.billing import UNKNOWN, sum_known
from reread.accounting.prices import Price, Prices, Tier, model_text, price_on
from reread.base.choices import CAUSE_WORDS
from reread.base.format import LARGEST, duration_text, money_text, share_text, tokens_text
from reread.base.paths import path_name
from reread.base.sanitize import safe_line
from reread.base.shell_words import quote_command
from reread.base.text import SHORT_ID, home_text, one_line, pad, plural, short_session, truncate, wrapped
from reread.render.listings import QUIET, Span
from reread.render.text_table import LOUD, PLAIN, STRONG, WIDTH, ColumnTable, Styled, table_lines, wrapped_notes
from reread.reports.report import (
    CACHE_BREAKS,
    CHANGE,
    COUNT,
    ITEMS,
    MONEY,
    SECONDS,
    SHARE,
    STATS,
    TOKENS,
    Report,
    ReportColumn,
    Row,
)
from reread.reports.status_line import limit_text
from reread.reports.usage_report import best_cost

if TYPE_CHECKING:
    from reread.reports.advice_facts import Advice
    from reread.reports.advice_report import AdviceReport
    from reread.reports.budget_report import Budget, BudgetState
    from reread.reports.item_list import ListedItem

CAUSE, PART = "cause", "part"
Figures = Mapping[str, Any]
Notes = Callable[[Report, Sequence[str]], Iterator[Styled]]


def report_lines(
    report: Report,
    *,
    width: int | None = None,
    command: Sequence[str] = ("reread", "usage"),
) -> Iterator[Styled]:
    """Yield the table, its totals and what they say in words; without a width, all columns are there.

    `command` is what counts the tokens of the same sessions.
    """
    weight, columns = WEIGHTS.get(report.kind, _no_weight), [column for column in report.columns if column.short]
    rows = [
        (
            row_labels(report, row),
            [figure_text(column, row) for column in columns],
            weight(row),
        )
        for row in report.rows
    ]
    totals = [figure_text(column, report.totals) for column in columns]
    heads = {column.name: column.short for column in columns}
    optional = [heads[name] for name in report.optional if name in heads]
    yield from table_lines(report.by, list(heads.values()), rows, totals, width, optional)
    yield from wrapped_notes(report_notes(report, command), width)


def row_labels(report: Report, row: Row) -> list[str]:
    """Return short texts for the values of a row's groups, with a `+` if some of it is in another row."""
    return [label(name, row[name], report.titles) + " +" * row.get("partial", False) for name in report.by]


def _no_weight(row: Row) -> float:
    return 0.0


def report_notes(report: Report, command: Sequence[str] = ("reread", "usage")) -> Iterator[Styled]:
    """Yield what there is to say about the figures: what they are of, and what they leave out."""
    if report.notes is not None:
        yield from report.notes
    elif report.kind in NOTES:
        yield from NOTES[report.kind](report, command)
    yield from left_out_notes(report)


def left_out_notes(report: Report) -> Iterator[Styled]:
    """Yield which rows are not shown, and which files could not be read."""
    if report.hidden:
        yield PLAIN, hidden_note(report)
    if report.unread:
        yield LOUD, unread_note(report.unread)


def report_value(report: Report) -> dict[str, Any]:
    """Return a report as JSON values: its rows and totals, what it says besides, its columns and its notes."""
    about = {name: dict(value) if isinstance(value, Row) else value for name, value in report.about.items()}
    return {
        "report": report.kind,
        "by": list(report.by),
        "columns": [column_value(column) for column in report.columns],
        "rows": report.to_dicts(),
        "totals": dict(report.totals),
        **about,
        "notes": note_values(report_notes(report)),
        "unread": list(report.unread),
    }


def note_values(notes: Iterable[Styled]) -> list[dict[str, str]]:
    """Return notes as JSON values."""
    return [{"style": style, "text": text} for style, text in notes]


def column_value(column: ReportColumn) -> dict[str, Any]:
    """Return a column as JSON values: its name, title and kind, the figures that it adds up, the calls it counts."""
    named = {"name": column.name, "title": column.title, "kind": column.kind, "figures": list(column.figures)}
    return named if column.state is None else {**named, "state": column.state}


def _part_words() -> Mapping[str, str]:
    from reread.reports.cost_parts import PART_NAMES  # loaded late: only the reader asks for the parts of a cost

    return PART_NAMES


def group_labels(report: Report) -> dict[str | None, str]:
    """Return what groups are called that are no names, by their values."""
    names = WORDS.keys() & {*report.by}
    return {row[name]: label(name, row[name]) for name in names for row in report.rows}


WORDS: dict[str, Callable[[], Mapping[str, str]]] = {CAUSE: lambda: CAUSE_WORDS, PART: _part_words}
"""What the values of groups are called that are no names."""


def label(name: str, value: str | None, titles: Mapping[str, str] | None = None) -> str:
    """Return a short text for the value of a group."""
    if value is None:
        return f"(no {name.replace('_', ' ')})"
    if name == "session":
        title = " ".join((titles or {}).get(value, "").split())
        return safe_line(f"{value[:SHORT_ID]} {title}").strip()
    if name == "model":
        return safe_line(model_text(value))
    if name in WORDS:
        return WORDS[name]().get(value, safe_line(value))  # the store may be damaged
    return safe_line(value)[:16].replace("T", " ") if name == "block" else safe_line(value)


def _time(seconds: Any) -> str:
    """Return a duration as narrow as a column needs: `3m 49s`."""
    words = duration_text(seconds) if seconds else ""
    return words.replace(" min", "m").replace(" ms", "ms").replace(" s", "s").replace(" h", "h")


def _change(row: Figures, column: ReportColumn) -> str:
    added, removed = (row[name] for name in column.figures)
    return " ".join([*([f"+{added:,}"] if added else []), *([f"−{removed:,}"] if removed else [])])


def _sum(row: Figures, column: ReportColumn) -> Any:
    """Return a whole number; None if it is not known."""
    known = [row[name] for name in column.figures if row[name] is not None]
    return int(sum(known)) if known else None


TEXTS: dict[str, Callable[[Figures, ReportColumn], str]] = {
    COUNT: lambda row, column: f"{_sum(row, column):,}" if _sum(row, column) else "",
    TOKENS: lambda row, column: tokens_text(_sum(row, column)),
    MONEY: lambda row, column: cost_text(row, column.name),
    SHARE: lambda row, column: share_text(row[column.name]),
    SECONDS: lambda row, column: _time(row[column.name]),
    CHANGE: _change,
}
"""The text of a figure by its kind."""


def figure_text(column: ReportColumn, row: Figures) -> str:
    """Return what a column says of a row."""
    return TEXTS[column.kind](row, column)


def cost_text(row: Figures, name: str = "cost_usd") -> str:
    """Return a cost, with `≥` if it is a lower bound and `?` if some model has no price."""
    if row[name] is None:
        return "" if name != "cost_usd" else "?"
    if name != "cost_usd":
        return money_text(row[name])
    is_least = bool(row.get("lower_bound"))
    cost = money_text(row[name], lower_bound=is_least).replace(" ", "")
    return f"{cost}{'?' if row.get('unpriced_models') else ''}"


def _weight(row: Row) -> float:
    """Return what bars compare: cost, or tokens if there is no cost."""
    known = row["reported_cost_usd"] is not None or row["cost_usd"] is not None
    return best_cost(row) if known else min(row["tokens"], LARGEST) / 1e9


def hidden_note(report: Report) -> str:
    """Return a note on the rows that are left out."""
    costs = [best_cost(row) if report.kind == "usage" else row.get("cost_usd") for row in report.hidden]
    cost = f", {money_text(sum_known(costs)) or '?'} in all" if "cost_usd" in report.totals else ""
    return f"Not shown: {plural(len(report.hidden), 'row')}{cost}."


def unread_note(unread: Sequence[str]) -> str:
    """Return a note on the files that could not be read."""
    return safe_line(f"Cannot read {', '.join(unread)}: not included; run `reread check` on it.")


def pending_note(left: int) -> str:
    """Return a note on the sessions that are still to be read."""
    return f"Counting: {plural(left, 'session')} left."


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


def _part_notes(report: Report, _: Sequence[str]) -> Iterator[Styled]:
    if report.causes:
        whole = sum(one["cost_usd"] for one in report.causes) or 1
        causes = [f"{label(CAUSE, one[CAUSE])} {share_text(one['cost_usd'] / whole)}" for one in report.causes[:3]]
        more = " …" if len(report.causes) > 3 else ""
        count = plural(sum(one["breaks"] for one in report.causes), "cache break")
        yield PLAIN, f"{count}: {', '.join(causes)}{more}"


def cache_note(figures: Mapping[str, Any], command: Sequence[str] = ("reread", "usage")) -> str:
    """Return how much was written to the cache again, and the command to see more, as one sentence."""
    cost = f", {money_text(figures['cost_usd'])} more than reading it" if figures["cost_usd"] is not None else ""
    breaks, tokens = plural(figures["breaks"], "cache break"), tokens_text(figures["tokens"])
    see = quote_command([*command, "--by", "cache"])
    return (
        f"{breaks}: {tokens} tokens written again ({share_text(figures['share'])} of cache writes){cost}; see `{see}`."
    )


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


WEIGHTS: dict[str, Callable[[Row], float]] = {
    "usage": _weight,
    "stats": lambda row: row["calls"],
    "cache_breaks": lambda row: row["tokens"],
}
"""What bars compare, by the kind of the report."""
NOTES: dict[str, Notes] = {
    "usage": _usage_notes,
    "stats": _stats_notes,
    "cache_breaks": _break_notes,
    "cost": _part_notes,
}


FIRST_ADVICE = 5
"""So many pieces of advice are shown unless all are asked for."""
UNPRICED = "?"


def advice_lines(report: AdviceReport, *, all: bool = False, width: int | None = None) -> Iterator[Styled]:
    """Yield each advice with what it cost, what to do, what was seen, and the command that shows why."""
    items = report.items if all else report.items[:FIRST_ADVICE]
    prices = [money_text(item.cost_usd) or UNPRICED for item in items]
    column = max(map(len, prices), default=0)
    room = width and max(width - column - 2, 1)
    for item, price in zip(items, prices, strict=True):
        for number, line in enumerate(wrapped(safe_line(f"{item.deed}."), room)):
            yield STRONG, f"{pad('' if number else price, column, right=True)}  {line}"
        for line in wrapped(safe_line(advice_text(item)), room):
            yield PLAIN, f"{'':{column}}  {line}"
        yield QUIET, safe_line(f"{'':{column}}  {item.command}")
        yield PLAIN, ""
    if UNPRICED in prices:
        yield PLAIN, f"{UNPRICED}: what it costs is not recorded."
    looked_at = f"{plural(report.sessions, 'session')} in {plural(report.days, 'day')}"
    yield PLAIN, f"From {looked_at}; `--json` has the places of each."
    if hidden := report.items[len(items) :]:
        worth = money_text(sum_known(item.cost_usd for item in hidden)) or UNPRICED
        yield PLAIN, f"Not shown: {len(hidden):,} more, worth {worth}; --full shows them."


def advice_text(item: Advice) -> str:
    """Return what was seen, where, and how many tokens it was, in one sentence."""
    where = f" in {home_text(item.project)}" if item.project else ""
    tokens = ""
    if item.tokens is not None:
        many = tokens_text(item.tokens)
        tokens = f": up to about {many} tokens in each request" if item.tokens_estimated else f": {many} tokens"
    return f"{item.text}{where}{tokens}."


def price_lines(prices: Prices, day: int, width: int | None = None) -> Iterator[Styled]:
    """Yield the prices in force on a day."""
    table = prices.table
    sources = f"Prices of {table.as_of}, in USD per million tokens ({'; '.join(table.sources)})"
    yield from wrapped_notes([(STRONG, sources)], width)
    rows: list[tuple[str, list[str]]] = []
    for name, model in table.models.items():
        price = price_on(model, day)
        rows.append((safe_line(name), [*_prices(price), f"× {model.fast}" if model.fast else ""]))
        if price.long is not None:
            rows.append((f"  prompt over {price.long.over:,}", [*_prices(price.long), ""]))
    headers = ["input", "output", "write 5m", "write 1h", "read", "fast"]
    labels, cells = [["model"], *([name] for name, _ in rows)], [headers, *(amounts for _, amounts in rows)]
    columns = ColumnTable(labels, cells, width, ("fast", "write 1h", "write 5m"))
    yield STRONG, columns.line(["model"], headers)
    yield from ((PLAIN, columns.line([name], amounts)) for name, amounts in rows)
    rest = f"Web search ${table.web_searches} per 1,000; batch × {table.batch}; US inference × {table.us_inference}"
    yield from wrapped_notes([*columns.notes(), (PLAIN, f"{rest}; regional × {table.regional}")], width)


def _prices(price: Price | Tier) -> list[str]:
    amounts = (price.input, price.output, price.cache_write_5m, price.cache_write_1h, price.cache_read)
    return [f"{amount.normalize():f}" for amount in amounts]


def budget_name(budget: Budget) -> str:
    """Return what a budget is for: `day`, `month, shop, opus`."""
    names = (budget.per, path_name(budget.project or ""), budget.model, budget.team)
    return ", ".join(safe_line(name) for name in names if name)


def budget_lines(states: Sequence[BudgetState]) -> Iterator[list[Span]]:
    """Yield a line for each budget: what is spent of it, what is left, and what it comes to."""
    width = max((len(budget_name(one)) for one in states), default=0)
    for one in states:
        spent = money_text(one.spent_usd, lower_bound=one.lower_bound)
        over = one.left_usd < 0
        left = f"{money_text(abs(one.left_usd))} {'over' if over else 'left'}"
        rate = f"  {money_text(one.forecast_usd)} at this rate" if one.forecast_usd is not None else ""
        yield [
            (STRONG, f"{pad(budget_name(one), width)}  "),
            (PLAIN, f"{spent} of {money_text(one.amount_usd)}  "),
            (LOUD if over else PLAIN, left),
            (LOUD if rate and (one.forecast_usd or 0) > one.amount_usd else QUIET, rate),
        ]


def limit_lines(limits: Mapping[str, Any]) -> Iterator[list[Span]]:
    """Yield a line with the rate limits, as a client last gave them."""
    texts = [text for name, limit in limits.items() if (text := limit_text(name, limit))]
    if texts:
        yield [(STRONG, "Rate limits  "), (PLAIN, safe_line(", ".join(texts)))]


def item_lines(
    report: Report,
    items: Sequence[ListedItem],
    every: Sequence[Row],
    *,
    ids: Mapping[str, str] | None = None,
    width: int = WIDTH,
) -> Iterator[Styled]:
    """Yield items of `every` one behind the figures by group, each with its address.

    Of a call, that is its outcome, its tool, what it was to do and its error; of others their tokens and cost, and the
    cause of a cache break or what a response called or said.
    """
    for head, own in _in_groups(report, items, every, width):
        yield from head
        for one in own:
            address = one.address
            short = (ids or {}).get(address.session) or short_session(address.session)
            words = filter(None, (str(address._replace(session=short)), *_item_words(report, one)))
            yield PLAIN, truncate(f"  {safe_line('  '.join(words))}", width)
            if one.more.get("error"):
                yield QUIET, truncate(f"      {safe_line(one_line(one.more['error']))}", width)


def _item_words(report: Report, one: ListedItem) -> Iterator[str]:
    row = one.row
    if report.kind == STATS:
        yield from (row.failure or row.state, row.tool, one_line(one.more["what"]))
        return
    yield f"{tokens_text(row.tokens if report.kind == CACHE_BREAKS else one.more['tokens'])} tokens"
    yield money_text(row.cost_usd) or UNPRICED
    if report.kind == CACHE_BREAKS:
        cause = CAUSE_WORDS["unknown"] if row.cause == "unknown" else ""
        yield ": ".join(filter(None, (cause, row.detail))) or label(CAUSE, row.cause)
    else:
        yield one.more["what"]


def _in_groups(
    report: Report, items: Iterable[ListedItem], every: Sequence[Row], width: int
) -> Iterator[tuple[list[Styled], list[ListedItem]]]:
    """Yield items by the rows of a report that count them, in their order, below a line that says of how many."""
    counts = Counter[tuple[str | None, ...]]()
    for row in every:
        counts[_key(row)] += row.get("responses", 1)  # what is billed apart for a response is none
    groups: dict[tuple[str | None, ...], list[ListedItem]] = {_key(row): [] for row in (*report.rows, *report.hidden)}
    for one in items:
        groups.setdefault(_key(one.row), []).append(one)
    for key, own in groups.items():
        if own:
            number = sum(one.row.get("responses", 1) for one in own)
            of = f"{number} of " if number < counts[key] else ""
            head = f"{_group_name(report, own[0].row)}  ({of}{plural(counts[key], ITEMS[report.kind])})"
            yield [(STRONG, truncate(head, width))] if report.by else [], own


def _group_name(report: Report, row: Row) -> str:
    return "  ".join(label(name, value, report.titles) for name, value in zip(report.by, _key(row), strict=True))


def _key(row: Row) -> tuple[str | None, ...]:
    return tuple(row.group.values())
