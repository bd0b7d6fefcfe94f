"""The store for the official Agent SDK: its sessions, kept like captured conversations. Needs `reread[sdk]`."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar, cast

from reread.base import jsontext
from reread.catalog.store import ENDING, Store, StoredConversation
from reread.catalog.stored_line import StoredLine, decode_line
from reread.disk import layout
from reread.disk.filenames import id_of, name_of

AGENT = "sdk"
"""The agent under which its sessions are kept, beside those of captures."""
SUMMARY = "summary.json"
NOTE = "agent_metadata"
"""The entry that stands for the client's note beside an agent's file; it is put there too."""
WAIT = 5.0
"""Seconds that a batch waits where another process writes to the session."""

_OWN = re.compile(r"subagents|agent-[a-z0-9_-]{1,100}")
"""Names that only a session's agents bear, and by which they are found."""

Item = dict[str, Any]
Done = TypeVar("Done")


class Key(TypedDict):
    """Which transcript: a session's own, or below it the one of an agent."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


class RereadSessionStore:
    """The SDK's `SessionStore` over a store of captured conversations.

    A session is `conversations/PROJECT/sdk/SESSION.jsonl`; its agents are in `SESSION/subagents/`, where reread looks
    for a session's agents anyway.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.store = Store(root if root is not None else layout.default_store())
        self._seen: dict[Path, _Seen] = {}
        self._mutex = threading.Lock()

    async def append(self, key: Key, entries: Sequence[Item]) -> None:
        """Keep transcript lines; one whose `uuid` is there already is not kept again."""
        if entries:
            await _in_thread(lambda: self._append(key, entries))

    async def load(self, key: Key) -> list[Item] | None:
        """All the lines of a transcript; None where there is none."""
        return await _in_thread(lambda: self._load(key))

    async def list_sessions(self, project_key: str) -> list[Item]:
        """The sessions of a project, with the time of their last line in milliseconds since 1970."""
        return await _in_thread(lambda: [_dated(kept.id, kept.path) for kept in self._sessions(project_key)])

    async def list_session_summaries(self, project_key: str) -> list[Item]:
        """What the SDK folded of each session as it was kept."""
        return await _in_thread(lambda: [s for kept in self._sessions(project_key) if (s := _summary(kept.path))])

    async def list_subkeys(self, key: Key) -> list[str]:
        """The transcripts below a session."""
        return await _in_thread(lambda: sorted(_subpaths(self._main(key))))

    async def delete(self, key: Key) -> None:
        """Delete a transcript, and with a session's own all that is below it."""
        await _in_thread(lambda: self._delete(key))

    def _append(self, key: Key, entries: Sequence[Item]) -> None:
        project, session, subpath = key["project_key"], key["session_id"], key.get("subpath")
        store = _Below(self.store.root, subpath) if subpath else self.store
        with self._mutex, store.writer(session, workspace=project, agent=subpath or AGENT, wait=WAIT) as writer:
            seen = self._seen.setdefault(writer.path, _Seen(writer.path))
            fresh = [entry for entry in entries if seen.is_new(entry)]
            writer.extend([_line(entry) for entry in fresh])
            if fresh and not subpath:
                _fold_summary(key, fresh, writer.path)
            for note in [entry for entry in fresh if entry.get("type") == NOTE][-1:]:
                _put(writer.path.with_suffix(".meta.json"), {k: v for k, v in note.items() if k != "type"})

    def _load(self, key: Key) -> list[Item] | None:
        path = self._path(key)
        if not path.is_file():
            return None
        return [jsontext.loads(entry.raw) for entry in StoredConversation(path).entries()] or None

    def _delete(self, key: Key) -> None:
        path = self._path(key)
        with self._mutex:
            gone = {path, _folder(path)}
            self._seen = {file: seen for file, seen in self._seen.items() if gone.isdisjoint((file, *file.parents))}
            path.unlink(missing_ok=True)
            path.with_suffix(".meta.json").unlink(missing_ok=True)
            if not key.get("subpath"):
                shutil.rmtree(_folder(path), ignore_errors=True)

    def _sessions(self, project: str) -> Iterator[StoredConversation]:
        folder = self.store.path_of("", workspace=project, agent=AGENT).parent
        return (StoredConversation(path) for path in sorted(folder.glob(f"*{ENDING}")))

    def _main(self, key: Key) -> Path:
        return self.store.path_of(key["session_id"], workspace=key["project_key"], agent=AGENT)

    def _path(self, key: Key) -> Path:
        subpath = key.get("subpath")
        return _below(self._main(key), subpath) if subpath else self._main(key)


class _Below(Store):
    """The same store, for one transcript below a session."""

    def __init__(self, root: Path, subpath: str) -> None:
        super().__init__(root)
        self._subpath = subpath

    def path_of(self, conversation: str, *, workspace: str = "", agent: str = "") -> Path:
        """The file of the transcript, whatever agent its lines name."""
        return _below(super().path_of(conversation, workspace=workspace, agent=AGENT), self._subpath)


class _Seen:
    """The uuids in a transcript's file, read on as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._uuids: set[str] = set()

    def is_new(self, entry: Item) -> bool:
        """Whether no line with this one's uuid is there; from now on there is."""
        self._catch_up()
        uuid = entry.get("uuid")
        if not isinstance(uuid, str):
            return True
        known = uuid in self._uuids
        self._uuids.add(uuid)
        return not known

    def _catch_up(self) -> None:
        if self._path.stat().st_size <= self._offset:
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                found = decode_line(line)
                if isinstance(found, StoredLine) and isinstance(uuid := _dict(found.raw).get("uuid"), str):
                    self._uuids.add(uuid)
            self._offset = file.tell()


def _line(entry: Item) -> bytes:
    """An entry as the client writes it to its transcript."""
    try:
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # half of a pair cannot stand in UTF-8, but its escape can
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _fold_summary(key: Key, fresh: Sequence[Item], path: Path) -> None:
    """Bring a session's summary up to date, with the time that its file has now."""
    fold = importlib.import_module("claude_agent_sdk").fold_session_summary
    summary = {**fold(_summary(path), key, fresh), "mtime": _dated("", path)["mtime"]}
    _folder(path).mkdir(exist_ok=True)
    _put(_folder(path) / SUMMARY, summary)


def _put(place: Path, value: Item) -> None:
    """Write a small file, whole or not at all."""
    new = place.with_suffix(".new")
    new.write_bytes(jsontext.dumps(value))
    new.replace(place)


def _summary(path: Path) -> Item | None:
    with suppress(OSError):
        return _dict((_folder(path) / SUMMARY).read_bytes()) or None
    return None


def _dated(session: str, path: Path) -> Item:
    return {"session_id": session, "mtime": path.stat().st_mtime_ns // 1_000_000}


def _folder(path: Path) -> Path:
    """Where what belongs to a session is kept."""
    return path.with_suffix("")


def _below(main: Path, subpath: str) -> Path:
    *folders, name = (part if _OWN.fullmatch(part) else name_of(part) for part in subpath.split("/"))
    return _folder(main).joinpath(*folders, f"{name}{ENDING}")


def _subpaths(main: Path) -> Iterator[str]:
    folder = _folder(main)
    for path in folder.rglob(f"*{ENDING}") if folder.is_dir() else ():
        parts = [id_of(part) for part in path.relative_to(folder).with_suffix("").parts]
        if None not in parts:
            yield "/".join(cast(list[str], parts))
        elif (first := next(StoredConversation(path).entries(), None)) is not None:
            yield first.agent_id


def _dict(data: bytes) -> Item:
    try:
        value = jsontext.loads(data)
    except ValueError:
        return {}
    return cast(Item, value) if isinstance(value, dict) else {}


async def _in_thread(work: Callable[[], Done]) -> Done:
    """Work on files, while the caller's event loop goes on, whichever kind it is."""
    return await importlib.import_module("anyio").to_thread.run_sync(work)
