"""The versions of a repository's files in all sessions, by their paths below its folder."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence

from reread.base.paths import comparable_path
from reread.history.blame_lines import LineOrigin
from reread.history.line_trace import TracedVersion
from reread.reports.file_index import FileIndex

CLIENTS_WORK_TREES = "/.claude/worktrees/"
MOST_ROOTS = 200


class ProjectTraces:
    """The files of a repository as sessions changed them, in any folder that is or was a work tree of it."""

    def __init__(self, index: FileIndex, roots: Iterable[str]) -> None:
        self._index = index
        self._roots = sorted({comparable_path(root) for root in roots}, key=len, reverse=True)
        self._roots += sorted(self._removed_work_trees(), key=len, reverse=True)
        self._roots.sort(key=len, reverse=True)
        self._sessions: dict[str, dict[str, list[str]]] = {}
        """The sessions that changed a file, by its path below the repository, with the paths that they know."""
        for session, paths in index.paths.items():
            for path in paths:
                name = self.relative(path)
                if name is not None:
                    self._sessions.setdefault(name, {}).setdefault(session, []).append(path)

    @property
    def sessions(self) -> list[str]:
        """The sessions that changed a file of the repository."""
        return list(dict.fromkeys(session for known in self._sessions.values() for session in known))

    @property
    def names(self) -> list[str]:
        """The paths of all its files that a session changed."""
        return list(self._sessions)

    def __contains__(self, name: str) -> bool:
        return comparable_path(name) in self._sessions

    def relative(self, path: str) -> str | None:
        """Return a path of a session as one below the repository; None if it lies elsewhere."""
        path = comparable_path(path)
        for root in self._roots:
            if path.startswith(root) and path[len(root) : len(root) + 1] == "/":
                return path[len(root) + 1 :]
        return None

    def traces_of(
        self, path: str, among: Container[str] | None = None
    ) -> Iterator[tuple[str, Sequence[TracedVersion]]]:
        """Yield the versions of a file in each session that changed it; the path may be one of a session."""
        name = self.relative(path) or comparable_path(path)
        for session, paths in self._sessions.get(name, {}).items():
            if among is None or session in among:
                yield from ((session, self._index.versions(session, known)) for known in paths)

    def own_versions(self, path: str, sessions: Container[str] | None = None) -> Iterator[LineOrigin]:
        """Yield the versions of a file that sessions made themselves, by default all."""
        for session, trace in self.traces_of(path, sessions):
            yield from (LineOrigin(session, version) for version in trace if version.own)

    def _removed_work_trees(self) -> set[str]:
        """Return the folders in which the client made work trees of the repository, which may be gone."""
        found: set[str] = set()
        for paths in self._index.paths.values():
            for path in paths:
                root, found_there, below = comparable_path(path).partition(CLIENTS_WORK_TREES)
                if found_there and root in self._roots and "/" in below:
                    found.add(f"{root}{CLIENTS_WORK_TREES}{below.partition('/')[0]}")
        return set(sorted(found)[:MOST_ROOTS])


def other_roots(index: FileIndex, committed: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the folders in which a repository was when sessions committed these files: sessions with their files."""
    made: dict[str, set[str]] = defaultdict(set)
    for session, files in committed:
        made[session].update(map(comparable_path, files))
    found: Counter[str] = Counter()
    for session, files in made.items():
        for path in map(comparable_path, index.paths.get(session, ())):
            at = path.find("/")
            while at >= 0:
                found.update([path[:at]] if path[at + 1 :] in files else [])
                at = path.find("/", at + 1)
    return [root for root, _ in found.most_common(MOST_ROOTS) if root]
