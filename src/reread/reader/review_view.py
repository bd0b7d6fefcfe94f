"""Commits as the reader shows them: what they change, with the turn that wrote each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from reread.attribution.review_values import Review
from reread.attribution.reviewing import find_review
from reread.base.paths import is_local
from reread.errors import NotFound
from reread.git.repository import FileLines, Repository
from reread.reader.file_view import MOST_CHARS, MOST_LINES
from reread.reader.redacted_review import with_short_prompts
from reread.reader.schema import Value
from reread.session.session import Session
from reread.tools.nodes import Diff, Hunk, Node, Note

LONGEST_LINE = 10_000


class CommitDiff(Value, frozen=True):
    """What a commit changes in a file."""

    sha: str
    path: str
    old_path: str | None
    """Its path before, if it was renamed."""
    added: int
    removed: int
    nodes: list[Node]


class CommitReview(Value, frozen=True):
    """Commits, the turns that wrote their lines, and these lines."""

    review: Review
    files: list[CommitDiff]
    others: int
    """Commits that the session made and that are not among these."""


def review_commits(session: Session, commits: Sequence[str], roots: Sequence[str | Path] | None) -> CommitReview:
    """Return some commits, or all that a session made, in the repository of the folder that it worked in."""
    if not is_local(session.project):
        raise NotFound("The folder of this session is not on this machine.")
    repository = Repository(session.project)
    own = repository.known_commits(commit.sha for commit in session.commits)
    chosen = repository.known_commits(commits) if commits else own
    if not chosen:
        named = ", ".join(commits) or "of this session"
        raise NotFound(f"No commit {named} in {repository.top}; it may have been rebased or squashed.")
    chosen.sort(key=lambda commit: commit.committed)
    shas = [commit.sha for commit in chosen]
    found = with_short_prompts(find_review(commits=shas, repository=session.project, root=roots))
    files = list(_files(repository.patches(chosen)))
    return CommitReview(review=found, files=files, others=len({commit.sha for commit in own} - {*shas}))


def _files(patches: Iterator[tuple[str, list[FileLines]]]) -> Iterator[CommitDiff]:
    room = MOST_LINES
    chars = MOST_CHARS
    for sha, files in patches:
        for file in files:
            hunks: list[Hunk] = []
            for hunk in file.hunks:
                lines = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in hunk.lines[:room]]
                chars -= sum(map(len, lines))
                room = room - len(lines) if chars > 0 else 0
                if lines:
                    hunks.append(Hunk(old_start=hunk.old_start, new_start=hunk.new_start, lines=lines))
            left = sum(len(hunk.lines) for hunk in hunks) < file.signs.total()
            why = "The rest is not shown." if left else "" if hunks else "No line differs: it is binary, or only moved."
            yield CommitDiff(
                sha=sha,
                path=file.path,
                old_path=file.old_path if file.old_path != file.path else None,
                added=file.signs[b"+"],
                removed=file.signs[b"-"],
                nodes=[*([Diff(path=file.path, hunks=hunks)] if hunks else []), *([Note(text=why)] if why else [])],
            )
