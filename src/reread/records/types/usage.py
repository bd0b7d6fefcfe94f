"""Tokens and cost of responses, models, tasks and sessions."""

from __future__ import annotations

from typing import Any

from reread.records.blocks import BlockPart, Number


class CacheCreation(BlockPart):
    """Tokens written to the cache, by lifetime."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerToolUsage(BlockPart):
    """Number of runs of the API's own tools."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class OutputTokensDetails(BlockPart):
    """The uses of output tokens."""

    thinking_tokens: int | None = None


class CreditStatus(BlockPart):
    """Whether a fallback credit was redeemed."""

    type: str | None = None
    reason: str | None = None
    remove_to_redeem: list[str] | None = None


class FallbackCredit(BlockPart):
    """The outcome of a fallback credit token."""

    status: CreditStatus | None = None


class Iteration(BlockPart):
    """The tokens of one sampling step of a response."""

    type: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None


class ApiUsage(BlockPart):
    """The tokens of one API response, as written in the record."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerToolUsage | None = None
    output_tokens_details: OutputTokensDetails | None = None
    iterations: list[Iteration] | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    fallback_credit: FallbackCredit | None = None


class ModelUsage(BlockPart):
    """The usage and cost of one model, summed up by the client."""

    inputTokens: int | None = None
    outputTokens: int | None = None
    thinkingTokens: int | None = None
    cacheReadInputTokens: int | None = None
    cacheCreationInputTokens: int | None = None
    cacheCreationEphemeral5mInputTokens: int | None = None
    cacheCreationEphemeral1hInputTokens: int | None = None
    webSearchRequests: int | None = None
    costUSD: Number | None = None
    costBasis: str | None = None
    contextWindow: int | None = None
    maxOutputTokens: int | None = None
    canonicalModel: str | None = None
    provider: str | None = None


class ContextShare(BlockPart):
    """One part of the context."""

    name: str | None = None
    kind: str | None = None
    path: str | None = None
    type: str | None = None
    agent_type: str | None = None
    source: str | None = None
    server_name: str | None = None
    plugin_name: str | None = None
    tokens: int | None = None


class OverLimit(BlockPart):
    """By how much the context is over its limit."""

    kind: str | None = None
    tokens_over: int | None = None


class ContextUsage(BlockPart):
    """The content of the context window, in tokens."""

    model: str | None = None
    total_tokens: int | None = None
    raw_max_tokens: int | None = None
    percentage: Number | None = None
    over_limit: OverLimit | None = None
    categories: list[ContextShare] | None = None
    mcp_tools: list[ContextShare] | None = None
    memory_files: list[ContextShare] | None = None
    agents: list[ContextShare] | None = None
    skills: list[ContextShare] | None = None


class SessionTotals(BlockPart):
    """The cost of a session so far."""

    total_cost_usd: Number | None = None
    total_api_duration_ms: Number | None = None
    total_duration_ms: Number | None = None
    total_lines_added: int | None = None
    total_lines_removed: int | None = None
    model_usage: dict[str, ModelUsage] | None = None


class UsageInfo(BlockPart):
    """The answer to a question about usage."""

    session: SessionTotals | None = None
    rate_limits: dict[str, Any] | None = None
