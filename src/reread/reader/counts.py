"""Counts: what only its whole file can tell of a session, for its row in a list."""

from __future__ import annotations

import msgspec

from reread.reader.schema import Figures, LibraryRow
from reread.reader.timeline import Timeline
from reread.session.session import Session


class RowCounts(msgspec.Struct):
    """What was counted of a session."""

    turns: int | None = None
    agents: int | None = None
    models: list[str] = []
    figures: Figures | None = None

    def on(self, row: LibraryRow) -> LibraryRow:
        """A row with what was counted of its session."""
        models = self.models or row.models
        return msgspec.structs.replace(row, turns=self.turns, agents=self.agents, models=models, figures=self.figures)


def count_session(session: Session) -> RowCounts:
    """What only the whole of a session tells; the client's own warm-ups are no agents."""
    conversation = session.conversation
    agents = [agent for agent in session.agents.values() if not agent.warmup]
    return RowCounts(
        turns=Timeline(conversation, conversation.active_branch).turns,
        agents=len(agents),
        models=list(dict.fromkeys(model for one in (conversation, *agents) for model in one.metadata.models)),
        figures=Figures.of(session.usage),
    )
