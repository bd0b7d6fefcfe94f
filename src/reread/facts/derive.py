"""The facts of one session: its turns, calls and cache breaks, and what was loaded, typed and made in it, as rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest

from reread.accounting.billing import message_charges
from reread.accounting.scan import PEEKED_LINES
from reread.base.coerce import as_dict, as_str
from reread.base.times import timestamp_ms
from reread.facts.loaded import loaded_in, server_of
from reread.facts.schema import (
    AGENT,
    CACHE_BREAK,
    CALL,
    LOADED,
    MADE,
    MEMORY,
    OF_SESSIONS,
    PER_SESSION,
    TURN,
    TYPED,
    FactTable,
)
from reread.facts.store import Row
from reread.history.patches import changed_lines
from reread.model.conversation import Agent, Call, Conversation, Message, cut_turns
from reread.session.cache_breaks import CacheBreak, CacheBreaks, hour_tokens
from reread.session.session import Session
from reread.session.time_spans import CallTimes, first_time, model_times
from reread.tools import tool_for
from reread.tools.nodes import Code, Diff
from reread.tools.outcome import DONE, FAILED, RUNNING

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
STATE = CALL.names.index("state")
AMBIGUOUS_TEXT, TOO_LARGE = ("Found ", "matches of the string"), "exceeds maximum allowed"


class SessionFacts:
    """The rows of a session, by table, without its file. Those that have an origin begin with the number of it."""

    def __init__(self, session: Session) -> None:
        self.origins: dict[Row, int] = {}
        """The origins by what they say, each with its number from 0."""
        self.rows: dict[FactTable, list[Row]] = {table: [] for table in (*OF_SESSIONS, *PER_SESSION)}
        self._session = session
        threads: list[tuple[Conversation, Agent | None]] = [(session.conversation, None)]
        threads += [(agent, agent) for agent in session.agents.values()]
        for conversation, agent in threads:
            for call, row in calls_of(conversation):
                self.rows[CALL].append((self._origin(conversation, agent, call.use), *row))
            self._add_cache_breaks(conversation, agent)
            if agent is not None:
                self._add_agent(agent)
        self._add_turns()
        loaded = loaded_in(session.conversation)
        self.rows[LOADED] += loaded.items
        self.rows[MEMORY] += [(loaded.memory,)] if loaded.memory else []
        typed = {_typed(message) for message in session.messages if message.kind == "command"} - {""}
        self.rows[TYPED] += ((name,) for name in sorted(typed))
        self.rows[MADE] += ((commit.sha, None) for commit in session.commits)
        self.rows[MADE] += ((None, pull.number) for pull in session.pull_requests)
        turns = (turn[3] for turn in self.rows[TURN][:1])
        responses = (timestamp_ms(one.stamp) for one in session.messages if one.kind == "response")
        began = next((time for time in (*turns, *responses) if time is not None), None)
        stamps = (timestamp_ms(record.envelope.timestamp) for record in islice(session.records, PEEKED_LINES))
        started = next((stamp for stamp in stamps if stamp is not None), None)
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
        self.rows[AGENT] += ((id, agent.id, agent.type) for id in ids if id)

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
                )
            )
            reached = tokens if tokens is not None else reached


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


SHELLS = ("Bash", "PowerShell")
_WORD = re.compile(r"[a-z][\w:.-]*", re.IGNORECASE)


def signature(command: object) -> str | None:
    """Return the program that a shell command runs and what it is told to do: `npm test`, `uv run ruff check`."""
    if not isinstance(command, str):
        return None
    parts = (part.split() for part in re.split(r"&&|\|\||[;|\n]", command[:LONGEST_COMMAND]))
    runs = [[word for word in part if not ("=" in word and word.split("=")[0].isidentifier())] for part in parts]
    for words in (*(run for run in runs if run and run[0] not in BEFORE_COMMANDS), *runs):
        if words:
            return " ".join(_naming_words(words[:MOST_WORDS]))[:LONGEST_SIGNATURE]
    return None


def _naming_words(words: Sequence[str]) -> list[str]:
    """Return the program of a command and what it is told to do; if that is to run another command, that one's, too."""
    program, rest = words[0].rpartition("/")[2] or words[0], list(words[1:])
    if program in PREFIXES and (inner := _without_options(rest, also=_AMOUNT)):
        return _naming_words(inner)
    if program.startswith("python") and "-m" in rest and all(word.startswith("-") for word in rest[: rest.index("-m")]):
        return [program, *rest[rest.index("-m") :][:2]]
    if program in DRIVERS or program in LAUNCHERS:
        rest = _without_options(rest)
    if program in LAUNCHERS:
        return [program, *(_naming_words(rest) if rest else [])]
    told = rest[:1] if rest and _WORD.fullmatch(rest[0]) and "." not in rest[0] else []
    if program in DRIVERS and told and told[0] in RUNS and (inner := _without_options(rest[1:])):
        return [program, *told, *_naming_words(inner)]
    return [program, *told]


def _without_options(words: Sequence[str], also: re.Pattern[str] | None = None) -> list[str]:
    """Return words from the first on that is no option, nor the value of one."""
    start = 0
    while start < len(words) and (words[start].startswith("-") or (also is not None and also.fullmatch(words[start]))):
        start += 2 if words[start] in VALUED else 1
    return list(words[start:])


LONGEST_COMMAND, LONGEST_SIGNATURE, MOST_WORDS = 2000, 60, 24
PREFIXES = frozenset({"command", "env", "nice", "nohup", "sudo", "time", "timeout"})
"""Programs that run the command that follows, and say nothing about it."""
_AMOUNT = re.compile(r"[\d.]+[smhd]?")
LAUNCHERS = frozenset({"bunx", "npx", "pnpx", "uvx"})
DRIVERS = frozenset(
    "bun cargo deno docker gh git go hatch just make npm pdm pipenv pixi pnpm podman poetry rye task uv yarn".split()
)
"""Programs that are told by a word what to do, after options of their own."""
RUNS = frozenset({"compose", "dlx", "exec", "issue", "pr", "run", "run-script", "task", "tool", "workspace", "x"})
"""Words after which it is the next one that tells."""
VALUED = frozenset(
    "-C -F -c -f -p -u -w --cwd --dir --directory --env-file --extra --file --filter --git-dir --group --manifest-path"
    " --package --prefix --project --python --with --workspace".split()
)
"""Options of all these that have a value as the next word."""
BEFORE_COMMANDS = frozenset({"cd", "export", "set", "source", ".", "echo", "sleep", "mkdir", "true"})
"""What is run before the command that matters."""


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
