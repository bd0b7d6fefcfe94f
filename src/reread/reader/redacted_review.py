"""A review without secrets and personal details: its texts are scanned and decided about as those of a session."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from reread.attribution.review_values import Review
from reread.attribution.reviewing import find_review
from reread.base import jsontext
from reread.base.coerce import as_dict, as_list
from reread.errors import Undecided
from reread.git.repository import MOST_COMMITS
from reread.reader.redacted_export import Redaction
from reread.reports.file_index import Progress
from reread.session.session import open as open_session

TEXTS = ("subject", "prompt", "dropped", "undoing", "command", "path", "old_path", "branch", "repository", "deleted")
"""The fields of a review that have words of people and names of files; all others are ids, times and numbers."""
LONGEST_PROMPT = 2000
"""Characters of a prompt in a review; it is cut after it was scanned."""
Change = Callable[[str], str]
LINES = "lines"
"""The field with ranges of lines, which are many and have no texts."""


class ReviewRedaction(Redaction):
    """A review that is to be shared: what was found in its texts, and what was decided."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._texts: dict[str, str] = {}
        _changed(msgspec.to_builtins(review), self._note)
        super().__init__(open_session(_as_session(list(self._texts))))

    def _note(self, text: str) -> str:
        return self._texts.setdefault(text, text)

    def redacted_review(self) -> Review:
        """Return the review without what is replaced; raise Undecided if somebody has to decide about something."""
        self.require_decisions()
        texts = list(self._texts)
        cleaned = dict(zip(texts, self.clean_texts(texts), strict=True))
        value = _changed(msgspec.to_builtins(self._review), cleaned.__getitem__)
        texts = jsontext.dumps(list(cleaned.values()))
        if kinds := self.left_in([texts]):
            raise Undecided(f"The review still contains {', '.join(kinds)}; nothing was written. Please report this.")
        return msgspec.convert({**value, "redacted": True, "unread": []}, Review)

    def document(self, text: str) -> bytes:
        """Return a finished document in which nothing is left; it is scanned once more."""
        document = text.encode("utf-8", "replace")
        return self.cleaned(document) if self.left_in([document]) else document


def review(
    which: str | None = None,
    *,
    pr: int | None = None,
    repository: str | os.PathLike[str] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    redact: bool = True,
    replace_likely: bool = False,
    most: int = MOST_COMMITS,
    progress: Progress | None = None,
) -> Review:
    """Return the commits of a range `A..B`, of a branch or of a pull request, with the turns that wrote their lines.

    Secrets and personal details in its texts are replaced; Undecided is raised as long as somebody has to decide about
    a likely one, unless `replace_likely` replaces them all. `redact=False` leaves the texts as they are.
    """
    found = find_review(which, pr=pr, repository=repository, root=root, most=most, progress=progress)
    if not redact:
        return with_short_prompts(found)
    redaction = ReviewRedaction(found)
    if replace_likely:
        redaction.replace_undecided()
    return with_short_prompts(redaction.redacted_review())


def with_short_prompts(found: Review) -> Review:
    """Return a review with its prompts cut to the length that is shown."""

    def cut(text: str) -> str:
        return text if len(text) <= LONGEST_PROMPT else f"{text[: LONGEST_PROMPT - 1]}…"

    return msgspec.convert(_changed(msgspec.to_builtins(found), cut), Review)


def _changed(value: Any, change: Change, name: str = "") -> Any:
    """Return the value of a review with each of its texts changed."""
    if isinstance(value, str):
        return change(value) if name in TEXTS else value
    if isinstance(value, list):
        return as_list(value) if name == LINES else [_changed(one, change, name) for one in as_list(value)]
    return (
        {key: _changed(one, change, key) for key, one in as_dict(value).items()} if isinstance(value, dict) else value
    )


def _as_session(texts: Sequence[str]) -> bytes:
    """Return texts as the prompts of a session, which the redaction can read."""
    lines = [
        {"type": "user", "uuid": f"t{number}", "sessionId": "review", "message": {"role": "user", "content": text}}
        for number, text in enumerate(texts)
    ]
    return b"".join(jsontext.dumps(line) + b"\n" for line in lines) or b"\n"
