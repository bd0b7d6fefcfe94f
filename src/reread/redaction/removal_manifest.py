"""The list of what was removed from a shared document, and the private map that undoes it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence

import msgspec

from reread.base import jsontext
from reread.base.version import __version__
from reread.errors import NotFound
from reread.redaction.decisions import DecisionStore, PrivateMap
from reread.redaction.findings import KEEP, SensitiveText
from reread.redaction.omissions import Omission
from reread.redaction.record_text import RecordText
from reread.redaction.redactor import Redactor
from reread.redaction.rewrite import DropCounts, clean_text, clean_value
from reread.redaction.scan import SecretScanner
from reread.redaction.spans import Replacement

_CHUNK = re.compile(rb'(<script type="text/plain" data-chunk="\d+">)([A-Za-z0-9+/=]*)(</script>)')
LEVEL = 1
"""The compression level of chunks, as the page is written with."""


def finished_texts(document: bytes, *, known: Sequence[str] = ()) -> Iterator[str]:
    """Yield every text of a document; `known` are parts of it that are not the session's, such as a script."""
    text = document.decode("utf-8", "replace")
    for part in known:
        text = text.replace(part, "")
    packed = _CHUNK.findall(document)
    if packed:
        text = _CHUNK.sub(rb"", text.encode()).decode()
    for _, data, _ in packed:
        unpacked = unpack_chunk(data)
        if unpacked is not None:
            yield from _decoded(unpacked.decode("utf-8", "replace"))
    yield from _decoded(text)


def _decoded(text: str) -> Iterator[str]:
    """Yield the strings of JSON, or of each line that is JSON, and any other text as it is."""
    pieces = [text] if _is_json(text) else text.split("\n") if text.lstrip()[:1] == "{" else []
    if not pieces:
        yield text
        return
    for piece in pieces:
        try:
            value = jsontext.loads(piece.encode("utf-8", "replace"))
        except ValueError:
            yield piece
            continue
        yield RecordText(value).text if isinstance(value, dict | list) else piece


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        jsontext.loads(text.encode("utf-8", "replace"))
    except ValueError:
        return False
    return True


def unpack_chunk(data: bytes) -> bytes | None:
    """Return the JSON in a packed chunk; None if it is a picture."""
    try:
        return zlib.decompress(base64.b64decode(data), -zlib.MAX_WBITS)
    except (zlib.error, ValueError):
        return None


def clean_document(
    document: bytes, scanner: SecretScanner, replacement: Replacement, *, known: Sequence[str] = ()
) -> bytes:
    """Return a document without what is replaced, in its own text and in packed chunks; `known` parts stay."""

    def change(data: bytes) -> bytes:
        text = data.decode("utf-8", "replace")
        for part in known:
            before, own, after = text.partition(part)
            if own:
                return change(before.encode()) + own.encode() + change(after.encode())
        lines = [text] if _is_json(text) else text.split("\n") if text.lstrip()[:1] == "{" else []
        return "\n".join(map(_clean_line, lines)).encode() if lines else _clean(text).encode()

    def _clean(text: str) -> str:
        return clean_text(text, scanner, replacement)

    def _clean_line(line: str) -> str:
        try:
            value = jsontext.loads(line.encode("utf-8", "replace"))
        except ValueError:
            return _clean(line)
        if not isinstance(value, dict | list):
            return _clean(line)
        return jsontext.dumps(clean_value(value, scanner, replacement)).decode()

    return rewrite_document(document, change)


def rewrite_document(document: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return a document with all its text changed, also inside packed chunks."""

    def chunk(found: re.Match[bytes]) -> bytes:
        unpacked = unpack_chunk(found[2])
        if unpacked is None:
            return found[0]
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        return found[1] + base64.b64encode(packer.compress(change(unpacked)) + packer.flush()) + found[3]

    pieces: list[bytes] = []
    done = 0
    for found in _CHUNK.finditer(document):
        pieces += (change(document[done : found.start()]), chunk(found))
        done = found.end()
    return b"".join([*pieces, change(document[done:])])


class Removal(msgspec.Struct, frozen=True):
    """One value that was replaced or kept; never the value itself."""

    level: str
    kind: str
    replacement: str | None
    """None if it was kept."""
    count: int


class RemovalManifest(msgspec.Struct, frozen=True):
    """The values removed from a session before it was shared."""

    reread: str
    session: str
    format: str
    document: str
    """The SHA-256 of the document, or of all files of a folder."""
    removed: list[Removal]
    kept: list[Removal]
    """The findings that were kept because someone decided so."""
    omitted: Omission
    """Pictures, signatures and ids that were left out."""
    dropped: DropCounts
    """Lines that could not be read and were left out."""


def make_manifest(redactor: Redactor, form: str, document: bytes) -> RemovalManifest:
    """Return the manifest of a finished document."""
    findings = redactor.findings
    return RemovalManifest(
        reread=__version__,
        session=redactor.session.id,
        format=form,
        document=digest_of(document),
        removed=[_removed(finding, redactor.replaced[finding.id]) for finding in findings if finding.decision != KEEP],
        kept=[Removal(each.level, each.kind, None, each.count) for each in findings if each.decision == KEEP],
        omitted=redactor.omitted,
        dropped=redactor.dropped,
    )


def _removed(finding: SensitiveText, count: int) -> Removal:
    return Removal(finding.level, finding.kind, finding.replacement, count)


def digest_of(document: bytes) -> str:
    """Return what identifies a finished document."""
    return hashlib.sha256(document).hexdigest()


def keep_private_map(redactor: Redactor, document: bytes) -> None:
    """Keep what each replacement stood for, on this machine and for its owner only."""
    originals: dict[str, str] = {}
    for finding in redactor.findings:
        value = redactor.value_of(finding.id)
        if value is not None and finding.decision != KEEP:
            originals.setdefault(finding.replacement, value)
    path = os.path.abspath(redactor.session.path) if redactor.session.path is not None else ""  # noqa: PTH100
    redactor.store.keep_map(digest_of(document), PrivateMap(originals, redactor.session.id, path))


def undo(document: bytes, store: DecisionStore | None = None) -> bytes:
    """Return a document with what was replaced put back; raise NotFound if it was not made on this machine."""
    store = store or DecisionStore()
    found = store.read_map(digest_of(document))
    if found is None:
        raise NotFound("No private map for this file: it was changed, or not made on this machine.")
    escape = document.lstrip()[:1] in (b"{", b"[", b"<")

    def change(data: bytes) -> bytes:
        for replacement, value in sorted(found.originals.items(), key=lambda item: -len(item[0])):
            new = json.dumps(value, ensure_ascii=False)[1:-1] if escape else value
            data = data.replace(replacement.encode(), new.encode("utf-8", "replace"))
        return data

    return rewrite_document(document, change)
