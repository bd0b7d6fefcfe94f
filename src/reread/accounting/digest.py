"""The digest of a file: the usage in it, small enough to keep in the cache."""

from __future__ import annotations

import msgspec

from reread.accounting.billing import Charge
from reread.accounting.cost_counters import CounterReading
from reread.base import jsontext
from reread.disk import layout
from reread.disk.cache import CacheFile
from reread.disk.derived_cache import DerivedValues, encoded, values_table
from reread.disk.projects import project_from_folder

FORMAT = 14
"""Change it when cached digests can no longer be read, or would be built differently now."""
READABLE = (10, 12)
"""Earlier formats that are read too, so that what `--keep-deleted` remembers outlives an update: of 0.2 and of 0.3."""

DIGESTS = values_table("usage_digests", format=FORMAT, readable=READABLE)
"""The table of the catalogue."""
OWN_ROW, PROGRESS, CALL_RESULT = range(3)
"""Where the usage of a response was found: in its own row, in a progress record, or only in the result of a call."""
ANY_REQUEST = "*"
"""Stands in for a request id if all rows with the message id are one response, wherever they are."""
SIDECHAIN = "sidechain"
"""The agent of sidechain rows that do not name one."""


class ResponseOrigin(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Where a response belongs, according to its first row."""

    session: str | None
    project: str | None
    branch: str | None
    agent: str | None
    """None in the main thread."""
    forked: bool = False
    """True if the row states that it was copied from another session."""
    streamed: bool = False
    """True if the row comes from a stream (stream-json), not from a transcript."""
    source: int = OWN_ROW


class FileResponse(msgspec.Struct, gc=False, array_like=True):
    """One API response in one file: its origin is that of its first row, its usage that of its best row."""

    index: int
    """Index of this response within its file."""
    request: str | None
    origin_index: int
    """Index into `UsageDigest.origins`."""
    time_ms: int | None = None
    """Milliseconds since 1970."""
    ended: bool = False
    """True if a row has a stop reason."""
    charge: Charge = Charge()
    uuid: str | None = None
    """The uuid of the first row."""
    id: str = ""
    extras: tuple[Charge, ...] = ()
    """Charges of iterations that are billed apart."""
    reported_nanos: int | None = None
    """The cost on its rows, in nano-dollars."""
    copy_keys: tuple[str, ...] = ()
    """If rows have no request id: keys that a copy of one of them in another session shares."""


NO_RESPONSES = msgspec.Raw(msgspec.msgpack.encode([]))


class UsageDigest(msgspec.Struct, array_like=True):
    """All usage in one file: each response, and the readings of the client's counters."""

    format: int = FORMAT
    origins: list[ResponseOrigin] = []
    sums: msgspec.Raw = NO_RESPONSES
    """What earlier formats kept here; the place of each field is part of the format."""
    ids: list[str] = []
    """The message ids of all responses."""
    plain: msgspec.Raw = NO_RESPONSES
    """The plain responses as MessagePack, without their ids and last fields: decoded only when needed."""
    special: list[FileResponse] = []
    """All other responses: from a stream, a progress record or a call's result, without a request id, with extra
    charges, a reported cost or counts beyond 64 bits."""
    readings: list[CounterReading] = []
    lines_peeked: int = 0
    """Number of first lines examined for the start time, at most `scan.PEEKED_LINES`."""
    start_ms: int | None = None
    """The first time in the file."""
    client_version: str | None = None
    """The version of the client that printed the stream, if stated."""
    cwd: str | None = None
    """The working directory of a stream."""
    streamed: bool = False
    """True if the file holds a stream."""
    resumable: bool = True
    """True if appended lines can be read without the lines before them."""
    session: str | None = None
    """The session that the stream named last."""

    def encode(self) -> bytes:
        """Return the digest for the cache; empty if it cannot be encoded, so that the file is read again."""
        return encoded(self) or b""

    def responses(self) -> list[FileResponse]:
        """Return every response, in the order of the file."""
        plain = msgspec.msgpack.decode(self.plain, type=list[FileResponse])
        for response in plain:
            response.id = self.ids[response.index]
        return sorted([*plain, *self.special], key=lambda response: response.index) if self.special else plain


_decode_digest = msgspec.msgpack.Decoder(UsageDigest).decode


def decode_digest(data: bytes) -> UsageDigest | None:
    """Decode a digest from the cache; None if it is broken or of another format."""
    try:
        digest = _decode_digest(data)
    except jsontext.DECODE_ERRORS:
        return None
    return digest if digest.format in (FORMAT, *READABLE) else None


class UsageCache(DerivedValues):
    """Digests by path: unchanged files are not read again, and of files that grew only the new part is read."""

    def __init__(self, file: CacheFile | None = None) -> None:
        super().__init__(DIGESTS, file)


class FileDigest(msgspec.Struct):
    """The digest of a file with what the path of the file tells."""

    digest: UsageDigest
    path: str = ""
    project: str | None = None
    """The project of rows that name none: that of another row, else a guess from the name of the folder."""
    agent: str | None = None
    """The agent whose file this is, if it is an agent's."""
    session: str | None = None
    """The session to which the file belongs."""


def file_digest(path: str, digest: UsageDigest) -> FileDigest:
    """Return a digest with what the path of its file tells."""
    project = next((origin.project for origin in digest.origins if origin.project), None) or project_of_path(path)
    return FileDigest(digest, path, project, *file_owner(path))


def file_owner(path: str) -> tuple[str | None, str | None]:
    """Return the agent and the session to which a file belongs, judging by its path."""
    parts = _parts(path)
    stem = parts[-1].rpartition(".")[0] or parts[-1]
    if not stem.startswith(layout.AGENT_PREFIX):
        return None, stem
    session = parts[parts.index(layout.SUBAGENTS) - 1] if layout.SUBAGENTS in parts else None
    return stem.removeprefix(layout.AGENT_PREFIX), session


def project_of_path(path: str) -> str | None:
    """Guess the project from the name of the folder, if the file is where the client puts its files."""
    parts = _parts(path)
    at = next((n for n, part in enumerate(parts) if part in layout.SESSION_FOLDERS), len(parts))
    return project_from_folder(parts[at], parts[at + 1]) if at + 2 < len(parts) else None


def _parts(path: str) -> list[str]:
    """Split a path; `pathlib` is too slow for thousands of files."""
    return path.replace("\\", "/").split("/")
