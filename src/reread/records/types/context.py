"""Attachments of newer clients: notes, reminders and lists for the model, and marks that only the client reads."""

from __future__ import annotations

from typing import Any

from reread.records.blocks import BlockPart, Content, Number
from reread.records.types.base import AttachmentPayload


class ContextSection(BlockPart, frozen=True, kw_only=True):
    """A part of the context that the host of a session gives."""

    name: str | None = None
    text: str | None = None


class PdfRead(BlockPart, frozen=True, kw_only=True):
    """A document that was read for a prompt."""

    path: str | None = None
    pages: Any = None
    result: Content = None


class ReadProjectDoc(BlockPart, frozen=True, kw_only=True):
    """A document of a project that was read."""

    docId: str | None = None
    read: Any = None
    hash: str | None = None


class WithheldFile(BlockPart, frozen=True, kw_only=True):
    """A memory file that was not loaded."""

    path: str | None = None
    displayPath: str | None = None
    type: str | None = None
    reason: str | None = None


class AccountMemoryRecall(AttachmentPayload, frozen=True, kw_only=True):
    """The memories of the account that fit a prompt."""

    type: str = "account_memory_recall"
    content: str | None = None


class AdvisorTool(AttachmentPayload, frozen=True, kw_only=True):
    """Whether the model may ask an advisor."""

    type: str = "advisor_tool"
    available: bool | None = None
    abbreviated: bool | None = None
    model: str | None = None
    toolChange: str | None = None
    byBase: bool | None = None


class ArtifactOpeningPrefetch(AttachmentPayload, frozen=True, kw_only=True):
    """An artifact that a session opens with."""

    type: str = "artifact_opening_prefetch"
    content: str | None = None
    kind: str | None = None
    slug: str | None = None


class AtMentionReference(AttachmentPayload, frozen=True, kw_only=True):
    """Files that a prompt mentions and that were not read for it."""

    type: str = "at_mention_reference"
    mentions: list[str] | None = None
    arePdfsToReadPlainly: bool | None = None
    unread: str | None = None


class ClaudeAppNotice(AttachmentPayload, frozen=True, kw_only=True):
    """The app that a prompt came from."""

    type: str = "claude_app_notice"
    lines: list[str] | None = None
    app: str | None = None


class ContextSections(AttachmentPayload, frozen=True, kw_only=True):
    """Context that the host of a session gives."""

    type: str = "context_sections"
    sections: list[ContextSection] | None = None


class CoordinatorContext(AttachmentPayload, frozen=True, kw_only=True):
    """The instructions of a coordinating session; empty once it no longer coordinates."""

    type: str = "coordinator_context"
    content: str | None = None
    changed: bool | None = None


class CredentialOrg(AttachmentPayload, frozen=True, kw_only=True):
    """The organization whose credentials are used."""

    type: str = "credential_org"
    organizationUuid: str | None = None


class DynamicSkill(AttachmentPayload, frozen=True, kw_only=True):
    """Skills that were found in a folder."""

    type: str = "dynamic_skill"
    skillDir: str | None = None
    skillNames: list[str] | None = None
    displayPath: str | None = None


class EditedImageFile(AttachmentPayload, frozen=True, kw_only=True):
    """An image that was changed outside the conversation."""

    type: str = "edited_image_file"
    filename: str | None = None
    content: Any = None


class InlinedImagePaths(AttachmentPayload, frozen=True, kw_only=True):
    """Where the images of a prompt are."""

    type: str = "inlined_image_paths"
    paths: list[str] | None = None
    names: list[Any] | None = None


class InstructionFilesNotLoaded(AttachmentPayload, frozen=True, kw_only=True):
    """Instruction files of the project that were not loaded."""

    type: str = "instruction_files_not_loaded"
    paths: list[str] | None = None


class McpDroppedToolsDelta(AttachmentPayload, frozen=True, kw_only=True):
    """Tools of MCP servers that cannot be used."""

    type: str = "mcp_dropped_tools_delta"
    addedEntries: list[Any] | None = None
    addedLines: list[str] | None = None
    removedEntries: list[Any] | None = None


class McpResourceMention(AttachmentPayload, frozen=True, kw_only=True):
    """A resource of an MCP server that a prompt mentions."""

    type: str = "mcp_resource"
    server: str | None = None
    uri: str | None = None
    name: str | None = None
    description: str | None = None
    content: Any = None
    displayText: str | None = None


class MemoryUpdate(AttachmentPayload, frozen=True, kw_only=True):
    """Memory that changed during the session."""

    type: str = "memory_update"
    source: str | None = None
    summary: str | None = None
    paths: list[str] | None = None
    inContextPaths: list[str] | None = None


class MessagePdfReads(AttachmentPayload, frozen=True, kw_only=True):
    """Documents that were read for a prompt."""

    type: str = "message_pdf_reads"
    reads: list[PdfRead] | None = None


class OutputTokenUsage(AttachmentPayload, frozen=True, kw_only=True):
    """How many tokens were written."""

    type: str = "output_token_usage"
    turn: Number | None = None
    session: Number | None = None
    budget: Number | None = None


class PdfReference(AttachmentPayload, frozen=True, kw_only=True):
    """A document that a prompt mentions and that is too large to be read whole."""

    type: str = "pdf_reference"
    filename: str | None = None
    pageCount: int | None = None
    fileSize: int | None = None
    displayPath: str | None = None
    stillArriving: bool | None = None
    wholeRefusedByModel: Any = None
    modelReadsByPage: Any = None


class PlanFileReference(AttachmentPayload, frozen=True, kw_only=True):
    """A plan that was made before a compaction."""

    type: str = "plan_file_reference"
    planFilePath: str | None = None
    planContent: str | None = None


class PrefixDelta(AttachmentPayload, frozen=True, kw_only=True):
    """A change of the context that comes first."""

    type: str = "prefix_delta"
    text: str | None = None


class Proactivity(AttachmentPayload, frozen=True, kw_only=True):
    """How far the model may act without being asked."""

    type: str = "proactivity"
    status: str | None = None
    level: Any = None
    tools: dict[str, Any] | None = None


class ProjectDocReads(AttachmentPayload, frozen=True, kw_only=True):
    """Documents of a project that were read."""

    type: str = "project_doc_reads"
    reads: list[ReadProjectDoc] | None = None
    form: str | None = None


class ProjectsThreadAsk(AttachmentPayload, frozen=True, kw_only=True):
    """A question that a thread of a project waits for."""

    type: str = "projects_thread_ask"
    call: Any = None


class PromptRenderPoint(AttachmentPayload, frozen=True, kw_only=True):
    """Where the system prompt was made anew."""

    type: str = "prompt_render_point"
    cause: str | None = None


class ReplMcpNeedsAuth(AttachmentPayload, frozen=True, kw_only=True):
    """MCP servers that want a login."""

    type: str = "repl_mcp_needs_auth"
    servers: list[Any] | None = None


class SecondaryReminderSent(AttachmentPayload, frozen=True, kw_only=True):
    """A reminder that was sent with a request."""

    type: str = "secondary_reminder_sent"
    text: str | None = None
    clearAt: str | None = None


class SelectedLinesInDiff(AttachmentPayload, frozen=True, kw_only=True):
    """Lines that were selected in the view of changes."""

    type: str = "selected_lines_in_diff"
    lineCount: int | None = None
    content: str | None = None
    filePath: str | None = None
    mayHoldDownload: bool | None = None


class SessionCronCarry(AttachmentPayload, frozen=True, kw_only=True):
    """Scheduled tasks that a resumed session takes along."""

    type: str = "session_cron_carry"
    tasks: list[Any] | None = None
    otherArmed: list[Any] | None = None
    wakeup: Any = None
    tickPrompt: Any = None
    tickPlugin: Any = None


class SkillMention(AttachmentPayload, frozen=True, kw_only=True):
    """A skill that a prompt names."""

    type: str = "skill_mention"
    skillName: str | None = None


class TeammateShutdownBatch(AttachmentPayload, frozen=True, kw_only=True):
    """Teammates that were shut down together."""

    type: str = "teammate_shutdown_batch"
    count: int | None = None


class ThreadState(AttachmentPayload, frozen=True, kw_only=True):
    """When the person wrote last, and how many replies there were since."""

    type: str = "thread_state"
    sinceUser: str | None = None
    repliesSinceUser: int | None = None


class TokenUsage(AttachmentPayload, frozen=True, kw_only=True):
    """How many tokens of the context are used."""

    type: str = "token_usage"
    used: Number | None = None
    total: Number | None = None
    remaining: Number | None = None


class ToolHostsCorrection(AttachmentPayload, frozen=True, kw_only=True):
    """A change of the computers on which tools run."""

    type: str = "tool_hosts_correction"
    lines: list[str] | None = None


class ToolHostsNotice(AttachmentPayload, frozen=True, kw_only=True):
    """The computers on which tools run."""

    type: str = "tool_hosts_notice"
    lines: list[str] | None = None


class ToolResultsCut(AttachmentPayload, frozen=True, kw_only=True):
    """Results that the model no longer sees."""

    type: str = "tool_results_cut"
    callIds: list[str] | None = None
    standIn: str | None = None
    roughTokens: Number | None = None


class WidgetContextHint(AttachmentPayload, frozen=True, kw_only=True):
    """Views that the person has open."""

    type: str = "widget_context_hint"
    views: list[Any] | None = None
    moreViews: int | None = None


class WithheldMemory(AttachmentPayload, frozen=True, kw_only=True):
    """Memory files that were not loaded."""

    type: str = "withheld_memory"
    entries: list[WithheldFile] | None = None
    by: str | None = None


class ElapsedTimeReminder(AttachmentPayload, frozen=True, kw_only=True):
    """How long a turn has taken."""

    type: str = "elapsed_time_reminder"
    text: str | None = None


class LinkedPluginToolsNote(AttachmentPayload, frozen=True, kw_only=True):
    """Instructions for a plug-in's tools on another computer."""

    type: str = "linked_plugin_tools_note"
    text: str | None = None


class OutputLimitNote(AttachmentPayload, frozen=True, kw_only=True):
    """How much the model may write."""

    type: str = "output_limit_note"
    text: str | None = None
