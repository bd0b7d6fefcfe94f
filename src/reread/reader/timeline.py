"""One branch of a conversation as a list of items, grouped without reading message bodies."""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from reread.base.text import short_cache
from reread.model.compaction_linker import compaction_of
from reread.model.conversation import Branch, Conversation, Message
from reread.model.record_kinds import TURN_STARTERS
from reread.model.repeats import BLOCK_BITS, OTHER_BIT
from reread.tools import tool_for

RUN_CATEGORIES = ("read", "search")
"""The categories of calls that are grouped into runs."""
MIN_CALLS, MAX_MESSAGES = 3, 40
"""How many calls make a run, and how many messages an item has at most."""
VISIBLE_BITS = BLOCK_BITS["text"] | OTHER_BIT
"""The bits of a response that has more than thinking and calls."""
RECORD = "record"
"""The first word of the key of an item whose message shares its id with another."""


class Timeline:
    """The items of a branch: each is one message, or several that are shown together."""

    def __init__(self, conversation: Conversation, branch: int, parent: Timeline | None = None) -> None:
        """Group the messages of a branch; what it shares with its parent's timeline is copied from there."""
        self.conversation = conversation
        self.branch = branch
        self.messages: list[Message] = []
        self.forks: dict[int, list[Branch]] = {}
        """The branches that start in this conversation, by the index of the message before them."""
        self.first_changed: int = 0
        """The first item that the last update changed."""
        self._starts = array("I")
        """For each item, the position of its first message."""
        self._chunks = array("I")
        """For each item, the first item of the chunk that it was grouped with."""
        self._turns = array("I")
        """For each turn, the position of its first message."""
        self._turn_begun = False
        """Whether the last turn has a prompt or a response yet, so that the next prompt starts another."""
        self._messages_seen = 0
        """How many of the conversation's messages, on any branch, have been read."""
        if parent is not None:
            self._copy_shared(parent)
        self.update(())

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return len(self._turns)

    def item(self, index: int) -> list[Message]:
        """The messages of an item."""
        return self.messages[self._starts[index] : self._end(index)]

    def key(self, index: int) -> str:
        """The name of an item in links: the id of its first message, or its record if another has the same id."""
        first = self.messages[self._starts[index]]
        unique = self.conversation.find_message(first.id) is first
        return first.id if unique else f"{RECORD} {first.records[0]}"

    def is_run(self, index: int) -> bool:
        """True if an item is a run of small calls."""
        members = self.item(index)
        return is_small(members[0]) and sum(len(m.calls) for m in members) >= MIN_CALLS

    def turn_of(self, item: int) -> int:
        """The turn that an item is in, counted from 1."""
        return bisect_right(self._turns, self._starts[item])

    def ends_turn(self, item: int) -> bool:
        """True if an item is the last one of its turn."""
        return item + 1 == len(self) or self.turn_of(item) != self.turn_of(item + 1)

    def turn_item(self, turn: int) -> int:
        """The first item of a turn."""
        return bisect_left(self._starts, self._turns[turn - 1])

    def turn_messages(self, turn: int) -> tuple[int, int]:
        """The positions at which the messages of a turn start and end."""
        return self._turns[turn - 1], self._turns[turn] if turn < len(self._turns) else len(self.messages)

    def position(self, message: Message) -> int | None:
        """The position of a message on the branch; None if it is not on it."""
        at = bisect_left(self.messages, message.index, key=lambda m: m.index)
        return at if at < len(self.messages) and self.messages[at] is message else None

    def item_of(self, message: Message) -> int | None:
        """The item that a message is in; None if it is not on the branch."""
        at = self.position(message)
        return None if at is None else self.item_at(at)

    def item_at(self, position: int) -> int:
        """The item that the message at a position is in."""
        return bisect_right(self._starts, position) - 1

    def shared_items(self, other: Timeline) -> int:
        """How many items two timelines start with alike; the last of them may end differently."""
        most = range(min(len(self.messages), len(other.messages)))
        common = bisect_left(most, True, key=lambda at: self.messages[at] is not other.messages[at])
        whole = min(bisect_right(range(len(one)), common, key=one._end) for one in (self, other))
        pairs = zip(self._starts[:whole], other._starts[:whole], strict=True)
        return next((n for n, (mine, theirs) in enumerate(pairs) if mine != theirs), whole)

    def update(self, changed: Iterable[Message]) -> int:
        """Add new messages and regroup around earlier messages that changed; return the first item that changed."""
        forks = self.conversation.forks
        moved = [index for index in {*forks, *self.forks} if forks.get(index) != self.forks.get(index)]
        earlier = [*changed, *(self.conversation.messages[index] for index in moved)]
        positions = [at for at in map(self.position, earlier) if at is not None]
        self.forks = forks
        items, count = len(self), len(self.messages)
        self._add_messages()
        first = min((bisect_right(self._starts, at) - 1 for at in positions), default=items)
        start = self._previous_chunk(min(first, items - 1)) if items else 0
        old = self._spans(start, count)
        self._group_from(start)
        new = self._spans(start, len(self.messages))
        alike = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
        if alike is None:
            alike = min(len(old), len(new))
        first = min(first, start + alike)
        if len(self) > items > 0:
            first = min(first, items - 1)  # this item no longer ends its turn
        self.first_changed = first
        return first

    def _copy_shared(self, parent: Timeline) -> None:
        """Copy the whole turns that this branch shares with its parent, except the last."""
        shared = bisect_right(
            parent.messages, self.conversation.tree.forks[self.branch].record, key=lambda m: m.records[0]
        )
        turns = bisect_right(parent._turns, shared) - 1
        if turns < 1:
            return
        messages = parent._turns[turns]
        items = bisect_left(parent._starts, messages)
        self.messages = parent.messages[:messages]
        self.forks = parent.forks
        self._turns = parent._turns[:turns]
        self._starts = parent._starts[:items]
        self._chunks = parent._chunks[:items]
        self._messages_seen = self.messages[-1].index + 1
        self._turn_begun = True

    def _add_messages(self) -> None:
        """Add the new messages of this branch, and split them into turns as `cut_turns` does."""
        conversation = self.conversation
        for message in conversation.branch_messages(self.branch, self._messages_seen):
            is_prompt = message.kind in TURN_STARTERS
            last = self.messages[-1] if self.messages else None
            if last is None or (is_prompt and self._turn_begun) or last.index in conversation.marks.ends:
                self._turns.append(len(self.messages))
                self._turn_begun = False
            self._turn_begun = self._turn_begun or is_prompt or message.kind == "response"
            self.messages.append(message)
        self._messages_seen = len(conversation.messages)

    def _previous_chunk(self, item: int) -> int:
        """The first item of the chunk before an item's own: a change of the item may change its grouping."""
        chunk = self._chunks[item]
        return self._chunks[chunk - 1] if chunk else 0

    def _spans(self, item: int, end: int) -> list[tuple[int, int]]:
        return list(itertools.pairwise([*self._starts[item:], end]))

    def _end(self, index: int) -> int:
        return self._starts[index + 1] if index + 1 < len(self._starts) else len(self.messages)

    def _group_from(self, item: int) -> None:
        at = self._starts[item] if item < len(self) else 0
        del self._starts[item:]
        del self._chunks[item:]
        while at < len(self.messages):
            end = self._chunk_end(at)
            chunk = len(self)
            for start in self._items_in(at, end):
                self._starts.append(start)
                self._chunks.append(chunk)
            at = end

    def _chunk_end(self, start: int) -> int:
        """The end of the messages that may form one item with the message at `start`."""
        messages = self.messages
        first = messages[start]
        small, compaction = is_small(first), first.kind == "compaction"
        end = start + 1
        while end < len(messages) and end - start < MAX_MESSAGES and not self._starts_item(end):
            message = messages[end]
            in_run = small and is_small(message)
            repeats = compaction and message.kind == first.kind
            if not in_run and not repeats and not continues_item(message):
                break
            end += 1
        return end

    def _starts_item(self, at: int) -> bool:
        """True if a turn starts at a message, or branches start before it."""
        turn = bisect_left(self._turns, at)
        starts_turn = turn < len(self._turns) and self._turns[turn] == at
        return starts_turn or self.messages[at - 1].index in self.forks

    def _items_in(self, start: int, end: int) -> list[int]:
        """Where the items of a chunk start: one run, or each small message by itself."""
        members = self.messages[start:end]
        if not is_small(members[0]) or sum(len(m.calls) for m in members) >= MIN_CALLS:
            return [start]
        return [start + n for n, message in enumerate(members) if n == 0 or not continues_item(message)]


def continues_item(message: Message) -> bool:
    """True if a message is shown with the one before it: client context, or the summary after its boundary."""
    if message.kind == "summary":
        compaction = compaction_of(message)
        return compaction is not None and compaction.boundary is not None
    return message.kind == "meta"


def is_small(message: Message) -> bool:
    """True if a response has no text, and all its calls only read or search."""
    if message.kind != "response" or message.seen & VISIBLE_BITS:
        return False
    for call in message.calls:
        if category_of(call.name) not in RUN_CATEGORIES:
            return False
    return bool(message.calls) or bool(message.seen & BLOCK_BITS["thinking"])


@short_cache(4096)
def category_of(name: str) -> str:
    """The category of the tool with this name."""
    return tool_for(name).category
