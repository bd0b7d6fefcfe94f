"""Read, check, follow, capture, replay and count Claude Code sessions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reread.accounts import usage
    from reread.conversation import Agent, Change, Conversation
    from reread.decode import Decoder, Record
    from reread.errors import Ambiguous, Misuse, NotFound, RereadError, Unreadable, Unwritable
    from reread.headers import Header, sessions
    from reread.ledger import Fate
    from reread.lines import Line
    from reread.live import follow
    from reread.messages import Branch, Call, Compaction, Message, Turn
    from reread.money.charges import Usage
    from reread.player import replay
    from reread.recorder import capture
    from reread.rules import Finding
    from reread.session import Session, check, open  # noqa: A004
    from reread.store import Store
    from reread.views.exports import export

__version__ = "0.1.0"

_HOMES = {
    "Agent": "conversation",
    "Ambiguous": "errors",
    "Branch": "messages",
    "Call": "messages",
    "Change": "conversation",
    "Compaction": "messages",
    "Conversation": "conversation",
    "Decoder": "decode",
    "Fate": "ledger",
    "Finding": "rules",
    "Header": "headers",
    "Line": "lines",
    "Message": "messages",
    "Misuse": "errors",
    "NotFound": "errors",
    "Record": "decode",
    "RereadError": "errors",
    "Session": "session",
    "Store": "store",
    "Turn": "messages",
    "Unreadable": "errors",
    "Unwritable": "errors",
    "Usage": "money.charges",
    "capture": "recorder",
    "check": "session",
    "export": "views.exports",
    "follow": "live",
    "open": "session",
    "replay": "player",
    "sessions": "headers",
    "usage": "accounts",
}
"""Where each public name lives; a module is loaded when its first name is asked for."""

__all__ = [
    "Agent",
    "Ambiguous",
    "Branch",
    "Call",
    "Change",
    "Compaction",
    "Conversation",
    "Decoder",
    "Fate",
    "Finding",
    "Header",
    "Line",
    "Message",
    "Misuse",
    "NotFound",
    "Record",
    "RereadError",
    "Session",
    "Store",
    "Turn",
    "Unreadable",
    "Unwritable",
    "Usage",
    "capture",
    "check",
    "export",
    "follow",
    "open",
    "replay",
    "sessions",
    "usage",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'reread' has no attribute {name!r}")
    return getattr(importlib.import_module(f"reread.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
