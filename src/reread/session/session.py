"""A session: its file, the conversation read from it, its agents and usage."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from reread.accounting.billing import Usage
from reread.accounting.collect import Inputs, total_usage
from reread.accounting.prices import current_prices
from reread.base import jsontext
from reread.base.paths import normalize_folder
from reread.base.text import as_title
from reread.base.times import parse_timestamp
from reread.catalog.headers import captures_of
from reread.catalog.resolve import STDIN, resolve_session
from reread.disk import layout
from reread.disk.backups import BackupFiles
from reread.disk.filenames import unicode_stem
from reread.disk.sources import FileSource, MemorySource, Source, read_all
from reread.errors import Misuse, NotFound, Unreadable
from reread.history.session_files import file_histories
from reread.history.versions import FileHistory
from reread.model.conversation import Agent, Branch, Call, Compaction, Conversation, Message, Turn
from reread.model.ledger import Ledger
from reread.model.metadata import Metadata
from reread.model.titles import REACH, TitleSearch
from reread.records.decode import Records
from reread.records.dialects import stored
from reread.records.lines import Lines
from reread.session import merge, rules
from reread.session.agents import AgentLinker
from reread.session.commits import Commit, PullRequest, find_commits, find_pull_requests
from reread.session.context_window import ContextFill, context_of
from reread.session.loader import Loader, Progress
from reread.session.merge import Transcript
from reread.session.results import TurnResult, turn_results
from reread.session.rules import Finding
from reread.session.usage_inputs import usage_inputs


class Session:
    """One session file (or stream) and all that belongs to it."""

    def __init__(
        self, source: Source, *, progress: Progress | None = None, roots: Sequence[str | Path] | None = None
    ) -> None:
        self.source: Source = source
        self.roots = roots
        self._progress = progress
        self._loader: Loader | None = None
        self._transcripts: list[Session] | None = None
        self._merged: tuple[int, Conversation] | None = None
        self._agent_loaders: dict[str, Loader] | None = None
        self._agents: tuple[int, dict[str, Agent]] = (-1, {})
        self._linker = AgentLinker()
        self._usage: tuple[object, Usage] | None = None
        self._problems: tuple[int, list[Finding]] = (-1, [])
        self._files: tuple[tuple[int, ...], dict[str, FileHistory]] = ((), {})
        self.shown_as: str | None = None
        """The path that views show, if this is a copy that stands for another file."""

    @property
    def path(self) -> Path | None:
        """The session's file; None if it came as bytes."""
        return self.source.path

    @property
    def kept_as(self) -> str | None:
        """The file in an archive that it is read from, if its own is gone."""
        return self.source.kept_as if isinstance(self.source, FileSource) else None

    @property
    def loader(self) -> Loader:
        """The main file and the conversation read from it; it is read when first asked for."""
        if self._loader is None:
            self.restore_fold()
            self.loader.load(self._progress)
        return self._loader or self._begin()

    def restore_fold(self) -> None:
        """Restore what was saved when the file was opened before; `load_lines` reads the rest."""
        if not self._begin().restore():
            self._begin()

    def save_fold(self) -> None:
        """Save what was read of a large file, so that it opens again without being read."""
        if self._loader is not None:
            self._loader.save()

    def _begin(self) -> Loader:
        conversation = Conversation(self.source.read)
        conversation.link_agents_with(lambda: self.agents)
        self._loader = Loader(self.source, conversation)
        return self._loader

    @property
    def conversation(self) -> Conversation:
        """The main thread; of a captured conversation, merged with the transcripts of its sessions."""
        own = self.loader.conversation
        if not self.transcripts:
            return own
        if self._merged is None or self._merged[0] != len(own.records):
            merged = merge.merge(own, self._merge_inputs())
            merged.link_agents_with(lambda: self.agents)
            self._merged = (len(own.records), merged)
        return self._merged[1]

    def _merge_inputs(self) -> list[Transcript]:
        out: list[Transcript] = []
        for other in self.transcripts:
            conversations = [other.loader.conversation, *other.agents.values()]
            calls = {call.id for conversation in conversations for call in conversation.calls if call.agent is not None}
            out.append(Transcript(other.id, str(other.path), other.loader.conversation, calls))
        return out

    @property
    def transcripts(self) -> list[Session]:
        """Of a captured conversation, the transcripts of its sessions that still exist."""
        if self._transcripts is None:
            own = self.loader.conversation
            ids = own.metadata.ids if self.path is not None and merge.is_captured(own) else ()
            found = (layout.find_transcript(id, self.roots) for id in dict.fromkeys(ids))
            self._transcripts = [Session(FileSource(path)) for path in found if path is not None]
        return self._transcripts

    @cached_property
    def captures(self) -> list[Path]:
        """Of a transcript, the captured conversations that hold its session."""
        if self.path is None or merge.is_captured(self.loader.conversation):
            return []
        return captures_of(self.path.stem, self.roots)

    def restart(self) -> None:
        """Begin again with nothing read; `load_lines` reads on."""
        self._begin()

    def load_lines(self, progress: Progress | None = None) -> range:
        """Read the whole lines that are new, and return the indexes of their records."""
        return (
            self._loader.load_lines(progress) if self._loader else self._begin().load_lines(progress or self._progress)
        )

    def load_rest(self) -> range:
        """Read everything that is new, a torn last line included, and return the indexes of the records."""
        first = len((self._loader or self._begin()).conversation.records)
        self.loader.load()
        return range(first, len(self.loader.conversation.records))

    def reload(self) -> Conversation:
        """Read the whole lines of a file that was replaced, and return the conversation as it was."""
        old = self.loader.conversation
        if self.path is not None:
            self.source = FileSource(self.path)
        self._begin().load_lines()
        return old

    def stop_merging(self) -> None:
        """Leave the transcripts of a captured conversation out: what is printed now is not in them yet."""
        self._transcripts = []

    @property
    def results(self) -> list[TurnResult]:
        """How its turns ended, if a stream says so: its own, or one that was captured of it."""
        own = turn_results(self.conversation)
        captured = [turn_results(Session(FileSource(path)).loader.conversation) for path in self.captures]
        return own + [result for found in captured for result in found if result.session in self.ids]

    @property
    def unplaced_results(self) -> list[TurnResult]:
        """The results that stand after no message of its file: views show them at the end."""
        conversation = self.conversation
        placed = {conversation.records.line(index) for index in conversation.marks.ended}
        own = turn_results(conversation)
        return [*(result for result in own if result.line not in placed), *self.results[len(own) :]]

    @property
    def lines(self) -> Lines:
        """The physical lines of the main file: joined, they are the file."""
        return self.loader.lines

    @property
    def records(self) -> Records:
        """The records of the main file."""
        return self.loader.conversation.records

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
    def all_calls(self) -> list[Call]:
        """Its calls, then those of each of its agents."""
        return [*self.calls, *(call for agent in self.agents.values() for call in agent.calls)]

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
        """What became of every record of the main file."""
        return self.loader.conversation.ledger

    @property
    def agent_loaders(self) -> Mapping[str, Loader]:
        """The agents' own files and the conversations read from them, by agent id."""
        if self._agent_loaders is None:
            own: dict[str, Loader] = {}
            for id, path in self.agent_files().items():
                with suppress(Unreadable, NotFound):  # the others can be read; `check` reports this one
                    own[id] = load_agent(id, path)
            for other in self.transcripts:
                own |= other.agent_loaders
            self._agent_loaders = own
        return self._agent_loaders

    def set_agent(self, id: str, loader: Loader) -> None:
        """Add an agent's file, or replace it, and have the agents linked again."""
        self._agent_loaders = {**self.agent_loaders, id: loader}
        self.unlink_agents()

    def set_agents(self, loaders: Mapping[str, Loader]) -> None:
        """Use these agents' files instead of those beside the session's."""
        self._agent_loaders = dict(loaders)
        self.unlink_agents()

    def agent_files(self) -> dict[str, Path]:
        """Return the files of its agents that exist now, by agent id."""
        if self.path is None:
            return {}
        return layout.agent_files(self.path, layout.agent_sessions(self.path, self.ids))

    @property
    def agents(self) -> dict[str, Agent]:
        """Every agent by id, all depths, flat."""
        if self._agents[0] != len(self.records):
            self._agents = (len(self.records), self._link_agents())
        return self._agents[1]

    def unlink_agents(self) -> None:
        """Have the agents linked again: one of their files is new, grew or was rewritten."""
        self._agents = (-1, {})

    def _link_agents(self) -> dict[str, Agent]:
        found = _nested_agents(self.conversation)
        for loader in self.agent_loaders.values():
            if loader.conversation.inline_agents:
                found = {**_nested_agents(loader.conversation), **found}
        found |= {id: cast(Agent, loader.conversation) for id, loader in self.agent_loaders.items()}
        for agent in found.values():
            agent.link_agents_with(lambda: self.agents)
        self._linker.link(self.conversation, found)
        return found

    @property
    def problems(self) -> list[Finding]:
        """What `check` finds in the main file, with the line of each."""
        relatives = list(self.agents.values())
        if self._problems[0] != len(self.records):
            found = list(rules.findings(self.loader.conversation, self.lines, relatives=relatives))
            found += self.disagreements
            self._problems = (len(self.records), found)
        return self._problems[1]

    @property
    def disagreements(self) -> list[Finding]:
        """How a captured conversation differs from the transcripts of its sessions."""
        return list(merge.differences(self.loader.conversation, self._merge_inputs()))

    @property
    def files(self) -> dict[str, FileHistory]:
        """The files that it changed, its agents included, by path, with their versions."""
        main, agents = self.conversation, self.agents
        state = (len(main.records), *(len(agent.records) for agent in agents.values()))
        if self._files[0] != state:
            owners = [(one.path, one.ids) for one in (self, *self.transcripts) if one.path is not None]
            self._files = (state, file_histories(main, agents, BackupFiles(owners).read))
        return self._files[1]

    @property
    def usage(self) -> Usage:
        """What it used, its agents included: exactly what `reread.usage` counts for it."""
        inputs = self.usage_inputs
        if self._usage is None or self._usage[0] != inputs.state:
            self._usage = (inputs.state, total_usage(inputs, current_prices()))
        return self._usage[1]

    @property
    def usage_inputs(self) -> Inputs:
        """The files and bytes that are counted as its usage."""
        return usage_inputs(self.path, self.source, self.roots)

    @property
    def context(self) -> list[ContextFill]:
        """Tokens in the context at the end of each turn, and what compactions removed."""
        return context_of(self.conversation, current_prices())

    @property
    def metadata(self) -> Metadata:
        """What the records say of the session as a whole."""
        return self.conversation.metadata

    @property
    def id(self) -> str:
        """The session's id."""
        if self.metadata.ids:
            return self.metadata.ids[0] if self.path is None or self.path.stem not in self.ids else self.path.stem
        return unicode_stem(self.path) if self.path is not None else ""

    @property
    def ids(self) -> list[str]:
        """Every session id that the file holds, in order."""
        return list(dict.fromkeys(self.metadata.ids))

    @property
    def title(self) -> str:
        """Its title: a person's, else the client's, its summary, or what it says first.

        That is the first prompt, the prompt of the captured command, a command, or the first answer.
        """
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
        runs = (self.records[n].value for n in self.loader.conversation.metadata.runs)
        return as_title(next((text for text in map(stored.run_prompt, runs) if text), ""))

    @property
    def project(self) -> str:
        """The folder the session worked in; a guess by the file's folder if no record says."""
        if self.metadata.cwds:
            return normalize_folder(self.metadata.cwds[0])
        return layout.guess_project(self.path) if self.path is not None else ""

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
            jsontext.dumps(link.get("prUrl")): link for link in (self.records[n].native for n in self.metadata.pr_links)
        }
        return list(links.values())

    @property
    def commits(self) -> list[Commit]:
        """The commits that it and its agents made, as git printed them or the client noted them."""
        return find_commits(self.all_calls)

    @property
    def pull_requests(self) -> list[PullRequest]:
        """The pull requests that it and its agents worked on, and those it was linked to."""
        return find_pull_requests(self.all_calls, self.pr_links)

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

    def spilled(self, written: str) -> Path | None:
        """Return the file beside the session that holds a tool output too large for it."""
        paths = [self.path, *(other.path for other in self.transcripts)]
        found = (layout.tool_result_file(path, written) for path in paths if path is not None)
        return next((path for path in found if path is not None), None)

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.path or ''}>"


def _nested_agents(conversation: Conversation) -> dict[str, Agent]:
    """Return the agents whose records are in a conversation's own file, and those inside them."""
    levels = [conversation.inline_agents]
    for level in levels:
        levels += [agent.inline_agents for agent in level.values() if agent.inline_agents]
    found: dict[str, Agent] = {}
    for level in reversed(levels):  # an outer agent of the same id replaces an inner one
        found |= level
    return found


def load_agent(id: str, path: Path, *, torn: bool = True) -> Loader:
    """Read an agent's own file; with `torn`, also a last line without an end."""
    source = FileSource(path)
    agent = Agent(id, source.read, path=str(path), meta=layout.agent_meta(path))
    loader = Loader(source, agent)
    agent.set_lines(loader.lines)
    if torn:
        loader.load()
    else:
        loader.load_lines()
    return loader


def open(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
) -> Session:
    """Open a session by path, header, id, unique prefix, "latest" or "-" (stdin), from bytes or a binary file."""
    if isinstance(source, Session):
        return source
    if isinstance(source, bytes | bytearray | memoryview):
        return Session(MemorySource(bytes(source)))
    if isinstance(source, str) and source == STDIN:
        return Session(MemorySource(read_all(sys.stdin.buffer)))
    if isinstance(source, str | os.PathLike):
        name = source if isinstance(source, str) else Path(source)
        roots = [root] if isinstance(root, str | Path) else root
        return Session(FileSource(resolve_session(name, root=root)), progress=progress, roots=roots)
    if hasattr(source, "read"):
        return Session(MemorySource(read_all(source)))
    raise Misuse(f"Cannot open a {type(source).__name__}; pass a path, a session id, bytes or a binary file.")


def check(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
) -> Iterator[Finding]:
    """Check a session's file and yield errors, warnings and notes, each with its line."""
    yield from open(source, root=root).problems


def files(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
) -> list[FileHistory]:
    """Return the files that a session changed, its agents included, each with its versions."""
    return list(open(source, root=root).files.values())
