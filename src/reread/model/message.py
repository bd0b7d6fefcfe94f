"""The content of a message, read from its records."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

import msgspec

from reread.accounting.billing import SYNTHETIC, UsageRow, join_row, overlay
from reread.base.coerce import as_dict, as_str
from reread.base.times import parse_timestamp
from reread.model.authors import BY_KIND, CLIENT, PEER, TASK, user_author
from reread.model.bodies import Bodies
from reread.model.content import first_text
from reread.model.partial import BlockPrints, PartialResponse, join_blocks
from reread.model.prompt_text import Aside, PromptCommand, PromptText, parse_prompt
from reread.model.record_kinds import TURN_STARTERS
from reread.records.blocks import Block, Image, Text, Thinking
from reread.records.envelope import EventEnvelope, RecordEnvelope, decode_payload, parse_usage

CACHED_ROWS = 4096
"""For how many messages the usage rows stay computed."""


class RowCache:
    """The usage rows of the messages last asked for, by their index."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[int, list[UsageRow]]] = {}

    def get(self, index: int, size: int, compute: Callable[[], list[UsageRow]]) -> list[UsageRow]:
        """Return the rows of a message; they are computed again once it has another number of records."""
        known = self._rows.get(index)
        if known is None or known[0] != size:
            if len(self._rows) >= CACHED_ROWS:
                self._rows.clear()
            known = self._rows[index] = (size, compute())
        return known[1]


def usage_rows(envelopes: Iterable[RecordEnvelope], model: str | None) -> list[UsageRow]:
    """Return the winning usage row of each request of a response; `model` made the events of its stream."""
    rows: dict[str | None, UsageRow] = {}
    for envelope in envelopes:
        row = _row(envelope, model, next(iter(rows.values()), None))
        if row is not None:
            join_row(rows, row)
    return list(rows.values())


def _row(envelope: RecordEnvelope, model: str | None, first: UsageRow | None) -> UsageRow | None:
    """Return the usage row in a record; an event of a stream only states what changed since the first."""
    event = decode_payload(envelope.event, EventEnvelope) if envelope.event else None
    api = envelope.message if event is None else event.message
    if api is not None:
        usage, stop, model = parse_usage(api.usage), api.stop_reason, api.model
    elif event is not None:
        usage, stop = parse_usage(event.usage), event.stop_reason
        usage = overlay(first.usage, usage) if first is not None and usage is not None else usage
    else:
        return None
    if usage is None or model == SYNTHETIC or envelope.isApiErrorMessage:
        return None
    return UsageRow(envelope.requestId or None, usage, stop, model, envelope.costUSD)


FLAGS = {
    "isError": "error",
    "isApiErrorMessage": "error",
    "isDeleted": "deleted",
    "isAborted": "aborted",
    "isAbortedMidStream": "aborted",
}
"""The flag that a field of a record gives its message."""
SENDERS = ("teammate_id", "from", "name", "sender", "source", "server")
"""The fields of a message or its origin that name the peer who sent it, best first."""
LONGEST_MS = 1e12
"""Durations beyond this are ignored."""
M = TypeVar("M", bound="MessageContent")


class ApiFacts(msgspec.Struct, frozen=True):
    """The fields recorded of the API request behind a response; None if unknown."""

    request_id: str | None = None
    stop_sequence: str | None = None
    """The text that ended the response, if it was a stop sequence."""
    service_tier: str | None = None


class MessageContent(msgspec.Struct, eq=False):
    """A message as its records: every record of it, joined."""

    bodies: Bodies
    index: int
    """Its position in the conversation, from 0."""
    id: str
    """The API's id for responses, the uuid otherwise."""
    role: str
    """user, assistant or system."""
    kind: str
    """user: prompt, command, output, hook, notification, interrupt, summary, meta;
    assistant: response, error, notice; system: compaction, hook, output, notification, error, notice."""
    stamp: str | None
    """The timestamp as written."""
    branch: int
    records: list[int]
    """The records it is made of, by index, in file order."""
    model: str | None = None
    stop_reason: str | None = None
    attached: Sequence[int] = ()
    """Records that belong to it: files mentioned, context added, hooks."""
    seen: int = 0
    """The types of block it has so far, as bits."""
    usage_records: Sequence[int] = ()
    """Records that add nothing but may state its usage: repeats, and events of its stream."""
    partial: PartialResponse | None = None
    prints: BlockPrints | None = None
    """Its blocks, to recognise repeats; built once one is possible."""

    @property
    def author(self) -> str:
        """Who said it: person, model, command, hook, peer, task or client.

        Only what a person typed, other than a command, is `person`. A `peer` is a teammate, another session or a
        channel; a `task` is an agent or a program in the background that reports.
        """
        if self.role != "user":
            return BY_KIND.get((self.role, self.kind), TASK if self.kind == "notification" else CLIENT)
        text = first_text([{"text": text} for text in self._texts()])
        return user_author(self.kind, as_str(self._origin.get("kind")), text, in_agent=self.bodies.of_agent)

    @property
    def sender(self) -> str | None:
        """The name of the peer that sent it, if it says so."""
        if self.author != PEER:
            return None
        named = {**self._origin, **self.fields}
        return next((name for field in SENDERS if (name := as_str(named.get(field)))), None)

    @property
    def _origin(self) -> dict[str, Any]:
        native = self.bodies.native(self.records[0])
        queued = as_dict(native.get("attachment"))
        return as_dict((queued or native).get("origin")) or {"kind": queued.get("commandMode") if queued else None}

    @property
    def timestamp(self) -> datetime | None:
        """When its first record was written, with a time zone."""
        return parse_timestamp(self.stamp)

    @property
    def uuids(self) -> list[str]:
        """The uuids of its records."""
        envelopes = (self.bodies.records[i].envelope for i in self.records)
        return [envelope.uuid for envelope in envelopes if envelope.uuid is not None]

    @property
    def blocks(self) -> list[Block]:
        """Its content blocks in file order, without exact repeats and without results that have a call."""
        out = join_blocks([self.bodies.content(index) for index in self.records])
        if self.partial is not None:
            out += self.partial.pending()
        return (
            [block for block in out if not self.bodies.is_paired(block, self.records)] if self.role == "user" else out
        )

    @property
    def text(self) -> str:
        """Its text; of a person's message, without the client's additions."""
        if self.has_prompt_text:
            return "\n\n".join(part.text for part in self.prompt_texts if part.text)
        return self.full_text

    @property
    def has_prompt_text(self) -> bool:
        """True if its text may hold tags and additions of the client: a user's, or that of a local command."""
        return self.role == "user" or self.kind == "output"

    @property
    def full_text(self) -> str:
        """All its text as written."""
        return "\n\n".join(self._texts())

    @property
    def prompt_texts(self) -> list[PromptText]:
        """Its text blocks, each split into what was typed and what the client added."""
        return [parse_prompt(text) for text in self._texts()]

    def _texts(self) -> list[str]:
        texts = (block.text for block in self.blocks if isinstance(block, Text))
        return [text for text in texts if isinstance(text, str) and text]

    @property
    def command(self) -> PromptCommand | None:
        """The command, if it is one."""
        return next((part.command for part in self.prompt_texts if part.command), None)

    @property
    def asides(self) -> list[Aside]:
        """The client's additions to the text."""
        return [aside for part in self.prompt_texts for aside in part.asides]

    @property
    def fields(self) -> dict[str, str]:
        """The parts of a notification by tag."""
        return {tag: value for part in self.prompt_texts for tag, value in part.fields.items()}

    @property
    def pasted(self) -> dict[int, Block]:
        """The images pasted into it, by the number in the text: `[Image #N]`."""
        record = self.bodies.native(self.records[0])
        payload = record.get("attachment")
        ids = (cast(dict[str, Any], payload) if isinstance(payload, dict) else record).get("imagePasteIds")
        numbers = [n for n in cast(list[Any], ids) if isinstance(n, int)] if isinstance(ids, list) else []
        images = [block for block in self.blocks if isinstance(block, Image)]
        return dict(zip(numbers, images, strict=False))

    @property
    def api_facts(self) -> ApiFacts:
        """The fields that its records have of the API request behind a response."""
        found: dict[str, str] = {}
        for index in self.records:
            native = self.bodies.native(index)
            api = as_dict(native.get("message"))
            values = (native.get("requestId"), api.get("stop_sequence"), as_dict(api.get("usage")).get("service_tier"))
            named = zip(ApiFacts.__struct_fields__, values, strict=True)
            found |= {name: value for name, value in named if isinstance(value, str)}
        return ApiFacts(**found)

    @property
    def thinking_seconds(self) -> dict[str, float]:
        """How long each thought took, by its signature, if the client recorded it."""
        found: dict[str, float] = {}
        for index in self.records:
            found |= thinking_seconds(self.bodies.native(index), self.bodies.content(index))
        return found

    @property
    def flags(self) -> frozenset[str]:
        """Its flags: error, deleted, superseded, aborted; dropped, if only an earlier state of the file has it."""
        records = [self.bodies.native(i) for i in self.records]
        found = {flag for record in records for name, flag in FLAGS.items() if record.get(name)}
        if any(as_str(record.get("uuid")) in self.bodies.superseded for record in records):
            found.add("superseded")
        if self.dropped:
            found.add("dropped")
        return frozenset(found)

    @property
    def dropped(self) -> bool:
        """True if the file has none of its records any more, and only an earlier state of it does."""
        return all(map(self.bodies.records.is_dropped, self.records))

    def usage_rows(self) -> list[UsageRow]:
        """Return the winning usage row of each of its requests."""
        envelopes = (self.bodies.records[index].envelope for index in sorted((*self.records, *self.usage_records)))
        return usage_rows(envelopes, self.model)

    @property
    def line(self) -> int:
        """The line of its first record."""
        return self.bodies.records.line(self.records[0])


def thinking_seconds(native: dict[str, Any], blocks: Sequence[Block]) -> dict[str, float]:
    """Return how long the thoughts of one record took, by their signatures."""
    took = native.get("thinkingDurationMs")
    if not isinstance(took, int | float) or not 0 <= took < LONGEST_MS:
        return {}
    thoughts = (block for block in blocks if isinstance(block, Thinking))
    return {block.signature: took / 1000 for block in thoughts if isinstance(block.signature, str)}


def split_turns(messages: Sequence[M], ends: Container[int]) -> Iterator[tuple[M | None, list[M]]]:
    """Yield prompt and messages of each turn: a new one at each prompt, and after each end that the file states.

    Notices and context before the first prompt belong to its turn; a response before it is a turn without one.
    """
    turn: list[M] = []
    prompt: M | None = None
    opened = False
    for message in messages:
        starts = message.kind in TURN_STARTERS
        if (starts and opened) or (turn and turn[-1].index in ends):
            yield prompt, turn
            turn, prompt, opened = [], None, False
        if starts and prompt is None:
            prompt = message
        opened = opened or starts or message.kind == "response"
        turn.append(message)
    if turn:
        yield prompt, turn
