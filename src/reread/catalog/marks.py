"""What a person says of sessions: tags, which are reread's own, and the archive, which is Claude Code's."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from reread.base.format import time_text
from reread.catalog.annotations import Annotations
from reread.catalog.archived import is_prompted_since, mark_path, read_mark
from reread.catalog.header import Header
from reread.catalog.headers import sessions
from reread.catalog.resolve import resolve_session
from reread.disk import layout
from reread.disk.desktop import desktop_sessions
from reread.errors import Misuse
from reread.storage.atomic import remove_unfinished
from reread.storage.json_update import change_object

LOCK = "archived.lock"
"""Held in reread's own folder while a mark is written; the client replaces the file as a whole."""


def tag_sessions(
    *names: str | Path,
    add: str | Iterable[str] = (),
    remove: str | Iterable[str] = (),
    root: str | Path | Sequence[str | Path] | None = None,
) -> list[Header]:
    """Add tags to sessions, or take them away, and return the sessions as they are then.

    A tag is one word, in small letters. `sessions(tag=…)` and every report find sessions by them.
    """
    given, taken = ([words] if isinstance(words, str) else [*words] for words in (add, remove))
    found = _named(names, root, prompts=True)
    notes = Annotations()
    if given or taken:
        for header in found:
            notes.change(header.id, tag=given, untag=taken)
    return [msgspec.structs.replace(header, tags=notes.of(header.id).tags) for header in found]


def tags() -> dict[str, int]:
    """Return all tags, each with the number of sessions that have it, the most frequent first."""
    counted = Counter(tag for known in Annotations().all().values() for tag in known.tags)
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def archive_sessions(
    *names: str | Path, undo: bool = False, root: str | Path | Sequence[str | Path] | None = None
) -> list[Header]:
    """Put sessions into Claude Code's own archive, or with `undo` out of it, and return them as they are then.

    The lists of reread, and those of Claude Code where it offers the archive, leave them out. Nothing is moved or
    deleted, and the next prompt takes a session out of the archive.
    """
    found = _named(names, root)
    for header in found:
        _require_own(header)

    def apply(value: dict[str, Any]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        value |= {"archived": not undo, "at": now, "by": "reread"}

    for header in found:
        path = Path(mark_path(header.path))
        remove_unfinished(path.parent)
        change_object(path, apply, guard=layout.default_store() / LOCK)
    again = {header.path: header for header in sessions(root=root)}
    found = [again.get(header.path, header) for header in found]
    apps = desktop_sessions() if undo else {}
    for header in found:
        if header.id in apps and apps[header.id].archived:
            raise Misuse(f"The Claude desktop app has archived {header.id}; take it out of the archive there.")
        mark = read_mark(header.path)
        if not undo and mark is not None and mark.archived and is_prompted_since(header, mark):
            raise Misuse(f"{header.id} is not archived: a prompt in it is from after {time_text(mark.at)}.")
    return found


def _named(
    names: Iterable[str | Path], root: str | Path | Sequence[str | Path] | None, *, prompts: bool = False
) -> list[Header]:
    """Return the sessions with some names, each once."""
    known = {os.path.abspath(header.path): header for header in sessions(prompts=prompts, root=root)}  # noqa: PTH100
    found: list[Header] = []
    for name in names:
        path = resolve_session(name, root=root)
        header = known.get(os.path.abspath(path))  # noqa: PTH100
        if header is None:
            raise Misuse(f"{path} is in no folder of sessions; name its folder with --root.", path=str(path))
        found += [header] if header not in found else []
    return found


def _require_own(header: Header) -> None:
    """Raise Misuse unless Claude Code lists a session."""
    path = Path(header.path)
    top = path.parent.parent.parent if path.parent.parent.name == layout.PROJECTS else None
    if header.captured or top is None or layout.is_archive(top) or not path.exists():
        what = "a captured conversation" if header.captured else "only kept" if header.kept else "not there"
        raise Misuse(f"Cannot archive {header.id}: it is {what}, and Claude Code lists it nowhere.", path=header.path)
