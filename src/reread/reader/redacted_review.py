"""A review without secrets and personal details: its texts are scanned and decided about as those of a session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from reread.attribution.review_values import NOTE, TRAILER, Review, ReviewCommit, ReviewTurn
from reread.attribution.reviewing import find_review
from reread.base import jsontext
from reread.base.structs import copied
from reread.base.text import one_line
from reread.errors import Misuse, Undecided
from reread.facts.file_changes import PROMPT_LENGTH
from reread.facts.sessions import Progress
from reread.git.notes import CommitNote, NotedLines, read_notes, remove_notes, write_notes
from reread.git.repository import MOST_COMMITS, Repository
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


def notes(
    which: str | None = None,
    *,
    repository: str | os.PathLike[str] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    write: bool = False,
    prompts: bool = False,
    replace_likely: bool = False,
    remove: bool = False,
    progress: Progress | None = None,
    left: dict[str, str] | None = None,
) -> dict[str, CommitNote]:
    """Return the notes in `refs/notes/reread` about the commits of a range or branch, by default about all commits.

    With `write`, first write which session and turn wrote the lines of these commits: ids and numbers, and with
    `prompts` the beginning of each prompt, redacted; Undecided is raised if somebody has to decide about a likely
    secret, unless `replace_likely` replaces them all. What others noted about other lines stays; commits whose notes
    could not be written go to `left`, each with the reason. With `remove`, remove the notes, and return what they
    were.
    """
    opened = Repository(repository if repository is not None else ".")
    if write and remove:
        raise Misuse("Cannot both write and remove notes.")
    if which is None:
        if write or remove:
            raise Misuse("Name the commits, as in main..HEAD.")
        return read_notes(opened)
    if write:
        sessions: list[str] = []
        found = find_review(which, repository=opened.top, root=root, progress=progress, sessions=sessions)
        redaction = ReviewRedaction(found, sessions) if prompts else None
        if redaction is not None and replace_likely:
            redaction.replace_undecided()
        redacted = redaction.redacted_review() if redaction is not None else None
        write_notes(opened, notes_of(found, redacted), left=left)
    shas = [commit.sha for commit in opened.commits(*opened.range_of(which))]
    known = read_notes(opened, shas)
    if remove:
        remove_notes(opened, known)
    return known


def notes_of(review: Review, redacted: Review | None = None) -> dict[str, CommitNote]:
    """Return what a review knows of the lines of each commit from sessions of this machine, with redacted prompts."""
    turns = redacted.turns if redacted is not None else []
    said = {(turn.session, turn.turn): one_line(turn.prompt, PROMPT_LENGTH) for turn in turns if turn.prompt}
    notes: dict[str, CommitNote] = {}
    for commit in review.commits:
        lines = [
            copied(NotedLines, one, path=file.path, prompt=said.get((one.session, one.turn)))
            for file in commit.files
            for one in file.lines
            if one.session is not None and one.evidence not in (NOTE, TRAILER)
        ]
        if lines:
            notes[commit.sha] = CommitNote(lines=lines)
    return notes
