"""The input and the answers of the model, as far as a transcript has them: the common ground of all formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from reread.base.coerce import as_dict, as_list, as_str
from reread.base.text import as_text
from reread.errors import Misuse
from reread.model import parts as p
from reread.model.conversation import Call, Conversation, Message
from reread.model.value_texts import block_text
from reread.records import blocks as b
from reread.render.selection import Selection, selected_turns

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"
RESPONSE = "response"
PICTURE = "[image]"
"""The text for a picture: formats of text have no place for one."""


class Setup(NamedTuple):
    """The setup of the model."""

    system: str = ""
    """The system prompt; empty if the transcript does not have it."""
    tools: Sequence[dict[str, Any]] = ()
    """The definitions of tools, each as a function in the schema of OpenAI; only its name if no more is known."""


def setup_of(conversation: Conversation) -> Setup:
    """Return the system prompt and the tools: those of the first request, and tools that came later."""
    systems: list[str] = []
    tools: dict[str, dict[str, Any]] = {}
    named: dict[str, dict[str, Any]] = {}
    for record in conversation.records:
        if record.type == "api-request-shape":
            shape = as_dict(record.native.get("shape"))
            system, defined = shape.get("system"), shape.get("tools")
        elif record.type == "attachment":
            payload = as_dict(record.native.get("attachment"))
            if payload.get("type") != "prompt_snapshot":
                continue
            system, defined = payload.get("systemPrompt"), payload.get("tools")
        elif record.type == "system" and record.native.get("subtype") == "init":
            names = [name for name in as_list(record.native.get("tools")) if isinstance(name, str)]
            named |= {name: {"type": "function", "function": {"name": name}} for name in names}
            continue
        else:
            continue
        systems += [_joined(system)] if system else []
        for tool in map(as_dict, cast(list[Any], defined) if isinstance(defined, list) else ()):
            name = as_str(tool.get("name"))
            if name:
                tools.setdefault(name, _function(name, tool))
    return Setup(max(systems[:2], key=len, default=""), list((named | tools).values()))


def _joined(system: Any) -> str:
    """Return a system prompt as text: it is one, or a list of texts or blocks."""
    texts = cast(list[Any], system) if isinstance(system, list) else [system]
    return "\n\n".join(text for text in (_text(item) for item in texts) if text)


def _text(item: Any) -> str:
    return item if isinstance(item, str) else as_str(as_dict(item).get("text")) or ""


def _function(name: str, tool: dict[str, Any]) -> dict[str, Any]:
    schema = as_dict(tool.get("input_schema") or tool.get("inputSchema")) or {"type": "object", "properties": {}}
    function = {"name": name, "description": as_str(tool.get("description")) or "", "parameters": schema}
    return {"type": "function", "function": function}


class ModelContext(NamedTuple):
    """One message, as the model heard or said it."""

    message: Message
    role: str
    """user, assistant, or system for what the client noted and the model was not told."""
    text: str
    thinking: str = ""
    calls: Sequence[Call] = ()
    orphans: Sequence[str] = ()
    """Results of calls that the transcript does not have."""


def heard(messages: Iterable[Message], selection: Selection) -> Iterator[ModelContext]:
    """Yield messages with what they say; those that say nothing are left out."""
    for message in messages:
        one = _heard(message, selection)
        if one.text or one.thinking or one.calls or one.orphans or message.usage.responses:
            yield one


def _heard(message: Message, selection: Selection) -> ModelContext:
    parts = list(p.message_parts(message))
    others = [block for part in parts if isinstance(part, p.MessageBlocks) for block in part.blocks]
    attached = [block for index in message.attached for block in message.bodies.content(index)]
    orphans = [block_content(block) for block in (*others, *attached) if isinstance(block, b.ResultBlock)]
    placed = [_piece(block) for block in others if not isinstance(block, b.ResultBlock)]
    if message.kind == RESPONSE:
        texts = [part.text for part in parts if isinstance(part, p.MessageText)]
        thoughts = [part.text for part in parts if isinstance(part, p.MessageThinking)] if selection.thinking else []
        return ModelContext(
            message, ASSISTANT, _paragraphs(texts + placed), _paragraphs(thoughts), message.calls, orphans
        )
    role = USER if message.role == USER else SYSTEM
    return ModelContext(message, role, _paragraphs([message.full_text or message.text, *placed]), orphans=orphans)


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())


def arguments_of(call: Call) -> dict[str, Any]:
    """Return the input of a call as an object."""
    given = call.input
    return cast(dict[str, Any], given) if isinstance(given, dict) else {} if given is None else {"input": given}


def output_text(call: Call) -> str | None:
    """Return the text of a call's result; None if it has none."""
    return block_content(call.result) if call.result is not None else None


def block_content(block: b.Block) -> str:
    """Return the content of a result as text."""
    content: Any = getattr(block, "content", None)
    if isinstance(content, str | None):
        return content or ""
    return _paragraphs(map(_piece, b.to_blocks(content)))


def _piece(block: b.Block) -> str:
    if isinstance(block, b.Text):
        return as_text(block.text)
    return PICTURE if isinstance(block, b.Image) else block_text(block)


def chosen_messages(conversation: Conversation, selection: Selection) -> list[Message]:
    """Return the messages of the selected turns."""
    return [message for turn in selected_turns(conversation, selection) for message in turn.messages]


def refuse_choice(selection: Selection, form: str, *, turns: bool = False) -> None:
    """Raise Misuse if a selection leaves out what a format cannot be without."""
    if not selection.tools or selection.only is not None or selection.chooses_calls:
        raise Misuse(f"Cannot leave out tools or texts in {form}; use -f json.")
    if not turns and selection.is_excerpt:
        raise Misuse(f"Cannot select turns or branches in {form}; use -f json.")
