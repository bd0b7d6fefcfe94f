"""The attributes of a span by OpenInference, the conventions that Phoenix draws, beside those of OpenTelemetry.

https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md
"""

from __future__ import annotations

from typing import Any

from reread.addons.formats._model_context import ASSISTANT, ModelContext, arguments_of, output_text
from reread.base import jsontext
from reread.model.conversation import Call

KIND, SESSION = "openinference.span.kind", "session.id"
JSON = "application/json"


def agent_attributes(session: str, name: str, heard: list[ModelContext]) -> dict[str, Any]:
    """Return those of an agent, or of the session itself: what it was asked first, and what it answered last."""
    asked = next((one.text for one in heard if one.role != ASSISTANT and one.text), None)
    answered = next((one.text for one in reversed(heard) if one.role == ASSISTANT and one.text), None)
    return {KIND: "AGENT", SESSION: session, "agent.name": name, "input.value": asked, "output.value": answered}


def response_attributes(session: str, one: ModelContext, asked: ModelContext | None, provider: str) -> dict[str, Any]:
    """Return those of a response: tokens, what it answers, and what it says and calls."""
    usage = one.message.usage
    said = "llm.output_messages.0.message"
    out: dict[str, Any] = {
        KIND: "LLM",
        SESSION: session,
        "llm.model_name": one.message.model,
        "llm.provider": provider,
        "llm.system": provider,
        "llm.token_count.prompt": usage.tokens - usage.output_tokens,
        "llm.token_count.completion": usage.output_tokens,
        "llm.token_count.total": usage.tokens,
        "llm.token_count.prompt_details.cache_read": usage.cache_read_tokens,
        "llm.token_count.prompt_details.cache_write": usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
        "output.value": one.text or None,
        f"{said}.role": ASSISTANT,
        f"{said}.content": one.text or None,
    }
    if asked is not None and asked.text:
        heard = "llm.input_messages.0.message"
        out |= {"input.value": asked.text, f"{heard}.role": asked.role, f"{heard}.content": asked.text}
    for number, call in enumerate(one.calls):
        place = f"{said}.tool_calls.{number}.tool_call"
        out[f"{place}.id"] = call.id
        out[f"{place}.function.name"] = call.name
        out[f"{place}.function.arguments"] = _json(arguments_of(call))
    return out


def call_attributes(session: str, call: Call) -> dict[str, Any]:
    """Return those of a call: its tool, input and output."""
    return {
        KIND: "TOOL",
        SESSION: session,
        "tool.name": call.name,
        "tool_call.id": call.id,
        "input.value": _json(arguments_of(call)),
        "input.mime_type": JSON,
        "output.value": output_text(call),
    }


def _json(value: Any) -> str:
    return jsontext.dumps(value).decode()
