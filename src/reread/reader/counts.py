"""Counts: what only its whole file can tell of a session, for its row in a list."""

from __future__ import annotations

import msgspec

from reread.reader.schema import Figures, Listed
from reread.reader.timeline import Scroll
from reread.session.session import Session


class Counted(msgspec.Struct):
    """What was counted of a session."""

    turns: int | None = None
    agents: int | None = None
    models: list[str] = []
    figures: Figures | None = None

    def on(self, row: Listed) -> Listed:
        """A row with what was counted of its session."""
        models = self.models or row.models
        return msgspec.structs.replace(row, turns=self.turns, agents=self.agents, models=models, figures=self.figures)


def count(session: Session) -> Counted:
    """What only the whole of a session tells; the client's own warm-ups are no agents."""
    talk = session.conversation
    agents = [agent for agent in session.agents.values() if not agent.warmup]
    return Counted(
        turns=Scroll(talk, talk.active_branch).turns,
        agents=len(agents),
        models=list(dict.fromkeys(model for one in (talk, *agents) for model in one.facts.models)),
        figures=Figures.of(session.usage),
    )
