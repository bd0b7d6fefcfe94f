"""Everything there is of a session: in Claude Code's folders, in archives, captured, and of reread's own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from reread.archive.archive import Archive
from reread.archive.plans import PLANS, plan_slug, plans_in, shared_slugs, slugs_of
from reread.archive.prune import PruneOutcome
from reread.archive.source_files import is_transcript
from reread.base import jsontext
from reread.base.coerce import as_dict
from reread.catalog.headers import read_header
from reread.catalog.resolve import resolve_session
from reread.catalog.store import captures_with
from reread.disk import layout
from reread.disk.desktop import record_files
from reread.disk.registry import FOLDER as REGISTRY
from reread.errors import NotFound, RereadError, Unreadable
from reread.handover import trash
from reread.handover.prompt_lines import PromptLine, RemovedLines, find_lines, read_lines, refuse_link
from reread.handover.session_files import Look, config_of, files_of, original_name
from reread.redaction.decisions import private_maps
from reread.storage.kept_file import read_whole
from reread.storage.kept_names import MAP_SUFFIX, SESSION_UUID
from reread.storage.prompt_history import HISTORY, PASTES, is_prompts
from reread.storage.safe_open import read_settings
from reread.storage.user_paths import mirrors_folder, named_url, typed_path


class DeletedLine(msgspec.Struct, frozen=True):
    """A line of a file of which the others stay."""

    path: str
    line: int
    size: int


class Deletion(msgspec.Struct, frozen=True):
    """A session that was deleted, or with `dry_run` would be."""

    session: str
    title: str
    project: str
    files: tuple[str, ...]
    """The files, in Claude Code's folder, in archives and captured."""
    lines: tuple[DeletedLine, ...]
    """Its lines in the history of prompts."""
    size: int
    """Bytes of the files and lines."""
    kept: bool
    """True if copies of it are left in archives, or captured."""
    trash: str = ""
    """Where it can be restored from; empty if it was deleted for good."""


class SessionTraces(NamedTuple):
    """What there is of a session."""

    session: str
    title: str
    project: str
    files: list[Path]
    kept: list[Path]
    """What archives and captures have of it."""
    objects: list[PruneOutcome]
    """What buckets have of it."""
    archives: list[Path]
    """The archives that are folders, and the mirrors of buckets."""
    lines: list[tuple[RemovedLines, list[PromptLine]]]
    indexes: dict[str, bytes]
    """Files of which an entry is its own, with what is left of each."""
    path: Path
    """The file that it was found by."""
    name: str | Path
    """What it is found by again: its id, if its transcript is gone."""
    maps: list[Path]
    """What undoes its exports, which is of no use once nothing is left of it."""
    ids: list[str]
    """The ids under which it may be running."""
    configs: list[Path]
    """Claude Code's folders that it was looked for in."""
    roots: Sequence[str | Path] | None
    """The folders that it was looked for in, if they were named."""

    @property
    def key(self) -> tuple[str, str]:
        """Tells it from all others, also in the trash."""
        return trash.trash_key(self.session, next(iter((*self.files, *self.kept)), ""))

    @property
    def is_only_kept(self) -> bool:
        """True if nothing but kept copies is left."""
        return bool(self.kept or self.objects) and not (self.files or self.indexes or self.lines)

    def deletion(self, *, kept: bool, now: bool) -> Deletion:
        files = [*self.files, *map(Path, self.indexes), *(self.kept if kept else ()), *self.last(kept=kept, now=now)]
        lines = [DeletedLine(found.path, line.number, len(line.raw)) for found, own in self.lines for line in own]
        objects = self.objects if kept else []
        size = sum(os.lstat(file).st_size for file in files if not file.is_symlink()) + sum(
            one.size for one in (*lines, *objects)
        )
        names = (*map(str, files), *(typed_path(Path(one.path)) for one in objects))
        names += trashed_files(self.key) if now else ()
        return Deletion(self.session, self.title, self.project, names, tuple(lines), size, self._leaves(kept=kept))

    def _leaves(self, *, kept: bool) -> bool:
        return bool(self.kept or self.objects) and not kept

    def last(self, *, kept: bool, now: bool) -> list[Path]:
        """Return what is deleted only if nothing else is left of it."""
        return self.maps if now and not self._leaves(kept=kept) else []


def trashed_files(key: tuple[str, str]) -> tuple[str, ...]:
    """Return the files that the trash has of a session."""
    return tuple(str(path) for folder in trash.folders_in_trash(key) for path in sorted(folder.iterdir()))


def find_traces(
    session: str | Path, root: str | Path | Sequence[str | Path] | None, look: Look, *, now: bool
) -> SessionTraces:
    """Return everything there is of a session; for many sessions, pass the same look each time."""
    roots = [root] if isinstance(root, str | Path) else root
    try:
        path = Path(os.path.abspath(resolve_session(session, root=root)))  # noqa: PTH100
    except NotFound as error:
        return _left(str(session), roots, error, look, now=now)
    header = look.titles.add(read_header(path))
    id = path.stem if is_prompts(path) else Path(original_name(path.name)).stem
    config = path.parents[1] if is_prompts(path) else config_of(path)
    if config is not None and (layout.is_archive(config) or config.is_relative_to(mirrors_folder())):
        config = None
    files = []
    if os.path.lexists(path) and config is None and not header.captured and not _is_kept(path):
        files = [Path(file.path) for file in files_of(path, look=look) if os.path.lexists(file.path)]
    captured = [path] if header.captured else captures_with(id, roots)
    ids = [id, *(header.sessions if header.captured else ())]
    found = _gather(id, path, path, [config] if config is not None else [], roots, files, captured, look)
    return found._replace(title=header.title, project=header.project, ids=ids)


def _left(
    session: str, roots: Sequence[str | Path] | None, missing: NotFound, look: Look, *, now: bool
) -> SessionTraces:
    """Return what was left of a session without its transcript, by its whole id; raise NotFound if there is nothing.

    What undoes exports, or cannot be read in the trash, counts if it is to be deleted for good.
    """
    if not SESSION_UUID.fullmatch(session):
        raise missing
    configs = [Path(os.path.abspath(folder)) for folder in map(layout.expand_path, roots or ())]  # noqa: PTH100
    configs = [one for one in configs if not layout.is_archive(one) and not one.is_relative_to(mirrors_folder())]
    found = _gather(session, Path(session), session, configs, roots, [], captures_with(session, roots), look)
    unread = [folder for folder in trash.read_entries()[1] if folder in trash.folders_in_trash(found.key)]
    if not any((found.files, found.kept, found.objects, found.lines, found.indexes, now and (found.maps or unread))):
        raise missing
    return found


def _gather(
    id: str,
    path: Path,
    name: str | Path,
    configs: list[Path],
    roots: Sequence[str | Path] | None,
    files: list[Path],
    captured: Sequence[Path],
    look: Look,
) -> SessionTraces:
    """Return what there is of a session in folders, archives and of reread's own, besides some files."""
    if roots is None:  # a session may have files in each folder of this machine
        configs = list(dict.fromkeys([*configs, *(Path(os.path.abspath(one)) for one in layout.config_folders())]))  # noqa: PTH100
    files = [*files, *(file for one in configs for file in _files_in(one, id, path, look)), *record_files(path)]
    files = list(dict.fromkeys([*files, *(paste for one in configs for paste in _pastes(one, id))]))
    lines = [found for one in configs if (found := find_lines(one / HISTORY, id)) is not None]
    archives = archives_searched(roots)
    transcripts = [file for file in files if file.name.startswith(f"{id}.jsonl")]
    outcomes = list(kept_traces(id, path, archives, transcripts))
    objects = [one for one in outcomes if mirror_of(Path(one.path))[1]]
    frames = [Path(one.path) for one in outcomes if one not in objects]
    named = [*transcripts, *(Path(one.path) for one in outcomes if is_transcript(one.name))]
    files += [plan for one in configs for plan in _own_plans(one, named, set(files))]
    maps = filter(Path.exists, (frame.with_name(frame.name + MAP_SUFFIX) for frame in frames))
    kept = [*frames, *maps, *(file for one in captured for file in _captured(one))]
    indexes = {str(index): left for one in configs for index, left in _indexes(one, id, look)}
    undoing = maps_of(id, {str(path), *map(str, files)}, [*files, *frames])
    return SessionTraces(
        *(id, "", "", files, list(dict.fromkeys(kept)), objects, archives, lines, indexes, path, name, undoing),
        *([id], configs, roots),
    )


def _captured(path: Path) -> Iterator[Path]:
    """Yield the files of a captured conversation: the SDK's store has agents and a summary below its name."""
    yield path
    beside = path.with_suffix(".meta.json")
    if beside.is_file():
        yield beside
    for folder, _, names in os.walk(path.with_suffix("")):
        yield from (Path(folder, name) for name in sorted(names))


def maps_of(session: str, paths: Collection[str], files: Sequence[Path]) -> list[Path]:
    """Return what undoes exports of a session; one that does not say whose it is, if some files have all its texts."""
    found, unnamed = list[Path](), list[tuple[Path, set[bytes]]]()
    for path, one in private_maps():
        if one.is_of(session, paths):
            found.append(path)
        elif not one.session and one.originals:
            unnamed.append((path, {jsontext.dumps(text)[1:-1] for text in one.originals.values()}))
    for file in files if unnamed else ():
        with suppress(OSError):
            data = read_whole(file)
            for _, texts in unnamed:
                texts -= {text for text in texts if text in data}
    return found + [path for path, texts in unnamed if not texts]


def archives_searched(roots: Sequence[str | Path] | None) -> list[Path]:
    """Return the archives that are folders, and the mirrors of buckets."""
    folders = layout.archive_folders() if roots is None else list(map(layout.expand_path, roots))
    mirrors = [mirror for folder in folders if named_url(mirror := mirror_of(folder)[0]) is not None]
    local = [Path(os.path.abspath(folder)) for folder in folders if layout.is_archive(folder)]  # noqa: PTH100
    return list(dict.fromkeys([*local, *mirrors]))


def _is_kept(path: Path) -> bool:
    return path.is_relative_to(mirrors_folder()) or any(layout.is_archive(above) for above in path.parents)


def _files_in(config: Path, session: str, path: Path, look: Look) -> Iterator[Path]:
    """Yield the files of a session in Claude Code's folder, its transcripts first."""
    projects = config / layout.PROJECTS
    if SESSION_UUID.fullmatch(session):  # no other file has such a name
        folders, named = look.projects(config), look.named_after(config, session)
        transcripts = [file for file in named if file.parent.parent == projects and file.is_file()]
        transcripts = [file for file in transcripts if _is_transcript_of(file.name, session)]
    else:  # others may have the same name
        folders, named = [projects / path.parent.name] if (projects / path.parent.name).is_dir() else [], list[Path]()
        transcripts = [file for folder in folders for file in folder.iterdir() if not file.is_dir()]
        transcripts = [file for file in transcripts if _is_transcript_of(file.name, session)]
    transcripts.sort(key=lambda file: (file.suffix != ".jsonl", file))
    yield from transcripts
    beside = [file for transcript in transcripts for file in files_of(transcript, look=look)[1:]]
    own = [Path(file.path) for file in beside if file.in_project or Path(file.name).parts[0] != PLANS]
    for folder in folders:  # in the old layout, only their records say whose agents are
        agents = look.agents.agents_in(folder, [session])
        own += [file for agent in agents for file in (agent, agent.with_suffix(".meta.json")) if file.exists()]
    yield from own
    yield from named
    for entry in sorted((config / REGISTRY).glob("*.json")):
        if _value(entry).get("sessionId") == session:
            yield entry


def _is_transcript_of(name: str, session: str) -> bool:
    return name == f"{session}.jsonl" or name.startswith(f"{session}.jsonl.superseded-")


def _own_plans(config: Path, transcripts: Sequence[Path], own: set[Path]) -> Iterator[Path]:
    """Yield the plans that these transcripts name, and no file that is not the session's own."""
    plans = [plan for plan in plans_in(config) if os.path.lexists(config / PLANS / plan)]
    slugs = {slug for transcript in transcripts for slug in slugs_of(transcript)} if plans else set[str]()
    if not slugs:
        return
    others = (path for path in sorted((config / layout.PROJECTS).glob("*/*.jsonl")) if path not in own)
    left = slugs - set(shared_slugs(slugs, others))
    yield from (config / PLANS / plan for plan in plans if plan_slug(plan) in left)


def _pastes(config: Path, session: str) -> Iterator[Path]:
    """Yield the texts that were pasted into prompts of this session only."""
    lines = read_lines(config / HISTORY) if (config / PASTES).is_dir() else []
    own = {paste for line in lines if line.is_of(session) for paste in line.pastes()}
    others = {paste for line in lines if not line.is_of(session) for paste in line.pastes()} if own else set[str]()
    for paste in sorted(own - others):
        path = config / PASTES / f"{os.path.basename(paste)}.txt"
        if path.is_file():
            yield path


def kept_traces(
    session: str, path: Path, archives: Sequence[str | Path], transcripts: Sequence[Path]
) -> Iterator[PruneOutcome]:
    """Yield what archives have of a session; of one whose id is no UUID only what was in the project of its path."""
    for folder in archives:
        try:
            yield from Archive(folder).kept_of(session, path.parent.name, transcripts)
        except NotFound:
            continue
        except RereadError as error:
            where = typed_path(folder) if isinstance(folder, Path) else folder
            raise Unreadable(f"Cannot read the archive {where}: {error}", path=where) from error


def _indexes(config: Path, session: str, look: Look) -> Iterator[tuple[Path, bytes]]:
    """Yield the client's lists of sessions that have this one, and what is left of each without it."""
    for path in look.indexes(config):
        value = _value(path)
        listed = value.get("entries")
        entries = cast(list[Any], listed) if isinstance(listed, list) else []
        others = [one for one in entries if as_dict(one).get("sessionId") != session]
        if len(others) < len(entries):
            refuse_link(path, session)
            yield path, jsontext.dumps(value | {"entries": others})


def _value(path: Path) -> dict[str, Any]:
    try:
        value = jsontext.loads_clean(read_settings(path))
    except (OSError, ValueError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def mirror_of(path: Path) -> tuple[Path, str]:
    """Return the mirror that a path lies in, and the machine whose file it is; the path itself if it is in none."""
    top = mirrors_folder()
    if not path.is_relative_to(top):
        return path, ""
    name, machine, *_ = (*path.relative_to(top).parts, "", "")
    return top / name, machine
