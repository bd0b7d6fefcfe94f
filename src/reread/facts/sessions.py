"""The facts of sessions: those that changed are opened, and their rows derived."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import msgspec

from reread.accounting.collect import session_state
from reread.disk.agent_files import AgentFolders, agent_types
from reread.disk.cache import is_stale
from reread.disk.derived_cache import known_path
from reread.disk.file_set import FileSet
from reread.errors import RereadError
from reread.facts.schema import AGENT, FILE, GIT_COMMIT, PULL_REQUEST, SESSION
from reread.facts.store import FactStore, answered

NEW: tuple[int, bytes | None] = (0, None)
"""The id and the state of a session's file that is not known."""
Progress = Callable[[int], None]
"""Called with the number of sessions that were read."""
KnownStates = dict[str, bytes]
"""The states of sessions by the path of their files."""


class Reading(msgspec.Struct):
    """The states that somebody knows of sessions, and how long they wait for the facts of others."""

    known: KnownStates
    until: float
    """The moment, as `time.monotonic` has it, at which they take what there is. One more session is read even then."""
    left: int = 0
    """How many sessions were not read until then."""


_reading: ContextVar[Reading | None] = ContextVar("reading", default=None)


@contextmanager
def remembering(known: KnownStates, *, seconds: float = math.inf) -> Generator[Reading]:
    """Take what is known for granted during the block, and add what is seen: the caller knows which files changed.

    What is not read after so many seconds is left out.
    """
    reading = Reading(known, time.monotonic() + seconds)
    token = _reading.set(reading)
    try:
        yield reading
    finally:
        _reading.reset(token)


def open_sessions(
    store: FactStore,
    paths: Sequence[Path],
    *,
    files: FileSet | None = None,
    progress: Progress | None = None,
    unread: list[str] | None = None,
) -> list[int]:
    """Bring the facts of session files up to date, and return the ids of the files; others go to `unread`.

    `files` are those that a sweep just found, with their states.
    """
    reading, known = _reading.get(), known_sessions(store)
    states = _states(paths, known, files, reading.known if reading is not None else {})
    missing = [path for path in paths if is_stale(known.get(str(path), NEW)[1], states.get(str(path)))]
    if progress is not None and len(missing) < len(paths):
        progress(len(paths) - len(missing))
    current = {str(path) for path in paths} - {str(path) for path in missing}
    if missing:
        from reread.facts.opening import derive_facts  # loaded late: it opens sessions

        for number, (path, is_read) in enumerate(derive_facts(store, missing, states), 1):
            if is_read:
                current.add(str(path))
            elif unread is not None:
                unread.append(str(path))
            if progress is not None:
                progress(1)
            if reading is not None and time.monotonic() > reading.until:
                reading.left = max(reading.left, len(missing) - number)
                break
        known = known_sessions(store)
    return [known[path][0] for path in map(str, paths) if path in current and path in known]


def known_sessions(store: FactStore) -> dict[str, tuple[int, bytes]]:
    """Return the ids of the files of known sessions by their paths, and the states of all files of each."""
    rows = store.rows(f"SELECT f.path, s.file, s.state FROM {SESSION.name} s JOIN {FILE.name} f ON f.id = s.file")
    return {known_path(path): (file, state) for path, file, state in rows}


AgentNames = Mapping[str, tuple[str | None, str | None]]
"""The ids and types of agents, by their ids and by those of their messages."""


def agents_of(store: FactStore, files: Iterable[int], paths: Iterable[str]) -> AgentNames:
    """Return the agents of opened sessions, and those with metadata beside some files.

    Besides the metadata beside an agent's file, the call that started it tells its type. Old clients wrote the rows of
    agents into the session's file without an id: only their messages tell them apart.
    """
    wanted = set(files)
    rows = store.rows(
        f"SELECT a.file, a.id, a.agent, a.type FROM {AGENT.name} a JOIN {FILE.name} f ON f.id = a.file ORDER BY f.path"
    )
    found = {id: (agent, type) for file, id, agent, type in rows if file in wanted}  # of copies, the last one counts
    return found | {agent: (agent, type) for agent, type in agent_types(paths).items()}


def made(
    paths: Iterable[Path], *, commit: str | None = None, pr: int | None = None, progress: Progress | None = None
) -> set[Path]:
    """Return the session files in which a commit was made, or a pull request was worked on."""

    def ask(store: FactStore) -> set[Path]:
        files = set(open_sessions(store, list(paths), progress=progress))
        if commit is not None:
            shas = store.rows(f"SELECT file, sha FROM {GIT_COMMIT.name}")
            files &= {file for file, sha in shas if sha.startswith(commit) or commit.startswith(sha)}
        if pr is not None:
            files &= {file for (file,) in store.rows(f"SELECT file FROM {PULL_REQUEST.name} WHERE number = ?", (pr,))}
        return {Path(path) for path, (file, _) in known_sessions(store).items() if file in files}

    return answered(ask)


def unknown_bytes(store: FactStore, paths: Sequence[Path], files: FileSet | None = None) -> int:
    """Return how much would have to be read to have the facts of all session files: of those that are not kept."""
    known, total = known_sessions(store), 0
    states = _states(paths, known, files, {})
    for path in paths:
        with suppress(OSError):
            is_missing = is_stale(known.get(str(path), NEW)[1], states.get(str(path)))
            total += path.stat().st_size if is_missing else 0
    return total


def _states(
    paths: Iterable[Path], known: Mapping[str, tuple[int, bytes]], files: FileSet | None, given: KnownStates
) -> KnownStates:
    """Return the state of all files of each session; none of one that cannot be read.

    What a sweep found of a session is enough if it is what is known. If not, more of its files may be elsewhere.
    """
    folders, swept = AgentFolders(), files.session_states() if files is not None else {}
    found: KnownStates = {}
    for path in paths:
        name = str(path)
        if name not in given:
            with suppress(RereadError, OSError):  # whoever opens it then says why it cannot be read
                is_known = not is_stale(known.get(name, NEW)[1], swept.get(name))
                given[name] = swept[name] if is_known else session_state(path, folders)
        if name in given:
            found[name] = given[name]
    return found
