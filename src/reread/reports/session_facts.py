"""The facts of one session for statistics: its turns, responses and calls, each with the line it stands on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest

import msgspec

from reread.accounting.scan import PEEKED_LINES
from reread.base.coerce import as_dict, as_str
from reread.base.times import timestamp_ms
from reread.history.patches import changed_lines
from reread.model.conversation import Agent, Call, Conversation, Message, cut_turns
from reread.reports.advice_facts import AdviceFacts, advice_facts, server_of
from reread.session.cache_breaks import CacheBreak
from reread.session.session import Session
from reread.session.time_spans import CallTimes, first_time, model_times
from reread.tools import tool_for
from reread.tools.nodes import Code, Diff
from reread.tools.outcome import DONE, FAILED

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
AMBIGUOUS_TEXT, TOO_LARGE = ("Found ", "matches of the string"), "exceeds maximum allowed"


class CallFact(msgspec.Struct, frozen=True, array_like=True):
    """One call."""

    id: str
    tool: str
    state: str
    """running, done, failed, denied or interrupted."""
    failure: str | None
    """The kind of failure of a failed call: `exit 1`, `timeout`, `no such file` …; `other` if none of these."""
    is_retry: bool
    """True if the call before it, of the same tool in the same turn, failed."""
    line: int
    agent: str | None = None
    """The id of the agent that made it; None in the main thread."""
    agent_type: str | None = None
    model: str | None = None
    time_ms: int | None = None
    seconds: float | None = None
    """From the call to its result."""
    file: str | None = None
    """The file it is about."""
    lines_added: int = 0
    lines_removed: int = 0
    cost_usd: float | None = None
    """Its share of the cost of the response that made it; None if its model has no price."""
    command: str | None = None
    """Of a shell command, the program and what it is told to do: `npm test`, `npm run lint`."""
    skill: str | None = None
    """The skill that it loads, or on behalf of which it was made."""
    turn: int | None = None
    """The turn of the main thread that it is in; None in agents and on other branches."""

    @property
    def mcp_server(self) -> str | None:
        """The MCP server whose tool it calls."""
        return server_of(self.tool)


class ResponseFact(msgspec.Struct, frozen=True, array_like=True):
    """One response of the model."""

    id: str
    line: int
    agent: str | None
    agent_type: str | None
    time_ms: int | None
    model: str | None
    tokens: int
    cost_usd: float | None
    """None if its model has no price."""
    calls: int
    """How many calls it made."""
    cache_write_tokens: int = 0


class TurnFact(msgspec.Struct, frozen=True, array_like=True):
    """One turn of the main thread, with where its time went."""

    id: str
    """That of its first message."""
    line: int
    time_ms: int | None
    model_seconds: float
    """Time in which the model answered and no tool ran."""
    tool_seconds: float
    """Time in which some tool ran, the time to allow it included."""
    waiting_seconds: float
    """All other time up to the next turn."""
    context_growth: int = 0
    """Tokens that it added to the context."""
    context_peak: int | None = None
    compactions: int = 0
    tokens_removed: int = 0
    """By those of its compactions that say how many."""
    unmeasured_compactions: int = 0
    """Compactions that do not."""


class SessionFacts(msgspec.Struct, frozen=True, array_like=True):
    """The turns, responses and calls of a session and its agents."""

    session: str
    project: str
    path: str
    title: str
    started_ms: int | None
    """The first time in its file: of what a fork copied, the times are those of the original."""
    turns: list[TurnFact]
    responses: list[ResponseFact]
    calls: list[CallFact]
    commits: list[str]
    """The hashes of the commits it made."""
    pull_requests: list[int]
    cache_breaks: list[CacheBreak]
    commands: list[str]
    """The commands that were typed, without the slash, each once."""
    advice: msgspec.Raw
    """What only advice needs, as MessagePack: it is decoded when asked for."""

    def advice_facts(self) -> AdviceFacts:
        """Return what only advice needs."""
        return _decode_advice(self.advice)


_decode_advice = msgspec.msgpack.Decoder(AdviceFacts).decode


def session_facts(session: Session) -> SessionFacts:
    """Return the facts of a session."""
    threads: list[tuple[Conversation, Agent | None]] = [(session.conversation, None)]
    threads += [(agent, agent) for agent in session.agents.values()]
    first = islice(session.records, PEEKED_LINES)
    responses: list[ResponseFact] = []
    calls: list[CallFact] = []
    for conversation, agent in threads:
        id, kind = (agent.id, agent.type) if agent is not None else (None, None)
        costs: dict[int, float | None] = {}
        for message in conversation.messages:
            if message.kind == "response":
                responses.append(_response_fact(message, id, kind))
                costs[message.index] = responses[-1].cost_usd
        calls += _call_facts(conversation, costs, id, kind)
    return SessionFacts(
        session=session.id,
        project=session.project,
        path=str(session.path or ""),
        title=session.title,
        started_ms=next(
            (stamp for record in first if (stamp := timestamp_ms(record.envelope.timestamp)) is not None), None
        ),
        turns=list(_turn_facts(session)),
        responses=responses,
        calls=calls,
        commits=[commit.sha for commit in session.commits],
        pull_requests=[pull.number for pull in session.pull_requests],
        cache_breaks=session.cache_breaks,
        commands=sorted({_typed(message) for message in session.messages if message.kind == "command"} - {""}),
        advice=msgspec.Raw(msgspec.msgpack.encode(advice_facts(session.conversation))),
    )


def _typed(message: Message) -> str:
    return message.command.name.lstrip("/") if message.command is not None else ""


def _response_fact(message: Message, agent: str | None, agent_type: str | None) -> ResponseFact:
    usage = message.usage
    return ResponseFact(
        id=message.id,
        line=message.line,
        agent=agent,
        agent_type=agent_type,
        time_ms=timestamp_ms(message.stamp),
        model=message.model,
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
        calls=len(message.calls),
        cache_write_tokens=usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
    )


def _call_facts(
    conversation: Conversation, costs: Mapping[int, float | None], agent: str | None, agent_type: str | None
) -> Iterator[CallFact]:
    failed: dict[str, bool] = {}
    """Whether the last call of each tool failed, in this turn."""
    times = CallTimes()
    numbers = {m.index: turn.index for turn in conversation.turns for m in turn.messages} if agent is None else {}
    for turn in cut_turns(conversation.messages, conversation.marks.ends):
        failed.clear()
        for message in turn.messages:
            skill = _skill_of(message) if message.calls else None
            number = numbers.get(message.index)
            cost = costs.get(message.index)
            cost = cost / len(message.calls) if cost is not None and message.calls else None
            for call in message.calls:
                fact = _call_fact(call, times, agent, agent_type, cost, is_retry=failed.get(call.name, False))
                yield msgspec.structs.replace(fact, skill=_loaded_skill(call) or skill, turn=number)
                failed[call.name] = call.state == FAILED


def _call_fact(
    call: Call, times: CallTimes, agent: str | None, agent_type: str | None, cost: float | None, *, is_retry: bool
) -> CallFact:
    state = call.state
    added, removed = lines_changed([call])
    started, ended = times.of(call)
    return CallFact(
        id=call.id,
        tool=call.name,
        state=state,
        failure=failure_kind(call) if state == FAILED else None,
        is_retry=is_retry,
        line=call.line,
        agent=agent,
        agent_type=agent_type,
        model=call.message.model,
        time_ms=started,
        seconds=max(0, ended - started) / 1000 if started is not None and ended is not None else None,
        file=call.file,
        lines_added=added,
        lines_removed=removed,
        cost_usd=cost,
        command=signature(as_dict(call.input).get("command")) if call.name in SHELLS else None,
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


def _turn_facts(session: Session) -> Iterator[TurnFact]:
    conversation = session.conversation
    fills = {turn.messages[0].index: fill for turn, fill in zip(conversation.turns, session.context, strict=True)}
    turns = list(cut_turns(conversation.messages, conversation.marks.ends))
    starts = [first_time([turn.prompt, *turn.messages]) for turn in turns]
    times = CallTimes()
    reached = 0
    """Tokens in the context at the end of the turn before."""
    for turn, start, following in zip_longest(turns, starts, starts[1:]):
        fill = fills.get(turn.messages[0].index)
        drops = fill.compactions if fill is not None else []
        tokens = fill.tokens if fill is not None else None
        tools = list(_tool_intervals(turn.calls, times))
        model = [(first, last) for _, first, last in model_times(turn.messages, start, times)]
        tool_ms, busy_ms = _covered(tools), _covered([*tools, *model])
        end = following if following is not None else max((last for _, last in (*tools, *model)), default=start)
        yield TurnFact(
            id=turn.messages[0].id,
            line=turn.messages[0].line,
            time_ms=start,
            model_seconds=(busy_ms - tool_ms) / 1000,
            tool_seconds=tool_ms / 1000,
            waiting_seconds=max(0, end - start - busy_ms) / 1000 if start is not None and end is not None else 0.0,
            context_growth=max(0, tokens - reached) if tokens is not None else 0,
            context_peak=fill.peak if fill is not None else None,
            compactions=sum(not drop.micro for drop in drops),
            tokens_removed=sum(drop.tokens for drop in drops if drop.tokens is not None),
            unmeasured_compactions=sum(drop.tokens is None and not drop.micro for drop in drops),
        )
        reached = tokens if tokens is not None else reached


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
