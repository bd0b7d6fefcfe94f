"""Read a finished document again: every text in its bytes, also those that are packed into a page."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterator, Sequence

from reread.base import jsontext
from reread.redaction.record_text import RecordText

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
