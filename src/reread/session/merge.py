"""Joins: a captured conversation and the transcripts of its sessions as one, each filling what the other lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from reread.base.text import plural
from reread.model.conversation import SYNTHETIC, Conversation
from reread.records import dialects
from reread.records.decode import Record
from reread.records.lines import ReadAt
from reread.session.rules import INFO, WARNING, Finding, Rule

SHIFT = 44
"""How far apart the files lie in the one space of offsets that a joined conversation reads from."""
WITHIN = (1 << SHIFT) - 1
SPOKEN = ("user", "assistant")

RULES = (
    Rule("not-in-transcript", WARNING, "A message was captured that the session's transcript does not have."),
    Rule("not-captured", INFO, "The transcript has messages that were not captured."),
    Rule("capture-differs", INFO, "A message reads otherwise in the transcript."),
)
"""What can be told only where a capture and a transcript of the same session are there."""


class Transcript(msgspec.Struct):
    """A transcript, as far as it has been told."""

    session: str
    path: str
    conversation: Conversation
    agent_calls: set[str]
    """The calls whose agents it has, or that went on with one."""
    next: int = 0

    def find(self, record: Record) -> int | None:
        """The record of the same uuid and type."""
        envelope = record.envelope
        index = self.conversation.index_of(envelope.uuid) if envelope.uuid else None
        return index if index is not None and self.conversation.records[index].type == envelope.type else None


def merge(captured: Conversation, transcripts: Sequence[Transcript]) -> Conversation:
    """One conversation of both: the transcripts' records where they have one, in the order in which things came."""
    reads = [captured.records.read, *(told.conversation.records.read for told in transcripts)]
    conversation = Conversation(_reader(reads))
    by_session = {told.session: (number, told) for number, told in enumerate(transcripts, 1)}
    calls = set[str]().union(*(told.agent_calls for told in transcripts))
    number, told = 0, None
    for record in captured.records:
        number, told = by_session.get(record.envelope.sessionId or "", (number, told))
        if told is None:
            conversation.push(_moved(record, 0))
            continue
        found = told.find(record)
        if found is not None:
            _tell(conversation, number, told, found + 1)
        elif not _is_told_better(record, calls):
            conversation.push(_moved(record, 0))
    for number, told in by_session.values():
        _tell(conversation, number, told, len(told.conversation.records))
    return conversation


def _reader(reads: Sequence[ReadAt]) -> ReadAt:
    return lambda offset, length: reads[offset >> SHIFT](offset & WITHIN, length)


def _moved(record: Record, number: int) -> Record:
    record.offset += number << SHIFT
    return record


def _tell(conversation: Conversation, number: int, told: Transcript, end: int) -> None:
    """Take in a transcript up to a record."""
    for index in range(told.next, end):
        conversation.push(_moved(told.conversation.records[index], number))
    told.next = max(told.next, end)


def _is_told_better(record: Record, agent_calls: set[str]) -> bool:
    """Whether the transcript has what a captured record says, in another form: pieces, prompts, agents' words."""
    envelope = record.envelope
    if envelope.type == "stream_event" or envelope.parentToolUseID in agent_calls:
        return True
    return envelope.type == "user" and (_was_told(record) or bool(record.native.get("isReplay")))


def _was_told(record: Record) -> bool:
    """Whether the record is what the program was told, not what it printed."""
    value: Any = record.value
    return isinstance(value, dict) and cast(dict[str, Any], value).get("stream") == "in"


def differences(captured: Conversation, transcripts: Sequence[Transcript]) -> Iterator[Finding]:
    """What a capture and the transcripts of its sessions do not agree on."""
    by_session = {told.session: told for told in transcripts}
    seen: dict[str, set[int]] = {told.session: set() for told in transcripts}
    for record in captured.records:
        envelope = record.envelope
        told = by_session.get(envelope.sessionId or "")
        if told is None or not _is_compared(record):
            continue
        found = told.find(record)
        if found is None:
            yield _finding(0, record.line, f"{envelope.type} {envelope.uuid} is not in {told.path}")
            continue
        seen[told.session].add(found)
        if _content(record) != _content(told.conversation.records[found]):
            line = told.conversation.records.line(found)
            yield _finding(2, record.line, f"{envelope.type} {envelope.uuid} reads otherwise in {told.path}:{line}")
    for told in transcripts:
        responses = [m for m in told.conversation.messages if m.kind == "response"]
        missing = [m for m in responses if seen[told.session] and seen[told.session].isdisjoint(m.records)]
        if missing:
            yield _finding(1, 0, f"{plural(len(missing), 'response')} of {told.path} were not captured")


def _is_compared(record: Record) -> bool:
    """Whether a captured record should be in the transcript's own file, word for word."""
    envelope = record.envelope
    if envelope.type not in SPOKEN or not envelope.uuid or envelope.parentToolUseID or _was_told(record):
        return False
    return envelope.message is None or envelope.message.model != SYNTHETIC


def _finding(rule: int, line: int, text: str) -> Finding:
    return Finding(RULES[rule].code, RULES[rule].level, line, text)


def _content(record: Record) -> Any:
    message = record.native.get("message")
    content = cast(dict[str, Any], message).get("content") if isinstance(message, dict) else None
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def is_captured(conversation: Conversation) -> bool:
    """Whether a conversation's records were captured."""
    return len(conversation.records) > 0 and conversation.records[0].dialect == dialects.stored.NAME
