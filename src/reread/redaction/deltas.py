"""Texts that a stream sends in pieces: a secret may begin in one record and end in another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, cast

from reread.redaction.spans import Replacement, Span, new_text

MARK = b"content_block_delta"
"""Every record with a piece contains this."""
FIELDS = ("text", "partial_json", "thinking")


class StreamedText:
    """The pieces of one block, in order."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.places: list[tuple[int, int]] = []
        """The record of each piece, and the number of the piece in it."""

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)

    def replaced(self, spans: Iterable[Span], replacement: Replacement) -> Iterator[tuple[int, int, str]]:
        """Yield the pieces that change: record, number and new text."""
        starts = [0]
        for piece in self.pieces:
            starts.append(starts[-1] + len(piece))
        edits: dict[int, list[tuple[int, int, str]]] = {}
        for span in spans:
            new = new_text(span, replacement)
            n = bisect_right(starts, span.start) - 1
            while new is not None and n < len(self.pieces) and starts[n] < span.end:
                start, end = max(span.start, starts[n]) - starts[n], min(span.end, starts[n + 1]) - starts[n]
                edits.setdefault(n, []).append((start, end, new))
                new, n = "", n + 1
        for n, changes in edits.items():
            text = self.pieces[n]
            for start, end, new in reversed(changes):
                text = text[:start] + new + text[end:]
            yield *self.places[n], text


class DeltaJoiner:
    """Joins the pieces of all blocks of a file."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int, str], StreamedText] = {}
        self.texts: list[StreamedText] = []

    def push(self, record: int, value: Any) -> None:
        """Add the pieces of a record."""
        for number, (event, stream) in enumerate(events(value)):
            place = event.get("index")
            if not isinstance(place, int):
                continue
            if event.get("type") == "content_block_start":
                for field in FIELDS:
                    self._open.pop((stream, place, field), None)
            for field, text in _pieces(event):
                key = (stream, place, field)
                if key not in self._open:
                    self._open[key] = StreamedText()
                    self.texts.append(self._open[key])
                self._open[key].pieces.append(text)
                self._open[key].places.append((record, number))


def events(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the events of a stream in a record, each with the name of its stream."""
    stack: list[tuple[Any, str]] = [(value, "")]
    while stack:
        node, stream = stack.pop()
        if isinstance(node, dict):
            node = cast(dict[str, Any], node)
            stream = str(node.get("parent_tool_use_id") or stream)
            if isinstance(node.get("type"), str) and node["type"].startswith("content_block_"):
                yield node, stream
            stack += ((item, stream) for item in node.values() if isinstance(item, dict | list))
        elif isinstance(node, list):
            stack += ((item, stream) for item in cast(list[Any], node))


def _pieces(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    delta = event.get("delta")
    if isinstance(delta, dict):
        for field in FIELDS:
            text = cast(dict[str, Any], delta).get(field)
            if isinstance(text, str):
                yield field, text


def set_piece(value: Any, number: int, text: str) -> None:
    """Replace a piece of a record."""
    for n, (event, _) in enumerate(events(value)):
        if n == number:
            for field, _ in _pieces(event):
                event["delta"][field] = text
