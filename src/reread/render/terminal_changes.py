"""The change that each record of a growing session makes, printed as it comes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from reread.base.coerce import as_dict
from reread.base.sanitize import safe, safe_line
from reread.model import parts as p
from reread.records.decode import Record
from reread.render.sequence import is_drawn
from reread.render.terminal import TerminalView
from reread.session.changes import Change


class ChangePrinter:
    """Prints changes; the pieces of a text that grows are printed on one line as they come."""

    def __init__(self, console: Console, view: TerminalView) -> None:
        self._console = console
        self._view = view
        self._in_line = False
        """True if the last piece did not end its line."""

    def print(self, change: Change) -> None:
        """Print what one record changed."""
        for item in _change_lines(change, self._view):
            is_piece = isinstance(item, Text) and not item.end
            if self._in_line and not is_piece:
                self._console.print()
            self._console.print(item, end="" if is_piece else "\n")
            self._in_line = is_piece and not str(item).endswith("\n")


def _change_lines(change: Change, view: TerminalView) -> Iterator[RenderableType]:
    if change.kind == "rewritten":
        yield Text(f"(file rewritten from line {change.line})", style="odd")
        return
    drawn = _changed(change, view)
    if change.agent is not None:
        name = change.agent.type or change.agent.id
        for item in drawn:
            yield Padding(Group(Text(f"◇ {safe_line(name)}", style="quiet"), item), (0, 0, 0, 4))
    else:
        yield from drawn


def _changed(change: Change, view: TerminalView) -> Iterator[RenderableType]:
    if change.call is not None:
        yield from view.call(p.MessageCall(change.call.message, p.TOOLS, change.call))
    elif change.message is not None and change.record is not None:
        streamed = change.message.partial is not None
        for part in p.record_parts(change.message, change.record):
            if not is_drawn(part, view.selection) or not _is_new(part, streamed=streamed):
                continue
            if isinstance(part, p.TextPiece):
                yield Text(safe(part.text), style="thinking" if part.kind == p.THINKING else "", end="")
            else:
                yield from view.item(part)
        if change.record.type == "stream_event" and (piece := _delta_text(change.record)):
            yield Text(safe(piece), end="")


def _is_new(part: p.MessagePart, *, streamed: bool) -> bool:
    """False for the text of a streamed response, drawn as it came, and for a call that is drawn with its result."""
    if isinstance(part, p.MessageCall):
        return part.call.answer < 0
    return not streamed or part.kind == p.NOTICES


def _delta_text(record: Record) -> str:
    """The piece of a response in a stream event; a line end if the event ends a block."""
    event = as_dict(record.native.get("event"))
    if event.get("type") == "content_block_stop":
        return "\n"
    piece = as_dict(event.get("delta")).get("text")
    return piece if isinstance(piece, str) else ""
