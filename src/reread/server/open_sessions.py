"""The sessions that the server has open: read once, locked while in use, followed while a browser listens."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool

from reread.base import gc_pause
from reread.disk.sources import FileSource, file_fingerprint, is_being_written
from reread.disk.transcript_file import stat_transcript
from reread.errors import NotFound, RereadError
from reread.reader import schema
from reread.reader.session_view import SessionView
from reread.reader.thread_view import Steps
from reread.server.event_bus import EventBus, Listener
from reread.session.changes import Change
from reread.session.follower import HEARTBEAT_MS, Follower, ticks
from reread.session.session import Session
from reread.session.threads import SessionThreads
from reread.storage.kept_file import file_exists

T = TypeVar("T")


class ThreadLimit:
    """Threads for one purpose: more work than `most` waits, and work for other purposes does not wait for it."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, function: Callable[..., T], *args: object) -> T:
        """Call a function in a thread and return its result."""
        async with self._free:
            return await run_in_threadpool(function, *args)


MAX_IDLE = 4
"""How many sessions without listeners stay open."""
REFRESH_SECONDS = 1.0
"""A session without listeners is checked for changes at most this often."""
THREADS = 6
"""How many requests about one session are answered at once."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.01
"""Seconds between two looks at whether a file has been read."""
SLICE_SECONDS = 0.02
"""How long a slice of long work holds the lock of a session."""
PAUSE_SECONDS = 0.001
"""The pause between two slices. Without one, the same thread gets the lock again before those that wait for it."""

PauseCounting = Callable[[], AbstractContextManager[None]]
"""Returns a context manager that pauses background counting."""


class ThreadKey(NamedTuple):
    """The thread on a listener's screen: an agent or the main thread, and a branch of it."""

    agent: str | None = None
    branch: int | None = None


class OpenSession:
    """One session, read by a background thread as soon as the object exists."""

    def __init__(
        self, key: str, path: Path, roots: Sequence[Path] | None = None, pause_counting: PauseCounting = nullcontext
    ) -> None:
        self.key = key
        self.path = path
        self._roots = roots
        self._pause_counting = pause_counting
        self.bus: EventBus[ThreadKey] = EventBus(self._stop_following)
        self.lock: AbstractContextManager[bool] = threading.RLock()
        self.threads: ThreadLimit = ThreadLimit(THREADS)
        """For requests about this session."""
        self.last_used: float = time.monotonic()
        self.bytes_read: int = 0
        self._loaded = threading.Event()
        self._error: RereadError | None = None
        self._view: SessionView | None = None
        self._follower: Follower | None = None
        self._refreshed = 0.0
        self._file_state: object = None
        self._stop: threading.Event | None = None
        """Ends the thread that follows the file; None if there is none."""
        self._branches: dict[ThreadKey, int] = {}
        """The branch that each listener's thread was last reported on."""
        self._live = False
        threading.Thread(target=self._load, name=f"open {key}", daemon=True).start()

    @property
    def has_listeners(self) -> bool:
        """True if a browser listens to this session."""
        return bool(self.bus.listeners)

    @property
    def is_loaded(self) -> bool:
        """True once the file has been read, or could not be."""
        return self._loaded.is_set()

    async def loaded(self) -> None:
        """Wait until the file has been read; no thread waits with it."""
        pause = SHORTEST_PAUSE
        while not self.is_loaded:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    @property
    def failed(self) -> bool:
        """True if the file could not be read; a later attempt may succeed."""
        return self._error is not None

    @property
    def progress(self) -> schema.OpeningProgress:
        """How many bytes of the file have been read."""
        try:
            size = stat_transcript(self.path).st_size
        except OSError:
            size = self.bytes_read
        return schema.OpeningProgress(read=self.bytes_read, size=size)

    def _load(self) -> None:
        try:
            with self._pause_counting(), gc_pause.gc_paused():
                self._view = self._read()
                self._view.timeline()
            gc_pause.freeze_heap()
            self._live = self._view.live
        except RereadError as error:
            self._error = error
        finally:
            self._loaded.set()

    def _read(self) -> SessionView:
        threads = SessionThreads(FileSource(self.path), roots=self._roots)
        threads.restore_fold()
        threads.load_lines(self._set_progress)
        if not is_being_written(self.path):
            threads.load_rest()  # includes a torn last line, which nobody will complete now
        self._file_state = file_fingerprint(self.path)
        session = Session(threads)
        if not threads.transcripts:
            self._follower = Follower(session)
        return SessionView(session, self.key, base_url=f"/api/sessions/{self.key}")

    def _set_progress(self, read: int) -> None:
        self.bytes_read = read

    @contextmanager
    def locked_view(self) -> Generator[SessionView]:
        """Wait until the file has been read, then yield the up-to-date view with the lock held."""
        self._loaded.wait()
        if self._error is not None:
            raise self._error
        with self.lock:
            self.last_used = time.monotonic()
            if self._view is None:
                raise NotFound(f"Cannot open {self.path}.", path=str(self.path))
            if self._stop is None and self.last_used - self._refreshed > REFRESH_SECONDS:
                self._refresh(set())
            yield self._view

    def run_in_slices(self, steps: Steps[T]) -> T:
        """Run long work to its result, releasing the lock between slices so that other requests are answered."""
        while True:
            with self.locked_view():
                until = time.monotonic() + SLICE_SECONDS
                try:
                    while time.monotonic() < until:
                        next(steps)
                except StopIteration as end:
                    return end.value
            time.sleep(PAUSE_SECONDS)

    def listen(self, listener: Listener[ThreadKey]) -> None:
        """Add a listener, send it the current state, and follow the file while there are listeners."""
        with self.locked_view() as view:
            thread = listener.topic
            timeline = view.timeline(thread.agent, thread.branch)
            self._branches[thread] = timeline.branch
            self.bus.listeners.add(listener)
            listener.send("open", self._update(thread, [], False, first=len(timeline)))
            if self._stop is None:
                self._stop = threading.Event()
                target = self._follow
                threading.Thread(target=target, args=(self._stop,), name=f"follow {self.key}", daemon=True).start()

    def close(self) -> None:
        """Stop following the file and end every stream."""
        self._stop_following()
        self.bus.close()

    def _follow(self, stop: threading.Event) -> None:
        for touched in ticks(self.path, stop, HEARTBEAT_MS):
            if stop.is_set():
                return
            with self.lock:
                self._refresh(touched)

    def _stop_following(self) -> None:
        stop, self._stop = self._stop, None
        if stop is not None:
            stop.set()

    def _refresh(self, touched: set[Path]) -> None:
        """Read what was appended to the files, and send the listeners an update if something changed."""
        if self._view is None:
            return
        self._refreshed = time.monotonic()
        if self._follower is None:  # a captured conversation, merged with its transcripts until it grows
            if file_fingerprint(self.path) == self._file_state:
                return
            self._follower = Follower(self._view.session)
        changed, rewritten, agents = False, False, dict[str, None]()
        with suppress(RereadError):  # a file that vanishes meanwhile is read at the next refresh
            for change in self._follower.changes(touched):
                changed = True
                rewritten = rewritten or _is_rewrite(change)
                if change.agent is not None:
                    agents[change.agent.id] = None
        gone, live = not file_exists(self.path), self._view.live
        if changed:
            self._view.update()
        if rewritten:
            gc_pause.refreeze_heap()
        if changed or gone != self._view.gone or live != self._live:
            self._view.gone, self._live = gone, live
            for listener in list(self.bus.listeners):
                listener.send("update", self._update(listener.topic, list(agents), rewritten))

    def _update(
        self, thread: ThreadKey, agents: list[str], rewritten: bool, first: int | None = None
    ) -> schema.TimelineUpdate:
        """Describe a thread's timeline, and from which item on it differs from the last update."""
        assert self._view is not None
        view = self._view
        try:
            timeline = view.timeline(thread.agent, thread.branch)
        except NotFound:  # the file was rewritten without this thread
            thread, rewritten = ThreadKey(), True
            timeline = view.timeline()
        before = self._branches.get(thread, timeline.branch)
        self._branches[thread] = timeline.branch
        if rewritten:
            first = 0
        elif before != timeline.branch:
            first = view.thread(thread.agent).shared_items(before, timeline.branch)
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


def _is_rewrite(change: Change) -> bool:
    return change.kind == "rewritten" and change.agent is None


class OpenSessions:
    """The open sessions by key; those without listeners are closed, the least recently used first.

    A session that is still being read is not closed: the reading would go on, and the next request would start another.
    """

    def __init__(
        self,
        find: Callable[[str], Path],
        roots: Sequence[Path] | None = None,
        pause_counting: PauseCounting = nullcontext,
    ) -> None:
        self._find = find
        self._roots = roots
        self._pause_counting = pause_counting
        self._sessions: dict[str, OpenSession] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> OpenSession:
        """Return the session with this key, opening it if needed; raise NotFound if the library does not know it."""
        path = self._find(key)
        with self._lock:
            session = self._sessions.get(key)
            if session is None or session.path != path or session.failed:
                session = self._sessions[key] = OpenSession(key, path, self._roots, self._pause_counting)
                surplus = self._remove_idle(key)
            else:
                surplus = []
        if surplus:
            while surplus:
                surplus.pop().close()
            gc_pause.refreeze_heap()  # nothing here refers to them now: they would stay until the next one is closed
        return session

    def __len__(self) -> int:
        return len(self._sessions)

    def _remove_idle(self, newest: str) -> list[OpenSession]:
        """Remove the sessions that are not to stay open, and return them."""
        idle = [s for s in self._sessions.values() if s.is_loaded and not s.has_listeners and s.key != newest]
        idle.sort(key=lambda session: session.last_used)
        surplus = idle[: max(0, len(idle) + 1 - MAX_IDLE)]
        for session in surplus:
            del self._sessions[session.key]
        return surplus

    def close(self) -> None:
        """Close every session."""
        for session in list(self._sessions.values()):
            session.close()
