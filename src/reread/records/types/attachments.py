"""Attachments: context that the client adds to a conversation, by type."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, field

from reread.records.blocks import BlockPart, Content, Number
from reread.records.types.api import ToolDefinition
from reread.records.types.base import AttachmentPayload, TreeRecord
from reread.records.types.messages import Origin
from reread.records.types.registry import ATTACHMENTS, PAYLOADS

AnyAttachment: TypeAlias = Annotated[
    Any, Meta(extra={"contains": "attachment"}, extra_json_schema={"$ref": "#/$defs/AnyAttachment"})
]
"""One of the structs in ATTACHMENTS, by its `type`."""


class Rendered(BlockPart, frozen=True, kw_only=True):
    """A text as shown to the model."""

    content: Content = None


class Attachment(TreeRecord, frozen=True, kw_only=True):
    """Context added by the client."""

    type: str = "attachment"
    attachment: AnyAttachment = None
    rendered: list[Rendered] | None = None
    renderedInHumanTurn: list[Rendered] | None = None
    renderedRole: str | None = None
    renderedBesideToolResult: bool | None = None


class QueuedUsage(BlockPart, frozen=True, kw_only=True):
    """The usage of the task that a notification is about."""

    totalTokens: int | None = None
    toolUses: int | None = None
    durationMs: Number | None = None


class Dimensions(BlockPart, frozen=True, kw_only=True):
    """The size of an image."""

    originalWidth: int | None = None
    originalHeight: int | None = None
    displayWidth: int | None = None
    displayHeight: int | None = None


class ReadFile(BlockPart, frozen=True, kw_only=True):
    """The content of a file that was read."""

    filePath: str | None = None
    content: str | None = None
    numLines: int | None = None
    startLine: int | None = None
    totalLines: int | None = None
    truncatedByTokenCap: bool | None = None
    base64: str | None = None
    type: str | None = None
    originalSize: int | None = None
    dimensions: Dimensions | None = None
    cells: list[Any] | None = None
    count: int | None = None
    outputDir: str | None = None


class FileContent(BlockPart, frozen=True, kw_only=True):
    """The result of reading a file."""

    type: str | None = None
    file: ReadFile | None = None


class Framing(BlockPart, frozen=True, kw_only=True):
    """How a saved copy is wrapped."""

    enveloped: bool | None = None


class Instruction(BlockPart, frozen=True, kw_only=True):
    """A memory file in effect."""

    path: str | None = None
    type: str | None = None
    content: str | None = None


class Environment(BlockPart, frozen=True, kw_only=True):
    """Machine, shell and folders of the session."""

    workingDirectory: str | None = None
    additionalWorkingDirectories: list[str] | None = None
    isGitRepo: bool | None = None
    isWorktree: bool | None = None
    platform: str | None = None
    shell: str | None = None
    osVersion: str | None = None


class EnvironmentChange(BlockPart, frozen=True, kw_only=True):
    """One change of the environment."""

    from_: Any = field(default=None, name="from")
    to: Any = None
    field: str | None = None


class ModelIdentity(BlockPart, frozen=True, kw_only=True):
    """A model's names and knowledge cutoff."""

    modelId: str | None = None
    marketingName: str | None = None
    knowledgeCutoff: str | None = None


class QueuedCommandAttachment(AttachmentPayload, frozen=True, kw_only=True):
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


class TotalTokensReminderAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """How much context is left."""

    type: str = "total_tokens_reminder"
    text: str | None = None


class SilentTurnReminderAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A reminder to answer."""

    type: str = "silent_turn_reminder"
    text: str | None = None


class CriticalSystemReminderAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A reminder that the client repeats with each prompt."""

    type: str = "critical_system_reminder"
    content: str | None = None


class TaskReminderAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The open tasks."""

    type: str = "task_reminder"
    content: Any = None
    itemCount: int | None = None


class TodoReminderAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The open to-dos."""

    type: str = "todo_reminder"
    content: Any = None
    itemCount: int | None = None


class DeferredToolsDeltaAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Changes to the tools that a tool search can find."""

    type: str = "deferred_tools_delta"
    addedNames: list[str] | None = None
    addedLines: list[str] | None = None
    removedNames: list[str] | None = None
    readdedNames: list[str] | None = None
    wireHiddenNames: list[str] | None = None
    pendingMcpServers: list[Any] | None = None
    needsAuthMcpServers: list[Any] | None = None
    failedMcpServers: list[Any] | None = None


class DeferredToolsRecordAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Tools that were loaded."""

    type: str = "deferred_tools_record"
    entries: list[ToolDefinition] | None = None


class SkillListingAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The available skills."""

    type: str = "skill_listing"
    content: str | None = None
    skillCount: int | None = None
    isInitial: bool | None = None
    names: list[str] | None = None
    digests: list[str] | None = None


class InvokedSkillsAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The skills that were used."""

    type: str = "invoked_skills"
    skills: list[Any] | None = None


class AgentListingDeltaAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Changes to the available agent types."""

    type: str = "agent_listing_delta"
    addedTypes: list[str] | None = None
    addedLines: list[str] | None = None
    removedTypes: list[str] | None = None
    builtInTypes: list[str] | None = None
    builtInPluginTypes: list[str] | None = None
    isInitial: bool | None = None
    showConcurrencyNote: bool | None = None


class McpInstructionsDeltaAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Changes to the instructions of MCP servers."""

    type: str = "mcp_instructions_delta"
    addedNames: list[str] | None = None
    addedBlocks: list[str] | None = None
    removedNames: list[str] | None = None


class StructuredOutputAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """An answer that follows a given schema."""

    type: str = "structured_output"
    data: Any = None
    toolUseID: str | None = None


class AutoModeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The settings of auto mode."""

    type: str = "auto_mode"
    autoModeConsentFlow: bool | None = None
    bashFirst: bool | None = None
    bashFirstSteer: str | None = None
    steerOnly: bool | None = None
    bypass: bool | None = None
    finishExposedWork: bool | None = None


class PlanModeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Plan mode is on."""

    type: str = "plan_mode"
    reminderType: str | None = None
    isSubAgent: bool | None = None
    planFilePath: str | None = None
    planExists: bool | None = None


class PlanModeExitAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Plan mode is off."""

    type: str = "plan_mode_exit"
    planFilePath: str | None = None
    planExists: bool | None = None


class UltraEffortEnterAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Maximum effort is on."""

    type: str = "ultra_effort_enter"
    reminderType: str | None = None


class CommandPermissionsAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The tools that a slash command may use."""

    type: str = "command_permissions"
    allowedTools: list[str] | None = None


class UnknownCommandFallbackAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A slash command that does not exist."""

    type: str = "unknown_command_fallback"
    commandName: str | None = None
    availableCommandCount: int | None = None
    availableCommandNames: list[str] | None = None


class FileAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A file that was mentioned."""

    type: str = "file"
    filename: str | None = None
    displayPath: str | None = None
    content: FileContent | None = None
    savedCopyFraming: Framing | None = None


class DirectoryAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A folder that was mentioned."""

    type: str = "directory"
    path: str | None = None
    displayPath: str | None = None
    content: str | None = None


class CompactFileReferenceAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A file too large to be included again after a compaction."""

    type: str = "compact_file_reference"
    filename: str | None = None
    displayPath: str | None = None


class EditedTextFileAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A file that changed on disk."""

    type: str = "edited_text_file"
    filename: str | None = None
    snippet: str | None = None


class NestedMemoryAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A memory file of a subfolder."""

    type: str = "nested_memory"
    path: str | None = None
    displayPath: str | None = None
    content: Any = None


class InstructionsAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The memory files in effect."""

    type: str = "instructions"
    files: list[Instruction] | None = None


class OpenedFileInIdeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The file open in the editor."""

    type: str = "opened_file_in_ide"
    filename: str | None = None


class SelectedLinesInIdeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The lines selected in the editor."""

    type: str = "selected_lines_in_ide"
    ideName: str | None = None
    lineStart: int | None = None
    lineEnd: int | None = None
    filename: str | None = None
    content: str | None = None
    displayPath: str | None = None


class DiagnosticsAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Diagnostics from the editor."""

    type: str = "diagnostics"
    files: list[Any] | None = None
    isNew: bool | None = None


class ReadTruncationNoticeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A file of which only a part was read."""

    type: str = "read_truncation_notice"
    banner: str | None = None
    toolUseID: str | None = None


class MaxTurnsReachedAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The turn limit was reached."""

    type: str = "max_turns_reached"
    maxTurns: int | None = None
    turnCount: int | None = None
    exitCommitted: bool | None = None


class BudgetUsdAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The budget, and how much of it is spent."""

    type: str = "budget_usd"
    used: Number | None = None
    total: Number | None = None
    remaining: Number | None = None


class DateAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Today's date."""

    type: str = "date"
    date: str | None = None


class DateChangeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The date changed."""

    type: str = "date_change"
    newDate: str | None = None


class EnvironmentAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The environment of the session."""

    type: str = "environment"
    snapshot: Environment | None = None
    changes: list[EnvironmentChange] | None = None


class ModelAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The model in use."""

    type: str = "model"
    identity: ModelIdentity | None = None
    text: str | None = None


class PromptSnapshotAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The system prompt and the tools."""

    type: str = "prompt_snapshot"
    systemPrompt: str | list[str] | None = None
    tools: list[ToolDefinition] | None = None
    cliPrefix: str | None = None
    contextRendering: str | None = None
    echoWireToolInputs: bool | None = None
    inlineTools: bool | None = None
    keptReminders: bool | None = None
    reminderFold: bool | None = None
    systemTurns: bool | None = None
    toolChangeHeader: bool | None = None


class SessionContextAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Context about the project."""

    type: str = "session_context"
    context: dict[str, Any] | None = None


class RemoteSessionChangeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """How to sign commits and pull requests."""

    type: str = "remote_session_change"
    commit: str | None = None
    pr: str | None = None
    url: str | None = None
    managedCommit: bool | None = None
    managedPr: bool | None = None
    sendUserFileHint: bool | None = None


BARE_ATTACHMENTS = (
    "advisor_stripped",
    "agent_mention",
    "already_read_file",
    "attention_budget",
    "async_hook_response_batch",
    "auto_mode_exit",
    "bash_output_audience_note",
    "batching_reminder",
    "batching_reminder_sent",
    "companion_intro",
    "context_efficiency",
    "cowork_memory_context",
    "dir_sync_notice",
    "fork_briefing",
    "goal_status",
    "goals",
    "hook_plugin_listing",
    "language",
    "output_style",
    "output_style_instructions",
    "peer_mention",
    "plan_mode_reentry",
    "poll_events",
    "relevant_memories",
    "sandbox_instructions",
    "secondary_reminder",
    "task_status",
    "team_context",
    "teammate_mailbox",
    "thinking_drop",
    "thinking_stripped",
    "tool_host_result_lines",
    "tool_search_usage_reminder",
    "ultra_effort_exit",
    "ultrathink_effort",
    "workflow_keyword_request",
    "workflow_size_guideline_change",
)
"""Attachment types known by name only."""

ATTACHMENTS.update(dict.fromkeys(BARE_ATTACHMENTS, AttachmentPayload))
PAYLOADS[Attachment] = ("attachment", ATTACHMENTS)
