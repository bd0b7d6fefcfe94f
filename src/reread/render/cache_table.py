"""Cache breaks as a table and as CSV, as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from msgspec.structs import astuple

from reread.base.choices import CacheBreakCause
from reread.base.format import money_text, tokens_text
from reread.base.shell_words import quote_command
from reread.base.text import plural
from reread.render.format import CAUSES
from reread.render.sanitize import safe_line
from reread.render.usage_table import LOUD, PLAIN, Styled, label, table_csv, table_lines, wrapped_notes
from reread.reports.cache_figures import CacheFigures
from reread.reports.cache_report import CacheReport

HEADERS = ("breaks", "rewritten", "share", "cost")
FIGURES = CacheFigures.__struct_fields__


def cache_lines(
    report: CacheReport, *, width: int | None = None, titles: Mapping[str, str] | None = None
) -> Iterator[Styled]:
    """Yield the table, its totals and what they say in words."""
    rows = [
        ([_label(name, row.group[name], titles) for name in report.by], _figures(row.figures), row.figures.tokens)
        for row in report.rows
    ]
    yield from table_lines(report.by, HEADERS, rows, _figures(report.totals), width)
    yield from wrapped_notes(_notes(report), width)


def _notes(report: CacheReport) -> Iterator[Styled]:
    written = f"{tokens_text(report.cache_write_tokens)} tokens"
    yield PLAIN, f"Of {written} written to the cache. Cost is what writing cost more than reading; copies count once."
    if report.hidden:
        yield PLAIN, f"Not shown: {plural(len(report.hidden), 'row')}."
    if any(place.cache_break.cost_usd is None for place in report.breaks):
        yield LOUD, "Some models have no price: their tokens are counted, their cost is not."
    if report.unread:
        yield LOUD, safe_line(f"Cannot read {', '.join(report.unread)}: not included; run `reread check` on it.")


def _label(name: str, value: str | None, titles: Mapping[str, str] | None) -> str:
    return CAUSES[cast(CacheBreakCause, value)] if name == "cause" else label(name, value, titles)


def _figures(figures: CacheFigures) -> list[str]:
    share = f"{figures.share:.0%}".replace("%", " %")
    cost = "?" if figures.cost_usd is None else money_text(figures.cost_usd)
    return [f"{figures.breaks:,}", tokens_text(figures.tokens), share, cost]


def cache_note(figures: CacheFigures, command: Sequence[str] = ("reread", "usage")) -> str:
    """Return how much was written to the cache again, and the command to see more, as one sentence."""
    share = f"{figures.share:.0%}".replace("%", " %")
    cost = f", {money_text(figures.cost_usd)} more than reading it" if figures.cost_usd is not None else ""
    breaks = plural(figures.breaks, "cache break")
    tokens = tokens_text(figures.tokens)
    see = quote_command([*command, "--by", "cache"])
    return f"{breaks}: {tokens} tokens written again ({share} of cache writes){cost}; see `{see}`."


def cache_csv(report: CacheReport) -> str:
    """Return the rows as CSV, with a header line."""
    return table_csv([*report.by, *FIGURES], ((row.group, astuple(row.figures)) for row in report.rows))
