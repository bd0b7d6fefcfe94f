"""The options that say which sessions, and what of them: verbs, routes and MCP tools have theirs from this list."""

from __future__ import annotations

from typing import NamedTuple


class ScopeOption(NamedTuple):
    """One option of a scope."""

    help: str
    metavar: str = ""
    """What help calls its value; empty if it is a flag."""
    once: bool = False
    """True if it has one value."""
    of_calls: bool = False
    """True if it chooses among calls, which other facts are none of."""


SCOPE_OPTIONS = {
    "since": ScopeOption(
        "Ignore everything before this time: 7d, tuesday, last week, 2026-11, 2026-11-15.", "WHEN", once=True
    ),
    "until": ScopeOption("Ignore everything after this time; a day, week or month is included.", "WHEN", once=True),
    "tz": ScopeOption(
        "Time zone of days, weeks and months: local (default), UTC, +02:00, Europe/Berlin.", "ZONE", once=True
    ),
    "project": ScopeOption(
        "Include only sessions in this folder or below, or of the project with this name.", "DIR|NAME"
    ),
    "person": ScopeOption("Include only sessions of this person, by name or pattern (ann-*).", "NAME"),
    "machine": ScopeOption("Include only sessions of this machine, by name or pattern (ann-*).", "NAME"),
    "tag": ScopeOption("Include only sessions that `reread tag` gave this tag.", "WORD"),
    "branch": ScopeOption("Include only what was done on this git branch.", "NAME"),
    "model": ScopeOption("Include only this model or family (opus).", "MODEL"),
    "tool": ScopeOption("Count only calls of this tool.", "NAME", of_calls=True),
    "state": ScopeOption("Count only calls in this state.", "STATE", of_calls=True),
    "failed": ScopeOption("Include only sessions whose last command failed."),
}
"""The options by name, in the order of help."""
ALL = tuple(SCOPE_OPTIONS)
OF_RESPONSES = tuple(name for name, option in SCOPE_OPTIONS.items() if not option.of_calls)
"""The options of what counts responses, turns or cache breaks."""
OF_SESSIONS = tuple(name for name in OF_RESPONSES if name != "model")
"""The options of what looks at whole sessions."""
OF_LISTS = tuple(name for name in ALL if name not in ("tz", "state"))
"""The options of what lists or searches sessions."""
DESKTOP_VARIABLE = "REREAD_DESKTOP"
"""Sessions of the desktop app are left out everywhere if this variable is 0."""
SPANS = ("since", "until", "tz")
"""The options that say when, and choose no session."""
