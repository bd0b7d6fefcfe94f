"""Rooms: the sessions that are open, each with a lock, a desk, and a thread that follows it while someone watches."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from reread.base import gc_pause
from reread.disk.sources import FileSource, file_fingerprint, is_being_written
from reread.errors import NotFound, RereadError
from reread.model.conversation import Change
from reread.reader import schema
from reread.reader.session_view import SessionView
from reread.reader.steps import Steps
from reread.server.event_bus import EventBus, Listener
from reread.session.follower import HEARTBEAT, Follower, ticks
from reread.session.session import Session

OPEN_AT_ONCE = 4
"""How many sessions stay open that nobody watches."""
LOOK_AGAIN_SECONDS = 1.0
"""How old what is known of a session that nobody watches may be."""
SITTING_SECONDS = 0.02
"""How long work that takes long sits at a desk for which others wait."""
BREATH_SECONDS = 0.001
"""How long it then leaves the desk to them: who gives up a lock and wants it at once gets it before they do."""

T = TypeVar("T")
Undisturbed = Callable[[], AbstractContextManager[None]]
"""Begins a time in which other work rests."""


class ThreadKey(NamedTuple):
    """What a listener has on the screen."""

    agent: str | None = None
    branch: int | None = None


class OpenSession:
    """One open session."""

    def __init__(
        self, key: str, path: Path, roots: Sequence[Path] | None = None, undisturbed: Undisturbed = nullcontext
    ) -> None:
        self.key = key
        self.path = path
        self._roots = roots
        self._undisturbed = undisturbed
        self.bus: EventBus[ThreadKey] = EventBus(self._nobody_watches)
        self.lock = threading.RLock()
        self.used = time.monotonic()
        self.read = 0
        self._opened = threading.Event()
        self._fault: RereadError | None = None
        self._view: SessionView | None = None
        self._follower: Follower | None = None
        self._looked = 0.0
        self._state: object = None
        self._stop: threading.Event | None = None
        self._branches: dict[ThreadKey, int] = {}
        self._live = False
        threading.Thread(target=self._open, name=f"open {key}", daemon=True).start()

    @property
    def watched(self) -> bool:
        """Whether someone listens."""
        return bool(self.bus.listeners)

    @property
    def is_open(self) -> bool:
        """Whether the file has been read."""
        return self._opened.is_set()

    @property
    def failed(self) -> bool:
        """Whether the file could not be read; it may be back by now."""
        return self._fault is not None

    @property
    def progress(self) -> schema.OpeningProgress:
        """How far the file has been read."""
        try:
            size = self.path.stat().st_size
        except OSError:
            size = self.read
        return schema.OpeningProgress(read=self.read, size=size)

    def _open(self) -> None:
        try:
            with self._undisturbed(), gc_pause.gc_paused():
                self._view = self._read()
                self._view.timeline()
            gc_pause.freeze_heap()
            self._live = self._view.live
        except RereadError as fault:
            self._fault = fault
        finally:
            self._opened.set()

    def _read(self) -> SessionView:
        session = Session(FileSource(self.path), roots=self._roots)
        session.loader = session.new_loader()
        session.loader.take_in(self._note_progress)
        if not is_being_written(self.path):
            session.loader.load()  # a torn tail that nobody will finish
        self._state = file_fingerprint(self.path)
        if not session.transcripts:
            self._follower = Follower(session)
        return SessionView(session, self.key, address=f"/api/sessions/{self.key}")

    def _note_progress(self, read: int) -> None:
        self.read = read

    @contextmanager
    def viewing(self) -> Generator[SessionView]:
        """The desk, for as long as nobody else may sit at it; waits until the file has been read."""
        self._opened.wait()
        if self._fault is not None:
            raise self._fault
        with self.lock:
            self.used = time.monotonic()
            if self._view is None:
                raise NotFound(f"{self.path}: could not be opened", path=str(self.path))
            if self._stop is None and self.used - self._looked > LOOK_AGAIN_SECONDS:
                self._catch_up(set())
            yield self._view

    def finish(self, steps: Steps[T]) -> T:
        """The result of long work, done a little at a time: others come to the desk in between."""
        while True:
            with self.viewing():
                until = time.monotonic() + SITTING_SECONDS
                try:
                    while time.monotonic() < until:
                        next(steps)
                except StopIteration as end:
                    return end.value
            time.sleep(BREATH_SECONDS)

    # Following

    def watch(self, listener: Listener[ThreadKey]) -> None:
        """Follow the file for as long as someone listens; who begins to is told how it stands."""
        with self.viewing() as view:
            thread = listener.about
            timeline = view.timeline(thread.agent, thread.branch)
            self._branches[thread] = timeline.branch
            self.bus.listeners.add(listener)
            listener.tell("open", self._grown(thread, [], False, first=len(timeline)))
            if self._stop is None:
                self._stop = threading.Event()
                target = self._follow
                threading.Thread(target=target, args=(self._stop,), name=f"follow {self.key}", daemon=True).start()

    def _nobody_watches(self) -> None:
        stop, self._stop = self._stop, None
        if stop is not None:
            stop.set()

    def close(self) -> None:
        """Stop following, and end every stream."""
        self._nobody_watches()
        self.bus.close()

    def _follow(self, stop: threading.Event) -> None:
        self._opened.wait()
        for touched in ticks(self.path, stop, HEARTBEAT):
            if stop.is_set():
                return
            with self.lock:
                self._catch_up(touched)

    def _catch_up(self, touched: set[Path]) -> None:
        """Take in what the files have since, and tell those who watch."""
        if self._view is None:
            return
        self._looked = time.monotonic()
        if self._follower is None:  # a captured conversation, joined with its transcripts until it goes on
            if file_fingerprint(self.path) == self._state:
                return
            self._follower = Follower(self._view.session)
        changed, rewritten, agents = False, False, dict[str, None]()
        with suppress(RereadError):  # a file that vanishes while it is looked at is looked at again
            for change in self._follower.changes(touched):
                changed = True
                rewritten = rewritten or _is_rewritten(change)
                if change.agent is not None:
                    agents[change.agent.id] = None
        gone, live = not os.path.exists(self.path), self._view.live
        if changed:
            self._view.grow()
        if rewritten:
            gc_pause.refreeze_heap()
        if changed or gone != self._view.gone or live != self._live:
            self._view.gone, self._live = gone, live
            for listener in list(self.bus.listeners):
                listener.tell("grown", self._grown(listener.about, list(agents), rewritten))

    def _grown(
        self, thread: ThreadKey, agents: list[str], rewritten: bool, first: int | None = None
    ) -> schema.TimelineUpdate:
        assert self._view is not None
        view = self._view
        try:
            timeline = view.timeline(thread.agent, thread.branch)
        except NotFound:  # a rewritten file may have lost it
            thread, rewritten = ThreadKey(), True
            timeline = view.timeline()
        before = self._branches.get(thread, timeline.branch)
        self._branches[thread] = timeline.branch
        if rewritten:
            first = 0
        elif before != timeline.branch:
            first = view.thread(thread.agent).shared(before, timeline.branch)
        elif first is None:
            first = timeline.first_changed
        return schema.TimelineUpdate(
            stamp=view.stamp,
            branch=timeline.branch,
            items=len(timeline),
            turns=timeline.turns,
            first=first,
            live=self._live,
            agents=agents,
            rewritten=rewritten,
            gone=view.gone,
        )


def _is_rewritten(change: Change) -> bool:
    return change.kind == "rewritten" and change.agent is None


class OpenSessions:
    """The open sessions by key; those that nobody watches are closed, the one not used longest first."""

    def __init__(
        self,
        find: Callable[[str], Path],
        roots: Sequence[Path] | None = None,
        undisturbed: Undisturbed = nullcontext,
    ) -> None:
        self._find = find
        self._roots = roots
        self._undisturbed = undisturbed
        self._rooms: dict[str, OpenSession] = {}
        self._lock = threading.Lock()

    def room(self, key: str) -> OpenSession:
        """The room of a session that the library knows."""
        path = self._find(key)
        with self._lock:
            room = self._rooms.get(key)
            if room is None or room.path != path or room.failed:
                room = self._rooms[key] = OpenSession(key, path, self._roots, self._undisturbed)
                self._make_space(key)
            return room

    def __len__(self) -> int:
        return len(self._rooms)

    def _make_space(self, newest: str) -> None:
        idle = sorted((r for r in self._rooms.values() if not r.watched and r.key != newest), key=lambda r: r.used)
        left = idle[: max(0, len(idle) + 1 - OPEN_AT_ONCE)]
        for room in left:
            del self._rooms[room.key]
            room.close()
        if left:
            gc_pause.refreeze_heap()

    def close(self) -> None:
        """Close everything."""
        for room in list(self._rooms.values()):
            room.close()
