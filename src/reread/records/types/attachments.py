"""Attachments: context that the client adds to a conversation, by type."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, field

from reread.records.blocks import BlockPart, Content, Number
from reread.records.types.base import AttachmentPayload, TreeRecord
from reread.records.types.messages import Origin
from reread.records.types.registry import ATTACHMENTS, PAYLOADS

AnyAttachment: TypeAlias = Annotated[
    Any, Meta(extra={"contains": "attachment"}, extra_json_schema={"$ref": "#/$defs/AnyAttachment"})
]
"""One of the structs in ATTACHMENTS, by its `type`."""


class Rendered(BlockPart):
    """A text as shown to the model."""

    content: Content = None


class Attachment(TreeRecord):
    """Context added by the client."""

    type: str = "attachment"
    attachment: AnyAttachment = None
    rendered: list[Rendered] | None = None
    renderedInHumanTurn: list[Rendered] | None = None
    renderedRole: str | None = None
    renderedBesideToolResult: bool | None = None


class QueuedUsage(BlockPart):
    """The usage of the task that a notification is about."""

    totalTokens: int | None = None
    toolUses: int | None = None
    durationMs: Number | None = None


class EnvironmentChange(BlockPart):
    """One change of the environment."""

    from_: Any = field(default=None, name="from")
    to: Any = None
    field: str | None = None


class QueuedCommandAttachment(AttachmentPayload):
    """A prompt or notification that was queued while a turn was running."""

    type: str = "queued_command"
    prompt: Content = None
    commandMode: str | None = None
    """Distinguishes what a person typed from a task notification."""
    timestamp: str | Number | None = None
    origin: Origin | None = None
    source_uuid: str | None = None
    delivery_id: str | None = None
    imagePasteIds: list[int] | None = None
    isMeta: bool | None = None
    humanTurn: bool | None = None
    runId: str | None = None
    usage: QueuedUsage | None = None


class HookAttachment(AttachmentPayload):
    """Base of all attachments by hooks."""

    hookName: str | None = None
    hookEvent: str | None = None
    toolUseID: str | None = None


BARE_ATTACHMENTS = tuple(
    """
    advisor_stripped agent_ask_notice agent_mention already_read_file attention_budget async_hook_response_batch
    auto_mode_exit bash_output_audience_note batching_reminder batching_reminder_sent companion_intro
    context_efficiency cowork_memory_context dir_sync_notice fork_briefing goals hook_plugin_listing language
    output_style output_style_instructions peer_mention plan_mode_reentry plugin_note poll_events prompt_as_file
    relevant_memories sandbox_instructions secondary_reminder task_status team_context teammate_mailbox thinking_drop
    thinking_stripped tool_host_result_lines tool_search_usage_reminder ultra_effort_exit ultrathink_effort
    workflow_keyword_request workflow_size_guideline_change
    """.split()
)
"""Attachment types known by name only."""

ATTACHMENTS.update(dict.fromkeys(BARE_ATTACHMENTS, AttachmentPayload))
PAYLOADS[Attachment] = ("attachment", ATTACHMENTS)
