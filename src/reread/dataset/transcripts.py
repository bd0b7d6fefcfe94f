"""One file of a session or an agent, opened to make rows of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from reread.accounting.digest import file_owner
from reread.dataset.freshness import path_text
from reread.dataset.rows import (
    FileOrigin,
    call_rows,
    edit_rows,
    file_rows,
    message_rows,
    record_rows,
    session_row,
    start_month,
)
from reread.dataset.schema import CALLS, EDITS, FILES, MESSAGES, PER_FILE, RECORDS, SESSIONS, Row
from reread.disk import layout
from reread.disk.sources import FileSource
from reread.facts.file_changes import might_change_files
from reread.model.conversation import Agent, Conversation
from reread.session.loader import Loader
from reread.session.session import Session, threads_of
from reread.session.threads import load_agent


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
        has_times = any(thread.metadata.first_stamp is not None for thread in self.threads)
        month = start_month(conversation.records) if has_times else None
        self.origin: FileOrigin = FileOrigin(machine, month, path_text(str(self.path)), *self._owner(conversation))

    def _owner(self, conversation: Conversation) -> tuple[str | None, str | None]:
        """Return the session and the agent that the file belongs to."""
        if self.session is not None:
            return self.session.id, None
        ids = conversation.metadata.ids
        agent, session = file_owner(str(self.path))
        return (ids[0] if ids else session), conversation.id if isinstance(conversation, Agent) else agent

    @property
    def threads(self) -> Iterator[Conversation]:
        """The threads whose records are in this file."""
        yield from _threads(self.loader.conversation)

    def rows(self, tables: Collection[str] = PER_FILE, *, text: bool = False) -> Iterator[tuple[str, Row]]:
        """Yield the rows of some tables, each with the name of its table."""
        origin, session = self.origin, self.session
        if SESSIONS.name in tables and session is not None:
            yield SESSIONS.name, session_row(session, origin, self.loader.own_size)
        if RECORDS.name in tables:
            for row in record_rows(self.loader.conversation.records, origin, text=text):
                yield RECORDS.name, row
        if session is not None and not {MESSAGES.name, CALLS.name}.isdisjoint(tables):
            _ = session.agents  # the types of agents in this file are known once they are linked
        for name, make in ((MESSAGES.name, message_rows), (CALLS.name, call_rows)):
            for thread in self.threads if name in tables else ():
                for row in make(thread, origin, text=text):
                    yield name, row
        changes = (
            session is not None and not {EDITS.name, FILES.name}.isdisjoint(tables) and might_change_files(session)
        )
        if changes and session is not None:
            if FILES.name in tables:
                yield from ((FILES.name, row) for row in file_rows(session, origin))
            if EDITS.name in tables:
                yield from ((EDITS.name, row) for row in edit_rows(session, origin, text=text))


def open_file(path: Path) -> Session | Loader:
    """Open the file of a session, or of an agent, by its name."""
    if path.name.startswith(layout.AGENT_PREFIX):
        return load_agent(layout.agent_id(path), path)
    return Session(FileSource(path))


def _threads(conversation: Conversation) -> Iterator[Conversation]:
    yield conversation
    for agent in conversation.inline_agents.values():
        yield from _threads(agent)
