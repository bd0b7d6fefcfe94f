"""System records of streams, by subtype; most of them never occur in transcripts."""

from __future__ import annotations

from functools import partial
from typing import Any

from reread.records.blocks import BlockPart, Number
from reread.records.types.base import System, declare, part
from reread.records.types.usage import TaskUsage


class McpServer(BlockPart, frozen=True, kw_only=True):
    """An MCP server and its status."""

    name: str | None = None
    status: str | None = None
    source: str | None = None


class Plugin(BlockPart, frozen=True, kw_only=True):
    """A loaded plugin."""

    name: str | None = None
    path: str | None = None
    source: str | None = None
    version: str | None = None


class PluginError(BlockPart, frozen=True, kw_only=True):
    """A plugin that failed to load."""

    plugin: str | None = None
    type: str | None = None
    message: str | None = None
    path: str | None = None
    managed_lock: dict[str, Any] | None = None


_part = partial(part, __name__)
WorkflowStep = _part(
    "WorkflowStep",
    "A phase or an agent of a running workflow.",
    "type title label state agentId model phaseTitle promptPreview resultPreview lastToolName lastToolSummary",
    index=int,
    attempt=int,
    phaseIndex=int,
    promptFramed=bool,
    tokens=int,
    toolCalls=int,
    durationMs=Number,
    queuedAt=Number,
    startedAt=Number,
    lastProgressAt=Number,
)
TaskPatch = _part(
    "TaskPatch",
    "The fields of a task that changed.",
    "status description error",
    end_time=Number,
    total_paused_ms=Number,
    is_backgrounded=bool,
)
ResourceLink = _part(
    "ResourceLink",
    "A resource of an MCP server.",
    "uri name title description mimeType",
    size=int,
    annotations=dict[str, Any],
)
BackgroundTask = _part(
    "BackgroundTask",
    "A task that runs in the background.",
    "task_id run_id task_type subagent_type description parent_task_id",
    ambient=bool,
)


class Command(BlockPart, frozen=True, kw_only=True):
    """A slash command."""

    name: str | None = None
    description: str | None = None
    argumentHint: str | None = None
    aliases: list[str] | None = None
    builtin: bool | None = None


PersistedFile = _part("PersistedFile", "A file that was uploaded, or failed to upload.", "filename file_id error")
Memory = _part("Memory", "A memory file.", "path scope content")
MirrorKey = _part("MirrorKey", "The mirrored transcript.", "projectKey sessionId subpath")


class SystemInit(System, frozen=True, kw_only=True):
    """The setup of the client, once per turn."""

    subtype: str | None = "init"
    tools: list[str] | None = None
    """Names as shown by the client, which sometimes differ from those sent to the API."""
    mcp_servers: list[McpServer] | None = None
    model: str | None = None
    permissionMode: str | None = None
    slash_commands: list[str] | None = None
    terminal_slash_commands: list[str] | None = None
    apiKeySource: str | None = None
    claude_code_version: str | None = None
    output_style: str | None = None
    agents: list[str] | None = None
    skills: list[str] | None = None
    plugins: list[Plugin] | None = None
    plugin_errors: list[PluginError] | None = None
    mcp_server_errors: list[Any] | None = None
    betas: list[str] | None = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None
    memory_paths: dict[str, Any] | None = None
    analytics_disabled: bool | None = None
    product_feedback_disabled: bool | None = None
    capabilities: list[str] | None = None
    view_mode: str | None = None
    effort: str | None = None
    per_turn_effort_active: bool | None = None
    ultrathink_available: bool | None = None
    ultrathink_typed_raises: bool | None = None
    additional_directories: list[str] | None = None
    original_cwd: str | None = None
    messaging_socket_path: str | None = None


_system = partial(declare, System, __name__)
_system("hook_started", "A hook that started.", "hook_id hook_name hook_event")
_system("hook_progress", "The output of a running hook.", "hook_id hook_name hook_event output stdout stderr")
_system(
    "hook_response",
    "The response of a hook.",
    "hook_id hook_name hook_event output stdout stderr outcome",
    exit_code=int,
)
_system(
    "status", "The state of the client.", "status permissionMode compact_result compact_error", compact_output_chars=int
)
_system(
    "api_retry",
    "A failed API request that is retried, in a stream.",
    "error",
    attempt=int,
    max_retries=int,
    retry_delay_ms=Number,
    error_status=int,
    no_response=dict[str, Any],
)
_system("notification", "A notification on the screen.", "key text priority color", timeout_ms=Number)
_system(
    "task_started",
    "A background task that started.",
    "task_id run_id tool_use_id task_type description prompt subagent_type workflow_name parent_task_id",
    spawn_depth=int,
    is_backgrounded=bool,
    skip_transcript=bool,
    ambient=bool,
)
_system(
    "task_progress",
    "The progress of a background task.",
    "task_id run_id tool_use_id description subagent_type last_tool_name summary",
    usage=TaskUsage,
    workflow_progress=list[WorkflowStep],
)
_system("task_updated", "A change to a background task.", "task_id run_id", patch=TaskPatch)
_system(
    "task_notification",
    "A background task that ended.",
    "task_id run_id tool_use_id status reason output_file summary",
    usage=TaskUsage,
    resource_links=list[ResourceLink],
    skip_transcript=bool,
    summary_is_report=bool,
    ambient=bool,
)
_system("background_tasks_changed", "The background tasks that are still running.", tasks=list[BackgroundTask])
_system(
    "thinking_tokens",
    "How much the model has thought so far.",
    "user_message_uuid",
    estimated_tokens=int,
    estimated_tokens_delta=int,
)
_system("session_state_changed", "Whether the session is working or waiting.", "state")
_system("commands_changed", "The available slash commands.", commands=list[Command])
_system(
    "files_persisted",
    "Files that were uploaded.",
    "processed_at",
    files=list[PersistedFile],
    failed=list[PersistedFile],
)
_system("memory_recall", "Memories that were loaded.", "mode", memories=list[Memory])
_system("elicitation_complete", "A question from an MCP server that was answered.", "mcp_server_name elicitation_id")
_system(
    "permission_denied",
    "A call that was denied.",
    "tool_name tool_use_id agent_id decision_reason_type decision_reason message",
)
_system("local_command_output", "The output of a slash command, in a stream.")
_system("plugin_install", "The progress of installing a plugin.", "status name error")
_system("mirror_error", "A transcript that could not be mirrored.", "error", key=MirrorKey)
_system("worker_shutting_down", "A remote worker that is shutting down.", "reason")
_system(
    "session_writes_lost",
    "Writes that were lost because the disk was full.",
    "error_code",
    lost=list[str],
    transcript_session_ids=list[str],
)
_system(
    "control_request_progress",
    "The progress of a control request.",
    "request_id status",
    attempt=int,
    max_retries=int,
    retry_delay_ms=Number,
    error_status=int,
)
