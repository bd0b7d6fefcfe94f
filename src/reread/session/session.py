"""A session: its file, the conversation read from it, its agents and usage."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from reread.accounting.billing import Usage
from reread.accounting.collect import total_usage
from reread.accounting.prices import current_prices
from reread.base import jsontext
from reread.base.address import WHOLE, Address
from reread.base.paths import normalize_folder
from reread.base.text import as_title
from reread.base.times import parse_timestamp
from reread.catalog.headers import captures_of
from reread.catalog.resolve import STDIN, require_whole, resolve_address
from reread.disk.backups import BackupFiles
from reread.disk.desktop import app_title
from reread.disk.projects import guess_project
from reread.disk.sources import FileSource, MemorySource, Source, read_all
from reread.errors import Misuse
from reread.model.conversation import Agent, Branch, Call, Compaction, Conversation, Message, Request, Turn
from reread.model.ledger import Ledger
from reread.model.metadata import Metadata
from reread.model.request import Requests
from reread.model.titles import REACH, TitleSearch
from reread.records.decode import Records
from reread.records.dialects import stored
from reread.records.lines import Lines
from reread.session import merge
from reread.session.cache_breaks import CacheBreak, CacheBreaks
from reread.session.context_window import ContextFills, context_of
from reread.session.finding import Finding
from reread.session.loader import Progress
from reread.session.places import check_place, find_agent
from reread.session.results import TurnResult, turn_results
from reread.session.session_inputs import part_of
from reread.session.threads import SessionThreads

if TYPE_CHECKING:
    from reread.history.versions import FileHistory
    from reread.session.commits import Commit, PullRequest


class Session:
    """One session file (or stream) and all that belongs to it.

    It can be used in a `with` statement, and be copied and pickled: a copy has the bytes of its files.
    """

    def __init__(
        self,
        source: Source | SessionThreads,
        *,
        progress: Progress | None = None,
        roots: Sequence[str | Path] | None = None,
        at: Address = WHOLE,
    ) -> None:
        self.at: Address = at
        """The place that was asked for when it was opened: a path, turn, call or request, or all of it."""
        is_read = isinstance(source, SessionThreads)
        self._threads = source if is_read else SessionThreads(source, progress=progress, roots=roots)
        self._transcripts: tuple[list[SessionThreads], list[Session]] = ([], [])
        self._usage: tuple[object, Usage] | None = None
        self._problems: tuple[int, list[Finding]] = (-1, [])
        self._files: tuple[tuple[int, ...], dict[str, FileHistory]] = ((), {})

    def close(self) -> None:
        """Close its files. What was read stays usable; whatever must be read from now on raises Misuse."""
        self._threads.close()

    @property
    def closed(self) -> bool:
        """True after `close()`."""
        return self._threads.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Session, (self._threads,), {"at": self.at}

    @property
    def path(self) -> Path | None:
        """The session's file, of a kept copy without `.zst`; None if it came as bytes."""
        return self._threads.path

    @property
    def conversation(self) -> Conversation:
        """The main thread; of a captured conversation, merged with the transcripts of its sessions."""
        return self._threads.conversation

    @property
    def transcripts(self) -> list[Session]:
        """Of a captured conversation, the transcripts of its sessions that still exist."""
        found = self._threads.transcripts
        if self._transcripts[0] is not found:
            self._transcripts = (found, [Session(other) for other in found])
        return self._transcripts[1]

    @cached_property
    def captures(self) -> list[Path]:
        """Of a transcript, the captured conversations that hold its session."""
        if self.path is None or merge.is_captured(self._threads.loader.conversation):
            return []
        self._threads.require_open()
        return captures_of(self.path.stem, self._threads.roots)

    @property
    def results(self) -> list[TurnResult]:
        """How its turns ended, if a stream says so: its own, or one that was captured of it."""
        own = turn_results(self.conversation)
        if self.captures:
            self._threads.require_open()
        captured = [turn_results(SessionThreads(FileSource(path)).loader.conversation) for path in self.captures]
        return own + [result for found in captured for result in found if result.session in self.ids]

    @property
    def lines(self) -> Lines:
        """The physical lines of the main file: joined, they are the file."""
        return self._threads.loader.lines

    @property
    def records(self) -> Records:
        """The records of the main file, and between them those that only an earlier state of it has."""
        return self._threads.loader.conversation.records

    @property
    def messages(self) -> list[Message]:
        """The messages of the main thread, all branches, in file order."""
        return self.conversation.messages

    @property
    def turns(self) -> list[Turn]:
        """The turns of the active branch."""
        return self.conversation.turns

    @property
    def calls(self) -> list[Call]:
        """The main thread's calls, all branches."""
        return self.conversation.calls

    @property
    def requests(self) -> Requests[Request]:
        """The main thread's API requests, rebuilt when asked for; agents have their own. Empty for older clients."""
        return self.conversation.requests

    @property
    def branches(self) -> list[Branch]:
        """All branches, the active one first."""
        return self.conversation.branches

    @property
    def compactions(self) -> list[Compaction]:
        """Where the conversation was summarised."""
        return self.conversation.compactions

    @property
    def ledger(self) -> Ledger:
        """The fate of every record of the main file and its earlier states."""
        return self._threads.loader.conversation.ledger

    @property
    def agents(self) -> dict[str, Agent]:
        """Every agent by id, all depths, flat."""
        return self._threads.agents

    @property
    def problems(self) -> list[Finding]:
        """The findings of `check` in the main file, each with its line."""
        from reread.session import rules  # loaded late, with the structs of all records

        relatives = list(self.agents.values())
        if self._problems[0] != len(self.records):
            own = self._threads.loader.alone()
            found = list(rules.findings(own.conversation, own.lines, relatives=relatives))
            found += [*self._threads.loader.state_findings(), *self._threads.disagreements]
            self._problems = (len(self.records), found)
        return self._problems[1]

    @property
    def files(self) -> dict[str, FileHistory]:
        """The files that it changed, its agents included, by path, with their versions."""
        main, agents = self.conversation, self.agents
        state = (len(main.records), *(len(agent.records) for agent in agents.values()))
        if self._files[0] != state:
            self._threads.require_open()
            owners = [(one.path, one.ids) for one in (self, *self.transcripts) if one.path is not None]
            from reread.history.file_histories import file_histories  # loaded late: few views need them

            self._files = (state, file_histories(main, agents, BackupFiles(owners).read))
        return self._files[1]

    @property
    def unchecked_turns(self) -> list[int]:
        """The turns in which files changed that Claude Code made no copies of: `files` may lack some of them."""
        from reread.history.file_histories import unchecked_turns  # loaded late: few views need them

        return unchecked_turns(self.conversation)

    @property
    def usage(self) -> Usage:
        """Its usage, its agents included: exactly what `reread.usage` counts for it."""
        if self._usage is not None and self.closed:
            return self._usage[1]
        inputs = self._threads.usage_inputs
        if self._usage is None or self._usage[0] != inputs.state:
            self._usage = (inputs.state, total_usage(inputs, current_prices()))
        return self._usage[1]

    @property
    def context(self) -> ContextFills:
        """Tokens in the context at the end of each turn, and what compactions removed.

        Call it for what filled the context: `session.context(turn=14)`.
        """
        return ContextFills(context_of(self.conversation, current_prices()), self.conversation, self.agents)

    @property
    def cache_breaks(self) -> list[CacheBreak]:
        """The requests that had to write again what was cached, its agents' included; each response counts once."""
        found = {cache_break.message: cache_break for cache_break in CacheBreaks(self.conversation)}
        for agent in self.agents.values():
            for cache_break in CacheBreaks(agent):
                if cache_break.message not in self.conversation.messages_by_id:
                    found.setdefault(cache_break.message, cache_break)
        return list(found.values())

    @property
    def metadata(self) -> Metadata:
        """The fields of records that are about the session as a whole."""
        return self.conversation.metadata

    @property
    def id(self) -> str:
        """The session's id."""
        return self._threads.id

    @property
    def ids(self) -> list[str]:
        """Every session id that the file holds, in order."""
        return self._threads.ids

    @property
    def title(self) -> str:
        """Its title: that of the desktop app, a person's, the client's, its summary, or what it says first.

        That is the first prompt, the prompt of the captured command, a command, or the first answer.
        """
        return self._app_title or self.recorded_title

    @cached_property
    def _app_title(self) -> str | None:
        return app_title(self.id) if self.path is not None else None

    @property
    def recorded_title(self) -> str:
        """Its title as far as its own records say, for what is kept of them: the app's title may change."""
        metadata = self.metadata
        given = metadata.custom_title or metadata.ai_title or self._summary()
        if given:
            return given
        found = self._find_title()
        return found.prompt or self._captured_prompt() or found.command or found.rest or ""

    def _summary(self) -> str:
        for text, leaf in reversed(self.metadata.summaries):
            if not self.messages or (leaf and leaf in self.conversation.tree.uuids):
                return text
        return ""

    def _find_title(self) -> TitleSearch:
        """Look for a title where `sessions` looks for it, so that both agree."""
        found, read = TitleSearch(), 0
        for record in self.conversation.records:
            if found.prompt is not None or read >= REACH:
                break
            found.read(record)
            read += len(record.body)
        return found

    def _captured_prompt(self) -> str:
        """Return the prompt of the first captured command; a stream does not repeat it."""
        runs = (self.records[n].value for n in self._threads.loader.conversation.metadata.runs)
        return as_title(next((text for text in map(stored.run_prompt, runs) if text), ""))

    @property
    def project(self) -> str:
        """The folder the session worked in; a guess by the file's folder if no record says."""
        if self.metadata.cwds:
            return normalize_folder(self.metadata.cwds[0])
        return guess_project(self.path) if self.path is not None else ""

    @property
    def project_guessed(self) -> bool:
        """True if `project` is only a guess."""
        return not self.metadata.cwds

    @property
    def git_branches(self) -> list[str]:
        """The git branches it was on, in order; one may appear again."""
        return self.metadata.git_branches

    @property
    def versions(self) -> list[str]:
        """The client's versions that wrote it."""
        return self.metadata.versions

    @property
    def models(self) -> list[str]:
        """The models that answered in the main thread."""
        return self.metadata.models

    @property
    def entrypoints(self) -> list[str]:
        """How the client was started: cli, sdk-py …"""
        return self.metadata.entrypoints

    @property
    def slugs(self) -> list[str]:
        """The client's own names for it."""
        return self.metadata.slugs

    @property
    def permission_modes(self) -> list[str]:
        """The permission modes, in order."""
        return self.metadata.permission_modes

    @property
    def pr_links(self) -> list[dict[str, Any]]:
        """The pull requests it was linked to, each once."""
        links = {
            jsontext.dumps(link.get("prUrl")): link
            for link in (self.conversation.records[n].native for n in self.metadata.pr_links)
        }
        return list(links.values())

    def _all_calls(self) -> list[Call]:
        return [*self.calls, *(call for agent in self.agents.values() for call in agent.calls)]

    @property
    def commits(self) -> list[Commit]:
        """The commits that it and its agents made, as git printed them or the client noted them."""
        from reread.session.commits import find_commits

        return find_commits(self._all_calls())

    @property
    def pull_requests(self) -> list[PullRequest]:
        """The pull requests that it and its agents worked on, and those it was linked to."""
        from reread.session.commits import find_pull_requests

        return find_pull_requests(self._all_calls(), self.pr_links)

    @property
    def forked_from(self) -> dict[str, Any] | None:
        """The session and message it was forked from, if its records say so."""
        return self.metadata.forked_from

    @property
    def continued_in(self) -> list[str]:
        """The sessions that continue it."""
        return self.metadata.continued_in

    @property
    def started(self) -> datetime | None:
        """The earliest time in the file."""
        return parse_timestamp(self.metadata.first_stamp)

    @property
    def ended(self) -> datetime | None:
        """The latest time in the file."""
        return parse_timestamp(self.metadata.last_stamp)

    @property
    def dialects(self) -> list[str]:
        """The dialects that the records are written in."""
        return list(dict.fromkeys(record.dialect for record in self.records))

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.path or ''}>"


def threads_of(session: Session) -> SessionThreads:
    """Return the threads behind a session, for what opens, reloads and follows its files."""
    return session._threads  # pyright: ignore[reportPrivateUsage]


def unplaced_results(session: Session) -> list[TurnResult]:
    """Return the results that stand after no message of a session's file: views show them at the end."""
    conversation = session.conversation
    placed = {conversation.records.line(index) for index in conversation.marks.ended}
    own = turn_results(conversation)
    return [*(result for result in own if result.line not in placed), *session.results[len(own) :]]


def open(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
) -> Session:
    """Open a session by path, header, id, unique prefix, "latest" or "-" (stdin), from bytes or a binary file.

    An address names a place in it: `SESSION:3` is its third turn, `SESSION:3.2` the second call there, `SESSION:req4`
    its fourth API request, `SESSION@1` another path through the conversation. `session.at` says which, and functions
    that take a session are then about that place. `SESSION:AGENT` opens an agent as a session of its own. The id of a
    session within the file of another one opens what is its own; the path opens the whole file.
    """
    return at_place(open_whole(source, root=root, progress=progress))


def open_whole(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
) -> Session:
    """Open the session of an address, also if that names one of its agents; `at` says what it names."""
    if isinstance(source, Session):
        return source
    if isinstance(source, bytes | bytearray | memoryview):
        return Session(MemorySource(bytes(source)))
    if isinstance(source, str) and source == STDIN:
        return Session(MemorySource(read_all(sys.stdin.buffer)))
    if isinstance(source, str | os.PathLike):
        name = source if isinstance(source, str) else Path(source)
        roots = [root] if isinstance(root, str | Path) else root
        path, at = resolve_address(name, root=root)
        part = part_of(path, at.session if isinstance(name, str) else name)
        return Session(part or FileSource(path), progress=progress, roots=roots, at=at)
    if hasattr(source, "read"):
        return Session(MemorySource(read_all(source)))
    raise Misuse(f"Cannot open a {type(source).__name__}; pass a path, a session id, bytes or a binary file.")


def at_place(session: Session) -> Session:
    """Return a session, or the agent that its address names as one, after checking that there is such a place."""
    at = session.at
    if not at.is_place:
        return session
    if at.agent is not None:
        agent = find_agent(session.agents, at.agent)
        session = Session(threads_of(session).of_agent(agent), at=at._replace(agent=None))
    check_place(session.conversation, at)
    return session


def check(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
) -> Iterator[Finding]:
    """Check a session's file and yield errors, warnings and notes, each with its line."""
    session = open_whole(source, root=root)
    require_whole(session.at)
    yield from session.problems
