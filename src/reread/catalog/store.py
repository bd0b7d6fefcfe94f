"""The store of captured conversations: one file each, to which whole lines are appended."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from reread.base.claude_argv import find_invocation
from reread.catalog.config import add_workspace
from reread.catalog.headers import captures_of, read_headers
from reread.catalog.resolve import LATEST, Candidate, choose, looks_like_path
from reread.catalog.stored_conversation import StoredConversation
from reread.catalog.stored_line import NEWLINE, OUT, split_line_end
from reread.catalog.writer import RESULT, ConversationWriter
from reread.disk import layout
from reread.disk.filenames import filename_for, id_from_filename
from reread.errors import Misuse, NotFound, Unreadable

DEFAULT = "default"
"""The name of the workspace and the agent if none is given."""
SUFFIX = ".jsonl"
APPEND_WAIT_SECONDS = 5
NEVER = datetime.fromtimestamp(0, UTC)
SESSION_OPTIONS = ("--resume", "--session-id")
"""Options of `claude` that name a session."""


class Store:
    """The captured conversations in a folder, by default in this machine's own store."""

    def __init__(self, root: str | Path | None = None) -> None:
        self.root: Path = layout.expand_path(root) if root is not None else layout.default_store()
        """The folder for new conversations."""
        self._has_own_root = root is not None

    @property
    def roots(self) -> list[Path]:
        """The folders to search for conversations."""
        return [self.root] if self._has_own_root else layout.store_roots()

    def conversations(self, *, workspace: str | None = None, agent: str | None = None) -> Iterator[StoredConversation]:
        """Yield every conversation, the newest first."""
        files = layout.unique_files(layout.captured_files(self.roots))
        for path in _newest_first(list(files)):
            stored = StoredConversation(path)
            if workspace in (None, stored.workspace) and agent in (None, stored.agent):
                yield stored

    def open(self, name: str | Path) -> StoredConversation:
        """Open a conversation by id, prefix of an id, path, id of a session in it, or `latest`."""
        if name == "":
            raise Misuse("The conversation's name is empty; use an id or its prefix, a path, or latest.")
        if isinstance(name, Path) or looks_like_path(name):
            return self._open_path(name)
        if name == LATEST:
            return self._open_latest()
        return self._open_id(name)

    def _open_path(self, name: str | Path) -> StoredConversation:
        path = layout.expand_path(name)
        if os.path.isfile(path):
            return StoredConversation(path)
        for stored in self.conversations():
            if stored.id == name:
                return stored
        raise NotFound(f"No such file: {path}; run `reread ls --only captured` to list conversations.", path=str(path))

    def _open_latest(self) -> StoredConversation:
        for stored in self.conversations():
            return stored
        raise NotFound(f"No conversations in {self.root}; run `reread capture -- claude -p …` to capture one.")

    def _open_id(self, name: str) -> StoredConversation:
        known = [Candidate(stored, [stored.id], stored.path) for stored in self.conversations()]
        found = choose(name, known, "conversation")
        if found is not None:
            return found
        for path in captures_of(name, self.roots):
            return StoredConversation(path)
        raise NotFound(
            f"No captured conversation matches {name!r}; run `reread ls --only captured` to list conversations."
        )

    def append(
        self,
        conversation: str,
        line: bytes,
        *,
        workspace: str = DEFAULT,
        agent: str = DEFAULT,
        stream: str = OUT,
        timestamp: datetime | None = None,
    ) -> None:
        """Append one line, with or without its line end; waits a few seconds if another process is writing."""
        with self.writer(conversation, workspace=workspace, agent=agent, wait=APPEND_WAIT_SECONDS) as writer:
            raw, end = split_line_end(line)
            writer.append(raw, end=end or NEWLINE, stream=stream, timestamp=timestamp)

    def writer(
        self,
        conversation: str,
        *,
        workspace: str = DEFAULT,
        agent: str = DEFAULT,
        fsync: str = RESULT,
        wait: float = 0,
    ) -> ConversationWriter:
        """Open a conversation for writing, creating it if needed."""
        path = self.path_of(conversation, workspace=workspace, agent=agent)
        writer = ConversationWriter(path, conversation, workspace=workspace, agent=agent, fsync=fsync, wait=wait)
        try:
            with suppress(OSError):  # the list of workspaces is a convenience: writing the conversation matters more
                add_workspace(self.root, workspace)
        except BaseException:
            writer.close()
            raise
        return writer

    def path_of(self, conversation: str, *, workspace: str = DEFAULT, agent: str = DEFAULT) -> Path:
        """Return the file of a conversation; one that another program named by the bare id is used as it is."""
        folder = self.root / layout.CONVERSATIONS / filename_for(workspace) / filename_for(agent)
        if id_from_filename(conversation) == conversation and filename_for(conversation) != conversation:
            with suppress(OSError):
                bare = folder / f"{conversation}{SUFFIX}"
                if bare in folder.iterdir():  # on a case-insensitive disk, exists() could find another conversation
                    return bare
        return folder / f"{filename_for(conversation)}{SUFFIX}"


def stores(root: str | Path | Sequence[str | Path] | None = None) -> list[Store]:
    """Return the stores in the given folders, by default this machine's own."""
    if root is None or isinstance(root, str | Path):
        return [Store(root)]
    return [Store(folder) for folder in root]


def companions(path: Path, roots: Sequence[str | Path] | None = None) -> list[Path]:
    """Return the other files of the same sessions: a capture's transcripts, or a transcript's captures."""
    stored = StoredConversation(path)
    if stored.is_captured:
        transcripts = (layout.find_transcript(id, roots) for id in stored.session_ids)
        return [transcript for transcript in transcripts if transcript is not None]
    # a capture that also contains other sessions would add their messages
    return [found for found in captures_of(path.stem, roots) if StoredConversation(found).session_ids == [path.stem]]


def captures_with(session: str, roots: Sequence[str | Path] | None = None) -> list[Path]:
    """Return the captured conversations with any run of a session, also one that ended before it said its id.

    One that cannot be read is in no list of conversations either.
    """
    found: list[Path] = []
    for header in read_headers(layout.captured_files(roots)):
        if header.captured:
            with suppress(Unreadable):
                known = header.sessions if session in header.sessions else _sessions_in(header.path, header.size)
                found += [Path(header.path)] if session in known else []
    return found


@lru_cache(maxsize=4096)
def _sessions_in(path: str, size: int) -> frozenset[str]:
    """Return the sessions that a conversation of this size has, and those that its commands named."""
    stored = StoredConversation(Path(path))
    asked = [call.options for run in stored.runs if (call := find_invocation(run.argv)) is not None]
    return frozenset([*stored.session_ids, *(one[name] for one in asked for name in SESSION_OPTIONS if name in one)])


def _newest_first(paths: list[Path]) -> list[Path]:
    """Sort conversations by the time of their last record, which a copy of the file leaves as it was."""
    updated = {header.path: header.updated for header in read_headers(paths)}
    return sorted(paths, key=lambda path: (updated.get(str(path)) or NEVER, path), reverse=True)
