"""Finding: where a text stands in a session, and which passages fit a filter, a little at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Set
from typing import Any, NamedTuple, cast

from reread.base.coerce import as_dict
from reread.model.conversation import BITS, Conversation
from reread.model.messages import TURN_STARTERS, Call, Message
from reread.reader import schema
from reread.reader.drawing import details, reported
from reread.reader.session_view import SessionView
from reread.reader.timeline import Timeline
from reread.records.blocks import Block, CallBlock, RedactedThinking, Text, Thinking
from reread.tools import generic
from reread.tools.generic import HIDDEN
from reread.tools.nodes import Data

SECONDS = 0.2
"""How long one request may look; then it says where to go on."""
MOST = 200
"""How many hits one request gives."""
AROUND = 60
"""How many characters are shown on each side of a hit."""
LONGEST = 500
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;=+*()\[\]{}!?@#$%^~|-]+")
"""What every writer of JSON writes as it is."""

WHERE = {"prompt": "prompts", "text": "text", "thinking": "thinking", "call": "tools", "notice": "notices"}
"""The kind that a filter calls each place."""
SPOKEN = ("text", "thinking")
CALL = frozenset({"tools"})
KIND = HIDDEN | {"type"}


class ItemFilter(NamedTuple):
    """What is wanted: what is of one of the kinds, or a call of one of the tools; where asked, only what failed.

    A passage fits where one of its parts does. The exported page, which has no server, keeps the same rule
    (`filter.ts`): `tests/fixtures/finding.json` holds both to it.
    """

    kinds: frozenset[str] = frozenset()
    """prompts, text, thinking, tools or notices."""
    tools: frozenset[str] = frozenset()
    errors: bool = False

    def fits(self, messages: list[Message]) -> bool:
        """Whether a passage is wanted; next to nothing is read for it."""
        return any(
            self.wants(self._kinds(message), message) or any(self.wants(CALL, message, call) for call in message.calls)
            for message in messages
        )

    def wants(self, kinds: Set[str], message: Message, call: Call | None = None) -> bool:
        """Whether something of these kinds is wanted that stands in a message, or in one of its calls."""
        if self.errors and not (message.kind == "error" if call is None else call.is_error):
            return False
        named = call is not None and call.name in self.tools
        return not (self.kinds or self.tools) or named or not self.kinds.isdisjoint(kinds)

    def _kinds(self, message: Message) -> set[str]:
        """The kinds of what a message holds besides calls."""
        if message.kind == "response":
            found = {name for name in SPOKEN if message.seen & BITS[name]}
            found = found or ({"text"} if not message.calls else set())
        else:
            found = {"prompts" if message.kind in TURN_STARTERS else "notices"}
        noted = bool(message.attached) or ("notices" in self.kinds and bool(message.asides))
        return found | {"notices"} if noted else found


EVERYTHING = ItemFilter()


def filtered(
    view: SessionView,
    wanted: ItemFilter,
    *,
    start: int = 0,
    count: int = 1000,
    agent: str | None = None,
    branch: int | None = None,
) -> schema.Filtered:
    """The passages that fit, from one on, as far as the time goes."""
    timeline = view.timeline(agent, branch)
    until = time.monotonic() + SECONDS
    found: list[int] = []
    for index in range(max(0, start), len(timeline)):
        if len(found) >= count or (index % 256 == 0 and time.monotonic() > until):
            return schema.Filtered(indices=found, next=index, total=len(timeline))
        if wanted.fits(timeline.item(index)):
            found.append(index)
    return schema.Filtered(indices=found, next=None, total=len(timeline))


def search_session(
    view: SessionView,
    query: str,
    wanted: ItemFilter = EVERYTHING,
    *,
    start: int = 0,
    agent: str | None = None,
    branch: int | None = None,
) -> schema.Hits:
    """Where a text stands, from one passage on, as far as the time goes; after the main thread come its agents."""
    needle = Needle(query[:LONGEST])
    below = view.session.agents if agent is None else {}
    timelines = [(None, view.timeline(agent, branch)), *((id, view.timeline(id)) for id in below)]
    total = sum(len(timeline) for _, timeline in timelines)
    until = time.monotonic() + SECONDS
    hits: list[schema.Hit] = []
    at = 0
    for owner, timeline in timelines:
        for index in range(max(0, start - at), len(timeline)):
            place = at + index
            if place > start and (len(hits) >= MOST or time.monotonic() > until):
                return schema.Hits(hits=hits, next=place, searched=place, total=total)
            hits += _hits(owner, timeline, index, needle, wanted)
        at += len(timeline)
    return schema.Hits(hits=hits, next=None, searched=total, total=total)


class Needle:
    """A text that is looked for, whatever its case."""

    def __init__(self, text: str) -> None:
        self._pattern = re.compile(re.escape(text), re.IGNORECASE)
        plain = max(_PLAIN.findall(text), key=len, default="")
        self._bytes = plain.lower().encode()
        """The longest piece that stands in the file as it is: where that is not, the whole cannot be."""

    def may_be_in(self, raw: bytes) -> bool:
        """Whether the bytes may hold it."""
        return not self._bytes or self._bytes in raw.lower()

    def find(self, text: str) -> tuple[str, str, str] | None:
        """What stands before the first place, the place itself, and what stands after it."""
        found = self._pattern.search(text)
        if found is None:
            return None
        before = text[max(0, found.start() - AROUND) : found.start()]
        return before, found[0], text[found.end() : found.end() + AROUND]


def _hits(
    agent: str | None, timeline: Timeline, index: int, needle: Needle, wanted: ItemFilter
) -> Iterator[schema.Hit]:
    messages = timeline.item(index)
    if not wanted.fits(messages):
        return
    for message in messages:
        if message.role != "system" and not any(needle.may_be_in(raw) for raw in _raw(message)):
            continue  # a notice may be told in our words, which are not in the file
        for where, call, text in _texts(message):
            found = needle.find(text) if wanted.wants({WHERE[where]}, message, call) else None
            if found is not None:
                before, match, after = found
                yield schema.Hit(
                    item=index,
                    key=timeline.key(index),
                    turn=timeline.turn_of(index),
                    agent=agent,
                    call=call.index if call is not None else None,
                    where=where,
                    before=before,
                    match=match,
                    after=after,
                )


def _raw(message: Message) -> Iterator[bytes]:
    """The bytes of everything that a message is made of."""
    records = message.conversation.records
    answers = [call.answer for call in message.calls if call.answer >= 0]
    for index in dict.fromkeys([*message.records, *answers, *message.attached]):
        _, offset, length = records.place(index)
        yield records.read(offset, length)


def _texts(message: Message) -> Iterator[tuple[str, Call | None, str]]:
    """Every text of a message with where it stands."""
    if message.kind == "response":
        for block in message.blocks:
            if isinstance(block, Text) and isinstance(block.text, str):
                yield "text", None, block.text
            elif isinstance(block, Thinking) and isinstance(block.thinking, str):
                yield "thinking", None, block.thinking
            elif not isinstance(block, RedactedThinking | CallBlock) and not hasattr(block, "tool_use_id"):
                yield "text", None, _drawn(block)
    else:
        where = "prompt" if message.kind in TURN_STARTERS else "notice"
        yield where, None, message.said if message.kind == "meta" else message.text
        for block in message.blocks:
            if not isinstance(block, Text):
                yield where, None, _drawn(block)
        for aside in message.asides:
            yield "notice", None, aside.text
        yield "notice", None, "\n".join(_beside(message))
    for call in message.calls:
        given = getattr(call.result, "content", None)
        yield "call", call, "\n".join([call.title, *strings(call.input), *strings(given), *strings(call.data)])
    for text in _attached(message.conversation, message):
        yield "notice", None, text


def _beside(message: Message) -> Iterator[str]:
    """What a notification or a notice tells besides its text."""
    if message.kind == "notification":
        yield from strings(list(reported(message)))
    yield from (text for text in strings(details(message)) if text not in message.text)


def _drawn(block: Block) -> str:
    """What can be read of a block that is no text."""
    node = generic.block_node(block)
    return "\n".join(strings(node.value)) if isinstance(node, Data) else ""


def _attached(conversation: Conversation, message: Message) -> Iterator[str]:
    for index in message.attached:
        record = conversation.native(index)
        payload = as_dict(record.get("attachment")) or as_dict(record.get("data"))
        yield "\n".join(text for name, item in payload.items() if name not in KIND for text in strings(item))


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, in order; what is no text aside."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pairs = cast(dict[str, Any], item).items()
            stack += [inner for key, inner in reversed(list(pairs)) if key not in HIDDEN]
        elif isinstance(item, list):
            stack += reversed(cast(list[Any], item))
