"""Digests: what one file says of usage."""

from __future__ import annotations

from pathlib import Path

import msgspec

from reread import places
from reread.charges import Charge
from reread.readings import Reading

FORMAT = 3
"""Changes when a digest that was kept cannot be read as one made now."""

OWN, RETOLD, SUMMED = range(3)
"""Where a response is told of: in its own row, in a progress record, or only in the result of a call."""
ANYWHERE = "*"
"""In place of a request id: what has this id is the same response wherever it stands."""
SIDECHAIN = "sidechain"
"""The agent of rows that are a subagent's and do not say whose."""


class Place(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Where a response belongs, by its first row."""

    session: str | None
    project: str | None
    branch: str | None
    agent: str | None
    """None in the main thread."""
    copied: bool = False
    """Whether the row says that it was copied from another session."""
    printed: bool = False
    source: int = OWN


class Response(msgspec.Struct, gc=False, array_like=True):
    """One API response as one file tells it: where it belongs by its first row, what it used by its best."""

    id: str
    request: str | None
    place: int
    when: int | None = None
    """Milliseconds since 1970."""
    ended: bool = False
    output: int = 0
    charge: Charge = Charge()
    extras: tuple[Charge, ...] = ()
    reported: int | None = None
    uuid: str | None = None
    """That of the first row."""
    proofs: tuple[str, ...] = ()
    """Of rows without a request id: what shows that they are copies of others, or others of them."""


class Digest(msgspec.Struct, array_like=True):
    """All that one file says of usage."""

    format: int = FORMAT
    places: list[Place] = []
    responses: list[Response] = []
    readings: list[Reading] = []
    lines: int = 0
    """How many lines were looked at, at most FIRST_LINES."""
    began: int | None = None
    """The first time in the file."""
    client: str | None = None
    """The version that printed it, where that is said."""
    folder: str | None = None
    """The folder that a printed run worked in."""
    printed: bool = False
    resumable: bool = True
    """Whether what is appended can be read alone."""


class Filed(msgspec.Struct):
    """A file's digest, and what its place says of it."""

    digest: Digest
    path: str = ""
    project: str | None = None
    """The project by the folder's name: a guess, for rows that do not say."""
    agent: str | None = None
    """Whose file it is, where it is an agent's own."""
    session: str | None = None
    """The session it belongs to, by its place."""


def owner(path: Path) -> tuple[str | None, str | None]:
    """The agent and the session whose file this is, by its place."""
    if not path.name.startswith(places.AGENT):
        return None, path.stem
    parts = path.parts
    session = parts[parts.index("subagents") - 1] if "subagents" in parts else None
    return path.stem.removeprefix(places.AGENT), session


def guessed_project(path: Path) -> str | None:
    """The project by the folder's name, where the file lies as the client puts it."""
    parts = path.parts
    at = next((n for n, part in enumerate(parts) if part in places.FOLDERS), len(parts))
    return places.project_guess(Path(*parts[: at + 3])) if at + 2 < len(parts) else None
