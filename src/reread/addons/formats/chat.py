"""Conversations for training, as TRL reads them: `messages` and `tools`, one conversation a line.

https://huggingface.co/docs/trl/dataset_formats
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from reread.addons.formats._model_context import (
    ASSISTANT,
    SYSTEM,
    USER,
    ModelContext,
    Setup,
    arguments_of,
    chosen_messages,
    heard,
    output_text,
    refuse_choice,
    setup_of,
)
from reread.base import jsontext
from reread.model.conversation import Agent, Conversation
from reread.reader.export_formats import ExportFormat
from reread.render.selection import Selection
from reread.session.session import Session

TOOL = "tool"


def session_chat(session: Session, selection: Selection) -> Iterator[bytes]:
    """The conversation of a session, and of each agent, as a line of JSON."""
    refuse_choice(selection, "chat", turns=True)
    conversations: list[Conversation] = [session.conversation]
    if not selection.is_excerpt:
        conversations += session.agents.values()
    for conversation in conversations:
        setup = setup_of(conversation)
        own = selection.for_agents if isinstance(conversation, Agent) else selection
        said = chat_messages(heard(chosen_messages(conversation, own), selection))
        if any(message["role"] == ASSISTANT for message in said):
            agent = conversation.id if isinstance(conversation, Agent) else None
            yield chat_line({"messages": [*system_messages(setup), *said]}, setup, session, agent=agent)


def chat_line(columns: dict[str, Any], setup: Setup, session: Session, **more: Any) -> bytes:
    """Return a line of a data set; tools are JSON text, since their schemas have no columns in common."""
    tools = jsontext.dumps(list(setup.tools)).decode()
    return jsontext.dumps({**columns, "tools": tools, "session": session.id, **more}) + b"\n"


def system_messages(setup: Setup) -> list[dict[str, Any]]:
    """Return the system prompt as a message, if it is known."""
    return [{"role": SYSTEM, "content": setup.system}] if setup.system else []


def chat_messages(said: Iterable[ModelContext]) -> list[dict[str, Any]]:
    """Return messages by role: one for each response and each result, and one for what was said between them."""
    out: list[dict[str, Any]] = []
    for one in said:
        if one.role == ASSISTANT:
            out += _answer(one)
        elif one.role == USER and one.text:
            if out and out[-1]["role"] == USER:
                out[-1]["content"] += f"\n\n{one.text}"
            else:
                out.append({"role": USER, "content": one.text})
    return out


def _answer(one: ModelContext) -> Iterator[dict[str, Any]]:
    """Yield a response, then the results of its calls; a call without one has an empty result."""
    message: dict[str, Any] = {"role": ASSISTANT, "content": one.text}
    if one.thinking:
        message["reasoning_content"] = one.thinking
    ids = [call.id or f"call_{call.index}" for call in one.calls]
    if one.calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": call.name, "arguments": arguments_of(call)}}
            for id, call in zip(ids, one.calls, strict=True)
        ]
    yield message
    for id, call in zip(ids, one.calls, strict=True):
        yield {"role": TOOL, "tool_call_id": id, "name": call.name, "content": output_text(call) or ""}


FORMAT = ExportFormat(
    session_chat,
    about="conversations: `messages` and `tools`, one per line",
    readers="`datasets`, TRL's SFT trainer, chat templates",
)
