"""A conversation as the sequence of things that the terminal and Markdown views draw."""

from __future__ import annotations

import itertools
import shlex
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from reread.base.format import tokens_text
from reread.base.sanitize import plain_output, plain_text
from reread.base.text import one_line
from reread.catalog.resolve import shell_name
from reread.model.conversation import Agent, Branch, Compaction, Conversation, Message, Turn
from reread.model.parts import (
    NOTICES,
    ClientSetup,
    CommandOutput,
    CompactionPoint,
    MessageAside,
    MessageAttachment,
    MessageBlocks,
    MessageCall,
    MessagePart,
    MessageText,
    MessageThinking,
    MetaContext,
    NoticeDetails,
    NotificationReport,
    QueuedPrompt,
    SessionStart,
    TextCitations,
    TurnEnd,
    message_parts,
    quiet_noun,
    quiet_text,
)
from reread.model.remaining_fields import other_fields, state_after, state_fields
from reread.render.selection import EVERYTHING, Selection, selected_turns
from reread.session.cache_breaks import CacheBreak, CacheBreaks
from reread.session.commits import GitOperations, GitOperationsByTurn
from reread.session.session import Session, threads_of
from reread.tools.nodes import Node
from reread.tools.unshown_fields import OTHER_FIELDS, missed_fields

T = TypeVar("T")

FORK_TITLE = 60
"""Characters of the first words of a branch where it starts."""
FIRST_MESSAGES = 8
"""How many messages of a branch are searched for its first words."""

SESSION_STATE = "session state"
BACKGROUND = (MessageAside, MessageAttachment, MetaContext, NotificationReport, TextCitations)
"""The parts that the terminal and Markdown views count unless `full`; so are the blocks of notices."""


class TurnStart(msgspec.Struct, frozen=True):
    """A turn starts."""

    turn: Turn


class ResponseEnd(msgspec.Struct, frozen=True):
    """A response ends; views show its model and usage here."""

    message: Message
    left_out: Sequence[str] = ()
    """The names of recorded values that only a full view shows, if a reader would miss them."""
    cache_break: CacheBreak | None = None
    """Set if its request had to write again what was cached."""


class RecordFields(msgspec.Struct, frozen=True):
    """The fields of a message's records that its parts do not show, or of the session state after it."""

    fields: Mapping[str, Any]
    title: str = OTHER_FIELDS


class ForkChoice(msgspec.Struct, frozen=True):
    """One way in which the conversation goes on after a rewind."""

    branch: int
    title: str
    """Its first words."""
    shown: bool
    command: str = ""
    """The command to see it; empty if no command shows it alone."""


class ForkList(msgspec.Struct, frozen=True):
    """The ways in which the conversation goes on after a message: the branch so far first, then those that start."""

    choices: list[ForkChoice]


class BranchStart(msgspec.Struct, frozen=True):
    """Messages that are only on another branch follow."""

    branch: Branch


class DroppedStart(msgspec.Struct, frozen=True):
    """Messages follow that the file has dropped, and only an earlier state of it has; or, again, those that it has."""

    dropped: bool

    @property
    def text(self) -> str:
        """The words of views."""
        return "dropped from the file, in an earlier state of it only" if self.dropped else "in the file again"


class QuietMark(msgspec.Struct, frozen=True):
    """Hooks, context and bookkeeping that are not shown, counted after the message they belong to."""

    text: str


class TurnCommits(msgspec.Struct, frozen=True):
    """The commits and pull requests of the turn that ends here."""

    operations: GitOperations


SequenceItem: TypeAlias = (
    MessagePart
    | QuietMark
    | TurnCommits
    | TurnStart
    | ResponseEnd
    | RecordFields
    | ForkList
    | BranchStart
    | DroppedStart
)


METHODS: dict[type[SequenceItem], str] = {
    TurnStart: "turn_start",
    MessageText: "text",
    CommandOutput: "notice",
    MessageThinking: "thinking",
    **dict.fromkeys((MessageBlocks, *BACKGROUND), "background"),
    MessageCall: "call",
    CompactionPoint: "compaction",
    QueuedPrompt: "queued",
    **dict.fromkeys((SessionStart, ClientSetup, TurnEnd), "mark"),
    ResponseEnd: "response_end",
    RecordFields: "record_fields",
    ForkList: "fork",
    QuietMark: "quiet",
    TurnCommits: "commits",
    BranchStart: "branch_start",
    DroppedStart: "dropped_start",
}
"""What draws each item."""


class SequenceView(Generic[T]):
    """Draws a sequence: with a method for each row of `METHODS`, and one for each kind of node, which has its name."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def item(self, item: SequenceItem) -> Iterator[T]:
        """One item of a sequence."""
        yield from getattr(self, METHODS[type(item)])(item)

    def node(self, node: Node) -> Iterator[T]:
        """One node of a call."""
        yield from getattr(self, type(node).__name__.lower())(node)


def session_sequence(session: Session, selection: Selection) -> Iterator[SequenceItem]:
    """The main thread of a session, with the commands that show its other branches."""
    name = shlex.quote(session.id) if threads_of(session).shown_as else shell_name(session.path, session.id)
    return conversation_sequence(session.conversation, selection, f"reread show {name}@")


def conversation_sequence(
    conversation: Conversation, selection: Selection, command: str = ""
) -> Iterator[SequenceItem]:
    """The selected turns of a conversation, in order; with `full`, then the messages of all other branches."""
    turns = selected_turns(conversation, selection)  # raises here, before a view has drawn anything
    items = turn_sequence(conversation, turns, selection, command)
    every_branch = selection.full and not selection.is_excerpt
    if not every_branch:
        return items
    if not conversation.messages:
        return _state(state_fields(conversation, range(len(conversation.records))))
    return itertools.chain(items, _other_branches(conversation, selection))


def turn_sequence(
    conversation: Conversation, turns: Iterable[Turn], selection: Selection = EVERYTHING, command: str = ""
) -> Iterator[SequenceItem]:
    """Some turns of a conversation, in order; `command` shows another path once its number is added."""
    shown = conversation.active_branch if selection.path is None else selection.path
    forks = _fork_lists(conversation, shown, command)
    git, breaks = GitOperationsByTurn(conversation), CacheBreaks(conversation)
    shows_commits = selection.only is None and not selection.chooses_calls and not isinstance(conversation, Agent)
    for turn in turns:
        yield TurnStart(turn)
        yield from _with_forks(turn.messages, forks, selection, breaks)
        if shows_commits and (operations := git.of_turn(turn.messages)):
            yield TurnCommits(operations)


def message_sequence(message: Message, selection: Selection = EVERYTHING) -> Iterator[SequenceItem]:
    """One message."""
    return _with_forks([message], {}, selection, CacheBreaks(message.conversation))


def is_drawn(part: MessagePart, selection: Selection) -> bool:
    """True if the terminal and Markdown views show a part; the details of a notice are the fields of its record."""
    if isinstance(part, NoticeDetails) or (is_background(part) and not selection.full):
        return False
    return selection.shows(part.kind) and not (isinstance(part, MessageCall) and not selection.shows_call(part.call))


def is_background(part: MessagePart) -> bool:
    """True for a part that only full views show."""
    if isinstance(part, QueuedPrompt):
        return not part.is_typed
    return isinstance(part, BACKGROUND) or (isinstance(part, MessageBlocks) and part.kind == NOTICES)


def notice_text(part: MessageText | CommandOutput, *, full: bool) -> str:
    """Return the text of a notice; only the output of a command may overwrite its own lines."""
    text = plain_output(part.text, full=full) if isinstance(part, CommandOutput) else plain_text(part.text)
    return text.strip()


def compaction_title(compaction: Compaction) -> str:
    """A compaction in a few words, with the size of the context before and after."""
    if compaction.micro:
        saved = tokens_text(compaction.metadata.get("tokensSaved"))
        words = ["old tool results cleared", compaction.trigger or "", f"{saved} tokens saved" if saved else ""]
    else:
        sizes = [tokens_text(n) for n in (compaction.pre_tokens, compaction.post_tokens) if n is not None]
        words = ["compacted", compaction.trigger or "", " → ".join(sizes) + " tokens" if sizes else ""]
    return " · ".join(word for word in words if word)


def _fork_lists(conversation: Conversation, shown: int, command: str) -> dict[int, Callable[[], ForkList]]:
    """Return the causes of a conversation's forks, by the index of the message after which they are."""
    found: dict[int, Callable[[], ForkList]] = {}
    forks = conversation.forks
    if not forks:
        return found
    on_the_way = conversation.tree.limits(shown)
    by_branch: dict[int, list[Message]] = {}
    for message in conversation.messages:
        by_branch.setdefault(message.branch, []).append(message)
    for index, branches in forks.items():
        parent, fork = branches[0].parent or 0, branches[0].fork
        leaves = any(branch.id in on_the_way for branch in branches)
        rest = by_branch.get(parent, [])
        rest = rest[bisect_right(rest, fork, key=lambda message: message.records[0]) :]
        ways = [(parent, rest, not leaves)] if rest else []
        ways += [(branch.id, by_branch.get(branch.id, []), branch.id in on_the_way) for branch in branches]
        found[index] = partial(_fork_list, ways, command)
    return found


def _fork_list(ways: Iterable[tuple[int, list[Message], bool]], command: str) -> ForkList:
    return ForkList(
        [
            ForkChoice(id, _first_words(messages), is_shown, f"{command}{id}" if command else "")
            for id, messages, is_shown in ways
        ]
    )


def _first_words(messages: list[Message]) -> str:
    first = next((message.text for message in messages[:FIRST_MESSAGES] if message.text.strip()), "")
    return one_line(first, FORK_TITLE)


def _with_forks(
    messages: Iterable[Message],
    forks: Mapping[int, Callable[[], ForkList]],
    selection: Selection,
    breaks: CacheBreaks,
) -> Iterator[SequenceItem]:
    """Messages and forks; what is folded away is counted before the next thing that is shown."""
    quiet: list[str] = []
    every_kind = selection.only is None and not selection.chooses_calls
    dropped = False
    for message in messages:
        if every_kind and message.dropped != dropped:
            dropped = not dropped
            yield from _mark(quiet)
            yield DroppedStart(dropped)
        parts = [part for part in message_parts(message) if selection.shows(part.kind)]
        drawn: list[MessagePart] = []
        after: list[MessagePart] = []
        for part in parts:
            if is_drawn(part, selection) and isinstance(part, (QueuedPrompt, TurnEnd)):
                after.append(part)
            elif is_drawn(part, selection):
                drawn.append(part)
                yield from _mark(quiet)
                yield part
            elif every_kind and (noun := quiet_noun(part)):
                quiet.append(noun)
        if every_kind:
            yield from _ending(message, drawn if selection.full else parts, selection, breaks)
        yield from after
        if message.index in forks and not selection.chooses_messages:
            yield from _mark(quiet)
            yield forks[message.index]()
    yield from _mark(quiet)


def _ending(
    message: Message, shown: Sequence[MessagePart], selection: Selection, breaks: CacheBreaks
) -> Iterator[SequenceItem]:
    """The model and usage of a response, and what else is recorded of any message or, unless `full`, its count."""
    left = other_fields(message, shown) if selection.full or message.kind == "response" else {}
    if message.kind == "response":
        yield ResponseEnd(message, [] if selection.full else missed_fields(left), breaks.of(message))
    if selection.full and left:
        yield RecordFields(left)
    if selection.full:
        yield from _state(state_after(message))


def _state(fields: Mapping[str, Any]) -> Iterator[RecordFields]:
    if fields:
        yield RecordFields(fields, SESSION_STATE)


def _mark(quiet: list[str]) -> Iterator[QuietMark]:
    if text := quiet_text(quiet):
        yield QuietMark(text)
    quiet.clear()


def _other_branches(conversation: Conversation, selection: Selection) -> Iterator[SequenceItem]:
    """The messages that are not on the active branch, by branch."""
    by_branch: dict[int, list[Message]] = {}
    breaks = CacheBreaks(conversation)
    for message in conversation.messages:
        if not conversation.is_on(message, conversation.active_branch):
            by_branch.setdefault(message.branch, []).append(message)
    for branch in conversation.branches:
        if branch.id in by_branch:
            yield BranchStart(branch)
            yield from _with_forks(by_branch[branch.id], {}, selection, breaks)
