"""Which session wrote each line of a document as an editor has it, and how that is said in an editor.

A document is blamed with the text that the editor has, saved or not, so its lines need not be mapped to those on disk.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.parse import quote

from reread.base.sanitize import plain_text
from reread.base.text import short_cache, short_session
from reread.errors import RereadError
from reread.redaction.scan import text_cleaner
from reread.render.file_listing import evidence_words
from reread.reports.blame_report import BlamedLine, blame

MOST_BYTES = 4 << 20
"""A larger document is not blamed: an editor asks again after each change."""
FRESH_SECONDS = 30.0
"""After so long a document is blamed again although it has not changed: sessions have."""
MOST_LENSES = 200
LENS_LETTERS = 60
_CUT_WORD = re.compile(r"(?<![!-~])[!-~]{16,}+…\Z")
"""The rest of a long word that was cut off: half of a secret is not known as one."""
_MARKDOWN = re.compile(r"([!-/:-@\[-`{-~])")


class Origins(NamedTuple):
    """The lines of a document, or why nothing is known of them."""

    lines: Sequence[BlamedLine] = ()
    problem: str = ""

    def at(self, line: int) -> BlamedLine | None:
        """Return a line, counted from 0, if a session wrote it."""
        found = self.lines[line] if 0 <= line < len(self.lines) else None
        return found if found is not None and found.session else None

    def runs(self) -> list[BlamedLine]:
        """Return the first line of each run of lines that one turn wrote."""
        starts: list[BlamedLine] = []
        before: Sequence[object] = ()
        for line in self.lines:
            place = [line.session, line.turn, line.agent, *evidence_words(line)]
            if line.session and place != before:
                starts.append(line)
            before = place
        return starts[:MOST_LENSES]


class DocumentOrigins:
    """The origins of the documents that are open; safe to ask from several threads."""

    def __init__(self, roots: Sequence[str | Path] | None = None) -> None:
        self._roots = roots
        self._known: dict[str, tuple[str, float, Origins]] = {}
        self._lock = Lock()

    def of(self, path: str, text: str) -> Origins:
        """Return the origins of a document at a path, with the text that the editor has."""
        with self._lock:  # one at a time: each reads the same index
            known = self._known.get(path)
            if known is None or known[0] != text or time.monotonic() - known[1] > FRESH_SECONDS:
                known = self._known[path] = (text, time.monotonic(), self._blame(path, text))
            return known[2]

    def _blame(self, path: str, text: str) -> Origins:
        if len(text) > MOST_BYTES:
            return Origins(problem=f"larger than {MOST_BYTES >> 20} MB")
        try:
            return Origins(blame(path, text=text, root=self._roots))
        except RereadError as error:
            return Origins(problem=str(error))

    def forget(self, path: str) -> None:
        """Forget a document that was closed."""
        with self._lock:
            self._known.pop(path, None)


@short_cache(4096)
def shown_prompt(prompt: str) -> str:
    """Return the beginning of a prompt without secrets: other programs and people see what an editor shows."""
    return _cleaner()(_CUT_WORD.sub("…", prompt))


@lru_cache(maxsize=1)
def _cleaner() -> Callable[[str], str]:
    return text_cleaner(personal=False)


def markdown(text: str) -> str:
    """Return text of a transcript as Markdown that shows it, and in which nothing is a link, a picture or HTML."""
    return _MARKDOWN.sub(r"\\\1", plain_text(text)).replace("\n", "  \n")


def place_text(line: BlamedLine) -> str:
    """Return the session, turn and agent that wrote a line, in words."""
    words = [f"session {short_session(line.session or '')}", f"turn {line.turn}" if line.turn is not None else ""]
    words.append(f"agent {line.agent}" if line.agent else "")
    words += evidence_words(line)
    words.append(f"{line.time.astimezone():%Y-%m-%d %H:%M}" if line.time is not None else "")
    return " · ".join(word for word in words if word)


def hover_text(line: BlamedLine, *, as_markdown: bool = True) -> str:
    """Return what an editor shows for a line: where it was written, and the prompt."""
    prompt = shown_prompt(line.prompt) if line.prompt else "(no prompt is recorded)"
    if not as_markdown:
        return f"{plain_text(place_text(line))}\n\n{plain_text(prompt)}"
    quoted = "\n".join(f"> {row}" for row in markdown(prompt).split("\n"))
    return f"**{markdown(place_text(line))}**\n\n{quoted}"


def lens_text(line: BlamedLine) -> str:
    """Return the line above a run of lines that one turn wrote."""
    said = plain_text(shown_prompt(line.prompt or "").strip().partition("\n")[0])
    short = said if len(said) <= LENS_LETTERS else f"{said[: LENS_LETTERS - 1]}…"
    return f"{plain_text(place_text(line))}: {short}" if short else plain_text(place_text(line))


def reader_place(session: str, agent: str | None, call: str | None, turn: int | None) -> str:
    """Return the part of the reader's address from `#` on."""
    target = f"?call={quote(call, safe='')}" if call else f"?turn={turn}" if turn is not None else ""
    within = f"/a/{quote(agent, safe='')}" if agent else ""
    return f"#/s/{quote(session, safe='')}{within}{target}"
