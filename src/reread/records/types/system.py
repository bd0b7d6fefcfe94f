"""System records in transcripts, which streams may have too, by subtype.

The last are those that the client keeps or prints for its own screen, hosts and plug-ins.
"""

from __future__ import annotations

from reread.records.blocks import Number
from reread.records.types.api import Prompt
from reread.records.types.base import System
from reread.records.types.registry import SYSTEMS


class SystemCompactBoundary(System):
    """A compaction of the context."""

    subtype: str | None = "compact_boundary"

    # Only in streams.
    logical_parent_uuid: str | None = None

    # Only in the early format.
    message: Prompt | None = None


BARE_SYSTEMS = tuple(
    """
    agents_killed attribution_snapshot late_allow_not_run memory_saved permission_retry post_turn_summary shell_cwd
    thinking vcs_state_changed
    """.split()
)
"""System subtypes known by name only."""

SYSTEMS.update(dict.fromkeys(BARE_SYSTEMS, System))


class SystemUiText(System):
    """A text that a plug-in shows on the client's screen."""

    subtype: str | None = "ui_toast"
    plugin: str | None = None
    text: str | None = None
    timeout_ms: Number | None = None


class SystemScreen(System):
    """Something about the client's screen, its host or its own work, that says nothing of the conversation."""

    subtype: str | None = "ui_notify"


SCREEN_SUBTYPES = tuple(
    """
    bridge_state checkpoint_done cloud_session_delta dev_intent inherited_asks_settled per_turn_effort_changed placed
    start_folder turn_began_before_init ui_focus ui_invalidate ui_notify ui_notify_cancel ui_panes ui_placed ui_scroll
    """.split()
)
"""Subtypes known by name only."""
UI_TEXTS = ("ui_log", "ui_status", "ui_toast")

SYSTEMS.update(dict.fromkeys(SCREEN_SUBTYPES, SystemScreen))
SYSTEMS.update(dict.fromkeys(UI_TEXTS, SystemUiText))
