"""The columns of a library row that need the whole session."""

from __future__ import annotations

import msgspec

from reread.reader.library_schema import LibraryRow
from reread.reader.schema import Figures
from reread.reader.timeline import Timeline
from reread.session.session import Session
from reread.session.usage_inputs import is_usage_known


class RowCounts(msgspec.Struct):
    """Turns, agents, models and usage of a session."""

    turns: int | None = None
    agents: int | None = None
    models: list[str] = []
    figures: Figures | None = None

    def add_to(self, row: LibraryRow) -> LibraryRow:
        """A row with these counts."""
        models = self.models or row.models
        return msgspec.structs.replace(row, turns=self.turns, agents=self.agents, models=models, figures=self.figures)


def count_session(session: Session) -> RowCounts:
    """Count the turns, agents, models and usage of a session; the client's warm-up agents are not counted."""
    conversation = session.conversation
    agents = [agent for agent in session.agents.values() if not agent.warmup]
    return RowCounts(
        turns=Timeline(conversation, conversation.active_branch).turns,
        agents=len(agents),
        models=list(dict.fromkeys(model for one in (conversation, *agents) for model in one.metadata.models)),
        figures=Figures.of(session.usage) if is_usage_known(session.records) else None,
    )
