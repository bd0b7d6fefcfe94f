"""Prompts, responses, errors and requests, as sent to and received from the API."""

from __future__ import annotations

from typing import Any

from reread.records.blocks import BlockPart, Content
from reread.records.types.usage import ApiUsage


class StopDetails(BlockPart):
    """Why the API refused."""

    type: str | None = None
    category: str | None = None
    explanation: str | None = None
    recommended_model: str | None = None
    fallback_credit_token: str | None = None
    fallback_has_prefill_claim: bool | None = None


class Skill(BlockPart):
    """A skill loaded into a container."""

    skill_id: str | None = None
    type: str | None = None
    version: str | None = None


class Container(BlockPart):
    """The sandbox that ran code for a response."""

    id: str | None = None
    expires_at: str | None = None
    skills: list[Skill] | None = None


class AppliedEdit(BlockPart):
    """The content that the API removed from the context."""

    type: str | None = None
    cleared_input_tokens: int | None = None
    cleared_thinking_turns: int | None = None
    cleared_tool_uses: int | None = None


class ContextManagement(BlockPart):
    """The context edits that the API applied."""

    applied_edits: list[AppliedEdit] | None = None


class CacheMiss(BlockPart):
    """Why the prompt was not in the cache."""

    type: str | None = None
    cache_missed_input_tokens: int | None = None


class Diagnostics(BlockPart):
    """The API's diagnostics of prompt caching."""

    cache_miss_reason: CacheMiss | None = None


class InputTransformation(BlockPart):
    """A change that the API made to the request."""

    type: str | None = None
    path: str | None = None
    reason: str | None = None


class Response(BlockPart):
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


class OutputConfig(BlockPart):
    """The effort requested from the model."""

    effort: str | None = None


class Prompt(BlockPart):
    """A message sent to the API."""

    id: str | None = None
    type: str | None = None
    role: str | None = None
    content: Content = None
    output_config: OutputConfig | None = None


class CacheMark(BlockPart):
    """A cache breakpoint of a request."""

    path: list[Any] | None = None
    value: dict[str, Any] | None = None
