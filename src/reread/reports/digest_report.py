"""The work of a period by project, as recorded: sessions, prompts, files, commits, tests, cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import NamedTuple

import msgspec

from reread.accounting.billing import sum_known
from reread.accounting.prices import current_prices
from reread.base.choices import DONE, FAILED, has_run
from reread.base.text import cut_words, one_line
from reread.base.times import TimeLike, parse_json_time
from reread.disk.desktop import desktop_sessions
from reread.facts.counting import count_all
from reread.facts.schema import FILE, GIT_COMMIT, PULL_REQUEST, FactTable
from reread.facts.scope import Scope
from reread.facts.sessions import Progress
from reread.facts.store import FactStore, Row, answered
from reread.facts.views import CALLS, PROMPTS, RESPONSES
from reread.reports.tally import Groups, Tally, total_of
from reread.reports.usage_report import USED, usage_figures

PROMPT = 200
"""Characters of a prompt."""
REPEATED = 3
"""Sessions with the same only prompt, from which on no person typed it."""
LONGEST_SCANNED = 2000
"""Of a longer text, the rest cannot be part of what is shown."""


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
    unknown: int
    """Runs of which nothing says how they ended, such as `pytest | tail`."""
    last_passed: bool | None
    """None if nothing says how the last run ended."""


class DigestFailure(msgspec.Struct, frozen=True):
    """What failed."""

    name: str
    """What the command does, such as `npm test`, or the name of the tool."""
    times: int


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
    failures: list[DigestFailure]
    """What failed, the most frequent first."""
    open_failure: str | None
    """What its last command does, if that failed."""
    automated: bool
    """True if it has one prompt, which is also the only one of two other sessions at least."""
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
    """Files that could not be read."""


def digest(
    *,
    since: TimeLike = "yesterday",
    until: TimeLike | None = None,
    tz: str | tzinfo | None = None,
    project: str | Path | Sequence[str | Path] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    redact: bool = True,
    progress: Progress | None = None,
) -> Digest:
    """Return what was done since a time, by project, from what is recorded.

    A session counts with what it did in the period: its prompts, the files and lines that it changed, its commits and
    pull requests, the tests that it ran, and its cost. What several files have, such as a fork or a session that was
    moved, counts once. Secrets and personal details in the texts are replaced, unless `redact` is false.
    """
    scope = Scope(since=since, until=until, tz=tz, project=project, root=root)
    first, last = scope.period
    window = (first or 0) / 1000, (last / 1000 if last is not None else datetime.now().timestamp())
    start, stop = (datetime.fromtimestamp(seconds, scope.zone).astimezone(scope.zone) for seconds in window)

    def ask(store: FactStore) -> Digest:
        unread = count_all(store, scope, progress)
        tally = Tally(store, scope, current_prices())
        used = tally.by(("session",), USED)
        found: dict[str, list[DigestSession]] = {}
        done_by = list(_sessions_in(store, tally, used))
        same = Counter(one.prompts[0] for one in done_by if len(one.prompts) == 1)
        for one in done_by:
            automated = len(one.prompts) == 1 and same[one.prompts[0]] >= REPEATED
            found.setdefault(one.project, []).append(msgspec.structs.replace(one, automated=automated))
        projects = [
            DigestProject(name, sorted(done, key=_when), sum_known(one.cost_usd for one in done))
            for name, done in found.items()
        ]
        projects.sort(key=lambda one: (-(one.cost_usd or 0.0), one.project))
        return Digest(start, stop, projects, usage_figures(total_of(used.values()))["cost_usd"], unread=unread)

    made = answered(ask)
    if not redact:
        return made
    from reread.redaction.scan import clean_struct  # loaded late: it knows all rules

    return clean_struct(made, redacted=True)


def _when(one: DigestSession) -> float:
    return one.started.timestamp() if one.started is not None else 0.0


def _sessions_in(store: FactStore, tally: Tally, used: Groups) -> Iterator[DigestSession]:
    """Yield what each session did."""

    def by_session(view: str, columns: str, more: str) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = defaultdict(list)
        for id, *row in store.rows(f"SELECT session, {columns} FROM {view} WHERE {tally.conditions[view]} {more}"):
            found[id or ""].append(tuple(row))
        return found

    answers = by_session(RESPONSES, "min(time), max(time), project", "GROUP BY session")
    branches = by_session(RESPONSES, "branch, max(time)", "AND branch IS NOT NULL GROUP BY session")
    prompts = by_session(PROMPTS, "time, project, branch, kind, author, active, text", "ORDER BY place, row")
    calls = by_session(CALLS, ", ".join(_Call._fields), "ORDER BY place, row")
    commits = _of_calls(store, GIT_COMMIT, "sha, coalesce(subject, ''), branch")
    pulls = _of_calls(store, PULL_REQUEST, "number, url, action")
    opened = "SELECT session, s.title, project FROM session s JOIN chosen c ON c.file = s.file ORDER BY c.place DESC"
    titles = {id: one.title for id, one in desktop_sessions().items() if one.title}
    known = {id: (titles.get(id, title), project) for id, title, project in store.rows(opened)}
    for session in dict.fromkeys((*prompts, *answers, *calls)):
        said, spans, own = prompts[session], answers[session], [_Call(*row) for row in calls[session]]
        times = [time for first, last, _ in spans for time in (first, last)] + [prompt[0] for prompt in said]
        title, project = known.get(session) or ("", next((row[-1] for row in spans), said[0][1] if said else ""))
        made = dict.fromkeys((call.path, call.id) for call in own if call.id)
        failed = Counter(call.run or call.tool for call in own if call.state == FAILED)
        ran = sorted((call for call in own if call.run), key=lambda call: call.time or 0)
        yield DigestSession(
            session=session,
            title=one_line(title or ""),
            project=project or "",
            git_branch=next((row[0] for row in branches[session]), said[-1][2] if said else None),
            started=parse_json_time(min(times)) if times else None,
            ended=parse_json_time(max(times)) if times else None,
            prompts=[
                cut_words(one_line(text, LONGEST_SCANNED), PROMPT)
                for *_, kind, author, is_active, text in said
                if kind == "prompt" and author == "person" and is_active
            ],
            files=_added_up(
                DigestFile(call.file, call.lines_added, call.lines_removed)
                for call in own
                if call.file is not None and (call.lines_added or call.lines_removed)
            ),
            commits=[DigestCommit(*row) for call in made for row in commits[call]],
            pull_requests=[DigestPull(*row) for call in made for row in pulls[call]],
            tests=test_runs((call.tests, call.tests_passed) for call in own),
            calls=len(own),
            failed_calls=failed.total(),
            failures=[DigestFailure(*one) for one in failed.most_common()],
            open_failure=ran[-1].run if ran and ran[-1].state == FAILED else None,
            automated=False,
            cost_usd=usage_figures(used[session,])["cost_usd"] if (session,) in used else None,
        )


class _Call(NamedTuple):
    """What the store says of a call."""

    path: str
    id: str | None
    time: int | None
    state: str
    tool: str
    command: str | None
    failure: str | None
    file: str | None
    lines_added: int
    lines_removed: int
    tests: str | None
    tests_passed: int | None

    @property
    def run(self) -> str | None:
        """The command that was run, as far as that is known."""
        was_run = self.state == DONE or (self.state == FAILED and has_run(self.failure))
        return self.command if was_run else None


def _of_calls(store: FactStore, table: FactTable, columns: str) -> dict[tuple[str, str], list[Row]]:
    """Return the rows of a table by the file and the call that they come from."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    query = f"SELECT f.path, t.call, {columns} FROM {table.name} t JOIN {FILE.name} f ON f.id = t.file ORDER BY t.rowid"
    for path, call, *row in store.rows(query):
        found[path, call].append(tuple(row))
    return found


def test_runs(runs: Iterable[Row]) -> list[DigestTest]:
    """Return the commands that ran tests, in the order in which each was first run.

    Of each run, the command and whether the tests passed are given, as the facts have them.
    """
    found: dict[str, list[bool | None]] = defaultdict(list)
    for command, passed in runs:
        if command is not None:
            found[command].append(None if passed is None else bool(passed))
    return [
        DigestTest(command, ended.count(True), ended.count(False), ended.count(None), ended[-1])
        for command, ended in found.items()
    ]


def _added_up(files: Iterable[DigestFile]) -> list[DigestFile]:
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    for file in files:
        added[file.path] += file.added
        removed[file.path] += file.removed
    return [DigestFile(path, added[path], removed[path]) for path in added]
