"""Digests: what one file says of usage."""

from __future__ import annotations

import msgspec

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
