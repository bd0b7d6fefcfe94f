"""The work of a period by project, as recorded: sessions, prompts, files, commits, tests, cost."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import msgspec

from reread.accounting.billing import sum_known
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.text import cut_words, one_line
from reread.base.times import TimeLike, parse_period_ms, parse_time_zone
from reread.catalog.header import Header
from reread.catalog.headers import sessions
from reread.errors import NotFound, Unreadable
from reread.model.conversation import Call
from reread.redaction.text_cleaner import text_cleaner
from reread.reports.report import Row
from reread.reports.stats_report import stats
from reread.reports.usage_report import usage
from reread.session.session import Session
from reread.session.session import open as open_session

PROMPT, COMMAND = 200, 100
"""Characters of a prompt and of a command."""
LONGEST_SCANNED = 2000
"""Of a longer text, the rest cannot be part of what is shown."""
_RUNNERS = frozenset("pytest unittest tox nox jest vitest mocha rspec phpunit ctest".split())
"""Programs that run tests."""
_TASK_RUNNERS = frozenset(
    "npm pnpm yarn bun cargo go deno dotnet mix swift gradle gradlew mvn make just task rake rails zig"
    " playwright".split()
)
"""Programs that run tests if that is what they are told."""
_LAUNCHERS = frozenset("-m run exec sudo time npx uv poetry pdm hatch bundle".split())
"""Words after which the name of another program follows."""
Progress = Callable[[int], None]


class DigestFile(msgspec.Struct, frozen=True):
    """A file that was changed."""

    path: str
    added: int
    """Lines added."""
    removed: int
    """Lines removed."""


class DigestCommit(msgspec.Struct, frozen=True):
    """A commit that was made."""

    sha: str
    subject: str
    branch: str | None


class DigestPull(msgspec.Struct, frozen=True):
    """A pull request that was worked on."""

    number: int
    url: str | None
    action: str | None


class DigestTest(msgspec.Struct, frozen=True):
    """A command that ran tests, and how often they passed and failed."""

    command: str
    passed: int
    failed: int
    last_passed: bool


class DigestSession(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one session in the period."""

    session: str
    title: str
    project: str
    git_branch: str | None
    started: datetime | None
    """The time of its first prompt or response in the period."""
    ended: datetime | None
    """The time of the last one."""
    prompts: list[str]
    """The prompts, shortened."""
    files: list[DigestFile]
    commits: list[DigestCommit]
    pull_requests: list[DigestPull]
    tests: list[DigestTest]
    calls: int
    failed_calls: int
    cost_usd: float | None
    """Dollars in the period, its agents included."""


class DigestProject(msgspec.Struct, frozen=True):
    """The work in one project."""

    project: str
    sessions: list[DigestSession]
    cost_usd: float | None
    """None if it is not known of any of them."""

    @property
    def commits(self) -> list[DigestCommit]:
        """Its commits, each once."""
        return list({one.sha: one for session in self.sessions for one in session.commits}.values())

    @property
    def files(self) -> list[DigestFile]:
        """Its changed files, each once."""
        return _added_up(one for session in self.sessions for one in session.files)


class Digest(msgspec.Struct, frozen=True):
    """The work of a period."""

    since: datetime
    until: datetime
    projects: list[DigestProject]
    """The one that cost most first."""
    cost_usd: float | None
    """None if no model that was used has a price."""
    redacted: bool = False
    unread: list[str] = []
    """Sessions that could not be read."""


def digest(
    *,
    since: TimeLike = "yesterday",
    until: TimeLike | None = None,
    tz: str | tzinfo | None = None,
    project: str | Path | Sequence[str | Path] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    redact: bool = False,
    progress: Progress | None = None,
) -> Digest:
    """Return what was done since a time, by project, from what is recorded.

    A session counts with what it did in the period: its prompts, the files and lines that it changed, its commits and
    pull requests, the tests that it ran, and its cost. What several files have, such as a fork or a session that was
    moved, counts once. With `redact`, secrets and personal details in the texts are replaced.
    """
    zone = parse_time_zone(tz)
    first, last = parse_period_ms(since, until, zone)
    counted = usage(by="session", since=since, until=until, tz=zone, project=project, root=root)
    costs = {str(row["session"]): row.cost_usd for row in counted.rows}
    calls: dict[str, list[Row]] = {}
    for call in stats(by=(), since=since, until=until, tz=zone, root=root).items:
        calls.setdefault(call["path"], []).append(call)
    window = (first or 0) / 1000, (last / 1000 if last is not None else datetime.now().timestamp())
    unread: list[str] = []
    by_id: dict[str, DigestSession] = {}
    seen: set[str] = set()
    for header in sorted(sessions(project=project, since=since, root=root), key=_began):
        if not header.prompts_only and _may_be_within(header, window):
            own = calls.get(header.path, [])
            one = _session_digest(header, window, seen, own, root, unread)
            if one is not None:
                by_id[one.session] = _joined(by_id[one.session], one) if one.session in by_id else one
        if progress is not None:
            progress(1)
    found: dict[str, list[DigestSession]] = {}
    for id, one in by_id.items():
        found.setdefault(one.project, []).append(msgspec.structs.replace(one, cost_usd=costs.get(id)))
    projects = [
        DigestProject(name, sorted(done, key=_when), sum_known(one.cost_usd for one in done))
        for name, done in found.items()
    ]
    projects.sort(key=lambda one: (-(one.cost_usd or 0.0), one.project))
    start, stop = (datetime.fromtimestamp(seconds, zone).astimezone(zone) for seconds in window)
    made = Digest(start, stop, projects, counted.totals.cost_usd, unread=unread)
    return _redacted(made) if redact else made


def digest_value(made: Digest) -> dict[str, Any]:
    """Return a digest as JSON values."""
    return msgspec.to_builtins(made)


def _began(header: Header) -> tuple[float, str, int, str]:
    """Return what files are sorted by: what several have belongs to the first, of one session to the largest."""
    start = header.started.timestamp() if header.started is not None else math.inf
    return start, header.id, -header.size, header.path


def _when(one: DigestSession) -> float:
    return one.started.timestamp() if one.started is not None else 0.0


def _may_be_within(header: Header, window: tuple[float, float]) -> bool:
    return header.started is None or header.started.timestamp() < window[1]


def _session_digest(
    header: Header,
    window: tuple[float, float],
    seen: set[str],
    calls: Sequence[Row],
    root: str | Path | Sequence[str | Path] | None,
    unread: list[str],
) -> DigestSession | None:
    """Return what a file tells that a session did in the period, without what was seen; None if that is nothing."""
    try:
        with closing(open_session(header.path, root=root)) as session:
            return _made(session, header, window, seen, calls)
    except (Unreadable, NotFound, OSError) as error:
        unread.append(str(error))
        return None


def _made(
    session: Session, header: Header, window: tuple[float, float], seen: set[str], facts: Sequence[Row]
) -> DigestSession | None:
    def is_new(id: str, when: float | None) -> bool:
        if when is None or not window[0] <= when < window[1] or id in seen:
            return False
        seen.update([id] if id else ())
        return True

    threads = (session.conversation, *session.agents.values())  # an agent may work on when nobody says anything
    stamped = [(message, message.timestamp) for thread in threads for message in thread.messages]
    fresh = [(message, time) for message, time in stamped if time is not None and is_new(message.id, time.timestamp())]
    messages, times = [message for message, _ in fresh], [time for _, time in fresh]
    if not any(message.kind in ("prompt", "response", "command") for message in messages):
        return None
    made = {fact["id"] for fact in facts}
    calls = [call for thread in threads for call in thread.calls if call.id in made]
    return DigestSession(
        session=session.id,
        title=one_line(session.title),
        project=session.project,
        git_branch=header.git_branch,
        started=min(times, default=None),
        ended=max(times, default=None),
        prompts=[
            cut_words(one_line(message.text, LONGEST_SCANNED), PROMPT)
            for message in messages
            if message.conversation is session.conversation
            and message.kind == "prompt"
            and message.author == "person"
            and message.active
        ],
        files=_added_up(
            DigestFile(fact["file"], fact["lines_added"], fact["lines_removed"])
            for fact in facts
            if fact["file"] is not None and (fact["lines_added"] or fact["lines_removed"])
        ),
        commits=[
            DigestCommit(one.sha, one.subject or "", one.branch) for one in session.commits if one.call.id in made
        ],
        pull_requests=[
            DigestPull(one.number, one.url, one.action)
            for one in session.pull_requests
            if one.call is not None and one.call.id in made
        ],
        tests=tests_run(calls),
        calls=len(facts),
        failed_calls=sum(fact["state"] == "failed" for fact in facts),
        cost_usd=None,
    )


def _joined(one: DigestSession, more: DigestSession) -> DigestSession:
    """Return what a session did of which several files have a part."""
    return msgspec.structs.replace(
        one,
        started=min(filter(None, (one.started, more.started)), default=None),
        ended=max(filter(None, (one.ended, more.ended)), default=None),
        prompts=one.prompts + more.prompts,
        files=_added_up(one.files + more.files),
        commits=one.commits + more.commits,
        pull_requests=one.pull_requests + more.pull_requests,
        tests=one.tests + more.tests,
        calls=one.calls + more.calls,
        failed_calls=one.failed_calls + more.failed_calls,
    )


def _added_up(files: Iterable[DigestFile]) -> list[DigestFile]:
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    for file in files:
        added[file.path] += file.added
        removed[file.path] += file.removed
    return [DigestFile(path, added[path], removed[path]) for path in added]


def tests_run(calls: Iterable[Call]) -> list[DigestTest]:
    """Return the commands that ran tests, in the order in which each was first run."""
    runs: dict[str, list[bool]] = {}
    for call in calls:
        command, ok = as_str(as_dict(call.input).get("command")), call.ok
        if (
            command is not None
            and ok is not None
            and call.state in ("done", "failed")
            and _runs_tests(command.partition("<<")[0])
        ):
            runs.setdefault(short_command(command), []).append(ok)
    return [DigestTest(command, sum(ok), len(ok) - sum(ok), ok[-1]) for command, ok in runs.items()]


def short_command(command: str) -> str:
    """Return the beginning of a command on one line."""
    return cut_words(one_line(command, LONGEST_SCANNED), COMMAND)


def _runs_tests(command: str) -> bool:
    """True if one of the programs that a command starts runs tests."""
    for part in re.split(r"[;&|()\n]", command):
        words = [word.rpartition("/")[2] for word in part.split()]
        while words and "=" in words[0]:  # a variable that is set for the program
            del words[0]
        for number, word in enumerate(words):
            if number and words[number - 1] not in _LAUNCHERS:
                continue
            told = [after for after in words[number + 1 : number + 3] if after not in ("run", "build")]
            if word in _RUNNERS or (word in _TASK_RUNNERS and told and told[0].startswith("test")):
                return True
    return False


def _redacted(made: Digest) -> Digest:
    """Return a digest with what must not be shared replaced in every text."""
    clean_text = text_cleaner()

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, list):
            return list(map(clean, as_list(value)))
        return {name: clean(item) for name, item in as_dict(value).items()} if isinstance(value, dict) else value

    return msgspec.convert({**clean(msgspec.to_builtins(made)), "redacted": True}, Digest)
