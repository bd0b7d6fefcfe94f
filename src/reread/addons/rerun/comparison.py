"""Compare a session with how it was played: its calls, and the files at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from reread.addons.rerun.aside import with_own_paths
from reread.base.choices import RUNNING
from reread.model.conversation import Agent, Call
from reread.reports.two_runs import TwoRuns, outcome_words

if TYPE_CHECKING:
    from reread.session.session import Session


class PlayedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded call, and what became of it."""

    id: str
    name: str
    title: str
    turn: int | None
    """The turn of the main thread that it is in, or that began its agent."""
    agent: str | None
    reached: bool
    """True if the client made the call again."""
    same_input: bool
    was: str
    """How it ended in the record: `done`, `exit 1`, `denied` …"""
    now: str
    """How it ended now; empty if it was not reached."""
    same_result: bool
    """True if the model was told the same."""
    detail: str = ""
    """What it was told now, if that is an error or a no that was not recorded."""

    @property
    def same_outcome(self) -> bool:
        """True if it ended as in the record, or the record ends before it does."""
        return self.was in (self.now, RUNNING) and self.reached

    @property
    def is_same(self) -> bool:
        """True if it was reached, with the same input and outcome."""
        return self.reached and self.same_input and self.same_outcome


class PlayedFile(msgspec.Struct, frozen=True):
    """A file that the session changed."""

    path: str
    same: bool
    """True if it ends as in the record."""


class Comparison(TwoRuns):
    """A session, and how it was played."""

    def __init__(self, recorded: Session, played: Session | None) -> None:
        super().__init__(recorded, played, with_own_paths)

    def calls(self, turns: int | None = None) -> list[PlayedCall]:
        """Return what became of each call of the active branch and of the agents."""
        wanted: list[tuple[Call, Agent | None]] = []
        wanted += [(call, None) for turn in self.one.turns[:turns] for call in turn.calls]
        started = {agent.id for call, _ in wanted for agent in call.agents}
        for agent in self.one.agents.values():
            if turns is None or agent.id in started:
                wanted += [(call, agent) for call in agent.calls]
        numbers = {call.id: turn.index for turn in self.one.turns for call in turn.calls}
        return [self._call(call, agent, numbers) for call, agent in wanted]

    def _call(self, call: Call, agent: Agent | None, numbers: Mapping[str, int]) -> PlayedCall:
        top = agent
        while top is not None and top.parent is not None:
            top = top.parent
        starter = top.call if top is not None else None
        now = self.same_call(call.id)
        was, is_now = outcome_words(call), outcome_words(now) if now is not None else ""
        return PlayedCall(
            id=call.id,
            name=call.name,
            title=call.title,
            turn=numbers.get(call.id) or (numbers.get(starter.id) if starter is not None else None),
            agent=agent.id if agent is not None else None,
            reached=now is not None,
            same_input=now is not None and self.given(call) == self.given(now),
            was=was,
            now=is_now,
            same_result=now is not None and self.told(call) == self.told(now),
            detail=now.outcome.message.strip() if now is not None and is_now != was and is_now != "done" else "",
        )
