"""Tokens: what each API response cost, counted once."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from reread.heads import UsageHead


class UsageRow(msgspec.Struct, frozen=True, gc=False):
    """The usage that one record states for a request."""

    request: str | None
    usage: UsageHead
    stop_reason: str | None

    def beats(self, other: UsageRow) -> bool:
        """A row that says why the response ended first, then the one with more output, then the later one."""
        mine = (self.stop_reason is not None, self.usage.output_tokens or 0)
        return mine >= (other.stop_reason is not None, other.usage.output_tokens or 0)


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one or many responses."""

    responses: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_read_tokens: int = 0
    web_searches: int = 0
    unconfirmed_responses: int = 0
    """Responses none of whose rows says that they ended: their output is a lower bound."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(a + b for a, b in zip(*map(msgspec.structs.astuple, (self, other)), strict=True)))


def row_usage(row: UsageRow) -> Usage:
    """The tokens that one winning row stands for."""
    usage = row.usage
    writes = usage.cache_creation
    hour = (writes.ephemeral_1h_input_tokens or 0) if writes else 0
    five = (writes.ephemeral_5m_input_tokens or 0) if writes else 0
    written = max(usage.cache_creation_input_tokens or 0, five + hour)
    tools = usage.server_tool_use
    return Usage(
        responses=1,
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cache_write_5m_tokens=written - hour,
        cache_write_1h_tokens=hour,
        cache_read_tokens=usage.cache_read_input_tokens or 0,
        web_searches=(tools.web_search_requests or 0) if tools else 0,
        unconfirmed_responses=int(row.stop_reason is None),
    )


def total(parts: Iterable[Usage]) -> Usage:
    """The sum of several usages."""
    return sum(parts, Usage())
