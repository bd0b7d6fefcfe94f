"""Digests: what one file says of usage."""

from __future__ import annotations

import msgspec

from reread.accounting.billing import Charge
from reread.accounting.cost_counters import CounterReading
from reread.disk import layout

FORMAT = 9
"""Changes when a digest that was kept cannot be read as one made now."""

OWN, RETOLD, SUMMED = range(3)
"""Where a response is told of: in its own row, in a progress record, or only in the result of a call."""
ANYWHERE = "*"
"""In place of a request id: what has this id is the same response wherever it stands."""
SIDECHAIN = "sidechain"
"""The agent of rows that are a subagent's and do not say whose."""


class Origin(msgspec.Struct, frozen=True, gc=False, array_like=True):
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


class FileResponse(msgspec.Struct, gc=False, array_like=True):
    """One API response as one file tells it: where it belongs by its first row, what it used by its best."""

    number: int
    """The how-manieth response of the file it is."""
    request: str | None
    place: int
    when: int | None = None
    """Milliseconds since 1970."""
    ended: bool = False
    charge: Charge = Charge()
    uuid: str | None = None
    """That of the first row."""
    id: str = ""
    extras: tuple[Charge, ...] = ()
    reported: int | None = None
    proofs: tuple[str, ...] = ()
    """Of rows without a request id: what shows that they are copies of others, or others of them."""


class UsageCell(msgspec.Struct, gc=False, array_like=True):
    """Plain responses of one place, model, kind of request and quarter of an hour, summed."""

    slot: int | None
    place: int
    model: str | None
    mode: int
    band: int
    """How many of BANDS their prompts are longer than."""
    responses: int = 0
    input: int = 0
    output: int = 0
    write_5m: int = 0
    write_1h: int = 0
    read: int = 0
    searches: int = 0
    unconfirmed: int = 0


SLOT_MS = 900_000
"""A quarter of an hour: every time zone's day begins on one."""
BANDS = (100_000, 200_000)
"""The prompt lengths above which some model is dearer; a table with others counts response by response."""


NO_ROWS = msgspec.Raw(msgspec.msgpack.encode([]))


class Digest(msgspec.Struct, array_like=True):
    """All that one file says of usage: plain responses in sums, and each of them for when it stands elsewhere too."""

    format: int = FORMAT
    places: list[Origin] = []
    cells: list[UsageCell] = []
    ids: list[str] = []
    """The ids of all responses, plain or odd."""
    rows: msgspec.Raw = NO_ROWS
    """The plain responses, as MessagePack of a list of them without id and last fields: read only when needed."""
    odd: list[FileResponse] = []
    """The others: printed, second-hand, without a request id, with more than one charge, a reported cost or counts
    beyond 64 bits."""
    readings: list[CounterReading] = []
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

    def packed(self) -> bytes:
        """The digest as it is kept; nothing where a number in it is beyond 64 bits: such a file is read again."""
        return packed(self) or b""

    def responses(self) -> list[FileResponse]:
        """Every response, in the order of the file."""
        plain = msgspec.msgpack.decode(self.rows, type=list[FileResponse])
        for response in plain:
            response.id = self.ids[response.number]
        return sorted([*plain, *self.odd], key=lambda response: response.number) if self.odd else plain


def packed(value: object) -> bytes | None:
    """A value as MessagePack; None where that cannot hold it: a number beyond 64 bits, a name that is no UTF-8."""
    try:
        return msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeError):
        return None


class FileDigest(msgspec.Struct):
    """A file's digest, and what its place says of it."""

    digest: Digest
    path: str = ""
    project: str | None = None
    """The project of rows that do not say: what another row says, or a guess by the folder's name."""
    agent: str | None = None
    """Whose file it is, where it is an agent's own."""
    session: str | None = None
    """The session it belongs to, by its place."""


def file_digest(path: str, digest: Digest) -> FileDigest:
    """A digest with what the place of its file says."""
    project = next((place.project for place in digest.places if place.project), None) or guessed_project(path)
    return FileDigest(digest, path, project, *owner(path))


def owner(path: str) -> tuple[str | None, str | None]:
    """The agent and the session whose file this is, by its place."""
    parts = _parts(path)
    stem = parts[-1].rpartition(".")[0] or parts[-1]
    if not stem.startswith(layout.AGENT_PREFIX):
        return None, stem
    session = parts[parts.index("subagents") - 1] if "subagents" in parts else None
    return stem.removeprefix(layout.AGENT_PREFIX), session


def guessed_project(path: str) -> str | None:
    """The project by the folder's name, where the file lies as the client puts it."""
    parts = _parts(path)
    at = next((n for n, part in enumerate(parts) if part in layout.SESSION_FOLDERS), len(parts))
    return layout.project_from_folder(parts[at], parts[at + 1]) if at + 2 < len(parts) else None


def _parts(path: str) -> list[str]:
    """The parts of a path: of thousands of files, and `pathlib` takes its time."""
    return path.replace("\\", "/").split("/")
