"""One file of a session or an agent, opened to make rows of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from reread.accounting.digest import file_owner
from reread.base.times import month_of, timestamp_ms
from reread.dataset.freshness import path_text
from reread.dataset.schema import CALLS, EDITS, FILES, MESSAGES, PER_FILE, RECORDS, SESSIONS, TABLES, Row
from reread.disk import layout
from reread.disk.agent_files import agent_id
from reread.disk.sources import FileSource
from reread.facts.derive import Thread
from reread.facts.table_rows import (
    call_rows,
    edit_rows,
    file_rows,
    message_rows,
    record_rows,
    session_row,
    stored_rows,
)
from reread.model.conversation import Agent, Conversation
from reread.records.decode import Record
from reread.session.loader import Loader
from reread.session.session import Session, threads_of
from reread.session.threads import load_agent


class FileOrigin(NamedTuple):
    """The values that the rows of one file share."""

    machine: str
    month: str | None
    path: str
    session: str | None
    agent: str | None = None
    """The agent whose own file it is."""

    def records(self, records: Iterable[Record], *, text: bool) -> Iterator[Row]:
        """Yield the rows of records of the file."""
        for row in record_rows(records, self.session, self.agent, text=text):
            yield (*self[:3], *row)


def start_month(records: Iterable[Record]) -> str | None:
    """Return the month of the first record that has a time; None if none has."""
    months = (month_of(timestamp_ms(record.envelope.timestamp)) for record in records)
    return next((month for month in months if month is not None), None)


class TranscriptFile:
    """A file and the threads in it. Agents with a file of their own are left to that file."""

    def __init__(self, path: str | Path, machine: str, source: Session | Loader | None = None) -> None:
        """Open a file; a source that was opened elsewhere stands for it, a session or an agent's loader."""
        self.path: Path = Path(path)
        opened = source if source is not None else open_file(self.path)
        self.session: Session | None = opened if isinstance(opened, Session) else None
        """None if it is an agent's file."""
        if isinstance(opened, Session):
            threads_of(opened).stop_merging()  # what was captured has rows of its own
            opened = threads_of(opened).loader
        self.loader = opened
        conversation = opened.conversation
        has_times = any(thread.metadata.first_stamp is not None for thread in _with_agents(conversation))
        month = start_month(conversation.records) if has_times else None
        self.origin: FileOrigin = FileOrigin(machine, month, path_text(str(self.path)), *self._owner(conversation))

    def _owner(self, conversation: Conversation) -> tuple[str | None, str | None]:
        """Return the session and the agent that the file belongs to."""
        if self.session is not None:
            return self.session.id, None
        ids = conversation.metadata.ids
        agent, session = file_owner(str(self.path))
        return (ids[0] if ids else session), conversation.id if isinstance(conversation, Agent) else agent

    @cached_property
    def threads(self) -> list[Thread]:
        """The threads whose records are in this file."""
        session = self.session
        if session is not None:
            _ = session.agents  # the types of agents in this file are known once they are linked
        of_file = (self.origin.session, session.project or None if session is not None else None)
        return [
            Thread(one, *of_file, one.id, one.type)
            if isinstance(one, Agent)
            else Thread(one, *of_file, self.origin.agent)
            for one in _with_agents(self.loader.conversation)
        ]

    def rows(self, tables: Collection[str] = PER_FILE, *, text: bool = False) -> Iterator[tuple[str, Row]]:
        """Yield the rows of some tables, each with the name of its table."""
        start, makers = self.origin[:3], self._makers(text=text)
        for name, make in makers.items():
            for row in make() if name in tables else ():
                yield name, (*start, *row)
        stored = {TABLES[name].facts: name for name in tables if name not in makers}
        if self.session is not None and stored:
            for facts, row in stored_rows(self.session, list(stored), text=text):
                yield stored[facts], (*start, *row)

    def _makers(self, *, text: bool) -> dict[str, Callable[[], Iterable[Row]]]:
        """Return what makes the rows that the store has not, by table."""
        session, loader = self.session, self.loader
        of_file = (self.origin.session, self.origin.agent)
        makers: dict[str, Callable[[], Iterable[Row]]] = {
            RECORDS.name: lambda: record_rows(loader.conversation.records, *of_file, text=text),
            MESSAGES.name: lambda: (row for thread in self.threads for row in message_rows(thread, text=text)),
            CALLS.name: lambda: (row for thread in self.threads for row in call_rows(thread, text=text)),
        }
        if session is not None:
            makers[SESSIONS.name] = lambda: [session_row(session, loader.own_size)]
            makers[FILES.name] = lambda: file_rows(session)
            makers[EDITS.name] = lambda: edit_rows(session, text=text)
        return makers


def open_file(path: Path) -> Session | Loader:
    """Open the file of a session, or of an agent, by its name."""
    if path.name.startswith(layout.AGENT_PREFIX):
        return load_agent(agent_id(path), path)
    return Session(FileSource(path))


def _with_agents(conversation: Conversation) -> Iterator[Conversation]:
    yield conversation
    for agent in conversation.inline_agents.values():
        yield from _with_agents(agent)
