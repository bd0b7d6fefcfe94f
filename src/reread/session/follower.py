"""Keep a session up to date while it is written: growing, rewritten, replaced and new files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

from watchfiles import watch

from reread.disk import layout
from reread.disk.agent_files import agent_meta
from reread.errors import NotFound, Unreadable
from reread.model.conversation import Agent, Conversation
from reread.session.changes import Change, change_of
from reread.session.loader import Loader
from reread.session.session import Session, threads_of
from reread.session.threads import load_agent
from reread.storage.kept_file import file_exists

STEP_MS = 5
"""How long the watcher waits for more changes before it reports."""
HEARTBEAT_MS = 500
"""After this long the files are checked even if the system reported nothing."""
RESCAN_TICKS = 20
"""Every so many ticks, agents' files are looked for even if the system reported none."""
RESCANS_AFTER_CHANGE = 3
"""For so many ticks after something new appeared beside the session, agents' files are looked for: what is written
into a folder before the system watches it is not reported."""


def ticks(path: Path, stop: threading.Event, heartbeat: int) -> Iterator[set[Path]]:
    """Yield the absolute paths that changed each time something did, and an empty set at each heartbeat."""
    path = path.absolute()
    while not os.path.isdir(path.parent):
        if stop.wait(heartbeat / 1000):
            return
        yield set()
    prefixes = (str(path), str(path.with_suffix("")), str(path.parent / layout.AGENT_PREFIX))

    touched = folder_ticks(
        lambda: _folders(path),
        stop,
        heartbeat=heartbeat,
        recursive=False,
        matters=lambda _, changed: changed.startswith(prefixes),
        moves=lambda changed: changed != {str(path)},
    )
    yield from (set(map(Path, changed)) for changed in touched)


def folder_ticks(
    folders_now: Callable[[], Collection[str]],
    stop: threading.Event,
    *,
    heartbeat: int,
    step: int = STEP_MS,
    recursive: bool = True,
    matters: Callable[[object, str], bool] | None = None,
    moves: Callable[[set[str]], bool] = lambda _: True,
) -> Iterator[set[str]]:
    """Yield the paths that changed below some folders, and an empty set at each heartbeat.

    The folders are asked for anew after changes that may have made or removed one, as `moves` says.
    """
    with suppress(RuntimeError, OSError):  # out of watches, a folder is gone, or its name is not UTF-8
        while not stop.is_set():
            yield set()
            folders = folders_now()
            if not folders:
                stop.wait(heartbeat / 1000)
                continue
            watched = watch(
                *folders,
                recursive=recursive,
                watch_filter=matters,
                debounce=step,
                step=step,
                stop_event=stop,
                rust_timeout=heartbeat,
                yield_on_timeout=True,
                ignore_permission_denied=True,
            )
            with closing(watched):
                for changes in watched:
                    touched = {changed for _, changed in changes}
                    yield touched
                    if moves(touched) and folders_now() != folders:
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

    def __init__(self, session: Session, *, seen: Mapping[str, int] | None = None) -> None:
        """Follow a session from what it holds; or, with `seen`, from that many bytes of each of its files."""
        self.session = session
        self._threads = threads_of(session)
        self._seen = dict(seen or {})
        self._ticks = 0
        self._rescans = 0
        self._threads.stop_merging()
        if seen is not None:
            self._threads.restart()
            self._threads.set_agents({})
            self._rescans = RESCANS_AFTER_CHANGE
        _ = session.agents

    def sizes(self) -> dict[str, int]:
        """Return how many bytes of each of its files were read."""
        loaders = (self._threads.loader, *self._threads.agent_loaders.values())
        return {str(loader.source.path): loader.size for loader in loaders}

    def changes(self, touched: set[Path]) -> Iterator[Change]:
        """Return what is new, in the main file first, then in each agent's."""
        yield from self._main_changes()
        for id, loader in self._threads.agent_loaders.items():
            yield from self._agent_changes(id, loader)
        self._ticks += 1
        sources = (
            self._threads.source,
            *(loader.source for loader in self._threads.agent_loaders.values()),
        )
        if not touched <= {source.path.absolute() for source in sources if source.path is not None}:
            self._rescans = RESCANS_AFTER_CHANGE
        if self._rescans or self._ticks % RESCAN_TICKS == 0:
            self._rescans = max(0, self._rescans - 1)
            yield from self._new_agents()

    def finish(self) -> Iterator[Change]:
        """Return what a last line without an end holds, once nothing more is expected."""
        if self._threads.loader.can_continue():
            yield from self._changes(self._threads.loader, self._threads.load_rest())

    def _main_changes(self) -> Iterator[Change]:
        session = self.session
        if self._threads.loader.can_continue():
            yield from self._changes(self._threads.loader, self._threads.load_lines())
            return
        if session.path is None or not file_exists(session.path):
            return
        self._seen.pop(str(session.path), None)
        old, new = self._threads.reload(), self._threads.loader.conversation
        same = _shared(old, new)
        line = old.records.line(same) if same < len(old.records) else len(session.lines) + 1
        yield Change("rewritten", line=line, session=session)
        yield from self._changes(self._threads.loader, range(same, len(new.records)))

    def _agent_changes(self, id: str, loader: Loader) -> Iterator[Change]:
        if loader.can_continue():
            yield from self._changes(loader, loader.load_lines())
            return
        path = loader.source.path
        if path is None or not file_exists(path):
            return
        self._seen.pop(str(path), None)
        fresh = load_agent(id, path, torn=False)
        self._threads.set_agent(id, fresh)
        yield Change("rewritten", line=1, agent=_agent(fresh), session=self.session)
        yield from self._changes(fresh, range(len(fresh.conversation.records)))

    def _new_agents(self) -> Iterator[Change]:
        for id, path in self._threads.agent_files().items():
            known = self._threads.agent_loaders.get(id)
            if known is None:
                with suppress(Unreadable, NotFound):  # gone again, or not readable: the rest continues
                    loader = load_agent(id, path, torn=False)
                    self._threads.set_agent(id, loader)
                    yield from self._changes(loader, range(len(loader.conversation.records)))
            elif (agent := _agent(known)) is not None and not agent.meta and (meta := agent_meta(path)):
                agent.meta = meta
                self._threads.unlink_agents()

    def _changes(self, loader: Loader, indexes: range) -> Iterator[Change]:
        conversation = loader.conversation
        seen = loader.lines.count_within(self._seen.get(str(loader.source.path), 0))
        if indexes:
            self._threads.unlink_agents()
            _ = self.session.agents
        for index in indexes:
            if conversation.records.line(index) > seen and not conversation.records.is_dropped(index):
                yield change_of(conversation, index, self.session)


def _shared(old: Conversation, new: Conversation) -> int:
    """Count the records at the same position in both."""
    count = min(len(old.records), len(new.records))
    same = next((n for n in range(count) if old.records.position(n) != new.records.position(n)), count)
    return same - 1 if same and same == len(new.records) == len(old.records) else same


def _agent(loader: Loader) -> Agent | None:
    return loader.conversation if isinstance(loader.conversation, Agent) else None
