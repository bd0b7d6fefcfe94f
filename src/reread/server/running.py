"""The sessions that run now, for the browsers that listen: they are looked at only while there is one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from reread.base.paths import path_name
from reread.reader.library_schema import LibraryNow, NowSession
from reread.reader.schema import TITLE
from reread.render.format import heading
from reread.render.now_table import activity_text, figures_text, summary_text
from reread.reports.now_report import LiveSession, NowWatch, ticks_of
from reread.server.event_bus import EventBus
from reread.session.activity import ENDED

LISTENING_SECONDS = 0.5
"""How soon sessions are looked at once a browser listens."""
NOTHING = LibraryNow(summary="", waiting=0, sessions=[])


class RunningSessions:
    """The sessions that run, published as they change."""

    def __init__(self, key_of: Callable[[str], str | None], roots: Sequence[Path], *, enabled: bool) -> None:
        self.bus: EventBus[None] = EventBus()
        self._key_of = key_of
        self._roots = list(roots) or None
        self._enabled = enabled
        self._stop = threading.Event()
        self._watch = NowWatch(self._roots)
        self._lock = threading.Lock()
        self._now = NOTHING

    def start(self) -> None:
        """Look at what runs whenever a browser listens, in the background."""
        if self._enabled:
            threading.Thread(target=self._keep_looking, name="now", daemon=True).start()

    def close(self) -> None:
        """Stop looking."""
        self._stop.set()

    def now(self) -> LibraryNow:
        """Return what runs now."""
        return self._look(None) if self._enabled else NOTHING

    def _keep_looking(self) -> None:
        while not self._stop.wait(LISTENING_SECONDS):
            if self.bus.listeners:
                self._publish_while_heard()

    def _publish_while_heard(self) -> None:
        for touched in ticks_of(self._watch, self._stop):
            if not self.bus.listeners:
                return
            before = self._now
            if self._look(touched) != before:
                self.bus.publish("now", self._now)

    def _look(self, touched: set[str] | None) -> LibraryNow:
        with self._lock:
            live = [one for one in self._watch.update(touched) if one.state != ENDED]
            waiting = sum(one.waits for one in live)
            summary = summary_text(live) if live else ""
            self._now = LibraryNow(summary=summary, waiting=waiting, sessions=list(map(self._row, live)))
            return self._now

    def _row(self, one: LiveSession) -> NowSession:
        return NowSession(
            id=one.session,
            key=self._key_of(one.path) if one.path is not None else None,
            title=heading(one.title or one.session, TITLE),
            project=path_name(one.project),
            git_branch=one.git_branch,
            state=one.state,
            since=one.since,
            activity=heading(activity_text(one), TITLE),
            figures=figures_text(one),
        )
