"""Boundaries and summaries joined to compactions."""

from __future__ import annotations

from bisect import bisect_right

from reread.model.conversation import Compaction, Message


def add_boundary(boundary: Message, *, micro: bool, after: int) -> None:
    """Add a compaction, unless the boundary repeats the last one; `after` is the last message that is no boundary."""
    compactions = boundary.conversation.compactions
    last = compactions[-1] if compactions else None
    repeats = last is not None and last.summary is None and not (last.micro or micro)
    if last is not None and repeats and last.boundary is not None and after < last.boundary.index:
        return
    compactions.append(Compaction(boundary.conversation, boundary, micro=micro))


def add_summary(summary: Message) -> None:
    """Add a summary to the compaction before it, or as one without a boundary."""
    compactions = summary.conversation.compactions
    last = next((compaction for compaction in reversed(compactions) if not compaction.micro), None)
    if last is None or last.summary is not None:
        last = Compaction(summary.conversation)
        compactions.append(last)
    last.summary = summary


def compaction_of(message: Message) -> Compaction | None:
    """Return the compaction that a message is the boundary or the summary of."""
    compactions = message.conversation.compactions
    for at in range(bisect_right(compactions, message.index, key=first_index) - 1, -1, -1):
        if message in (compactions[at].boundary, compactions[at].summary):
            return compactions[at]
        if not compactions[at].micro:  # a summary belongs to the last one that is not micro
            break
    return None


def first_index(compaction: Compaction) -> int:
    """Return the index of the message with which a compaction begins."""
    mark = compaction.boundary or compaction.summary
    return mark.index if mark is not None else -1
