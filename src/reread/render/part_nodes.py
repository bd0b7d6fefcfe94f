"""Parts that are neither text, thinking nor calls as nodes, and all the nodes of a call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from reread import tools
from reread.base.coerce import as_dict
from reread.base.late_pattern import late_pattern
from reread.base.text import one_line
from reread.model import parts as p
from reread.model.conversation import Call
from reread.model.prompt_text import ASIDES, KINDS
from reread.model.record_kinds import own_fields, payload_of
from reread.records.blocks import Block
from reread.render.format import queued_text, result_text, session_start_text, setup_text
from reread.session.results import turn_result
from reread.tools import nodes as n
from reread.tools.generic import block_node
from reread.tools.unshown_fields import ShownText, leftover, leftover_nodes, missed_fields

TITLE = 80
"""Characters of a title at most."""
NAMES = ("displayPath", "filename", "path", "hookName", "name", "skillName")
"""The fields of an attachment that name it."""
_TAG = late_pattern(r"</?[a-z][\w-]*(?:\s[^<>]*)?>")
_CLIENT_TAG = late_pattern(rf"</?(?:{'|'.join(map(re.escape, (*KINDS, *ASIDES)))})>")
"""A tag of the client's own that says nothing more than its name."""


def part_nodes(part: p.MessagePart) -> list[n.Node]:
    """The nodes of a part that is neither text, thinking nor a call."""
    match part:
        case p.MessageBlocks():
            return _block_nodes(part.blocks)
        case p.MetaContext():
            return [*_prose(_CLIENT_TAG.sub("", part.text)), *_block_nodes(part.blocks)]
        case p.CommandOutput():
            return [n.Terminal(text=part.text)] if part.text.strip() else []
        case p.MessageAside():
            return [n.Prose(text=part.text)]
        case p.NotificationReport():
            return [*_prose(part.report or ""), *n.facts(**part.fields)]
        case p.NoticeDetails():
            return [n.Data(value=part.fields)]
        case p.MessageAttachment():
            return _attachment_nodes(part.payload)
        case p.TextCitations():
            return [n.Data(value=msgspec.to_builtins(part.citations))]
        case p.QueuedPrompt():
            note = [n.Note(text=queued_text(part))] if part.is_typed else []
            return [*note, *_prose(part.text), *_block_nodes(part.blocks)]
        case p.SessionStart():
            return [n.Note(text=session_start_text(part.session))]
        case p.ClientSetup():
            return [n.Data(value=part.fields)]
        case p.TurnEnd():
            result = turn_result(part.line, dict(part.record))
            note = n.Note(text=result_text(result), level="error" if result.is_error else "info")
            return [note, n.Section(title="result", nodes=[n.Data(value=own_fields(part.record))], open=False)]
        case _:
            raise TypeError(f"Unknown part: {type(part).__name__}")


def part_title(part: p.MessagePart) -> str:
    """The title under which a part stays closed; empty for a part that is open."""
    match part:
        case p.MetaContext():
            return one_line(_TAG.sub(" ", (part.message.text or part.text)[: 8 * TITLE]), TITLE) or "context"
        case p.MessageAside():
            return part.tag.replace("-", " ").replace("_", " ")
        case p.NotificationReport():
            return "report"
        case p.NoticeDetails():
            return "details"
        case p.TextCitations():
            return "sources"
        case p.QueuedPrompt():
            return "" if part.is_typed else queued_text(part)
        case p.ClientSetup():
            return setup_text(part.fields, part.before)
        case p.MessageAttachment():
            kind = part.payload.get("type") or part.payload.get("subtype")
            name = next((v for name in NAMES if isinstance(v := part.payload.get(name), str) and v), "")
            words = kind.replace("_", " ") if isinstance(kind, str) else "attached"
            return one_line(f"{words} {name}", TITLE).strip()
        case _:
            return ""


def missed_call_fields(call: Call, nodes: Sequence[n.Node]) -> list[str]:
    """The names of recorded values that a reader would miss in a call's title and these nodes."""
    return missed_fields(tools.left_out(call.tool_call, nodes, call.recorded), call.title)


def mark_details(part: p.SessionStart | p.ClientSetup | p.TurnEnd) -> list[n.Node]:
    """Everything that is recorded of a setup or of the end of a turn."""
    match part:
        case p.ClientSetup():
            return leftover_nodes(part.fields)
        case p.TurnEnd():
            return leftover_nodes(own_fields(part.record))
        case _:
            return []


def _prose(text: str) -> list[n.Node]:
    return [n.Prose(text=text)] if text.strip() else []


def _block_nodes(blocks: Sequence[Block]) -> list[n.Node]:
    return [block_node(block) for block in blocks]


def _attachment_nodes(payload: Mapping[str, Any]) -> list[n.Node]:
    """An attached file as its text and then its other fields, anything else as JSON."""
    fields = {name: value for name, value in payload.items() if name != "type"}
    file = as_dict(as_dict(payload.get("content")).get("file"))
    text = file.get("content")
    if not isinstance(text, str):
        return [n.Data(value=fields)] if fields else []
    path, start = file.get("filePath"), file.get("startLine")
    code = n.Code(
        text=text,
        path=path if isinstance(path, str) else None,
        start=start if isinstance(start, int) else None,
    )
    return [code, *leftover_nodes(leftover(fields, ShownText([text])))]


def call_nodes(call: Call, *, full: bool, attached: int | None = None) -> list[n.Node]:
    """A call with its result; with `full`, also the records attached to it, or the last ones of them."""
    drawn = call.draw(full=full)
    if call.absent_agent is not None:
        drawn = [*drawn, n.Note(text=f"the transcript of agent {call.absent_agent} is not there", level="warning")]
    return [*drawn, *(_attached_records(call, attached) if full else [])]


def _attached_records(call: Call, limit: int | None) -> list[n.Node]:
    """The records attached to a call, such as its progress, in a closed section."""
    if not call.attached:
        return []
    indices = call.attached if limit is None else call.attached[-limit:]
    payloads = [payload_of(call.conversation.bodies.native(index)) for index in indices]
    title = p.quiet_text(p.attached_nouns(call)) or p.PROGRESS
    return [n.Section(title=title, nodes=[n.Data(value=payload) for payload in payloads], open=False)]
