"""A conversation as the sequence of things that the terminal and Markdown views draw."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from reread.base.format import tokens_text
from reread.model.conversation import Branch, Compaction, Conversation, Message, Turn
from reread.model.parts import (
    NOTICES,
    MessageAside,
    MessageAttachment,
    MessageBlocks,
    MessagePart,
    MetaContext,
    NoticeDetails,
    NotificationReport,
    TextCitations,
    message_parts,
)
from reread.render.selection import EVERYTHING, Selection, selected_turns

LEFT_OUT = (MessageAside, MessageAttachment, MetaContext, NoticeDetails, NotificationReport, TextCitations)
"""The parts that the terminal and Markdown views do not show; of notices, they do not show `MessageBlocks` either."""


class TurnStart(msgspec.Struct, frozen=True):
    """A turn starts."""

    turn: Turn


class ResponseEnd(msgspec.Struct, frozen=True):
    """A response ends; views show its model and usage here."""

    message: Message


class ForkList(msgspec.Struct, frozen=True):
    """The branches that start after a message."""

    branches: list[Branch]


class BranchStart(msgspec.Struct, frozen=True):
    """Messages that are only on another branch follow."""

    branch: Branch


SequenceItem: TypeAlias = MessagePart | TurnStart | ResponseEnd | ForkList | BranchStart


def conversation_sequence(conversation: Conversation, selection: Selection) -> Iterator[SequenceItem]:
    """The selected turns of a conversation, in order; with `full`, then the messages of all other branches."""
    turns = selected_turns(conversation, selection)  # raises here, before a view has drawn anything
    items = turn_sequence(conversation, turns, selection)
    every_branch = selection.full and not selection.is_excerpt
    return itertools.chain(items, _other_branches(conversation, selection)) if every_branch else items


def turn_sequence(
    conversation: Conversation, turns: Iterable[Turn], selection: Selection = EVERYTHING
) -> Iterator[SequenceItem]:
    """Some turns of a conversation, in order."""
    forks = conversation.forks
    for turn in turns:
        yield TurnStart(turn)
        yield from _with_forks(turn.messages, forks, selection)


def message_sequence(message: Message, selection: Selection = EVERYTHING) -> Iterator[SequenceItem]:
    """One message."""
    yield from (part for part in message_parts(message) if is_drawn(part, selection))
    if message.kind == "response" and selection.only is None:
        yield ResponseEnd(message)


def is_drawn(part: MessagePart, selection: Selection) -> bool:
    """True if the terminal and Markdown views show a part."""
    if isinstance(part, LEFT_OUT) or (isinstance(part, MessageBlocks) and part.kind == NOTICES):
        return False
    return selection.shows(part.kind)


def compaction_title(compaction: Compaction) -> str:
    """A compaction in a few words, with the size of the context before and after."""
    sizes = [tokens_text(n) for n in (compaction.pre_tokens, compaction.post_tokens) if n is not None]
    words = ["compacted", compaction.trigger or "", " → ".join(sizes) + " tokens" if sizes else ""]
    return " · ".join(word for word in words if word)


def _with_forks(
    messages: Iterable[Message], forks: Mapping[int, list[Branch]], selection: Selection
) -> Iterator[SequenceItem]:
    for message in messages:
        yield from message_sequence(message, selection)
        if message.index in forks:
            yield ForkList(forks[message.index])


def _other_branches(conversation: Conversation, selection: Selection) -> Iterator[SequenceItem]:
    """The messages that are not on the active branch, by branch."""
    by_branch: dict[int, list[Message]] = {}
    for message in conversation.messages:
        if not conversation.is_on(message, conversation.active_branch):
            by_branch.setdefault(message.branch, []).append(message)
    forks = conversation.forks
    for branch in conversation.branches:
        if branch.id in by_branch:
            yield BranchStart(branch)
            yield from _with_forks(by_branch[branch.id], forks, selection)
