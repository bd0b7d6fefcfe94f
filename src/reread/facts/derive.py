"""The facts of one session: its turns, calls and cache breaks, and what was loaded, typed and made in it, as rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest

from reread.accounting.billing import message_charges
from reread.accounting.scan import PEEKED_LINES
from reread.base.choices import DONE, FAILED, RUNNING
from reread.base.coerce import as_dict, as_str
from reread.base.text import cut_words
from reread.base.times import timestamp_ms
from reread.facts.commands import (
    SHELLS,
    shell_command,
    signature,
    testing_command,
    undoing_command,
    written_lines,
)
from reread.facts.file_changes import file_change_rows
from reread.facts.loaded import loaded_in, server_of
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
    ("Command timed out", "timeout"),
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


class SessionFacts:
    """The rows of a session, by table, without its file. Those that have an origin begin with the number of it."""

    def __init__(self, session: Session) -> None:
        self.origins: dict[Row, int] = {}
        """The origins by what they say, each with its number from 0."""
        self.rows: dict[FactTable, list[Row]] = {table: [] for table in (*OF_SESSIONS, *PER_SESSION)}
        self._session = session
        self._turns = _TurnWork(session)
        threads: list[tuple[Conversation, Agent | None]] = [(session.conversation, None)]
        threads += [(agent, agent) for agent in session.agents.values()]
        for conversation, agent in threads:
            for call, row in calls_of(conversation):
                told = (*row, self._turns.of(call), *_told_by(call))
                self.rows[CALL].append((self._origin(conversation, agent, call.use), *told))
            self._add_cache_breaks(conversation, agent)
            if agent is not None:
                self._add_agent(agent)
        self._add_turns()
        loaded = loaded_in(session.conversation)
        self.rows[LOADED] += loaded.items
        self.rows[MEMORY] += [(loaded.memory,)] if loaded.memory else []
        typed = {_typed(message) for message in session.messages if message.kind == "command"} - {""}
        self.rows[TYPED] += ((name,) for name in sorted(typed))
        self._add_prompts()
        self.rows[ANSWER] += self._turns.answers
        self.rows[GIT_COMMIT] += self._turns.commits(session)
        self.rows[PULL_REQUEST] += (
            (pull.call.id if pull.call is not None else None, pull.number, pull.repository, pull.url, pull.action)
            for pull in session.pull_requests
        )
        turns = (turn[3] for turn in self.rows[TURN][:1])
        responses = (timestamp_ms(one.stamp) for one in session.messages if one.kind == "response")
        began = next((time for time in (*turns, *responses) if time is not None), None)
        stamps = (timestamp_ms(record.envelope.timestamp) for record in islice(session.records, PEEKED_LINES))
        started = next((stamp for stamp in stamps if stamp is not None), None)
        self.rows[FILE_CHANGE] += file_change_rows(session)
        answers = sum(message.kind == "response" for thread, _ in threads for message in thread.messages)
        ended = sum(row[STATE] != RUNNING for row in self.rows[CALL])
        extent = len(self.rows[TURN]) + answers + len(self.rows[CALL]) + ended
        self.session: Row = (session.id, session.title, session.project, began, started, extent)
        """The values of its row, without its file and state."""

    def _origin(self, conversation: Conversation, agent: Agent | None, record: int) -> int:
        """Return the number of where a record was written."""
        envelope, session = conversation.records[record].envelope, self._session
        where = (
            envelope.sessionId or session.id,
            envelope.cwd or session.project or None,
            envelope.gitBranch,
            agent.id if agent is not None else None,
            agent.type if agent is not None else None,
        )
        return self.origins.setdefault(where, len(self.origins))

    def _add_agent(self, agent: Agent) -> None:
        ids = [agent.id] if agent.path else [agent.id, *(m.id for m in agent.messages if m.kind == "response")]
        self.rows[AGENT] += ((id, agent.id, agent.type, agent.warmup) for id in ids if id)

    def _add_cache_breaks(self, conversation: Conversation, agent: Agent | None) -> None:
        breaks = CacheBreaks(conversation)
        for message in conversation.messages:
            is_copy = agent is not None and message.id in self._session.conversation.messages_by_id
            if not is_copy and (found := breaks.of(message)) is not None:
                origin = self._origin(conversation, agent, message.records[0])
                self.rows[CACHE_BREAK].append((origin, *_break_row(found, message)))

    def _add_turns(self) -> None:
        session = self._session
        conversation = session.conversation
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
            self.rows[TURN].append(
                (
                    self._origin(conversation, None, first.records[0]),
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
                    *self._turns.row(first.index, times),
                )
            )
            reached = tokens if tokens is not None else reached

    def _add_prompts(self) -> None:
        conversation = self._session.conversation
        begun = {id(turn.prompt): turn.index for turn in conversation.turns}
        starts = [(turn.messages[0].index, turn.index) for turn in conversation.turns]
        for message in conversation.messages:
            if message.kind in ("prompt", "command") or id(message) in begun:
                number = begun.get(id(message))
                if not message.active:
                    number = max((number for index, number in starts if index < message.index), default=0)
                row = (self._origin(conversation, None, message.records[0]), message.id, message.line)
                row += (timestamp_ms(message.stamp), number, message.kind, message.author, message.active)
                self.rows[PROMPT].append((*row, cut_words(message.text, LONGEST_PROMPT)))


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
            time = int(one.time.timestamp() * 1000) if one.time is not None else None
            yield one.call.id, self.of(one.call), time, one.sha, one.subject, one.branch


def _call_key(call: Call) -> CallKey:
    return call.conversation, call.use, call.place


def _told_by(call: Call) -> Row:
    """Return the command of a call if it ran tests, and if it undid something."""
    return testing_command(call), undoing_command(shell_command(call))


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
    outcome = call.outcome
    message = outcome.message
    for start, kind in FAILURES:
        if message.startswith(start):
            return kind
    if message.startswith(AMBIGUOUS_TEXT[0]) and AMBIGUOUS_TEXT[1] in message[:200]:
        return "text not unique"
    if TOO_LARGE in message[:400]:
        return "too large"
    if "timed out" in message[:200]:
        return "timeout"
    if outcome.exit_code is not None:
        return f"exit {outcome.exit_code}"
    return "other"


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
