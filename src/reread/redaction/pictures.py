"""Pictures without what was written into them beside their pixels: comments, places, names of cameras and programs."""

from __future__ import annotations

from collections.abc import Callable

PNG, JPEG, GIF, RIFF, WEBP = b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"GIF8", b"RIFF", b"WEBP"
_PNG_CHUNKS = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"acTL", b"fcTL", b"fdAT"))
_JPEG_METADATA = frozenset((*range(0xE1, 0xEE), 0xEF, 0xFE))
_START_OF_SCAN, _END_OF_IMAGE = 0xDA, b"\xff\xd9"
_WEBP_CHUNKS = frozenset((b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF"))
_WEBP_METADATA_FLAGS = 0x20 | 0x08 | 0x04


def without_metadata(data: bytes) -> bytes | None:
    """Return a picture with nothing but its pixels; None if it is of no known format, or broken."""
    strip = next((strip for magic, strip in _FORMATS.items() if data.startswith(magic)), None)
    try:
        return strip(data) if strip is not None else None
    except (IndexError, ValueError):
        return None


def _png(data: bytes) -> bytes:
    out, at = [PNG], len(PNG)
    while (name := data[at + 4 : at + 8]) != b"IEND":
        end = at + 12 + int.from_bytes(data[at : at + 4])
        if end > len(data):
            raise ValueError("cut off")
        if name in _PNG_CHUNKS:
            out.append(data[at:end])
        at = end
    return b"".join([*out, data[at : at + 12]])


def _jpeg(data: bytes) -> bytes:
    out, at = [JPEG], len(JPEG)
    while data[at] == 0xFF and data[at + 1] != _START_OF_SCAN:
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4])
        if data[at + 1] not in _JPEG_METADATA:
            out.append(data[at:end])
        at = end
    return b"".join([*out, data[at : data.rindex(_END_OF_IMAGE) + 2]])


def _gif(data: bytes) -> bytes:
    at = 13 + _colour_table(data[10])
    out = [data[:at]]
    while data[at] != 0x3B:
        start = at
        if data[at] == 0x21:
            is_kept = data[at + 1] == 0xF9 or data[at + 3 : at + 14] == b"NETSCAPE2.0"
            at += 2
        elif data[at] == 0x2C:
            is_kept = True
            at += 11 + _colour_table(data[at + 9])
        else:
            raise ValueError("unknown block")
        while data[at]:
            at += 1 + data[at]
        at += 1
        if is_kept:
            out.append(data[start:at])
    return b"".join([*out, b"\x3b"])


def _colour_table(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _webp(data: bytes) -> bytes:
    if data[8:12] != WEBP:
        raise ValueError("another RIFF file")
    out, at = [WEBP], 12
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        end = at + 8 + size + size % 2
        if name == b"VP8X":
            out.append(data[at : at + 8] + bytes([data[at + 8] & ~_WEBP_METADATA_FLAGS]) + data[at + 9 : end])
        elif name in _WEBP_CHUNKS:
            out.append(data[at:end])
        at = end
    body = b"".join(out)
    return RIFF + len(body).to_bytes(4, "little") + body


_FORMATS: dict[bytes, Callable[[bytes], bytes]] = {PNG: _png, JPEG: _jpeg, GIF: _gif, RIFF: _webp}
