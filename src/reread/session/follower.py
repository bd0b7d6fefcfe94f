"""Following a session while it is written: growing, rewritten, replaced and appearing files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from watchfiles import watch

from reread.disk import layout
from reread.disk.sources import FileSource
from reread.errors import Misuse, NotFound, Unreadable
from reread.model.conversation import Agent, Change, Conversation
from reread.session.loader import Loader
from reread.session.session import Session, find, load_agent

STEP = 5
"""Milliseconds that the watcher waits for more before it reports."""
HEARTBEAT = 500
"""Milliseconds after which the files are looked at even where the system reported nothing."""
RESCAN = 20
"""Heartbeats after which agents' files are looked for even where the system reported none."""
AFTERLOOKS = 3
"""Ticks for which they are looked for once something new stood beside the session: what is written into a folder
before the system watches it is not reported."""


def follow(
    source: str | Path | Session, *, stop: threading.Event | None = None, heartbeat: int = HEARTBEAT
) -> Iterator[Change]:
    """What each record changes from now on, agents' records included, until `stop` is set.

    A session that is followed keeps up: what it holds after a change is what loading the file would give. A
    path where nothing is yet is waited for. Where a file was rewritten or replaced, a `rewritten` change
    names the first line that differs, and the records from there come again.
    """
    halt = stop or threading.Event()
    if isinstance(source, Session):
        if source.path is None:
            raise Misuse("only a session on disk can be followed: give the path of its file")
        session, path = source, source.path
    else:
        path = _place(source)
        session = Session(FileSource(path)) if os.path.exists(path) else None
    follower = Follower(session) if session is not None else None
    for touched in ticks(path, halt, heartbeat):
        if follower is None:
            if not os.path.exists(path):
                continue
            follower = Follower(Session(FileSource(path)), fresh=True)
        yield from follower.changes(touched)
    if follower is not None:
        yield from follower.finish()


def _place(source: str | Path) -> Path:
    """The path that a name stands for, also where nothing is there yet."""
    path = layout.expand_path(source)
    return path if isinstance(source, Path) or "/" in source or "\\" in source or os.path.exists(path) else find(source)


def ticks(path: Path, stop: threading.Event, heartbeat: int) -> Iterator[set[Path]]:
    """The absolute paths that changed each time something did, and nothing at each heartbeat."""
    path = path.absolute()
    while not os.path.isdir(path.parent):
        if stop.wait(heartbeat / 1000):
            return
    beginnings = (str(path), str(path.with_suffix("")), str(path.parent / layout.AGENT_PREFIX))

    def matters(_: object, changed: str) -> bool:
        return changed.startswith(beginnings)

    with suppress(RuntimeError, OSError):  # no more watches to be had, a folder that is gone, a name that is no UTF-8
        while not stop.is_set():
            yield set()
            folders = _folders(path)
            watched = watch(
                *folders,
                recursive=False,
                watch_filter=matters,
                debounce=STEP,
                step=STEP,
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
    """The folders in which files of a session can appear: the one that it lies in, its own, and those of agents."""
    own = path.with_suffix("")
    below = (folder for folder, _, _ in os.walk(own / layout.SUBAGENTS))
    return {str(path.parent), *([str(own)] if os.path.isdir(own) else []), *below}


class Follower:
    """Keeps a session up with its files."""

    def __init__(self, session: Session, *, fresh: bool = False) -> None:
        self.session = session
        self._beats = 0
        self._looks = 0
        session.transcripts = []  # what is printed now is not in them yet
        if fresh:
            session.loader = session.new_loader()
        _ = session.agents

    def changes(self, touched: set[Path]) -> Iterator[Change]:
        """What has come since, in the main file first, then in each agent's."""
        yield from self._main()
        for loader in list(self.session.agent_loaders.values()):
            yield from self._agent(loader)
        self._beats += 1
        sources = (self.session.source, *(loader.source for loader in self.session.agent_loaders.values()))
        if not touched <= {source.path.absolute() for source in sources if source.path is not None}:
            self._looks = AFTERLOOKS
        if self._looks or self._beats % RESCAN == 0:
            self._looks = max(0, self._looks - 1)
            yield from self._new_agents()

    def finish(self) -> Iterator[Change]:
        """What a last line without end holds, once nothing more is waited for."""
        before = len(self.session.records)
        if self.session.loader.grows():
            self.session.loader.load()
        yield from self._told(self.session.loader.conversation, before)

    def _main(self) -> Iterator[Change]:
        session = self.session
        before = len(session.records)
        if session.loader.grows():
            session.loader.take_in()
            yield from self._told(session.loader.conversation, before)
            return
        path = session.path
        if path is None or not os.path.exists(path):
            return
        old = session.loader.conversation
        session.source = FileSource(path)
        session.loader = session.new_loader()
        session.loader.take_in()
        same = _shared(old, session.loader.conversation)
        yield Change("rewritten", line=old.records.line(same) if same < len(old.records) else len(session.lines) + 1)
        yield from self._told(session.loader.conversation, same)

    def _agent(self, loader: Loader) -> Iterator[Change]:
        if not loader.grows():
            path = loader.source.path
            if path is None or not os.path.exists(path):
                return
            agent = loader.conversation
            loader = load_agent(agent.id, path) if isinstance(agent, Agent) else loader
            self.session.agent_loaders[path.stem.removeprefix(layout.AGENT_PREFIX)] = loader
            self.session.agents_changed()
            yield Change("rewritten", line=1, agent=_as_agent(loader))
            yield from self._told(loader.conversation, 0)
            return
        before = len(loader.conversation.records)
        loader.take_in()
        yield from self._told(loader.conversation, before)

    def _new_agents(self) -> Iterator[Change]:
        session = self.session
        for id, path in session.agent_files().items():
            known = session.agent_loaders.get(id)
            if known is None:
                with suppress(Unreadable, NotFound):  # gone again, or closed to us: the rest goes on
                    loader = session.agent_loaders[id] = load_agent(id, path, torn=False)
                    session.agents_changed()
                    yield from self._told(loader.conversation, 0)
            elif (agent := _as_agent(known)) is not None and not agent.meta and (meta := layout.agent_meta(path)):
                agent.meta = meta  # written after the agent's first lines
                session.agents_changed()

    def _told(self, conversation: Conversation, start: int) -> Iterator[Change]:
        if start < len(conversation.records):
            self.session.agents_changed()
            _ = self.session.agents
        for index in range(start, len(conversation.records)):
            yield conversation.change(index)


def _shared(old: Conversation, new: Conversation) -> int:
    """How many records stand in the same place in both."""
    count = min(len(old.records), len(new.records))
    same = next((n for n in range(count) if old.records.place(n) != new.records.place(n)), count)
    return same - 1 if same and same == len(new.records) == len(old.records) else same


def _as_agent(loader: Loader) -> Agent | None:
    return loader.conversation if isinstance(loader.conversation, Agent) else None
