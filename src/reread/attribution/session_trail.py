"""What a review needs of a session: turns, commits, tests, cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from reread.accounting.prices import current_prices
from reread.base.choices import DENIED
from reread.disk.derived_cache import known_path
from reread.facts.counting import count_used
from reread.facts.schema import ANSWER, CALL, FILE, GIT_COMMIT, ORIGIN, PROMPT, PULL_REQUEST, SESSION, TURN, FactTable
from reread.facts.scope import Scope
from reread.facts.store import FactStore, Row
from reread.facts.views import RESPONSES
from reread.reports.digest_report import DigestTest, test_runs
from reread.reports.tally import Tally


class TrailTurn(msgspec.Struct, frozen=True):
    """A turn: its prompt, when it was, what it cost, and the tests that it ran."""

    number: int
    prompt: str
    started: int
    """In milliseconds since 1970; 0 if unknown."""
    ended: int
    cost_usd: float | None
    """Its agents included."""
    model: str | None
    tests: list[DigestTest]
    undoing: list[str]
    """Commands that put files back to what git has."""
    denied: int
    """Calls that a person refused."""
    dropped: list[str]
    """Prompts after it that were rewound."""
    written: bytes
    """The numbers of the lines in its commands of several lines, which may write files."""


class TrailCommit(msgspec.Struct, frozen=True):
    """A commit that the session made."""

    sha: str
    turn: int
    subject: str | None
    branch: str | None
    time: int


class TrailPull(msgspec.Struct, frozen=True):
    """A pull request that the session worked on."""

    number: int
    repository: str | None


class SessionTrail(msgspec.Struct, frozen=True):
    """The turns and commits of a session."""

    id: str
    project: str
    branches: list[str]
    turns: list[TrailTurn]
    commits: list[TrailCommit]
    pulls: list[TrailPull]


def read_trails(store: FactStore, scope: Scope, files: Sequence[int]) -> dict[str, SessionTrail]:
    """Return the trails of opened sessions by their paths; the files are those of a scope."""
    count_used(store, scope)
    rows = _TrailRows(store)
    query = f"SELECT s.file, f.path, s.session, s.project FROM {SESSION.name} s JOIN {FILE.name} f ON f.id = s.file"
    known = {file: (known_path(path), id, project) for file, path, id, project in store.rows(query)}
    return {known[file][0]: rows.trail(file, *known[file][1:]) for file in files}


class _TrailRows:
    """The rows that trails are made of, by file."""

    def __init__(self, store: FactStore) -> None:
        self._store = store
        self._turns = self._with_origin(TURN, "t.number, t.time, t.ended, t.model, t.written", "t.number IS NOT NULL")
        self._calls = self._with_origin(
            CALL,
            "t.main_turn, t.state, t.tests, t.tests_passed, t.undoes",
            f"t.main_turn IS NOT NULL AND (t.tests IS NOT NULL OR t.undoes IS NOT NULL OR t.state = '{DENIED}')",
        )
        self._prompts = self._with_origin(PROMPT, "t.turn, t.active, t.kind, t.text", "t.turn IS NOT NULL")
        self._branches = self._by_file(
            f"SELECT DISTINCT file, branch FROM {ORIGIN.name} WHERE scope IS NULL ORDER BY id"
        )
        columns = "file, sha, turn, subject, branch, coalesce(time, 0)"
        self._commits = self._by_file(f"SELECT {columns} FROM {GIT_COMMIT.name} WHERE turn IS NOT NULL ORDER BY rowid")
        self._pulls = self._by_file(f"SELECT file, number, repository FROM {PULL_REQUEST.name} ORDER BY rowid")
        answers = f"{RESPONSES} r JOIN {ANSWER.name} a ON a.message = r.message"
        tally = Tally(store, Scope(), current_prices())
        self._costs = tally.costs(RESPONSES, "a.file || ' ' || a.turn", "true", source=answers)

    def _by_file(self, query: str) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = defaultdict(list)
        for file, *row in self._store.rows(query):
            found[file].append(tuple(row))
        return found

    def _with_origin(self, table: FactTable, columns: str, where: str) -> dict[int, list[Row]]:
        joined = f"{table.name} t JOIN {ORIGIN.name} o ON o.id = t.origin"
        return self._by_file(f"SELECT o.file, {columns} FROM {joined} WHERE {where} ORDER BY t.time, t.rowid")

    def trail(self, file: int, id: str, project: str) -> SessionTrail:
        """Return the trail of a session."""
        prompts, dropped, calls = dict[int, str](), defaultdict[int, list[str]](list), defaultdict[int, list[Row]](list)
        for turn, is_active, kind, text in self._prompts[file]:
            if is_active:
                prompts[turn] = text
            elif kind == "prompt":
                dropped[turn].append(text)
        for turn, *row in self._calls[file]:
            calls[turn].append(tuple(row))
        turns: list[TrailTurn] = []
        for number, started, ended, model, written in sorted(self._turns[file]):
            money = self._costs.get(f"{file} {number}")
            turns.append(
                TrailTurn(
                    number=number,
                    prompt=prompts.get(number, ""),
                    started=started or 0,
                    ended=ended or 0,
                    cost_usd=money.dollars if money is not None else None,
                    model=model,
                    tests=test_runs(row[1:3] for row in calls[number]),
                    undoing=list(dict.fromkeys(undoes for *_, undoes in calls[number] if undoes is not None)),
                    denied=sum(state == DENIED for state, *_ in calls[number]),
                    dropped=dropped[number],
                    written=written or b"",
                )
            )
        branches = list(dict.fromkeys(branch for (branch,) in self._branches[file] if branch))
        commits = [TrailCommit(*row) for row in self._commits[file]]
        pulls = [TrailPull(*row) for row in self._pulls[file]]
        return SessionTrail(id, project, branches, turns, commits, pulls)
