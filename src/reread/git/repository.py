"""A git repository: its commits, the lines that each of them adds, and the text of files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from reread.base.shas import is_sha
from reread.errors import Misuse, NotFound, Unreadable
from reread.git.command import git_output, git_stream

MOST_COMMITS = 5000
MOST_LINES = 200_000
"""Added lines of one commit that are looked at; of more, only their number is known."""
LARGEST_FILE = 8 << 20
FORMAT = "%H%n%P%n%at%n%ct%n%an%n%B"
DEFAULT_BRANCHES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/heads/trunk")
REGULAR = (b"100644", b"100755")
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]{0,60}): ?(.*)")
_SESSION_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|session_[A-Za-z0-9]{4,64}")
SESSION_TRAILER = "claude-session"


class GitCommit(msgspec.Struct, frozen=True, kw_only=True):
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


class FileLines(msgspec.Struct, frozen=True):
    """The lines that a commit adds to a file."""

    path: str
    old_path: str
    """Its path before the commit; the same if it was not renamed."""
    blob: str
    """The object with its text after the commit."""
    ranges: list[tuple[int, int]]
    """The first and the last line of each range, counted from 1."""

    @property
    def count(self) -> int:
        """How many lines there are."""
        return sum(last - first + 1 for first, last in self.ranges)

    def add(self, ranges: Sequence[tuple[int, int]]) -> bool:
        """Add ranges of lines; False if this is no file with lines, or nothing is added to it."""
        self.ranges.extend(ranges if self.blob else ())
        return bool(self.ranges)


class Repository:
    """A repository on this machine."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Open the repository that a folder lies in; raise NotFound if it lies in none."""
        folder = Path(folder)
        try:
            found = git_output(folder, "rev-parse", "--path-format=absolute", "--show-toplevel")
        except Unreadable as error:
            raise NotFound(f"No git repository in {folder}: {error}", path=str(folder)) from error
        self.top: Path = Path(found.decode("utf-8", "surrogateescape").removesuffix("\n"))

    def work_trees(self) -> list[str]:
        """Return the folders of all its work trees."""
        lines = git_output(self.top, "worktree", "list", "--porcelain").decode("utf-8", "surrogateescape").split("\n")
        return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]

    def sha_of(self, name: str) -> str | None:
        """Return the commit that a name of git's stands for."""
        return self.object_of(f"{name}^{{commit}}") if name else None

    def object_of(self, name: str) -> str | None:
        """Return the object that a name of git's stands for."""
        if "\n" in name or "\0" in name:
            return None
        try:
            found = git_output(self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
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
            full = git_output(self.top, *words).decode("utf-8", "replace").strip()
        except Unreadable:
            return None
        return full.removeprefix("refs/heads/") if full.startswith("refs/heads/") else None

    def fork_point(self, head: str) -> str:
        """Return the commit at which a branch left the default branch."""
        for base in DEFAULT_BRANCHES:
            sha = self.sha_of(base)
            if sha is None or sha == head:
                continue
            try:
                found = git_output(self.top, "merge-base", sha, head).decode("ascii", "replace").strip()
            except Unreadable:
                continue
            if is_sha(found) and found != head:
                return found
        raise Misuse("Cannot tell where the branch begins; name a range, as in main..feature or HEAD~3..HEAD.")

    def range_of(self, text: str) -> tuple[str | None, str]:
        """Return the first and the last commit of `A..B`, `A...B` or a branch; the first is not part of it."""
        first, dots, last = text.partition("..")
        if not dots:
            head = self.require_sha(text)
            return self.fork_point(head), head
        head = self.require_sha(last.removeprefix(".") or "HEAD")
        start = self.require_sha(first or "HEAD")
        if last.startswith("."):
            start = git_output(self.top, "merge-base", start, head).decode("ascii", "replace").strip()
        return start, head

    def commits(self, first: str | None, last: str, *, most: int = MOST_COMMITS) -> list[GitCommit]:
        """Return the commits after one up to another, the oldest first."""
        return self._log([last, *([f"^{first}"] if first else [])], "--reverse", "--topo-order", f"--max-count={most}")

    def known_commits(self, shas: Iterable[str]) -> list[GitCommit]:
        """Return those of some commits that the repository has, also if only the beginning of the sha is given."""
        full = (self.sha_of(sha) for sha in dict.fromkeys(shas) if is_sha(sha))
        found = list(dict.fromkeys(sha for sha in full if sha is not None))
        return self._log(found, "--no-walk=unsorted") if found else []

    def _log(self, revisions: Sequence[str], *options: str) -> list[GitCommit]:
        words = ("log", "--no-patch", "--no-color", "--no-decorate", "--no-notes", "-z", f"--format={FORMAT}")
        given = "".join(f"{revision}\n" for revision in revisions).encode()
        output = git_output(self.top, *words, *options, "--stdin", given=given)
        entries = output.decode("utf-8", "replace").split("\0")
        return [_commit(entry) for entry in entries if entry.count("\n") >= FORMAT.count("%n")]

    def added_lines(self, commits: Iterable[GitCommit]) -> Iterator[tuple[str, list[FileLines]]]:
        """Yield each commit that is no merge with the lines that it adds, renames followed."""
        shas = [commit.sha for commit in commits if len(commit.parents) < 2]
        if not shas:
            return
        given = "\n".join([*shas, ""]).encode()
        words = ("diff-tree", "--stdin", "--root", "-r", "-M", "--no-abbrev", "--ignore-submodules=all")
        entries = _file_entries(git_output(self.top, *words, "--raw", "-z", given=given))
        patch = ("-p", "-U0", "--no-color", "--no-ext-diff", "--no-textconv")
        with git_stream(self.top, *words, *patch, given=given) as output:
            for sha, ranges in _added_ranges(output):
                files = [file for file, found in zip(entries.pop(sha, []), ranges, strict=False) if file.add(found)]
                yield sha, files
        yield from ((sha, []) for sha in entries)

    def texts(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the contents of objects, each once; those that are missing or too large are left out."""
        wanted = list(dict.fromkeys(blobs))
        if not wanted:
            return
        sizes = git_output(self.top, "cat-file", "--batch-check", given="\n".join([*wanted, ""]).encode())
        rows = [line.split() for line in sizes.decode("ascii", "replace").split("\n")]
        known = [row[0] for row in rows if len(row) == 3 and row[1] == "blob" and int(row[2]) <= LARGEST_FILE]
        if not known:
            return
        with git_stream(self.top, "cat-file", "--batch", given="\n".join([*known, ""]).encode()) as output:
            for _ in known:
                sha, _, size = output.readline().split()
                data = output.read(int(size))
                output.read(1)
                yield sha.decode("ascii"), data


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


def _file_entries(output: bytes) -> dict[str, list[FileLines]]:
    """Return the changed files of each commit, as `git diff-tree --raw -z` prints them."""
    commits: dict[str, list[FileLines]] = {}
    parts = iter(output.split(b"\0"))
    files: list[FileLines] = []
    for part in parts:
        if part.startswith(b":"):
            words = part[1:].split(b" ")
            old = next(parts, b"")
            new = next(parts, b"") if words[-1][:1] in (b"R", b"C") else old
            # a link or a submodule has no lines, and so no object here
            blob = words[3].decode("ascii", "replace") if len(words) > 3 and words[1] in REGULAR else ""
            path, old_path = (name.decode("utf-8", "surrogateescape") for name in (new, old))
            files.append(FileLines(path, old_path, blob, []))
        elif is_sha(sha := part.decode("ascii", "replace")):
            files = commits.setdefault(sha, [])
    return commits


def _added_ranges(output: Iterable[bytes]) -> Iterator[tuple[str, list[list[tuple[int, int]]]]]:
    """Yield the ranges of added lines of each commit, file by file, from patches without context.

    What files contain is skipped by the counts in the hunks, so that no content is taken for the head of a patch.
    """
    sha: str | None = None
    files: list[list[tuple[int, int]]] = []
    skip = total = 0
    for line in output:
        if skip and line[:1] in (b"+", b"-"):
            skip -= 1
        elif line.startswith(b"diff --git "):
            files.append([])
        elif (found := _HUNK.match(line)) and files:
            removed, first, added = (int(part) if part is not None else 1 for part in found.groups())
            skip = removed + added
            total += added
            if added and total <= MOST_LINES:
                files[-1].append((first, first + added - 1))
        elif is_sha(text := line.decode("ascii", "replace").strip()):
            if sha is not None:
                yield sha, files
            sha, files, total = text, [], 0
    if sha is not None:
        yield sha, files
