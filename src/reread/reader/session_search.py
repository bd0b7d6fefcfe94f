"""Search a session, and filter its timeline, within a time limit for each request."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reread.base.choices import DENIED, FAILED, INTERRUPTED
from reread.index.document import INPUT, NOTICE, PROMPT, RESULT, SearchDocument
from reread.index.document import TEXT as ANSWER
from reread.index.document import THINKING as THOUGHT
from reread.index.documents import named_files
from reread.index.matching import DocumentFacts, composed, matches, wanted, words_span
from reread.index.query import And, InProject, InSession, NamedFilter, Node, Not, Or, Period, Words, parse_query
from reread.index.terms import fold
from reread.model.conversation import Call, Message
from reread.model.parts import (
    NOTICES,
    PROMPTS,
    TEXT,
    THINKING,
    TOOLS,
    MessageCall,
    MessagePart,
    part_texts,
    quick_kinds,
)
from reread.reader import schema
from reread.reader.drawing import shown_parts
from reread.reader.schema import Value
from reread.reader.session_view import SessionView
from reread.reader.timeline import Timeline

SECONDS = 0.2
"""How long one request may take; then it returns where to continue."""
MAX_HITS = 200
"""How many hits one request returns, about."""
MAX_QUERY = 500
PLACES = {PROMPTS: "prompt", TEXT: "text", THINKING: "thinking", TOOLS: "call", NOTICES: "notice"}
"""The name that a hit has for the kind of part it is in."""
UNIT_KINDS = {
    "prompt": (PROMPT,),
    "text": (ANSWER,),
    "thinking": (THOUGHT,),
    "call": (INPUT, RESULT),
    "notice": (NOTICE,),
}
"""The name that a query has for it; a call is one text here, and its input and its result there."""
AROUND = 60
"""How many characters are shown on each side of a hit."""
ESCAPE = b"\\u"
"""How JSON writes characters that may be accents, or begin the escape codes of terminals, which may split a word."""
SPILLED = b"tool-results"
"""The field of a record whose result was written to another file."""
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;=+*()\[\]{}!?@#$%^~|-]+")
"""Characters that every JSON writer writes unescaped."""


class ItemFilter(NamedTuple):
    """Selects parts of one of the kinds, or calls of one of the tools; with `errors`, only those that failed.

    An item matches if one of its parts does. An exported page, which has no server, applies the same rule
    (`filter.ts`); `tests/fixtures/search.json` tests both.
    """

    kinds: frozenset[str] = frozenset()
    """prompts, text, thinking, tools or notices."""
    tools: frozenset[str] = frozenset()
    errors: bool = False
    stopped: bool = False
    """With `errors`, also calls that were denied or interrupted."""

    def matches(self, messages: list[Message]) -> bool:
        """True if an item with these messages matches; hardly any record is read for it."""
        if self == EVERYTHING:
            return True
        return any(
            any(self.selects(kind, message) for kind in self._kinds(message))
            or any(self.selects(TOOLS, message, call) for call in message.calls)
            for message in messages
        )

    def selects(self, kind: str, message: Message, call: Call | None = None) -> bool:
        """True if the filter selects a part of this kind, or this call."""
        if self.errors and not (message.kind == "error" if call is None else call.state in self._bad_states):
            return False
        named = call is not None and call.name in self.tools
        return not (self.kinds or self.tools) or named or kind in self.kinds

    @property
    def _bad_states(self) -> tuple[str, ...]:
        return (FAILED, DENIED, INTERRUPTED) if self.stopped else (FAILED,)

    def _kinds(self, message: Message) -> set[str]:
        kinds = quick_kinds(message)
        if NOTICES in self.kinds and message.role == "user" and message.asides:
            kinds.add(NOTICES)
        return kinds


EVERYTHING = ItemFilter()


def filter_items(
    view: SessionView,
    item_filter: ItemFilter,
    *,
    start: int = 0,
    count: int = 1000,
    agent: str | None = None,
    branch: int | None = None,
) -> schema.FilterResult:
    """The items that match a filter, beginning at `start`."""
    timeline = view.timeline(agent, branch)
    until = time.monotonic() + SECONDS
    found: list[int] = []
    for index in range(max(0, start), len(timeline)):
        if len(found) >= count or (index % 256 == 0 and time.monotonic() > until):
            return _filter_result(timeline, found, index)
        if item_filter.matches(timeline.item(index)):
            found.append(index)
    return _filter_result(timeline, found, None)


def _filter_result(timeline: Timeline, indices: list[int], following: int | None) -> schema.FilterResult:
    turns = [timeline.turn_of(index) for index in indices]
    return schema.FilterResult(indices=indices, turns=turns, next=following, total=len(timeline))


def search_session(
    view: SessionView,
    query: str,
    item_filter: ItemFilter = EVERYTHING,
    *,
    start: int = 0,
    agent: str | None = None,
    branch: int | None = None,
) -> schema.SearchHits:
    """The places that match a query, beginning at item `start`; the items of agents follow the main thread's."""
    matcher = TextMatcher(query[:MAX_QUERY])
    below = view.session.agents if agent is None else {}
    timelines = [(None, view.timeline(agent, branch)), *((id, view.timeline(id)) for id in below)]
    total = sum(len(timeline) for _, timeline in timelines)
    until = time.monotonic() + SECONDS
    hits: list[schema.SearchHit] = []
    before = 0
    for owner, timeline in timelines:
        for index in range(max(0, start - before), len(timeline)):
            at = before + index
            if at > start and (len(hits) >= MAX_HITS or time.monotonic() > until):
                return schema.SearchHits(hits=hits, next=at, searched=at, total=total)
            hits += _hits(owner, timeline, index, matcher, item_filter)
        before += len(timeline)
    return schema.SearchHits(hits=hits, next=None, searched=total, total=total)


def _hits(
    agent: str | None, timeline: Timeline, index: int, matcher: TextMatcher, item_filter: ItemFilter
) -> Iterator[schema.SearchHit]:
    messages = timeline.item(index)
    if not item_filter.matches(messages):
        return
    for message in messages:
        if not _has_own_text(message) and not matcher.may_match(_raw_records(message)):
            continue
        for part, text in message_texts(message):
            call = part.call if isinstance(part, MessageCall) else None
            found = matcher.find(text.documents) if item_filter.selects(part.kind, message, call) else None
            if found is not None:
                before, match, after = found
                yield schema.SearchHit(
                    item=index,
                    key=timeline.key(index),
                    turn=timeline.turn_of(index),
                    agent=agent,
                    call=text.call,
                    where=text.where,
                    tool=call.name if call is not None else None,
                    before=before,
                    match=match,
                    after=after,
                )


def _has_own_text(message: Message) -> bool:
    """True if a text of a message may be in none of its records: in our words, joined from pieces, or beside it."""
    return message.role == "system" or message.partial is not None or message.conversation.marks.has(message.index)


def _raw_records(message: Message) -> Iterator[bytes]:
    """The bytes of all records whose texts belong to a message."""
    records = message.conversation.records
    answers = [call.answer for call in message.calls if call.answer >= 0]
    for index in dict.fromkeys([*message.records, *answers, *message.attached]):
        _, offset, length = records.position(index)
        yield records.read(offset, length)


class ItemText(Value, frozen=True, omit_defaults=True):
    """One text of an item."""

    where: str
    """prompt, text, thinking, call or notice."""
    text: str
    call: int | None = None
    """The index of the call that the text belongs to."""
    tool: str = ""
    files: tuple[str, ...] = ()
    """The files that the call names."""
    error: bool = False

    @property
    def documents(self) -> list[SearchDocument]:
        """The text as each kind that a query can ask for."""
        return [SearchDocument(kind, self.text, self.tool, self.files, self.error) for kind in UNIT_KINDS[self.where]]


def message_texts(message: Message) -> Iterator[tuple[MessagePart, ItemText]]:
    """Every text of a message with the part that it belongs to."""
    return texts_of(shown_parts(message))


def texts_of(parts: Iterable[MessagePart]) -> Iterator[tuple[MessagePart, ItemText]]:
    """Every text of some parts with the part that it belongs to."""
    for part in parts:
        where = PLACES[part.kind]
        for text in part_texts(part):
            if isinstance(part, MessageCall):
                yield part, _call_text(part.call, where, text)
            else:
                yield part, ItemText(where=where, text=text, error=part.message.kind == "error")


def _call_text(call: Call, where: str, text: str) -> ItemText:
    files = named_files(call.input) or named_files(call.data)
    return ItemText(where=where, text=text, call=call.index, tool=call.name, files=files, error=call.state == FAILED)


class TextMatcher:
    """Finds the place where a text matches a query: as typed, or by the words and fields of a search over all sessions.

    An exported page, which has no server, follows the same rules (`web/src/search/textMatcher.ts`);
    `tests/fixtures/search.json` tests both.
    """

    def __init__(self, query: str) -> None:
        self._literal = re.compile(re.escape(query), re.IGNORECASE)
        self._tree = _within_session(parse_query(query))
        self._leaves = list(wanted(self._tree)) if self._tree is not None else []
        plain = max(_PLAIN.findall(query), key=len, default="")
        self._needed = [[plain.lower().encode()]]
        """Pieces of text that JSON never escapes: of one of these lists, records that match have all."""
        if self._tree is not None:
            self._needed.append([word.encode() for word in _required_words(self._tree)])

    def may_match(self, records: Iterable[bytes]) -> bool:
        """False if a message with these records cannot match."""
        if not all(any(pieces) for pieces in self._needed):
            return True
        lowered = [
            raw.lower() if raw.isascii() else fold(raw.decode("utf-8", "replace")).lower().encode() for raw in records
        ]
        if any(ESCAPE in raw or SPILLED in raw for raw in lowered):
            return True
        return any(all(any(piece in raw for raw in lowered) for piece in pieces) for pieces in self._needed)

    def find(self, documents: Iterable[SearchDocument]) -> tuple[str, str, str] | None:
        """Return the match with the characters before and after it; `documents` are one text as several kinds."""
        for document in documents:
            found = self._literal.search(document.text)
            if found is not None:
                return _around(document.text, found.start(), found.end())
            if self._tree is not None and matches(self._tree, document, DocumentFacts()):
                text = composed(document.text)
                return _around(text, *(words_span(text, self._leaves) or (0, 0))[:2])
        return None


def _around(text: str, start: int, end: int) -> tuple[str, str, str]:
    return text[max(0, start - AROUND) : start], text[start:end], text[end : end + AROUND]


def _within_session(node: Node) -> Node | None:
    """Return a query without what it says about whole sessions and times; None if nothing is left."""
    match node:
        case Period() | InProject() | InSession() | NamedFilter(field="model" | "branch"):
            return None
        case Not():
            inner = _within_session(node.node)
            return None if inner is None else Not(inner)
        case And() | Or():
            kept = [inner for inner in map(_within_session, node.nodes) if inner is not None]
            return type(node)(tuple(kept)) if kept else None
        case _:
            return node


def _required_words(node: Node) -> list[str]:
    """Return ASCII words that every match has."""
    nodes = node.nodes if isinstance(node, And) else (node,)
    return [word for one in nodes if isinstance(one, Words) for word in one.words if word.isascii()]
