"""Advice from what sessions recorded, without a model: what to leave out, allow, mend or do differently."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from reread.accounting.billing import PICOS_PER_DOLLAR, sum_known
from reread.accounting.prices import current_prices
from reread.base.choices import DENIED, DONE, FAILED, AdviceKind, CacheBreakCause
from reread.base.text import plural
from reread.catalog.resolve import shell_name
from reread.disk import layout
from reread.disk.derived_cache import known_path
from reread.facts.clock import zone_time
from reread.facts.counting import count_all
from reread.facts.loaded import SERVER, SKILL, TOOL, server_of
from reread.facts.scope import Scope, ScopeOptions, session_name
from reread.facts.sessions import Progress
from reread.facts.store import FactStore, answered
from reread.facts.views import BREAKS, CALLS, RESPONSES, SHARES
from reread.reports.report import Row
from reread.reports.tally import Tally
from reread.storage.user_paths import reread_words

if TYPE_CHECKING:
    from reread.session.session import Session

CHARS_PER_TOKEN = 4
"""What a token of a definition is taken for: the API counts requests, not their parts."""
OFTEN = 3
"""Fewer failures, denials, breaks or sessions are no habit."""
MOST_PLACES = 5
"""So many places are named as evidence of each advice."""
CALL = ("path", "line", "turn", "agent", "tool", "state", "failure", "command", "skill")
OF_BEGINNING = ("since", "until", "project")
"""The options of a scope that choose sessions by where and when they began."""
BREAK = ("path", "line", "turn", "agent", "time", "cause", "tokens")
"""What advice needs of calls and cache breaks."""
EXPECTED_FAILURES = frozenset({"grep", "rg", "egrep", "fgrep", "diff", "cmp", "test", "[", "false", "which", "pgrep"})
"""Commands that fail to say no."""


class AdvicePlace(msgspec.Struct, frozen=True):
    """A session that a piece of advice comes from, and where in it."""

    session: str
    title: str
    line: int | None
    """None if it is the session as a whole."""
    turn: int | None
    command: str
    """What to type to see it."""


class Advice(msgspec.Struct, frozen=True):
    """One thing to do differently, with its evidence."""

    kind: AdviceKind
    subject: str
    """What it is about: a server, tools, skills, a command, a tool, or the cause of cache breaks."""
    text: str
    """What was seen, in a sentence."""
    project: str | None
    """The project that it is about; None for all of them."""
    count: int
    """How often it was seen: sessions, failures, denials, breaks."""
    tokens: int | None
    """Tokens that it cost: of each request for what is loaded, of all breaks for the cache; None if not known."""
    tokens_estimated: bool
    """True if tokens and cost are computed from the length of a text."""
    cost_usd: float | None
    """What it cost in all; None if it cannot be priced."""
    command: str
    """What to type to see more."""
    places: list[AdvicePlace]
    """The newest sessions and turns that it comes from."""


class AdviceReport(msgspec.Struct, frozen=True):
    """Advice, the most expensive first."""

    items: list[Advice]
    sessions: int
    """The sessions that were looked at."""
    unread: tuple[str, ...] = ()
    """Files that could not be read."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def advise(
    *sources: str | os.PathLike[str] | Session,
    cache: bool = True,
    progress: Progress | None = None,
    **options: Unpack[ScopeOptions],
) -> AdviceReport:
    """Return what could be done differently, each with its evidence from sessions; no model is asked.

    MCP servers, tools and skills that are loaded and never used; commands that keep failing; denials that repeat; cache
    breaks by habit. What the memory files of these sessions mention is left out. Without sources, look at all sessions
    of this machine, or those below `root`.
    """
    scope = Scope(*sources, **{name: value for name, value in options.items() if name not in OF_BEGINNING})  # pyright: ignore[reportArgumentType]
    period, folders = Scope(**options).period, layout.expand_folders(options.get("project"))
    zone = scope.zone
    unread: list[str] = []

    def ask(store: FactStore) -> tuple[list[_Session], list[Row]]:
        def choose(files: list[int]) -> list[int]:
            wanted = ",".join(map(str, files))
            sessions = store.rows(f"SELECT file, project, began FROM session WHERE file IN ({wanted})")
            return [file for file, name, began in sessions if _is_meant(name, began, period, folders)]

        unread[:] = count_all(store, scope, progress, choose=choose, shares=True)
        tally = Tally(store, scope, current_prices())
        chosen = _sessions(tally)
        if scope.filters:
            counted = tally.paths()
            chosen = [facts for facts in chosen if facts.path in counted]
        return chosen, tally.items(BREAKS, BREAK, (), priced=BREAKS)

    sessions, breaks = answered(ask, cache=cache)
    typed = _Typed(sources, options.get("root"))
    items = [
        *_unused(sessions, typed),
        *_failing(sessions, typed),
        *_denied(sessions, typed),
        *_habits(sessions, breaks, lambda time_ms: zone_time(time_ms, zone), typed),
    ]
    items.sort(key=lambda item: (-(item.cost_usd or 0.0), -item.count, item.subject))
    return AdviceReport(items, len({one.session for one in sessions}), tuple(sorted(unread)))


class _Session(msgspec.Struct, frozen=True):
    """What advice needs of a session."""

    file: int
    session: str
    title: str
    project: str
    path: str
    used: set[tuple[str, str]]
    """The skills and tools that its calls used."""
    runs: dict[str, int]
    """How often each command was run."""
    failures: list[Row]
    """Its calls that failed or were denied, without those that a session before had."""
    commands: list[str]
    """The commands that were typed."""
    loaded: list[tuple[str, str, int | None]]
    memory: str
    picos_per_token: float
    """What one token at the start of the main thread's prompt cost over the whole session, in pico-dollars."""


Period = tuple[int | None, int | None]


def _is_meant(project: str | None, began: int | None, period: Period, folders: Sequence[str]) -> bool:
    first, last = period
    if folders and not layout.is_within(project, folders):
        return False
    time = began if began is not None else 1 << 62
    return (first is None and last is None) or (first or -(1 << 62)) <= time < (last or 1 << 62)


def _sessions(tally: Tally) -> list[_Session]:
    """Return the sessions, the first one first."""
    rows = tally.store.rows
    failures: dict[str, list[Row]] = {}
    for call in tally.items(CALLS, CALL, (), priced=SHARES, where=f"state IN ('{FAILED}', '{DENIED}')"):
        failures.setdefault(call["path"], []).append(call)
    used: dict[str, set[tuple[str, str]]] = {}
    for kind, column in ((TOOL, "tool"), (SKILL, "skill")):
        for path, name in rows(f"SELECT DISTINCT path, {column} FROM {CALLS} WHERE {column} <> ''"):
            used.setdefault(path, set()).add((kind, name))
    runs: dict[str, dict[str, int]] = {}
    for path, command, count in rows(
        f"SELECT path, command, count(*) FROM {CALLS} WHERE command <> '' AND state IN ('{DONE}', '{FAILED}')"
        " GROUP BY path, command"
    ):
        runs.setdefault(path, {})[command] = count
    typed: dict[int, list[str]] = {}
    for file, command in rows("SELECT file, command FROM typed"):
        typed.setdefault(file, []).append(command)
    loaded: dict[int, list[tuple[str, str, int | None]]] = {}
    for file, *what in rows("SELECT file, kind, name, chars FROM loaded"):
        loaded.setdefault(file, []).append((what[0], what[1], what[2]))
    memory: dict[int, str] = dict(rows("SELECT file, text FROM memory"))
    costs = _picos_per_token(tally)
    return [
        _Session(
            file=file,
            session=id,
            title=title,
            project=project or "",
            path=known_path(path),
            used=used.get(path, set()),
            runs=runs.get(path, {}),
            failures=failures.get(path, []),
            commands=typed.get(file, []),
            loaded=loaded.get(file, []),
            memory=memory.get(file, ""),
            picos_per_token=costs.get(path, 0),
        )
        for file, id, title, project, path in rows(
            "SELECT s.file, s.session, s.title, s.project, f.path FROM session s"
            " JOIN chosen c ON c.file = s.file JOIN file f ON f.id = s.file ORDER BY c.place"
        )
    ]


def _picos_per_token(tally: Tally) -> dict[str, float]:
    """Return what one token at the start of each prompt cost: it is read if anything is, else written, else input."""
    found: dict[str, float] = {}
    for path, cached, written, count, *priced in tally.priced(
        f"SELECT path, cache_read_tokens > 0, CASE WHEN cache_write_1h_tokens > 0 THEN 2"
        f" WHEN cache_write_5m_tokens > 0 THEN 1 ELSE 0 END, sum(responses), {{price}} FROM {RESPONSES}"
        f" WHERE agent IS NULL AND responses > 0 GROUP BY path, 2, 3, {{price}}"
    ):
        rates = tally.rates(priced)
        if rates is not None:
            written_at = (rates.input, rates.write_5m, rates.write_1h)
            each = rates.read if cached else written_at[int(written)]
            found[path] = found.get(path, 0) + each * count
    return found


def advice_value(report: AdviceReport) -> dict[str, Any]:
    """Return advice as JSON values."""
    items = msgspec.to_builtins(report.items)
    return {"sessions": report.sessions, "advice": items, "unread": list(report.unread)}


class _Typed:
    """The commands that read the same sessions."""

    def __init__(
        self,
        sources: Sequence[str | os.PathLike[str] | Session],
        root: str | Path | Sequence[str | Path] | None,
    ) -> None:
        self._reread = reread_words([root] if isinstance(root, str | Path) else root or ())
        self._sources = [str(session_name(source)) for source in sources]

    def all(self, verb: str, *options: str) -> str:
        return shlex.join([*self._reread, verb, *self._sources, *options])

    def place(self, facts: _Session, line: int | None, turn: int | None, agent: str | None = None) -> AdvicePlace:
        name = shell_name(Path(facts.path), facts.session) if self._sources else shlex.quote(facts.session)
        place = f":{turn}" if turn is not None and agent is None else ""
        command = f"{shlex.join(self._reread)} show {name}{place}"
        return AdvicePlace(facts.session, facts.title, line, turn, command)


class _Subject:
    """Something that is loaded: in which sessions, and whether any of them used it."""

    def __init__(self) -> None:
        self.sessions: list[_Session] = []
        self.chars = 0
        self.picos = 0.0
        self.priced = 0


def _unused(sessions: Sequence[_Session], typed: _Typed) -> Iterator[Advice]:
    used = {name for facts in sessions for name in facts.used}
    used |= {(SKILL, name) for facts in sessions for name in facts.commands}
    used |= {(SERVER, server_of(name) or "") for kind, name in used if kind == TOOL}
    subjects: dict[tuple[str, str], _Subject] = {}
    sessions = list({facts.session: facts for facts in sessions}.values())  # two files of a session are one
    for facts in sessions:
        for kind, name, chars in facts.loaded:
            if (kind, name) in used or _is_mentioned(name, facts):
                continue
            subject = subjects.setdefault((kind, name), _Subject())
            subject.sessions.append(facts)
            if chars is not None:
                subject.chars = max(subject.chars, chars)
                subject.picos += facts.picos_per_token * chars / CHARS_PER_TOKEN
                subject.priced += 1
    often = {key: subject for key, subject in subjects.items() if len(subject.sessions) >= min(OFTEN, len(sessions))}
    for (kind, name), subject in often.items():
        if kind == SERVER:
            yield _unused_advice("unused_mcp_server", name, f"MCP server {name} was", [subject], typed)
    kinds: tuple[tuple[str, AdviceKind], ...] = ((TOOL, "unused_tools"), (SKILL, "unused_skills"))
    for kind, advice in kinds:
        group = {name: subject for (found, name), subject in often.items() if found == kind}
        if group:
            names = sorted(group, key=lambda name: -group[name].chars)
            text = f"{plural(len(names), kind)} {'was' if len(names) == 1 else 'were'}"
            yield _unused_advice(advice, ", ".join(names), text, [group[name] for name in names], typed)


def _unused_advice(kind: AdviceKind, subject: str, what: str, found: Sequence[_Subject], typed: _Typed) -> Advice:
    sessions = list({facts.path: facts for one in found for facts in one.sessions}.values())
    chars, is_priced = sum(one.chars for one in found), any(one.priced for one in found)
    cost = sum(one.picos for one in found) / PICOS_PER_DOLLAR if is_priced else None
    group = {"unused_mcp_server": "mcp_server", "unused_tools": "tool", "unused_skills": "skill"}[kind]
    return Advice(
        kind=kind,
        subject=subject,
        text=f"{what} loaded in {plural(len(sessions), 'session')} and never used",
        project=None,
        count=len(sessions),
        tokens=chars // CHARS_PER_TOKEN if is_priced else None,
        tokens_estimated=is_priced,
        cost_usd=cost,
        command=typed.all("stats", "--by", group),
        places=_newest(typed.place(facts, None, None) for facts in sessions),
    )


def _failing(sessions: Sequence[_Session], typed: _Typed) -> Iterator[Advice]:
    failures: dict[tuple[str, str], list[tuple[_Session, Row]]] = {}
    for facts, call in _all_failures(sessions):
        if call.state == FAILED and call.command and call.command.split()[0] not in EXPECTED_FAILURES:
            failures.setdefault((facts.project, call.command), []).append((facts, call))
    for (project, command), failed in failures.items():
        runs = sum(facts.runs.get(command, 0) for facts in sessions if facts.project == project)
        if len(failed) < OFTEN or 2 * len(failed) < runs or _says(command, failed):
            continue
        kinds = Counter(call.failure for _, call in failed)
        most = ", ".join(kind for kind, _ in kinds.most_common(2) if kind)
        text = f"`{command}` failed in {len(failed)} of {plural(runs, 'run')} ({most})"
        see = typed.all("stats", "--project", project, "--tool", "Bash", "--state", "failed", "--list")
        yield _called("failing_command", command, text, project, failed, see, typed)


def _denied(sessions: Sequence[_Session], typed: _Typed) -> Iterator[Advice]:
    denials: dict[tuple[str, str], list[tuple[_Session, Row]]] = {}
    for facts, call in _all_failures(sessions):
        if call.state == DENIED:
            denials.setdefault((facts.project, call.command or call.tool), []).append((facts, call))
    for (project, subject), calls in denials.items():
        if len(calls) >= OFTEN and not _says(subject, calls):
            see = typed.all("stats", "--project", project, "--state", "denied", "--list")
            text = f"`{subject}` was denied {len(calls)} times: allow it, or say what to do instead"
            yield _called("repeated_denial", subject, text, project, calls, see, typed)


def _called(
    kind: AdviceKind,
    subject: str,
    text: str,
    project: str,
    calls: Sequence[tuple[_Session, Row]],
    command: str,
    typed: _Typed,
) -> Advice:
    """Advice about calls, with the last ones as evidence and their cost."""
    return Advice(
        kind=kind,
        subject=subject,
        text=text,
        project=project or None,
        count=len(calls),
        tokens=None,
        tokens_estimated=False,
        cost_usd=sum_known(call.cost_usd for _, call in calls),
        command=command,
        places=_newest(typed.place(facts, call.line, call.turn, call.agent) for facts, call in calls),
    )


HABITS: dict[CacheBreakCause, str] = {
    "idle_over_5m": "The cache expired {count} after more than five minutes of idle time{when}",
    "idle_over_1h": "The cache expired {count} after more than an hour of idle time{when}",
    "model_changed": "The model was switched in mid-session {count}: each has a cache of its own",
    "resume": "Sessions were resumed {count} with another system prompt or tools",
    "tools_changed": "The tools changed in mid-session {count}: connect MCP servers before the first prompt",
    "system_changed": "The system prompt changed in mid-session {count}",
    "rewind": "Sessions were rewound {count} to where nothing was cached any more",
    "compaction": "Sessions were compacted {count}",
}
"""Causes of cache breaks that someone can do something about."""


def _habits(
    sessions: Sequence[_Session], breaks: Sequence[Row], clock: Callable[[int], datetime], typed: _Typed
) -> Iterator[Advice]:
    by_path = {facts.path: facts for facts in sessions}
    found: dict[str, list[Row]] = {}
    for item in breaks:
        found.setdefault(item["cause"], []).append(item)
    for cause, text in HABITS.items():
        places = found.get(cause, [])
        if len(places) < OFTEN:
            continue
        times = [clock(item["time_ms"]) for item in places if item["time_ms"] is not None]
        yield Advice(
            kind="cache_habit",
            subject=cause,
            text=text.format(count=plural(len(places), "time"), when=_when(times)),
            project=None,
            count=len(places),
            tokens=sum(item["tokens"] for item in places),
            tokens_estimated=False,
            cost_usd=sum_known(item["cost_usd"] for item in places),
            command=typed.all("usage", "--by", "cache,hour" if cause.startswith("idle") else "cache,session"),
            places=_newest(
                typed.place(by_path[item["path"]], item["line"], item["turn"], item["agent"]) for item in places
            ),
        )


def _when(times: Sequence[datetime]) -> str:
    """Say at which time of the day most of it happens, if there is one: the three hours with at least half of it."""
    hours = Counter(time.hour for time in times)
    if not hours:
        return ""
    first = max(range(24), key=lambda hour: (sum(hours[(hour + n) % 24] for n in range(3)), hours[hour]))
    share = sum(hours[(first + n) % 24] for n in range(3)) / len(times)
    return f", mostly from {first:02}:00 to {(first + 3) % 24:02}:00" if share >= 0.5 and len(times) >= OFTEN else ""


def _all_failures(sessions: Iterable[_Session]) -> Iterator[tuple[_Session, Row]]:
    return ((facts, call) for facts in sessions for call in facts.failures)


def _says(subject: str, calls: Sequence[tuple[_Session, Row]]) -> bool:
    """True if the memory of one of the sessions mentions something."""
    return any(_is_mentioned(subject, facts) for facts, _ in calls)


def _is_mentioned(subject: str, facts: _Session) -> bool:
    """True if the memory of a session has something as whole words; a tool of a server stands for the server, too."""
    words = r"\s+".join(map(re.escape, subject.split()))
    return re.search(rf"(?<![\w-])(?:mcp__)?{words}(?:__[\w-]+)?(?![\w-])", facts.memory, re.IGNORECASE) is not None


def _newest(places: Iterable[AdvicePlace]) -> list[AdvicePlace]:
    """Return the last places, newest first, each turn once."""
    return list({place.command: place for place in places}.values())[: -MOST_PLACES - 1 : -1]
