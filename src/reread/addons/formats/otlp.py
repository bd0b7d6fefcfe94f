"""A session as a trace of OpenTelemetry, in the JSON encoding of OTLP: one trace, with a span for each model call,
tool call and agent, named and described by the semantic conventions for generative AI, and by those of OpenInference.

https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

import msgspec

from reread.addons.formats._model_context import (
    ASSISTANT,
    ModelContext,
    arguments_of,
    heard,
    output_text,
    refuse_choice,
    setup_of,
)
from reread.addons.formats._openinference import agent_attributes, call_attributes, response_attributes
from reread.base import jsontext
from reread.base.version import __version__
from reread.model.conversation import Agent, Call, Conversation
from reread.reader.export_formats import ExportFormat
from reread.render.selection import Selection
from reread.session.session import Session

INTERNAL, CLIENT = 1, 3
ERROR = 2
PROVIDER, NAME = "anthropic", "claude-code"
NS_PER_MS = 1_000_000


def session_otlp(session: Session, selection: Selection) -> Iterator[bytes]:
    """A session as one `ExportTraceServiceRequest`."""
    refuse_choice(selection, "otlp")
    trace = _hex(16, "trace", session.id)
    about = {"service.name": NAME, "service.version": session.versions[-1] if session.versions else None}
    scope = {"name": "reread", "version": __version__}
    scoped: dict[str, Any] = {"scope": scope, "spans": []}
    request = {"resourceSpans": [{"resource": {"attributes": _attributes(about)}, "scopeSpans": [scoped]}]}
    opening, _, closing = jsontext.dumps(request).rpartition(b"[]")
    yield opening + b"["
    for n, span in enumerate(_Trace(session, selection).spans):  # one at a time: as JSON, it is many times as large
        yield (b"," if n else b"") + jsontext.dumps(span.value(trace))
    yield b"]" + closing + b"\n"


class _Span(msgspec.Struct, eq=False, kw_only=True):
    """One span; times are nanoseconds since 1970, or 0 if unknown."""

    id: str
    name: str
    parent: _Span | None
    kind: int
    start: int
    end: int
    attributes: Mapping[str, Any]
    error: str | None = None

    def value(self, trace: str) -> dict[str, Any]:
        """Return it as JSON."""
        status = {} if self.error is None else {"code": ERROR, "message": self.error}
        above = {"parentSpanId": self.parent.id} if self.parent is not None else {}
        return {
            "traceId": trace,
            "spanId": self.id,
            **above,
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": str(self.start),
            "endTimeUnixNano": str(self.end),
            "attributes": _attributes(self.attributes),
            "status": status,
        }

    def include(self, other: _Span) -> None:
        """Last as long as another span does."""
        self.end = max(self.end, other.end)
        self.start = min(self.start, other.start) if self.start and other.start else self.start or other.start


class _Trace:
    """The spans of a session; each comes after the one that contains it."""

    def __init__(self, session: Session, selection: Selection) -> None:
        self.spans: list[_Span] = []
        self._session = session
        self._selection = selection
        self._responses: set[str] = set()
        self._placed: set[str] = set()
        self._waiting: list[tuple[Agent, _Span]] = []
        root = self._add_agent(session.conversation, None)
        self._add_conversation(session.conversation, root)
        self._add_waiting()
        for agent in session.agents.values():
            self._place(agent, root)  # no call is known to have started it
            self._add_waiting()
        for span in reversed(self.spans):
            if span.parent is not None:
                span.parent.include(span)

    def _place(self, agent: Agent, parent: _Span) -> None:
        """Have an agent added below a span, unless it is already."""
        if agent.id not in self._placed:
            self._placed.add(agent.id)
            self._waiting.append((agent, parent))

    def _add_waiting(self) -> None:
        while self._waiting:
            agent, parent = self._waiting.pop()
            self._add_conversation(agent, self._add_agent(agent, parent))

    def _add(self, key: str, name: str, parent: _Span | None, **fields: Any) -> _Span:
        id = _hex(8, self._session.id, parent.id if parent is not None else "", key)
        span = _Span(id=id, name=name, parent=parent, **fields)
        span.end = max(span.start, span.end)
        self.spans.append(span)
        return span

    def _add_agent(self, conversation: Conversation, parent: _Span | None) -> _Span:
        agent = conversation if isinstance(conversation, Agent) else None
        stamps = (_ns(message.timestamp) for message in conversation.messages)
        start = next(filter(None, stamps), parent.start if parent is not None else 0)
        name = (agent.type if agent is not None else None) or NAME
        setup, models = setup_of(conversation), conversation.metadata.models
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": PROVIDER,
            "gen_ai.agent.name": name,
            "gen_ai.agent.id": agent.id if agent is not None else None,
            "gen_ai.conversation.id": self._session.id,
            "gen_ai.request.model": models[0] if models else None,
            "gen_ai.system_instructions": _json([_part("text", setup.system)]) if setup.system else None,
            "gen_ai.tool.definitions": _json(list(setup.tools)) if setup.tools else None,
            **agent_attributes(self._session.id, name, list(heard(conversation.messages, self._selection))),
        }
        key = f"agent {agent.id}" if agent is not None else "session"
        return self._add(
            key, f"invoke_agent {name}", parent, kind=INTERNAL, start=start, end=start, attributes=attributes
        )

    def _add_conversation(self, conversation: Conversation, parent: _Span) -> None:
        """Add a span for each response and each call; a response starts when what it answers was written."""
        before = parent.start
        asked: ModelContext | None = None
        for one in heard(conversation.messages, self._selection):
            at = _ns(one.message.timestamp) or before
            if one.role != ASSISTANT or one.message.id in self._responses:
                before = max(before, at)
                asked = one if one.role != ASSISTANT else asked
                continue
            self._responses.add(one.message.id)
            end = max([at, *(_ns(one.message.bodies.time(index)) for index in one.message.records)])
            self._add_response(one, asked, parent, min(before, at), end)
            asked = None
            before = max([end, *(self._add_call(call, parent, end).end for call in one.calls)])

    def _add_response(self, one: ModelContext, asked: ModelContext | None, parent: _Span, start: int, end: int) -> None:
        message, usage = one.message, one.message.usage
        parts = [_part("reasoning", one.thinking)] if one.thinking else []
        parts += [_part("text", one.text)] if one.text else []
        parts += [
            {"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments_of(call)}
            for call in one.calls
        ]
        reason = message.stop_reason
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": PROVIDER,
            "gen_ai.conversation.id": self._session.id,
            "gen_ai.request.model": message.model,
            "gen_ai.response.model": message.model,
            "gen_ai.response.id": message.id,
            "gen_ai.response.finish_reasons": [reason] if reason else None,
            "gen_ai.usage.input_tokens": usage.tokens - usage.output_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
            "gen_ai.output.messages": _json([{"role": ASSISTANT, "parts": parts, "finish_reason": reason or ""}]),
            **response_attributes(self._session.id, one, asked, PROVIDER),
        }
        name = f"chat {message.model}" if message.model else "chat"
        self._add(f"response {message.index}", name, parent, kind=CLIENT, start=start, end=end, attributes=attributes)

    def _add_call(self, call: Call, parent: _Span, now: int) -> _Span:
        """Add the span of a call; the agents that it started are added below it later."""
        start, failed = _ns(call.started) or now, call.ok is False
        span = self._add(
            f"call {call.index}",
            f"execute_tool {call.name}",
            parent,
            kind=INTERNAL,
            start=start,
            end=_ns(call.ended),
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.call.arguments": _json(arguments_of(call)),
                "gen_ai.tool.call.result": output_text(call),
                "error.type": call.state if failed else None,
                **call_attributes(self._session.id, call),
            },
            error=(call.error or call.state) if failed else None,
        )
        for agent in call.agents:
            self._place(agent, span)
        return span


def _ns(when: datetime | None) -> int:
    """Return nanoseconds since 1970; 0 if unknown."""
    return max(0, round(when.timestamp() * 1000)) * NS_PER_MS if when is not None else 0


def _hex(size: int, *words: str) -> str:
    return hashlib.blake2b("\n".join(words).encode("utf-8", "replace"), digest_size=size).hexdigest()


def _json(value: Any) -> str:
    return jsontext.dumps(value).decode()


def _part(type: str, text: str) -> dict[str, Any]:
    return {"type": type, "content": text}


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in cast(list[Any], value)]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}


FORMAT = ExportFormat(
    session_otlp,
    about="an OpenTelemetry trace in JSON",
    readers="collectors, tracing back ends",
)
