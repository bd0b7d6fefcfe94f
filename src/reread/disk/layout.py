"""Where sessions live: configuration folders, projects, agents' files and what else lies beside a session."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from reread.base import jsontext
from reread.errors import Misuse, NotFound, Unreadable
from reread.records.envelope import RecordEnvelope, decode_envelope

CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"
STORE_VARIABLE = "REREAD_HOME"
CHORUS_FOLDER = ".chorus"
"""A folder of captured conversations that another program keeps beside a project."""
PROJECTS = "projects"
CONVERSATIONS = "conversations"
SESSION_FOLDERS = (PROJECTS, CONVERSATIONS)
"""The folders of a configuration folder that hold sessions."""
NON_SESSION_FILES = frozenset({"journal.jsonl", "history.jsonl"})
SUBAGENTS = "subagents"
SESSION_SUBFOLDERS = frozenset({SUBAGENTS, "workflows", "tool-results", "memory"})
"""Folders that belong to a session and hold none."""
_WINDOWS_DRIVE = re.compile(r"[A-Za-z]--")
"""How the folder of a project on Windows begins."""
AGENT_PREFIX = "agent-"
_SESSION_ID = re.compile(r"[\w-]+")


def expand_path(path: str | Path) -> Path:
    """A path as someone typed it; the home of someone that this machine does not know stands as it is."""
    if path == "":
        raise Misuse("an empty name is no file and no folder: is a variable not set?")
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise Misuse(f"{str(path)!r} is no name that a file or a folder can have")
    return Path(os.path.expanduser(path))


def expand_folders(folders: str | Path | Sequence[str | Path] | None) -> tuple[str, ...]:
    """Folders as someone typed them, one or several, with their links followed."""
    several = [folders] if isinstance(folders, str | Path) else folders or ()
    return tuple(os.path.realpath(expand_path(folder)).rstrip("/\\") for folder in several)


def is_within(project: str | None, folders: Sequence[str]) -> bool:
    """Whether a project is one of the folders, or lies below one."""
    name = (project or "").rstrip("/\\")
    return any(name == folder or name.startswith((folder + "/", folder + "\\")) for folder in folders)


def config_folders() -> list[Path]:
    """The configuration folders of this machine, as the client itself looks for them."""
    told = [part.strip() for part in os.environ.get(CONFIG_VARIABLE, "").split(",")]
    if any(told):
        return [expand_path(part) for part in told if part]
    xdg = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return [expand_path("~/.claude"), expand_path(xdg) / "claude"]


def default_store() -> Path:
    """Where captured conversations are kept on this machine."""
    told = os.environ.get(STORE_VARIABLE, "").strip()
    if told:
        return expand_path(told)
    from platformdirs import user_data_path

    return user_data_path("reread", appauthor=False)


def store_roots() -> list[Path]:
    """Where captured conversations are looked for."""
    return [default_store(), *([Path.cwd() / CHORUS_FOLDER] if os.path.isdir(CHORUS_FOLDER) else [])]


def default_roots() -> list[Path]:
    """Where sessions are looked for: in the client's folders, and where captured conversations are kept."""
    return [*config_folders(), *store_roots()]


def session_files(roots: Sequence[str | Path] | None = None) -> Iterator[Path]:
    """Every session file below the given folders, or below this machine's own."""
    return map(Path, session_paths(roots))


def session_paths(roots: Sequence[str | Path] | None = None) -> Iterator[str]:
    """The same as strings: to make a Path of each takes longer than to find it."""
    seen: set[str] = set()
    for folder in session_folders(roots):
        top = str(folder)
        for path, real in jsonl_files(top, beside=SESSION_SUBFOLDERS):
            above, name = os.path.split(path)
            if above != top and is_session_filename(name) and real not in seen:
                seen.add(real)
                yield path


def unique_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Paths but for those that lead to a file that came before."""
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            yield path


def session_folders(roots: Sequence[str | Path] | None = None) -> Iterator[Path]:
    """The folders that hold sessions, below the given ones or this machine's own."""
    for root in [expand_path(root) for root in roots] if roots else default_roots():
        if roots and not os.path.isdir(root):
            raise NotFound(f"{root}: no such folder; give --root a configuration or projects folder", path=str(root))
        inner = [root / name for name in SESSION_FOLDERS if os.path.isdir(root / name)]
        yield from inner or ([root] if roots else [])


def jsonl_files(folder: str, *, beside: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Every `.jsonl` file below a folder with its real path, each folder once; the unreadable is passed over."""
    seen: set[str] = set()
    waiting = [(folder, os.path.realpath(folder), True)]
    while waiting:
        path, real, is_folder = waiting.pop()
        if not is_folder:
            yield path, real
        elif real not in seen:
            seen.add(real)
            waiting += reversed(list(_entries(path, real, beside)))


def _entries(folder: str, real: str, beside: frozenset[str]) -> Iterator[tuple[str, str, bool]]:
    """The folders and `.jsonl` files in a folder by name: path, real path, and whether it is a folder."""
    with suppress(OSError):
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            below = os.path.realpath(entry.path) if entry.is_symlink() else os.path.join(real, entry.name)
            with suppress(OSError):  # a link that leads in a circle, or where we may not look
                if entry.is_dir():
                    if entry.name not in beside:
                        yield entry.path, below, True
                elif entry.name.endswith(".jsonl") and entry.is_file():
                    yield entry.path, below, False


def require_folder(folder: Path) -> Path:
    """A folder that someone named, once it is seen that we may look into it."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise Unreadable.at(folder, error) from error
    return folder


def is_session_filename(name: str) -> bool:
    """Whether a file of that name can be a session: agents' files, journals and the history never are."""
    return name.endswith(".jsonl") and not name.startswith(AGENT_PREFIX) and name not in NON_SESSION_FILES


def captured_files(roots: Sequence[str | Path] | None = None) -> Iterator[Path]:
    """Every file that can be a captured conversation, below the given folders or where this machine keeps them."""
    for root in [expand_path(root) for root in roots] if roots else store_roots():
        folder = root / CONVERSATIONS
        yield from sorted(folder.glob("*/*/*.jsonl")) if os.path.isdir(folder) else ()


def find_transcript(session: str, roots: Sequence[str | Path] | None = None) -> Path | None:
    """The transcript of a session id below the given folders, or below this machine's own."""
    if not _SESSION_ID.fullmatch(session):
        return None
    for root in [expand_path(root) for root in roots] if roots else config_folders():
        folder = root / PROJECTS if os.path.isdir(root / PROJECTS) else root
        for path in sorted(folder.glob(f"*/{session}.jsonl")) if os.path.isdir(folder) else ():
            return path
    return None


def transcripts_in(folder: Path) -> list[Path]:
    """Every `.jsonl` below a folder that holds records, sessions and agents alike."""
    found = (Path(path) for path, _ in jsonl_files(str(folder)))
    return sorted(path for path in found if path.name not in NON_SESSION_FILES)


def agent_files(session: Path, ids: Sequence[str]) -> dict[str, Path]:
    """The files of a session's agents by agent id, both layouts; of an agent, those that it started."""
    if session.name.startswith(AGENT_PREFIX):
        return _descendants({_agent_id(session)}, _agent_files_in(session.parent))
    inner = session.with_suffix("") / SUBAGENTS
    paths = sorted(inner.rglob(f"{AGENT_PREFIX}*.jsonl")) if os.path.isdir(inner) else []
    paths += [path for path in _agent_files_in(session.parent) if _session_id_of(path) in ids]
    return {_agent_id(path): path for path in reversed(paths)}


def _session_id_of(path: Path) -> str | None:
    """The session that an agent's file names; it is read again only where it has changed."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return _read_session_id(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1 << 16)
def _read_session_id(path: Path, *_state: int) -> str | None:
    head = first_envelope(path)
    return head.sessionId if head is not None else None


def _descendants(parents: set[str], paths: list[Path]) -> dict[str, Path]:
    """The agents below some agents, by the notes beside their files."""
    found: dict[str, Path] = {}
    parent_of = {path: agent_meta(path).get("parentAgentId") for path in paths}
    while fresh := {_agent_id(p): p for p, of in parent_of.items() if of in parents and _agent_id(p) not in parents}:
        found |= fresh
        parents |= set(fresh)
    return found


def _agent_files_in(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{AGENT_PREFIX}*.jsonl")) if os.path.isdir(folder) else []


def _agent_id(path: Path) -> str:
    return path.stem.removeprefix(AGENT_PREFIX)


def agent_meta(path: Path) -> dict[str, Any]:
    """The client's note beside an agent's file."""
    try:
        value = jsontext.loads_clean(path.with_suffix(".meta.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def first_envelope(path: Path) -> RecordEnvelope | None:
    """The head of the first record that names its session."""
    try:
        with path.open("rb") as file:
            for line, _ in zip(file, range(8), strict=False):
                try:
                    head = decode_envelope(line)
                except jsontext.DECODE_ERRORS:
                    continue
                if head.sessionId:
                    return head
    except OSError:
        return None
    return None


def tool_result_file(session: Path, written: str) -> Path | None:
    """The file that holds a tool output too large for the transcript, wherever the session lies now."""
    name = written.replace("\\", "/").rsplit("/", 1)[-1]
    for folder in (session.with_suffix(""), session.parent.parent, session.parent):
        path = folder / "tool-results" / name
        if name and name not in (".", "..") and os.path.isfile(path):
            return path
    return None


def guess_project(session: Path) -> str:
    """The project by the folder's name alone: a guess, for the name does not tell separators from dashes."""
    return project_from_folder(session.parent.parent.name, session.parent.name)


def project_from_folder(folder: str, name: str) -> str:
    """The project that a folder's name stands for, by the folder that it is in."""
    if folder == "conversations":
        return name.replace("_", "/")
    if _WINDOWS_DRIVE.match(name):
        return f"{name[0]}:\\" + name[3:].replace("-", "\\")
    return name.replace("-", "/") if name.startswith("-") else name
