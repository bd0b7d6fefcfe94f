"""The plans of a session: `plans/<slug>.md`, where the slug is the client's own name for it, in its records.

A session that was forked from another has its slug, and so its plan.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from reread.storage.kept_file import open_regular
from reread.storage.kept_names import generations_by_name

PLANS = "plans"
CHUNK = 1 << 20
LONGEST = 256
_SLUG = re.compile(rb'"slug"\s*:\s*"([\w-]{1,200})"', re.ASCII)
_PLAN = re.compile(r"([\w-]+?)(?:-agent-\w+)?\.md", re.ASCII)


def plans_of(config: Path, transcript: Path) -> list[str]:
    """Return the names of a session's plans; its transcript is read only if there are plans at all."""
    names = plans_in(config)
    slugs = slugs_of(transcript) if names else set[str]()
    return [name for name in names if plan_slug(name) in slugs]


def plans_in(config: Path) -> list[str]:
    """Return the names of all plans of a configuration folder or an archive, kept ones by their own."""
    folder = config / PLANS
    try:
        names = os.listdir(folder) if not folder.is_symlink() else []  # noqa: PTH208
    except OSError:
        return []
    found = {*names, *generations_by_name(names)}
    return sorted(name for name in found if plan_slug(name) is not None)


def plan_slug(name: str) -> str | None:
    """Return the slug that a plan is called after, of a session or of an agent's; None if it is no plan's name."""
    match = _PLAN.fullmatch(name)
    return match[1] if match is not None else None


def slugs_of(transcript: str | Path) -> set[str]:
    """Return the slugs in a transcript; none if it cannot be read."""
    with suppress(OSError), closing(open_regular(transcript)) as file:
        return slugs_in(iter(lambda: file.read(CHUNK), b""))
    return set()


def slugs_in(pieces: Iterable[bytes]) -> set[str]:
    """Return the slugs in the bytes of a transcript."""
    found: set[str] = set()
    tail = b""
    for piece in pieces:
        found |= {match[1].decode() for match in _SLUG.finditer(tail + piece)}
        tail = piece[-LONGEST:]
    return found


def shared_slugs(slugs: set[str], others: Iterable[str | Path]) -> Iterator[str]:
    """Yield those slugs that other transcripts have, too."""
    left = set(slugs)
    for path in others:
        if not left:
            return
        found = left & slugs_of(path)
        left -= found
        yield from found
