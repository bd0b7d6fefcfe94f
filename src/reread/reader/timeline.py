"""A scroll: one branch of a conversation as passages, grouped once and then as it grows, without reading a body."""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache

from reread.model.conversation import Branch, Conversation, Message
from reread.model.fold import BLOCK_BITS, OTHER_BIT
from reread.model.record_kinds import TURN_STARTERS
from reread.tools import tool_for

SMALL = frozenset({"read", "search"})
"""The sorts of call that fold into a run."""
FEWEST, LONGEST = 3, 40
"""How many calls make a run, and how many messages it has at most."""
SPEAKS = BLOCK_BITS["text"] | OTHER_BIT
"""The bits of a response that says or shows something."""
RECORD = "record"
HOOK = "hook"
"""Messages of this kind do not interrupt a run."""


class Timeline:
    """The passages of a branch: each a stretch of its messages."""

    def __init__(self, conversation: Conversation, branch: int, above: Timeline | None = None) -> None:
        """A branch; one that leaves another begins as that does, where its scroll is at hand."""
        self.thread = conversation
        self.branch = branch
        self.messages: list[Message] = []
        self.forks: dict[int, list[Branch]] = {}
        """The branches that leave, by the message after which they do."""
        self.first_changed = 0
        """The first passage that the last growth changed."""
        self._starts = array("I")
        """The place among the messages where each passage begins."""
        self._chunks = array("I")
        """For each passage the one at which what was grouped together begins."""
        self._turns = array("I")
        """The place among the messages where each turn begins."""
        self._opened = False
        self._looked_at = 0
        if above is not None:
            self._begin_as(above)
        self.grow(())

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return len(self._turns)

    def item(self, index: int) -> list[Message]:
        """The messages of a passage."""
        return self.messages[self._starts[index] : self._end(index)]

    def key(self, index: int) -> str:
        """What links call a passage: the id of its first message, or its first record where another has that id."""
        first = self.messages[self._starts[index]]
        return first.id if self.thread.find_message(first.id) is first else f"{RECORD} {first.records[0]}"

    def is_run(self, index: int) -> bool:
        """Whether a passage is several small calls folded into one."""
        members = self.item(index)
        return is_small(members[0]) and sum(len(m.calls) for m in members) >= FEWEST

    def turn_of(self, item: int) -> int:
        """The turn that a passage is in, from 1."""
        return bisect_right(self._turns, self._starts[item])

    def ends_turn(self, item: int) -> bool:
        """Whether a passage is the last of its turn."""
        return item + 1 == len(self) or self.turn_of(item) != self.turn_of(item + 1)

    def turn_item(self, turn: int) -> int:
        """The passage at which a turn begins."""
        return bisect_left(self._starts, self._turns[turn - 1])

    def turn_messages(self, turn: int) -> tuple[int, int]:
        """Where a turn begins among the messages, and where it ends."""
        return self._turns[turn - 1], self._turns[turn] if turn < len(self._turns) else len(self.messages)

    def position(self, message: Message) -> int | None:
        """The place of a message among those of the branch."""
        at = bisect_left(self.messages, message.index, key=lambda m: m.index)
        return at if at < len(self.messages) and self.messages[at] is message else None

    def item_of(self, message: Message) -> int | None:
        """The passage that a message is in."""
        at = self.position(message)
        return None if at is None else bisect_right(self._starts, at) - 1

    def shared(self, other: Timeline) -> int:
        """How many passages both begin with; the last of them may end elsewhere."""
        most = range(min(len(self.messages), len(other.messages)))
        common = bisect_left(most, True, key=lambda at: self.messages[at] is not other.messages[at])
        whole = min(bisect_right(range(len(one)), common, key=one._end) for one in (self, other))
        pairs = zip(self._starts[:whole], other._starts[:whole], strict=True)
        return next((n for n, (mine, theirs) in enumerate(pairs) if mine != theirs), whole)

    def grow(self, touched: Iterable[Message]) -> int:
        """Take in what has come since, `touched` being the earlier messages that changed; gives the first passage
        that is not as it was."""
        forks = self.thread.forks
        moved = [index for index in {*forks, *self.forks} if forks.get(index) != self.forks.get(index)]
        old = [*touched, *(self.thread.messages[index] for index in moved)]
        places = [at for at in map(self.position, old) if at is not None]
        self.forks = forks
        before, count = len(self), len(self.messages)
        self._take_messages()
        first = min((bisect_right(self._starts, at) - 1 for at in places), default=before)
        again = min(first, before - 1) if before else 0
        from_passage = self._chunk_before(again)
        was = self._stretches(from_passage, count)
        self._group_from(from_passage)
        now = self._stretches(from_passage, len(self.messages))
        same = next((n for n, pair in enumerate(zip(was, now, strict=False)) if pair[0] != pair[1]), None)
        if same is None:
            same = min(len(was), len(now))
        first = min(first, from_passage + same)
        if len(self) > before > 0:
            first = min(first, before - 1)  # what stood at the end of its turn does so no longer
        self.first_changed = first
        return first

    def _begin_as(self, above: Timeline) -> None:
        """Take over whole turns that both branches have, but for the last."""
        shared = bisect_right(above.messages, self.thread.tree.forks[self.branch].record, key=lambda m: m.records[0])
        turns = bisect_right(above._turns, shared) - 1
        if turns < 1:
            return
        messages = above._turns[turns]
        items = bisect_left(above._starts, messages)
        self.messages = above.messages[:messages]
        self.forks = {index: branches for index, branches in above.forks.items() if index < self.messages[-1].index}
        self._turns, self._starts, self._chunks = (
            above._turns[:turns],
            above._starts[:items],
            above._chunks[:items],
        )
        self._looked_at = self.messages[-1].index + 1
        self._opened = True

    def _take_messages(self) -> None:
        """Take in the messages of this branch that have come, and cut them into turns as the library does."""
        conversation = self.thread
        for message in conversation.branch_messages(self.branch, self._looked_at):
            starts = message.kind in TURN_STARTERS
            last = self.messages[-1] if self.messages else None
            if last is None or (starts and self._opened) or last.index in conversation.turn_ends:
                self._turns.append(len(self.messages))
                self._opened = False
            self._opened = self._opened or starts or message.kind == "response"
            self.messages.append(message)
        self._looked_at = len(conversation.messages)

    def _chunk_before(self, item: int) -> int:
        """The passage from which on grouping may change where this one did: the chunk before its own."""
        if not len(self):
            return 0
        chunk = self._chunks[item]
        return self._chunks[chunk - 1] if chunk else 0

    def _stretches(self, item: int, end: int) -> list[tuple[int, int]]:
        starts = [*self._starts[item:], end]
        return list(itertools.pairwise(starts))

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
        """Where the messages end that may make one passage with the one at `start`."""
        messages = self.messages
        first = messages[start]
        small, compacted = is_small(first), first.kind == "compaction"
        end = start + 1
        while end < len(messages) and end - start < LONGEST and not self._breaks(end):
            message = messages[end]
            alike = (small and (is_small(message) or message.kind == HOOK)) or (
                compacted and message.kind == first.kind
            )
            if not alike and not joins(message):
                break
            end += 1
        return end

    def _breaks(self, at: int) -> bool:
        """Whether a passage must begin at a message: a turn does, or branches leave before it."""
        turn = bisect_left(self._turns, at)
        starts_turn = turn < len(self._turns) and self._turns[turn] == at
        return starts_turn or self.messages[at - 1].index in self.forks

    def _items_in(self, start: int, end: int) -> list[int]:
        """Where the passages of a chunk begin: one run, or each small message by itself."""
        members = self.messages[start:end]
        if not is_small(members[0]) or sum(len(m.calls) for m in members) >= FEWEST:
            return [start]
        return [start + n for n, message in enumerate(members) if n == 0 or not joins(message)]


def joins(message: Message) -> bool:
    """Whether a message goes with the passage before it: what nobody typed, and what its boundary tells of."""
    if message.kind == "summary":
        compaction = message.conversation.compaction_of(message)
        return compaction is not None and compaction.boundary is not None
    return message.kind == "meta"


def is_small(message: Message) -> bool:
    """Whether a response says nothing, and does nothing but look at things."""
    if message.kind != "response" or message.seen & SPEAKS:
        return False
    for call in message.calls:
        if category_of(call.name) not in SMALL:
            return False
    return bool(message.calls) or bool(message.seen & BLOCK_BITS["thinking"])


@lru_cache(4096)
def category_of(name: str) -> str:
    """The sort of work that a tool of that name does."""
    return tool_for(name).category
