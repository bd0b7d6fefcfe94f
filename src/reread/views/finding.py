"""Finding: where a text stands in a session, and which passages fit a filter, a little at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from reread.blocks import Text, Thinking
from reread.conversation import BITS, Conversation
from reread.messages import TURN_STARTERS, Call, Message
from reread.tools.generic import HIDDEN
from reread.views import pages
from reread.views.desk import Desk
from reread.views.scroll import Scroll

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


class Filter(NamedTuple):
    """Which passages are wanted: of one of the kinds or with one of the tools; where asked, those with an error."""

    kinds: frozenset[str] = frozenset()
    """prompts, text, thinking, tools or notices."""
    tools: frozenset[str] = frozenset()
    errors: bool = False

    def fits(self, messages: list[Message]) -> bool:
        """Whether a passage is wanted; nothing is read for it."""
        if not any(map(self._wants, messages)):
            return False
        return not self.errors or any(_failed(message) for message in messages)

    def _wants(self, message: Message) -> bool:
        if not self.kinds and not self.tools:
            return True
        return bool(self.kinds & _kinds(message)) or any(call.name in self.tools for call in message.calls)

    def wants_text(self, where: str, call: Call | None) -> bool:
        """Whether a text is looked through that stands somewhere."""
        if not self.kinds and not self.tools:
            return True
        return WHERE[where] in self.kinds or (call is not None and call.name in self.tools)


EVERYTHING = Filter()


def _kinds(message: Message) -> set[str]:
    if message.kind in TURN_STARTERS:
        return {"prompts"}
    if message.kind != "response":
        return {"notices"}
    found = {name for name, bit in BITS.items() if message.seen & bit}
    return found | {"tools"} if message.calls else found or {"text"}


def _failed(message: Message) -> bool:
    return message.kind == "error" or any(call.is_error for call in message.calls)


def filtered(
    desk: Desk,
    wanted: Filter,
    *,
    start: int = 0,
    count: int = 1000,
    agent: str | None = None,
    branch: int | None = None,
) -> pages.Filtered:
    """The passages that fit, from one on, as far as the time goes."""
    scroll = desk.scroll(agent, branch)
    until = time.monotonic() + SECONDS
    found: list[int] = []
    for index in range(max(0, start), len(scroll)):
        if len(found) >= count or (index % 256 == 0 and time.monotonic() > until):
            return pages.Filtered(indices=found, next=index, total=len(scroll))
        if wanted.fits(scroll.passage(index)):
            found.append(index)
    return pages.Filtered(indices=found, next=None, total=len(scroll))


def find(
    desk: Desk,
    query: str,
    wanted: Filter = EVERYTHING,
    *,
    start: int = 0,
    agent: str | None = None,
    branch: int | None = None,
) -> pages.Hits:
    """Where a text stands, from one passage on, as far as the time goes; after the main thread come its agents."""
    needle = Needle(query[:LONGEST])
    below = desk.session.agents if agent is None else {}
    scrolls = [(None, desk.scroll(agent, branch)), *((id, desk.scroll(id)) for id in below)]
    total = sum(len(scroll) for _, scroll in scrolls)
    until = time.monotonic() + SECONDS
    hits: list[pages.Hit] = []
    at = 0
    for owner, scroll in scrolls:
        for index in range(max(0, start - at), len(scroll)):
            place = at + index
            if place > start and (len(hits) >= MOST or time.monotonic() > until):
                return pages.Hits(hits=hits, next=place, searched=place, total=total)
            hits += _hits(owner, scroll, index, needle, wanted)
        at += len(scroll)
    return pages.Hits(hits=hits, next=None, searched=total, total=total)


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


def _hits(agent: str | None, scroll: Scroll, index: int, needle: Needle, wanted: Filter) -> Iterator[pages.Hit]:
    messages = scroll.passage(index)
    if not wanted.fits(messages):
        return
    for message in messages:
        if not any(needle.may_be_in(raw) for raw in _raw(message)):
            continue
        for where, call, text in _texts(message):
            found = needle.find(text) if wanted.wants_text(where, call) else None
            if found is not None:
                before, match, after = found
                yield pages.Hit(
                    passage=index,
                    key=scroll.key(index),
                    turn=scroll.turn_of(index),
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
    if message.kind != "response":
        yield ("prompt" if message.kind in TURN_STARTERS else "notice"), None, message.text
        for aside in message.asides:
            yield "notice", None, aside.text
    else:
        for block in message.blocks:
            if isinstance(block, Text) and isinstance(block.text, str):
                yield "text", None, block.text
            elif isinstance(block, Thinking) and isinstance(block.thinking, str):
                yield "thinking", None, block.thinking
    for call in message.calls:
        given = getattr(call.result, "content", None)
        yield "call", call, "\n".join([call.title, *strings(call.input), *strings(given), *strings(call.data)])
    for text in _attached(message.conversation, message):
        yield "notice", None, text


def _attached(talk: Conversation, message: Message) -> Iterator[str]:
    for index in message.attached:
        record = talk.native(index)
        yield "\n".join(strings(record.get("attachment") or record.get("data")))


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
