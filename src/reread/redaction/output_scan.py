"""Read a finished document again: every text in its bytes, also those that are packed into a page."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterator, Sequence

from reread.base import jsontext
from reread.redaction.record_text import RecordText
from reread.redaction.rewrite import clean_text, clean_value
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
