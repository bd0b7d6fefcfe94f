"""The lines that each version of a file changed, as numbers: small enough to keep for every session."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b

import msgspec

from reread.base.alignment import EQUAL, steps
from reread.history.versions import RENAME, FileHistory, FileVersion

MAX_PAIRS = 1_000_000
"""Pairs of lines that are still compared; a larger difference replaces all old lines with all new ones."""

Lines = Sequence[int]
"""A number for each line of a text: equal lines have the same."""


class LineChange(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Lines that replace others."""

    start: int
    removed: int
    added: bytes
    """The numbers of the new lines."""


class TracedVersion(msgspec.Struct, frozen=True, array_like=True):
    """A version as its lines."""

    own: bool
    call: str | None
    agent: str | None
    turn: int | None
    prompt: str
    """The beginning of the prompt of its turn."""
    time: int
    """In milliseconds since 1970; 0 if unknown."""
    before: bytes | None
    """A hash of the text before; None if that is not known."""
    after: bytes | None
    """A hash of the text after; None if that is not known."""
    changes: list[LineChange]
    """The lines that it changed; of a version whose text is not known, those that it added."""
    base: bytes | None = None
    """The lines before it, if they are not the ones after the version before."""
    origin: str | None = None
    """The path that the file was renamed from."""


PromptOf = Callable[[FileVersion], str]


def trace_lines(history: FileHistory, prompt_of: PromptOf) -> list[TracedVersion]:
    """Return the versions of a file as their lines."""
    return list(_traced(history, prompt_of))


def _traced(history: FileHistory, prompt_of: PromptOf) -> Iterator[TracedVersion]:
    known: bytes | None = None
    numbering = _LineNumbering()
    for version in history.versions:
        before_text, after_text = version.before, version.after
        before = numbering.number(before_text.text if before_text is not None else "") if version.before_known else None
        before_hash = None if before is None else hash_lines(before)
        after_hash, changes = None, list[LineChange]()
        if version.whole:
            after = numbering.number(after_text.text if after_text is not None else "")
            after_hash = hash_lines(after)
            changes = line_changes(before if before is not None else array("Q"), after)
        else:
            added = [line[1:] for hunk in version.hunks for line in hunk.lines if line.startswith("+")]
            changes = [LineChange(0, 0, line_numbers("\n".join(added)).tobytes())] if added else []
        yield TracedVersion(
            own=version.own,
            call=version.call.id if version.call is not None and version.own else None,
            agent=version.agent,
            turn=version.turn,
            prompt=prompt_of(version),
            time=int(version.time.timestamp() * 1000) if version.time is not None else 0,
            before=before_hash,
            after=after_hash,
            changes=changes,
            base=before.tobytes() if before is not None and before_hash != known else None,
            origin=version.other if version.action == RENAME and not version.gone else None,
        )
        known = after_hash


class _LineNumbering(dict[bytes, int]):
    """Numbers the lines of a file's versions: nearly all are those of the version before, and so is the text before."""

    def __init__(self) -> None:
        self._text, self._numbers = "", array("Q")

    def __missing__(self, line: bytes) -> int:
        number = self[line] = gist_number(line) << 32 | zlib.crc32(line)
        return number

    def number(self, text: str) -> array[int]:
        """Return a number for each line of a text."""
        if text != self._text:
            lines = text.encode("utf-8", "surrogatepass").split(b"\n")
            if not lines[-1]:
                lines.pop()
            self._text, self._numbers = text, array("Q", [self[line] for line in lines])
        return self._numbers


def line_numbers(text: str) -> array[int]:
    """Return a number for each line of a text."""
    return _LineNumbering().number(text)


def gist_number(line: bytes) -> int:
    """Return the upper half of the number of a line: the same for lines that only a formatter tells apart."""
    return zlib.crc32(line.translate(None, UNSAID))


UNSAID = b" \t\r\v\f'\"`,;()"
"""Bytes that a formatter adds, removes or changes."""


def hash_lines(lines: array[int]) -> bytes:
    """Return a hash of all lines."""
    return blake2b(lines.tobytes(), digest_size=8).digest()


def line_changes(before: Lines, after: Lines) -> list[LineChange]:
    """Return what leads from some lines to others, the last change first."""
    return [
        LineChange(start, end - start, array("Q", after[new_start:new_end]).tobytes())
        for start, end, new_start, new_end in reversed(differing_ranges(before, after))
    ]


def differing_ranges(before: Lines, after: Lines) -> list[tuple[int, int, int, int]]:
    """Return the ranges in which two sequences of lines differ, in order."""
    return [(a, b, c, d) for tag, a, b, c, d in steps(before, after, MAX_PAIRS) if tag != EQUAL]
