"""A review without secrets and personal details: its texts are scanned and decided about as those of a session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from reread.attribution.review_values import Review, ReviewCommit, ReviewTurn
from reread.attribution.reviewing import find_review
from reread.base import jsontext
from reread.errors import Undecided
from reread.facts.sessions import Progress
from reread.git.repository import MOST_COMMITS
from reread.reader.redacted_export import Redaction
from reread.redaction.session_context import values_in_context
from reread.session.session import open as open_session

LONGEST_PROMPT = 2000
"""Characters of a prompt in a review; it is cut after it was scanned."""
Change = Callable[[str], str]


class ReviewRedaction(Redaction):
    """A review that is to be shared: what was found in its texts, and what was decided."""

    def __init__(self, review: Review, sessions: Iterable[str] = ()) -> None:
        """Scan the texts of a review, also for what the files of its sessions call a secret elsewhere."""
        self._review = review
        self._texts: dict[str, str] = {}
        with_texts(review, self._note)
        super().__init__(open_session(_as_session(list(self._texts))))
        self._redactor.ask_about(values_in_context(list(self._texts), sessions), "(a session of the review)")

    def _note(self, text: str) -> str:
        return self._texts.setdefault(text, text)

    def redacted_review(self) -> Review:
        """Return the review without what is replaced; raise Undecided if somebody has to decide about something."""
        self.require_decisions()
        texts = list(self._texts)
        cleaned = dict(zip(texts, self.clean_texts(texts), strict=True))
        if kinds := self.left_in([jsontext.dumps(list(cleaned.values()))]):
            raise Undecided(f"The review still contains {', '.join(kinds)}; nothing was written. Please report this.")
        return replace(with_texts(self._review, cleaned.__getitem__), redacted=True, unread=[])

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
    `repository` is a folder of the repository, by default the working directory, and `pr` the number of a pull request.
    Of more than `most` commits, the newest are reviewed.
    """
    sessions: list[str] = []
    found = find_review(which, pr=pr, repository=repository, root=root, most=most, progress=progress, sessions=sessions)
    if not redact:
        return with_short_prompts(found)
    redaction = ReviewRedaction(found, sessions)
    if replace_likely:
        redaction.replace_undecided()
    return with_short_prompts(redaction.redacted_review())


def with_short_prompts(found: Review) -> Review:
    """Return a review with its prompts cut to the length that is shown."""

    def cut(text: str) -> str:
        return text if len(text) <= LONGEST_PROMPT else f"{text[: LONGEST_PROMPT - 1]}…"

    return with_texts(found, cut)


def with_texts(review: Review, change: Change) -> Review:
    """Return a review with the words of people and the names of files changed; all else is ids, times and numbers."""

    def maybe(text: str | None) -> str | None:
        return change(text) if text is not None else None

    def changed(commit: ReviewCommit) -> ReviewCommit:
        files = [replace(file, path=change(file.path), old_path=maybe(file.old_path)) for file in commit.files]
        return replace(commit, subject=change(commit.subject), files=files)

    def changed_turn(turn: ReviewTurn) -> ReviewTurn:
        return replace(
            turn,
            prompt=maybe(turn.prompt),
            deleted=list(map(change, turn.deleted)),
            undoing=list(map(change, turn.undoing)),
            dropped=list(map(change, turn.dropped)),
            tests=[replace(test, command=change(test.command)) for test in turn.tests],
        )

    return replace(
        review,
        repository=change(review.repository),
        branch=maybe(review.branch),
        commits=list(map(changed, review.commits)),
        turns=list(map(changed_turn, review.turns)),
    )


def _as_session(texts: Sequence[str]) -> bytes:
    """Return texts as the prompts of a session, which the redaction can read."""
    lines = [{"type": "user", "message": {"role": "user", "content": text}} for text in texts]
    return b"".join(jsontext.dumps(line) + b"\n" for line in lines) or b"\n"
