"""Patches: those that the client recorded of its edits, and those of the Codex CLI, in a call or a shell command.

https://github.com/openai/codex/tree/main/codex-rs/apply-patch
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from reread.base.coerce import as_dict, as_int, as_list, as_str
from reread.base.paths import absolute_path
from reread.history.file_text import BOM
from reread.tools.patch import BEGIN, END, PatchedFile, patched_files

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


APPLY_PATCH = "apply_patch"
APPLIED_TEXT = "Success. Updated the following files:"
"""The line printed once a patch is applied, also if a later part of the command fails."""
_PLACE = re.compile(r"(?:^|[;&|\n]) *cd +(?:'([^'\n]+)'|\"([^\"$`\n]+)\"|([^\s;&|'\"$`]+)) *(?:&&|;|\n)")
_READS = frozenset("cat cd cut echo grep head ls nl pwd rg stat tail true wc which".split())
_GIT_READS = frozenset("blame diff log ls-files rev-parse show status".split())
_UNPLAIN = re.compile(r"[<>`]|\$\(")
_SEPARATORS = re.compile(r"[;|&\n]+")
_PRINTS = re.compile(r"'?\d*+(?:,\d*+)?p'?")
"""A script of sed that prints lines."""


class CallPatch(NamedTuple):
    """A patch, and the folder in which it was applied."""

    text: str
    folder: str | None
    alone: bool = True
    """True if nothing else in the same command changes files."""

    @property
    def files(self) -> list[PatchedFile]:
        """The changes to each file."""
        return patched_files(self.text)


def call_patch(name: str, given: dict[str, Any], folder: str | None = None) -> CallPatch | None:
    """Return the patch in the input of a call; None if it has none."""
    if name == APPLY_PATCH:
        return CallPatch(as_str(given.get("patch")) or "", folder)
    command = as_str(given.get("command")) or ""
    return _command_patch(command, folder) if APPLY_PATCH in command else None


def _command_patch(command: str, folder: str | None) -> CallPatch | None:
    """Return the patch in a shell command: behind `apply_patch`, maybe after a change of the folder."""
    before, _, rest = command.partition(APPLY_PATCH)
    start = rest.find(BEGIN)
    end = rest.find(END, start)
    if start < 0 or end < 0:
        return None
    for found in _PLACE.finditer(before):
        folder = absolute_path(found[1] or found[2] or found[3], folder)
    after = rest[end + len(END) :].strip().partition("\n")[2]  # behind the word that ends the patch
    return CallPatch(rest[start : end + len(END)], folder, only_reads(before) and only_reads(after))


def only_reads(command: str) -> bool:
    """True if a command changes no file: each of its parts is a program that only reads, with no redirection."""
    if _UNPLAIN.search(command):
        return False
    parts = map(str.split, _SEPARATORS.split(command))
    return all(_reads(words) for words in parts if words)


def _reads(words: list[str]) -> bool:
    name, *rest = words
    if name == "git":
        return bool(rest) and rest[0] in _GIT_READS and not any(word.startswith("--output") for word in rest)
    if name == "sed":
        return rest[:1] == ["-n"] and len(rest) > 1 and bool(_PRINTS.fullmatch(rest[1])) and len(rest) <= 3
    return name in _READS


def added_text(file: PatchedFile) -> str:
    """Return the text of a file that a patch adds."""
    return "".join(f"{line[1:]}\n" for chunk in file.chunks for line in chunk.lines if line.startswith("+"))


def patched_text(file: PatchedFile, before: str) -> str | None:
    """Return the text of a file after a patch changed it; None if its lines are not there exactly as written.

    Lines are searched for as the client does; it also finds lines that differ in blanks, and then what it wrote is
    not certain.
    """
    text = f"\n{before}" if before.endswith("\n") or not before else f"\n{before}\n"
    out: list[str] = []
    done = place = 0
    for chunk in file.chunks:
        if chunk.context:
            above = text.find(_whole([chunk.context]), place)
            if above < 0:
                return None
            place = above + 1 + len(chunk.context)
        if not chunk.lines:
            continue
        old, new = (_whole([line[1:] for line in chunk.lines if line[0] != mark]) for mark in "+-")
        start = _find(text, old, place, at_end=chunk.at_end)
        if start < 0 and old.endswith("\n\n"):  # an empty line at the end may be no part of the file
            old, new = old[:-1], new[:-1] if new.endswith("\n\n") else new
            start = _find(text, old, place, at_end=chunk.at_end)
        if start < done:
            return None
        out += [text[done:start], new[:-1]]
        done = place = start + len(old) - 1
    return ("".join(out) + text[done:])[1:]


def _whole(lines: list[str]) -> str:
    """Return lines as they stand in a text, with the end of the line before them."""
    return "".join(f"\n{line}" for line in lines) + "\n"


def _find(text: str, old: str, place: int, *, at_end: bool) -> int:
    """Return where lines are in a text, from a place on; -1 if nowhere. No lines are at its end."""
    last = len(text) - len(old)
    if old == "\n" or (at_end and last >= place and text.endswith(old)):
        return last
    return text.find(old, place)
