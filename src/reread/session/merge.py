"""Merge a captured conversation with the transcripts of its sessions: each fills in what the other lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import msgspec

from reread.base.text import plural
from reread.model.conversation import Conversation
from reread.model.fold import Fold
from reread.model.record_kinds import SYNTHETIC
from reread.model.repeats import says_again
from reread.records import dialects
from reread.records.decode import Record, RecordOrigin
from reread.records.lines import ReadAt
from reread.session.finding import INFO, WARNING, Finding, Rule

SHIFT = 44
"""Each file's offsets are shifted by its number times this many bits, so that one `read` serves all files."""
OFFSET_MASK = (1 << SHIFT) - 1
SPOKEN = ("user", "assistant")

RULES = (
    Rule("not-in-transcript", WARNING, "A message was captured that the session's transcript does not have."),
    Rule("not-captured", INFO, "The transcript has messages that were not captured."),
    Rule("capture-differs", INFO, "A message reads otherwise in the transcript."),
)
"""Rules that need both a capture and a transcript of the same session."""


class Transcript(msgspec.Struct):
    """A transcript, and how much of it has been merged."""

    session: str
    path: str
    conversation: Conversation
    agent_calls: set[str]
    """The calls that started or resumed an agent whose records the transcript has."""
    next: int = 0
    """The first record that has not been merged yet."""

    def find(self, record: Record) -> int | None:
        """Return the record with the same uuid and type."""
        envelope = record.envelope
        index = self.conversation.tree.uuids.get(envelope.uuid) if envelope.uuid else None
        return index if index is not None and self.conversation.records[index].type == envelope.type else None


def merge(captured: Conversation, transcripts: Sequence[Transcript]) -> Conversation:
    """Return one conversation of both, in the order in which things happened.

    A transcript's record wins, unless the captured one has words of its own.
    """
    reads = [captured.records.read, *(transcript.conversation.records.read for transcript in transcripts)]
    fold = Fold(Conversation(_read_any(reads)))
    fold.conversation.records.origin = _origin_of_any([captured, *(one.conversation for one in transcripts)])
    by_session = {transcript.session: (number, transcript) for number, transcript in enumerate(transcripts, 1)}
    calls = set[str]().union(*(transcript.agent_calls for transcript in transcripts))
    number, transcript = 0, None
    for index in range(len(captured.records)):
        record = captured.records.in_source(index)
        number, transcript = by_session.get(record.envelope.sessionId or "", (number, transcript))
        if transcript is None:
            fold.push(_shifted(record, 0))
            continue
        found = transcript.find(record)
        if found is not None:
            _push_until(fold, number, transcript, found + 1)
            if _is_comparable(record) and not says_again(record, transcript.conversation.records[found]):
                fold.push(_shifted(record, 0))
        elif not _is_in_transcript(record, calls):
            fold.push(_shifted(record, 0))
    for number, transcript in by_session.values():
        _push_until(fold, number, transcript, len(transcript.conversation.records))
    return fold.conversation


def _read_any(reads: Sequence[ReadAt]) -> ReadAt:
    return lambda offset, length: reads[offset >> SHIFT](offset & OFFSET_MASK, length)


def _origin_of_any(conversations: Sequence[Conversation]) -> Callable[[int, int], RecordOrigin] | None:
    """Return what says where a record of one of the files really is; None if none of them is a joined one."""
    origins = [conversation.records.origin for conversation in conversations]
    if not any(origins):
        return None

    def origin(line: int, offset: int) -> RecordOrigin:
        inner = origins[offset >> SHIFT]
        return inner(line, offset & OFFSET_MASK) if inner is not None else RecordOrigin(line, offset, None)

    return origin


def _shifted(record: Record, number: int) -> Record:
    record.offset += number << SHIFT
    return record


def _push_until(fold: Fold, number: int, transcript: Transcript, end: int) -> None:
    """Push the records of a transcript up to one."""
    for index in range(transcript.next, end):
        fold.push(_shifted(transcript.conversation.records.in_source(index), number))
    transcript.next = max(transcript.next, end)


def _is_in_transcript(record: Record, agent_calls: set[str]) -> bool:
    """True if the transcript has what a captured record says in another form: pieces, prompts, agents' messages."""
    envelope = record.envelope
    if envelope.type == "stream_event" or envelope.parentToolUseID in agent_calls:
        return True
    return envelope.type == "user" and (_is_input(record) or bool(record.native.get("isReplay")))


def _is_input(record: Record) -> bool:
    """True if the record is what the program read, not what it printed."""
    value: Any = record.value
    return isinstance(value, dict) and cast(dict[str, Any], value).get("stream") == "in"


def differences(captured: Conversation, transcripts: Sequence[Transcript]) -> Iterator[Finding]:
    """Find what a capture and the transcripts of its sessions do not agree on."""
    by_session = {transcript.session: transcript for transcript in transcripts}
    seen: dict[str, set[int]] = {transcript.session: set() for transcript in transcripts}
    for record in captured.records:
        envelope = record.envelope
        transcript = by_session.get(envelope.sessionId or "")
        if transcript is None or not _is_comparable(record):
            continue
        found = transcript.find(record)
        if found is None:
            yield _finding(0, record.line, f"{envelope.type} {envelope.uuid} is not in {transcript.path}")
            continue
        seen[transcript.session].add(found)
        if _content(record) != _content(transcript.conversation.records[found]):
            place = f"{transcript.path}:{transcript.conversation.records.line(found)}"
            yield _finding(2, record.line, f"{envelope.type} {envelope.uuid} reads otherwise in {place}")
    for transcript in transcripts:
        responses = [m for m in transcript.conversation.messages if m.kind == "response"]
        found = seen[transcript.session]
        missing = [m for m in responses if found and found.isdisjoint(m.records)]
        if missing:
            yield _finding(1, 0, f"{plural(len(missing), 'response')} of {transcript.path} were not captured")


def _is_comparable(record: Record) -> bool:
    """True if a captured record should be in the transcript's own file, word for word."""
    envelope = record.envelope
    if envelope.type not in SPOKEN or not envelope.uuid or envelope.parentToolUseID or _is_input(record):
        return False
    return envelope.message is None or envelope.message.model != SYNTHETIC


def _finding(rule: int, line: int, text: str) -> Finding:
    return Finding(RULES[rule].code, RULES[rule].level, line, text)


def _content(record: Record) -> Any:
    message = record.native.get("message")
    content = cast(dict[str, Any], message).get("content") if isinstance(message, dict) else None
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def is_captured(conversation: Conversation) -> bool:
    """True if a conversation's records were captured."""
    return len(conversation.records) > 0 and conversation.records[0].dialect == dialects.stored.NAME
