"""Usage reports as a table and as CSV, and price lists, as plain text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reread.accounting.billing import UNKNOWN, Usage
from reread.accounting.group_by import BLOCK, TIME_KEYS, CostComparison, UsageReport, best_cost
from reread.accounting.prices import Price, Prices, Tier, model_text, price_on
from reread.base.format import LARGEST, money_text, tokens_text
from reread.base.text import SHORT_ID, cell_width, pad, plural, truncate, wrapped
from reread.render.sanitize import csv_cell, safe_line
from reread.reports.usage_report import FIGURES, figures

WIDTH = 80
BAR = 8
EIGHTHS = " ▏▎▍▌▋▊▉█"
GAP, NARROW_GAP = "  ", " "
HEADERS = ("resp", "in", "out", "write", "read")
OPTIONAL = ("write", "read", "resp")
"""The columns that give way first."""
MIN_LABEL_WIDTH = 7
SESSION_WIDTH = 36
"""The width of a session's id and title for which columns give way: titles may have any length."""
WHOLE = (*TIME_KEYS, BLOCK)
"""Groups whose labels are never cut."""

PLAIN, STRONG, LOUD = "plain", "strong", "loud"
Styled = tuple[str, str]
"""A style and a line."""


def usage_lines(
    report: UsageReport, *, width: int | None = None, titles: Mapping[str, str] | None = None
) -> Iterator[Styled]:
    """Yield the table, its totals and notes about them; `titles` has the titles of sessions by their id.

    Without a width, all columns are there.
    """
    by, reported = report.by, report.totals.reported_cost_usd is not None
    headers = (*HEADERS, *(("reported", "computed") if reported else ("cost",)))
    rows = [
        (
            [label(name, row.group[name], titles) for name in report.by],
            _figures(row.usage, reported),
            _weight(row.usage),
        )
        for row in report.rows
    ]
    yield from table_lines(by, headers, rows, _figures(report.totals, reported), width, OPTIONAL)
    yield from wrapped_notes(usage_notes(report), width)


def table_lines(
    by: Sequence[str],
    headers: Sequence[str],
    rows: Sequence[tuple[Sequence[str], Sequence[str], float]],
    totals: Sequence[str],
    width: int | None,
    optional: Sequence[str] = (),
) -> Iterator[Styled]:
    """Yield a header, a line for each row (its labels, its figures, and what its bar compares) and the totals."""
    names = list(by) or [""]
    total_labels = ["Total", *[""] * (len(names) - 1)]
    labels, cells = [row[0] for row in rows], [row[1] for row in rows]
    table = ColumnTable([names, *labels, total_labels], [headers, *cells, totals], width, optional)
    largest = max((weight for *_, weight in rows), default=0.0)
    yield STRONG, table.line(names, headers)
    for row_labels, numbers, weight in rows:
        yield PLAIN, table.line(row_labels, numbers, weight / largest if largest else 0.0)
    yield STRONG, table.line(total_labels, totals)
    yield from wrapped_notes(table.notes(), width)


def wrapped_notes(notes: Iterable[Styled], width: int | None) -> Iterator[Styled]:
    """Yield sentences in lines that fit."""
    yield from ((style, line) for style, note in notes for line in wrapped(note, width))


class ColumnTable:
    """The widths of the columns.

    If the longest texts do not fit, bars are left out, gaps narrowed, and the columns of `optional` left out, the first
    ones first; only then are labels cut, because a row that cannot be told from others says nothing. In a pipe, which
    has no width, all columns stay. A time is never cut, nor is the id of a session.
    """

    def __init__(
        self,
        labels: Sequence[Sequence[str]],
        cells: Sequence[Sequence[str]],
        width: int | None,
        optional: Sequence[str] = (),
    ) -> None:
        """Take the rows of labels and of figures; the first row of each has the names of the columns."""
        names, headers = labels[0], cells[0]
        self.labels: list[int] = [max(map(cell_width, column)) for column in zip(*labels, strict=True)]
        self.cells: list[int] = [max(map(len, column)) for column in zip(*cells, strict=True)]
        self.omitted: list[str] = []
        """The columns that are left out, in the order in which they gave way."""
        self._shown = list(range(len(headers)))
        least = [_least_width(name, longest) for name, longest in zip(names, self.labels, strict=True)]
        wanted = sum(
            min(longest, SESSION_WIDTH) if name == "session" else longest
            for name, longest in zip(names, self.labels, strict=True)
        )
        for name in optional:
            if width is not None and name in headers and wanted + self._cells_width(NARROW_GAP) > width:
                self._shown.remove(headers.index(name))
                self.omitted.append(name)
        whole = WIDTH if width is None else width
        self.gap = GAP if wanted + self._cells_width(GAP) <= whole else NARROW_GAP
        room = whole - self._cells_width(self.gap)
        self.bars: bool = sum(self.labels) + len(GAP) + BAR <= room
        while sum(self.labels) > room and self.labels != least:
            self.labels[_most_to_give(self.labels, least)] -= 1

    def _cells_width(self, gap: str) -> int:
        """Return the width of the figures, and of all gaps."""
        return sum(self.cells[n] for n in self._shown) + len(gap) * (len(self.labels) + len(self._shown) - 1)

    def line(self, labels: Sequence[str], cells: Sequence[str], share: float = 0.0) -> str:
        """Return one line, with a bar for its share of the largest row."""
        names = [pad(_cut(text, width), width) for text, width in zip(labels, self.labels, strict=True)]
        numbers = [f"{cells[n]:>{self.cells[n]}}" for n in self._shown]
        return self.gap.join([*names, *numbers, bar(share) if self.bars else ""]).rstrip()

    def notes(self) -> Iterator[Styled]:
        """Yield what is left out."""
        if self.omitted:
            yield PLAIN, f"Not shown in this width: {', '.join(self.omitted)}."


def _least_width(name: str, longest: int) -> int:
    """Return to what a column of labels may be cut at most."""
    return min(longest, longest if name in WHOLE else SHORT_ID + len(" …") if name == "session" else MIN_LABEL_WIDTH)


def _most_to_give(widths: Sequence[int], least: Sequence[int]) -> int:
    """Return which of the columns that can still be cut is the widest."""
    return max((n for n, width in enumerate(widths) if width > least[n]), key=lambda n: widths[n])


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
        names = ", ".join("an unknown model" if name == UNKNOWN else name for name in totals.unpriced_models)
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
        whole = money_text(comparison.best_usd, lower_bound=totals.lower_bound)
        others = plural(comparison.other_sessions, "session")
        yield PLAIN, f"Without a report: {others}, {cost} as computed; with the reported cost {whole} in all."


def hidden_note(report: UsageReport) -> str:
    """Return a note on the rows that are left out."""
    cost = sum(best_cost(row.usage) for row in report.hidden)
    return f"Not shown: {plural(len(report.hidden), 'row')}, {money_text(cost)} in all."


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


def bar(share: float, cells: int = BAR) -> str:
    """Return a bar for a share between 0 and 1, as long as so many cells at most."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _weight(usage: Usage) -> float:
    """Return what bars compare: cost, or tokens if there is no cost."""
    known = usage.reported_cost_usd is not None or usage.cost_usd is not None
    return best_cost(usage) if known else min(usage.tokens, LARGEST) / 1e9


def usage_csv(report: UsageReport) -> str:
    """Return the rows as CSV, with a header line."""
    return table_csv([*report.by, *FIGURES], ((row.group, figures(row.usage).values()) for row in report.rows))


def table_csv(header: Sequence[str], rows: Iterable[tuple[Mapping[str, str | None], Iterable[Any]]]) -> str:
    """Return rows, each of them a group and figures, as CSV with a header line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for group, values in rows:
        groups = ["" if name is None else csv_cell(name) for name in group.values()]
        writer.writerow([*groups, *("" if value is None else value for value in values)])
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
