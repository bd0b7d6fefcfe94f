"""One record as documents of search: a prompt, text, thinking, a call's input or result, a notice, a title.

A record is read by itself, so that appended lines can be indexed without the lines before them. What a result needs
of its call, and the pieces of a response that is still streamed, are carried along in `ParseState`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_str
from reread.base.joined_text import LONG, joined_text, without_escapes
from reread.disk import layout
from reread.disk.agent_files import agent_meta
from reread.index.document import (
    INPUT,
    NOTICE,
    PROMPT,
    REQUEST,
    RESULT,
    SPILLED_PLACE,
    TEXT,
    THINKING,
    TITLE,
    CarriedCall,
    ParseState,
    PartialBlock,
    SearchDocument,
)
from reread.index.unsaid import SILENT_TYPES, UNSAID_FIELDS, UNSAID_MESSAGE, UNSAID_OF_TYPE
from reread.model.authors import HUMAN, user_kind
from reread.model.bodies import RecordResults
from reread.model.content import content_blocks, first_text, system_text
from reread.model.prompt_text import parse_prompt
from reread.model.record_kinds import (
    CALL_BLOCKS,
    HOOK_ATTACHMENTS,
    STATE_TYPES,
    SYSTEM_KINDS,
    TURN_STARTERS,
    payload_of,
)
from reread.model.value_texts import block_text, keys_and_numbers, strings, without_original
from reread.records import blocks as b
from reread.records.decode import Record
from reread.records.dialects import stored
from reread.records.dialects.history import paste_files
from reread.records.envelope import to_envelope
from reread.tools.outcome import outcome_of
from reread.tools.spilled import spilled_names

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
MESSAGE_FIELDS = frozenset(UNSAID_FIELDS) | {"message", "toolUseResult", "tool_use_result"}
"""The fields of a user or assistant record that are read by themselves, or not at all."""
CONTENT_FIELDS = frozenset(UNSAID_MESSAGE) | {"content"}
QUEUED, LAST_PROMPT = "queue-operation", "last-prompt"
QUEUED_FIELDS = frozenset({*UNSAID_FIELDS, *UNSAID_OF_TYPE["queued_command"], "prompt"})
AGENT_PROGRESS_FIELDS = frozenset({"type", "message", "normalizedMessages", "agentId"})
META_NAMES = frozenset({"toolUseId", "parentAgentId"})
"""The fields beside an agent's file that name others."""
MOST_SAID = 16
"""How many of the last texts are remembered."""
PROMPT_START = 200
"""Characters of a prompt that are remembered; the client repeats at most as many."""
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary", "run": "customTitle"}
"""The types of record that name the session, and the field with the title."""
REQUEST_PARTS = ("api-request-shape", "api-request-blob")
"""The types of record that hold the system prompt, the tools and the messages of API requests."""
OWN_TOOLS = ("mcp__reread__", "mcp__plugin_reread_")
"""How the names of the server's tools begin, as Claude Code calls them: set up by itself, or by the plug-in."""
_OWN_COMMAND = re.compile(r"(?:^|[|;&(\n]|\b(?:uvx|run|exec|time)|\s-m)[^\S\n]*+reread(?:\s|$)")
"""A shell command that calls reread: such calls are left out, or every search would find earlier searches."""
_JSON_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "r": "\n", "t": "\t", "b": " ", "f": " "}


def record_documents(record: Record, carry: ParseState, native: dict[str, Any] | None = None) -> list[SearchDocument]:
    """Return the documents of a record; their order does not depend on what came before.

    `native` is the record in the native format, if it is known.
    """
    native = record.native if native is None else native
    if not native and record.type == "malformed":
        return _cleaned([SearchDocument(NOTICE, torn_text(record.raw))])
    return _cleaned(list(_record_units(native, carry)))


def meta_text(path: Path) -> str:
    """Return what the client says of an agent beside its file; empty for other files."""
    if not path.name.startswith(layout.AGENT_PREFIX):
        return ""
    return "\n".join(strings({name: value for name, value in agent_meta(path).items() if name not in META_NAMES}))


def torn_text(raw: bytes) -> str:
    """Return what is left of a line that cannot be read, without JSON's escapes."""
    text = raw.decode("utf-8", "replace")
    return _JSON_ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _PLAIN_ESCAPES.get(found[2], found[2])


def _record_units(native: dict[str, Any], carry: ParseState) -> Iterable[SearchDocument]:
    match native.get("type"):
        case "user":
            return _with_others(native, _user(native, carry), carry)
        case "assistant":
            return _with_others(native, _assistant(native, carry), carry)
        case "system":
            return _system(native, carry)
        case "attachment":
            return _attachment(native, as_dict(native.get("attachment")), carry)
        case "progress":
            return _progress(native, as_dict(native.get("data")), carry)
        case str() as type:
            return _state(native, type, carry)
        case _:
            return ()


def _with_others(
    native: dict[str, Any], documents: Iterable[SearchDocument], carry: ParseState
) -> Iterator[SearchDocument]:
    """Yield the documents of a message, and what its record says in other fields."""
    said: list[str] = []
    for document in documents:
        said.append(document.text)
        yield document
    others = {name: value for name, value in native.items() if name not in MESSAGE_FIELDS and value}
    for name, value in as_dict(native.get("message")).items():
        if name not in CONTENT_FIELDS and value:
            others[f"message.{name}"] = value
    if not others:
        return
    texts = [text for text in strings([others[name] for name in sorted(others)]) if text.strip()]
    if texts:
        yield SearchDocument(NOTICE, joined_text(text for text in texts if not any(text in one for one in said)))


def _cleaned(documents: list[SearchDocument]) -> list[SearchDocument]:
    """Remove the escape codes of terminals from documents."""
    for document in documents:
        if "\x1b" in document.text:
            document.text = without_escapes(document.text)
    return documents


def _user(native: dict[str, Any], carry: ParseState) -> Iterator[SearchDocument]:
    blocks = content_blocks(native)
    results = RecordResults.of(blocks)
    is_prompt = _is_prompt(native) if any(not isinstance(block, b.ResultBlock) for block in blocks) else False
    for block in blocks:
        if isinstance(block, b.ResultBlock):
            yield _result(native, results, block, carry)
        else:
            yield from _said(_typed(block, is_prompt=is_prompt), carry)
    pastes = paste_files(native)
    if pastes:
        yield SearchDocument(NOTICE, "", spilled=tuple(pastes))


def _is_prompt(native: dict[str, Any]) -> bool:
    """True if a user record is a prompt or a command; else the client says something in the user's name."""
    envelope = to_envelope({name: native[name] for name in AUTHOR_FIELDS if name in native})
    return user_kind(envelope, first_text(as_dict(native.get("message")).get("content"))) in TURN_STARTERS


def _said(documents: Iterable[SearchDocument], carry: ParseState) -> Iterator[SearchDocument]:
    """Yield documents, and remember what they say."""
    for document in documents:
        carry.said = [*carry.said[1 - MOST_SAID :], _print(document.text)]
        if document.kind == PROMPT or carry.queued:
            line = _one_line(document.text)
            print = _print(line)
            if document.kind == PROMPT:
                carry.prompt, carry.prompts = line[:PROMPT_START], [*carry.prompts[1 - MOST_SAID :], print]
            if print in carry.queued:
                carry.queued[print] = None
        yield document


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _typed(block: b.Block, *, is_prompt: bool) -> Iterator[SearchDocument]:
    """The documents of a block in the user's name: what was typed, and what the client added."""
    kind = PROMPT if is_prompt else NOTICE
    if not isinstance(block, b.Text):
        yield from _documents(kind, [block_text(block)])
    elif isinstance(block.text, str):
        prompt = parse_prompt(block.text)
        if not is_prompt and prompt.kind in (*TURN_STARTERS, "meta"):
            yield SearchDocument(NOTICE, block.text)
            return
        yield SearchDocument(kind if prompt.kind in TURN_STARTERS else NOTICE, prompt.text)
        yield from _documents(NOTICE, [aside.text for aside in prompt.asides])
        yield from _documents(NOTICE, [value for value in prompt.fields.values() if value != prompt.text])


def _result(native: dict[str, Any], results: RecordResults, block: b.ResultBlock, carry: ParseState) -> SearchDocument:
    id: Any = block.tool_use_id
    call = carry.calls.pop(id, None) if isinstance(id, str) else None
    data = results.structured(native, id if isinstance(id, str) else "")
    is_error = getattr(block, "is_error", None) is True or bool(native.get("isError"))
    outcome = outcome_of(block, data, is_error=is_error, denial=as_str(native.get("toolDenialKind")))
    files = (call.files if call is not None else ()) or named_files(data)
    document = SearchDocument(
        RESULT, "", files=files, error=outcome.state != DONE, call=id if isinstance(id, str) else ""
    )
    if call is not None:
        document.tool = call.tool
    if call is None or not call.own:
        known = call.texts if call is not None else ()
        document.spilled = tuple(spilled_names(getattr(block, "content", None), data))
        texts = [*strings(getattr(block, "content", None)), *strings(without_original(data))]
        document.text = joined_text(text for text in texts if len(text) < LONG or _print(text) not in known)
    return document


def _assistant(native: dict[str, Any], carry: ParseState) -> Iterator[SearchDocument]:
    is_error = bool(native.get("isApiErrorMessage"))
    blocks = content_blocks(native)
    results = RecordResults.of(blocks)
    for block in blocks:
        if isinstance(block, b.CallBlock):
            yield _call(block, carry)
        elif isinstance(block, b.ResultBlock):
            yield _result(native, results, block, carry)
        elif isinstance(block, b.Thinking):
            yield SearchDocument(THINKING, block.thinking if isinstance(block.thinking, str) else "")
        elif isinstance(block, b.Text):
            text = block.text if isinstance(block.text, str) else ""
            document = SearchDocument(
                NOTICE if is_error else TEXT, joined_text([text, *strings(block.citations)]), error=is_error
            )
            yield from _said([document], carry)
        else:
            yield from _documents(TEXT, [block_text(block)])
        _complete(carry, block)


def _call(block: b.CallBlock, carry: ParseState) -> SearchDocument:
    id: Any = block.id
    name = block.name if isinstance(block.name, str) else ""
    input: Any = getattr(block, "input", None)
    files = named_files(input)
    own = is_own_call(name, input)
    texts = list(strings(input))
    if isinstance(id, str):
        carry.calls[id] = CarriedCall(name, files, own, tuple(_print(text) for text in texts if len(text) >= LONG))
    text = "" if own else joined_text([name, *texts, *keys_and_numbers(input)])
    return SearchDocument(INPUT, text, tool=name, files=files, call=id if isinstance(id, str) else "")


def _print(text: str) -> int:
    """Return a number that tells a text from others."""
    return zlib.crc32(text.encode("utf-8", "replace")) ^ len(text) << 32


def is_own_call(name: str, input: Any) -> bool:
    """True if a call runs reread."""
    command = as_dict(input).get("command")
    return name.startswith(OWN_TOOLS) or (isinstance(command, str) and bool(_OWN_COMMAND.search(command)))


def _complete(carry: ParseState, block: b.Block) -> None:
    """Drop the first streamed block of this type: here it is as a whole."""
    type = getattr(block, "type", None)
    place = next((n for n, partial in carry.partial.items() if partial.type == type), None)
    if place is not None:
        del carry.partial[place]


def _system(native: dict[str, Any], carry: ParseState) -> Iterator[SearchDocument]:
    subtype = as_str(native.get("subtype")) or ""
    kind = SYSTEM_KINDS.get(subtype, NOTICE)
    if kind is None:
        yield from _repeated(native, f"system/{subtype}", carry)
    else:
        texts = [*strings(system_text(native)), *_payload_strings(native)]
        yield SearchDocument(NOTICE, joined_text(texts), error=kind == "error")


def _attachment(native: dict[str, Any], payload: dict[str, Any], carry: ParseState) -> Iterator[SearchDocument]:
    if payload.get("type") != "queued_command":
        yield SearchDocument(NOTICE, joined_text(_payload_strings(native)))
        return
    is_human = as_dict(payload.get("origin")).get("kind") in (None, HUMAN)
    automatic = payload.get("isMeta") or payload.get("commandMode") == "task-notification" or not is_human
    for block in content_blocks(native):
        yield from _said(_typed(block, is_prompt=not automatic), carry)
    others = {name: value for name, value in payload_of(native).items() if name not in QUEUED_FIELDS}
    yield from _documents(NOTICE, [joined_text(strings(others))])


def _progress(native: dict[str, Any], payload: dict[str, Any], carry: ParseState) -> Iterator[SearchDocument]:
    """The messages of an agent, or a note of its own."""
    if payload.get("type") != "agent_progress":
        yield SearchDocument(NOTICE, joined_text(_payload_strings(native)))
        return
    for inner in agent_records(payload):
        record = as_dict(inner)
        is_record = isinstance(record.get("type"), str)
        yield from _record_units(record, carry) if is_record else _documents(NOTICE, strings(inner))
    others = {name: value for name, value in payload.items() if name not in AGENT_PROGRESS_FIELDS}
    yield SearchDocument(NOTICE, "" if _is_said("agent_progress", others, carry) else joined_text(strings(others)))


def agent_records(payload: dict[str, Any]) -> Iterator[Any]:
    """Yield the records of an agent in what it reports, each once, and what stands in their place."""
    listed = payload.get("normalizedMessages")
    seen: set[object] = set()
    for inner in (*(cast(list[Any], listed) if isinstance(listed, list) else [listed]), payload.get("message")):
        uuid = as_dict(inner).get("uuid")
        if inner and (not isinstance(uuid, str) or uuid not in seen):
            seen.add(uuid if isinstance(uuid, str) else None)
            yield inner


def _is_said(kind: str, value: Any, carry: ParseState) -> bool:
    """True if the last record of a kind said the same."""
    print = _print("\n".join(strings(value)))
    known = carry.states.get(kind) == print
    carry.states[kind] = print
    return known


def _state(native: dict[str, Any], type: str, carry: ParseState) -> Iterator[SearchDocument]:
    title = native.get(TITLES.get(type, ""))
    if isinstance(title, str):
        yield SearchDocument(TITLE, "" if _is_said(f"{type}/title", title, carry) else title)
    if type == "run":
        prompt = stored.run_prompt({"claudeMessage": None, "run": native.get("run")} if "run" in native else {})
        yield from _documents(PROMPT, [prompt] if prompt else [])
    elif type == QUEUED:
        for block in content_blocks({"type": "user", "message": {"content": native.get("content")}}):
            yield from _typed(block, is_prompt=True)
    elif type == LAST_PROMPT:
        prompt = as_str(native.get("lastPrompt")) or ""
        line = _one_line(prompt)
        known = carry.prompt.startswith(line.removesuffix("…")) or _print(line) in carry.prompts
        carry.prompts = [*carry.prompts[1 - MOST_SAID :], _print(line)]
        yield SearchDocument(PROMPT, "" if known else prompt)
    elif type not in STATE_TYPES:
        yield SearchDocument(NOTICE, joined_text(_payload_strings(native)))
    elif type not in SILENT_TYPES:
        kind = REQUEST if type in REQUEST_PARTS else NOTICE
        yield from (msgspec.structs.replace(one, kind=kind) for one in _repeated(native, type, carry))


def _repeated(native: dict[str, Any], kind: str, carry: ParseState) -> Iterator[SearchDocument]:
    """The document of a record that may repeat what it, or another one, said before."""
    fields = {name: value for name, value in native.items() if name not in UNSAID_FIELDS and name != TITLES.get(kind)}
    texts = (
        [] if _is_said(kind, fields, carry) else [text for text in strings(fields) if _print(text) not in carry.said]
    )
    yield SearchDocument(NOTICE, joined_text(texts))


def add_stream_event(
    native: dict[str, Any], carry: ParseState, offset: int, length: int, line: int, time_ms: int
) -> None:
    """Add a piece of a streamed response; its text becomes a document if no record with the whole of it comes."""
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


def partial_documents(carry: ParseState) -> list[tuple[PartialBlock, SearchDocument]]:
    """Return the documents of a response of which no whole record came."""
    kinds = {"thinking": THINKING, **dict.fromkeys(CALL_BLOCKS, INPUT)}
    blocks = [block for block in carry.partial.values() if block.text]
    documents = _cleaned([SearchDocument(kinds.get(block.type, TEXT), block.text) for block in blocks])
    return list(zip(blocks, documents, strict=True))


def queued_prints(native: dict[str, Any]) -> list[int]:
    """Return the prints of the texts that a record puts into the queue, or takes out of it."""
    return [_print(_one_line(document.text)) for document in _state(native, QUEUED, ParseState())]


def report_print(data: bytes) -> int:
    """Return a number that tells what a running call reports from other reports."""
    return zlib.crc32(data)


def _payload_strings(native: dict[str, Any]) -> Iterator[str]:
    """The strings of a record that are its own, not those that every record has."""
    payload = payload_of(native)
    kind = as_str(payload.get("type")) or ""
    if not kind.startswith(HOOK_ATTACHMENTS):  # of a hook, the type says how it ended
        payload = {name: value for name, value in payload.items() if name != "type"}
    return strings(payload)


def _documents(kind: str, texts: Iterable[str]) -> Iterator[SearchDocument]:
    text = joined_text(texts)
    if text:
        yield SearchDocument(kind, text)


def spilled_place(place: int, file: int, offset: int) -> int:
    """Return the place of a piece of a file that the result at a place was written to."""
    return SPILLED_PLACE + (place << 44) + (file << 40) + offset


def split_spilled_place(place: int) -> tuple[int, int, int]:
    """Return the place of the result, the number of the file, and the offset of the piece."""
    return place >> 44 & 255, place >> 40 & 15, place & (1 << 40) - 1


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
