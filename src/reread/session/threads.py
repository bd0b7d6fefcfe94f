"""The threads of a session: the main one and its agents', read from their files and linked to each other.

Views and reports read a `Session`. What opens, reloads and follows files works on the threads behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from reread.accounting.collect import Inputs
from reread.disk import layout
from reread.disk.agent_files import agent_files, agent_meta, agent_sessions, first_envelope
from reread.disk.filenames import unicode_stem
from reread.disk.sources import FileSource, MemorySource, Source
from reread.errors import Misuse, NotFound, Unreadable
from reread.model import copying as copying  # says how parts of a session are copied
from reread.model.conversation import Agent, Conversation
from reread.session import merge
from reread.session.agents import AgentLinker
from reread.session.finding import Finding
from reread.session.loader import Loader, Progress
from reread.session.merge import Transcript
from reread.session.session_inputs import PartSource, usage_inputs


class SessionThreads:
    """The main thread of a session and those of its agents."""

    def __init__(
        self, source: Source, *, progress: Progress | None = None, roots: Sequence[str | Path] | None = None
    ) -> None:
        self.source: Source = source
        self.roots = roots
        self.shown_as: str | None = None
        """The path that views show, if this is a copy that stands for another file."""
        self.closed: bool = False
        self._progress = progress
        self._loader: Loader | None = None
        self._transcripts: list[SessionThreads] | None = None
        self._merged: tuple[int, Conversation] | None = None
        self._agent_loaders: dict[str, Loader] | None = None
        self._agents: tuple[int, dict[str, Agent]] = (-1, {})
        self._linker = AgentLinker()

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
        conversation.owner = self
        self._loader = Loader(self.source, conversation)
        return self._loader

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

    def close(self) -> None:
        """Close the files; what was read stays in memory."""
        self.closed = True
        self.source.close()
        for loader in (self._agent_loaders or {}).values():
            loader.source.close()
        for other in self._transcripts or ():
            other.close()

    def require_open(self) -> None:
        """Raise Misuse if the session is closed: another of its files must be read now."""
        if self.closed:
            raise Misuse(f"The session {self.path or ''} is closed; open it again to read more of it.")

    @property
    def conversation(self) -> Conversation:
        """The main thread; of a captured conversation, merged with the transcripts of its sessions."""
        own = self.loader.conversation
        if not self.transcripts:
            return own
        if self._merged is None or self._merged[0] != len(own.records):
            merged = merge.merge(own, self._merge_inputs())
            merged.owner = self
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
    def disagreements(self) -> list[Finding]:
        """How a captured conversation differs from the transcripts of its sessions."""
        return list(merge.differences(self.loader.conversation, self._merge_inputs()))

    @property
    def transcripts(self) -> list[SessionThreads]:
        """Of a captured conversation, the transcripts of its sessions that still exist."""
        if self._transcripts is None:
            own = self.loader.conversation
            ids = own.metadata.ids if self.path is not None and merge.is_captured(own) else ()
            if ids:
                self.require_open()
            found = (layout.find_transcript(id, self.roots) for id in dict.fromkeys(ids))
            self._transcripts = [SessionThreads(FileSource(path)) for path in found if path is not None]
        return self._transcripts

    def stop_merging(self) -> None:
        """Leave the transcripts of a captured conversation out: what is printed now is not in them yet."""
        self._transcripts = []

    @property
    def id(self) -> str:
        """The session's id."""
        ids = self.conversation.metadata.ids
        if ids:
            return ids[0] if self.path is None or self.path.stem not in ids else self.path.stem
        return unicode_stem(self.path) if self.path is not None else ""

    @property
    def ids(self) -> list[str]:
        """Every session id that the file holds, in order."""
        return list(dict.fromkeys(self.conversation.metadata.ids))

    @property
    def agent_loaders(self) -> Mapping[str, Loader]:
        """The agents' own files and the conversations read from them, by agent id."""
        if self._agent_loaders is None:
            own: dict[str, Loader] = {}
            if self.path is not None:
                self.require_open()
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

    def of_agent(self, agent: Agent) -> SessionThreads:
        """Return an agent's own thread as the main one, with those of the agents below it."""
        own = self.agent_loaders.get(agent.id)
        source = own.source if own is not None else MemorySource(b"\n".join(record.body for record in agent.records))
        threads = SessionThreads(source, roots=self.roots)
        threads._loader = _load_agent(agent.id, source, agent.meta)
        below = {id for id, other in self.agents.items() if agent in _ancestors(other)}
        loaders = {id: loader for id, loader in self.agent_loaders.items() if id in below}
        threads.set_agents({id: _load_agent(id, one.source, self.agents[id].meta) for id, one in loaders.items()})
        return threads

    def agent_files(self) -> dict[str, Path]:
        """Return the files of its agents that exist now, by agent id."""
        if self.path is None:
            return {}
        found = agent_files(self.path, agent_sessions(self.path, self.ids))
        if isinstance(self.source, PartSource):
            heads = {id: first_envelope(path) for id, path in found.items()}
            return {id: found[id] for id, head in heads.items() if head is not None and head.sessionId in self.ids}
        return found

    @property
    def agents(self) -> dict[str, Agent]:
        """Every agent by id, all depths, flat."""
        count = len(self.loader.conversation.records)
        if self._agents[0] != count:
            found = _nested_agents(self.conversation)
            for loader in self.agent_loaders.values():
                if loader.conversation.inline_agents:
                    found = {**_nested_agents(loader.conversation), **found}
            found |= {id: cast(Agent, loader.conversation) for id, loader in self.agent_loaders.items()}
            for agent in found.values():
                agent.owner = self
            self._linker.link(self.conversation, found)
            self._agents = (count, found)
        return self._agents[1]

    def unlink_agents(self) -> None:
        """Have the agents linked again: one of their files is new, grew or was rewritten."""
        self._agents = (-1, {})

    @property
    def usage_inputs(self) -> Inputs:
        """The files and bytes that are counted as its usage."""
        self.require_open()
        agents = self.agent_files().values() if isinstance(self.source, PartSource) else ()
        return usage_inputs(self.path, self.source, self.roots, agents)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the bytes of all threads: a copy needs no file, and does not change when the file does."""
        agents = {
            id: (MemorySource(_all_bytes(loader), loader.source.path), cast(Agent, loader.conversation).meta)
            for id, loader in self.agent_loaders.items()
        }
        source = MemorySource(_all_bytes(self.loader), self.path)
        return SessionThreads._copied, (source, self.roots, self.shown_as, self.transcripts, agents)

    @classmethod
    def _copied(
        cls,
        source: Source,
        roots: Sequence[str | Path] | None,
        shown_as: str | None,
        transcripts: list[SessionThreads],
        agents: dict[str, tuple[Source, dict[str, Any]]],
    ) -> SessionThreads:
        threads = cls(source, roots=roots)
        threads.shown_as, threads._transcripts = shown_as, transcripts
        threads.set_agents({id: _load_agent(id, own, meta) for id, (own, meta) in agents.items()})
        return threads


def _all_bytes(loader: Loader) -> bytes:
    if loader.joined is not None:
        raise TypeError(
            f"{loader.source.path} is read together with earlier states of it, and such a session cannot be copied or "
            "pickled; pass its path instead."
        )
    return loader.source.read(0, loader.size)


def _ancestors(agent: Agent) -> Iterator[Agent]:
    while agent.parent is not None:
        agent = agent.parent
        yield agent


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
    return _load_agent(id, FileSource(path), agent_meta(path), torn=torn)


def _load_agent(id: str, source: Source, meta: dict[str, Any], *, torn: bool = True) -> Loader:
    agent = Agent(id, source.read, path=str(source.path) if source.path is not None else None, meta=meta)
    loader = Loader(source, agent)
    agent.set_lines(loader.lines)
    if torn:
        loader.load()
    else:
        loader.load_lines()
    return loader
