"""The address of a session, or of a place in it, as people type it."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from reread.base.late_pattern import late_pattern

LATEST = "latest"
LAST = -1
"""The number of the last request."""
GRAMMAR = "SESSION[@PATH][:AGENT][:TURN[.CALL]], or SESSION[:AGENT]:reqN for an API request"
_ADDRESS = late_pattern(
    r"(?P<session>.*?)(?:@(?P<path>[0-9]{1,9}))?"
    r"(?::(?![0-9]{1,9}(?:[:.]|\Z))(?!req(?:uest)?[_-]?(?:[0-9]{1,9}|latest)\Z)(?P<agent>[A-Za-z0-9][A-Za-z0-9_-]*))?"
    r"(?::(?:(?P<turn>[0-9]{1,9})(?:\.(?P<call>[1-9][0-9]{0,8}))?|req(?:uest)?[ _-]?(?P<request>[0-9]{1,9}|latest)))?",
    re.DOTALL,
)


class Address(NamedTuple):
    """A session, and perhaps a place in it: `8c1f`, `8c1f:3`, `8c1f:3.2`, `8c1f:ac60`, `8c1f:ac60:3`, `8c1f:req4`."""

    session: str
    """A path, an id or its beginning, or "latest"."""
    path: int | None = None
    """The path through the conversation, if the session was rewound: `8c1f@1`."""
    agent: str | None = None
    """The id of an agent, or how it begins; turns, calls and requests are then the agent's."""
    turn: int | None = None
    """The turn, counted from 1; 0 is before the first."""
    call: int | None = None
    """The call among those of the turn, counted from 1."""
    request: int | None = None
    """The API request, counted from 1; -1 for the last one."""

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse what a person typed; the name of a file that exists is taken as it is."""
        found = _ADDRESS.fullmatch(text)
        if found is None or os.path.exists(text):
            return cls(text)
        session, agent, request = found["session"], found["agent"], found["request"]
        if agent is not None and os.path.exists(f"{session}:{agent}"):
            session, agent = f"{session}:{agent}", None
        return cls(
            session or LATEST,
            _number(found["path"]),
            agent,
            _number(found["turn"]),
            _number(found["call"]),
            LAST if request == LATEST else _number(request),
        )

    def __str__(self) -> str:
        """Return what to type."""
        parts = [
            f"@{self.path}" if self.path is not None else "",
            f":{'agent-' * self.agent.isdecimal()}{self.agent}" if self.agent is not None else "",
            f":{self.turn}" if self.turn is not None else "",
            f".{self.call}" if self.call is not None else "",
            f":req{'-latest' if self.request == LAST else self.request}" if self.request is not None else "",
        ]
        return self.session + "".join(parts)

    @property
    def is_place(self) -> bool:
        """True if it names more than a session."""
        return self[1:] != WHOLE[1:]

    @property
    def place(self) -> str:
        """What it names, in words: `call 2 of turn 3 of agent ac60`."""
        named = [
            f"request {LATEST if self.request == LAST else self.request}" if self.request is not None else "",
            f"call {self.call}" if self.call is not None else "",
            f"turn {self.turn}" if self.turn is not None else "",
            f"agent {self.agent}" if self.agent is not None else "",
            f"path {self.path}" if self.path is not None else "",
        ]
        return " of ".join(word for word in named if word)


WHOLE = Address("")
"""The address of something that has no name."""


def _number(text: str | None) -> int | None:
    return int(text) if text is not None else None
