"""A session store for the official Agent SDK: its sessions, stored like captured conversations. Needs `reread[sdk]`."""

from __future__ import annotations

import importlib
import io
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar, cast

from reread.base import jsontext
from reread.base.coerce import as_dict
from reread.catalog.store import SUFFIX, Store
from reread.catalog.stored_conversation import StoredConversation
from reread.catalog.stored_line import StoredLine, decode_line
from reread.disk import layout
from reread.disk.filenames import filename_for, id_from_filename
from reread.storage.atomic import write_atomic
from reread.storage.kept_file import open_regular
from reread.storage.safe_open import make_private_folder, read_settings

AGENT = "sdk"
"""The agent whose conversations these are, beside those of captures."""
SUMMARY_NAME = "summary.json"
METADATA_SUFFIX = ".meta.json"
AGENT_METADATA = "agent_metadata"
"""The type of the entry that has the content of the metadata file beside an agent's transcript."""
LOCK_SECONDS = 5.0
"""How long to wait while another process writes to the session."""

_AGENT_PATH = re.compile(r"subagents|agent-[a-z0-9_-]{1,100}")
"""Parts of a subpath that stay as they are, because reread finds a session's agents by these names."""

Entry = dict[str, Any]
Result = TypeVar("Result")


class Key(TypedDict):
    """Identifies a transcript: a session's own, or with `subpath` one below it, such as an agent's."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


class RereadSessionStore:
    """The SDK's `SessionStore` protocol on top of a store of captured conversations.

    A session is `conversations/PROJECT/sdk/SESSION.jsonl`; its agents are in `SESSION/subagents/`, where reread
    searches for the agents of any session.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.store: Store = Store(root if root is not None else layout.default_store())
        self._uuids: dict[Path, _StoredUuids] = {}
        self._mutex = threading.Lock()

    async def append(self, key: Key, entries: Sequence[Entry]) -> None:
        """Store transcript entries, except those whose `uuid` is stored already."""
        if entries:
            await _in_thread(lambda: self._append(key, entries))

    async def load(self, key: Key) -> list[Entry] | None:
        """Return all entries of a transcript; None if there is no such transcript."""
        return await _in_thread(lambda: self._load(key))

    async def list_sessions(self, project_key: str) -> list[Entry]:
        """Return the sessions of a project, with the time of their last change in milliseconds since 1970."""
        return await _in_thread(
            lambda: [
                {"session_id": stored.id, "mtime": _milliseconds(stored.path)} for stored in self._sessions(project_key)
            ]
        )

    async def list_session_summaries(self, project_key: str) -> list[Entry]:
        """Return the summary that the SDK made of each session."""
        return await _in_thread(lambda: [s for stored in self._sessions(project_key) if (s := _summary(stored.path))])

    async def list_subkeys(self, key: Key) -> list[str]:
        """Return the subpaths of the transcripts below a session."""
        return await _in_thread(lambda: sorted(_subpaths(self._session_path(key))))

    async def delete(self, key: Key) -> None:
        """Delete a transcript; for a session's own, also everything below it."""
        await _in_thread(lambda: self._delete(key))

    def _append(self, key: Key, entries: Sequence[Entry]) -> None:
        project, session, subpath = key["project_key"], key["session_id"], key.get("subpath")
        store = _SubpathStore(self.store.root, subpath) if subpath else self.store
        with self._mutex, store.writer(session, workspace=project, agent=subpath or AGENT, wait=LOCK_SECONDS) as writer:
            uuids = self._uuids.setdefault(writer.path, _StoredUuids(writer.path))
            new = [entry for entry in entries if uuids.add(entry)]
            writer.extend([_line(entry) for entry in new])
            if new and not subpath:
                _update_summary(key, new, writer.path)
            for metadata in [entry for entry in new if entry.get("type") == AGENT_METADATA][-1:]:
                _write_json(
                    writer.path.with_suffix(METADATA_SUFFIX), {k: v for k, v in metadata.items() if k != "type"}
                )

    def _load(self, key: Key) -> list[Entry] | None:
        path = self._path(key)
        if not path.is_file():
            return None
        return [jsontext.loads(line.raw) for line in StoredConversation(path).lines()] or None

    def _delete(self, key: Key) -> None:
        path = self._path(key)
        with self._mutex:
            deleted = {path, _folder(path)}
            self._uuids = {
                file: uuids for file, uuids in self._uuids.items() if deleted.isdisjoint((file, *file.parents))
            }
            path.unlink(missing_ok=True)
            path.with_suffix(METADATA_SUFFIX).unlink(missing_ok=True)
            if not key.get("subpath"):
                shutil.rmtree(_folder(path), ignore_errors=True)

    def _sessions(self, project: str) -> Iterator[StoredConversation]:
        folder = self.store.path_of("", workspace=project, agent=AGENT).parent
        return (StoredConversation(path) for path in sorted(folder.glob(f"*{SUFFIX}")))

    def _session_path(self, key: Key) -> Path:
        return self.store.path_of(key["session_id"], workspace=key["project_key"], agent=AGENT)

    def _path(self, key: Key) -> Path:
        subpath = key.get("subpath")
        return _path_below(self._session_path(key), subpath) if subpath else self._session_path(key)


class _SubpathStore(Store):
    """The same store, for one transcript below a session."""

    def __init__(self, root: Path, subpath: str) -> None:
        super().__init__(root)
        self._subpath = subpath

    def path_of(self, conversation: str, *, workspace: str = "", agent: str = "") -> Path:
        """Return the file of the transcript, whatever agent its lines name."""
        return _path_below(super().path_of(conversation, workspace=workspace, agent=AGENT), self._subpath)


class _StoredUuids:
    """The uuids in a transcript's file, updated as the file grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._uuids: set[str] = set()

    def add(self, entry: Entry) -> bool:
        """Add an entry's uuid; False if it was there already."""
        self._read_new_lines()
        uuid = entry.get("uuid")
        if not isinstance(uuid, str):
            return True
        is_new = uuid not in self._uuids
        self._uuids.add(uuid)
        return is_new

    def _read_new_lines(self) -> None:
        if self._path.stat().st_size <= self._offset:
            return
        with io.BufferedReader(open_regular(self._path)) as file:
            file.seek(self._offset)
            for raw in file:
                line = decode_line(raw)
                if isinstance(line, StoredLine) and isinstance(uuid := _json_object(line.raw).get("uuid"), str):
                    self._uuids.add(uuid)
            self._offset = file.tell()


def _line(entry: Entry) -> bytes:
    """Return an entry as the client writes it to its transcript."""
    try:
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # UTF-8 cannot encode a lone surrogate, but an escape can
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _update_summary(key: Key, new: Sequence[Entry], path: Path) -> None:
    """Fold new entries into a session's summary, and give it the time of the session's file."""
    fold = importlib.import_module("claude_agent_sdk").fold_session_summary
    summary = {**fold(_summary(path), key, new), "mtime": _milliseconds(path)}
    make_private_folder(_folder(path))
    _write_json(_folder(path) / SUMMARY_NAME, summary)


def _write_json(path: Path, value: Entry) -> None:
    write_atomic(path, [jsontext.dumps(value)])


def _summary(path: Path) -> Entry | None:
    with suppress(OSError):
        return _json_object(read_settings(_folder(path) / SUMMARY_NAME)) or None
    return None


def _milliseconds(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


def _folder(path: Path) -> Path:
    """Return the folder of what belongs to a session."""
    return path.with_suffix("")


def _path_below(session: Path, subpath: str) -> Path:
    *folders, name = (part if _AGENT_PATH.fullmatch(part) else filename_for(part) for part in subpath.split("/"))
    return _folder(session).joinpath(*folders, f"{name}{SUFFIX}")


def _subpaths(session: Path) -> Iterator[str]:
    folder = _folder(session)
    for path in folder.rglob(f"*{SUFFIX}") if folder.is_dir() else ():
        parts = [id_from_filename(part) for part in path.relative_to(folder).with_suffix("").parts]
        if None not in parts:
            yield "/".join(cast(list[str], parts))
        elif (first := next(StoredConversation(path).lines(), None)) is not None:
            yield first.agent_id


def _json_object(data: bytes) -> Entry:
    try:
        return as_dict(jsontext.loads(data))
    except ValueError:
        return {}


async def _in_thread(work: Callable[[], Result]) -> Result:
    """Run file access in a thread, whichever kind of event loop the caller uses."""
    return await importlib.import_module("anyio").to_thread.run_sync(work)
