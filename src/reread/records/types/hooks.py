"""Attachments by hooks, by type."""

from __future__ import annotations

from functools import partial
from typing import Any

from reread.records.blocks import Number
from reread.records.types.base import AttachmentPayload, declare, part

_part = partial(part, __name__)
BlockingError = _part("BlockingError", "Why a hook blocked a call.", "blockingError command")


class HookAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Base of all attachments by hooks."""

    hookName: str | None = None
    hookEvent: str | None = None
    toolUseID: str | None = None


_hook = partial(declare, HookAttachment, __name__)
_hook(
    "hook_success",
    "A hook that succeeded.",
    "stdout stderr command",
    content=str | list[str],
    exitCode=int,
    durationMs=Number,
)
_hook("hook_additional_context", "Context added by a hook.", content=str | list[str])
_hook("hook_system_message", "A message from a hook to the user.", content=str | list[str])
_hook("hook_blocking_error", "A hook that blocked a call.", blockingError=BlockingError)
_hook(
    "hook_non_blocking_error",
    "A hook that failed without blocking anything.",
    "stdout stderr command",
    exitCode=int,
    durationMs=Number,
)
_hook("hook_stopped_continuation", "A hook that ended the turn.", "message")
_hook("hook_cancelled", "A hook that was cancelled.", "command", durationMs=Number, timedOut=bool, timeoutMs=Number)
_hook("hook_deferred_tool", "A call deferred by a hook.")
_hook("hook_error_during_execution", "A hook that crashed.")
_hook("hook_permission_decision", "A hook that allowed or denied a call.")
_hook(
    "async_hook_response",
    "The response of a hook that ran in the background.",
    "processId stdout stderr",
    response=Any,
    exitCode=int,
)
