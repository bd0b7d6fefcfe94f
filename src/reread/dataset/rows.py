"""Rows of the tables, made from what one reads of a file. A row has its values in the order of the table's columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from reread.base import jsontext
from reread.base.choices import DONE, RUNNING
from reread.base.coerce import as_str
from reread.base.times import timestamp_ms
from reread.dataset.schema import Row
from reread.facts.derive import calls_of, turn_numbers
from reread.history.versions import FileHistory, FileVersion
from reread.model.conversation import Agent, Call, Conversation, Message
from reread.model.record_kinds import SYNTHETIC
from reread.records.blocks import Thinking
from reread.records.decode import Record
from reread.session.merge import is_captured
from reread.session.session import Session, threads_of
from reread.tools.outcome import content_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class FileOrigin(NamedTuple):
    """The values that the rows of one file share."""

    machine: str
    month: str | None
    path: str
    session: str | None
    agent: str | None = None
    """The agent whose own file it is."""

    @property
    def start(self) -> Row:
        """The first values of most rows."""
        return (self.machine, self.month, self.path, self.session)


def month_of(time_ms: int | None) -> str | None:
    """Return the month of a time in UTC, such as `2026-11`; None if it lies before the year 1."""
    try:
        return f"{_EPOCH + timedelta(milliseconds=time_ms):%Y-%m}".zfill(7) if time_ms is not None else None
    except OverflowError:
        return None


def start_month(records: Iterable[Record]) -> str | None:
    """Return the month of the first record that has a time; None if none has."""
    months = (month_of(timestamp_ms(record.envelope.timestamp)) for record in records)
    return next((month for month in months if month is not None), None)


def session_row(session: Session, origin: FileOrigin, size: int) -> Row:
    """Return the row of a session."""
    conversation, metadata = threads_of(session).loader.conversation, session.metadata
    forked = metadata.forked_from or {}
    return (
        *origin.start,
        session.title,
        session.project,
        _last(metadata.git_branches),
        _stated_last(conversation, "version", metadata.versions),
        next((one.model for one in reversed(conversation.messages) if one.model not in (None, SYNTHETIC)), None),
        _stated_last(conversation, "entrypoint", metadata.entrypoints),
        timestamp_ms(metadata.first_stamp),
        timestamp_ms(metadata.last_stamp),
        size,
        len(conversation.records),
        len(conversation.messages),
        len(conversation.turns),
        len(conversation.calls),
        len(session.agents),
        len(conversation.branches),
        len(conversation.compactions),
        as_str(forked.get("sessionId")),
        is_captured(conversation),
    )


def record_rows(records: Iterable[Record], origin: FileOrigin, *, text: bool) -> Iterator[Row]:
    """Yield a row for each record of a file or of a part of it."""
    for record in records:
        envelope = record.envelope
        message = envelope.message
        row = (
            origin.machine,
            origin.month,
            origin.path,
            record.line,
            record.offset,
            len(record.body),
            envelope.sessionId or origin.session,
            envelope.agentId or origin.agent,
            envelope.uuid,
            envelope.parentUuid,
            record.type,
            envelope.subtype,
            timestamp_ms(envelope.timestamp),
            record.dialect,
            message.id if message is not None else None,
            envelope.requestId,
            envelope.cwd,
            envelope.gitBranch,
            envelope.version,
            record.fault,
            record.dropped,
        )
        yield (*row, record.raw.decode("utf-8", "replace")) if text else row


def message_rows(conversation: Conversation, origin: FileOrigin, *, text: bool) -> Iterator[Row]:
    """Yield a row for each message of a thread."""
    agent, turns = _agent(conversation, origin), turn_numbers(conversation)
    for message in conversation.messages:
        envelope = conversation.records[message.records[0]].envelope
        row = (
            *origin.start,
            message.line,
            envelope.uuid,
            *agent,
            message.index,
            message.id,
            message.role,
            message.kind,
            message.author,
            timestamp_ms(message.stamp),
            turns.get(message.index),
            message.branch,
            message.index in turns,
            message.model,
            message.stop_reason,
            len(message.calls),
            message.dropped,
        )
        yield (*row, message.text, _thinking(message)) if text else row


def call_rows(conversation: Conversation, origin: FileOrigin, *, text: bool) -> Iterator[Row]:
    """Yield a row for each call of a thread."""
    agent, turns, records = _agent(conversation, origin), turn_numbers(conversation), conversation.records
    for call, facts in calls_of(conversation):
        outcome = call.outcome
        row = (
            *origin.start,
            records[call.use].envelope.uuid,
            *agent,
            *facts,
            outcome.exit_code,
            _milliseconds(call.ended),
            call.message.branch,
            call.message.index in turns,
            records.line(call.answer) if call.answer >= 0 else None,
            records.is_dropped(call.use),
        )
        if text:
            error = None if outcome.state in (RUNNING, DONE) else outcome.message
            preview = content_text(getattr(call.result, "content", None)) if call.answer >= 0 else None
            result = call.spilled or preview
            row = (*row, call.title, jsontext.dumps(call.input).decode("utf-8", "replace"), result, error)
        yield row


def edit_rows(session: Session, origin: FileOrigin, *, text: bool) -> Iterator[Row]:
    """Yield a row for each version of the files that a session changed."""
    for history in session.files.values():
        for version in history.versions:
            row = (
                *origin.start,
                version.line,
                _uuid(version.call),
                version.agent,
                version.call.id if version.call is not None else None,
                history.path,
                version.index,
                version.action,
                _milliseconds(version.time),
                version.turn,
                version.branch,
                version.added,
                version.removed,
                version.source,
                version.whole,
                version.exact,
                version.other,
            )
            yield (*row, _diff(version)) if text else row


def file_rows(session: Session, origin: FileOrigin) -> Iterator[Row]:
    """Yield a row for each file that a session changed."""
    for history in session.files.values():
        times = [time for version in history.own if (time := _milliseconds(version.time)) is not None]
        yield (
            *origin.start,
            history.path,
            len(history.versions),
            len(history.own),
            history.added,
            history.removed,
            len(history.turns),
            len(history.agents),
            min(times, default=None),
            max(times, default=None),
            _is_gone(history),
        )


def _agent(conversation: Conversation, origin: FileOrigin) -> tuple[str | None, str | None]:
    """Return the id and type of the agent whose thread it is."""
    return (conversation.id, conversation.type) if isinstance(conversation, Agent) else (origin.agent, None)


def _thinking(message: Message) -> str | None:
    thoughts = (block.thinking for block in message.blocks if isinstance(block, Thinking))
    return "\n\n".join(thought for thought in thoughts if isinstance(thought, str) and thought) or None


def _diff(version: FileVersion) -> str:
    pieces: list[str] = []
    for hunk in version.hunks:
        old, new = (sum(not line.startswith(mark) for line in hunk.lines) for mark in "+-")
        pieces += [f"@@ -{hunk.old_start},{old} +{hunk.new_start},{new} @@", *hunk.lines]
    return "\n".join(pieces)


def _is_gone(history: FileHistory) -> bool:
    last = history.at()
    return last is not None and last.gone


def _uuid(call: Call | None) -> str | None:
    return call.conversation.records[call.use].envelope.uuid if call is not None else None


def _milliseconds(time: datetime | None) -> int | None:
    return (time - _EPOCH) // timedelta(milliseconds=1) if time is not None else None


def _stated_last(conversation: Conversation, name: str, values: Sequence[str]) -> str | None:
    """Return what the last record with a field states; `values` has each value once, in the order they first came."""
    records = conversation.records if len(values) > 1 else ()
    stated = (as_str(getattr(records[index].envelope, name)) for index in range(len(records) - 1, -1, -1))
    return next(filter(None, stated), None) or _last(values)


def _last(values: Any) -> str | None:
    found = list(values)
    return as_str(found[-1]) if found else None
