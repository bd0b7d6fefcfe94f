"""Records that occur only in streams, and the API events inside them."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from reread.records.blocks import BlockPart, Number
from reread.records.types.base import StreamRecord, System
from reread.records.types.messages import Origin
from reread.records.types.registry import EVENTS, PAYLOADS
from reread.records.types.usage import ApiUsage, ModelUsage

AnyEvent: TypeAlias = Annotated[Any, Meta(extra={"contains": "event"}, extra_json_schema={"$ref": "#/$defs/AnyEvent"})]
"""One of the structs in EVENTS, by its `type`."""


class PermissionDenial(BlockPart):
    """A call that was denied."""

    tool_name: str | None = None
    tool_use_id: str | None = None
    tool_input: dict[str, Any] | None = None


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


class Command(BlockPart):
    """A slash command."""

    name: str | None = None
    description: str | None = None
    argumentHint: str | None = None
    aliases: list[str] | None = None
    builtin: bool | None = None


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
