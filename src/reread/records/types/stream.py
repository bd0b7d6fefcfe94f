"""Records that occur only in streams, and the API events inside them."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from reread.records.blocks import BlockPart, Content, Number
from reread.records.types.api import (
    Container,
    ContextManagement,
    ErrorDetail,
    InputTransformation,
    Response,
    StopDetails,
)
from reread.records.types.base import EventPayload, NestedEntry, StreamRecord, System, declare, part
from reread.records.types.messages import Origin
from reread.records.types.registry import EVENTS, PAYLOADS
from reread.records.types.usage import ApiUsage, ModelUsage, TaskUsage

AnyEvent: TypeAlias = Annotated[Any, Meta(extra={"contains": "event"}, extra_json_schema={"$ref": "#/$defs/AnyEvent"})]
"""One of the structs in EVENTS, by its `type`."""


class PermissionDenial(BlockPart):
    """A call that was denied."""

    tool_name: str | None = None
    tool_use_id: str | None = None
    tool_input: dict[str, Any] | None = None


_part = partial(part, __name__)
RateLimit = _part(
    "RateLimit",
    "The usage of a rate limit, and when it resets.",
    "status rateLimitType overageStatus overageDisabledReason limitScope errorCode",
    resetsAt=Number,
    utilization=Number,
    overageResetsAt=Number,
    isUsingOverage=bool,
    overageInUse=bool,
    overageEnabled=bool,
    surpassedThreshold=Number,
    canUserPurchaseCredits=bool,
    hasChargeableSavedPaymentMethod=bool,
)


class DeferredToolUse(BlockPart):
    """A call that was deferred."""

    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None


class SubagentStats(BlockPart):
    """How many agents a turn started, and how they ended."""

    by_type: dict[str, int] | None = None
    spawned: int | None = None
    spawned_by_subagents: int | None = None
    started_in_background: int | None = None
    completed: int | None = None
    failed: int | None = None
    max_depth: int | None = None
    killed: dict[str, int] | None = None
    refused: dict[str, int] | None = None
    requested: dict[str, int] | None = None


Goal = _part(
    "Goal", "The goal of a session.", "condition last_reason", iterations=int, set_at=Number, tokens_at_start=int
)
Delta = _part(
    "Delta",
    "An addition to a block or message.",
    "type text partial_json thinking signature content encrypted_content stop_reason stop_sequence",
    estimated_tokens=int,
    citation=dict[str, Any],
    stop_details=StopDetails,
    container=Container,
)


class Result(StreamRecord):
    """The end of a turn, with its answer, duration and cost; in a workflow's journal, the answer of an agent."""

    type: str = "result"
    subtype: str | None = None
    is_error: bool | None = None
    result: Any = None
    errors: list[str] | None = None
    num_turns: int | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    duration_ms: Number | None = None
    duration_api_ms: Number | None = None
    total_cost_usd: Number | None = None
    """Cumulative."""
    usage: ApiUsage | None = None
    """Of the main thread only, without agents."""
    modelUsage: dict[str, ModelUsage] | None = None
    model_usage_since_last_result: dict[str, ModelUsage] | None = None
    permission_denials: list[PermissionDenial] | None = None
    structured_output: Any = None
    deferred_tool_use: DeferredToolUse | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    local_command: str | None = None
    origin: Origin | None = None
    result_index: int | None = None
    queued_turn_count: int | None = None
    safety_stops: int | None = None
    subagent_stats: SubagentStats | None = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None
    startup_failure_reason: Any = None
    invalid_config_file: dict[str, Any] | None = None
    credential_expires_at: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    resume_reason: str | None = None
    ttft_ms: Number | None = None
    ttft_stream_ms: Number | None = None
    time_to_request_ms: Number | None = None
    time_to_request_from_spawn_ms: Number | None = None
    request_sent_wall_ms: Number | None = None
    first_content_frame_ms: Number | None = None
    first_stream_post_ms: Number | None = None
    first_stream_post_ack_ms: Number | None = None
    first_stream_post_queue_wait_ms: Number | None = None
    first_stream_post_queued_behind: str | None = None
    first_stream_post_wall_ms: Number | None = None
    first_text_post_ms: Number | None = None
    first_text_post_queue_wait_ms: Number | None = None
    first_text_post_queued_behind: str | None = None
    first_text_post_wall_ms: Number | None = None
    time_origin_ms: Number | None = None
    warm_spare_claimed: bool | None = None
    key: str | None = None
    agentId: str | None = None
    toolsUsed: list[str] | None = None
    remoteControlDeviceReport: Any = None


class StreamEvent(StreamRecord):
    """A part of a message in progress."""

    type: str = "stream_event"
    event: AnyEvent = None
    api_message_id: str | None = None
    ttft_ms: Number | None = None
    thinking_display: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    resume_reason: str | None = None


_stream = partial(declare, StreamRecord, __name__)
_stream("rate_limit_event", "A rate limit that is near or reached.", rate_limit_info=RateLimit)
_stream(
    "tool_progress",
    "The progress of a running call.",
    "tool_use_id tool_name task_id subagent_type",
    elapsed_time_seconds=Number,
    heartbeat=bool,
    subagent_retry=dict[str, Any],
)
_stream("tool_use_summary", "A one-sentence summary of some calls.", "summary", preceding_tool_use_ids=list[str])
_stream("auth_status", "The progress of logging in.", "error", isAuthenticating=bool, output=list[str])
_stream("prompt_suggestion", "A suggested next prompt.", "suggestion")
_stream(
    "conversation_reset",
    "The start of a new conversation in the same process.",
    "new_conversation_id trigger user_message_uuid",
)
_stream("active_goal", "The goal being pursued, or none.", value=Goal)
_stream("keep_alive", "A keep-alive message.")
_stream(
    "control_request",
    "A request from the client to its host or back; has many kinds, none of them part of a transcript.",
    "request_id",
    request=dict[str, Any],
)
_stream("control_response", "The answer to a control request.", response=dict[str, Any])
_stream("control_cancel_request", "The cancellation of a control request.", "request_id")
_stream("streamlined_text", "Text in a shortened stream.", "text")
_stream("streamlined_tool_use_summary", "Calls in a shortened stream.", "tool_summary")
_stream("transcript_mirror", "Records of the transcript, as they are written.", "filePath", entries=NestedEntry)
_event = partial(declare, EventPayload, __name__)
_event("message_start", "The start of a message.", message=Response)
_event("content_block_start", "The start of a block.", index=int, content_block=Content)
_event("content_block_delta", "An addition to a block.", index=int, delta=Delta)
_event("content_block_stop", "The end of a block.", index=int)
_event(
    "message_delta",
    "The stop reason and final usage of a message.",
    delta=Delta,
    usage=ApiUsage,
    context_management=ContextManagement,
    input_transformations=list[InputTransformation],
)
_event("message_stop", "The end of a message.")
_event("ping", "A keep-alive event of the API.")
_event("error", "An error that ended the response.", error=ErrorDetail)


PAYLOADS[StreamEvent] = ("event", EVENTS)


class McpServer(BlockPart):
    """An MCP server and its status."""

    name: str | None = None
    status: str | None = None
    source: str | None = None


class Plugin(BlockPart):
    """A loaded plugin."""

    name: str | None = None
    path: str | None = None
    source: str | None = None
    version: str | None = None


class PluginError(BlockPart):
    """A plugin that failed to load."""

    plugin: str | None = None
    type: str | None = None
    message: str | None = None
    path: str | None = None
    managed_lock: dict[str, Any] | None = None


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


class Command(BlockPart):
    """A slash command."""

    name: str | None = None
    description: str | None = None
    argumentHint: str | None = None
    aliases: list[str] | None = None
    builtin: bool | None = None


PersistedFile = _part("PersistedFile", "A file that was uploaded, or failed to upload.", "filename file_id error")
Memory = _part("Memory", "A memory file.", "path scope content")
MirrorKey = _part("MirrorKey", "The mirrored transcript.", "projectKey sessionId subpath")


class SystemInit(System):
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
