"""The facts of sessions, from the catalogue if their files have not changed."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path

import msgspec

from reread.accounting.collect import Inputs
from reread.accounting.prices import current_prices
from reread.base import jsontext
from reread.disk import layout
from reread.disk.derived_cache import DerivedValues, encoded
from reread.disk.layout import AgentFolders
from reread.disk.sources import FileSource, whole_files
from reread.disk.states import one_moment
from reread.errors import RereadError, naming_file
from reread.reports.session_facts import SessionFacts, session_facts
from reread.session.cache_breaks import CacheBreak
from reread.session.session import Session
from reread.session.session_pass import FACTS, CataloguedPart, SessionPass, newest_first

Progress = Callable[[int], None]
"""Called with the number of sessions that were read."""
TABLE, FORMAT = "session_facts", 9
"""Where the catalogue keeps facts; change the format when they would be found differently now."""


class _Stored(msgspec.Struct, array_like=True):
    state: bytes
    """A hash of the state of the session's files and of the prices."""
    facts: SessionFacts


class _StoredState(msgspec.Struct, array_like=True):
    state: bytes
    facts: msgspec.Raw


_decode = msgspec.msgpack.Decoder(_Stored).decode
_decode_state = msgspec.msgpack.Decoder(_StoredState).decode
KnownFacts = dict[str, SessionFacts]
"""The facts of sessions by the path of their files."""


class Reading(msgspec.Struct):
    """The facts that somebody knows of sessions, and how long they wait for those of the others."""

    known: KnownFacts
    until: float
    """The moment, as `time.monotonic` has it, at which they take what there is. One more session is read even then."""
    left: int = 0
    """How many sessions were not read until then."""


_reading: ContextVar[Reading | None] = ContextVar("reading", default=None)


@contextmanager
def remembering(known: KnownFacts, *, seconds: float = math.inf) -> Generator[Reading]:
    """Take what is known for granted during the block, and add what is read: the caller knows which files changed.

    What is not read after so many seconds is left out.
    """
    reading = Reading(known, time.monotonic() + seconds)
    token = _reading.set(reading)
    try:
        yield reading
    finally:
        _reading.reset(token)


def facts_of(
    paths: Iterable[Path], *, cache: bool = True, progress: Progress | None = None, unread: list[str] | None = None
) -> Iterator[SessionFacts]:
    """Yield the facts of session files, the client's agents included; files that cannot be read go to `unread`."""
    paths = list(paths)
    reading = _reading.get() if cache else None
    if reading is None:
        yield from _stored_facts(paths, cache, progress, unread)
        return
    known = reading.known
    yield from (known[str(path)] for path in paths if str(path) in known)
    missing = [path for path in paths if str(path) not in known]
    with closing(_stored_facts(missing, cache, progress, unread)) as found:
        for facts in found:
            yield known.setdefault(facts.path, facts)
            if time.monotonic() > reading.until:
                reading.left = max(reading.left, sum(str(path) not in known for path in missing))
                return


def _stored_facts(
    paths: list[Path], cache: bool, progress: Progress | None, unread: list[str] | None
) -> Generator[SessionFacts]:
    """Yield what is known first, and then the facts of the other sessions, the newest first."""
    known = _current_facts(paths) if cache else {}
    for path in paths:
        if path in known:
            if progress is not None:
                progress(1)
            yield known[path]
    with SessionPass() if cache else nullcontext() as sessions:
        for path in newest_first(path for path in paths if path not in known):
            try:
                facts = sessions.derive(path, FACTS) if sessions is not None else _read(path)
            except (RereadError, OSError):
                if unread is not None:
                    unread.append(str(path))
                continue
            finally:
                if progress is not None:
                    progress(1)
            yield facts


def _current_facts(paths: list[Path]) -> dict[Path, SessionFacts]:
    """Return the facts that the catalogue has of session files as they are."""
    folders = AgentFolders()
    with closing(DerivedValues(TABLE, format=FORMAT)) as values:
        stored = values.values([str(path) for path in paths])
    found: dict[Path, SessionFacts] = {}
    with one_moment():
        for path in paths:
            value = stored.pop(str(path), None)
            with suppress(RereadError, OSError):  # whoever reads it then says why it cannot be read
                facts = _known_facts(value, _state(path, folders)) if value is not None else None
                found |= {path: facts} if facts is not None else {}
    return found


def unknown_bytes(paths: Iterable[Path]) -> int:
    """Return how much would have to be read to have the facts of all session files: of those that are not kept."""
    part, total = FactsPart(), 0
    with closing(part), one_moment():
        for path in paths:
            with suppress(OSError):
                total += 0 if part.is_current(path, part.state(path)) else path.stat().st_size
    return total


def known_agent_types(paths: Iterable[str], *, cache: bool = True) -> dict[str, str]:
    """Return the types of the agents in some files, by the id of the agent and by those of its messages.

    Besides the metadata beside an agent's file, the call that started it tells its type. Old clients wrote the rows of
    agents into the session's file without an id: only their messages tell them apart.
    """
    paths = list(paths)
    types: dict[str, str] = {}
    for facts in _in_order(paths, cache=cache):
        for response in facts.responses:
            if response.agent is not None and response.agent_type is not None:
                types[response.agent] = types[response.id] = response.agent_type
    return types | layout.agent_types(paths)


def known_cache_breaks(paths: Iterable[str], *, cache: bool = True) -> dict[str, CacheBreak]:
    """Return the cache breaks in some files, by the id of the response."""
    return {found.message: found for facts in _in_order(paths, cache=cache) for found in facts.cache_breaks}


def _in_order(paths: Iterable[str], *, cache: bool) -> list[SessionFacts]:
    """Return the facts of the sessions among some files by their paths: of copies, the last one counts."""
    return sorted(facts_of(_sessions(paths), cache=cache), key=lambda facts: facts.path)


def _sessions(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the files that are no agents' files."""
    return (Path(path) for path in paths if not os.path.basename(path).startswith(layout.AGENT_PREFIX))


def _read(path: Path) -> SessionFacts:
    with naming_file(path), whole_files():
        return session_facts(Session(FileSource(path)))


class FactsPart(CataloguedPart):
    """The facts of sessions, as a part of the pass over them."""

    def __init__(self) -> None:
        super().__init__(TABLE, FORMAT)
        self._folders = AgentFolders()

    def state(self, path: Path) -> bytes:
        """Return a hash of everything that the facts of a session depend on."""
        return _state(path, self._folders)

    def is_current(self, path: Path, state: bytes) -> bool:
        """True if the facts of a session in this state are known."""
        value = self.known(path)
        with suppress(*jsontext.DECODE_ERRORS):
            return value is not None and _decode_state(value).state == state
        return False

    def derive(self, session: Session, state: bytes) -> SessionFacts:
        """Return the facts of a session."""
        facts = session_facts(session)
        self.add(session, encoded(_Stored(state, facts)) or b"")
        return facts


def _state(path: Path, folders: AgentFolders) -> bytes:
    """Return a hash of everything that the facts of a session depend on."""
    inputs = Inputs()
    inputs.add_session(path, folders)
    content = (inputs.state, current_prices().table.as_of)
    return hashlib.blake2b(jsontext.dumps(content), digest_size=16).digest()


def _known_facts(value: bytes, state: bytes) -> SessionFacts | None:
    with suppress(*jsontext.DECODE_ERRORS):
        stored = _decode(value)
        return stored.facts if stored.state == state else None
    return None


def made(
    paths: Iterable[Path], *, commit: str | None = None, pr: int | None = None, progress: Progress | None = None
) -> set[Path]:
    """Return the session files in which a commit was made, or a pull request was worked on."""
    found: set[Path] = set()
    for facts in facts_of(paths, progress=progress):
        has_commit = commit is None or any(sha.startswith(commit) or commit.startswith(sha) for sha in facts.commits)
        if has_commit and (pr is None or pr in facts.pull_requests):
            found.add(Path(facts.path))
    return found
