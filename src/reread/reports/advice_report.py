"""Advice from what sessions recorded, without a model: what to leave out, allow, mend or do differently."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from reread.accounting.billing import sum_known
from reread.accounting.prices import current_prices
from reread.base.choices import DENIED, FAILED, HOOK, RULE, AdviceKind, CacheBreakCause, has_run
from reread.base.format import money_text
from reread.base.text import plural
from reread.disk.projects import expand_folders, is_within
from reread.facts.clock import zone_time
from reread.facts.counting import count_all
from reread.facts.scope import Scope, ScopeOptions
from reread.facts.sessions import Progress
from reread.facts.store import FactStore, answered
from reread.facts.views import BREAKS
from reread.reports.advice_facts import (
    OFTEN,
    Advice,
    AdviceSession,
    CommandWords,
    advice_sessions,
    is_mentioned,
    newest,
    price_of_an_hour,
)
from reread.reports.advice_unused import unused
from reread.reports.report import Row
from reread.reports.tally import Tally

if TYPE_CHECKING:
    from reread.session.session import Session

LEAST_USD_A_DAY = 0.01
"""What costs less is not worth a change."""
MS_PER_DAY = 86_400_000
OF_BEGINNING = ("since", "until", "project")
"""The options of a scope that choose sessions by where and when they began."""
BREAK = ("path", "line", "turn", "agent", "time", "cause", "tokens")
"""What advice needs of cache breaks."""
EXPECTED_FAILURES = frozenset(
    "[ cat cmp diff egrep exit false fgrep find grep head kill ls pgrep pkill rg stat tail test which".split()
)
"""Commands that fail to say no, or that there is no such thing."""
CHECKS = frozenset(
    "build check clippy ctest eslint jest lint mocha mypy nox phpunit pyright pytest rspec ruff test tox tsc typecheck"
    " unittest vet vitest".split()
)
"""Words of commands that fail if something is wrong with the work, which is what they are run for."""


class AdviceReport(msgspec.Struct, frozen=True):
    """Advice, the most expensive first."""

    items: list[Advice]
    sessions: int
    """The sessions that were looked at."""
    days: int
    """The days from the first to the last of their responses."""
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

    MCP servers, tools and skills that are loaded and never used; commands that keep failing; denials by a rule or a
    hook that repeat; cache breaks by habit. What the memory files of these sessions mention is left out, and what costs
    less than a cent a day. Without sources, look at all sessions of this machine, or those below `root`.
    """
    scope = Scope(*sources, **{name: value for name, value in options.items() if name not in OF_BEGINNING})  # pyright: ignore[reportArgumentType]
    period, folders = Scope(**options).period, expand_folders(options.get("project"))
    zone = scope.zone
    unread: list[str] = []

    def ask(store: FactStore) -> tuple[list[AdviceSession], list[Row], float]:
        def choose(files: list[int]) -> list[int]:
            wanted = ",".join(map(str, files))
            sessions = store.rows(f"SELECT file, project, began FROM session WHERE file IN ({wanted})")
            return [file for file, name, began in sessions if _is_meant(name, began, period, folders)]

        unread[:] = count_all(store, scope, progress, choose=choose, shares=True)
        tally = Tally(store, scope, current_prices())
        chosen = advice_sessions(tally)
        if scope.filters:
            counted = tally.paths()
            chosen = [facts for facts in chosen if facts.path in counted]
        return chosen, tally.items(BREAKS, BREAK, (), priced=BREAKS), price_of_an_hour(tally)

    sessions, breaks, hour_usd = answered(ask, cache=cache)
    typed = CommandWords(sources, options.get("root"))
    found = [
        *unused(sessions, typed, everywhere=not sources and not options.get("project")),
        *_failing(sessions, typed),
        *_denied(sessions, typed),
        *_habits(sessions, breaks, hour_usd, lambda time_ms: zone_time(time_ms, zone), typed),
    ]
    days = _days(sessions)
    items = [item for item in found if item.cost_usd is None or item.cost_usd >= days * LEAST_USD_A_DAY]
    items.sort(key=lambda item: (-(item.cost_usd or 0.0), -item.count, item.subject))
    return AdviceReport(items, len({one.session for one in sessions}), days, tuple(sorted(unread)))


Bounds = tuple[int | None, int | None]


def _is_meant(project: str | None, began: int | None, period: Bounds, folders: Sequence[str]) -> bool:
    first, last = period
    if folders and not is_within(project, folders):
        return False
    time = began if began is not None else 1 << 62
    return (first is None and last is None) or (first or -(1 << 62)) <= time < (last or 1 << 62)


def _days(sessions: Sequence[AdviceSession]) -> int:
    times = [time for facts in sessions for time in facts.times or ()]
    return max(1, -((min(times) - max(times)) // MS_PER_DAY)) if times else 1


def advice_value(report: AdviceReport) -> dict[str, Any]:
    """Return advice as JSON values."""
    items = msgspec.to_builtins(report.items)
    return {"sessions": report.sessions, "days": report.days, "advice": items, "unread": list(report.unread)}


Calls = list[tuple[AdviceSession, Row]]


def _failing(sessions: Sequence[AdviceSession], typed: CommandWords) -> Iterator[Advice]:
    failures: dict[str, dict[str, Calls]] = {}
    """Calls by command and project."""
    for facts, call in _all_failures(sessions):
        is_of_command = call.state == FAILED and call.command and has_run(call.failure)
        if is_of_command and call.command.split()[0] not in EXPECTED_FAILURES:
            failures.setdefault(call.command, {}).setdefault(facts.project, []).append((facts, call))
    runs: Counter[tuple[str, str]] = Counter()
    for facts in sessions:
        runs.update({(facts.project, command): count for command, count in facts.runs.items()})
    order = {facts.path: place for place, facts in enumerate(sessions)}
    least = min(2, len(sessions))
    for command, projects in failures.items():
        is_check = not CHECKS.isdisjoint(re.split(r"[\s:_-]+", command))
        all_runs, calls = 0, Calls()
        for project, failed in projects.items():
            own_runs = runs[project, command]
            is_rare = len(failed) < OFTEN or len({facts.session for facts, _ in failed}) < least
            if not is_rare and len(failed) >= (own_runs if is_check else own_runs / 2) and not _says(command, failed):
                all_runs, calls = all_runs + own_runs, calls + failed
        if calls:
            calls.sort(key=lambda one: order[one[0].path])
            kinds = [kind for kind, _ in Counter(call.failure for _, call in calls).most_common(2)]
            # What a command of several programs is called by need not be the one that failed.
            run = f"{len(calls)} of {plural(all_runs, 'command')} that run `{command}`"
            text = f"{run} failed ({', '.join(kinds)})"
            deed = MENDING.get(kinds[0], MENDING["other"]).format(command)
            shown = ("--tool", calls[0][1].tool, "--state", FAILED)
            yield _called("failing_command", command, deed, text, calls, shown, typed)


MENDING = {
    "exit 127": "Install what `{0}` needs, or say in CLAUDE.md what to run instead",
    "timeout": "Raise `BASH_DEFAULT_TIMEOUT_MS` in `env` of settings.json, or have CLAUDE.md say to run `{0}` in parts",
    "other": "Say in CLAUDE.md how to run `{0}`, or mend what it needs",
}
"""What to do about a command by how it fails most."""


def _denied(sessions: Sequence[AdviceSession], typed: CommandWords) -> Iterator[Advice]:
    """Yield what a rule or a hook denied again and again. A person's no is not to be advised away."""
    denials: dict[tuple[str, str], Calls] = {}
    for facts, call in _all_failures(sessions):
        if call.state == DENIED and call.denied_by in ALLOWING:
            denials.setdefault((call.command or call.tool, call.denied_by), []).append((facts, call))
    for (subject, by), calls in denials.items():
        if len(calls) >= OFTEN and not _says(subject, calls):
            rule = f"Bash({subject}:*)" if calls[0][1].command else subject
            deed = f"Say in CLAUDE.md what to do instead of `{subject}`, or {ALLOWING[by].format(rule)}"
            text = f"A {by} denied `{subject}` {plural(len(calls), 'time')}"
            yield _called("repeated_denial", subject, deed, text, calls, ("--state", DENIED), typed)


ALLOWING = {
    RULE: "allow `{}` in `permissions.allow` of .claude/settings.json",
    HOOK: "narrow the matcher of that hook in `hooks` of settings.json",
}
"""How to allow what was denied."""


def _called(
    kind: AdviceKind, subject: str, deed: str, text: str, calls: Calls, shown: Sequence[str], typed: CommandWords
) -> Advice:
    """Advice about calls, with their cost, the last ones as evidence, and the options that list them."""
    projects = {facts.project for facts, _ in calls}
    project = projects.pop() if len(projects) == 1 else ""
    return Advice(
        kind=kind,
        subject=subject,
        deed=deed,
        text=f"{text} in {len(projects)} projects" if projects else text,
        project=project or None,
        count=len(calls),
        tokens=None,
        tokens_estimated=False,
        cost_usd=sum_known(call.cost_usd for _, call in calls),
        command=typed.all("stats", *(("--project", project) if project else ()), *shown, "--list"),
        places=newest(typed.place(facts, call.line, call.turn, call.agent) for facts, call in calls),
    )


HABITS: dict[CacheBreakCause, tuple[str, str]] = {
    "idle_over_5m": (
        "Before a pause, end the task or run `/compact`; begin the next one with `/clear`",
        "The cache expired {count} in a pause of more than five minutes{when}",
    ),
    "idle_over_1h": (
        "Before a long pause, end the task or run `/compact`; begin the next one with `/clear`",
        "The cache expired {count} in a pause of more than an hour{when}",
    ),
    "model_changed": (
        "Choose the model before the first prompt (`model` in settings.json), not in mid-session",
        "The model was switched {count} in mid-session, and each has a cache of its own",
    ),
    "resume": (
        "Start a new session for a new task instead of resuming a long one",
        "Sessions were resumed {count}, and nothing cached could be used",
    ),
    "tools_changed": (
        "Connect MCP servers and install plug-ins before the first prompt",
        "The tools changed {count} in mid-session",
    ),
    "system_changed": (
        "Change settings, output style and memory between sessions, not in one",
        "The system prompt changed {count} in mid-session",
    ),
    "settings_changed": (
        "Choose effort, thinking and speed before the first prompt, not in mid-session",
        "Effort, thinking or speed changed {count} in mid-session, and each has a cache of its own",
    ),
    "unknown": (
        "Look at the dearest: if they have a time or an action in common, avoid that",
        "The cache was written again {count}, and nothing recorded says why",
    ),
}
"""Causes of cache breaks that someone can do something about: what to do, and what was seen."""
UNEXPLAINED = frozenset({"shortened", "partly_cached"})
"""Causes that tell what happened to the cache, but not what somebody did."""
LONGER_LIFE = "Set `ENABLE_PROMPT_CACHING_1H` to 1 in `env` of settings.json: the cache then lives for an hour"


def _habits(
    sessions: Sequence[AdviceSession],
    breaks: Sequence[Row],
    hour_usd: float,
    clock: Callable[[int], datetime],
    typed: CommandWords,
) -> Iterator[Advice]:
    """Yield the habits; `hour_usd` is how much more it would have cost to cache everything for an hour."""
    by_path = {facts.path: facts for facts in sessions}
    found: dict[str, list[Row]] = {}
    for item in breaks:
        found.setdefault("unknown" if item["cause"] in UNEXPLAINED else item["cause"], []).append(item)
    for cause, (deed, text) in HABITS.items():
        places = found.get(cause, [])
        if len(places) < OFTEN:
            continue
        times = [clock(item["time_ms"]) for item in places if item["time_ms"] is not None]
        cost = sum_known(item["cost_usd"] for item in places)
        seen = text.format(count=plural(len(places), "time"), when=_when(times))
        if cause == "idle_over_5m" and cost is not None and hour_usd < cost:
            deed, seen = LONGER_LIFE, f"{seen}; an hour for all that was cached would have cost {money_text(hour_usd)}"
        yield Advice(
            kind="cache_habit",
            subject=cause,
            deed=deed,
            text=seen,
            project=None,
            count=len(places),
            tokens=sum(item["tokens"] for item in places),
            tokens_estimated=False,
            cost_usd=cost,
            command=typed.all("usage", "--by", "cache", "--list"),
            places=newest(
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


def _all_failures(sessions: Iterable[AdviceSession]) -> Iterator[tuple[AdviceSession, Row]]:
    return ((facts, call) for facts in sessions for call in facts.failures)


def _says(subject: str, calls: Calls) -> bool:
    """True if the memory of one of the sessions mentions something."""
    return any(is_mentioned(subject, facts) for facts, _ in calls)
