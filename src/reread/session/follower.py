"""Follow a session while it is written: growing, rewritten, replaced and new files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from watchfiles import watch

from reread.catalog.resolve import missing_path, resolve_session
from reread.disk import layout
from reread.disk.sources import FileSource
from reread.errors import Misuse, NotFound, Unreadable
from reread.model.changes import Change, change_of
from reread.model.conversation import Agent, Conversation
from reread.session.loader import Loader
from reread.session.session import Session, load_agent

STEP_MS = 5
"""How long the watcher waits for more changes before it reports."""
HEARTBEAT_MS = 500
"""After this long the files are checked even if the system reported nothing."""
RESCAN_TICKS = 20
"""Every so many ticks, agents' files are looked for even if the system reported none."""
RESCANS_AFTER_CHANGE = 3
"""For so many ticks after something new appeared beside the session, agents' files are looked for: what is written
into a folder before the system watches it is not reported."""


def follow(
    source: str | Path | Session, *, stop: threading.Event | None = None, heartbeat: int = HEARTBEAT_MS
) -> Iterator[Change]:
    """Yield what each new record changes, agents' records included, until `stop` is set.

    A session that is followed stays up to date: after a change it holds what loading the file would give. A path
    without a file is waited for. If a file was rewritten or replaced, a `rewritten` change names the first line
    that differs, and the records from there come again.
    """
    halt = stop or threading.Event()
    session, path = _start(source)
    follower = Follower(session) if session is not None else None
    for touched in ticks(path, halt, heartbeat):
        if follower is None:
            if not os.path.exists(path):
                continue
            follower = Follower(Session(FileSource(path)), fresh=True)
        yield from follower.changes(touched)
    if follower is not None:
        yield from follower.finish()


def _start(source: str | Path | Session) -> tuple[Session | None, Path]:
    """Return the session to follow, None if its file does not exist yet, and its path."""
    if isinstance(source, Session):
        if source.path is None:
            raise Misuse("Only a session on disk can be followed; pass the path of its file.")
        return source, source.path
    missing = missing_path(source)
    if missing is not None:
        return None, missing
    path = resolve_session(source)
    return Session(FileSource(path)), path


def ticks(path: Path, stop: threading.Event, heartbeat: int) -> Iterator[set[Path]]:
    """Yield the absolute paths that changed each time something did, and an empty set at each heartbeat."""
    path = path.absolute()
    while not os.path.isdir(path.parent):
        if stop.wait(heartbeat / 1000):
            return
    prefixes = (str(path), str(path.with_suffix("")), str(path.parent / layout.AGENT_PREFIX))

    def matters(_: object, changed: str) -> bool:
        return changed.startswith(prefixes)

    with suppress(RuntimeError, OSError):  # out of watches, the folder is gone, or its name is not UTF-8
        while not stop.is_set():
            yield set()
            folders = _folders(path)
            watched = watch(
                *folders,
                recursive=False,
                watch_filter=matters,
                debounce=STEP_MS,
                step=STEP_MS,
                stop_event=stop,
                rust_timeout=heartbeat,
                yield_on_timeout=True,
                ignore_permission_denied=True,
            )
            with closing(watched):
                for changes in watched:
                    touched = {Path(changed) for _, changed in changes}
                    yield touched
                    if touched != {path} and _folders(path) != folders:
                        break
    while not stop.wait(heartbeat / 1000):
        yield set()


def _folders(path: Path) -> set[str]:
    """Return the folders in which files of a session can appear: the one it is in, its own, and those of agents."""
    own = path.with_suffix("")
    below = (folder for folder, _, _ in os.walk(own / layout.SUBAGENTS))
    return {str(path.parent), *([str(own)] if os.path.isdir(own) else []), *below}


class Follower:
    """Keeps a session up to date with its files."""

    def __init__(self, session: Session, *, fresh: bool = False) -> None:
        """Follow a session; with `fresh`, every line of its file is a change."""
        self.session = session
        self._ticks = 0
        self._rescans = 0
        session.stop_merging()
        if fresh:
            session.restart()
        _ = session.agents

    def changes(self, touched: set[Path]) -> Iterator[Change]:
        """Return what is new, in the main file first, then in each agent's."""
        yield from self._main_changes()
        for id, loader in self.session.agent_loaders.items():
            yield from self._agent_changes(id, loader)
        self._ticks += 1
        sources = (self.session.source, *(loader.source for loader in self.session.agent_loaders.values()))
        if not touched <= {source.path.absolute() for source in sources if source.path is not None}:
            self._rescans = RESCANS_AFTER_CHANGE
        if self._rescans or self._ticks % RESCAN_TICKS == 0:
            self._rescans = max(0, self._rescans - 1)
            yield from self._new_agents()

    def finish(self) -> Iterator[Change]:
        """Return what a last line without an end holds, once nothing more is expected."""
        if self.session.loader.can_continue():
            yield from self._changes(self.session.loader.conversation, self.session.load_rest())

    def _main_changes(self) -> Iterator[Change]:
        session = self.session
        if session.loader.can_continue():
            yield from self._changes(session.loader.conversation, session.load_lines())
            return
        if session.path is None or not os.path.exists(session.path):
            return
        old, new = session.reload(), session.loader.conversation
        same = _shared(old, new)
        yield Change("rewritten", line=old.records.line(same) if same < len(old.records) else len(session.lines) + 1)
        yield from self._changes(new, range(same, len(new.records)))

    def _agent_changes(self, id: str, loader: Loader) -> Iterator[Change]:
        if loader.can_continue():
            yield from self._changes(loader.conversation, loader.load_lines())
            return
        path = loader.source.path
        if path is None or not os.path.exists(path):
            return
        fresh = load_agent(id, path)
        self.session.set_agent(id, fresh)
        yield Change("rewritten", line=1, agent=_agent(fresh))
        yield from self._changes(fresh.conversation, range(len(fresh.conversation.records)))

    def _new_agents(self) -> Iterator[Change]:
        session = self.session
        for id, path in session.agent_files().items():
            known = session.agent_loaders.get(id)
            if known is None:
                with suppress(Unreadable, NotFound):  # gone again, or not readable: the rest continues
                    loader = load_agent(id, path, torn=False)
                    session.set_agent(id, loader)
                    yield from self._changes(loader.conversation, range(len(loader.conversation.records)))
            elif (agent := _agent(known)) is not None and not agent.meta and (meta := layout.agent_meta(path)):
                agent.set_meta(meta)
                session.unlink_agents()

    def _changes(self, conversation: Conversation, indexes: range) -> Iterator[Change]:
        if indexes:
            self.session.unlink_agents()
            _ = self.session.agents
        for index in indexes:
            yield change_of(conversation, index)


def _shared(old: Conversation, new: Conversation) -> int:
    """Count the records at the same position in both."""
    count = min(len(old.records), len(new.records))
    same = next((n for n in range(count) if old.records.position(n) != new.records.position(n)), count)
    return same - 1 if same and same == len(new.records) == len(old.records) else same


def _agent(loader: Loader) -> Agent | None:
    return loader.conversation if isinstance(loader.conversation, Agent) else None
