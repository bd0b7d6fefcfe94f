"""What every view marks on the line of a call, whatever its tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base.coerce import as_dict, as_list
from reread.tools.outcome import INTERRUPTED
from reread.tools.tool_call import ToolCall

BACKGROUND = "in the background"
MODIFIED = "changed by the user"
EVERYWHERE = "every occurrence"


def marks(call: ToolCall) -> Iterator[str]:
    """Yield how a call was made and ended: everywhere, in the background, changed by the user, interrupted."""
    args, data = call.arguments, as_dict(call.data)
    if replaces_all(args) or replaces_all(data):
        yield EVERYWHERE
    if args.get("run_in_background") is True or data.get("backgroundTaskId") or data.get("status") == "async_launched":
        yield BACKGROUND
    if data.get("userModified") is True:
        yield MODIFIED
    if call.outcome.state == INTERRUPTED or data.get("wasInterrupted") is True:
        yield INTERRUPTED


def replaces_all(fields: dict[str, Any]) -> bool:
    """True if an input or a result says that an edit replaces every occurrence of its text."""
    edits = (fields, *map(as_dict, as_list(fields.get("edits"))))
    return any(edit.get("replace_all") is True or edit.get("replaceAll") is True for edit in edits)
