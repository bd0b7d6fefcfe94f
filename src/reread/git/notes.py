"""Git notes about who wrote the lines of commits, in `refs/notes/reread`: session ids, turns and lines, no text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from reread.base import jsontext
from reread.base.shas import is_sha
from reread.errors import Unreadable
from reread.git.command import git_change, git_output
from reread.git.repository import Repository

REF = "refs/notes/reread"
VERSION = 1
LARGEST_NOTE = 4 << 20
MESSAGE = b"Notes of reread: which session and turn wrote these lines\n"


class NotedLines(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lines of a file after a commit, and the turn that wrote them."""

    path: str
    first: int
    last: int
    session: str
    turn: int | None = None
    guess: bool = False
    prompt: str | None = None
    """The beginning of the prompt, redacted, if its author put it there."""


class CommitNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note about one commit."""

    version: int = VERSION
    lines: list[NotedLines]

    def line(self, path: str, number: int) -> NotedLines | None:
        """Return what it says about a line of a file."""
        return next((one for one in self.lines if one.path == path and one.first <= number <= one.last), None)

    def joined(self, older: CommitNote | None) -> CommitNote:
        """Return this note with what another one says about lines that this one says nothing about."""
        taken = {(one.path, line) for one in self.lines for line in range(one.first, one.last + 1)}
        kept = [
            msgspec.structs.replace(one, first=line, last=line)
            for one in (older.lines if older is not None else [])
            for line in range(one.first, min(one.last, one.first + LARGEST_NOTE) + 1)
            if (one.path, line) not in taken
        ]
        return CommitNote(lines=_in_ranges([*self.lines, *kept]))


def _in_ranges(lines: Iterable[NotedLines]) -> list[NotedLines]:
    """Return lines with those that follow each other as one range."""
    out: list[NotedLines] = []
    for one in sorted(lines, key=lambda one: (one.path, one.first)):
        last = out[-1] if out else None
        if (
            last is not None
            and msgspec.structs.replace(one, first=last.first) == msgspec.structs.replace(last, last=one.last)
            and one.first == last.last + 1
        ):
            out[-1] = msgspec.structs.replace(last, last=one.last)
        else:
            out.append(one)
    return out


_decode = msgspec.json.Decoder(CommitNote).decode


def read_notes(repository: Repository, commits: Iterable[str] | None = None) -> dict[str, CommitNote]:
    """Return the notes about some commits, by default all; what is no note of reread's is left out."""
    top = repository.top
    if repository.object_of(REF) is None:
        return {}
    wanted = set(commits) if commits is not None else None
    blobs: dict[str, str] = {}
    for line in git_output(top, "ls-tree", "-r", "-z", "--full-tree", REF).split(b"\0"):
        head, _, name = line.partition(b"\t")
        commit = name.replace(b"/", b"").decode("ascii", "replace")
        words = head.split()
        if len(words) == 3 and is_sha(commit) and (wanted is None or commit in wanted):
            blobs[commit] = words[2].decode("ascii", "replace")
    texts = dict(repository.texts(blobs.values()))
    found: dict[str, CommitNote] = {}
    for commit, blob in blobs.items():
        note = _note(texts.get(blob, b""))
        if note is not None:
            found[commit] = note
    return found


def _note(data: bytes) -> CommitNote | None:
    """Return a note that anyone may have written; None if it is none."""
    try:
        note = _decode(data[:LARGEST_NOTE])
    except jsontext.DECODE_ERRORS:
        return None
    is_sound = all(0 < one.first <= one.last and one.last - one.first < LARGEST_NOTE for one in note.lines)
    return note if note.version == VERSION and is_sound else None


def write_notes(repository: Repository, notes: Mapping[str, CommitNote]) -> int:
    """Write notes, each joined with what is there already; return how many changed."""
    known = read_notes(repository, notes)
    changed = 0
    for commit, note in notes.items():
        new = note.joined(known.get(commit))
        if new != known.get(commit):
            data = msgspec.json.encode(new) + b"\n"
            words = ("notes", f"--ref={REF}", "add", "--force", "--file=-", commit)
            git_change(repository.top, *words, given=data)
            changed += 1
    return changed


def remove_notes(repository: Repository, commits: Iterable[str]) -> int:
    """Remove the notes about some commits; return how many there were."""
    known = list(read_notes(repository, commits))
    if known:
        words = ("notes", f"--ref={REF}", "remove", "--ignore-missing", "--stdin")
        git_change(repository.top, *words, given="\n".join([*known, ""]).encode())
    return len(known)


class CommittedLine(NamedTuple):
    """Where a line of a file comes from."""

    commit: str
    path: str
    line: int


def blamed_commits(repository: Repository, path: str, data: bytes, first: int, last: int) -> dict[int, CommittedLine]:
    """Return the commit, path and line that lines of a file come from, as `git blame` has it, by their numbers.

    The data are the file's as it is now; lines that were never committed are left out.
    """
    words = ("blame", "--porcelain", "--no-textconv", "--ignore-revs-file=", f"-L{first},{last}", "--contents=-")
    try:
        output = git_output(repository.top, *words, "--", path, given=data)
    except Unreadable:  # no commit has the file
        return {}
    found: dict[int, CommittedLine] = {}
    names: dict[str, str] = {}
    sha, line, number = "", 0, 0
    for row in output.split(b"\n"):
        head = row.split(b" ")
        if row.startswith(b"\t"):
            if sha.strip("0"):
                found[number] = CommittedLine(sha, names.get(sha, path), line)
        elif row.startswith(b"filename "):
            names[sha] = row.removeprefix(b"filename ").decode("utf-8", "surrogateescape")
        elif len(head) >= 3 and head[1].isdigit() and head[2].isdigit() and is_sha(head[0].decode("ascii", "replace")):
            sha, line, number = head[0].decode("ascii"), int(head[1]), int(head[2])
    return found
