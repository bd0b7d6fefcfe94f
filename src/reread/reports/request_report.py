"""API requests by name, what differs between two of them, and what fills the context of one."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from reread.errors import Misuse
from reread.model.conversation import Request
from reread.reports.file_report import open_place
from reread.session.context_parts import Context, NoSuchRequest, find_agent, no_request_text
from reread.session.session import Session

LATEST = "latest"
_REQUEST = re.compile(r"(.*):req(?:uest)?[ _-]?([0-9]{1,9}|latest)", re.DOTALL)
_AGENT = re.compile(r"(.+):([A-Za-z0-9_-]+)", re.DOTALL)
_NAME = re.compile(r"(?:([^:]+):)?([0-9]{1,9}|latest)")


def parse_request(text: str) -> tuple[str, str] | None:
    """Split `SESSION:req4` or `SESSION:AGENT:req4` into the session and the request; None if it names no request."""
    found = _REQUEST.fullmatch(text)
    if found is None or os.path.exists(text):
        return None
    session, number = found[1], found[2]
    inner = _AGENT.fullmatch(session) if not os.path.exists(session) else None
    return (inner[1], f"{inner[2]}:{number}") if inner is not None else (session or LATEST, number)


def split_request(name: str) -> tuple[str | None, int | None]:
    """Split 4, latest, AGENT:4 or AGENT:latest into the agent and the number; None for the main thread and the last."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise Misuse(f"{name!r} is no request; use a number, latest, or AGENT:NUMBER.")
    return found[1], None if found[2] == LATEST else int(found[2])


def find_request(session: Session, name: str) -> Request:
    """Return the request that a name stands for: 4, latest, or AGENT:4 for one of an agent."""
    agent, number = split_request(name)
    requests = (find_agent(session.agents, agent) if agent else session.conversation).requests
    if not 0 < (len(requests) if number is None else number) <= len(requests):
        raise NoSuchRequest(no_request_text(len(requests), LATEST if number is None else number))
    return requests[(number or len(requests)) - 1]


def context(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    turn: int | None = None,
    request: int | None = None,
    agent: str | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
) -> Context:
    """Return what filled the context of a request: the last one of a session, of a turn, or one by its number.

    A source is what `reread.open` takes, or a text `SESSION:TURN`. Bytes are exact; tokens are scaled so that their sum
    is what the API reported. For a session whose client noted no requests, the parts are an estimate. `agent` is the id
    of an agent, or how it begins; turns and requests are then the agent's.
    """
    session, place = open_place(source, root)
    return session.context(turn=place.turn if turn is None else turn, request=request, agent=agent)
