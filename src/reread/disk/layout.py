"""Find sessions and the files that belong to them: configuration folders, projects, agents, tool results."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reread.base import jsontext
from reread.base.paths import comparable_path, is_foreign, normalize_folder, path_parts
from reread.disk.desktop import desktop_folders
from reread.disk.filenames import unicode_stem
from reread.disk.moved_files import PROJECTS, by_name, leading_files, name_without_project
from reread.errors import NotFound, Unreadable
from reread.storage.kept_file import is_file, open_regular, read_whole, stat_file
from reread.storage.kept_names import MAP_SUFFIX, SUFFIX, generations_by_name, superseded_name
from reread.storage.prompt_history import PASTES, is_prompts
from reread.storage.safe_open import LARGEST_SETTINGS, read_settings
from reread.storage.user_paths import data_folder, expand_path, is_mirror, typed_path

if TYPE_CHECKING:
    from reread.records.envelope import RecordEnvelope

CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"
STORE_VARIABLE = "REREAD_HOME"
ARCHIVE_VARIABLE = "REREAD_ARCHIVE"
ARCHIVE, ARCHIVES = "archive", "archives.json"
"""The folder with kept sessions, and the list of other such folders."""
ARCHIVE_MARK = ".sync"
"""The folder that every archive has."""
CHORUS_FOLDER = ".chorus"
"""A folder with captured conversations that another program keeps in a project."""
CONVERSATIONS = "conversations"
SESSION_FOLDERS = (PROJECTS, CONVERSATIONS)
"""The folders of a configuration folder that contain sessions."""
NON_SESSION_FILES = frozenset({"journal.jsonl", "history.jsonl"})
SUBAGENTS = "subagents"
TOOL_RESULTS = "tool-results"
SESSION_SUBFOLDERS = frozenset({SUBAGENTS, "workflows", TOOL_RESULTS, "memory"})
"""Folders that belong to a session and contain no sessions."""
_WINDOWS_DRIVE = re.compile(r"[A-Za-z]--")
"""How the folder name of a project on Windows starts."""
AGENT_PREFIX = "agent-"
_PATH_MARK = re.compile(r"[/\\:~]|^\.+$")
"""The characters of a path that the name of a project has not."""
_SESSION_ID = re.compile(r"[\w-]+")


def expand_folders(folders: str | Path | Sequence[str | Path] | None) -> tuple[str, ...]:
    """Return one or several folders as typed by a person, with `~` expanded and links resolved.

    A word that is no folder here is the name of a project, and is kept as it is.
    """
    paths = [folders] if isinstance(folders, str | Path) else folders or ()
    return tuple(map(_expand_folder, paths))


def _expand_folder(folder: str | Path) -> str:
    path = expand_path(folder)
    if isinstance(folder, str) and (_is_name(folder) or is_foreign(folder)):
        return folder
    return normalize_folder(os.path.realpath(path))


def _is_name(folder: str) -> bool:
    return folder != "" and not _PATH_MARK.search(folder) and not os.path.isdir(folder)


def is_within(project: str | None, folders: Sequence[str]) -> bool:
    """True if a project is one of the folders or below one of them; a folder may be given by its name alone."""
    name = comparable_path(project or "")
    above = [comparable_path(folder).rstrip("/") + "/" for folder in folders]
    return f"{name}/".startswith(tuple(above)) or any(_has_name(name, folder) for folder in folders)


def _has_name(project: str, name: str) -> bool:
    """True if a project's folder, or one above it, has this name in any case."""
    return bool(name) and not _PATH_MARK.search(name) and name.lower() in path_parts(project.lower())


def config_folders() -> list[Path]:
    """Return the configuration folders of this machine, as Claude Code and its desktop app find them."""
    paths = [path.strip() for path in os.environ.get(CONFIG_VARIABLE, "").split(",")]
    if any(paths):
        return [expand_path(path) for path in paths if path]
    xdg = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return [expand_path("~/.claude"), expand_path(xdg) / "claude", *desktop_folders()]


def default_store() -> Path:
    """Return the folder where this machine stores captured conversations."""
    path = os.environ.get(STORE_VARIABLE, "").strip()
    return expand_path(path) if path else data_folder()


def default_archive() -> Path:
    """Return the folder where this machine keeps copies of sessions."""
    return archive_folders()[0]


def archive_folders() -> list[Path]:
    """Return the folders with kept sessions: that of this machine, and others that sessions were kept in."""
    named = [path.strip() for path in os.environ.get(ARCHIVE_VARIABLE, "").split(",")]
    if any(named):
        return [expand_path(path) for path in named if path]
    return list(dict.fromkeys([default_store() / ARCHIVE, *listed_archives()]))


def listed_archives() -> list[Path]:
    """Return the folders in the list of those that sessions were kept in."""
    try:
        others = jsontext.loads_clean(read_settings(default_store() / ARCHIVES))
    except (OSError, ValueError):
        others = None
    listed = cast(list[Any], others) if isinstance(others, list) else []
    return [Path(path) for path in listed if isinstance(path, str) and path]


def is_archive(folder: Path) -> bool:
    """True if sessions were kept in a folder."""
    return os.path.isdir(folder / ARCHIVE_MARK)


def store_roots() -> list[Path]:
    """Return the folders to search for captured conversations: the own store, and the project's `.chorus` folder."""
    chorus = _chorus_folder()
    return [default_store(), *([chorus] if chorus is not None else [])]


def _chorus_folder() -> Path | None:
    """Return the `.chorus` folder of the working directory or of the nearest folder above it; None if there is none."""
    try:
        here = Path.cwd()
    except OSError:  # it has been deleted
        return None
    return next((path for above in (here, *here.parents) if os.path.isdir(path := above / CHORUS_FOLDER)), None)


def default_roots() -> list[Path]:
    """Return the folders to search: those of Claude Code, with captured conversations, and with kept sessions."""
    return [*config_folders(), *store_roots(), *archive_folders()]


def session_files(roots: Sequence[str | Path] | None = None) -> Iterator[Path]:
    """Yield every session file below the given folders, by default below `default_roots`."""
    return map(Path, session_paths(roots))


def session_paths(roots: Sequence[str | Path] | None = None, outside: list[str] | None = None) -> Iterator[str]:
    """Yield the same files as strings, because making a Path takes longer than finding the file.

    Links that are not followed are added to `outside`.
    """
    seen: set[str] = set()
    listed: list[tuple[str, str]] = []
    superseded: list[tuple[str, str]] = []
    for folder in session_folders(roots):
        top, kept = str(folder), is_archive(folder.parent)
        gone: list[str] = []
        found = [
            (path, real)
            for path, real in jsonl_files(top, skip=SESSION_SUBFOLDERS, outside=outside, superseded=gone)
            if os.path.split(path)[0] != top and is_session_filename(os.path.basename(path))
        ]
        superseded += [(path, name_without_project(top, path)) for path in gone if os.path.split(path)[0] != top]
        if kept:  # a kept session is listed if its original is gone
            lead = leading_files(top, (path for path, _ in found), by_name(listed), archive_folders())
            found = [(path, real) for path, real in found if path in lead]
        for path, real in found:
            if real not in seen:
                seen.add(real)
                listed.append((top, path))
                yield path
    names = by_name(listed) if superseded else {}
    for path, key in sorted(superseded, reverse=True):
        if key not in names:
            names[key] = [path]
            yield path


def unique_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the paths without those that lead to the same file as an earlier one."""
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            yield path


def session_folders(roots: Sequence[str | Path] | None = None) -> Iterator[Path]:
    """Yield the folders that contain sessions, below the given ones or `default_roots`."""
    folders = [expand_path(root) for root in roots] if roots else default_roots()
    for root in sorted(_of_machines(folders), key=is_archive):  # originals go before their copies
        if roots and not os.path.isdir(root):
            raise NotFound(
                f"No folder {typed_path(root)}; pass a configuration or projects folder as --root.", path=str(root)
            )
        inner = [root / name for name in SESSION_FOLDERS if os.path.isdir(root / name)]
        yield from inner or ([root] if roots else [])


def _of_machines(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield folders; for the mirror of a bucket, that of each machine, brought up to date."""
    for folder in folders:
        mirror = next(filter(is_mirror, (folder, folder.parent)), None)
        if mirror is None:
            yield folder
            continue
        from reread.storage.bucket_mirror import mirrored_folders  # loaded late: few keep in a bucket

        machines = mirrored_folders(mirror)
        yield from machines if mirror == folder else [folder]


def jsonl_files(
    folder: str,
    *,
    skip: frozenset[str] = frozenset(),
    outside: list[str] | None = None,
    superseded: list[str] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield every `.jsonl` file below a folder with its real path; skip folders that cannot be read.

    No folder is searched twice, so links may form a circle. Links that lead out of the folder are not followed, since
    all of this machine may lie behind one; they are added to `outside`. Files of which only a superseded one is left
    are added to `superseded` instead, if that is given.
    """
    seen: set[str] = set()
    top = os.path.realpath(folder)
    todo = [(folder, top, True)]
    while todo:
        path, real, is_folder = todo.pop()
        if not is_folder:
            yield path, real
        elif real not in seen:
            seen.add(real)
            todo += reversed(list(_entries(path, real, skip, os.path.join(top, ""), outside, superseded)))


def _entries(
    folder: str,
    real: str,
    skip: frozenset[str],
    top: str,
    outside: list[str] | None,
    superseded: list[str] | None,
) -> Iterator[tuple[str, str, bool]]:
    """Yield path, real path and kind (True: folder) of the folders and `.jsonl` files in a folder.

    Files that are only kept come first; each group is sorted by name.
    """
    with suppress(OSError):
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        kept = set(generations_by_name(entry.name for entry in entries))
        kept -= {entry.name for entry in entries} if kept else set()
        then = map(superseded_name, (*kept, *(entry.name for entry in entries)))
        left = {found[0] for found in then if found is not None}
        if left:
            left -= {*kept, *(entry.name for entry in entries)}
            if superseded is None:
                kept |= left
            else:
                superseded += [os.path.join(folder, name) for name in sorted(left)]
        yield from (
            (os.path.join(folder, name), os.path.join(real, name), False)
            for name in sorted(kept)
            if name.endswith(".jsonl")
        )
        for entry in entries:
            below = os.path.realpath(entry.path) if entry.is_symlink() else os.path.join(real, entry.name)
            with suppress(OSError):  # a circular link, or no permission
                if not os.path.join(below, "").startswith(top):
                    if outside is not None and (entry.is_dir() or (entry.name.endswith(".jsonl") and entry.is_file())):
                        outside.append(entry.path)
                elif entry.is_dir():
                    if entry.name not in skip:
                        yield entry.path, below, True
                elif entry.name.endswith(".jsonl") and entry.is_file():
                    yield entry.path, below, False


def link_note(link: str) -> str:
    """Return what to say of a link that is not followed."""
    target = typed_path(Path(os.path.realpath(link)))
    return f"{typed_path(Path(link))} is a link out of its folder and was not followed; read {target} with --root."


def require_folder(folder: Path) -> Path:
    """Return the folder; raise Unreadable if it cannot be listed."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise Unreadable.at(folder, error) from error
    return folder


def is_session_filename(name: str) -> bool:
    """True if a file with this name can be a session; agents, journals and the history never are."""
    return name.endswith(".jsonl") and not name.startswith(AGENT_PREFIX) and name not in NON_SESSION_FILES


def captured_files(roots: Sequence[str | Path] | None = None) -> Iterator[Path]:
    """Yield every file that can be a captured conversation, below the given folders or `store_roots`."""
    for root in _of_machines(map(expand_path, roots) if roots else store_roots()):
        folder = root / CONVERSATIONS
        yield from lying_in(sorted(folder.glob("*/*/*.jsonl")), folder) if os.path.isdir(folder) else ()


def find_transcript(session: str, roots: Sequence[str | Path] | None = None) -> Path | None:
    """Return the transcript with a session id below the given folders or `config_folders`; None if there is none."""
    if not _SESSION_ID.fullmatch(session):
        return None
    folders = [expand_path(root) for root in roots] if roots else [*config_folders(), *archive_folders()]
    for root in sorted(_of_machines(folders), key=is_archive):
        folder = root / PROJECTS if os.path.isdir(root / PROJECTS) else root
        for project in sorted(folder.glob("*/")) if os.path.isdir(folder) else ():
            if is_file(path := project / f"{session}.jsonl") and any(lying_in([path], folder)):
                return path
    return None


def transcripts_in(folder: Path, outside: list[str] | None = None) -> list[Path]:
    """Return every transcript below a folder, of sessions and agents; see `jsonl_files`."""
    found = (Path(path) for path, _ in jsonl_files(str(folder), outside=outside))
    return sorted(path for path in found if path.name not in NON_SESSION_FILES)


def sessions_below(folder: Path) -> list[Path]:
    """Return the sessions of a configuration or projects folder, or every transcript below any other folder."""
    known = list(session_files([require_folder(folder)]))
    return known or [path for path in transcripts_in(folder) if is_session_filename(path.name)]


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


def beside_session(session: Path, paths: Iterable[Path]) -> list[Path]:
    """Return those of some files that lie where a session's file does."""
    paths = list(paths)
    return list(lying_in(paths, session.parent, Path(os.path.realpath(session)).parent)) if paths else []


def lying_in(paths: Iterable[Path], *folders: Path) -> Iterator[Path]:
    """Yield those of some files that lie in some folders: a link could lead to anything on this machine."""
    tops = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
    parents: dict[Path, str] = {}
    for path in paths:
        if path.parent not in parents:
            parents[path.parent] = os.path.realpath(path.parent)
        real = os.path.realpath(path) if path.is_symlink() else os.path.join(parents[path.parent], path.name)
        if real.startswith(tops):
            yield path


def spilled_files(session: Path) -> list[Path]:
    """Return the files of tool results that are too large for a session's own file."""
    folder = session.with_suffix("") / TOOL_RESULTS
    names = [path.name for path in folder.iterdir()] if os.path.isdir(folder) else []
    kept = set(generations_by_name(names))
    own = {name for name in names if name.removesuffix(MAP_SUFFIX).removesuffix(SUFFIX) not in kept}
    return beside_session(session, filter(is_file, (folder / name for name in sorted(own | kept))))


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
    return path.with_name(f"{id}.jsonl") if id is not None and _SESSION_ID.fullmatch(id) else None


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

    with suppress(OSError), io.BufferedReader(open_regular(path)) as file:
        for line, _ in zip(file, range(8), strict=False):
            with suppress(*jsontext.DECODE_ERRORS):
                if (envelope := decode_envelope(line)).sessionId:
                    return envelope
    return None


def tool_result_file(session: Path, written: str) -> Path | None:
    """Return the file of a text too large for the transcript; found by its name, as sessions are moved."""
    name = written.replace("\\", "/").rsplit("/", 1)[-1]
    for folder, owner in large_text_folders(session):
        path = folder / name
        if is_file(path) and beside_session(owner, [path]):
            return path
    return None


def large_text_folders(session: Path) -> list[tuple[Path, Path]]:
    """Return the folders with texts too large for a transcript, each with a file or folder that it lies beside."""
    if is_prompts(session):
        return [(session.parents[1] / PASTES, session.parent)]
    above = next((folder.parent for folder in session.parents if folder.name == SUBAGENTS), session.parent.parent)
    owners = ((session.with_suffix(""), session), (above, above), (session.parent, session))
    return [(folder / TOOL_RESULTS, owner) for folder, owner in owners]


def guess_project(session: Path) -> str:
    """Guess the project from the folder name, in which separators and dashes look the same."""
    return project_from_folder(session.parent.parent.name, session.parent.name)


def project_from_folder(folder: str, name: str) -> str:
    """Return the project that a folder name encodes; `folder` is the name of its parent folder."""
    if folder == CONVERSATIONS:
        return name.replace("_", "/")
    if _WINDOWS_DRIVE.match(name):
        return normalize_folder(f"{name[0]}:\\" + name[3:].replace("-", "\\"))
    return name.replace("-", "/") if name.startswith("-") else name


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
