"""The sessions that run now: those of this machine that work, wait, are idle or have just ended.

The registry of the client names what runs; sessions that it does not name are found by the processes of clients, or,
where the system does not tell those, by what was written lately. Each is read once and then followed, and while nothing
changes only the registry's folders and the processes are looked at.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from reread.accounting.prices import current_prices
from reread.base.paths import normalize_folder
from reread.disk import layout
from reread.disk.agent_files import session_of
from reread.disk.processes import ClientProcesses, Process
from reread.disk.registry import FOLDER, RunningSession, running_sessions
from reread.disk.sources import FileSource
from reread.errors import NotFound, Unreadable
from reread.facts.counting import count_used
from reread.facts.scope import Scope
from reread.facts.store import FactStore, SharedStore
from reread.facts.views import RESPONSES
from reread.reports.tally import Tally, total_of
from reread.reports.usage_report import USED, usage_figures
from reread.session.activity import DIED, ENDED, STATES, WAITING, Activity, activity_of
from reread.session.context_window import ContextFill, ContextGauge
from reread.session.follower import Follower, folder_ticks
from reread.session.session import Session, threads_of
from reread.storage.kept_file import stat_file
from reread.storage.user_paths import is_mirror

SHOWN = {ENDED: timedelta(minutes=10), DIED: timedelta(days=1)}
"""How long sessions are shown that no longer run."""
ELSEWHERE = timedelta(days=1)
"""How old the newest state of another machine's session may be."""
SUFFIX = ".jsonl"
HOUR = timedelta(hours=1)
LEAST_TIME = timedelta(minutes=5)
"""A session is not taken to go on as it did in less time than this."""
TICK_MS, STEP_MS = 700, 50
"""How often processes are looked at, and how long changes of files are gathered."""
SWEEP_SECONDS = 60.0
"""How often all folders are searched, even if the system reported nothing; without reports from the system, too."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]")
"""Characters that the client replaces in the path of a folder to name that of its sessions."""


class LiveSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that runs, or has just ended."""

    session: str
    """Its id."""
    path: str | None
    """Its transcript; None if there is none yet."""
    state: str
    """working, waiting, idle, ended or died."""
    since: datetime | None
    """When it entered that state."""
    waiting_for: str | None = None
    """permission, answer, or the client's own words."""
    call: str | None = None
    """The call that it works on, or that waits, in one line."""
    tool: str | None = None
    """The tool of that call."""
    inferred: bool = False
    """True if the client does not say so, and the end of the transcript does."""
    title: str = ""
    project: str = ""
    git_branch: str | None = None
    model: str | None = None
    turn: int | None = None
    """The number of the last turn."""
    context_tokens: int | None = None
    """Tokens in the context."""
    context_window: int | None = None
    """How many tokens the context can hold."""
    cost_usd: float | None = None
    """Dollars so far; None if it has no price."""
    cost_per_hour_usd: float | None = None
    """Dollars in the last hour; of a session that is younger, at that rate."""
    pid: int | None = None
    machine: str | None = None
    """The machine that it ran on, if it comes from a bucket."""

    @property
    def waits(self) -> bool:
        """True if it waits for a person."""
        return self.state == WAITING


def now(*, root: str | Path | Sequence[str | Path] | None = None) -> list[LiveSession]:
    """Return the sessions that run now or have just ended, those that wait for someone first.

    With `root`, look into these folders or buckets instead. Of a bucket, there are the newest states of the sessions
    of each machine. What the client itself does not say is `inferred` from the end of the transcript.
    """
    return NowWatch(root).update()


def ticks_of(watch: NowWatch, stop: threading.Event) -> Iterator[set[str]]:
    """Yield the files that changed whenever something may be new, at least every second, until `stop` is set."""
    return folder_ticks(watch.folders, stop, heartbeat=TICK_MS, step=STEP_MS)


class NowWatch:
    """Keeps what runs now up to date."""

    def __init__(self, root: str | Path | Sequence[str | Path] | None = None) -> None:
        roots = [root] if isinstance(root, str | Path) else root
        self._transcripts = _Transcripts([layout.expand_path(one).absolute() for one in roots] if roots else None)
        self._registered: dict[str, _Registered] = {}
        """What is known of the sessions that the registry has named, by their ids."""
        self._open: dict[Path, _OpenSession] = {}
        self._processes = ClientProcesses()

    def folders(self) -> list[str]:
        """Return the folders to watch: those of sessions, and the registries."""
        registries = (config / FOLDER for config in self._transcripts.registries())
        return [str(folder) for folder in (*self._transcripts.folders(), *registries) if os.path.isdir(folder)]

    def update(self, touched: set[str] | None = None) -> list[LiveSession]:
        """Return what runs now; `touched` are the files that changed since, None if that is unknown."""
        with closing(SharedStore()) as self._store:
            return self._update(touched, datetime.now(UTC))

    def _update(self, touched: set[str] | None, clock: datetime) -> list[LiveSession]:
        for path in self._transcripts.sweep(touched):
            if path in self._open:
                self._open[path].stale = True
        registries = self._transcripts.registries()
        registered = [(one, one.alive) for config in registries for one in running_sessions(config)]
        known = [(one, alive) for one, alive in registered if alive is not None or _is_recent(one, clock)]
        entries = {one.session: (one, alive) for one, alive in sorted(known, key=_trust)}
        for id in entries:
            self._registered.setdefault(id, _Registered())
        for id, one in self._registered.items():
            one.left = None if id in entries else one.left or clock
            one.died = one.died if one.died is not None and _is_shown(one.died, clock) else None
        found = [live for entry, alive in entries.values() if (live := self._named(entry, alive, clock))]
        found += self._unnamed(entries.keys(), {entry.pid for entry, alive in registered if alive}, clock)
        for path in self._open.keys() - {Path(live.path) for live in found if live.path is not None}:
            self._open.pop(path).close()
        return sorted((live for live in found if _is_shown(live, clock)), key=_order)

    def _named(self, entry: RunningSession, alive: bool | None, clock: datetime) -> LiveSession | None:
        """Return a session that the registry names; None if it died so long ago that it need not be read."""
        known = self._registered[entry.session]
        path = self._transcripts.find(entry.session, known.path)
        known.path = path or known.path
        if alive is False and path is not None and _age(path, clock) > SHOWN[DIED]:
            return None
        session = self._session(path)
        activity = _activity(session, entry, alive, entry.pid, clock)
        known.died = activity if activity.state == DIED else None
        return self._live(entry.session, session, activity, clock, entry=entry)

    def _unnamed(self, named_ids: Set[str], pids: set[int], clock: datetime) -> Iterator[LiveSession]:
        """Yield the sessions that clients write and the registry does not name, those written lately, and the dead."""
        named = {self._registered[id].path for id in named_ids}
        clients = self._processes.by_folder()
        written = dict(self._written_by(clients or {}, pids, named))
        dead = {one.path for one in self._registered.values() if one.died and one.left and one.path is not None}
        for path in (*written, *((self._transcripts.recent | dead) - written.keys() - named)):
            kept, process, id = _is_kept(path.parent.parent), written.get(path), path.stem
            session = self._session(path)
            if session is None:
                continue
            known = self._registered.get(id, _Registered()) if process is None else _Registered()
            alive = False if known.left is not None else None if kept or clients is None else process is not None
            pid = process.pid if process is not None else None
            activity = known.died if known.left is not None else None
            activity = activity or _activity(session, None, alive, pid, clock)
            if known.left is not None and activity.state != DIED:
                activity = Activity(ENDED, known.left)
            yield self._live(id, session, activity, clock, pid=pid, machine=_machine(path.parent.parent))

    def _written_by(
        self, clients: dict[str, list[Process]], pids: set[int], named: set[Path | None]
    ) -> Iterator[tuple[Path, Process]]:
        """Yield the transcripts that clients write: the newest ones of the folder that each was started in."""
        for folder, processes in clients.items():
            left = [process for process in processes if process.pid not in pids]
            for modified, path in self._transcripts.newest_of(folder) if left else ():
                writer = next((process for process in left if process.started <= modified), None)
                if writer is not None and path not in named:
                    left.remove(writer)
                    yield path, writer

    def _session(self, path: Path | None) -> _OpenSession | None:
        """Return a session that is up to date with its files."""
        if path is None:
            return None
        known = self._open.get(path)
        try:
            if known is None:
                known = self._open[path] = _OpenSession(path)
            known.read()
        except (Unreadable, NotFound, OSError):  # gone again, or not readable
            self._open.pop(path, None)
            return None
        return known

    def _live(
        self,
        id: str,
        session: _OpenSession | None,
        activity: Activity,
        clock: datetime,
        *,
        entry: RunningSession | None = None,
        pid: int | None = None,
        machine: str | None = None,
    ) -> LiveSession:
        call = activity.call
        facts: dict[str, Any] = session.facts(clock, self._store) if session is not None else {}
        project = normalize_folder(entry.cwd) if entry is not None and entry.cwd else facts.get("project", "")
        name = entry.name if entry is not None else None
        facts |= {"title": facts.get("title") or name or "", "project": project}
        return LiveSession(
            session=id,
            path=str(session.path) if session is not None else None,
            state=activity.state,
            since=activity.since,
            waiting_for=activity.waiting_for,
            call=call.title if call is not None else None,
            tool=call.name if call is not None else None,
            inferred=activity.inferred,
            pid=entry.pid if entry is not None else pid,
            machine=machine,
            **facts,
        )


class _Registered(msgspec.Struct):
    """What is known of a session that the registry has named."""

    path: Path | None = None
    """Its transcript, once it was found."""
    left: datetime | None = None
    """When it left the registry."""
    died: Activity | None = None
    """What it did when its process was gone while the registry named it; another client removes the entry."""


class _Transcripts:
    """The transcripts that may matter: those that were written lately, and those that somebody asks for."""

    def __init__(self, roots: Sequence[Path] | None) -> None:
        self.recent: set[Path] = set()
        self._roots = roots
        self._unwritten: set[str] = set()
        """Session ids without a transcript, as long as no file changes."""
        self._newest: dict[str, list[tuple[float, Path]]] = {}
        """The transcripts of a project and when each was written, the newest first, as long as no file changes."""
        self._swept = -SWEEP_SECONDS

    def registries(self) -> list[Path]:
        """Return the folders with a registry: that of a projects folder is beside it."""
        return [config.parent if config.name == layout.PROJECTS else config for config in self._configs()]

    def folders(self) -> list[Path]:
        """Return the folders of sessions; raise NotFound if one that was named does not exist."""
        configs = self._roots or [config for config in layout.config_folders() if os.path.isdir(config)]
        return list(layout.session_folders(configs)) if configs else []

    def sweep(self, touched: set[str] | None) -> list[Path]:
        """Find those that were written lately: among all at times, else among those that were touched; return these."""
        whole = touched is None or time.monotonic() - self._swept >= SWEEP_SECONDS
        if whole:
            self._swept = time.monotonic()
            self.recent.clear()
        if whole or touched:
            self._unwritten.clear()
            self._newest.clear()
        changed: list[Path] = []
        for folder in self.folders() if whole or touched else ():
            oldest = time.time() - (ELSEWHERE if _is_kept(folder) else SHOWN[ENDED]).total_seconds()
            start = os.path.join(folder, "")
            for path in map(Path, _sessions_in(folder) if whole else (p for p in touched or () if p.startswith(start))):
                with suppress(OSError):
                    session = path if path.parent.parent == folder else session_of(path, folder)
                    if session is not None and session.suffix == SUFFIX:
                        if stat_file(session).st_mtime >= oldest:
                            self.recent.add(session)
                        changed.append(session)
        return changed

    def find(self, id: str, known: Path | None) -> Path | None:
        """Return the transcript of a session; None if there is none yet."""
        if (known is None or not os.path.exists(known)) and id not in self._unwritten:
            found = next((path for path in self.recent if path.stem == id), None)
            found = found or layout.find_transcript(id, self._configs())
            if found is None:
                self._unwritten.add(id)
            return found
        return known

    def newest_of(self, folder: str) -> list[tuple[float, Path]]:
        """Return the transcripts of sessions that were begun in a folder, and when each was written, newest first."""
        project = _NOT_IN_NAMES.sub("-", folder)
        if project not in self._newest:
            found: list[tuple[float, Path]] = []
            for sessions in self.folders():
                for path in (sessions / project).glob(f"*{SUFFIX}"):
                    with suppress(OSError):  # gone again
                        found.append((path.stat().st_mtime, path))
            self._newest[project] = sorted(found, reverse=True)
        return self._newest[project]

    def _configs(self) -> Sequence[Path]:
        return self._roots if self._roots is not None else layout.config_folders()


class _OpenSession:
    """A session that is followed, and what was computed from its files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stale = True
        """True if one of its files may have changed."""
        self._session = Session(FileSource(path))
        threads_of(self._session).restore_fold()
        threads_of(self._session).load_lines()  # a last line without an end is still being written
        self._follower = Follower(self._session)
        self._gauge = ContextGauge(self.conversation)
        self.started: set[str] = set()
        """The calls of shells that were seen to run."""
        self._facts: dict[str, Any] = {}
        self._spent: list[tuple[float, float]] = []
        """When responses came, in seconds since 1970, and what each cost."""

    @property
    def conversation(self) -> Any:
        return self._session.conversation

    def close(self) -> None:
        self._session.close()

    def read(self) -> None:
        """Read what was written since."""
        if self.stale:
            self.stale = False
            before = self.conversation
            for _ in self._follower.changes({self.path}):
                pass
            if before is not self.conversation:
                self._gauge = ContextGauge(self.conversation)
            self._facts.clear()

    def facts(self, clock: datetime, store: SharedStore) -> dict[str, Any]:
        """Return what does not depend on the client's state."""
        if not self._facts:
            session = self._session
            fill = self._fill()
            self._facts = {
                "title": session.title,
                "project": session.project,
                "git_branch": session.git_branches[-1] if session.git_branches else None,
                "model": fill.model if fill is not None else None,
                "turn": session.turns[-1].index if session.turns else None,
                "context_tokens": fill.tokens if fill is not None else None,
                "context_window": fill.window if fill is not None else None,
                "cost_usd": self._count(clock, store),
            }
        return {**self._facts, "cost_per_hour_usd": self._rate(clock)}

    def _fill(self) -> ContextFill | None:
        """Return the context after the last turn that has a response."""
        if not self._session.turns:
            return None
        for _ in self._gauge.measure():
            pass
        self._gauge.remeasure(self.conversation.messages[-2:])
        fills = self._gauge.fills(self._session.turns[-2:], current_prices())
        return next((fill for fill in reversed(fills) if fill.tokens is not None), None)

    def _count(self, clock: datetime, store: SharedStore) -> float | None:
        """Return what the session cost, and note what its responses of the last hour did."""
        scope = Scope(self._session)

        def ask(store: FactStore) -> float | None:
            count_used(store, scope)
            tally = Tally(store, scope, current_prices())
            oldest = int((clock - HOUR).timestamp() * 1000)
            costs = tally.costs(RESPONSES, "time", f"time >= {oldest}")
            self._spent = [(time / 1000, money.dollars or 0.0) for time, money in costs.items()]
            return usage_figures(total_of(tally.by((), USED).values()))["cost_usd"]

        return store.answer(ask)

    def _rate(self, clock: datetime) -> float | None:
        if self._facts.get("cost_usd") is None:
            return None
        started = self._session.started
        age = min(HOUR, max(LEAST_TIME, clock - started)) if started is not None else HOUR
        oldest = (clock - HOUR).timestamp()
        return round(sum(cost for when, cost in self._spent if when >= oldest) * (HOUR / age), 2)


def _activity(
    session: _OpenSession | None, entry: RunningSession | None, alive: bool | None, pid: int | None, clock: datetime
) -> Activity:
    conversation, started = (session.conversation, session.started) if session is not None else (None, None)
    return activity_of(conversation, entry, alive=alive, pid=pid, now=clock, started=started)


def _sessions_in(folder: Path) -> Iterator[str]:
    """Yield the transcripts of sessions, without those of agents."""
    if _is_kept(folder):
        paths = (path for path, _ in layout.jsonl_files(str(folder)))
        yield from (path for path in paths if session_of(Path(path), folder) == Path(path))
        return
    with suppress(OSError), os.scandir(folder) as projects:
        for project in projects:
            with suppress(OSError), os.scandir(project.path) as files:
                yield from (file.path for file in files if file.name.endswith(SUFFIX))


def _is_kept(folder: Path) -> bool:
    """True if sessions were kept in a folder, so that their processes are elsewhere or gone."""
    return layout.is_archive(folder.parent) or _machine(folder) is not None


def _machine(folder: Path) -> str | None:
    """Return the machine whose sessions a folder mirrors."""
    return folder.parent.name if is_mirror(folder.parent.parent) else None


def _is_recent(entry: RunningSession, clock: datetime) -> bool:
    """True if a client that cannot be asked from here has said something lately."""
    return entry.said is not None and clock - entry.said <= ELSEWHERE


def _trust(known: tuple[RunningSession, bool | None]) -> tuple[bool, datetime]:
    """Order the entries of one session: a process that runs goes before one that does not, then the newest."""
    entry, alive = known
    return alive is True, entry.said or datetime.min.replace(tzinfo=UTC)


def _age(path: Path, clock: datetime) -> timedelta:
    """Return how long ago a transcript was written; none if it is gone."""
    try:
        return clock - datetime.fromtimestamp(stat_file(path).st_mtime, UTC)
    except OSError:
        return timedelta()


def _is_shown(one: LiveSession | Activity, clock: datetime) -> bool:
    longest = SHOWN.get(one.state)
    return longest is None or one.since is None or clock - one.since <= longest


def _order(one: LiveSession) -> tuple[int, float, str]:
    return STATES.index(one.state), -(one.since.timestamp() if one.since is not None else 0), one.session
