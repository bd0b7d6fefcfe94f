"""Advice as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from reread.base.format import money_text, tokens_text
from reread.base.sanitize import safe_line
from reread.base.text import SHORT_ID, one_line, plural, wrapped
from reread.render.text_table import PLAIN, STRONG, Styled
from reread.reports.advice_report import Advice, AdviceReport

TITLE = 50


def advice_lines(report: AdviceReport, *, width: int | None = None) -> Iterator[Styled]:
    """Yield each advice with what it cost, its evidence and the command to see more."""
    for item in report.items:
        for line in wrapped(safe_line(advice_text(item)), width):
            yield STRONG, line
        if item.kind in ("unused_tools", "unused_skills"):
            yield from ((PLAIN, f"  {line}") for line in wrapped(safe_line(item.subject), width and width - 2))
        if item.project:
            yield PLAIN, safe_line(f"  in {item.project}")
        for place in item.places:
            yield PLAIN, safe_line(f"  {place.session[:SHORT_ID]} {one_line(place.title, TITLE)}: {place.command}")
        yield PLAIN, safe_line(f"  all: {item.command}")
        yield PLAIN, ""
    yield PLAIN, f"From {plural(report.sessions, 'session')}; `--json` has all of it."


def advice_text(item: Advice) -> str:
    """Return what was seen, with the tokens and the cost, in one sentence."""
    words: list[str] = []
    if item.kind.startswith("unused"):
        each = f"about {tokens_text(item.tokens)} tokens in each request" if item.tokens is not None else ""
        words = [each, f"{money_text(item.cost_usd)} in all" if item.cost_usd is not None else ""]
        words = [word for word in words if word] or ["what it costs is not recorded"]
    elif item.tokens is not None:
        words = [f"{tokens_text(item.tokens)} tokens written again"]
        words += [f"{money_text(item.cost_usd)} more than reading them"] if item.cost_usd is not None else []
    return f"{item.text}{': ' if words else ''}{', '.join(words)}."
