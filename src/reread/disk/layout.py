"""Where sessions are: in the folders of Claude Code, captured ones, and kept copies of either.

A session's file follows its working directory to another project, and what was kept of it stays behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

from reread.base import jsontext
from reread.base.late_pattern import late_pattern
from reread.disk.desktop import desktop_folders
from reread.disk.filenames import AGENT_PREFIX
from reread.errors import NotFound, Unreadable
from reread.storage.kept_file import is_file, open_regular, stat_file
from reread.storage.kept_names import SESSION_UUID, generation_path, generations, generations_by_name, superseded_name
from reread.storage.safe_open import read_settings
from reread.storage.user_paths import data_folder, expand_path, is_mirror, typed_path

CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"
STORE_VARIABLE = "REREAD_HOME"
ARCHIVE_VARIABLE = "REREAD_ARCHIVE"
ARCHIVE, ARCHIVES = "archive", "archives.json"
"""The folder with kept sessions, and the list of other such folders."""
ARCHIVE_MARK = ".sync"
"""The folder that every archive has."""
CHORUS_FOLDER = ".chorus"
"""A folder with captured conversations that another program keeps in a project."""
PROJECTS, CONVERSATIONS = "projects", "conversations"
SESSION_FOLDERS = (PROJECTS, CONVERSATIONS)
"""The folders of a configuration folder that contain sessions."""
NON_SESSION_FILES = frozenset({"journal.jsonl", "history.jsonl"})
SUBAGENTS = "subagents"
TOOL_RESULTS = "tool-results"
SESSION_SUBFOLDERS = frozenset({SUBAGENTS, "workflows", TOOL_RESULTS, "memory"})
"""Folders that belong to a session and contain no sessions."""
BEGINNING = 256
"""Bytes by which two files are told to begin alike: they include the first record's id."""
SESSION_ID = late_pattern(r"[\w-]+")


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


def name_without_project(top: str, path: str) -> str:
    """Return what a file below `projects` is called in whatever project its session is.

    A session's file moves along with its working directory, but keeps its name if that is an id. Other names may occur
    in several projects.
    """
    below = path[len(top) :]
    own = below.lstrip(os.sep).partition(os.sep)[2]
    return own if SESSION_UUID.match(own) and os.path.basename(top) == PROJECTS else below


def by_name(files: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return files, each given with the folder that it is below, by those names."""
    found: dict[str, list[str]] = {}
    for top, path in files:
        found.setdefault(name_without_project(top, path), []).append(path)
    return found


def leading_files(
    top: str, paths: Iterable[str], originals: Mapping[str, list[str]], archives: Sequence[Path]
) -> set[str]:
    """Return the kept files that are no earlier states of others: of originals, given by key, or of newer ones."""
    lead: set[str] = set()
    for key, several in by_name((top, path) for path in paths).items():
        leaders = list(originals.get(key, ()))
        for path in several if len(several) == 1 else sorted(several, key=_modified, reverse=True):
            if not any(is_moved(path, leader, archives) for leader in leaders):
                leaders.append(path)
                lead.add(path)
    return lead


def is_moved(path: str, leader: str, archives: Sequence[Path]) -> bool:
    """True if a file that is gone is an earlier state of another of its key: of the same path, or they begin alike."""
    names = {one.rpartition(f"{os.sep}{PROJECTS}{os.sep}")[2] for one in (path, leader)}
    return len(names) == 1 or not _beginnings(path, archives).isdisjoint(_beginnings(leader, archives))


def _beginnings(path: str, archives: Sequence[Path]) -> set[bytes]:
    """Return how a file begins, and how what was kept of it does."""
    top, mark, below = path.rpartition(f"{os.sep}{PROJECTS}{os.sep}")
    folders = [Path(top), *archives] if mark else []
    kept = [os.path.join(folder, PROJECTS, below) for folder in folders]
    files = [path, *(generation_path(one, number) for one in kept for number in generations(one))]
    found: set[bytes] = set()
    for file in files:
        with suppress(OSError), closing(open_regular(file)) as opened:
            found.add(opened.read(BEGINNING))
    return found - {b""}


def _modified(path: str) -> int:
    try:
        return stat_file(path).st_mtime_ns
    except OSError:
        return 0


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
    if not SESSION_ID.fullmatch(session):
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
