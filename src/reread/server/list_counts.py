"""What the list says of each session besides its header: from facts; a child process derives those that are missing.

Tokens, cost and lines are those of `usage` and `stats` by session: what a fork copied is the original's. Its turns are
those of its file, which `stats` says of that session alone: a fork that only copied is not empty.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from reread.accounting.billing import SYNTHETIC
from reread.accounting.prices import current_prices
from reread.base.worker import Say, Worker, WorkerLost
from reread.disk.derived_cache import known_path
from reread.errors import RereadError
from reread.facts.counting import count_all
from reread.facts.schema import AGENT, FILE, ORIGIN, SESSION, TURN
from reread.facts.scope import LAST_FAILED, Scope
from reread.facts.sessions import remembering
from reread.facts.store import FactStore, answered
from reread.facts.views import RESPONSES
from reread.reader.schema import Figures
from reread.reports.report import Row
from reread.reports.stats_report import CALLED
from reread.reports.tally import Tally
from reread.reports.usage_report import USED, usage_figures, usage_of
from reread.session.session_pass import SessionPass
from reread.storage.kept_file import file_exists

PATIENCE_SECONDS = 2.0
"""For how long sessions are read before what is known is said."""
PAUSE_FACTOR, LONGEST_PAUSE = 20.0, 30.0
"""Sessions that keep growing are counted again after this many times as long as the last count took, in seconds."""


class RowCounts(msgspec.Struct):
    """Turns, agents, changed lines, models and usage of a session, and whether its last command failed."""

    turns: int
    agents: int
    agent_types: list[str]
    lines_added: int
    lines_removed: int
    models: list[str]
    failed: bool
    figures: Figures


class CountJob(NamedTuple):
    """The sessions to count: files, and those below folders."""

    roots: Sequence[Path] | None
    paths: Sequence[Path] = ()
    first: Sequence[Path] = ()
    """Those to read before all others."""


class ListCounts(NamedTuple):
    """The counts of the sessions that were read, and how many are left."""

    counts: dict[Path, RowCounts]
    left: int


def count_list(job: CountJob, patience: float = PATIENCE_SECONDS) -> ListCounts:
    """Read sessions for so many seconds, those that are wanted first and then the newest, and count all that are known.

    The client's warm-up agents are not counted.
    """
    sources = [*filter(file_exists, job.paths), *(job.roots or ())] if job.paths else []
    if job.paths and not sources:
        return ListCounts({}, 0)
    scope = Scope(*sources, root=job.roots)
    with SessionPass() as sessions:
        for path in job.first:
            sessions.fill(path)

    def ask(store: FactStore) -> ListCounts:
        with remembering({}, seconds=patience if store.is_lasting else math.inf) as reading:
            count_all(store, scope)
        return ListCounts(_counts(store, scope), reading.left)

    return answered(ask)


def _counts(store: FactStore, scope: Scope) -> dict[Path, RowCounts]:
    found = Tally(store, scope, current_prices()).by(("session",), USED, CALLED)
    models, agents = dict[str, list[str]](), dict[int, dict[str, str | None]]()
    for session, model in store.rows(
        f"SELECT session, model FROM {RESPONSES} WHERE responses > 0 AND model IS NOT NULL AND model <> '{SYNTHETIC}'"
        " GROUP BY session, model ORDER BY min(agent IS NOT NULL), min(time)"
    ):
        models.setdefault(session, []).append(model)
    for file, agent, kind in store.rows(f"SELECT file, agent, type FROM {AGENT.name} WHERE NOT is_warmup"):
        agents.setdefault(file, {})[agent] = kind
    failed = {session for (session,) in store.rows(LAST_FAILED)}
    counts: dict[Path, RowCounts] = {}
    turns = f"SELECT count(*) FROM {TURN.name} t JOIN {ORIGIN.name} o ON o.id = t.origin WHERE o.file = s.file"
    for path, file, id, turns_of_file in store.rows(
        f"SELECT f.path, s.file, s.session, ({turns}) FROM chosen c JOIN {SESSION.name} s ON s.file = c.file"
        f" JOIN {FILE.name} f ON f.id = s.file"
    ):
        figures, started = found.get((id,), {}), agents.get(file, {})
        counts[Path(known_path(path))] = RowCounts(
            turns=turns_of_file,
            agents=len(started),
            agent_types=sorted({kind for kind in started.values() if kind}),
            lines_added=figures.get("lines_added") or 0,
            lines_removed=figures.get("lines_removed") or 0,
            models=models.get(id, []),
            failed=id in failed,
            figures=Figures.of(usage_of(Row({}, usage_figures(figures)))),
        )
    return counts


class ListCounter:
    """Has the sessions of the list counted in a child process whenever it is asked."""

    def __init__(
        self,
        on_counted: Callable[[Mapping[Path, RowCounts]], None],
        *,
        roots: Sequence[Path] | None = None,
        paths: Sequence[Path] = (),
    ) -> None:
        self._on_counted = on_counted
        self._job = CountJob(roots, paths)
        self._condition = threading.Condition()
        """Guards what follows; notified when it changes."""
        self._is_due = False
        self._earliest = 0.0
        """The moment before which nothing is counted again."""
        self._pauses = 0
        """The number of blocks that pause counting now."""
        self._child: Worker | None = None
        self._closed = False
        threading.Thread(target=self._run, name="counter", daemon=True).start()

    def request(self, first: Sequence[Path] | None = None) -> None:
        """Count again; at once, and from now on these sessions before all others, if they are given."""
        with self._condition:
            self._is_due = True
            if first is not None:
                self._job, self._earliest = self._job._replace(first=first), 0.0
            self._condition.notify_all()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Pause counting during the block; blocks may overlap."""
        with self._condition:
            self._pauses += 1
            self._signal("SIGSTOP")
        try:
            yield
        finally:
            with self._condition:
                self._pauses -= 1
                if not self._pauses:
                    self._signal("SIGCONT")
                    self._condition.notify_all()

    def _signal(self, name: str) -> None:
        """Signal the child; without such signals (Windows) it finishes what it counts."""
        number = getattr(signal, name, None)
        if number is not None and self._child is not None:
            self._child.signal(number)

    def close(self) -> None:
        """Stop counting and kill the child."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
            if self._child is not None:
                self._child.kill()

    def _run(self) -> None:
        while (child := self._next_child()) is not None:
            began = time.monotonic()
            counted = _ask(child, self._job)
            if self._closed:
                break
            if counted is not None:
                self._on_counted(counted.counts)
            with self._condition:
                if counted is not None and counted.left:
                    self._is_due = True
                else:
                    took = time.monotonic() - began
                    self._earliest = time.monotonic() + min(LONGEST_PAUSE, PAUSE_FACTOR * took)
        if self._child is not None:
            self._child.close()

    def _next_child(self) -> Worker | None:
        """Wait until something is to be counted, and return the child that does it; None once closed."""
        with self._condition:
            while not self._closed and (self._pauses or not self._is_due or time.monotonic() < self._earliest):
                is_late = self._is_due and not self._pauses
                self._condition.wait(max(0.0, self._earliest - time.monotonic()) if is_late else None)
            if self._closed:
                return None
            self._is_due = False
            if self._child is None or not self._child.is_running:
                self._child = Worker(f"{__name__}:count_each", nice=True)
            return self._child


def _ask(child: Worker, job: CountJob) -> ListCounts | None:
    """Return what a child counts; None if it cannot, or is lost."""
    try:
        return child.ask(job)
    except WorkerLost:
        return None


def count_each(jobs: Iterator[CountJob], say: Say) -> None:
    """Count what each job asks for; None if that cannot be."""
    for job in jobs:
        try:
            counted: ListCounts | None = count_list(job)
        except (RereadError, OSError):
            counted = None
        say(counted)
