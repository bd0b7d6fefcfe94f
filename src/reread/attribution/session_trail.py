"""The parts of a session that a review needs, small enough to keep for every session: turns, commits, tests, cost."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from reread.accounting.billing import sum_known
from reread.accounting.collect import session_state
from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.base.text import cut_words
from reread.base.times import timestamp_ms
from reread.disk.derived_cache import DerivedValues, encoded
from reread.disk.layout import AgentFolders
from reread.errors import RereadError
from reread.facts.derive import SHELLS
from reread.history.line_trace import line_numbers
from reread.model.conversation import Call, Message, Turn
from reread.reports.digest_report import DigestTest, short_command, tests_run
from reread.session.commits import GitOperationsByTurn, calls_with_agents
from reread.session.session import Session
from reread.session.session_pass import FACTS, CataloguedPart, SessionPass

TABLE, FORMAT = "session_trails", 3
"""The table of the catalogue; change the format when values would be found differently now."""
TRAILS = f"{__name__}:TrailsPart"
"""The part of a pass over sessions that derives trails."""
LONGEST_PROMPT = 8000
"""Characters of a prompt that are kept; a view shows fewer, cut after they were scanned."""
MOST_WRITTEN = 20_000
"""Lines in commands of one session that are kept."""
_UNDOES = re.compile(r"\bgit (?:checkout|restore|reset|revert|stash|clean)\b")


class TrailTurn(msgspec.Struct, frozen=True, array_like=True):
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


class TrailCommit(msgspec.Struct, frozen=True, array_like=True):
    """A commit that the session made."""

    sha: str
    turn: int
    subject: str | None
    branch: str | None
    time: int


class TrailPull(msgspec.Struct, frozen=True, array_like=True):
    """A pull request that the session worked on."""

    number: int
    repository: str | None


class SessionTrail(msgspec.Struct, frozen=True, array_like=True):
    """The turns and commits of a session."""

    state: bytes
    id: str
    project: str
    branches: list[str]
    turns: list[TrailTurn]
    commits: list[TrailCommit]
    pulls: list[TrailPull]


def session_trail(session: Session, state: bytes) -> SessionTrail:
    """Return the trail of a session."""
    operations = GitOperationsByTurn(session.conversation)
    commits: list[TrailCommit] = []
    pulls: dict[int, TrailPull] = {}
    turns: list[TrailTurn] = []
    dropped = _dropped_prompts(session)
    room = MOST_WRITTEN
    for turn in session.turns:
        calls = list(calls_with_agents(turn.calls))
        written = array("Q")
        for call in calls:
            written.extend(_written_lines(call)[: room - len(written)])
        room -= len(written)
        done = operations.of_turn(turn.messages)
        commits += [
            TrailCommit(
                one.sha, turn.index, one.subject, one.branch, int(one.time.timestamp() * 1000) if one.time else 0
            )
            for one in done.commits
        ]
        pulls |= {one.number: TrailPull(one.number, one.repository) for one in done.pull_requests}
        turns.append(_trail_turn(turn, calls, dropped.get(turn.index, []), written.tobytes()))
    branches = list(session.git_branches)
    trail = SessionTrail(state, session.id, session.project, branches, turns, commits, list(pulls.values()))
    if encoded(trail) is None:  # half of a character cannot be stored
        trail = msgspec.convert(jsontext.replace_surrogates(msgspec.to_builtins(trail)), SessionTrail)
    return trail


_decode = msgspec.msgpack.Decoder(SessionTrail).decode


class TrailsPart(CataloguedPart):
    """The trails of sessions, as a part of the pass over them."""

    def __init__(self) -> None:
        super().__init__(TABLE, FORMAT)

    def state(self, path: Path) -> bytes:
        """Return a hash of the state of a session's files."""
        return session_state(path, AgentFolders())

    def is_current(self, path: Path, state: bytes) -> bool:
        """True if the trail of a session in this state is known."""
        trail = _known(self.known(path))
        return trail is not None and trail.state == state

    def derive(self, session: Session, state: bytes) -> SessionTrail:
        """Return the trail of a session."""
        trail = session_trail(session, state)
        self.add(session, encoded(trail) or b"")
        return trail


def read_trails(
    sessions: Iterable[str], *, progress: Callable[[int], None] | None = None, unread: list[str] | None = None
) -> dict[str, SessionTrail]:
    """Return the trails of sessions by their files; those that cannot be read are left out, and go to `unread`.

    Of a session that has to be opened, the versions of files are derived too, which a review needs next.
    """
    names = list(sessions)
    with closing(DerivedValues(TABLE, format=FORMAT)) as values:
        stored = values.values(names)
    found: dict[str, SessionTrail] = {}
    with SessionPass((FACTS, TRAILS)) as opened:
        for name in names:
            try:
                trail = _known(stored.pop(name, None))
                state = session_state(Path(name), AgentFolders())
                found[name] = trail if trail is not None and trail.state == state else opened.derive(name, TRAILS)
            except (RereadError, OSError):
                if unread is not None:
                    unread.append(name)
            if progress is not None:
                progress(1)
    return found


def _known(value: bytes | None) -> SessionTrail | None:
    with suppress(*jsontext.DECODE_ERRORS):
        return _decode(value) if value else None
    return None


def _trail_turn(turn: Turn, calls: list[Call], dropped: list[str], written: bytes) -> TrailTurn:
    times = [time for message in turn.messages if (time := timestamp_ms(message.stamp))]
    ended = [int(call.ended.timestamp() * 1000) for call in turn.calls if call.ended is not None]
    agents = {id(agent): agent for call in calls for agent in call.agents}
    used = [one.usage for one in (turn, *agents.values()) if one.usage.responses]
    undoing = [short_command(command) for call in calls if _UNDOES.search((command := _command(call))[:2000])]
    return TrailTurn(
        number=turn.index,
        prompt=cut_words(turn.prompt.text, LONGEST_PROMPT) if turn.prompt is not None else "",
        started=min(times, default=0),
        ended=max([*times, *ended], default=0),
        cost_usd=sum_known(usage.cost_usd for usage in used),
        model=next((message.model for message in turn.messages if message.model), None),
        tests=tests_run(calls),
        undoing=list(dict.fromkeys(undoing)),
        denied=sum(call.state == "denied" for call in calls),
        dropped=dropped,
        written=written,
    )


def _command(call: Call) -> str:
    return (as_str(as_dict(call.input).get("command")) or "") if call.name in SHELLS else ""


def _written_lines(call: Call) -> array[int]:
    """Return the lines of a command that may write them to a file."""
    command = _command(call)
    return line_numbers(command) if "\n" in command and call.ok is not False else array("Q")


def _dropped_prompts(session: Session) -> dict[int, list[str]]:
    """Return the prompts that were rewound, by the number of the turn that was the last before each."""
    found: dict[int, list[str]] = {}
    if len(session.branches) < 2:
        return found
    starts = [(turn.messages[0].index, turn.index) for turn in session.turns if turn.messages]
    for message in _abandoned(session):
        before = [number for index, number in starts if index < message.index]
        found.setdefault(before[-1] if before else 0, []).append(cut_words(message.text, LONGEST_PROMPT))
    return found


def _abandoned(session: Session) -> Iterator[Message]:
    return (message for message in session.messages if message.kind == "prompt" and not message.active)
