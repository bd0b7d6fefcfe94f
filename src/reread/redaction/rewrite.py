"""Write the files of a session again: JSONL in, JSONL out, with the same lines and shape."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.disk.sources import Source
from reread.records.decode import Decoder, Record
from reread.redaction.findings import masked_context
from reread.redaction.omissions import Omission, leave_out
from reread.redaction.record_text import RecordText
from reread.redaction.scan import SecretScanner
from reread.redaction.spans import PERSONAL, Replacement, Span, edit, leaves, new_text, replace_spans
from reread.redaction.vendors import keyword_regex

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
            yield *self.places[n], edit(self.pieces[n], changes)


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


CHUNK = 1 << 18
ROUNDS = 16
"""How often a text is read again after something was replaced in it; each time less of it is not the redactor's own."""
_PLAIN_GAP = re.compile(r"[\s\[\],\x00\ufeff]*+\Z")
_WORD_TO_END = re.compile(r"[\w+/=.:~$%\\-]*+\Z", re.ASCII)

Report = Callable[[Span, int, str], None]
"""Called for each finding with its line and the text around it."""


class DropCounts(msgspec.Struct):
    """The parts of a session that could not be read, and were left out."""

    lines: int = 0
    texts: int = 0
    """Texts that are not JSON and may contain a secret."""


class FileRedaction:
    """One pass over a file: finds what it contains, or writes it again."""

    def __init__(self, source: Source, scanner: SecretScanner, *, images: bool = False) -> None:
        self.source = source
        self.scanner = scanner
        self.images = images
        self.omitted: Omission = Omission()
        self.dropped: DropCounts = DropCounts()
        self._plain_keys: set[str] = set()

    def find(self, report: Report) -> None:
        """Report everything that the file contains."""
        joiner = DeltaJoiner()
        lines: dict[int, int] = {}
        for number, (record, gap) in enumerate(self._records()):
            self._report_text(gap, record.line if record is not None else 0, report)
            if record is None:
                continue
            value = _value(record)
            if value is None:
                self._report_text(_text(record.raw), record.line, report)
                continue
            if MARK in record.body:
                joiner.push(number, value)
                lines[number] = record.line
            leave_out(value, Omission(), images=self.images)
            spans, text, _ = self._scan(value)
            _report_all(spans, record.line, text, report)
        for streamed in joiner.texts:
            text = streamed.text
            _report_all(self.scanner.find(text), lines[streamed.places[0][0]], text, report)

    def texts(self) -> Iterator[str]:
        """Yield the decoded text of each record, and each streamed text joined."""
        joiner = DeltaJoiner()
        for number, (record, gap) in enumerate(self._records()):
            value = _value(record) if record is not None else None
            if record is None or value is None:
                yield gap if record is None else _text(record.raw)
                continue
            if MARK in record.body:
                joiner.push(number, value)
            yield RecordText(value, self._plain_keys).text
        yield from (streamed.text for streamed in joiner.texts)

    def rewritten(self, replacement: Replacement) -> Iterator[bytes]:
        """Yield the file with everything replaced that is to be."""
        edits = self._streamed_edits(replacement)
        for number, (record, gap) in enumerate(self._records()):
            yield self._clean_text(gap, replacement).encode("utf-8", "replace")
            if record is None:
                continue
            value = _value(record)
            end = record.body[len(record.raw) :]
            if value is None:
                text = self._clean_text(_text(record.raw), replacement)
                self.dropped.lines += not text
                yield text.encode("utf-8", "replace") + end
                continue
            for place, text in edits.get(number, ()):
                set_piece(value, place, text)
            leave_out(value, self.omitted, images=self.images)
            yield jsontext.dumps(clean_value(value, self.scanner, replacement, self._plain_keys)) + end

    def _records(self) -> Iterator[tuple[Record | None, str]]:
        """Yield each record with the text before it; None with the text after the last."""
        decoder, read = Decoder(), 0
        done = 0
        while True:
            data = self.source.read(read, CHUNK)
            read += len(data)
            for record in decoder.feed(data) if data else decoder.flush():
                yield record, _text(self.source.read(done, record.offset - done)) if record.offset > done else ""
                done = record.offset + len(record.body)
            if not data:
                break
        yield None, _text(self.source.read(done, read - done)) if read > done else ""

    def _scan(self, value: Any) -> tuple[list[Span], str, RecordText]:
        whole = RecordText(value, self._plain_keys)
        spans = self.scanner.find(whole.text)
        whole.learn_plain_keys(spans)
        return spans, whole.text, whole

    def _streamed_edits(self, replacement: Replacement) -> dict[int, list[tuple[int, str]]]:
        """Return the new texts of pieces by record."""
        joiner = DeltaJoiner()
        for number, (record, _) in enumerate(self._records()):
            if record is not None and MARK in record.body:
                joiner.push(number, _value(record))
        edits: dict[int, list[tuple[int, str]]] = {}
        for streamed in joiner.texts:
            for number, place, text in streamed.replaced(self.scanner.find(streamed.text), replacement):
                edits.setdefault(number, []).append((place, text))
        return edits

    def _report_text(self, text: str, line: int, report: Report) -> None:
        if not _PLAIN_GAP.match(text):
            _report_all(self.scanner.find(text), line, text, report)

    def _clean_text(self, text: str, replacement: Replacement) -> str:
        """Return a text that is no JSON without personal details; nothing of it if it may contain a secret."""
        if _PLAIN_GAP.match(text):
            return text
        spans = self.scanner.find(text)
        secret = any(span.level != PERSONAL and replacement(span) is not None for span in leaves(spans))
        if secret or _ends_in_secret(text):
            self.dropped.texts += 1
            return ""
        return clean_text(text, self.scanner, replacement)


def clean_value(
    value: Any, scanner: SecretScanner, replacement: Replacement, plain_keys: set[str] | None = None
) -> Any:
    """Return a JSON value without what is replaced; what came of it is read again, until nothing is left."""
    for _ in range(ROUNDS):
        whole = RecordText(value, plain_keys)
        spans = scanner.find(whole.text)
        whole.learn_plain_keys(spans)
        is_changed = whole.replace(spans, replacement)
        value = whole.value
        if not is_changed:
            break
    return value


def clean_text(text: str, scanner: SecretScanner, replacement: Replacement) -> str:
    """Return a text without what is replaced; what came of it is read again, until nothing is left."""
    for _ in range(ROUNDS):
        cleaned = replace_spans(text, scanner.find(text), replacement)
        if cleaned == text:
            break
        text = cleaned
    return text


def _ends_in_secret(text: str) -> bool:
    """True if a torn text may end within a secret."""
    start = max(0, len(text) - 600)
    return any(_WORD_TO_END.match(text, found.start()) for found in keyword_regex().finditer(text, start))


def _value(record: Record) -> Any:
    """Return the JSON of a record; None if it is none."""
    value: Any = record.value
    return value if isinstance(value, dict | list) else None  # pyright: ignore[reportUnknownVariableType]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _report_all(spans: list[Span], line: int, text: str, report: Report) -> None:
    for span in spans:
        for leaf in leaves([span]):
            report(leaf, line, masked_context(text, span, spans) if leaf is span else "(in an encoded text)")
