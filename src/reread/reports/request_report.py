"""API requests by name, and what fills the context of one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from reread.errors import Misuse
from reread.session.context_parts import Context
from reread.session.places import NoSuchRequest, call_at
from reread.session.session import Session, open  # noqa: A004


def context(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    turn: int | None = None,
    request: int | None = None,
    agent: str | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
) -> Context:
    """Return what filled the context of a request: the last one of a session, of a turn, or one by its number.

    A source is what `reread.open` takes: `SESSION:TURN`, `SESSION:AGENT`, `SESSION:req4`; a call stands for the request
    that it was the answer to. Bytes are exact; tokens are scaled so that their sum is what the API reported. For a
    session whose client noted no requests, the parts are an estimate. `agent` is the id of an agent, or how it begins;
    turns and requests are then the agent's.
    """
    session = open(source, root=root)
    at = session.at
    if at.path is not None:
        raise Misuse("The context is that of the active path; leave out @.")
    if agent is None and turn is None and request is None:
        turn, request = at.turn, _request_of(session) if at.call is not None else at.request
    return session.context(turn=turn, request=request, agent=agent)


def _request_of(session: Session) -> int:
    """Return the number of the request whose response made the call at which a session was opened."""
    message = call_at(session.conversation, session.at).message
    number = next((request.number for request in session.requests if request.response is message), None)
    if number is None:
        raise NoSuchRequest("No API request is noted for that call; name its turn to see the last one of that.")
    return number
