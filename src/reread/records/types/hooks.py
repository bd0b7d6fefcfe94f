"""Attachments by hooks, by type."""

from __future__ import annotations

from typing import Any

from reread.records.blocks import BlockPart, Number
from reread.records.types.base import AttachmentPayload


class BlockingError(BlockPart, frozen=True, kw_only=True):
    """Why a hook blocked a call."""

    blockingError: str | None = None
    command: str | None = None


class HookAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Base of all attachments by hooks."""

    hookName: str | None = None
    hookEvent: str | None = None
    toolUseID: str | None = None


class HookSuccessAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that succeeded."""

    type: str = "hook_success"
    content: str | list[str] | None = None
    stdout: str | None = None
    stderr: str | None = None
    exitCode: int | None = None
    command: str | None = None
    durationMs: Number | None = None


class HookAdditionalContextAttachment(HookAttachment, frozen=True, kw_only=True):
    """Context added by a hook."""

    type: str = "hook_additional_context"
    content: str | list[str] | None = None


class HookSystemMessageAttachment(HookAttachment, frozen=True, kw_only=True):
    """A message from a hook to the user."""

    type: str = "hook_system_message"
    content: str | list[str] | None = None


class HookBlockingErrorAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that blocked a call."""

    type: str = "hook_blocking_error"
    blockingError: BlockingError | None = None


class HookNonBlockingErrorAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that failed without blocking anything."""

    type: str = "hook_non_blocking_error"
    stdout: str | None = None
    stderr: str | None = None
    exitCode: int | None = None
    command: str | None = None
    durationMs: Number | None = None


class HookStoppedContinuationAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that ended the turn."""

    type: str = "hook_stopped_continuation"
    message: str | None = None


class HookCancelledAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that was cancelled."""

    type: str = "hook_cancelled"


class HookDeferredToolAttachment(HookAttachment, frozen=True, kw_only=True):
    """A call deferred by a hook."""

    type: str = "hook_deferred_tool"


class HookErrorDuringExecutionAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that crashed."""

    type: str = "hook_error_during_execution"


class HookPermissionDecisionAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that allowed or denied a call."""

    type: str = "hook_permission_decision"


class AsyncHookResponseAttachment(HookAttachment, frozen=True, kw_only=True):
    """The response of a hook that ran in the background."""

    type: str = "async_hook_response"
    processId: str | None = None
    response: Any = None
    stdout: str | None = None
    stderr: str | None = None
    exitCode: int | None = None
