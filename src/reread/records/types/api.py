"""Prompts, responses, errors and requests, as sent to and received from the API."""

from __future__ import annotations

from typing import Any

from reread.records.blocks import BlockPart, Content, Number
from reread.records.types.usage import ApiUsage


class StopDetails(BlockPart, frozen=True, kw_only=True):
    """Why the API refused."""

    type: str | None = None
    category: str | None = None
    explanation: str | None = None
    recommended_model: str | None = None
    fallback_credit_token: str | None = None
    fallback_has_prefill_claim: bool | None = None


class Skill(BlockPart, frozen=True, kw_only=True):
    """A skill loaded into a container."""

    skill_id: str | None = None
    type: str | None = None
    version: str | None = None


class Container(BlockPart, frozen=True, kw_only=True):
    """The sandbox that ran code for a response."""

    id: str | None = None
    expires_at: str | None = None
    skills: list[Skill] | None = None


class AppliedEdit(BlockPart, frozen=True, kw_only=True):
    """The content that the API removed from the context."""

    type: str | None = None
    cleared_input_tokens: int | None = None
    cleared_thinking_turns: int | None = None
    cleared_tool_uses: int | None = None


class ContextManagement(BlockPart, frozen=True, kw_only=True):
    """The context edits that the API applied."""

    applied_edits: list[AppliedEdit] | None = None


class CacheMiss(BlockPart, frozen=True, kw_only=True):
    """Why the prompt was not in the cache."""

    type: str | None = None
    cache_missed_input_tokens: int | None = None


class Diagnostics(BlockPart, frozen=True, kw_only=True):
    """The API's diagnostics of prompt caching."""

    cache_miss_reason: CacheMiss | None = None


class InputTransformation(BlockPart, frozen=True, kw_only=True):
    """A change that the API made to the request."""

    type: str | None = None
    path: str | None = None
    reason: str | None = None


class Response(BlockPart, frozen=True, kw_only=True):
    """An assistant message as returned by the API, or one block of it."""

    id: str | None = None
    type: str | None = None
    role: str | None = None
    model: str | None = None
    content: Content = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: StopDetails | None = None
    usage: ApiUsage | None = None
    container: Container | None = None
    context_management: ContextManagement | None = None
    diagnostics: Diagnostics | None = None
    input_transformations: list[InputTransformation] | None = None
    error: Any = None


class OutputConfig(BlockPart, frozen=True, kw_only=True):
    """The effort requested from the model."""

    effort: str | None = None


class Prompt(BlockPart, frozen=True, kw_only=True):
    """A message sent to the API."""

    id: str | None = None
    type: str | None = None
    role: str | None = None
    content: Content = None
    output_config: OutputConfig | None = None


class ErrorDetail(BlockPart, frozen=True, kw_only=True):
    """The innermost part of an API error."""

    type: str | None = None
    message: str | None = None
    details: Any = None


class ErrorBody(BlockPart, frozen=True, kw_only=True):
    """The body of an API error."""

    type: str | None = None
    error: ErrorDetail | None = None
    request_id: str | None = None
    message: str | None = None


class ThinkingConfig(BlockPart, frozen=True, kw_only=True):
    """The thinking requested from the model."""

    type: str | None = None
    display: str | None = None
    budget_tokens: int | None = None


class RequestParams(BlockPart, frozen=True, kw_only=True):
    """The parameters of an API request."""

    model: str | None = None
    max_tokens: int | None = None
    betas: list[str] | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    context_management: dict[str, Any] | None = None
    temperature: Number | None = None
    tool_choice: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    speed: str | None = None
    stop_sequences: list[str] | None = None


class CacheMark(BlockPart, frozen=True, kw_only=True):
    """A cache breakpoint of a request."""

    path: list[Any] | None = None
    value: dict[str, Any] | None = None


class ToolDefinition(BlockPart, frozen=True, kw_only=True):
    """A tool as described to the model."""

    type: str | None = None
    name: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    schema: dict[str, Any] | None = None
    server: str | None = None
    defer_loading: bool | None = None


class RequestShape(BlockPart, frozen=True, kw_only=True):
    """The system prompt and tools that many requests share."""

    system: Content = None
    tools: list[ToolDefinition] | None = None
