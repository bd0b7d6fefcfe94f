"""The facts of one session: its turns, calls and cache breaks, and what was loaded, typed and made in it, as rows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, zip_longest
from typing import NamedTuple

from reread.accounting.billing import message_charges
from reread.accounting.scan import PEEKED_LINES
from reread.base.choices import DENIED, DONE, EXIT, FAILED, RUNNING, TIMEOUT
from reread.base.coerce import as_dict, as_str
from reread.base.text import cut_words
from reread.base.times import milliseconds, timestamp_ms
from reread.facts.commands import (
    SHELLS,
    shell_command,
    signature,
    testing_command,
    tests_passed,
    undoing_command,
    written_lines,
)
from reread.facts.file_changes import file_change_rows
from reread.facts.loaded import Loaded, loaded_in, server_of
from reread.facts.schema import (
    AGENT,
    ANSWER,
    CACHE_BREAK,
    CALL,
    FILE_CHANGE,
    GIT_COMMIT,
    LOADED,
    MEMORY,
    OF_SESSIONS,
    PER_SESSION,
    PROMPT,
    PULL_REQUEST,
    SESSION,
    TURN,
    TYPED,
    FactTable,
)
from reread.facts.store import Row
from reread.history.patches import changed_lines
from reread.model.conversation import Agent, Call, Conversation, Message, cut_turns
from reread.session.cache_breaks import CacheBreak, CacheBreaks, hour_tokens
from reread.session.commits import calls_with_agents, find_commits
from reread.session.session import Session
from reread.session.time_spans import CallTimes, first_time, model_times
from reread.tools import tool_for
from reread.tools.nodes import Code, Diff

FAILURES = (
    ("InputValidationError", "invalid input"),
    ("String to replace not found", "text not found"),
    ("File has not been read", "not read first"),
    ("File has been modified since", "changed since read"),
    ("File has been unexpectedly modified", "changed since read"),
    ("No changes to make", "no change"),
    ("File does not exist", "no such file"),
    ("Path does not exist", "no such file"),
    ("ENOENT", "no such file"),
    ("EISDIR", "is a folder"),
    ("No such tool available", "no such tool"),
    ("Request failed with status code", "HTTP error"),
    ("Command timed out", TIMEOUT),
    ("MCP error", "MCP error"),
)
"""How a common error message begins, and the kind of failure it is."""
LONGEST_PROMPT = 8000
"""Characters of a prompt that are kept; a view shows fewer, cut after they were scanned."""
MOST_WRITTEN = 20_000
"""Lines in the commands of a session that are kept."""
CallKey = tuple[Conversation, int, int]
"""What tells a call from others: where it was made."""
STATE = CALL.names.index("state")
AMBIGUOUS_TEXT, TOO_LARGE = ("Found ", "matches of the string"), "exceeds maximum allowed"


class Thread(NamedTuple):
    """A thread, and where its facts came about unless their records say otherwise."""

    conversation: Conversation
    session: str | None
    project: str | None = None
    agent: str | None = None
    agent_type: str | None = None

    def where(self, record: int) -> Row:
        """Return where a record was written: what a row of `origin` says."""
        envelope = self.conversation.records[record].envelope
        session, project = envelope.sessionId or self.session, envelope.cwd or self.project
        return session, project, envelope.gitBranch, self.agent, self.agent_type


class SessionFacts:
    """The rows of a session, by table, without its file. Those that have an origin begin with the number of it."""

    def __init__(self, session: Session, tables: Sequence[FactTable] = (*OF_SESSIONS, *PER_SESSION, SESSION)) -> None:
        """Derive the rows of all tables, or of some."""
        self.origins: dict[Row, int] = {}
        """The origins by what they say, each with its number from 0."""
        self._session = session
        self._project = session.project or None
        self._main = Thread(session.conversation, session.id, self._project)
        makers: dict[str, Callable[[], Iterable[Row]]] = {
            TURN.name: self._turns,
            CALL.name: self._calls,
            CACHE_BREAK.name: self._cache_breaks,
            PROMPT.name: self._prompts,
            AGENT.name: self._agents,
            ANSWER.name: lambda: self._work.answers,
            GIT_COMMIT.name: lambda: self._work.commits(session),
            PULL_REQUEST.name: self._pull_requests,
            TYPED.name: self._typed,
            LOADED.name: lambda: self._loaded.items,
            MEMORY.name: lambda: [(self._loaded.memory,)] if self._loaded.memory else [],
            FILE_CHANGE.name: lambda: file_change_rows(session),
            SESSION.name: self._session_rows,
        }
        self.rows: dict[str, list[Row]] = {}
        for table in tables:
            self.rows[table.name] = list(makers[table.name]())

    @cached_property
    def _work(self) -> _TurnWork:
        return _TurnWork(self._session)

    @cached_property
    def _loaded(self) -> Loaded:
        return loaded_in(self._session.conversation)

    @property
    def _threads(self) -> Iterator[Thread]:
        yield self._main
        for agent in self._session.agents.values():
            yield Thread(agent, self._session.id, self._project, agent.id, agent.type)

    def _session_rows(self) -> Iterator[Row]:
        """Yield the row of the session without its file and state; it sums up other tables."""
        session, turns, calls = self._session, self.rows[TURN.name], self.rows[CALL.name]
        responses = (timestamp_ms(one.stamp) for one in session.messages if one.kind == "response")
        began = next((time for time in (*(turn[3] for turn in turns[:1]), *responses) if time is not None), None)
        stamps = (timestamp_ms(record.envelope.timestamp) for record in islice(session.records, PEEKED_LINES))
        created = next((stamp for stamp in stamps if stamp is not None), None)
        answers = sum(one.kind == "response" for thread in self._threads for one in thread.conversation.messages)
        extent = len(turns) + answers + len(calls) + sum(row[STATE] != RUNNING for row in calls)
        yield session.id, session.recorded_title, session.project, began, created, extent

    def _origin(self, thread: Thread, record: int) -> int:
        """Return the number of where a record was written."""
        return self.origins.setdefault(thread.where(record), len(self.origins))

    def _calls(self) -> Iterator[Row]:
        for thread in self._threads:
            for call, row in calls_of(thread.conversation):
                yield self._origin(thread, call.use), *row, self._work.of(call), *_told_by(call)

    def _agents(self) -> Iterator[Row]:
        for agent in self._session.agents.values():
            ids = [agent.id] if agent.path else [agent.id, *(m.id for m in agent.messages if m.kind == "response")]
            yield from ((id, agent.id, agent.type, agent.warmup) for id in ids if id)

    def _cache_breaks(self) -> Iterator[Row]:
        for thread in self._threads:
            breaks = CacheBreaks(thread.conversation)
            for message in thread.conversation.messages:
                is_copy = thread is not self._main and message.id in self._main.conversation.messages_by_id
                if not is_copy and (found := breaks.of(message)) is not None:
                    yield self._origin(thread, message.records[0]), *_break_row(found, message)

    def _pull_requests(self) -> Iterator[Row]:
        for pull in self._session.pull_requests:
            yield pull.call.id if pull.call is not None else None, pull.number, pull.repository, pull.url, pull.action

    def _typed(self) -> Iterator[Row]:
        typed = {_typed(message) for message in self._session.messages if message.kind == "command"} - {""}
        yield from ((name,) for name in sorted(typed))

    def _turns(self) -> Iterator[Row]:
        session, conversation = self._session, self._main.conversation
        fills = {turn.messages[0].index: fill for turn, fill in zip(conversation.turns, session.context, strict=True)}
        turns = list(cut_turns(conversation.messages, conversation.marks.ends))
        starts = [first_time([turn.prompt, *turn.messages]) for turn in turns]
        times = CallTimes()
        reached = 0
        """Tokens in the context at the end of the turn before."""
        for turn, start, following in zip_longest(turns, starts, starts[1:]):
            first = turn.messages[0]
            fill = fills.get(first.index)
            drops = fill.compactions if fill is not None else []
            tokens = fill.tokens if fill is not None else None
            tools = list(_tool_intervals(turn.calls, times))
            model = [(begun, ended) for _, begun, ended in model_times(turn.messages, start, times)]
            tool_ms, busy_ms = _covered(tools), _covered([*tools, *model])
            end = following if following is not None else max((last for _, last in (*tools, *model)), default=start)
            removed = [drop.tokens for drop in drops if drop.tokens is not None]
            unmeasured = sum(drop.tokens is None and not drop.micro for drop in drops)
            yield (
                self._origin(self._main, first.records[0]),
                first.id,
                first.line,
                start,
                (busy_ms - tool_ms) / 1000,
                tool_ms / 1000,
                max(0, end - start - busy_ms) / 1000 if start is not None and end is not None else 0.0,
                max(0, tokens - reached) if tokens is not None else 0,
                fill.peak if fill is not None else None,
                sum(not drop.micro for drop in drops),
                sum(removed) if removed else None,
                unmeasured,
                *self._work.row(first.index, times),
            )
            reached = tokens if tokens is not None else reached

    def _prompts(self) -> Iterator[Row]:
        conversation = self._main.conversation
        begun = {id(turn.prompt): turn.index for turn in conversation.turns}
        starts = [(turn.messages[0].index, turn.index) for turn in conversation.turns]
        for message in conversation.messages:
            if message.kind in ("prompt", "command") or id(message) in begun:
                number = begun.get(id(message))
                if not message.active:
                    number = max((number for index, number in starts if index < message.index), default=0)
                row = (self._origin(self._main, message.records[0]), message.id, message.line)
                row += (timestamp_ms(message.stamp), number, message.kind, message.author, message.active)
                yield *row, cut_words(message.text, LONGEST_PROMPT)


class _TurnWork:
    """What the turns of the main thread and their agents did: an agent belongs to the first turn that called it."""

    def __init__(self, session: Session) -> None:
        self.answers: list[Row] = []
        """The turn and the id of each response."""
        self._active = {turn.messages[0].index: turn for turn in session.turns}
        self._calls: dict[int, list[Call]] = {}
        self._numbers: dict[CallKey, int] = {}
        self._room = MOST_WRITTEN
        seen: set[Agent] = set()
        for turn in session.turns:
            messages = list(turn.messages)
            calls = self._calls[turn.index] = list(calls_with_agents(turn.calls))
            for call in calls:
                self._numbers.setdefault(_call_key(call), turn.index)
                for agent in call.agents:
                    messages += [] if agent in seen else agent.messages
                    seen.add(agent)
            self.answers += ((turn.index, message.id) for message in messages if message.kind == "response")

    def of(self, call: Call) -> int | None:
        """Return the number of the turn that made a call; None on other branches."""
        return self._numbers.get(_call_key(call))

    def row(self, first: int, times: CallTimes) -> Row:
        """Return what the row of a turn with this first message ends with."""
        turn = self._active.get(first)
        if turn is None:
            return None, None, None, None
        stamps = [timestamp_ms(message.stamp) for message in turn.messages]
        ended = [time for time in (*stamps, *(times.of(call)[1] for call in turn.calls)) if time is not None]
        written = array("Q")
        for call in self._calls[turn.index]:
            written.extend(written_lines(call)[: self._room - len(written)])
        self._room -= len(written)
        model = next((message.model for message in turn.messages if message.model), None)
        return turn.index, max(ended, default=None), model, written.tobytes() or None

    def commits(self, session: Session) -> Iterator[Row]:
        """Yield the commits of each turn, and then those of other branches."""
        made = [one for calls in self._calls.values() for one in find_commits(calls)]
        known = {one.sha[:7] for one in made}
        made += (one for one in session.commits if one.sha[:7] not in known)
        for one in made:
            yield one.call.id, self.of(one.call), milliseconds(one.time), one.sha, one.subject, one.branch


def _call_key(call: Call) -> CallKey:
    return call.conversation, call.use, call.place


def _told_by(call: Call) -> Row:
    """Return the command of a call if it ran tests, whether they passed, and the command if it undid something."""
    tests = testing_command(call)
    return tests, tests_passed(call) if tests else None, undoing_command(shell_command(call))


def calls_of(conversation: Conversation) -> Iterator[tuple[Call, Row]]:
    """Yield each call of a thread, with what its columns have."""
    times, turns = CallTimes(), turn_numbers(conversation)
    for turn in cut_turns(conversation.messages, conversation.marks.ends):
        failed: dict[str, bool] = {}
        """Whether the last call of each tool failed, in this turn."""
        for message in turn.messages:
            skill = _skill_of(message) if message.calls else None
            for call in message.calls:
                is_retry = failed.get(call.name, False)
                yield call, _call_row(call, turns.get(message.index), times, is_retry, _loaded_skill(call) or skill)
                failed[call.name] = call.state == FAILED


def turn_numbers(conversation: Conversation) -> dict[int, int]:
    """Return the turns of the messages on the active branch, by the index of the message."""
    return {message.index: turn.index for turn in conversation.turns for message in turn.messages}


def _typed(message: Message) -> str:
    return message.command.name.lstrip("/") if message.command is not None else ""


def _call_row(call: Call, turn: int | None, times: CallTimes, is_retry: bool, skill: str | None) -> Row:
    state = call.state
    added, removed = lines_changed([call])
    started, ended = times.of(call)
    return (
        call.id,
        call.message.id,
        call.line,
        turn,
        started,
        call.message.model,
        call.name,
        server_of(call.name),
        state,
        failure_kind(call) if state == FAILED else None,
        call.outcome.denied_by if state == DENIED else None,
        is_retry,
        max(0, ended - started) / 1000 if started is not None and ended is not None else None,
        call.file,
        added,
        removed,
        signature(as_dict(call.input).get("command")) if call.name in SHELLS else None,
        skill,
    )


def _break_row(found: CacheBreak, message: Message) -> Row:
    rows = message.rows
    charge = message_charges(rows[0].usage, rows[0].model)[0]
    return (
        found.message,
        found.line,
        found.turn,
        found.time_ms,
        found.model,
        charge.mode,
        charge.prompt,
        found.cause,
        found.evidence,
        found.tokens,
        hour_tokens(found.tokens, charge),
        found.gap_seconds,
        found.cached_tokens,
        found.read_tokens,
        found.detail,
    )


def _loaded_skill(call: Call) -> str | None:
    return as_str(as_dict(call.input).get("skill")) if call.name == "Skill" else None


def _skill_of(message: Message) -> str | None:
    """Return the skill on behalf of which a response was made, if its records name one."""
    for index in message.records:
        if ATTRIBUTION in message.bodies.records[index].body:
            return as_str(message.bodies.native(index).get("attributionSkill"))
    return None


ATTRIBUTION = b'"attributionSkill"'


def failure_kind(call: Call) -> str:
    """Return the kind of failure of a call that failed."""
    message, code = call.outcome.message, call.outcome.exit_code
    if code is None:  # else the text is what the program printed
        for start, kind in FAILURES:
            if message.startswith(start):
                return kind
        if message.startswith(AMBIGUOUS_TEXT[0]) and AMBIGUOUS_TEXT[1] in message[:200]:
            return "text not unique"
        if TOO_LARGE in message[:400]:
            return "too large"
    if "timed out" in message[:200]:
        return TIMEOUT
    return f"{EXIT}{code}" if code is not None else "other"


def lines_changed(calls: Iterable[Call]) -> tuple[int, int]:
    """Return how many lines the edits among some calls added and removed."""
    added = removed = 0
    edits = (call for call in calls if tool_for(call.name).category == "edit" and call.state == DONE)
    for node in (node for call in edits for node in call.nodes):
        if isinstance(node, Diff):
            more, fewer = changed_lines([line for hunk in node.hunks for line in hunk.lines])
            added, removed = added + more, removed + fewer
        elif isinstance(node, Code):  # a new file
            added += len(node.text.splitlines())
    return added, removed


def _tool_intervals(calls: Iterable[Call], times: CallTimes) -> Iterator[tuple[int, int]]:
    for call in calls:
        started, ended = times.of(call)
        if started is not None and ended is not None:
            yield started, ended


def _covered(intervals: Iterable[tuple[int, int]]) -> int:
    """Return the length of what some intervals cover together."""
    total, reached = 0, -(1 << 62)
    for first, last in sorted(intervals):
        first = max(first, reached)
        if last > first:
            total += last - first
            reached = last
    return total
