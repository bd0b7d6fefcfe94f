"""Git notes about who wrote the lines of commits, in `refs/notes/reread`: session ids, turns and lines, no text."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import msgspec

from reread.base import jsontext
from reread.base.structs import FrozenStruct
from reread.errors import Unreadable, Unwritable
from reread.git.command import git_change, git_output, unconfigured
from reread.git.repository import Repository, is_sha, unquoted_name

REF = "refs/notes/reread"
VERSION = 1
LARGEST_NOTE = 4 << 20
FOREIGN = "it has a note that is not reread's, or that a newer reread wrote"
TOO_LARGE = f"its note would be larger than {LARGEST_NOTE >> 20} MB"
LARGEST_NOTES = 256 << 20
"""So many bytes of notes are read: whoever can push can write as many as they like."""
MESSAGE = b"Notes of reread: which session and turn wrote these lines\n"
NOBODY = "reread <reread@localhost>"
"""Who writes notes if git does not know whose machine it is."""
MOST_TRIES = 100
Tip = str | None
"""The commit of all notes; None if there are none yet."""


class NotedLines(FrozenStruct, omit_defaults=True):
    """Lines of a file after a commit, and the turn that wrote them."""

    path: str
    first: int
    last: int
    session: str
    turn: int | None = None
    guess: bool = False
    prompt: str | None = None
    """The beginning of the prompt, redacted, if its author put it there."""


class CommitNote(FrozenStruct):
    """A note about one commit."""

    version: int = VERSION
    lines: list[NotedLines]
    """By path and line; none is there twice."""

    def line(self, path: str, number: int) -> NotedLines | None:
        """Return what it says about a line of a file."""
        at = bisect_right(self.lines, (path, number), key=_place) - 1
        found = self.lines[at] if at >= 0 else None
        return found if found is not None and found.path == path and number <= found.last else None

    def joined(self, older: CommitNote | None) -> CommitNote:
        """Return this note with what another one says about lines that this one says nothing about."""
        own: dict[str, list[NotedLines]] = defaultdict(list)
        for one in self.lines:
            own[one.path].append(one)
        kept = [
            msgspec.structs.replace(one, first=first, last=last)
            for one in (older.lines if older is not None else [])
            for first, last in _left_of(one, own.get(one.path, []))
        ]
        return CommitNote(lines=_in_ranges([*self.lines, *kept]))


def _place(one: NotedLines) -> tuple[str, int]:
    return one.path, one.first


def _left_of(one: NotedLines, taken: list[NotedLines]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of lines that no other range of the same file has."""
    first = one.first
    for other in taken[bisect_left(taken, first, key=lambda other: other.last) :]:
        if other.first > one.last:
            break
        if first < other.first:
            yield first, other.first - 1
        first = other.last + 1
    if first <= one.last:
        yield first, one.last


def _in_ranges(lines: Iterable[NotedLines]) -> list[NotedLines]:
    """Return lines with those that follow each other as one range."""
    out: list[NotedLines] = []
    for one in sorted(lines, key=_place):
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
    return {commit: note for commit, note in _notes(repository, _tip(repository), commits) if note is not None}


def _tip(repository: Repository) -> Tip:
    return repository.sha_of(REF)


def _notes(repository: Repository, tip: Tip, commits: Iterable[str] | None) -> Iterator[tuple[str, CommitNote | None]]:
    """Yield the commits that have a note, each with the note; None if it is none of reread's."""
    wanted = set(commits) if commits is not None else None
    noted: dict[str, list[str]] = defaultdict(list)
    for line in git_output(repository.git, "ls-tree", "-r", "-z", "--full-tree", tip).split(b"\0") if tip else ():
        head, _, name = line.partition(b"\t")
        commit = name.replace(b"/", b"").decode("ascii", "replace")
        words = head.split()
        if len(words) == 3 and is_sha(commit) and (wanted is None or commit in wanted):
            noted[words[2].decode("ascii", "replace")].append(commit)
    read = 0
    for blob, data in repository.texts(noted):
        read += len(data)
        note = _note(data) if read <= LARGEST_NOTES else None
        yield from ((commit, note) for commit in noted.pop(blob))
    yield from ((commit, None) for left in noted.values() for commit in left)


def _note(data: bytes) -> CommitNote | None:
    """Return a note that anyone may have written; None if it is none."""
    try:
        note = _decode(data) if len(data) <= LARGEST_NOTE else None
    except jsontext.DECODE_ERRORS:
        return None
    is_sound = note is not None and note.version == VERSION and all(0 < one.first <= one.last for one in note.lines)
    is_ordered = note is not None and all(
        (one.path, one.last) < (other.path, other.first) for one, other in pairwise(note.lines)
    )
    return note if is_sound and is_ordered else None


def write_notes(repository: Repository, notes: Mapping[str, CommitNote], *, left: dict[str, str] | None = None) -> int:
    """Write notes, each joined with what is there already; return how many changed.

    What somebody else put there and is no note of reread's, or of a newer one, stays as it is. Commits whose notes
    were not written go to `left`, each with the reason.
    """
    unwritten = left if left is not None else {}

    def changes(tip: Tip) -> Iterator[tuple[str, bytes]]:
        known = dict(_notes(repository, tip, notes))
        unwritten.clear()
        for commit, note in notes.items():
            older = known.get(commit)
            if older is None and commit in known:
                unwritten[commit] = FOREIGN
            elif (new := note.joined(older)) != older:
                data = jsontext.dumps(new) + b"\n"
                if len(data) <= LARGEST_NOTE:
                    yield commit, data
                else:
                    unwritten[commit] = TOO_LARGE

    return _change(repository, changes)


def remove_notes(repository: Repository, commits: Iterable[str]) -> int:
    """Remove the notes about some commits; return how many there were."""
    chosen = list(commits)

    def changes(tip: Tip) -> Iterator[tuple[str, None]]:
        return ((commit, None) for commit, note in _notes(repository, tip, chosen) if note is not None)

    return _change(repository, changes)


def _change(repository: Repository, changes: Callable[[Tip], Iterable[tuple[str, bytes | None]]]) -> int:
    """Change notes, all at once or none of them; return how many.

    git takes the new notes only if they were made from those that are there; if somebody was faster, theirs are read
    and joined again. An end in the middle of it leaves the notes as they were.
    """
    for _ in range(MOST_TRIES):
        tip = _tip(repository)
        made = list(changes(tip))
        if not made:
            return 0
        lines = [f"commit {REF}\ncommitter {_committer(repository)}\n".encode(), _counted(MESSAGE)]
        lines += [f"from {tip}\n".encode()] if tip else []
        for commit, data in made:
            what = "inline" if data is not None else "0" * len(commit)
            lines += [f"N {what} {commit}\n".encode(), _counted(data) if data is not None else b""]
        try:
            git_change(repository.git, "fast-import", "--quiet", "--done", given=b"".join([*lines, b"done\n"]))
        except Unwritable:
            if _tip(repository) == tip:
                raise
        else:
            return len(made)
    raise Unwritable(f"Cannot write notes to {repository.top}: others change them all the time; try again.")


def _counted(data: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(data), data)


def _committer(repository: Repository) -> str:
    try:
        return git_output(repository.git, "var", "GIT_COMMITTER_IDENT").decode("utf-8", "replace").strip()
    except Unreadable:  # no name is configured
        return f"{NOBODY} {int(time.time())} +0000"


class CommittedLine(NamedTuple):
    """Where a line of a file comes from."""

    commit: str
    path: str
    line: int


def blamed_commits(repository: Repository, path: str, first: int, last: int) -> dict[int, CommittedLine]:
    """Return the commit, path and line that lines of a file in the last commit come from, as `git blame` has it.

    The file in the work tree is not asked: git would run the filters that the repository configures for it.
    """
    head = repository.require_sha("HEAD")
    with unconfigured(repository.git, head) as alone:
        options = ("blame", "--porcelain", "--no-textconv", f"-L{first},{last}", head)
        output = git_output(alone, *options, "--", path, alone=True)
    found: dict[int, CommittedLine] = {}
    names: dict[str, str] = {}
    sha, line, number = "", 0, 0
    for row in output.split(b"\n"):
        words = row.split(b" ")
        if row.startswith(b"\t"):
            found[number] = CommittedLine(sha, names.get(sha, path), line)
        elif row.startswith(b"filename "):
            names[sha] = unquoted_name(row.removeprefix(b"filename "))
        elif (
            len(words) >= 3
            and words[1].isdigit()
            and words[2].isdigit()
            and is_sha(words[0].decode("ascii", "replace"))
        ):
            sha, line, number = words[0].decode("ascii"), int(words[1]), int(words[2])
    return found
