"""Find, read, understand and continue Claude Code sessions."""

from __future__ import annotations

import os

from reread.base.version import __version__ as __version__

TYPE_CHECKING = False  # the status line starts without what loading types takes
if TYPE_CHECKING:
    from typing import Any

    from reread import plugins as plugins
    from reread import tool_types as tool_types
    from reread import value_types as value_types
    from reread.addons import spark as spark
    from reread.addons.rerun.fake_api import fake_api as fake_api
    from reread.addons.rerun.playing import rerun as rerun
    from reread.addons.sdk.store import RereadSessionStore as RereadSessionStore
    from reread.addons.team.reports import team as team
    from reread.archive.archive import Archive as Archive
    from reread.archive.archive import keep as keep
    from reread.catalog.headers import sessions as sessions
    from reread.catalog.marks import archive_sessions as archive_sessions
    from reread.catalog.marks import tag_sessions as tag_sessions
    from reread.catalog.store import Store as Store
    from reread.dataset.query import sql as sql
    from reread.dataset.tables import tables as tables
    from reread.errors import Ambiguous as Ambiguous
    from reread.errors import Misuse as Misuse
    from reread.errors import NotFound as NotFound
    from reread.errors import RereadError as RereadError
    from reread.errors import Undecided as Undecided
    from reread.errors import Unreadable as Unreadable
    from reread.errors import Unwritable as Unwritable
    from reread.handover.deletion import delete as delete
    from reread.handover.deletion import undo_delete as undo_delete
    from reread.handover.resuming import resume as resume
    from reread.handover.trash import trash as trash
    from reread.index.find import search as search
    from reread.reader.export_formats import export as export
    from reread.reader.redacted_export import redact as redact
    from reread.reader.redacted_review import notes as notes
    from reread.reader.redacted_review import review as review
    from reread.recording.adoption import adopt as adopt
    from reread.recording.player import replay as replay
    from reread.recording.recorder import capture as capture
    from reread.records.decode import Decoder as Decoder
    from reread.reports.advice_report import advise as advise
    from reread.reports.blame_report import blame as blame
    from reread.reports.brief_report import brief as brief
    from reread.reports.budget_report import budgets as budgets
    from reread.reports.cache_report import cache_breaks as cache_breaks
    from reread.reports.diff_report import diff as diff
    from reread.reports.digest_report import digest as digest
    from reread.reports.file_report import file as file
    from reread.reports.file_report import files as files
    from reread.reports.now_report import now as now
    from reread.reports.request_report import context as context
    from reread.reports.secrets_report import secrets as secrets
    from reread.reports.stats_report import stats as stats
    from reread.reports.usage_report import usage as usage
    from reread.session.follow import follow as follow
    from reread.session.session import Session as Session
    from reread.session.session import check as check
    from reread.session.session import open as open  # noqa: A004

_MODULES = {
    "Ambiguous": "errors",
    "Archive": "archive.archive",
    "Decoder": "records.decode",
    "Misuse": "errors",
    "NotFound": "errors",
    "RereadError": "errors",
    "Session": "session.session",
    "Store": "catalog.store",
    "Undecided": "errors",
    "Unreadable": "errors",
    "Unwritable": "errors",
    "adopt": "recording.adoption",
    "advise": "reports.advice_report",
    "archive_sessions": "catalog.marks",
    "blame": "reports.blame_report",
    "brief": "reports.brief_report",
    "budgets": "reports.budget_report",
    "cache_breaks": "reports.cache_report",
    "capture": "recording.recorder",
    "check": "session.session",
    "context": "reports.request_report",
    "delete": "handover.deletion",
    "diff": "reports.diff_report",
    "digest": "reports.digest_report",
    "export": "reader.export_formats",
    "file": "reports.file_report",
    "files": "reports.file_report",
    "follow": "session.follow",
    "keep": "archive.archive",
    "notes": "reader.redacted_review",
    "now": "reports.now_report",
    "open": "session.session",
    "redact": "reader.redacted_export",
    "replay": "recording.player",
    "resume": "handover.resuming",
    "review": "reader.redacted_review",
    "search": "index.find",
    "secrets": "reports.secrets_report",
    "sessions": "catalog.headers",
    "sql": "dataset.query",
    "stats": "reports.stats_report",
    "tables": "dataset.tables",
    "tag_sessions": "catalog.marks",
    "trash": "handover.trash",
    "undo_delete": "handover.deletion",
    "usage": "reports.usage_report",
}
"""The module that defines each public name of the core, imported on first use. Type checkers read the lines above."""
_PUBLIC_MODULES = ("plugins", "tool_types", "value_types")
"""The modules with more public names."""

__all__ = [name for name in _MODULES if name != "open"]  # pyright: ignore[reportUnsupportedDunderAll]
"""The names that `from reread import *` imports: all public ones but `open`, which would replace Python's own."""


def __getattr__(name: str) -> Any:
    import importlib

    if name in _PUBLIC_MODULES:
        return importlib.import_module(f"reread.{name}")
    if name in _MODULES:
        return getattr(importlib.import_module(f"reread.{_MODULES[name]}"), name)
    if not name.startswith("_") and not os.path.isdir(os.path.join(*__path__, name)):  # else it is about to be imported
        from reread.base.addons import named_parts

        if part := named_parts("names").get(name):
            return part.load()
    raise AttributeError(f"module 'reread' has no attribute {name!r}")


def __dir__() -> list[str]:
    from reread.base.addons import named_parts

    return sorted([*_MODULES, *named_parts("names"), *_PUBLIC_MODULES, "__version__"])
