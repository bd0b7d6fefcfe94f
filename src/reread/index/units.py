"""What one record says, as units of search: a prompt, a text, thinking, a call's input or result, a notice, a title.

A record is read by itself, so that appended lines can be indexed without the lines before them. What a result needs
of its call, and the pieces of a response that is still streamed, are carried along in `Carry`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, cast

from reread.base.coerce import as_dict, as_str
from reread.base.joined_text import LONG, joined_text, without_escapes
from reread.index.unit import (
    CALL_ID,
    INPUT,
    NOTICE,
    PROMPT,
    RESULT,
    TEXT,
    THINKING,
    TITLE,
    CarriedCall,
    Carry,
    PartialBlock,
    Unit,
)
from reread.model.authors import HUMAN, user_kind
from reread.model.bodies import RecordResults
from reread.model.content import content_blocks, first_text, system_text
from reread.model.parts import block_text, strings, without_original
from reread.model.prompt_text import parse_prompt
from reread.model.record_kinds import (
    CALL_BLOCKS,
    HOOK_ATTACHMENTS,
    STATE_TYPES,
    SYSTEM_KINDS,
    TURN_STARTERS,
    payload_of,
)
from reread.records import blocks as b
from reread.records.dialects import stored
from reread.records.envelope import to_envelope
from reread.tools.outcome import DONE, outcome_of

PATH_FIELDS = ("file_path", "filePath", "notebook_path", "path", "filenames", "files")
"""The fields of an input or a structured result that name files."""
MOST_FILES = 200
MOST_BLOCKS = 1 << 20
"""Blocks of a response: an index beyond is a mistake."""
AUTHOR_FIELDS = (
    "isCompactSummary",
    "isMeta",
    "isVisibleInTranscriptOnly",
    "origin",
    "promptSource",
    "sourceToolUseID",
)
"""The fields of a user record that tell who wrote it."""
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary", "run": "customTitle"}
"""The types of record that name the session, and the field with the title."""
SPOKEN_STATE = {"pr-link": ("prUrl", "prRepository"), "task-summary": ("summary",), "agent-name": ("agentName",)}
"""The types of session state that views show, and the fields with their texts."""
OWN_TOOLS = ("mcp__reread__", "mcp__plugin_reread_")
"""How the names of the server's tools begin, as Claude Code calls them: set up by itself, or by the plug-in."""
_OWN_COMMAND = re.compile(r"(?:^|[|;&(\n]|\b(?:uvx|run|exec|time)|\s-m)[^\S\n]*+reread(?:\s|$)")
"""A shell command that calls reread: such calls are left out, or every search would find earlier searches."""


def record_units(native: dict[str, Any], carry: Carry) -> list[Unit]:
    """Return the units of a record in the native format; their order does not depend on what came before."""
    return _cleaned(list(_record_units(native, carry)))


def _record_units(native: dict[str, Any], carry: Carry) -> Iterable[Unit]:
    match native.get("type"):
        case "user":
            return _user(native, carry)
        case "assistant":
            return _assistant(native, carry)
        case "system":
            return _system(native)
        case "attachment":
            return _attachment(native, as_dict(native.get("attachment")))
        case "progress":
            return _progress(native, as_dict(native.get("data")), carry)
        case str() as type:
            return _state(native, type)
        case _:
            return ()


def _cleaned(units: list[Unit]) -> list[Unit]:
    """Remove the escape codes of terminals from units."""
    for unit in units:
        if "\x1b" in unit.text:
            unit.text = without_escapes(unit.text)
    return units


def _user(native: dict[str, Any], carry: Carry) -> Iterator[Unit]:
    blocks = content_blocks(native)
    results = RecordResults.of(blocks)
    is_prompt = _is_prompt(native) if any(not isinstance(block, b.ResultBlock) for block in blocks) else False
    for block in blocks:
        if isinstance(block, b.ResultBlock):
            yield _result(native, results, block, carry)
        else:
            yield from _typed(block, is_prompt=is_prompt)


def _is_prompt(native: dict[str, Any]) -> bool:
    """True if a user record is a prompt or a command; else the client says something in the user's name."""
    envelope = to_envelope({name: native[name] for name in AUTHOR_FIELDS if name in native})
    return user_kind(envelope, first_text(as_dict(native.get("message")).get("content"))) in TURN_STARTERS


def _typed(block: b.Block, *, is_prompt: bool) -> Iterator[Unit]:
    """The units of a block in the user's name: what was typed, and what the client added."""
    kind = PROMPT if is_prompt else NOTICE
    if not isinstance(block, b.Text):
        yield from _units(kind, [block_text(block)])
    elif isinstance(block.text, str):
        prompt = parse_prompt(block.text)
        if not is_prompt and prompt.kind in (*TURN_STARTERS, "meta"):
            yield Unit(NOTICE, block.text)
            return
        yield Unit(kind if prompt.kind in TURN_STARTERS else NOTICE, prompt.text)
        yield from _units(NOTICE, [aside.text for aside in prompt.asides])
        yield from _units(NOTICE, [value for value in prompt.fields.values() if value != prompt.text])


def _result(native: dict[str, Any], results: RecordResults, block: b.ResultBlock, carry: Carry) -> Unit:
    id: Any = block.tool_use_id
    call = carry.calls.pop(id, None) if isinstance(id, str) else None
    data = results.structured(native, id if isinstance(id, str) else "")
    is_error = getattr(block, "is_error", None) is True or bool(native.get("isError"))
    outcome = outcome_of(block, data, is_error=is_error, denial=as_str(native.get("toolDenialKind")))
    files = (call.files if call is not None else ()) or named_files(data)
    unit = Unit(RESULT, "", files=files, error=outcome.state != DONE, call=id if isinstance(id, str) else "")
    if call is not None:
        unit.tool = call.tool
    if call is None or not call.own:
        known = call.texts if call is not None else ()
        texts = [*strings(getattr(block, "content", None)), *strings(without_original(data))]
        unit.text = joined_text(text for text in texts if len(text) < LONG or _print(text) not in known)
    return unit


def _assistant(native: dict[str, Any], carry: Carry) -> Iterator[Unit]:
    is_error = bool(native.get("isApiErrorMessage"))
    blocks = content_blocks(native)
    results = RecordResults.of(blocks)
    for block in blocks:
        if isinstance(block, b.CallBlock):
            yield _call(block, carry)
        elif isinstance(block, b.ResultBlock):
            yield _result(native, results, block, carry)
        elif isinstance(block, b.Thinking):
            yield Unit(THINKING, block.thinking if isinstance(block.thinking, str) else "")
        elif isinstance(block, b.Text):
            text = block.text if isinstance(block.text, str) else ""
            yield Unit(NOTICE if is_error else TEXT, joined_text([text, *strings(block.citations)]), error=is_error)
        else:
            yield from _units(TEXT, [block_text(block)])
        _complete(carry, block)


def _call(block: b.CallBlock, carry: Carry) -> Unit:
    id: Any = block.id
    name = block.name if isinstance(block.name, str) else ""
    input: Any = getattr(block, "input", None)
    files = named_files(input)
    own = is_own_call(name, input)
    texts = list(strings(input))
    if isinstance(id, str):
        carry.calls[id] = CarriedCall(name, files, own, tuple(_print(text) for text in texts if len(text) >= LONG))
    text = "" if own else joined_text([name, *texts])
    return Unit(INPUT, text, tool=name, files=files, call=id if isinstance(id, str) else "")


def _print(text: str) -> int:
    """Return a number that tells a text from others."""
    return zlib.crc32(text.encode("utf-8", "replace")) ^ len(text) << 32


def is_own_call(name: str, input: Any) -> bool:
    """True if a call runs reread."""
    command = as_dict(input).get("command")
    return name.startswith(OWN_TOOLS) or (isinstance(command, str) and bool(_OWN_COMMAND.search(command)))


def _complete(carry: Carry, block: b.Block) -> None:
    """Drop the first streamed block of this type: here it is as a whole."""
    type = getattr(block, "type", None)
    place = next((n for n, partial in carry.partial.items() if partial.type == type), None)
    if place is not None:
        del carry.partial[place]


def _system(native: dict[str, Any]) -> Iterator[Unit]:
    kind = SYSTEM_KINDS.get(as_str(native.get("subtype")) or "", NOTICE)
    if kind is not None:
        texts = [*strings(system_text(native)), *_payload_strings(native)]
        yield Unit(NOTICE, joined_text(texts), error=kind == "error")


def _attachment(native: dict[str, Any], payload: dict[str, Any]) -> Iterator[Unit]:
    if payload.get("type") != "queued_command":
        yield Unit(NOTICE, joined_text(_payload_strings(native)))
        return
    is_human = as_dict(payload.get("origin")).get("kind") in (None, HUMAN)
    automatic = payload.get("isMeta") or payload.get("commandMode") == "task-notification" or not is_human
    for block in content_blocks(native):
        yield from _typed(block, is_prompt=not automatic)


def _progress(native: dict[str, Any], payload: dict[str, Any], carry: Carry) -> Iterator[Unit]:
    """The message of an agent, or a note of its own; what a running call reports is in its result."""
    inner = as_dict(payload.get("message"))
    if payload.get("type") == "agent_progress" and inner:
        yield from _record_units(inner, carry)
    elif not (_is_call(native.get("toolUseID"), carry) or _is_call(native.get("parentToolUseID"), carry)):
        yield Unit(NOTICE, joined_text(_payload_strings(native)))


def _is_call(id: Any, carry: Carry) -> bool:
    return isinstance(id, str) and (id.startswith(CALL_ID) or id in carry.calls)


def _state(native: dict[str, Any], type: str) -> Iterator[Unit]:
    title = native.get(TITLES.get(type, ""))
    if isinstance(title, str):
        yield Unit(TITLE, title)
    if type == "run":
        prompt = stored.run_prompt({"claudeMessage": None, "run": native.get("run")} if "run" in native else {})
        yield from _units(PROMPT, [prompt] if prompt else [])
    elif type in SPOKEN_STATE:
        yield from _units(NOTICE, [joined_text(strings([native.get(name) for name in SPOKEN_STATE[type]]))])
    elif type not in STATE_TYPES and type != "stream_event":
        yield Unit(NOTICE, joined_text(_payload_strings(native)))


def add_stream_event(native: dict[str, Any], carry: Carry, offset: int, length: int, line: int, time_ms: int) -> None:
    """Add a piece of a streamed response; its text becomes a unit if no record with the whole of it comes."""
    event = as_dict(native.get("event"))
    place = event.get("index")
    if not isinstance(place, int) or not 0 <= place < MOST_BLOCKS:
        return
    if event.get("type") == "content_block_start":
        block = as_dict(event.get("content_block"))
        carry.partial[place] = PartialBlock(offset, length, line, as_str(block.get("type")) or "", time_ms=time_ms)
    elif event.get("type") == "content_block_delta" and place in carry.partial:
        delta = as_dict(event.get("delta"))
        piece = next((delta[name] for name in ("text", "thinking", "partial_json") if name in delta), "")
        carry.partial[place].text += piece if isinstance(piece, str) else ""


def is_stream_start(native: dict[str, Any]) -> bool:
    """True if a streamed response begins: then nothing more comes of the one before."""
    return as_dict(native.get("event")).get("type") == "message_start"


def partial_units(carry: Carry) -> list[tuple[PartialBlock, Unit]]:
    """Return the units of a response of which no whole record came."""
    kinds = {"thinking": THINKING, **dict.fromkeys(CALL_BLOCKS, INPUT)}
    blocks = [block for block in carry.partial.values() if block.text]
    units = _cleaned([Unit(kinds.get(block.type, TEXT), block.text) for block in blocks])
    return list(zip(blocks, units, strict=True))


def _payload_strings(native: dict[str, Any]) -> Iterator[str]:
    """The strings of a record that are its own, not those that every record has."""
    payload = payload_of(native)
    kind = as_str(payload.get("type")) or ""
    if not kind.startswith(HOOK_ATTACHMENTS):  # of a hook, the type says how it ended
        payload = {name: value for name, value in payload.items() if name != "type"}
    return strings(payload)


def _units(kind: str, texts: Iterable[str]) -> Iterator[Unit]:
    text = joined_text(texts)
    if text:
        yield Unit(kind, text)


def named_files(value: Any) -> tuple[str, ...]:
    """Return the files that an input or a structured result names."""
    fields = as_dict(value)
    found: list[Any] = [fields[name] for name in PATH_FIELDS if name in fields]
    if "file" in fields:
        inner = as_dict(fields["file"])
        found += [inner[name] for name in PATH_FIELDS if name in inner]
    if not found:
        return ()
    items = (item for one in found for item in (cast(list[Any], one) if isinstance(one, list) else [one]))
    paths = (as_dict(item).get("file_path") if isinstance(item, dict) else item for item in items)
    return tuple(dict.fromkeys(path for path in paths if isinstance(path, str) and path))[:MOST_FILES]
