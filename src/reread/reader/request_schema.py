"""The values of a session's API requests; the TypeScript types are generated from these."""

from __future__ import annotations

from datetime import datetime

from reread.base.choices import RequestProof
from reread.reader.schema import CutNode, Value
from reread.session.context_parts import Context
from reread.tools.nodes import Node


class RequestContext(Value, frozen=True):
    """The content of a context, and its place among the requests of its thread."""

    context: Context
    requests: int
    """How many requests the client noted; 0 if none, and the context is an estimate."""
    cache_breaks: list[str]
    """What the request had to write to the cache again, and why: at most one line."""


class RequestInfo(Value, frozen=True):
    """A request in the list of requests."""

    number: int
    """Counted from 1 in its thread."""
    turn: int | None
    time: datetime | None
    model: str | None
    purpose: str | None
    """What the client sent it for: sdk, repl_main_thread, agent:…"""
    tokens: int | None
    """Tokens of the prompt, as the API reported them; None if nothing answered."""
    read_tokens: int
    """Those that were read from the cache."""
    output_tokens: int
    cache_breaks: list[str]


class RequestList(Value, frozen=True):
    """Some of the requests of a thread."""

    start: int
    total: int
    requests: list[RequestInfo]


class RequestBody(Value, frozen=True):
    """A request as nodes: what it has more than the one before it, or all of it."""

    info: RequestInfo
    requests: int
    proof: RequestProof
    """Whether the client's digest proves it, or why it does not."""
    missing: list[str]
    nodes: list[Node]
    cut: list[CutNode]
