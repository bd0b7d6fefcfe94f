"""Git notes about commits: what a review knows of their lines, for whoever clones the repository."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from reread.attribution.review_values import NOTE, TRAILER, Review
from reread.attribution.reviewing import find_review
from reread.base.structs import copied
from reread.base.text import one_line
from reread.errors import Misuse
from reread.facts.file_changes import PROMPT_LENGTH
from reread.facts.sessions import Progress
from reread.git.notes import CommitNote, NotedLines, read_notes, remove_notes, write_notes
from reread.git.repository import Repository
from reread.reader.redacted_review import ReviewRedaction


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
