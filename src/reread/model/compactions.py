"""Boundaries and summaries joined to compactions."""

from __future__ import annotations

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
