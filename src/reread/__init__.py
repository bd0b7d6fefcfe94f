"""Read, check, follow, capture, replay and count Claude Code sessions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from reread.base.version import __version__ as __version__

if TYPE_CHECKING:
    from reread.accounting.billing import Usage
    from reread.archive.archive import Archive, keep
    from reread.catalog.headers import Header, sessions
    from reread.catalog.store import Store
    from reread.dataset.tables import tables
    from reread.errors import Ambiguous, Misuse, NotFound, RereadError, Undecided, Unreadable, Unwritable
    from reread.index.find import search
    from reread.model.conversation import Agent, Branch, Call, Compaction, Conversation, Message, Turn
    from reread.model.ledger import Fate
    from reread.reader.export_formats import export
    from reread.reader.redacted_export import Redaction, redact
    from reread.recording.player import replay
    from reread.recording.recorder import capture
    from reread.records.decode import Decoder, Record
    from reread.records.lines import Line
    from reread.reports.blame_report import blame
    from reread.reports.diff_report import diff
    from reread.reports.file_report import file
    from reread.reports.stats_report import stats
    from reread.reports.usage_report import usage
    from reread.session.changes import Change
    from reread.session.follow import follow
    from reread.session.rules import Finding
    from reread.session.session import Session, check, files, open  # noqa: A004

_MODULES = {
    "Agent": "model.conversation",
    "Ambiguous": "errors",
    "Archive": "archive.archive",
    "Branch": "model.conversation",
    "Call": "model.conversation",
    "Change": "session.changes",
    "Compaction": "model.conversation",
    "Conversation": "model.conversation",
    "Decoder": "records.decode",
    "Fate": "model.ledger",
    "Finding": "session.rules",
    "Header": "catalog.headers",
    "Line": "records.lines",
    "Message": "model.conversation",
    "Misuse": "errors",
    "NotFound": "errors",
    "Record": "records.decode",
    "Redaction": "reader.redacted_export",
    "RereadError": "errors",
    "Session": "session.session",
    "Store": "catalog.store",
    "Turn": "model.conversation",
    "Undecided": "errors",
    "Unreadable": "errors",
    "Unwritable": "errors",
    "Usage": "accounting.billing",
    "blame": "reports.blame_report",
    "capture": "recording.recorder",
    "check": "session.session",
    "diff": "reports.diff_report",
    "export": "reader.export_formats",
    "file": "reports.file_report",
    "files": "session.session",
    "follow": "session.follow",
    "keep": "archive.archive",
    "open": "session.session",
    "redact": "reader.redacted_export",
    "replay": "recording.player",
    "search": "index.find",
    "sessions": "catalog.headers",
    "stats": "reports.stats_report",
    "tables": "dataset.tables",
    "usage": "reports.usage_report",
}
"""The module that defines each public name; it is imported on first use."""

__all__ = [
    "Agent",
    "Ambiguous",
    "Archive",
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
    "Redaction",
    "RereadError",
    "Session",
    "Store",
    "Turn",
    "Undecided",
    "Unreadable",
    "Unwritable",
    "Usage",
    "blame",
    "capture",
    "check",
    "diff",
    "export",
    "file",
    "files",
    "follow",
    "keep",
    "open",
    "redact",
    "replay",
    "search",
    "sessions",
    "stats",
    "tables",
    "usage",
]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'reread' has no attribute {name!r}")
    return getattr(importlib.import_module(f"reread.{module}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
