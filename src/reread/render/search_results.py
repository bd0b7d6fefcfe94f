"""Search results as lines of text, grouped by session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reread.base.format import date_text, number_text
from reread.base.text import plural, truncate
from reread.index.hits import Hit, group_by_session
from reread.recording.resume_command import quote_command
from reread.render.sanitize import plain_output

TITLE = 80
AROUND = 60
"""How many characters of context are printed on each side of a match."""
MATCH = 120


class StyledText(msgspec.Struct, frozen=True):
    """A piece of a line, and how it is shown: plain, strong (titles), match or quiet."""

    text: str
    style: str = "plain"


StyledLine = list[StyledText]


def result_lines(
    hits: Sequence[Hit], total: int, *, command: Sequence[str] = ("reread",), ids: Mapping[str, str] | None = None
) -> Iterator[StyledLine]:
    """Yield the lines of search results; `command` is how reread was called, and `ids` has shorter ids to type."""
    groups = group_by_session(hits)
    for group in groups.values():
        first = group[0]
        title = truncate(_line(first.title), TITLE)
        yield [StyledText(title, "strong"), StyledText(f"  {_line(first.project)}", "quiet")]
        for hit in group:
            yield from _hit_lines(hit, command, (ids or {}).get(hit.session, hit.session))
        yield []
    shown = f", {number_text(len(hits))} shown" if len(hits) < total else ""
    sessions = f" in {plural(len(groups), 'session')}" if not shown else ""
    yield [StyledText(f"{plural(total, 'match')}{sessions}{shown}", "quiet")]


def _hit_lines(hit: Hit, command: Sequence[str], id: str) -> Iterator[StyledLine]:
    name = " ".join(part for part in (hit.tool, hit.kind) if part)
    facts = [date_text(hit.time), name, hit.file or "", f"agent {hit.agent}" if hit.agent else ""]
    yield [
        StyledText("  " + _line(" · ".join(fact for fact in facts if fact))),
        StyledText(f"  {quote_command(read_command(hit, command, id))}", "quiet"),
    ]
    before, after = _line(hit.before[-AROUND:]), _line(hit.after[:AROUND])
    match = truncate(_line(hit.match), MATCH)
    yield [StyledText(f"      {before}"), StyledText(match, "match"), StyledText(after)]


def read_command(hit: Hit, command: Sequence[str], id: str) -> list[str]:
    """Return the command that shows the turn of a hit in the session with this id."""
    turns = ["--turns", str(hit.turn)] if hit.turn is not None else []
    branch = ["--branch", str(hit.branch)] if hit.branch is not None else []
    if id.startswith("-"):  # it would be taken for an option
        return [*command, "show", *turns, *branch, "--", id]
    return [*command, "show", id, *turns, *branch]


def _line(text: str) -> str:
    """Return a text as one safe line; spaces at its ends are kept."""
    line = " ".join(plain_output(text).split())
    if not line:
        return " " * bool(text)
    return f"{' ' * text[0].isspace()}{line}{' ' * text[-1].isspace()}"
