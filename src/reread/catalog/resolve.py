"""Find a session or a captured conversation by path, id, unique prefix of an id, or "latest", or by an address."""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from reread.base.address import GRAMMAR, LATEST, Address
from reread.base.format import date_text
from reread.base.text import one_line
from reread.catalog.header import Header
from reread.catalog.headers import captures_of, read_header, sessions
from reread.disk import layout
from reread.disk.filenames import filename_for, id_from_filename
from reread.disk.gone_sessions import prompt_paths
from reread.disk.layout import is_moved
from reread.disk.sources import require_regular_file
from reread.disk.transcript_file import open_transcript
from reread.errors import Ambiguous, Misuse, NotFound, Unreadable
from reread.records.decode import Record
from reread.storage.kept_file import file_exists, stat_file
from reread.storage.kept_names import own_path

STDIN = "-"
MOST_LISTED = 20
TITLE_LENGTH = 60
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

T = TypeVar("T")


class Candidate(NamedTuple, Generic[T]):
    """Something that can be named."""

    value: T
    ids: Sequence[str]
    """The names it can be given by; the first one is its own id."""
    path: Path


def looks_like_path(name: str | Path) -> bool:
    """True if a name is written like a path: ids contain no separator and no suffix."""
    return isinstance(name, Path) or "/" in name or "\\" in name or name.endswith((".jsonl", ".json", ".zst"))


def missing_path(name: str | Path) -> Path | None:
    """Return the path that a name stands for if no file is there yet."""
    path = layout.expand_path(name)
    if not looks_like_path(name) or file_exists(path):
        return None
    address = Address.parse(str(name))
    return None if address.is_place and file_exists(layout.expand_path(address.session)) else path


def choose(name: str, candidates: Sequence[Candidate[T]], noun: str) -> T | None:
    """Return the candidate whose id is `name`, or the only one whose id begins with it; None if none does."""
    fits = [candidate for candidate in candidates if any(id.startswith(name) for id in candidate.ids)]
    exact = [candidate for candidate in fits if name in candidate.ids]
    if len(exact) == 1 or len(fits) == 1:
        return (exact or fits)[0].value
    if not fits:
        return None
    found = exact or fits
    listed = "\n".join(f"  {candidate.ids[0]}  {_describe(candidate.path)}" for candidate in found[:MOST_LISTED])
    more = f"\n  … and {len(found) - MOST_LISTED} more" if len(found) > MOST_LISTED else ""
    paths = [str(candidate.path) for candidate in found]
    hint = _hint([candidate.path for candidate in found]) if len({one.ids[0] for one in found}) == 1 else ""
    raise Ambiguous(
        f"{name!r} matches {len(found)} {noun}s; {hint or 'use more of the id, or the path'}:\n{listed}{more}",
        candidates=paths,
    )


def _hint(paths: Sequence[Path]) -> str:
    """Return how to choose between files with one id: by their configuration folders, if these differ."""
    folders = [path.parents[2] for path in paths if path.parents[1].name == layout.PROJECTS]
    if len(set(folders)) < len(paths):
        return "the id is the same, so use the path"
    named = ", ".join(f"--root {shlex.quote(str(folder))}" for folder in folders[:MOST_LISTED])
    return f"the id is the same, so choose the folder with one of {named}, or use the path"


def _describe(path: Path) -> str:
    """Return the date, title and path of a session."""
    try:
        header = read_header(path)
    except Unreadable:
        return str(path)
    return f"{date_text(header.updated)}  {one_line(header.title, TITLE_LENGTH)}  {path}"


def resolve_address(name: str | Path, *, root: str | Path | Sequence[str | Path] | None = None) -> tuple[Path, Address]:
    """Return the file of the session that an address names, and the address."""
    address = parse_address(name, root) if isinstance(name, str) else Address(str(name))
    return resolve_session(address.session if address.is_place else name, root=root), address


def parse_address(name: str, root: str | Path | Sequence[str | Path] | None = None) -> Address:
    """Parse an address; a captured conversation may be called anything, so how the id of one begins is that one."""
    address = Address.parse(name)
    if not address.is_place:
        return address
    files = layout.session_files([root] if isinstance(root, str | Path) else root)
    is_id = any(id.startswith(name) for file in files for id in _ids(file, name))
    return Address(name) if is_id else address


def require_whole(address: Address) -> None:
    """Raise Misuse if an address names a place in a session, where only a whole one has a meaning."""
    if address.is_place:
        raise Misuse(
            f"Cannot take {address.place} here, only a whole session: {address.session}. "
            "Places in a session are for show, brief, context, tail, files, file, diff, resume, share and export."
        )


def resolve_session(name: str | Path, *, root: str | Path | Sequence[str | Path] | None = None) -> Path:
    """Return the file of a session by path, id, unique prefix or "latest"; raise Misuse if a place in one is named."""
    if name == "":
        raise Misuse("Empty session name; use a path, a session id or its beginning, or latest.")
    path = own_path(layout.expand_path(name))
    if file_exists(path):
        return require_regular_file(path)
    if isinstance(name, Path):
        return path
    roots = [root] if isinstance(root, str | Path) else root
    require_whole(parse_address(name, root))
    if looks_like_path(name):  # a captured conversation may be called anything, so its id may look like a path
        return next((file for file in layout.session_files(roots) if file.stem == filename_for(name)), path)
    if name == LATEST:
        return latest_session(root=root)
    files = [Candidate(file, _ids(file, name), file) for file in _without_left_behind(layout.session_files(roots))]
    found = choose(name, files, "session") or next(iter(captures_of(name, roots)), None)
    return found if found is not None else _session_by_record(name, root)


def _without_left_behind(files: Iterable[Path]) -> list[Path]:
    """Return files without those of sessions that were continued in another project, and have a newer file there."""
    found: dict[str, list[Path]] = {}
    for file in files:
        found.setdefault(file.name, []).append(file)
    lead: list[Path] = []
    for name, several in found.items():
        if len(several) > 1 and _UUID.fullmatch(name.removesuffix(".jsonl")):
            archives = layout.archive_folders()
            newest: list[Path] = []
            for file in sorted(several, key=lambda one: stat_file(one).st_mtime_ns, reverse=True):
                beside = (one for one in newest if one.parent.parent == file.parent.parent)
                if not any(is_moved(str(file), str(one), archives) for one in beside):
                    newest.append(file)
            several = newest
        lead += several
    return lead


def latest_session(
    *, project: Sequence[str | Path] = (), root: str | Path | Sequence[str | Path] | None = None
) -> Path:
    """Return the file of the newest session, of some projects if they are given."""
    newest = next(iter(sessions(project=project, root=root)), None)
    if newest is not None:
        return Path(newest.path)
    if project:
        raise NotFound(f"No sessions of {', '.join(map(str, project))}; run `reread ls` to list projects.")
    where = f" in {searched_text()}" if root is None else ""
    raise NotFound(f"No sessions found{where}; set CLAUDE_CONFIG_DIR, pass --root, name a file, or try --demo.")


def searched_text() -> str:
    """Return where sessions are looked for, in words, and which of these folders are not there."""
    said = os.environ.get(layout.CONFIG_VARIABLE, "").strip()
    if not said:
        return f"{layout.CONFIG_VARIABLE}, ~/.claude and ~/.config/claude"
    missing = [str(path) for path in layout.config_folders() if not path.is_dir()]
    return f"{layout.CONFIG_VARIABLE}={said}" + (f" (no such folder: {', '.join(missing)})" if missing else "")


def _session_by_record(name: str, root: str | Path | Sequence[str | Path] | None) -> Path:
    """Return the file whose records name the session, for a file that is not called after it."""
    headers = list(sessions(root=root))
    found = found_by_record(name, headers)
    if found is None:
        present = {id for header in headers for id in (header.id, *header.sessions)}
        roots = [root] if isinstance(root, str | Path) else root
        prompts = map(Path, prompt_paths(roots, present))
        found = choose(name, [Candidate(path, [path.stem], path) for path in prompts], "session")
    if found is None:
        raise NotFound(f"No session matches {name!r}; {_advice(name, headers)}")
    return found


def found_by_record(name: str, headers: Sequence[Header]) -> Path | None:
    """Return the file among those of some headers whose records name a session; None if there is none."""
    known = [Candidate(Path(header.path), [header.id, *header.sessions], Path(header.path)) for header in headers]
    return choose(name, known, "session") or choose(name, _sessions_inside(name, headers), "session")


def _sessions_inside(name: str, headers: Sequence[Header]) -> list[Candidate[Path]]:
    """Return the sessions that are neither the first nor the last of their file: such files are read for them.

    With a whole id all files are read, with its beginning only those that are known to hold several sessions.
    """
    whole = bool(_UUID.fullmatch(name))
    found: list[Candidate[Path]] = []
    for header in headers:
        path = Path(header.path)
        if whole or header.captured or len(header.sessions) > 1:
            ids = sorted(_session_ids(path, name))
            found += [Candidate(path, ids, path)] if ids else []
    return found


def _session_ids(path: Path, start: str) -> set[str]:
    """Return the ids of sessions in a file that begin like this."""
    needle = start.encode("utf-8", "replace")
    ids: set[str | None] = set()
    with suppress(OSError), io.BufferedReader(open_transcript(path)) as file:
        ids = {Record(0, 0, line).envelope.sessionId for line in file if needle in line}
    return {id for id in ids if id is not None and id.startswith(start)}


def shell_name(path: Path | None, id: str) -> str:
    """Return what to type for a session: its id if it is found by that, else its path; "-" for standard input."""
    if path is None:
        return STDIN
    if any(path.is_relative_to(root) for root in layout.default_roots()):
        return shlex.quote(id)
    with suppress(OSError, ValueError):  # the working directory was deleted, or the file is not below it
        path = path.relative_to(Path.cwd())
    return shlex.quote(str(path))


def _advice(name: str, headers: Sequence[Header]) -> str:
    """Say which session may have been meant: by a word of its title, or by an id that is nearly the same."""
    titled = [header for header in headers if name.casefold() in header.title.casefold()]
    starts = {header.id[: len(name)]: header for header in headers}
    from difflib import get_close_matches  # loaded late: most names are right

    if ":" in name:
        return f"an address is {GRAMMAR}."
    close = titled or [starts[id] for id in get_close_matches(name, starts, n=1, cutoff=0.75)]
    if not close:
        return "run `reread ls` to list sessions."
    return f'did you mean {close[0].id}, "{one_line(close[0].title, TITLE_LENGTH)}"?'


def _ids(file: Path, name: str) -> list[str]:
    """Return what a session's file can be called: its stem, and the id that the stem stands for.

    The stem of a long id holds only a hash of it, so such an id is compared by its own file name.
    """
    id = name if file.stem == filename_for(name) else id_from_filename(file.stem)
    return list(dict.fromkeys([file.stem, id or file.stem]))
