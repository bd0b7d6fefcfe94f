"""Compare a change with the patch that the client recorded, and apply such a patch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from reread.base.coerce import as_dict, as_int, as_list
from reread.history.file_text import BOM

NO_NEWLINE = "\\"
_INDENT = re.compile(r"^\t+", re.MULTILINE)


class PatchHunk(NamedTuple):
    """One hunk: where it starts in the old text, and its lines with their prefixes."""

    start: int
    lines: list[str]


def hunks_of(patch: Any) -> list[PatchHunk]:
    """Return the hunks of a recorded patch that have lines."""
    found: list[PatchHunk] = []
    for part in map(as_dict, as_list(patch)):
        lines = [line for line in as_list(part.get("lines")) if isinstance(line, str)]
        if lines:
            found.append(PatchHunk(as_int(part.get("oldStart")) or 0, lines))
    return found


def line_counts(patch: Any) -> tuple[int, int]:
    """Return how many lines a recorded patch adds and removes."""
    return changed_lines([line for hunk in hunks_of(patch) for line in hunk.lines])


def changed_lines(lines: Sequence[str]) -> tuple[int, int]:
    """Return how many lines of a patch's hunks are added and removed ones."""
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def fits(hunks: list[PatchHunk], before: str, after: str) -> bool:
    """True if a recorded patch leads from one text to the other; lines in it begin with blanks instead of tabs."""
    patched = patched_lines(hunks, _without_tabs(before), without_tabs=True)
    return patched is not None and patched == _lines(_without_tabs(after).split("\n"))


def apply_patch(hunks: list[PatchHunk], before: str) -> str | None:
    """Return the text after a recorded patch; None if it does not fit, or may have lost tabs or the last newline."""
    if not hunks or any(
        line[1:2] in " \t" and line[0] == "+" and len(line) > 1 for hunk in hunks for line in hunk.lines
    ):
        return None  # an added line that begins with blanks may begin with tabs
    if any(line.startswith(NO_NEWLINE) for hunk in hunks for line in hunk.lines) or not before.endswith("\n"):
        return None
    patched = patched_lines(hunks, before, without_tabs=False)
    return "".join(f"{line}\n" for line in patched) if patched else None


def patched_lines(hunks: list[PatchHunk], before: str, *, without_tabs: bool) -> list[str] | None:
    """Return the lines after a patch; None if the lines that it expects are not there."""
    old = _lines(before.split("\n"))
    out: list[str] = []
    place = 0
    for hunk in hunks:
        expects = any(line[:1] in " -" for line in hunk.lines)
        start = max(hunk.start - 1, 0) if expects else min(hunk.start, len(old))
        if start < place or start > len(old):
            return None
        out += old[place:start]
        place = start
        for kind, line in _rows(hunk, without_tabs):
            if kind == "+":
                out.append(line)
                continue
            if place >= len(old) or old[place] != line:
                return None
            if kind == " ":
                out.append(line)
            place += 1
    return [*out, *old[place:]]


def _rows(hunk: PatchHunk, without_tabs: bool) -> Iterator[tuple[str, str]]:
    for line in hunk.lines:
        kind, rest = line[:1], line[1:].removeprefix(BOM)
        if kind in ("+", "-", " "):
            yield kind, _without_tabs(rest) if without_tabs else rest


def _without_tabs(text: str) -> str:
    return _INDENT.sub(lambda found: "  " * len(found[0]), text) if "\t" in text else text


def _lines(lines: list[str]) -> list[str]:
    return lines[:-1] if lines and not lines[-1] else lines
