"""The rows of tables that are written for others: those that the store has, and what it has not.

A row has the columns of its table that are exported, without where its file is; a thread's begins with what its record
says of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reread.base import jsontext
from reread.base.choices import DONE, RUNNING
from reread.base.coerce import as_str
from reread.base.times import milliseconds, timestamp_ms
from reread.facts.derive import SessionFacts, Thread, calls_of, turn_numbers
from reread.facts.file_changes import might_change_files
from reread.facts.schema import OF_SESSIONS, FactTable
from reread.facts.store import Row
from reread.history.versions import FileHistory, FileVersion
from reread.model.conversation import Call, Conversation, Message
from reread.model.record_kinds import SYNTHETIC
from reread.records.blocks import Thinking
from reread.records.decode import Record
from reread.session.merge import is_captured
from reread.session.session import Session, threads_of
from reread.tools.outcome import content_text


def stored_rows(session: Session, tables: Sequence[FactTable], *, text: bool) -> Iterator[tuple[FactTable, Row]]:
    """Yield the rows of tables that the store has, too."""
    facts = SessionFacts(session, tables)
    origins = list(facts.origins)
    whole: Row = (session.id,)
    for table in tables:
        has_origin = table in OF_SESSIONS
        columns = enumerate(table.stored if has_origin else table.stored[1:])  # without its file
        places = [place for place, column in columns if column.exported and (text or not column.text)]
        for row in facts.rows[table.name]:
            where = origins[int(row[0])] if has_origin else whole
            yield table, (*where, *(row[place] for place in places))


def session_row(session: Session, size: int) -> Row:
    """Return the row of a session."""
    conversation, metadata = threads_of(session).loader.conversation, session.metadata
    forked = metadata.forked_from or {}
    return (
        session.id,
        session.recorded_title,
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


def record_rows(records: Iterable[Record], session: str | None, agent: str | None, *, text: bool) -> Iterator[Row]:
    """Yield a row for each record of a file or of a part of it, which belongs to a session and maybe an agent."""
    for record in records:
        envelope = record.envelope
        message = envelope.message
        row = (
            record.line,
            record.offset,
            len(record.body),
            envelope.sessionId or session,
            envelope.agentId or agent,
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


def message_rows(thread: Thread, *, text: bool) -> Iterator[Row]:
    """Yield a row for each message of a thread."""
    conversation, turns = thread.conversation, turn_numbers(thread.conversation)
    for message in conversation.messages:
        first = message.records[0]
        row = (
            *thread.where(first),
            message.line,
            conversation.records[first].envelope.uuid,
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


def call_rows(thread: Thread, *, text: bool) -> Iterator[Row]:
    """Yield a row for each call of a thread."""
    conversation, turns = thread.conversation, turn_numbers(thread.conversation)
    records = conversation.records
    for call, facts in calls_of(conversation):
        outcome = call.outcome
        row = (
            *thread.where(call.use),
            *facts,
            records[call.use].envelope.uuid,
            outcome.exit_code,
            milliseconds(call.ended),
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


def edit_rows(session: Session, *, text: bool) -> Iterator[Row]:
    """Yield a row for each version of the files that a session changed."""
    for history in _histories(session):
        for version in history.versions:
            row = (
                session.id,
                version.line,
                _uuid(version.call),
                version.agent,
                version.call.id if version.call is not None else None,
                history.path,
                version.index,
                version.action,
                milliseconds(version.time),
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


def file_rows(session: Session) -> Iterator[Row]:
    """Yield a row for each file that a session changed."""
    for history in _histories(session):
        times = [time for version in history.own if (time := milliseconds(version.time)) is not None]
        yield (
            session.id,
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


def _histories(session: Session) -> Iterable[FileHistory]:
    return session.files.values() if might_change_files(session) else ()


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


def _stated_last(conversation: Conversation, name: str, values: Sequence[str]) -> str | None:
    """Return what the last record with a field states; `values` has each value once, in the order they first came."""
    records = conversation.records if len(values) > 1 else ()
    stated = (as_str(getattr(records[index].envelope, name)) for index in range(len(records) - 1, -1, -1))
    return next(filter(None, stated), None) or _last(values)


def _last(values: Any) -> str | None:
    found = list(values)
    return as_str(found[-1]) if found else None
