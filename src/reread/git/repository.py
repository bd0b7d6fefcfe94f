"""A git repository: its commits, the lines that each of them adds, and the text of files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from reread.base.structs import FrozenStruct
from reread.errors import Misuse, NotFound, Unreadable
from reread.git.command import git_output, git_stream, repository_folders

MOST_COMMITS = 5000
MOST_LINES = 200_000
"""Added lines of one commit that are looked at; of more, only their number is known."""
LARGEST_FILE = 8 << 20
FORMAT = "%H%n%P%n%at%n%ct%n%an%n%B"
DEFAULT_BRANCHES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/heads/trunk")
REGULAR = (b"100644", b"100755")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
SIDES = {b"+": 1, b"-": 1, b" ": 2}
"""How many of the two files have a line of a patch, by its sign."""
CONTEXT = 3
"""Unchanged lines around a change that are shown."""
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"t": b"\t",
    b"n": b"\n",
    b"v": b"\v",
    b"f": b"\f",
    b"r": b"\r",
    b'"': b'"',
    b"\\": b"\\",
}
"""Characters that git writes with a backslash in the names of files; others are three octal digits."""
_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]{0,60}): ?(.*)")
_SESSION_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|session_[A-Za-z0-9]{4,64}")
SESSION_TRAILER = "claude-session"
_SHA = re.compile(r"[0-9a-f]{7,64}")


class GitCommit(FrozenStruct):
    """A commit as its object states it."""

    sha: str
    parents: list[str]
    authored: int
    """Seconds since 1970; a rebase keeps this time, and changes the next."""
    committed: int
    author: str
    message: str

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.strip().partition("\n")[0]

    @property
    def session(self) -> str | None:
        """The session that its `Claude-Session:` trailer names: an id, or the last part of an address."""
        for line in reversed(self.message.strip().rpartition("\n\n")[2].split("\n")):
            found = _TRAILER.fullmatch(line.strip())
            if found is not None and found[1].lower() == SESSION_TRAILER:
                named = _SESSION_ID.search(found[2])
                return named[0] if named is not None else None
        return None


class ChangedLines(NamedTuple):
    """Changed lines of a file, with those around them."""

    old_start: int
    new_start: int
    lines: list[str]
    """Each with its sign."""


class FileLines(msgspec.Struct, frozen=True):
    """The lines that a commit adds to a file."""

    path: str
    old_path: str
    """Its path before the commit; the same if it was not renamed."""
    blob: str
    """The object with its text after the commit."""
    ranges: list[tuple[int, int]]
    """The first and the last line of each range, counted from 1."""
    hunks: list[ChangedLines] = []
    """What the commit changes in it, if that was asked for."""
    signs: Counter[bytes] = msgspec.field(default_factory=Counter[bytes])
    """How many lines have each sign in the whole of that, of which a large commit has only the beginning."""

    @property
    def count(self) -> int:
        """How many lines there are."""
        return sum(last - first + 1 for first, last in self.ranges)


class CommitRange(NamedTuple):
    """Some commits in a row."""

    first: str | None
    """The commit before them; None if they begin with the history."""
    last: str
    alone: bool = False
    """True if it is only the last one: a merge has more than one before it."""


class Repository:
    """A repository on this machine."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Open the repository that a folder lies in; raise NotFound if it lies in none."""
        folder = Path(folder)
        try:
            self.top, self.git = repository_folders(folder)
        except Unreadable as error:
            raise NotFound(f"No git repository in {folder}: {error}", path=str(folder)) from error

    def work_trees(self) -> list[str]:
        """Return the folders of all its work trees."""
        lines = git_output(self.git, "worktree", "list", "--porcelain").decode("utf-8", "surrogateescape").split("\n")
        return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]

    def sha_of(self, name: str) -> str | None:
        """Return the commit that a name of git's stands for."""
        return self.object_of(f"{name}^{{commit}}") if name else None

    def object_of(self, name: str) -> str | None:
        """Return the object that a name of git's stands for."""
        if "\0" in name:
            return None
        try:
            found = git_output(self.git, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
        except Unreadable:
            return None
        sha = found.decode("ascii", "replace").strip()
        return sha if is_sha(sha) else None

    def require_sha(self, name: str) -> str:
        """Return the commit that a name stands for; raise NotFound if there is none."""
        sha = self.sha_of(name)
        if sha is None:
            raise NotFound(f"No commit {name!r} in {self.top}; name one that `git log` shows.", path=str(self.top))
        return sha

    def branch_of(self, name: str) -> str | None:
        """Return the short name of a branch, if a name of git's is one."""
        try:
            words = ("rev-parse", "--verify", "--quiet", "--symbolic-full-name", "--end-of-options", name)
            full = git_output(self.git, *words).decode("utf-8", "replace").strip()
        except Unreadable:
            return None
        return full.removeprefix("refs/heads/") if full.startswith("refs/heads/") else None

    def branches(self) -> list[str]:
        """Return the short names of all branches, also of those that were fetched."""
        names = git_output(self.git, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes")
        return names.decode("utf-8", "replace").split()

    def default_base(self, head: str) -> str:
        """Return the tip of the default branch that a branch is compared with: `main` in `main..feature`.

        A clone knows it as its own and as it was fetched: the one that has more of what the branch has is taken.
        """
        least: tuple[int, str] | None = None
        for name in DEFAULT_BRANCHES:
            base = self.sha_of(name)
            own = 0 if base is None else self._count(base, head)
            if base is not None and own and (least is None or own < least[0]):
                least = (own, base)
        if least is None:
            raise Misuse("Everything here is on the default branch; name a commit or a range, as in HEAD~3..HEAD.")
        return least[1]

    def _count(self, first: str, last: str) -> int:
        """Return how many commits are after one up to another; 0 if they have nothing in common."""
        try:
            git_output(self.git, "merge-base", first, last)
            return int(git_output(self.git, "rev-list", "--count", f"{first}..{last}"))
        except (Unreadable, ValueError):
            return 0

    def range_of(self, text: str) -> CommitRange:
        """Return the commits that a text names: `A..B`, `A...B`, a branch since the default one, or one commit.

        Without a text they are those of the branch that is checked out.
        """
        branch = self.sha_of(f"refs/heads/{text}") or self.sha_of(f"refs/remotes/{text}")
        if not text or branch is not None:
            head = branch or self.require_sha("HEAD")
            return CommitRange(self.default_base(head), head)
        first, dots, last = text.partition("..")
        if not dots:
            alone = self.require_sha(text.removesuffix("^!"))
            return CommitRange(self.sha_of(f"{alone}^"), alone, True)
        head = self.require_sha(last.removeprefix(".") or "HEAD")
        start = self.require_sha(first or "HEAD")
        if last.startswith("."):
            start = git_output(self.git, "merge-base", start, head).decode("ascii", "replace").strip()
        return CommitRange(start, head)

    def commits(
        self, first: str | None, last: str, alone: bool = False, *, most: int = MOST_COMMITS
    ) -> list[GitCommit]:
        """Return the commits after one up to another, the oldest first; with `alone`, only the last one."""
        if alone:
            return self._log([last], "--no-walk=unsorted")
        return self._log([last, *([f"^{first}"] if first else [])], "--reverse", "--topo-order", f"--max-count={most}")

    def known_commits(self, shas: Iterable[str]) -> list[GitCommit]:
        """Return those of some commits that the repository has, also if only the beginning of the sha is given."""
        full = (self.sha_of(sha) for sha in dict.fromkeys(shas) if is_sha(sha))
        found = list(dict.fromkeys(sha for sha in full if sha is not None))
        return self._log(found, "--no-walk=unsorted") if found else []

    def _log(self, revisions: Sequence[str], *options: str) -> list[GitCommit]:
        words = ("log", "--no-patch", "--no-color", "--no-decorate", "--no-notes", "-z", f"--format={FORMAT}")
        given = "".join(f"{revision}\n" for revision in revisions).encode()
        output = git_output(self.git, *words, *options, "--stdin", given=given)
        entries = output.decode("utf-8", "replace").split("\0")
        return [_commit(entry) for entry in entries if entry.count("\n") >= FORMAT.count("%n")]

    def added_lines(self, commits: Iterable[GitCommit]) -> Iterator[tuple[str, list[FileLines]]]:
        """Yield each commit that is no merge with the lines that it adds, renames followed."""
        for sha, files in self._changed_files(commits, 0):
            yield sha, [file for file in files if file.ranges]

    def patches(self, commits: Iterable[GitCommit]) -> Iterator[tuple[str, list[FileLines]]]:
        """Yield each commit that is no merge with the files that it changes, and what it changes in them."""
        yield from self._changed_files(commits, CONTEXT)

    def _changed_files(self, commits: Iterable[GitCommit], context: int) -> Iterator[tuple[str, list[FileLines]]]:
        shas = [commit.sha for commit in commits if len(commit.parents) < 2]
        if not shas:
            return
        given = "\n".join([*shas, ""]).encode()
        words = ("diff-tree", "--stdin", "--root", "-r", "-M", "--no-abbrev", "--ignore-submodules=all", "--raw", "-p")
        safe = (f"-U{context}", "--no-color", "--no-ext-diff", "--no-textconv")
        left = dict.fromkeys(shas)
        with git_stream(self.git, *words, *safe, given=given) as output:
            for sha, files in _differences(output, with_text=context > 0):
                left.pop(sha, None)
                yield sha, files
        yield from ((sha, []) for sha in left)

    def sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """Return the sizes of objects; those that are missing are left out."""
        given = "".join(f"{blob}\n" for blob in dict.fromkeys(blobs)).encode()
        rows = (row.split() for row in git_output(self.git, "cat-file", "--batch-check", given=given).splitlines())
        return {row[0].decode("ascii"): int(row[2]) for row in rows if len(row) == 3}

    def texts(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the contents of objects, each once; those that are missing or too large are left out."""
        wanted = list(dict.fromkeys(blobs))
        if not wanted:
            return
        with git_stream(self.git, "cat-file", "--batch", given="\n".join([*wanted, ""]).encode()) as output:
            for _ in wanted:
                head = output.readline().split()
                if len(head) != 3:  # it is missing
                    continue
                left = int(head[2])
                data = output.read(min(left, LARGEST_FILE + 1))
                left -= len(data)
                while left and (more := output.read(min(left, LARGEST_FILE))):
                    left -= len(more)
                output.read(1)
                if len(data) <= LARGEST_FILE and head[1] == b"blob":
                    yield head[0].decode("ascii"), data


def _commit(entry: str) -> GitCommit:
    sha, parents, authored, committed, author, *message = entry.lstrip("\n").split("\n")
    return GitCommit(
        sha=sha,
        parents=parents.split(),
        authored=_seconds(authored),
        committed=_seconds(committed),
        author=author,
        message="\n".join(message),
    )


def _seconds(text: str) -> int:
    """Return a time of a commit, which may say anything."""
    value = int(text) if re.fullmatch(r"\d{1,12}", text, re.ASCII) else 0
    return min(value, 1 << 35)


def _differences(output: Iterable[bytes], *, with_text: bool) -> Iterator[tuple[str, list[FileLines]]]:
    """Yield each commit with its files and what it changes in them, from `git diff-tree --raw -p`.

    The list of files comes first, then a patch for each in the same order. What files contain is skipped by the counts
    in the hunks, so that no content is taken for the head of a patch or for a commit. Without text there are no lines
    around those that are added, and only their numbers are kept.
    """
    sha: str | None = None
    files: list[FileLines] = []
    text: list[str] = []
    at = -1
    skip = total = size = 0
    for line in output:
        if skip and (sides := SIDES.get(line[:1])):
            skip -= sides
            if with_text:
                files[at].signs[line[:1]] += 1
                size += len(line)
                if total <= MOST_LINES and size <= LARGEST_FILE:
                    text.append(line.removesuffix(b"\n").decode("utf-8", "replace"))
        elif line.startswith(b":"):
            file = _file_entry(line.rstrip(b"\n"))
            # A link that became a file, or the reverse, has two patches: one that deletes, and one that adds.
            files += [FileLines(file.path, file.old_path, "", []), file] if b" T\t" in line else [file]
        elif line.startswith(b"diff --git "):
            at += 1
        elif (found := _HUNK.match(line)) and 0 <= at < len(files):
            old, removed, first, added = (int(part) if part is not None else 1 for part in found.groups())
            skip = removed + added
            total += skip if with_text else added
            text = []
            if total > MOST_LINES:
                continue
            if with_text:
                files[at].hunks.append(ChangedLines(old, first, text))
            elif added and files[at].blob:
                files[at].ranges.append((first, first + added - 1))
        elif is_sha(name := line.decode("ascii", "replace").strip()):
            if sha is not None:
                yield sha, files
            sha, files, at, total, size = name, [], -1, 0, 0
    if sha is not None:
        yield sha, files


def _file_entry(line: bytes) -> FileLines:
    """Return a changed file; a link or a submodule has no lines, and so no object here."""
    head, *names = line[1:].split(b"\t")
    words = head.split(b" ")
    blob = words[3].decode("ascii", "replace") if len(words) > 3 and words[1] in REGULAR else ""
    old, new = (unquoted_name(name) for name in (names[0], names[-1]))
    return FileLines(new, old, blob, [])


def unquoted_name(name: bytes) -> str:
    """Return the name of a file; git puts one with unusual characters between quotes."""
    if name.startswith(b'"'):
        name = _ESCAPE.sub(lambda found: ESCAPES.get(found[1]) or bytes([int(found[1], 8) & 255]), name[1:-1])
    return name.decode("utf-8", "surrogateescape")


def is_sha(text: str) -> bool:
    """True for the hexadecimal name of an object, or the beginning of one."""
    return _SHA.fullmatch(text) is not None
