"""The difference between two places of sessions, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from reread.base.format import duration_text, money_text, number_text, tokens_text
from reread.base.sanitize import safe
from reread.base.text import cell_width, pad, plural, truncate, wrapped
from reread.base.times import seconds_between
from reread.render.file_listing import diff_lines
from reread.render.listings import NAME, PLAIN, QUIET, STRONG, Span
from reread.reports.diff_report import CREATED, DELETED, DiffSide, FileDifference, SessionDiff
from reread.reports.turn_comparison import TurnComparison

COLUMN = 60
UNKNOWN = "not known"
MIN_PATH, COUNTS = 16, 41
"""A path is not made narrower than this; so many columns are for what is known of each file."""
MOST_PARTS = 3
"""So many parts of requests are named."""
ANSWER_LINES = 12
"""So much of an answer is shown on each side."""


def difference_lines(found: SessionDiff, *, stat: bool = False, width: int | None = None) -> Iterator[list[Span]]:
    """Yield the two sides, if there are two, then each file; with `stat`, only how many lines differ."""
    if found.sides is not None:
        yield from side_lines(*found.sides, column=max(24, ((width or 2 * COLUMN + 16) - 16) // 2))
        yield from _compared_files(found.files, width)
    if found.beside is not None:
        yield from _differences(found.beside, width)
    if stat:
        if found.sides is None:
            yield from _stat_lines(found.files)
        return
    for file in found.files:
        if file.hunks:
            yield from diff_lines(file.path, file.hunks, old=file.status != CREATED, new=file.status != DELETED)
            if not file.whole:
                yield [
                    (QUIET, "(partial: the whole text is not known; these are the changes as the client recorded them)")
                ]


def side_lines(one: DiffSide, other: DiffSide, *, column: int) -> Iterator[list[Span]]:
    """Yield the figures of two sides beside each other."""
    rows = [
        ("", *(f"{side.session[:8]} path {side.branch}" for side in (one, other))),
        ("title", one.title, other.title),
        ("turns", str(one.turns), str(other.turns)),
        ("calls", *(_calls(side) for side in (one, other))),
        ("tokens", *(tokens_text(side.tokens) if side.tokens is not None else UNKNOWN for side in (one, other))),
        ("cost", _cost(one), _cost(other)),
        ("time", *(duration_text(seconds_between(side.started, side.ended)) for side in (one, other))),
        ("models", ", ".join(one.models), ", ".join(other.models)),
    ]
    for label, left, right in rows:
        style = NAME if not label else PLAIN
        yield [(QUIET, f"{label:8}"), (style, _cell(left, column)), (style, f"  {truncate(safe(right), column)}")]
    answers = [[truncate(safe(line), column) for line in _wrapped(side.answer, column)] for side in (one, other)]
    for number in range(min(ANSWER_LINES, max(map(len, answers)))):
        left, right = (answer[number] if number < len(answer) else "" for answer in answers)
        yield [(QUIET, f"{'answer' if not number else '':8}"), (PLAIN, f"{pad(left, column)}  {right}")]


def _differences(found: TurnComparison, width: int | None) -> Iterator[list[Span]]:
    """Yield where two sessions part, and what differs in their requests."""
    where = f"first in {found.first}" if found.first else "nothing that was said or called"
    different = sum(bool(turn.differences) for turn in found.turns)
    lines = [where, f"{plural(found.differences, 'difference')} in {different} of {len(found.turns)} turns"]
    if found.requests:
        parts = ", ".join(part.words for part in found.parts[:MOST_PARTS])
        more = f", and {len(found.parts) - MOST_PARTS} more" if len(found.parts) > MOST_PARTS else ""
        named = f": {parts}{more}" if parts else ""
        lines.append(f"{found.different_requests} of {found.requests} requests differ{named}")
    for number, line in enumerate(lines):
        room = (width or 2 * COLUMN + 16) - 8
        yield [(QUIET, f"{'differs' if not number else '':8}"), (PLAIN, truncate(safe(line), room))]


def _cost(side: DiffSide) -> str:
    if side.tokens is None:
        return UNKNOWN
    return money_text(side.cost_usd) if side.cost_usd is not None else "no price"


def _calls(side: DiffSide) -> str:
    failed = f", {side.failed} failed" if side.failed else ""
    agents = f", {plural(side.agents, 'agent')}" if side.agents else ""
    return f"{number_text(side.calls)}{failed}{agents}"


def _cell(text: str, column: int) -> str:
    return pad(truncate(safe(" ".join(text.split())), column), column)


def _wrapped(text: str, column: int) -> list[str]:
    """Return a text in lines that fit a column."""
    lines = (" ".join(line.split()) for line in text.strip().split("\n")[:ANSWER_LINES])
    return [part for line in lines for part in wrapped(line, column)]


def _compared_files(files: list[FileDifference], width: int | None) -> Iterator[list[Span]]:
    if not files:
        return
    names = max(cell_width(safe(file.path)) for file in files)
    names = names if width is None else max(MIN_PATH, min(names, width - COUNTS))
    yield [(STRONG, "files")]
    for file in files:
        sides = [f"+{side[0]} −{side[1]}" if side else "not changed" for side in (file.left, file.right)]
        facts = (
            "same text"
            if file.whole and not file.hunks
            else ""
            if file.whole or not (file.left and file.right)
            else "partial"
        )
        yield [
            (NAME, f"  {pad(truncate(safe(file.path), names, keep_end=True), names)}"),
            (PLAIN, f"  {sides[0]:12}  {sides[1]:12}"),
            (QUIET, f"  {facts}"),
        ]


def _stat_lines(files: list[FileDifference]) -> Iterator[list[Span]]:
    width = max((cell_width(safe(file.path)) for file in files), default=0)
    for file in files:
        facts = "" if file.whole else " · partial"
        yield [
            (NAME, pad(safe(file.path), width)),
            ("added", f"  +{file.added}"),
            ("removed", f" −{file.removed}"),
            (QUIET, f"  {file.status}{facts}"),
        ]
