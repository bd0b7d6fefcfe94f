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
from reread.records.types.base import EventPayload, NestedEntry, StreamRecord, declare, part
from reread.records.types.messages import Origin
from reread.records.types.registry import EVENTS, PAYLOADS
from reread.records.types.usage import ApiUsage, ModelUsage

AnyEvent: TypeAlias = Annotated[Any, Meta(extra={"contains": "event"}, extra_json_schema={"$ref": "#/$defs/AnyEvent"})]
"""One of the structs in EVENTS, by its `type`."""


class PermissionDenial(BlockPart, frozen=True, kw_only=True):
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


class DeferredToolUse(BlockPart, frozen=True, kw_only=True):
    """A call that was deferred."""

    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None


class SubagentStats(BlockPart, frozen=True, kw_only=True):
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


class Result(StreamRecord, frozen=True, kw_only=True):
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


class StreamEvent(StreamRecord, frozen=True, kw_only=True):
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
