"""Search results as lines of styled text, grouped by session."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reread.base.format import date_text, number_text
from reread.base.sanitize import plain_output
from reread.base.shell_words import quote_command
from reread.base.text import cell_width, plural, truncate
from reread.index.find import Hits
from reread.index.hits import Hit, group_by_session
from reread.index.matching import AROUND
from reread.render.listings import PLAIN, QUIET, STRONG, Span

if TYPE_CHECKING:
    from reread.index.search_process import SearchReply

MATCH = "match"
INDENT, DEEP = "  ", "    "
MIN_PROJECT, MIN_FILE = 16, 8
"""A project beside a title, and a file beside other facts, is not made narrower than this."""
LONGEST_WORD = 32
"""A cut falls within words that have more characters."""


def result_lines(
    hits: Sequence[Hit],
    found: Hits | SearchReply,
    *,
    command: Sequence[str] = ("reread",),
    ids: Mapping[str, str] | None = None,
    width: int | None = None,
) -> Iterator[list[Span]]:
    """Yield the lines of search results; without a width nothing is cut.

    `command` is how reread was called, and `ids` has shorter ids to type. The command that shows the first hit of a
    session is printed once, whole, so that it can be copied.
    """
    groups = group_by_session(hits)
    for group in groups.values():
        first = group[0]
        read_on = read_command(first, command, (ids or {}).get(first.session, first.session))
        yield [*_pair(STRONG, _line(first.title), _line(first.project), INDENT, MIN_PROJECT, width)]
        yield [(QUIET, INDENT + quote_command(read_on))]
        for hit in group:
            yield [*_facts(hit, width)]
            yield [(PLAIN, DEEP), *_snippet(hit, width and width - len(DEEP))]
        yield []
    yield [(QUIET, result_count(found, len(hits)))]


def _facts(hit: Hit, width: int | None) -> Iterator[Span]:
    """Yield when, where and in what a hit is; its file within the project, if there is little room."""
    branch = f", path {hit.branch}" if hit.branch is not None else ""
    facts = [
        date_text(hit.time),
        f"turn {hit.turn}{branch}" if hit.turn is not None else "",
        " ".join(part for part in (hit.tool, hit.kind) if part),
        f"agent {hit.agent}" if hit.agent else "",
        "dropped" if hit.dropped else "",
        f"also in {plural(hit.copies, 'other session')}" if hit.copies else "",
    ]
    known = INDENT + _line(" · ".join(fact for fact in facts if fact))
    file = hit.file or ""
    yield from _pair(PLAIN, known, _line(file if width is None else _within(hit.project, file)), " · ", MIN_FILE, width)


def _within(project: str, path: str) -> str:
    """Return a path in a project without the path of the project."""
    inner = path.removeprefix(project)
    return inner[1:] if project and inner != path and inner[:1] in ("/", "\\") else path


def _pair(style: str, text: str, path: str, between: str, least: int, width: int | None) -> Iterator[Span]:
    """Yield a text and a path; if there is little room, the end of the path, then the beginning of the text."""
    if width is not None:
        path = truncate(path, max(least, width - cell_width(text) - cell_width(between)), keep_end=True)
        text = _whole_words(text, width - cell_width(path) - cell_width(between) if path else width, more=False)
    yield style, text
    yield QUIET, between + path if path else ""


def _snippet(hit: Hit, room: int | None) -> Iterator[Span]:
    """Yield the match and as much of the text around it as there is room for, in whole words."""
    before, match, after = _line(hit.before), _line(hit.match), _line(hit.after)
    more = _is_cut(hit.before, hit.before[:1]), _is_cut(hit.after, hit.after[-1:])
    if not match:
        before, after = "", before + after
    if room is None:
        before, after = f"…{before.lstrip()}" if more[0] else before, f"{after.rstrip()}…" if more[1] else after
    else:
        match = truncate(match, room)
        left = room - cell_width(match)
        for_before = max(left // 2, left - cell_width(after))
        before = _whole_words(before[::-1], for_before, more=more[0])[::-1]
        after = _whole_words(after, left - cell_width(before), more=more[1])
    words = {text for start, end in hit.marks if (text := (hit.before + hit.match + hit.after)[start:end]) != hit.match}
    marked = re.compile("|".join(map(re.escape, sorted({*words, hit.match} - {""}, key=len, reverse=True))) or r"(?!)")
    yield from _marked(before, marked)
    yield MATCH, match
    yield from _marked(after, marked)


def _is_cut(text: str, edge: str) -> bool:
    """True if there is more text beyond the edge of what is known of it."""
    return edge.isspace() or len(text) >= AROUND


def _marked(text: str, words: re.Pattern[str]) -> Iterator[Span]:
    """Yield a text with some words marked."""
    at = 0
    for found in words.finditer(text):
        yield PLAIN, text[at : found.start()]
        yield MATCH, found[0]
        at = found.end()
    yield PLAIN, text[at:]


def _whole_words(text: str, width: int, *, more: bool) -> str:
    """Return as many words of a text as fit, with an ellipsis if there are more; it may end within a long word."""
    if width <= 0 or (cell_width(text) <= width and not more):
        return text if width > 0 else ""
    kept = truncate(text, width - 1, ellipsis="")
    space = kept.rfind(" ")
    if space >= 0 and len(kept) - space <= LONGEST_WORD and not text[len(kept) :].startswith(" "):
        kept = kept[:space]
    return f"{kept.rstrip()}…"


def result_count(found: Hits | SearchReply, shown: int) -> str:
    """Say how many texts match in how many sessions; how many sessions, if some have only some of the words."""
    total = plural(found.total, "match")
    if found.with_all == found.total and not found.words:  # fields alone list sessions
        return plural(found.total, "session") + (f"; {number_text(shown)} shown" if shown < found.total else "")
    if found.with_some and not found.with_all:
        return f"No session has all words near each other; {plural(found.with_some, 'session')} with some"
    if found.with_some:
        sessions = f"{plural(found.with_all, 'session')} with all words, {number_text(found.with_some)} with some"
        return f"{sessions}; {plural(shown, 'match')} shown"
    sessions = f" in {plural(found.with_all, 'session')}" if found.with_all else ""
    return f"{total}{sessions}" + (f"; {number_text(shown)} shown" if shown < found.total else "")


def read_command(hit: Hit, command: Sequence[str], id: str) -> list[str]:
    """Return the command that shows the turn of a hit in the session with this id."""
    path = f"@{hit.branch}" if hit.branch is not None else ""
    turn = f":{hit.turn}" if hit.turn is not None else ""
    option = ["--"] if id.startswith("-") else []  # it would be taken for one
    return [*command, "show", *option, f"{id}{path}{turn}"]


def _line(text: str) -> str:
    """Return a text as one safe line; spaces at its ends are kept."""
    line = " ".join(plain_output(text).split())
    if not line:
        return " " * bool(text)
    return f"{' ' * text[0].isspace()}{line}{' ' * text[-1].isspace()}"
