"""System records of streams, by subtype; most of them never occur in transcripts."""

from __future__ import annotations

from typing import Any

from reread.records.blocks import BlockPart, Number
from reread.records.types.base import System
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


class WorkflowStep(BlockPart, frozen=True, kw_only=True):
    """A phase or an agent of a running workflow."""

    type: str | None = None
    index: int | None = None
    title: str | None = None
    label: str | None = None
    state: str | None = None
    agentId: str | None = None
    attempt: int | None = None
    model: str | None = None
    phaseIndex: int | None = None
    phaseTitle: str | None = None
    promptFramed: bool | None = None
    promptPreview: str | None = None
    resultPreview: str | None = None
    lastToolName: str | None = None
    lastToolSummary: str | None = None
    tokens: int | None = None
    toolCalls: int | None = None
    durationMs: Number | None = None
    queuedAt: Number | None = None
    startedAt: Number | None = None
    lastProgressAt: Number | None = None


class TaskPatch(BlockPart, frozen=True, kw_only=True):
    """The fields of a task that changed."""

    status: str | None = None
    description: str | None = None
    error: str | None = None
    end_time: Number | None = None
    total_paused_ms: Number | None = None
    is_backgrounded: bool | None = None


class ResourceLink(BlockPart, frozen=True, kw_only=True):
    """A resource of an MCP server."""

    uri: str | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mimeType: str | None = None
    size: int | None = None
    annotations: dict[str, Any] | None = None


class BackgroundTask(BlockPart, frozen=True, kw_only=True):
    """A task that runs in the background."""

    task_id: str | None = None
    run_id: str | None = None
    task_type: str | None = None
    subagent_type: str | None = None
    description: str | None = None
    parent_task_id: str | None = None
    ambient: bool | None = None


class Command(BlockPart, frozen=True, kw_only=True):
    """A slash command."""

    name: str | None = None
    description: str | None = None
    argumentHint: str | None = None
    aliases: list[str] | None = None
    builtin: bool | None = None


class PersistedFile(BlockPart, frozen=True, kw_only=True):
    """A file that was uploaded, or failed to upload."""

    filename: str | None = None
    file_id: str | None = None
    error: str | None = None


class Memory(BlockPart, frozen=True, kw_only=True):
    """A memory file."""

    path: str | None = None
    scope: str | None = None
    content: str | None = None


class MirrorKey(BlockPart, frozen=True, kw_only=True):
    """The mirrored transcript."""

    projectKey: str | None = None
    sessionId: str | None = None
    subpath: str | None = None


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


class SystemHookStarted(System, frozen=True, kw_only=True):
    """A hook that started."""

    subtype: str | None = "hook_started"
    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None


class SystemHookProgress(System, frozen=True, kw_only=True):
    """The output of a running hook."""

    subtype: str | None = "hook_progress"
    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None


class SystemHookResponse(System, frozen=True, kw_only=True):
    """The response of a hook."""

    subtype: str | None = "hook_response"
    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None


class SystemStatus(System, frozen=True, kw_only=True):
    """The state of the client."""

    subtype: str | None = "status"
    status: str | None = None
    permissionMode: str | None = None
    compact_result: str | None = None
    compact_error: str | None = None
    compact_output_chars: int | None = None


class SystemApiRetry(System, frozen=True, kw_only=True):
    """A failed API request that is retried, in a stream."""

    subtype: str | None = "api_retry"
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error: str | None = None
    error_status: int | None = None
    no_response: dict[str, Any] | None = None


class SystemNotification(System, frozen=True, kw_only=True):
    """A notification on the screen."""

    subtype: str | None = "notification"
    key: str | None = None
    text: str | None = None
    priority: str | None = None
    color: str | None = None
    timeout_ms: Number | None = None


class SystemTaskStarted(System, frozen=True, kw_only=True):
    """A background task that started."""

    subtype: str | None = "task_started"
    task_id: str | None = None
    run_id: str | None = None
    tool_use_id: str | None = None
    task_type: str | None = None
    description: str | None = None
    prompt: str | None = None
    subagent_type: str | None = None
    workflow_name: str | None = None
    parent_task_id: str | None = None
    spawn_depth: int | None = None
    is_backgrounded: bool | None = None
    skip_transcript: bool | None = None
    ambient: bool | None = None


class SystemTaskProgress(System, frozen=True, kw_only=True):
    """The progress of a background task."""

    subtype: str | None = "task_progress"
    task_id: str | None = None
    run_id: str | None = None
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    last_tool_name: str | None = None
    summary: str | None = None
    usage: TaskUsage | None = None
    workflow_progress: list[WorkflowStep] | None = None


class SystemTaskUpdated(System, frozen=True, kw_only=True):
    """A change to a background task."""

    subtype: str | None = "task_updated"
    task_id: str | None = None
    run_id: str | None = None
    patch: TaskPatch | None = None


class SystemTaskNotification(System, frozen=True, kw_only=True):
    """A background task that ended."""

    subtype: str | None = "task_notification"
    task_id: str | None = None
    run_id: str | None = None
    tool_use_id: str | None = None
    status: str | None = None
    reason: str | None = None
    output_file: str | None = None
    summary: str | None = None
    usage: TaskUsage | None = None
    resource_links: list[ResourceLink] | None = None
    skip_transcript: bool | None = None
    ambient: bool | None = None


class SystemBackgroundTasksChanged(System, frozen=True, kw_only=True):
    """The background tasks that are still running."""

    subtype: str | None = "background_tasks_changed"
    tasks: list[BackgroundTask] | None = None


class SystemThinkingTokens(System, frozen=True, kw_only=True):
    """How much the model has thought so far."""

    subtype: str | None = "thinking_tokens"
    estimated_tokens: int | None = None
    estimated_tokens_delta: int | None = None
    user_message_uuid: str | None = None


class SystemSessionStateChanged(System, frozen=True, kw_only=True):
    """Whether the session is working or waiting."""

    subtype: str | None = "session_state_changed"
    state: str | None = None


class SystemCommandsChanged(System, frozen=True, kw_only=True):
    """The available slash commands."""

    subtype: str | None = "commands_changed"
    commands: list[Command] | None = None


class SystemFilesPersisted(System, frozen=True, kw_only=True):
    """Files that were uploaded."""

    subtype: str | None = "files_persisted"
    files: list[PersistedFile] | None = None
    failed: list[PersistedFile] | None = None
    processed_at: str | None = None


class SystemMemoryRecall(System, frozen=True, kw_only=True):
    """Memories that were loaded."""

    subtype: str | None = "memory_recall"
    mode: str | None = None
    memories: list[Memory] | None = None


class SystemElicitationComplete(System, frozen=True, kw_only=True):
    """A question from an MCP server that was answered."""

    subtype: str | None = "elicitation_complete"
    mcp_server_name: str | None = None
    elicitation_id: str | None = None


class SystemPermissionDenied(System, frozen=True, kw_only=True):
    """A call that was denied."""

    subtype: str | None = "permission_denied"
    tool_name: str | None = None
    tool_use_id: str | None = None
    agent_id: str | None = None
    decision_reason_type: str | None = None
    decision_reason: str | None = None
    message: str | None = None


class SystemLocalCommandOutput(System, frozen=True, kw_only=True):
    """The output of a slash command, in a stream."""

    subtype: str | None = "local_command_output"


class SystemPluginInstall(System, frozen=True, kw_only=True):
    """The progress of installing a plugin."""

    subtype: str | None = "plugin_install"
    status: str | None = None
    name: str | None = None
    error: str | None = None


class SystemMirrorError(System, frozen=True, kw_only=True):
    """A transcript that could not be mirrored."""

    subtype: str | None = "mirror_error"
    error: str | None = None
    key: MirrorKey | None = None


class SystemWorkerShuttingDown(System, frozen=True, kw_only=True):
    """A remote worker that is shutting down."""

    subtype: str | None = "worker_shutting_down"
    reason: str | None = None


class SystemSessionWritesLost(System, frozen=True, kw_only=True):
    """Writes that were lost because the disk was full."""

    subtype: str | None = "session_writes_lost"
    error_code: str | None = None
    lost: list[str] | None = None
    transcript_session_ids: list[str] | None = None


class SystemControlRequestProgress(System, frozen=True, kw_only=True):
    """The progress of a control request."""

    subtype: str | None = "control_request_progress"
    request_id: str | None = None
    status: str | None = None
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error_status: int | None = None
