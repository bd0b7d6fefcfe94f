"""Attachments: context that the client adds to a conversation, by type."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, field

from reread.records.blocks import BlockPart, Content, Number
from reread.records.types.api import ToolDefinition
from reread.records.types.base import AttachmentPayload, TreeRecord, declare, part
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


_part = partial(part, __name__)
Dimensions = _part(
    "Dimensions", "The size of an image.", originalWidth=int, originalHeight=int, displayWidth=int, displayHeight=int
)
ReadFile = _part(
    "ReadFile",
    "The content of a file that was read.",
    "filePath content base64 type outputDir",
    numLines=int,
    startLine=int,
    totalLines=int,
    truncatedByTokenCap=bool,
    originalSize=int,
    dimensions=Dimensions,
    cells=list[Any],
    count=int,
)
FileContent = _part("FileContent", "The result of reading a file.", "type", file=ReadFile)
Framing = _part("Framing", "How a saved copy is wrapped.", enveloped=bool)
Instruction = _part("Instruction", "A memory file in effect.", "path type content")
Environment = _part(
    "Environment",
    "Machine, shell and folders of the session.",
    "workingDirectory platform shell osVersion",
    additionalWorkingDirectories=list[str],
    isGitRepo=bool,
    isWorktree=bool,
)


class EnvironmentChange(BlockPart):
    """One change of the environment."""

    from_: Any = field(default=None, name="from")
    to: Any = None
    field: str | None = None


ModelIdentity = _part("ModelIdentity", "A model's names and knowledge cutoff.", "modelId marketingName knowledgeCutoff")


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


_attachment = partial(declare, AttachmentPayload, __name__)
_attachment(
    "goal_status",
    "Whether the condition that the session works towards is met.",
    "condition reason",
    met=bool,
    sentinel=Any,
    iterations=int,
    durationMs=Number,
    tokens=int,
)
_attachment("total_tokens_reminder", "How much context is left.", "text")
_attachment("silent_turn_reminder", "A reminder to answer.", "text")
_attachment("critical_system_reminder", "A reminder that the client repeats with each prompt.", "content")
_attachment("task_reminder", "The open tasks.", content=Any, itemCount=int)
_attachment("todo_reminder", "The open to-dos.", content=Any, itemCount=int)
_attachment(
    "deferred_tools_delta",
    "Changes to the tools that a tool search can find.",
    addedNames=list[str],
    addedLines=list[str],
    removedNames=list[str],
    readdedNames=list[str],
    wireHiddenNames=list[str],
    pendingMcpServers=list[Any],
    needsAuthMcpServers=list[Any],
    failedMcpServers=list[Any],
)
_attachment("deferred_tools_record", "Tools that were loaded.", entries=list[ToolDefinition])
_attachment(
    "skill_listing",
    "The available skills.",
    "content",
    skillCount=int,
    isInitial=bool,
    names=list[str],
    digests=list[str],
)
_attachment("invoked_skills", "The skills that were used.", skills=list[Any])
_attachment(
    "agent_listing_delta",
    "Changes to the available agent types.",
    addedTypes=list[str],
    addedLines=list[str],
    removedTypes=list[str],
    builtInTypes=list[str],
    builtInPluginTypes=list[str],
    isInitial=bool,
    showConcurrencyNote=bool,
)
_attachment(
    "mcp_instructions_delta",
    "Changes to the instructions of MCP servers.",
    addedNames=list[str],
    addedBlocks=list[str],
    removedNames=list[str],
)
_attachment("structured_output", "An answer that follows a given schema.", "toolUseID", data=Any)
_attachment(
    "auto_mode",
    "The settings of auto mode.",
    "bashFirstSteer",
    autoModeConsentFlow=bool,
    bashFirst=bool,
    steerOnly=bool,
    bypass=bool,
    finishExposedWork=bool,
)
_attachment("plan_mode", "Plan mode is on.", "reminderType planFilePath", isSubAgent=bool, planExists=bool)
_attachment("plan_mode_exit", "Plan mode is off.", "planFilePath", planExists=bool)
_attachment("ultra_effort_enter", "Maximum effort is on.", "reminderType")
_attachment("command_permissions", "The tools that a slash command may use.", allowedTools=list[str])
_attachment(
    "unknown_command_fallback",
    "A slash command that does not exist.",
    "commandName",
    availableCommandCount=int,
    availableCommandNames=list[str],
)
_attachment("file", "A file that was mentioned.", "filename displayPath", content=FileContent, savedCopyFraming=Framing)
_attachment("directory", "A folder that was mentioned.", "path displayPath content")
_attachment(
    "compact_file_reference", "A file too large to be included again after a compaction.", "filename displayPath"
)
_attachment("edited_text_file", "A file that changed on disk.", "filename snippet")
_attachment("nested_memory", "A memory file of a subfolder.", "path displayPath", content=Any)
_attachment("instructions", "The memory files in effect.", files=list[Instruction])
_attachment("opened_file_in_ide", "The file open in the editor.", "filename")
_attachment(
    "selected_lines_in_ide",
    "The lines selected in the editor.",
    "ideName filename content displayPath",
    lineStart=int,
    lineEnd=int,
)
_attachment("diagnostics", "Diagnostics from the editor.", files=list[Any], isNew=bool)
_attachment("read_truncation_notice", "A file of which only a part was read.", "banner toolUseID")
_attachment("max_turns_reached", "The turn limit was reached.", maxTurns=int, turnCount=int, exitCommitted=bool)
_attachment("budget_usd", "The budget, and how much of it is spent.", used=Number, total=Number, remaining=Number)
_attachment("date", "Today's date.", "date")
_attachment("date_change", "The date changed.", "newDate")
_attachment("environment", "The environment of the session.", snapshot=Environment, changes=list[EnvironmentChange])
_attachment("model", "The model in use.", "text", identity=ModelIdentity)
_attachment(
    "prompt_snapshot",
    "The system prompt and the tools.",
    "cliPrefix contextRendering",
    systemPrompt=str | list[str],
    tools=list[ToolDefinition],
    echoWireToolInputs=bool,
    inlineTools=bool,
    keptReminders=bool,
    reminderFold=bool,
    systemTurns=bool,
    toolChangeHeader=bool,
)
_attachment("session_context", "Context about the project.", context=dict[str, Any])
_attachment(
    "remote_session_change",
    "How to sign commits and pull requests.",
    "commit pr url",
    managedCommit=bool,
    managedPr=bool,
    sendUserFileHint=bool,
)


BlockingError = _part("BlockingError", "Why a hook blocked a call.", "blockingError command")


class HookAttachment(AttachmentPayload):
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

BARE_ATTACHMENTS = (
    "advisor_stripped",
    "agent_ask_notice",
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
    "goals",
    "hook_plugin_listing",
    "language",
    "output_style",
    "output_style_instructions",
    "peer_mention",
    "plan_mode_reentry",
    "plugin_note",
    "poll_events",
    "prompt_as_file",
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


ContextSection = _part("ContextSection", "A part of the context that the host of a session gives.", "name text")
PdfRead = _part("PdfRead", "A document that was read for a prompt.", "path", pages=Any, result=Content)
ReadProjectDoc = _part("ReadProjectDoc", "A document of a project that was read.", "docId hash", read=Any)
WithheldFile = _part("WithheldFile", "A memory file that was not loaded.", "path displayPath type reason")
_attachment("account_memory_recall", "The memories of the account that fit a prompt.", "content")
_attachment(
    "advisor_tool",
    "Whether the model may ask an advisor.",
    "model toolChange",
    available=bool,
    abbreviated=bool,
    byBase=bool,
)
_attachment("artifact_opening_prefetch", "An artifact that a session opens with.", "content kind slug")
_attachment(
    "at_mention_reference",
    "Files that a prompt mentions and that were not read for it.",
    "unread",
    mentions=list[str],
    arePdfsToReadPlainly=bool,
)
_attachment("claude_app_notice", "The app that a prompt came from.", "app", lines=list[str])
_attachment("context_sections", "Context that the host of a session gives.", sections=list[ContextSection])
_attachment(
    "coordinator_context",
    "The instructions of a coordinating session; empty once it no longer coordinates.",
    "content",
    changed=bool,
)
_attachment("credential_org", "The organization whose credentials are used.", "organizationUuid")
_attachment("dynamic_skill", "Skills that were found in a folder.", "skillDir displayPath", skillNames=list[str])
_attachment("edited_image_file", "An image that was changed outside the conversation.", "filename", content=Any)
_attachment("inlined_image_paths", "Where the images of a prompt are.", paths=list[str], names=list[Any])
_attachment("instruction_files_not_loaded", "Instruction files of the project that were not loaded.", paths=list[str])
_attachment(
    "mcp_dropped_tools_delta",
    "Tools of MCP servers that cannot be used.",
    addedEntries=list[Any],
    addedLines=list[str],
    removedEntries=list[Any],
)
_attachment(
    "mcp_resource",
    "A resource of an MCP server that a prompt mentions.",
    "server uri name description displayText",
    content=Any,
)
_attachment(
    "memory_update",
    "Memory that changed during the session.",
    "source summary",
    paths=list[str],
    inContextPaths=list[str],
)
_attachment("message_pdf_reads", "Documents that were read for a prompt.", reads=list[PdfRead])
_attachment("output_token_usage", "How many tokens were written.", turn=Number, session=Number, budget=Number)
_attachment(
    "pdf_reference",
    "A document that a prompt mentions and that is too large to be read whole.",
    "filename displayPath",
    pageCount=int,
    fileSize=int,
    stillArriving=bool,
    wholeRefusedByModel=Any,
    modelReadsByPage=Any,
)
_attachment("plan_file_reference", "A plan that was made before a compaction.", "planFilePath planContent")
_attachment("prefix_delta", "A change of the context that comes first.", "text")
_attachment("proactivity", "How far the model may act without being asked.", "status", level=Any, tools=dict[str, Any])
_attachment("project_doc_reads", "Documents of a project that were read.", "form", reads=list[ReadProjectDoc])
_attachment("projects_thread_ask", "A question that a thread of a project waits for.", call=Any)
_attachment("prompt_render_point", "Where the system prompt was made anew.", "cause")
_attachment("repl_mcp_needs_auth", "MCP servers that want a login.", servers=list[Any])
_attachment("secondary_reminder_sent", "A reminder that was sent with a request.", "text clearAt")
_attachment(
    "selected_lines_in_diff",
    "Lines that were selected in the view of changes.",
    "content filePath",
    lineCount=int,
    mayHoldDownload=bool,
)
_attachment(
    "session_cron_carry",
    "Scheduled tasks that a resumed session takes along.",
    tasks=list[Any],
    otherArmed=list[Any],
    wakeup=Any,
    tickPrompt=Any,
    tickPlugin=Any,
)
_attachment("skill_mention", "A skill that a prompt names.", "skillName")
_attachment("teammate_shutdown_batch", "Teammates that were shut down together.", count=int)
_attachment(
    "thread_state",
    "When the person wrote last, and how many replies there were since.",
    "sinceUser",
    repliesSinceUser=int,
)
_attachment("token_usage", "How many tokens of the context are used.", used=Number, total=Number, remaining=Number)
_attachment("tool_hosts_correction", "A change of the computers on which tools run.", lines=list[str])
_attachment("tool_hosts_notice", "The computers on which tools run.", lines=list[str])
_attachment(
    "tool_offer_record",
    "The tools that were offered to the model, and those that were not.",
    offered=list[str],
    hidden=list[str],
    withheld=list[str],
)
_attachment(
    "tool_results_cut", "Results that the model no longer sees.", "standIn", callIds=list[str], roughTokens=Number
)
_attachment("widget_context_hint", "Views that the person has open.", views=list[Any], moreViews=int)
_attachment("withheld_memory", "Memory files that were not loaded.", "by", entries=list[WithheldFile])
_attachment("elapsed_time_reminder", "How long a turn has taken.", "text")
_attachment("linked_plugin_tools_note", "Instructions for a plug-in's tools on another computer.", "text")
_attachment("output_limit_note", "How much the model may write.", "text")
