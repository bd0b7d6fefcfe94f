"""Parts: a session as the sequence of things a view shows, and the selection of which."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from reread.base.text import plural
from reread.errors import Misuse
from reread.model.content import content_blocks
from reread.model.conversation import Agent, Conversation
from reread.model.messages import Branch, Call, Compaction, Message, Turn, thinking_seconds
from reread.records.blocks import Block, CallBlock, RedactedThinking, Text, Thinking
from reread.records.decode import Record
from reread.session.session import Session
from reread.tools import generic
from reread.tools.nodes import Node

DEEPEST = 8
"""How many agents, one within the other, are shown where they were called."""
_RANGE = re.compile(r"(\d{1,9})?(-)?(\d{1,9})?", re.ASCII)


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What of a session is shown; every view takes the same."""

    turns: tuple[int, int | None] = (1, None)
    """The first and the last turn, from 1; None for all to the end. A negative first counts from the end."""
    branch: int | None = None
    """A branch by its id; None for the active one."""
    thinking: bool = True
    tools: bool = True
    only: str | None = None
    """prompts, text or tools; None for everything."""
    full: bool = False
    """Whether long output is shown whole."""
    images: bool = True
    """Whether a page holds its pictures."""

    @property
    def narrows(self) -> bool:
        """Whether only some turns, or another branch, are asked for."""
        return self.turns != (1, None) or self.branch is not None

    @property
    def shows_all(self) -> bool:
        """Whether nothing is left out but pictures, and what is recorded besides."""
        return self.thinking and self.tools and self.only is None and not self.narrows

    @property
    def of_agents(self) -> Selection:
        """What is shown of an agent where it was called: the same of all its turns."""
        return msgspec.structs.replace(self, turns=(1, None), branch=None)

    def among(self, count: int) -> range:
        """Which of so many turns are asked for, from 1."""
        first, last = self.turns
        if first > count and self.turns != (1, None):
            where = "this session" if self.branch is None else f"branch {self.branch}"
            raise Misuse(f"there is no turn {first}: {where} has {plural(count, 'turn')}")
        turns = range(1, count + 1)
        return turns[first:] if first < 0 else turns[max(first - 1, 0) : last]

    def shows(self, kind: str) -> bool:
        """Whether prompts, text, thinking or tools are shown."""
        if (kind == "thinking" and not self.thinking) or (kind == "tools" and not self.tools):
            return False
        return self.only is None or kind == self.only or (self.only == "text" and kind == "prompts")


EVERYTHING = Selection()


def parse_turns(text: str) -> tuple[int, int | None]:
    """`3-9`, `3`, `3-`, `-9` (the last nine) as a range of turns."""
    found = _RANGE.fullmatch(text.strip())
    first, dash, last = found.groups() if found else (None, None, None)
    if not first and last and dash:
        return -int(last), None
    start = int(first) if first else 0
    stop = int(last) if last else None if dash else start
    if start < 1 or (stop is not None and stop < start):
        raise Misuse(f"{text!r} is no range of turns, which count from 1: say 3-9, 3, 3- or -5 for the last five")
    return start, stop


class Part(msgspec.Struct, frozen=True):
    """One thing to show."""


class TurnStart(Part, frozen=True):
    """A turn begins."""

    turn: Turn


class Prompt(Part, frozen=True):
    """What a person typed, or a command they gave."""

    message: Message


class Said(Part, frozen=True):
    """A piece of an answer, in Markdown."""

    message: Message
    text: str


class Thought(Part, frozen=True):
    """A thought; without text where only its signature was kept."""

    message: Message
    text: str
    seconds: float | None = None
    """How long it took, where that is known."""


class Shown(Part, frozen=True):
    """A picture or another block that is no text, in a message."""

    message: Message
    nodes: list[Node]


class Did(Part, frozen=True):
    """A call."""

    call: Call


class Notice(Part, frozen=True):
    """Something the client says: a notification, a hook, an error, an interrupt."""

    message: Message


class Compacted(Part, frozen=True):
    """The conversation was summed up here."""

    compaction: Compaction


class Forked(Part, frozen=True):
    """Other branches leave after this message."""

    branches: list[Branch]


class Abandoned(Part, frozen=True):
    """What was said on another branch follows, from where it left."""

    branch: Branch


class Ended(Part, frozen=True):
    """An answer ends: what it took."""

    message: Message


def parts(conversation: Conversation, selection: Selection) -> Iterator[Part]:
    """The chosen turns of a conversation, in order; in full, then what stands on other branches."""
    return _parts(conversation, selection, selected_turns(conversation, selection))


def _parts(conversation: Conversation, selection: Selection, turns: Sequence[Turn]) -> Iterator[Part]:
    speaker = _Speaker(conversation, selection)
    yield from speaker.turns(turns)
    if selection.full and not selection.narrows:
        for branch, messages in _left(conversation):
            yield Abandoned(branch)
            for message in messages:
                yield from speaker.message(message)


def turn_parts(conversation: Conversation, turns: Sequence[Turn], selection: Selection = EVERYTHING) -> Iterator[Part]:
    """Some turns of a conversation, in order."""
    return _Speaker(conversation, selection).turns(turns)


class _Speaker:
    """Takes messages apart, with the compactions and forks that stand at them."""

    def __init__(self, conversation: Conversation, selection: Selection) -> None:
        self._selection = selection
        self._forks = conversation.forks
        self._compactions = {id(c.boundary or c.summary): c for c in conversation.compactions}

    def turns(self, turns: Sequence[Turn]) -> Iterator[Part]:
        for turn in turns:
            yield TurnStart(turn)
            for message in turn.messages:
                yield from self.message(message)

    def message(self, message: Message) -> Iterator[Part]:
        compaction = self._compactions.get(id(message))
        if compaction is not None:
            yield Compacted(compaction)
        elif message.kind != "summary":
            yield from message_parts(message, self._selection)
        if message.index in self._forks:
            yield Forked(self._forks[message.index])


def _left(conversation: Conversation) -> Iterator[tuple[Branch, list[Message]]]:
    """The messages that are not on the active branch, by the branch that they are on."""
    found: dict[int, list[Message]] = {}
    for message in conversation.messages:
        if not conversation.on_branch(message, conversation.active_branch):
            found.setdefault(message.branch, []).append(message)
    for branch in conversation.branches:
        if branch.id in found:
            yield branch, found[branch.id]


def _branch(conversation: Conversation, id: int | None) -> Branch:
    found = next((b for b in conversation.branches if id is None or b.id == id), None)
    if found is None:
        known = ", ".join(str(b.id) for b in sorted(conversation.branches, key=lambda b: b.id))
        raise Misuse(f"there is no branch {id}: this session has {known}")
    return found


def selected_turns(conversation: Conversation, selection: Selection) -> Sequence[Turn]:
    """The turns that are asked for."""
    branch = _branch(conversation, selection.branch)
    turns = branch.turns if selection.branch is not None else conversation.turns
    wanted = selection.among(len(turns))
    return turns[wanted.start - 1 : wanted.stop - 1]


def message_parts(message: Message, selection: Selection) -> Iterator[Part]:
    """One message as parts, as far as they are wanted."""
    return (part for part in _message_parts(message) if wanted(part, selection))


def record_parts(message: Message, record: Record, selection: Selection) -> Iterator[Part]:
    """What one record adds to a message; of a response that was streamed, nothing that was shown already."""
    if message.role != "assistant" or message.kind != "response":
        yield from message_parts(message, selection) if record.line == message.line else ()
        return
    calls = {call.id: call for call in message.calls}
    native = record.native
    blocks = content_blocks(native)
    seconds = thinking_seconds(native, blocks)
    for block in blocks:
        if message.partial is None or isinstance(block, CallBlock):
            for part in _block_parts(message, block, calls, seconds):
                answered = isinstance(part, Did) and part.call.answer >= 0  # its result is told by itself
                if wanted(part, selection) and not answered:
                    yield part


def _message_parts(message: Message) -> Iterator[Part]:
    if message.kind == "meta":
        return
    if message.role == "user" and message.kind in ("prompt", "command"):
        yield Prompt(message)
        yield from _pictures(message, message.blocks)
        return
    if message.role != "assistant" or message.kind != "response":
        yield Notice(message)
        return
    calls = {call.id: call for call in message.calls}
    seconds = message.thinking_seconds
    for block in message.blocks:
        yield from _block_parts(message, block, calls, seconds)
    yield Ended(message)


def _block_parts(message: Message, block: Block, calls: dict[str, Call], seconds: dict[str, float]) -> Iterator[Part]:
    if isinstance(block, Text):
        if isinstance(block.text, str) and block.text.strip():
            yield Said(message, block.text)
    elif isinstance(block, Thinking):
        text = block.thinking if isinstance(block.thinking, str) else ""
        took = seconds.get(block.signature) if isinstance(block.signature, str) else None
        yield Thought(message, text, took)
    elif isinstance(block, RedactedThinking):
        yield Thought(message, "")
    elif isinstance(block, CallBlock):
        call = take_call(calls, block)
        if call is not None:
            yield Did(call)
    elif not hasattr(block, "tool_use_id"):
        yield Shown(message, [generic.block_node(block)])


def take_call(calls: dict[str, Call], block: CallBlock) -> Call | None:
    """Take the call that a block makes out of its message's: by its id, else by its name."""
    id = block.id if isinstance(block.id, str) else ""
    if id not in calls:
        id = next((call.id for call in calls.values() if call.name == block.name), id)
    return calls.pop(id, None)


def _pictures(message: Message, blocks: Sequence[Block]) -> Iterator[Part]:
    nodes = [generic.block_node(block) for block in blocks if not isinstance(block, Text)]
    if nodes:
        yield Shown(message, nodes)


def wanted(part: Part, selection: Selection) -> bool:
    """Whether a part is to be shown."""
    if isinstance(part, Thought) and not selection.thinking:
        return False
    if isinstance(part, Did) and not selection.tools:
        return False
    if selection.only is None:
        return True
    kinds = {"prompts": (Prompt, Shown), "text": (Prompt, Said, Shown), "tools": (Did,)}[selection.only]
    return isinstance(part, kinds) and not (selection.only == "prompts" and part_role(part) != "user")


def part_role(part: Part) -> str:
    """Whose message a part belongs to."""
    message = getattr(part, "message", None)
    return message.role if isinstance(message, Message) else ""


def is_deep(agent: Agent) -> bool:
    """Whether it stands within so many others that it is shown at the end rather than in place."""
    level = 0
    above: Agent | None = agent
    while above is not None:
        level, above = level + 1, above.parent
    return level % DEEPEST == 0


def apart(session: Session, selection: Selection) -> Iterator[tuple[Agent, str]]:
    """The agents that are shown at the end, and why; the client's own warm-ups only in full."""
    for agent in session.agents.values():
        if agent.call is None and agent.parent is None:
            if selection.full or not agent.warmup:
                yield agent, "no call is known to have started it"
        elif agent.parent is not None and is_deep(agent):
            yield agent, f"started by agent {agent.parent.id}"


def agents_below(session: Session, calls: Iterable[Call] | None = None) -> list[Agent]:
    """The agents that some calls started, and those that these started in turn; without calls, all."""
    agents = list(session.agents.values())
    if calls is None:
        return agents
    found: set[str] = set()
    waiting = list(calls)
    while waiting:
        for agent in waiting.pop().agents:
            if agent.id not in found:
                found.add(agent.id)
                waiting += agent.calls
    return [agent for agent in agents if agent.id in found]


def unread(session: Session) -> int:
    """How many lines of the main file could not be read."""
    return session.ledger.fates.get("malformed", 0)
