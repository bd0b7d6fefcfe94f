"""The files of agents: which session each belongs to, and what lies beside it."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reread.base import jsontext
from reread.disk.filenames import AGENT_PREFIX, unicode_stem
from reread.disk.layout import (
    SESSION_ID,
    SESSION_SUBFOLDERS,
    SUBAGENTS,
    beside_session,
    is_session_filename,
    jsonl_files,
)
from reread.storage.kept_file import is_file, open_regular, read_whole, stat_file
from reread.storage.kept_names import generations_by_name
from reread.storage.safe_open import LARGEST_SETTINGS

if TYPE_CHECKING:
    from reread.records.envelope import RecordEnvelope


class AgentFolders:
    """The files of agents that lie beside those of sessions, in the old layout; each folder is listed once."""

    def __init__(self) -> None:
        self._folders: dict[Path, dict[str | None, list[Path]]] = {}

    def agents_in(self, folder: Path, ids: Iterable[str]) -> list[Path]:
        """Return the files of the agents of some sessions in a folder."""
        if folder not in self._folders:
            found = self._folders[folder] = {}
            for path in _agent_files_in(folder):
                found.setdefault(_session_id_of(path), []).append(path)
        return sorted(path for id in set(ids) for path in self._folders[folder].get(id, ()))


def agent_files(session: Path, ids: Sequence[str], folders: AgentFolders | None = None) -> dict[str, Path]:
    """Return the files of a session's agents by agent id, in the old and new layout.

    If `session` is itself the file of an agent, return those of the agents that it started. To ask about many
    sessions, pass the same `folders` each time.
    """
    if session.name.startswith(AGENT_PREFIX):
        return _descendants({agent_id(session)}, _agent_files_in(session.parent))
    inner = session.with_suffix("") / SUBAGENTS
    below = (Path(path) for path, _ in jsonl_files(str(inner))) if os.path.isdir(inner) else ()
    paths = sorted(path for path in below if path.name.startswith(AGENT_PREFIX))
    paths += (folders or AgentFolders()).agents_in(session.parent, ids)
    return {agent_id(path): path for path in reversed(beside_session(session, paths))}


def agent_sessions(session: Path, ids: list[str]) -> list[str]:
    """Return those ids in a session's file whose agents are its own: a fork may hold a line of the session it left."""
    return [session.stem] if session.stem in ids or not ids else ids


def session_of(path: Path, folder: Path) -> Path | None:
    """Return the session's file that a file below a folder of sessions belongs to: itself, or its agent's session."""
    above = path.relative_to(folder).parts[:-1]
    if is_session_filename(path.name):
        return path if above and SESSION_SUBFOLDERS.isdisjoint(above) else None
    if not path.name.startswith(AGENT_PREFIX):
        return None
    if SUBAGENTS in above:
        own = folder.joinpath(*above[: above.index(SUBAGENTS)])
        return own.with_name(f"{own.name}.jsonl")
    id = _session_id_of(path)
    return path.with_name(f"{id}.jsonl") if id is not None and SESSION_ID.fullmatch(id) else None


def _session_id_of(path: Path) -> str | None:
    """Return the session that an agent's file belongs to; the file is read again only if it has changed."""
    try:
        stat = stat_file(path)
    except OSError:
        return None
    return _read_session_id(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1 << 16)
def _read_session_id(path: Path, *_stat: int) -> str | None:
    envelope = first_envelope(path)
    return envelope.sessionId if envelope is not None else None


def _descendants(parents: set[str], paths: list[Path]) -> dict[str, Path]:
    """Return the agents that some agents started, at any depth, according to their metadata files."""
    found: dict[str, Path] = {}
    parent_of = {path: agent_meta(path).get("parentAgentId") for path in paths}
    while new := {agent_id(p): p for p, of in parent_of.items() if of in parents and agent_id(p) not in parents}:
        found |= new
        parents |= set(new)
    return found


def _agent_files_in(folder: Path) -> list[Path]:
    names = [path.name for path in folder.iterdir()] if os.path.isdir(folder) else []
    found = {name for name in (*names, *generations_by_name(names)) if name.startswith(AGENT_PREFIX)}
    return [folder / name for name in sorted(found) if name.endswith(".jsonl")]


def agent_id(path: Path) -> str:
    """Return the id of the agent that a file belongs to."""
    return unicode_stem(path).removeprefix(AGENT_PREFIX)


def agent_meta(path: Path) -> dict[str, Any]:
    """Return the metadata that Claude Code writes next to an agent's file; empty if there is none."""
    try:
        value = jsontext.loads_clean(read_whole(path.with_suffix(".meta.json"), LARGEST_SETTINGS))
    except (OSError, ValueError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def agent_types(paths: Iterable[str]) -> dict[str, str]:
    """Return the types of those agents whose files are among the paths, by id, from the metadata beside the files."""
    files = (Path(path) for path in paths if os.path.basename(path).startswith(AGENT_PREFIX))
    types = ((agent_id(path), agent_meta(path).get("agentType")) for path in files)
    return {id: kind for id, kind in types if isinstance(kind, str)}


def first_envelope(path: Path) -> RecordEnvelope | None:
    """Return the envelope of the first record with a session id, if it is among the first eight."""
    from reread.records.envelope import decode_envelope  # loaded late: a list of known sessions reads no record

    try:
        with io.BufferedReader(open_regular(path)) as file:
            for line, _ in zip(file, range(8), strict=False):
                try:
                    envelope = decode_envelope(line)
                except jsontext.DECODE_ERRORS:
                    continue
                if envelope.sessionId:
                    return envelope
    except OSError:
        return None
    return None


def main_file(path: str) -> str:
    """Return the session's file that any file belongs to; that of an agent in the old layout is read to tell."""
    is_old = os.path.basename(path).startswith(AGENT_PREFIX) and f"/{SUBAGENTS}/" not in path.replace("\\", "/")
    return session_file(path, _session_id_of(Path(path)) or "" if is_old else "")


def session_file(path: str, session: str = "") -> str:
    """Return the session's file that an agent's file belongs to; other files are their own."""
    if not os.path.basename(path).startswith(AGENT_PREFIX):
        return path
    above, found, _ = path.replace("\\", "/").partition(f"/{SUBAGENTS}/")
    main = f"{above}.jsonl" if found else str(Path(path).with_name(f"{session}.jsonl"))
    return main if (found or session) and is_file(main) else path
