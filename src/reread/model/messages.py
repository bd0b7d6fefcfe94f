"""What a reader sees: messages, calls, turns, branches and compactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import msgspec

from reread import tools
from reread.accounting.billing import SYNTHETIC, Usage, UsageRow, join_row, overlay, row_usage, total
from reread.accounting.prices import current_prices
from reread.base import jsontext
from reread.base.coerce import as_int, as_str
from reread.base.times import parse_timestamp, seconds_between, timestamp_ms
from reread.model.prompt_text import Aside, Command, PromptText, parse_prompt
from reread.records import blocks as b
from reread.records.envelope import EventEnvelope, RecordEnvelope, decode_payload, parse_usage
from reread.tools.nodes import Node
from reread.tools.tool_call import AgentStats, ToolCall

if TYPE_CHECKING:
    from reread.model.conversation import Agent, Conversation

TURN_STARTERS = frozenset({"prompt", "command"})
"""The kinds of message with which a person opens a turn."""

FLAGS = {
    "isError": "error",
    "isApiErrorMessage": "error",
    "isDeleted": "deleted",
    "isAborted": "aborted",
    "isAbortedMidStream": "aborted",
}
"""What a mark on a record says of its message."""
GROWING = ("text", "thinking", "signature", "partial_json")
"""The fields of a block that a stream gives in pieces."""
ROWS_KEPT = 4096
"""Of how many messages the usage rows are kept."""
LONGEST = 1e12
"""Milliseconds beyond which a duration is none."""
FAILED = frozenset({"failed", "error", "timeout", "timed_out"})
ERRORS = (
    "Error:",
    "InputValidationError",
    "User rejected tool use",
    "Sibling tool call errored",
    "Cancelled:",
    "<tool_use_error>",
)
"""How a result begins that is only an error text."""


class Message(msgspec.Struct, eq=False):
    """One prompt, one model response or one notice: every record of it, joined."""

    conversation: Conversation
    index: int
    id: str
    """The API's id for responses, the uuid else."""
    role: str
    """user, assistant or system."""
    kind: str
    """user: prompt, command, output, notification, interrupt, summary, meta;
    assistant: response, error, notice; system: compaction, hook, output, notification, error, notice."""
    stamp: str | None
    """The timestamp as written."""
    branch: int
    records: list[int]
    """The records it is made of, by index, in file order."""
    model: str | None = None
    stop_reason: str | None = None
    calls: Sequence[Call] = ()
    attached: Sequence[int] = ()
    """Records that go with it: files mentioned, context injected, hooks."""
    seen: int = 0
    """Which kinds of block it has so far, as bits: lets the fold notice repeats."""
    told: Sequence[int] = ()
    """Records that add nothing to it but may tell of its usage: repeats, and events of its stream."""
    partial: PartialResponse | None = None
    prints: dict[bytes, int] | None = None
    """Its blocks as JSON with the record that first held each, once a repeat was possible."""

    @property
    def timestamp(self) -> datetime | None:
        """When its first record was written, with a time zone."""
        return parse_timestamp(self.stamp)

    @property
    def uuids(self) -> list[str]:
        """The uuids of its records."""
        envelopes = (self.conversation.records[i].envelope for i in self.records)
        return [envelope.uuid for envelope in envelopes if envelope.uuid is not None]

    @property
    def blocks(self) -> list[b.Block]:
        """Its content blocks in file order, exact repeats dropped."""
        out = join_blocks([self.conversation.content(index) for index in self.records])
        if self.partial is not None:
            out += self.partial.pending()
        return [block for block in out if not self._is_paired(block)] if self.role == "user" else out

    def _is_paired(self, block: b.Block) -> bool:
        """Whether a result is on its call, so that it is no part of what was said."""
        if not isinstance(block, b.ToolResult):
            return False
        if block.tool_use_id is None:
            return any(record in self.conversation.placed for record in self.records)
        return self.conversation.has_call(block.tool_use_id)

    @property
    def text(self) -> str:
        """What it says: for a person's message without the client's additions."""
        if self.role == "user":
            return "\n\n".join(part.text for part in self.prompt_texts if part.text)
        return self.said

    @property
    def said(self) -> str:
        """All its text as it stands."""
        return "\n\n".join(self._texts())

    @property
    def prompt_texts(self) -> list[PromptText]:
        """Its text blocks taken apart."""
        return [parse_prompt(text) for text in self._texts()]

    def _texts(self) -> list[str]:
        texts = (block.text for block in self.blocks if isinstance(block, b.Text))
        return [text for text in texts if isinstance(text, str) and text]

    @property
    def command(self) -> Command | None:
        """The command it is, where it is one."""
        return next((part.command for part in self.prompt_texts if part.command), None)

    @property
    def asides(self) -> list[Aside]:
        """What the client added to the text."""
        return [aside for part in self.prompt_texts for aside in part.asides]

    @property
    def fields(self) -> dict[str, str]:
        """The parts of a notification by tag."""
        return {tag: value for part in self.prompt_texts for tag, value in part.fields.items()}

    @property
    def pasted(self) -> dict[int, b.Block]:
        """The images pasted into it by the number that the text calls them: `[Image #N]`."""
        record = self.conversation.native(self.records[0])
        payload = record.get("attachment")
        ids = (cast(dict[str, Any], payload) if isinstance(payload, dict) else record).get("imagePasteIds")
        numbers = [n for n in cast(list[Any], ids) if isinstance(n, int)] if isinstance(ids, list) else []
        images = [block for block in self.blocks if isinstance(block, b.Image)]
        return dict(zip(numbers, images, strict=False))

    @property
    def thinking_seconds(self) -> dict[str, float]:
        """How long each thought took, by its signature, where the client wrote it down."""
        found: dict[str, float] = {}
        for index in self.records:
            found |= thinking_seconds(self.conversation.native(index), self.conversation.content(index))
        return found

    @property
    def flags(self) -> frozenset[str]:
        """What is odd about it: error, deleted, superseded, aborted."""
        records = [self.conversation.native(i) for i in self.records]
        found = {flag for record in records for name, flag in FLAGS.items() if record.get(name)}
        if any(as_str(record.get("uuid")) in self.conversation.superseded for record in records):
            found.add("superseded")
        return frozenset(found)

    @property
    def usage(self) -> Usage:
        """The tokens of its responses; nothing for what no model said."""
        if self.kind != "response":
            return Usage()
        when, prices = timestamp_ms(self.stamp), current_prices()
        usages = [row_usage(row, when, prices) for row in self.rows]
        return usages[0] if len(usages) == 1 else total(usages)

    @property
    def rows(self) -> list[UsageRow]:
        """The winning usage row of each of its requests; those asked about lately are kept."""
        kept, size = self.conversation.rows_kept, len(self.records) + len(self.told)
        known = kept.get(self.index)
        if known is None or known[0] != size:
            if len(kept) >= ROWS_KEPT:
                kept.clear()
            known = kept[self.index] = (size, self._rows())
        return known[1]

    def _rows(self) -> list[UsageRow]:
        rows: dict[str | None, UsageRow] = {}
        for index in sorted((*self.records, *self.told)):
            row = self._row(self.conversation.records[index].envelope, next(iter(rows.values()), None))
            if row is not None:
                join_row(rows, row)
        return list(rows.values())

    def _row(self, envelope: RecordEnvelope, first: UsageRow | None) -> UsageRow | None:
        """The usage row in a record; an event of the stream only says what changed since the first."""
        event = decode_payload(envelope.event, EventEnvelope) if envelope.event else None
        api = envelope.message if event is None else event.message
        if api is not None:
            usage, stop, model = parse_usage(api.usage), api.stop_reason, api.model
        elif event is not None:
            usage, stop, model = parse_usage(event.usage), event.stop_reason, self.model
            usage = overlay(first.usage, usage) if first is not None and usage is not None else usage
        else:
            return None
        if usage is None or model == SYNTHETIC or envelope.isApiErrorMessage:
            return None
        return UsageRow(envelope.requestId or None, usage, stop, model, envelope.costUSD)

    @property
    def line(self) -> int:
        """The line of its first record."""
        return self.conversation.records.line(self.records[0])

    @property
    def active(self) -> bool:
        """Whether it is on the active branch."""
        return self in self.conversation.branches[0]

    def __repr__(self) -> str:
        return f"<Message {self.role}/{self.kind} {self.id} line {self.line}>"


class Call(msgspec.Struct, eq=False):
    """A tool use and its result together."""

    conversation: Conversation
    index: int
    id: str
    name: str
    message: Message
    """The response that made the call."""
    use: int
    """The record that holds the tool use."""
    answer: int = -1
    """The record that holds the result."""
    is_error: bool = False
    place: int = 0
    """Which block of its record the tool use is."""
    unnamed: int = -1
    """Which block of its record the result is, where it named no call and was placed by where it stands."""
    attached: Sequence[int] = ()
    """Progress, hooks and notices of this call."""
    notices: Sequence[int] = ()
    """Messages in which a background task reported back, by index."""
    started_agent: Agent | None = None
    """The agent it is known to have started, or to have gone on with."""
    started_agents: Sequence[Agent] = ()
    """All that it started: a workflow starts several."""

    @property
    def agent(self) -> Agent | None:
        """The agent it started; the session's agents are read when this is first asked for."""
        self.conversation.link_agents()
        return self.started_agent

    @property
    def agents(self) -> Sequence[Agent]:
        """The agents that it started: one, or those of a workflow."""
        self.conversation.link_agents()
        return self.started_agents

    @property
    def block(self) -> b.Block | None:
        """The tool use as a block."""
        blocks = self.conversation.content(self.use)
        return blocks[self.place] if self.place < len(blocks) else None

    @property
    def input(self) -> Any:
        """The input as written."""
        return getattr(self.block, "input", None)

    @property
    def result(self) -> b.Block | None:
        """The result block, or None while unanswered."""
        if self.answer < 0:
            return None
        blocks = self.conversation.content(self.answer)
        if self.by_position:
            return blocks[self.unnamed] if self.unnamed < len(blocks) else None
        return next((x for x in blocks if isinstance(x, b.ResultBlock) and x.tool_use_id == self.id), None)

    @property
    def by_position(self) -> bool:
        """Whether the result named no call."""
        return self.unnamed >= 0

    @property
    def data(self) -> Any:
        """The structured result: `toolUseResult` in whatever shape it has."""
        if self.answer < 0 or self.answer == self.use:
            return None
        data = self.conversation.native(self.answer).get("toolUseResult")
        results = [x for x in self.conversation.content(self.answer) if isinstance(x, b.ToolResult)]
        if len(results) <= 1:
            return data
        if isinstance(data, list) and len(cast(list[Any], data)) == len(results):
            place = next((n for n, x in enumerate(results) if x.tool_use_id == self.id), None)
            return None if place is None else cast(list[Any], data)[place]
        return None

    @property
    def ok(self) -> bool | None:
        """None while unanswered; False on an error, a denial, a failed or timed-out status; else True."""
        if self.answer < 0:
            return None
        if self.is_error:
            return False
        record = self.conversation.native(self.answer)
        if record.get("isError") or record.get("toolDenialKind"):
            return False
        data = self.data
        if isinstance(data, str):
            return not data.startswith(ERRORS)
        if isinstance(data, dict):
            return not _failed(cast(dict[str, Any], data))
        content = getattr(self.result, "content", None)
        return not (isinstance(content, str) and content.startswith(ERRORS[:1] + ERRORS[-1:]))

    @property
    def tool_call(self) -> ToolCall:
        """The call as a tool sees it; that of the last call asked about is kept."""
        agent = self.agent
        key = (self.index, self.answer, agent, len(agent.records) if agent is not None else 0)
        kept = self.conversation.last_tool_call
        if kept is None or kept[0] != key:
            kept = self.conversation.last_tool_call = (key, self._tool_call())
        return kept[1]

    def _tool_call(self) -> ToolCall:
        record = self.conversation.native(self.answer) if self.answer >= 0 else {}
        denial = record.get("toolDenialKind")
        return ToolCall(
            self.name,
            self.input,
            result=self.result,
            data=self.data,
            ok=self.ok,
            denial=denial if isinstance(denial, str) else None,
            seconds=self.duration,
            agent=self._agent_stats(),
        )

    def _agent_stats(self) -> AgentStats | None:
        agent = self.agent
        if agent is None:
            return None
        usage = agent.usage
        tokens = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens
        tokens += usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
        return AgentStats(id=agent.id, type=agent.type, calls=len(agent.calls), tokens=tokens)

    @property
    def title(self) -> str:
        """What it does, in one line, in the tool's own words."""
        return tools.title(self.tool_call)

    @property
    def nodes(self) -> list[Node]:
        """What it did and what came of it, as things to draw."""
        return self.draw()

    def draw(self, *, full: bool = False) -> list[Node]:
        """The nodes; in full, with everything that was recorded and that no node shows."""
        return tools.draw(self.tool_call, full=full)

    @property
    def started(self) -> datetime | None:
        """When the call was made."""
        return parse_timestamp(as_str(self.conversation.native(self.use).get("timestamp")))

    @property
    def ended(self) -> datetime | None:
        """When its result was written."""
        return (
            None if self.answer < 0 else parse_timestamp(as_str(self.conversation.native(self.answer).get("timestamp")))
        )

    @property
    def duration(self) -> float | None:
        """Seconds from the call to its result, by the records' times."""
        return seconds_between(self.started, self.ended)

    @property
    def line(self) -> int:
        """The line of the tool use."""
        return self.conversation.records.line(self.use)

    def __repr__(self) -> str:
        return f"<Call {self.name} {self.id} line {self.line}>"


class Turn(msgspec.Struct, eq=False):
    """A prompt and everything up to the next prompt."""

    index: int
    prompt: Message | None
    """What a person typed; None where the file does not say (a stream leaves it out)."""
    messages: list[Message]

    @property
    def calls(self) -> list[Call]:
        """The calls of its messages, in order."""
        return [call for message in self.messages for call in message.calls]

    @property
    def usage(self) -> Usage:
        """The tokens of its messages."""
        return total(message.usage for message in self.messages)


class Branch(msgspec.Struct, eq=False):
    """One line of talk from the first message to a leaf."""

    conversation: Conversation
    id: int
    parent: int | None = None
    """The branch it leaves."""
    fork: int = -1
    """The record after which it leaves."""

    @property
    def active(self) -> bool:
        """Whether the session went on from here."""
        return self.conversation.active_branch == self.id

    @property
    def messages(self) -> list[Message]:
        """Its messages, those it shares with its parents first."""
        return self.conversation.branch_messages(self.id)

    @property
    def own(self) -> list[Message]:
        """The messages that are on no parent."""
        return [message for message in self.conversation.messages if message.branch == self.id]

    @property
    def turns(self) -> list[Turn]:
        """Its turns."""
        return list(cut_turns(self.messages, self.conversation.turn_ends))

    @property
    def leaf(self) -> str | None:
        """The uuid of its last record."""
        own = self.messages
        return own[-1].uuids[-1] if own and own[-1].uuids else None

    def __contains__(self, message: object) -> bool:
        return isinstance(message, Message) and self.conversation.on_branch(message, self.id)


class Compaction(msgspec.Struct, eq=False):
    """Where the conversation was summed up to make room."""

    conversation: Conversation
    boundary: Message | None = None
    summary: Message | None = None
    micro: bool = False
    """Whether only old tool results were cleared."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The client's own figures, as written."""
        if self.boundary is None:
            return {}
        record = self.conversation.native(self.boundary.records[0])
        found = record.get("microcompactMetadata" if self.micro else "compactMetadata")
        return cast(dict[str, Any], found) if isinstance(found, dict) else {}

    @property
    def trigger(self) -> str | None:
        """auto or manual."""
        return as_str(self.metadata.get("trigger"))

    @property
    def pre_tokens(self) -> int | None:
        """How full the context was before."""
        return as_int(self.metadata.get("preTokens"))

    @property
    def post_tokens(self) -> int | None:
        """How full it was after."""
        return as_int(self.metadata.get("postTokens"))

    @property
    def preserved(self) -> list[str]:
        """The uuids of records that stayed in the context as they were."""
        metadata = self.metadata
        kept = metadata.get("preservedMessages")
        uuids = cast(dict[str, Any], kept).get("uuids") if isinstance(kept, dict) else None
        if isinstance(uuids, list):
            return [uuid for uuid in cast(list[Any], uuids) if isinstance(uuid, str)]
        segment = metadata.get("preservedSegment")
        if not isinstance(segment, dict):
            return []
        ends = cast(dict[str, Any], segment)
        return self.conversation.chain(as_str(ends.get("headUuid")), as_str(ends.get("tailUuid")))

    @property
    def line(self) -> int:
        """The line of the boundary, or of the summary where none was written."""
        message = self.boundary or self.summary
        return message.line if message else 0


class PartialResponse:
    """A response that is still being streamed: the blocks of which no whole line has come yet."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._more: dict[int, dict[str, list[str]]] = {}
        """What has been added to the fields of each block, in pieces: there are thousands."""
        self._done: set[int] = set()

    def apply(self, event: dict[str, Any]) -> None:
        """Take in one event of the API's stream."""
        place = event.get("index")
        if not isinstance(place, int):
            return
        if event.get("type") == "content_block_start" and isinstance(event.get("content_block"), dict):
            self._blocks[place] = dict(event["content_block"])
            self._more.pop(place, None)
        elif event.get("type") == "content_block_delta" and isinstance(event.get("delta"), dict):
            self._blocks.setdefault(place, {"type": "text", "text": ""})
            self._grow(self._more.setdefault(place, {}), event["delta"])

    def settle(self, kind: str) -> None:
        """A whole line of this kind has come: its block is pending no longer."""
        for place in sorted(self._blocks):
            if place not in self._done and self._blocks[place].get("type") == kind:
                self._done.add(place)
                return

    def pending(self) -> list[b.Block]:
        """The blocks that no whole line has replaced."""
        return [b.to_block(self._block(place)) for place in sorted(self._blocks) if place not in self._done]

    def _block(self, place: int) -> dict[str, Any]:
        block, more = self._blocks[place], self._more.get(place, {})
        return block | {name: f"{block.get(name) or ''}{''.join(pieces)}" for name, pieces in more.items()}

    def _grow(self, more: dict[str, list[str]], delta: dict[str, Any]) -> None:
        for name in GROWING:
            piece = delta.get(name)
            if isinstance(piece, str):
                more.setdefault(name, []).append(piece)


def join_blocks(contents: Sequence[list[b.Block]]) -> list[b.Block]:
    """The blocks of several records as one: exact repeats are dropped; content that repeats all and adds replaces."""
    if len(contents) == 1:
        return contents[0]
    blocks: list[b.Block] = []
    prints: list[bytes] = []
    seen: set[bytes] = set()
    for content in contents:
        more = [jsontext.dumps(block) for block in content]
        if len(more) > len(prints) and more[: len(prints)] == prints:
            blocks, prints = list(content), more
        else:
            fresh = [n for n, print in enumerate(more) if print not in seen]
            blocks += [content[n] for n in fresh]
            prints += [more[n] for n in fresh]
        seen.update(more)
    return blocks


def cut_turns(messages: Sequence[Message], ends: frozenset[int]) -> Iterator[Turn]:
    """Messages cut into turns: a new one at each prompt, and after each end that the file itself states.

    Notices and context before the first prompt go with its turn; a response before it is a turn without one.
    """
    turn: list[Message] = []
    prompt: Message | None = None
    opened = False
    count = 0
    for message in messages:
        starts = message.kind in TURN_STARTERS
        if (starts and opened) or (turn and turn[-1].index in ends):
            count += 1
            yield Turn(count, prompt, turn)
            turn, prompt, opened = [], None, False
        if starts and prompt is None:
            prompt = message
        opened = opened or starts or message.kind == "response"
        turn.append(message)
    if turn:
        yield Turn(count + 1, prompt, turn)


def thinking_seconds(record: dict[str, Any], blocks: Sequence[b.Block]) -> dict[str, float]:
    """How long the thoughts of one record took, by their signatures."""
    took = record.get("thinkingDurationMs")
    if not isinstance(took, int | float) or not 0 <= took < LONGEST:
        return {}
    thoughts = (block for block in blocks if isinstance(block, b.Thinking))
    return {block.signature: took / 1000 for block in thoughts if isinstance(block.signature, str)}


def _failed(data: dict[str, Any]) -> bool:
    task = data.get("task")
    states = [data.get("status"), data.get("retrieval_status")]
    if isinstance(task, dict):
        states.append(cast(dict[str, Any], task).get("status"))
    return data.get("success") is False or any(isinstance(s, str) and s in FAILED for s in states)
