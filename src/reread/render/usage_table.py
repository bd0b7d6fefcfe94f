"""Usage reports as a table and as CSV, and price lists, as plain text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from reread.accounting.billing import Usage
from reread.accounting.group_by import CostComparison, UsageReport, best_cost
from reread.accounting.prices import Price, Prices, Tier, model_text, price_on
from reread.base.format import LARGEST, money_text, tokens_text
from reread.base.text import cell_width, pad, plural, truncate
from reread.render.sanitize import csv_cell, safe_line
from reread.reports.usage_report import FIGURES, figures

WIDTH = 80
BAR = 8
EIGHTHS = " ▏▎▍▌▋▊▉█"
GAP, NARROW_GAP = "  ", " "
HEADERS = ("resp", "in", "out", "write", "read")
MIN_LABEL_WIDTH = 7
SHORT_ID = 8

PLAIN, STRONG, LOUD = "plain", "strong", "loud"
Styled = tuple[str, str]
"""A style and a line."""


def usage_lines(
    report: UsageReport, *, width: int = WIDTH, titles: Mapping[str, str] | None = None
) -> Iterator[Styled]:
    """Yield the table, its totals and notes about them; `titles` has the titles of sessions by their id."""
    names = list(report.by) or [""]
    reported = report.totals.reported_cost_usd is not None
    headers = (*HEADERS, *(("reported", "computed") if reported else ("cost",)))
    labels = [[label(name, row.group[name], titles) for name in report.by] for row in report.rows]
    cells = [_figures(row.usage, reported) for row in report.rows]
    totals, total_cells = ["Total", *[""] * (len(names) - 1)], _figures(report.totals, reported)
    table = ColumnTable([names, *labels, totals], [headers, *cells, total_cells], width)
    largest = max((_weight(row.usage) for row in report.rows), default=0.0)
    yield STRONG, table.line(names, headers)
    for row_labels, numbers, row in zip(labels, cells, report.rows, strict=True):
        yield PLAIN, table.line(row_labels, numbers, _weight(row.usage) / largest if largest else 0.0)
    yield STRONG, table.line(totals, total_cells)
    yield from usage_notes(report)


class ColumnTable:
    """The widths of the columns: if the longest texts do not fit, bars are left out, labels are cut, gaps narrowed."""

    def __init__(self, labels: Sequence[Sequence[str]], cells: Sequence[Sequence[str]], width: int) -> None:
        self.labels: list[int] = [max(map(cell_width, column)) for column in zip(*labels, strict=True)]
        self.cells: list[int] = [max(map(len, column)) for column in zip(*cells, strict=True)]
        columns = len(self.labels) + len(self.cells)
        least = sum(min(label, MIN_LABEL_WIDTH) for label in self.labels) + sum(self.cells)
        self.gap = GAP if least + len(GAP) * (columns - 1) <= width else NARROW_GAP
        room = width - sum(self.cells) - len(self.gap) * (columns - 1)
        self.bars: bool = sum(self.labels) + len(GAP) + BAR <= room
        while sum(self.labels) > room and max(self.labels) > MIN_LABEL_WIDTH:
            self.labels[self.labels.index(max(self.labels))] -= 1

    def line(self, labels: Sequence[str], cells: Sequence[str], share: float = 0.0) -> str:
        """Return one line, with a bar for its share of the largest row."""
        names = [pad(_cut(text, width), width) for text, width in zip(labels, self.labels, strict=True)]
        numbers = [f"{text:>{width}}" for text, width in zip(cells, self.cells, strict=True)]
        return self.gap.join([*names, *numbers, bar(share) if self.bars else ""]).rstrip()


def usage_notes(report: UsageReport) -> Iterator[Styled]:
    """Yield notes on what the totals leave out."""
    totals = report.totals
    if report.comparison is not None:
        yield from _comparison_lines(report.comparison, totals)
    if report.hidden:
        yield PLAIN, hidden_note(report)
    if report.unread:
        yield LOUD, unread_note(report)
    yield from lower_bound_notes(totals)
    yield PLAIN, f"Prices of {report.prices}. Background calls (titles, recaps) are not recorded and not included."


def lower_bound_notes(totals: Usage) -> Iterator[Styled]:
    """Yield why the cost may be higher."""
    if totals.unpriced_models:
        names = ", ".join(totals.unpriced_models)
        yield LOUD, safe_line(f"No price for {names}: tokens are counted, cost is not.")
    if totals.lower_bound:
        has = "has" if totals.unconfirmed_responses == 1 else "have"
        share = f"{totals.unconfirmed_responses} of {totals.responses} responses"
        yield LOUD, f"Lower bound: {share} {has} no final token count."


def _comparison_lines(comparison: CostComparison, totals: Usage) -> Iterator[Styled]:
    """Yield the reported cost beside the computed cost of the same sessions, and the cost of the others."""
    computed = comparison.computed_usd
    same = "which have no price"
    if computed is not None:
        same = f"{_difference(comparison.reported_usd - computed)} ({money_text(computed)})"
    sessions = plural(comparison.sessions, "session")
    yield STRONG, f"The client reported {money_text(comparison.reported_usd)} for {sessions}, {same}."
    if comparison.other_sessions:
        cost = money_text(comparison.other_usd) if comparison.other_usd is not None else "unknown"
        whole = f"{'≥' if totals.lower_bound else ''}{money_text(comparison.best_usd)}"
        others = plural(comparison.other_sessions, "session")
        yield PLAIN, f"Without a report: {others}, {cost} as computed; with the reported cost {whole} in all."


def hidden_note(report: UsageReport) -> str:
    """Return a note on the rows below the threshold."""
    cost = sum(best_cost(row.usage) for row in report.hidden)
    return f"Not shown: {plural(len(report.hidden), 'row')} below the threshold, {money_text(cost)} in all."


def unread_note(report: UsageReport) -> str:
    """Return a note on the files that could not be read."""
    return safe_line(f"Cannot read {', '.join(report.unread)}: not included; run `reread check` on it.")


def label(name: str, value: str | None, titles: Mapping[str, str] | None = None) -> str:
    """Return a short text for the value of a group."""
    if value is None:
        return f"(no {name.replace('_', ' ')})"
    if name == "session":
        title = " ".join((titles or {}).get(value, "").split())
        return safe_line(f"{value[:SHORT_ID]} {title}").strip()
    if name == "model":
        return safe_line(model_text(value))
    return safe_line(value)[:16].replace("T", " ") if name == "block" else safe_line(value)


def _cut(text: str, width: int) -> str:
    """Cut a text to the width of its column, keeping the end of a path."""
    return truncate(text, width, keep_end="/" in text or "\\" in text)


def _figures(usage: Usage, reported: bool) -> list[str]:
    writes = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    counts = (usage.responses, usage.input_tokens, usage.output_tokens, writes, usage.cache_read_tokens)
    costs = [money_text(usage.reported_cost_usd)] if reported else []
    return [*map(tokens_text, counts), *costs, cost_text(usage)]


def cost_text(usage: Usage) -> str:
    """Return a cost, with `≥` if it is a lower bound and `?` if some model has no price."""
    if usage.cost_usd is None:
        return "?"
    cost = money_text(usage.cost_usd, lower_bound=usage.lower_bound).replace(" ", "")
    return f"{cost}{'?' if usage.unpriced_models else ''}"


def _difference(dollars: float) -> str:
    if abs(dollars) < 5e-9:
        return "as computed"
    return f"{money_text(abs(dollars))} {'more' if dollars > 0 else 'less'} than computed"


def bar(share: float) -> str:
    """Return a bar for a share between 0 and 1."""
    eighths = round(max(0.0, min(1.0, share)) * BAR * 8)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _weight(usage: Usage) -> float:
    """Return what bars compare: cost, or tokens if there is no cost."""
    known = usage.reported_cost_usd is not None or usage.cost_usd is not None
    return best_cost(usage) if known else min(usage.tokens, LARGEST) / 1e9


def usage_csv(report: UsageReport) -> str:
    """Return the rows as CSV, with a header line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*report.by, *FIGURES])
    for row in report.rows:
        groups = ["" if name is None else csv_cell(name) for name in row.group.values()]
        writer.writerow([*groups, *("" if value is None else value for value in figures(row.usage).values())])
    return out.getvalue()


def price_lines(prices: Prices, day: int) -> Iterator[Styled]:
    """Yield the prices in force on a day."""
    table = prices.table
    yield STRONG, f"Prices of {table.as_of}, in USD per million tokens ({'; '.join(table.sources)})"
    headers = ("input", "output", "write 5m", "write 1h", "read")
    yield STRONG, f"{'model':24}" + "".join(f"{header:>9}" for header in headers)
    for name, model in table.models.items():
        price = price_on(model, day)
        yield PLAIN, pad(safe_line(name), 24) + _prices(price) + (f"  fast × {model.fast}" if model.fast else "")
        if price.long is not None:
            yield PLAIN, f"{f'  prompt over {price.long.over:,}':24}" + _prices(price.long)
    yield (
        PLAIN,
        (
            f"Web search ${table.web_searches} per 1,000; batch × {table.batch}; US inference × {table.us_inference}; "
            f"regional × {table.regional}"
        ),
    )


def _prices(price: Price | Tier) -> str:
    amounts = (price.input, price.output, price.cache_write_5m, price.cache_write_1h, price.cache_read)
    return "".join(f"{amount.normalize():>9f}" for amount in amounts)
