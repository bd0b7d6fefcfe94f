"""Search a session, and filter its timeline, within a time limit for each request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from reread.base.choices import DENIED, FAILED, INTERRUPTED
from reread.model.conversation import Call, Message
from reread.model.parts import NOTICES, TOOLS, MessageCall, quick_kinds
from reread.reader import schema
from reread.reader.item_texts import message_texts
from reread.reader.session_view import SessionView
from reread.reader.text_matcher import TextMatcher
from reread.reader.timeline import Timeline

SECONDS = 0.2
"""How long one request may take; then it returns where to continue."""
MAX_HITS = 200
"""How many hits one request returns, about."""
MAX_QUERY = 500


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
    """True if a text of a message may be in none of its records: it is in our words, or joined from streamed pieces."""
    return message.role == "system" or message.partial is not None


def _raw_records(message: Message) -> Iterator[bytes]:
    """The bytes of all records whose texts belong to a message."""
    records = message.conversation.records
    answers = [call.answer for call in message.calls if call.answer >= 0]
    for index in dict.fromkeys([*message.records, *answers, *message.attached]):
        _, offset, length = records.position(index)
        yield records.read(offset, length)
