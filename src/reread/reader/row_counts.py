"""The columns of a library row that need the whole session."""

from __future__ import annotations

import msgspec

from reread.facts.derive import lines_changed
from reread.reader.library_schema import LibraryRow
from reread.reader.schema import Figures
from reread.reader.timeline import Timeline
from reread.session.session import Session
from reread.session.usage_inputs import is_usage_known


class RowCounts(msgspec.Struct):
    """Turns, agents, changed lines, models and usage of a session."""

    turns: int | None = None
    agents: int | None = None
    agent_types: list[str] = []
    lines_added: int | None = None
    lines_removed: int | None = None
    models: list[str] = []
    figures: Figures | None = None

    def add_to(self, row: LibraryRow) -> LibraryRow:
        """A row with these counts."""
        return msgspec.structs.replace(row, **msgspec.structs.asdict(self) | {"models": self.models or row.models})


def count_session(session: Session) -> RowCounts:
    """Count what the columns show; the client's warm-up agents are not counted."""
    conversation = session.conversation
    agents = [agent for agent in session.agents.values() if not agent.warmup]
    added, removed = lines_changed(call for one in (conversation, *agents) for call in one.calls)
    return RowCounts(
        turns=Timeline(conversation, conversation.active_branch).turns,
        agents=len(agents),
        agent_types=sorted({agent.type for agent in agents if agent.type}),
        lines_added=added,
        lines_removed=removed,
        models=list(dict.fromkeys(model for one in (conversation, *agents) for model in one.metadata.models)),
        figures=Figures.of(session.usage) if is_usage_known(session.records) else None,
    )
