"""A session: where it lives, and its conversation, folded on first use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from reread.accounting.billing import Usage
from reread.accounting.collect import Inputs, total_usage
from reread.accounting.prices import current_prices
from reread.base import jsontext
from reread.base.times import parse_timestamp
from reread.catalog.store import companions
from reread.catalog.summaries import as_title, captures_of, sessions
from reread.disk import layout
from reread.disk.filenames import id_of, name_of
from reread.disk.sources import FileSource, MemorySource, Source, read_all, require_regular_file
from reread.errors import Ambiguous, Misuse, NotFound, Unreadable
from reread.model.conversation import Agent, Conversation
from reread.model.ledger import Ledger
from reread.model.messages import TURN_STARTERS, Branch, Call, Compaction, Message, Turn
from reread.model.metadata import Metadata
from reread.records.decode import Records
from reread.records.dialects import stored
from reread.records.lines import Lines
from reread.session import merge, rules
from reread.session.agents import AgentLinker
from reread.session.context_window import ContextFill, context_of
from reread.session.loader import CHUNK, Loader, Progress
from reread.session.merge import Transcript
from reread.session.results import TurnResult, turn_results
from reread.session.rules import Finding

LATEST = "latest"
STDIN = "-"


class Session:
    """One session file (or stream) and all that belongs to it."""

    def __init__(
        self, source: Source, *, progress: Progress | None = None, roots: Sequence[str | Path] | None = None
    ) -> None:
        self.source = source
        self.roots = roots
        self._joined: tuple[int, Conversation] | None = None
        self._progress = progress
        self._agents: tuple[int, dict[str, Agent]] = (-1, {})
        self._linker = AgentLinker()
        self._usage: tuple[object, Usage] | None = None
        self._problems: tuple[int, list[Finding]] = (-1, [])

    @property
    def path(self) -> Path | None:
        """The session's file; None where it came as bytes."""
        return self.source.path

    @cached_property
    def loader(self) -> Loader:
        """The main file, folded."""
        loader = self.new_loader()
        loader.load(self._progress)
        return loader

    def new_loader(self) -> Loader:
        """A folding of the main file that has read nothing yet."""
        conversation = Conversation(self.source.read)
        conversation.link_agents = self._link_agents
        return Loader(self.source, conversation)

    def _link_agents(self) -> object:
        return self.agents

    @property
    def conversation(self) -> Conversation:
        """The main thread; of a captured conversation, joined with the transcripts of its sessions."""
        own = self.loader.conversation
        if not self.transcripts:
            return own
        if self._joined is None or self._joined[0] != len(own.records):
            joined = merge.merge(own, self._told())
            joined.link_agents = self._link_agents
            self._joined = (len(own.records), joined)
        return self._joined[1]

    @cached_property
    def transcripts(self) -> list[Session]:
        """Of a captured conversation, the transcripts of its sessions that are still there."""
        own = self.loader.conversation
        if self.path is None or not merge.is_captured(own):
            return []
        found = (layout.find_transcript(id, self.roots) for id in dict.fromkeys(own.metadata.ids))
        return [Session(FileSource(path)) for path in found if path is not None]

    @cached_property
    def captures(self) -> list[Path]:
        """Of a transcript, the captured conversations that hold its session."""
        if self.path is None or merge.is_captured(self.loader.conversation):
            return []
        return captures_of(self.path.stem, self.roots)

    @property
    def results(self) -> list[TurnResult]:
        """How its turns ended, where a stream says so: its own, or one that was captured of it."""
        own = turn_results(self.conversation)
        captured = [turn_results(Session(FileSource(path)).loader.conversation) for path in self.captures]
        return own + [outcome for found in captured for outcome in found if outcome.session in self.ids]

    def _told(self) -> list[Transcript]:
        """The transcripts, none of them told yet."""
        out: list[Transcript] = []
        for other in self.transcripts:
            conversations = [other.loader.conversation, *other.agents.values()]
            calls = {call.id for conversation in conversations for call in conversation.calls if call.agent is not None}
            out.append(Transcript(other.id, str(other.path), other.loader.conversation, calls))
        return out

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
        """Everything that speaks in the main thread, all branches, file order."""
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
    def branches(self) -> list[Branch]:
        """All branches, the active one first."""
        return self.conversation.branches

    @property
    def compactions(self) -> list[Compaction]:
        """Where the conversation was summed up."""
        return self.conversation.compactions

    @property
    def ledger(self) -> Ledger:
        """What became of every record of the main file."""
        return self.loader.conversation.ledger

    @cached_property
    def agent_loaders(self) -> dict[str, Loader]:
        """The agents' own files, folded, by agent id."""
        own: dict[str, Loader] = {}
        for id, path in self.agent_files().items():
            with suppress(Unreadable, NotFound):  # what else there is can be read; `check` tells of this
                own[id] = load_agent(id, path)
        return own | {id: loader for other in self.transcripts for id, loader in other.agent_loaders.items()}

    def agent_files(self) -> dict[str, Path]:
        """The files of its agents that are there now, by agent id."""
        if self.path is None:
            return {}
        stem = self.path.stem  # a fork may still hold a line of the session it left, but not its agents
        return layout.agent_files(self.path, [stem] if stem in self.ids or not self.ids else self.ids)

    @property
    def agents(self) -> dict[str, Agent]:
        """Every agent by id, all depths, flat."""
        if self._agents[0] != len(self.records):
            self._agents = (len(self.records), self._linked_agents())
        return self._agents[1]

    def agents_changed(self) -> None:
        """Have the agents linked again: one of their files came, grew or was rewritten."""
        self._agents = (-1, {})

    def _linked_agents(self) -> dict[str, Agent]:
        found = _with_inner(self.conversation)
        for loader in self.agent_loaders.values():
            if loader.conversation.inline_agents:
                found = {**_with_inner(loader.conversation), **found}
        found |= {id: cast(Agent, loader.conversation) for id, loader in self.agent_loaders.items()}
        for agent in found.values():
            agent.link_agents = self._link_agents
        self._linker.link(self.conversation, found)
        return found

    @property
    def problems(self) -> list[Finding]:
        """What is odd about the main file, with the line of each."""
        relatives = list(self.agents.values())
        if self._problems[0] != len(self.records):
            found = list(rules.findings(self.loader.conversation, self.lines, relatives=relatives))
            found += self.disagreements
            self._problems = (len(self.records), found)
        return self._problems[1]

    @property
    def disagreements(self) -> list[Finding]:
        """What a captured conversation and the transcripts of its sessions do not agree on."""
        return list(merge.differences(self.loader.conversation, self._told()))

    @property
    def usage(self) -> Usage:
        """What it spent, its agents included: just what `reread.usage` gives for it."""
        wanted = wanted_of(self)
        if self._usage is None or self._usage[0] != wanted.state:
            self._usage = (wanted.state, total_usage(wanted, current_prices()))
        return self._usage[1]

    @property
    def context(self) -> list[ContextFill]:
        """How full the context was at the end of each turn, and what compactions took out of it."""
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
        return self.path.stem if self.path is not None else ""

    @property
    def ids(self) -> list[str]:
        """Every session id that the file holds, in order."""
        return list(dict.fromkeys(self.metadata.ids))

    @property
    def title(self) -> str:
        """The title someone gave it, else the client's, its summary, its first prompt, or what its command asked."""
        facts = self.metadata
        return facts.custom_title or facts.ai_title or self._summary() or self._first_prompt() or self._asked()

    def _summary(self) -> str:
        for text, leaf in reversed(self.metadata.summaries):
            if not self.messages or (leaf and self.conversation.index_of(leaf) is not None):
                return text
        return ""

    def _first_prompt(self) -> str:
        prompts = (m.text for m in self.messages if m.kind in TURN_STARTERS and m.active)
        return next((title for title in map(as_title, prompts) if title), "")

    def _asked(self) -> str:
        """What the command asked that was captured first; a stream does not say its prompt again."""
        runs = (self.records[n].value for n in self.loader.conversation.metadata.runs)
        return as_title(next((text for text in map(stored.asked, runs) if text), ""))

    @property
    def project(self) -> str:
        """The folder the session worked in; a guess by the file's place where no record says."""
        if self.metadata.cwds:
            return self.metadata.cwds[0]
        return layout.guess_project(self.path) if self.path is not None else ""

    @property
    def project_guessed(self) -> bool:
        """Whether `project` is only a guess."""
        return not self.metadata.cwds

    @property
    def git_branches(self) -> list[str]:
        """The git branches it was on, in order; one may come back."""
        return self.metadata.git_branches

    @property
    def versions(self) -> list[str]:
        """The client's versions that wrote it."""
        return self.metadata.versions

    @property
    def models(self) -> list[str]:
        """The models that spoke in the main thread."""
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
    def forked_from(self) -> dict[str, Any] | None:
        """The session and message it was forked from, where its records say so."""
        return self.metadata.forked_from

    @property
    def continued_in(self) -> list[str]:
        """The sessions that went on from it."""
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
        """The file beside the session that holds a tool output too large for it."""
        paths = [self.path, *(other.path for other in self.transcripts)]
        found = (layout.tool_result_file(path, written) for path in paths if path is not None)
        return next((path for path in found if path is not None), None)

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.path or ''}>"


def _with_inner(conversation: Conversation) -> dict[str, Agent]:
    """The agents whose records stand in a conversation's own file, and those inside them."""
    found = dict(conversation.inline_agents)
    for agent in conversation.inline_agents.values():
        found = {**_with_inner(agent), **found}
    return found


def want_session(wanted: Inputs, path: Path, roots: Sequence[str | Path] | None = None) -> None:
    """Have a session's file counted, those of its agents, and what else tells of the same session."""
    wanted.add_session(path)
    for other in companions(path, roots):
        wanted.add_session(other)


def load_agent(id: str, path: Path, *, torn: bool = True) -> Loader:
    """An agent's own file, folded; a torn tail only where asked for."""
    source = FileSource(path)
    agent = Agent(id, source.read)
    agent.path = str(path)
    agent.meta = layout.agent_meta(path)
    loader = Loader(source, agent)
    agent.own_lines = loader.lines
    if torn:
        loader.load()
    else:
        loader.take_in()
    return loader


def wanted_of(session: Session) -> Inputs:
    """What is counted as a session's usage: its file and those of its agents, or its bytes where there is no file."""
    wanted = Inputs()
    if session.path is not None and os.path.exists(session.path):
        want_session(wanted, session.path, session.roots)
    else:
        wanted.data.append(b"".join(_chunks(session.source)))
    return wanted


def _chunks(source: Source) -> Iterator[bytes]:
    at = 0
    while data := source.read(at, CHUNK):
        yield data
        at += len(data)


def open(
    source: str | Path | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
) -> Session:
    """A session by path, id, unique prefix, "latest" or "-" (standard input), from bytes or a binary file."""
    if isinstance(source, Session):
        return source
    if isinstance(source, bytes | bytearray | memoryview):
        return Session(MemorySource(bytes(source)))
    if isinstance(source, str) and source == STDIN:
        return Session(MemorySource(read_all(sys.stdin.buffer)))
    if isinstance(source, str | Path):
        roots = [root] if isinstance(root, str | Path) else root
        return Session(FileSource(find(source, root=root)), progress=progress, roots=roots)
    if hasattr(source, "read"):
        return Session(MemorySource(read_all(source)))
    raise Misuse(f"cannot open a {type(source).__name__}: give a path, a session id, bytes or a binary file")


def find(name: str | Path, *, root: str | Path | Sequence[str | Path] | None = None) -> Path:
    """The file of a session, by path, id, unique prefix or "latest"."""
    if name == "":
        raise Misuse("an empty name is no session: give a path, a session id or its beginning, or latest")
    path = layout.expand_path(name)
    if os.path.exists(path):
        return require_regular_file(path)
    if isinstance(name, Path):
        return path
    roots = [root] if isinstance(root, str | Path) else root
    if is_pathlike(name):  # a captured conversation may be called anything, so its id may look like a path
        return next((kept for kept in layout.session_files(roots) if kept.stem == name_of(name)), path)
    if name == LATEST:
        newest = next(iter(sessions(root=root)), None)
        if newest is None:
            raise NotFound("no sessions found; set CLAUDE_CONFIG_DIR or pass --root, or name a file")
        return Path(newest.path)
    everything = list(layout.session_files(roots))
    fits = [path for path in everything if any(known.startswith(name) for known in _names(path))]
    exact = [path for path in everything if name in _names(path) or path.stem == name_of(name)]
    if not fits:
        fits = exact = captures_of(name, roots)[:1]
    if len(exact) == 1 or len(fits) == 1:
        return (exact or fits)[0]
    if not fits:
        raise NotFound(f"no session {name!r}: not a file, and no session id begins so; `reread ls` lists sessions")
    shown = "\n".join(f"  {path.stem}  {path}" for path in fits[:20])
    more = f"\n  … and {len(fits) - 20} more" if len(fits) > 20 else ""
    raise Ambiguous(f"{name!r} fits {len(fits)} sessions:\n{shown}{more}", candidates=[str(p) for p in fits])


def _names(path: Path) -> list[str]:
    """What a session's file can be called by: its name, and the id that the name stands for."""
    return [path.stem, id_of(path.stem) or path.stem]


def is_pathlike(name: str) -> bool:
    """Whether a name looks like a path."""
    return "/" in name or "\\" in name or name.endswith((".jsonl", ".json"))


def check(
    source: str | Path | bytes | IO[bytes] | Session, *, root: str | Path | Sequence[str | Path] | None = None
) -> Iterator[Finding]:
    """What is odd about a session's file: errors, warnings and what is merely worth knowing."""
    yield from open(source, root=root).problems
