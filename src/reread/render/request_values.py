"""The JSON of an API request, of a context, and their JSON Schema."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from reread.base.choices import RequestProof
from reread.base.structs import copied
from reread.model.conversation import Request
from reread.render.json_values import described_schema
from reread.session.context_parts import Context, ContextPart


class CacheMarkValue(msgspec.Struct, frozen=True, kw_only=True):
    """A place up to which a request asked the API to keep what it read."""

    path: list[str | int]
    """The way to the block: messages, 3, content, 0."""
    value: dict[str, Any]
    """The mark as sent."""


class RequestValue(msgspec.Struct, frozen=True, kw_only=True):
    """An API request, rebuilt from the transcript."""

    number: int
    """Its position among the requests of its thread, from 1."""
    id: str
    """The client's id for it."""
    timestamp: datetime | None
    """When it was sent."""
    turn: int | None
    """The turn in which it was sent."""
    response: str | None
    """The id of the response to it; null if there is none."""
    agent: str | None
    """The agent that sent it; null for the main thread."""
    query_source: str | None
    """The purpose of the request: sdk, repl_main_thread, agent:…"""
    verified: bool
    """True if the digest that the client wrote proves what was rebuilt."""
    proof: RequestProof
    """verified, or why it is not: no_digest (the client wrote none), incomplete (parts are missing), different."""
    missing: list[str]
    """The parts that were sent and cannot be rebuilt, each in words."""
    params: dict[str, Any]
    """Its other fields: model, max_tokens, thinking, betas …"""
    system: list[Any]
    """The blocks of its system prompt."""
    tools: list[Any]
    """The definitions of its tools."""
    messages: list[dict[str, Any] | None]
    """Its messages; a text alone is one block. Null stands for one that is missing."""
    cache_marks: list[CacheMarkValue]
    """Its cache marks."""


def request_value(request: Request) -> RequestValue:
    """Return a request as JSON."""
    turn, response, agent = request.turn, request.response, request.agent
    marks = [CacheMarkValue(path=mark.path or [], value=mark.value or {}) for mark in request.cache_marks]
    return copied(
        RequestValue,
        request,
        turn=turn.index if turn is not None else None,
        response=response.id if response is not None else None,
        agent=agent.id if agent is not None else None,
        cache_marks=marks,
    )


def request_schema() -> dict[str, Any]:
    """Return the JSON Schema of `show --request -f json`."""
    return described_schema(
        "An API request as `reread show --request N -f json` prints it", RequestValue, CacheMarkValue
    )


def context_schema() -> dict[str, Any]:
    """Return the JSON Schema of `context --json`."""
    return described_schema("A context as `reread context --json` prints it", Context, ContextPart)
