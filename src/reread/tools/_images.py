"""Image nodes from base64, with the dimensions found in their first bytes."""

from __future__ import annotations

import binascii
from base64 import b64decode

from reread.tools.nodes import Node, Picture

HEAD = 1 << 16
"""Characters of base64 that are decoded: a JPEG may have much data before its frame."""
FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The JPEG markers that begin a frame."""


def image_node(
    data: str,
    media_type: str,
    *,
    name: str | None = None,
    size: int | None = None,
    width: int | None = None,
    height: int | None = None,
) -> Picture:
    """Return an image node; size and dimensions that are not given are read from the data."""
    if width is None or height is None:
        width, height = dimensions(data) or (width, height)
    return Picture(
        media_type=media_type,
        data=data,
        name=name,
        size=len(data) * 3 // 4 - data[-2:].count("=") if size is None else size,
        width=width,
        height=height,
    )


def with_dimensions(node: Node, name: str = "") -> Node:
    """Return an image node with dimensions and name added; any other node unchanged."""
    if not isinstance(node, Picture) or not node.data:
        return node
    return image_node(node.data, node.media_type, name=name or node.name)


def dimensions(data: str) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF or JPEG in base64; None if unknown."""
    try:
        head = b64decode(data[:HEAD])
    except (binascii.Error, ValueError):
        return None
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    return _jpeg_dimensions(head) if head.startswith(b"\xff\xd8") else None


def _jpeg_dimensions(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if head[at + 1] in FRAMES:
            return int.from_bytes(head[at + 7 : at + 9]), int.from_bytes(head[at + 5 : at + 7])
        at += 2 + int.from_bytes(head[at + 2 : at + 4])
    return None
