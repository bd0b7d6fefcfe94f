"""The fields of a record that folding needs, decoded without the rest of its body."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw, Struct

from reread.base import jsontext

NOTHING = Raw()
"""The default of a raw field: no JSON at all."""
MAX_LEVELS = 16


class CacheCreationFields(Struct, gc=False):
    """Tokens written to the cache, by lifetime."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerToolFields(Struct, gc=False):
    """Number of runs of the API's own tools."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class UsageFields(Struct, gc=False):
    """The tokens of one API response, as written in the record."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreationFields | None = None
    server_tool_use: ServerToolFields | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    iterations: Raw = NOTHING


class BlockEnvelope(Struct, gc=False):
    """A content block without its content; `text` is JSON that is not decoded yet."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    text: Raw = NOTHING


class MessageEnvelope(Struct, gc=False):
    """The API message inside a record."""

    model: str | None = None
    id: str | None = None
    content: list[BlockEnvelope] | str | None = None
    stop_reason: str | None = None
    usage: Raw = NOTHING


class RecordEnvelope(Struct, gc=False):
    """A record without its body.

    Field names are those of the file, and the common ones come in the order of the file, which decodes faster.
    """

    parentUuid: str | None = None
    isSidechain: bool | None = None
    cwd: str | None = None
    sessionId: str | None = None
    version: str | None = None
    gitBranch: str | None = None
    slug: str | None = None
    agentId: str | None = None
    type: str = ""
    message: MessageEnvelope | None = None
    requestId: str | None = None
    isMeta: bool | None = None
    uuid: str | None = None
    timestamp: str | None = None
    subtype: str | None = None
    logicalParentUuid: str | None = None
    parentToolUseID: str | None = None
    toolUseID: str | None = None
    entrypoint: str | None = None
    permissionMode: str | None = None
    isCompactSummary: bool | None = None
    isApiErrorMessage: bool | None = None
    isVisibleInTranscriptOnly: bool | None = None
    promptSource: str | None = None
    sourceToolUseID: str | None = None
    origin: Raw = NOTHING
    attachment: Raw = NOTHING
    data: Raw = NOTHING
    event: Raw = NOTHING
    summary: Raw = NOTHING
    leafUuid: str | None = None
    customTitle: str | None = None
    aiTitle: str | None = None
    forkedFrom: Raw = NOTHING
    continuedInSessionId: str | None = None
    supersedes: list[str] | None = None
    is_active: bool | None = None
    model: str | None = None
    costUSD: float | None = None


class AttachmentEnvelope(Struct):
    """An attachment, without its content."""

    type: str = ""
    commandMode: str | None = None
    prompt: Raw = NOTHING
    origin: Raw = NOTHING
    isMeta: bool | None = None
    toolUseID: str | None = None


class ProgressEnvelope(Struct):
    """The payload of a progress record, without its content."""

    type: str = ""
    agentId: str | None = None
    message: Raw = NOTHING
    normalizedMessages: Raw = NOTHING

    @property
    def others(self) -> list[Raw]:
        """The agent's messages of which `message` is the last; whatever is no list is one of them."""
        if bytes(self.normalizedMessages) in (b"", b"null"):
            return []
        try:
            return msgspec.json.decode(self.normalizedMessages, type=list[Raw])
        except jsontext.DECODE_ERRORS:
            return [self.normalizedMessages]


class _ProgressBody(Struct):
    data: ProgressEnvelope | None = None


class EventEnvelope(Struct):
    """An event of the API's stream, without its content."""

    type: str = ""
    message: MessageEnvelope | None = None
    usage: Raw = NOTHING
    delta: Raw = NOTHING

    @property
    def stop_reason(self) -> str | None:
        """Why the response ended; None if the event does not say."""
        delta = jsontext.loads_clean(bytes(self.delta)) if self.delta else None
        reason = cast(dict[str, Any], delta).get("stop_reason") if isinstance(delta, dict) else None
        return reason if isinstance(reason, str) else None


_Payload = TypeVar("_Payload", AttachmentEnvelope, ProgressEnvelope, EventEnvelope)

decode_envelope: Callable[[bytes | memoryview | str], RecordEnvelope] = msgspec.json.Decoder(RecordEnvelope).decode
"""Fast path: raises one of `jsontext.DECODE_ERRORS` if a field does not have the type that healthy files have."""
_decode_usage = msgspec.json.Decoder(UsageFields | None).decode


def decode_payload(raw: Raw, shape: type[_Payload]) -> _Payload:
    """Return the envelope of a payload; only its type if it has another shape."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except jsontext.DECODE_ERRORS:
        value = jsontext.loads_clean(bytes(raw)) if raw else None
        kind = cast(dict[str, Any], value).get("type") if isinstance(value, dict) else None
        return shape(type=kind) if isinstance(kind, str) else shape()


def written_progress(body: bytes) -> ProgressEnvelope | None:
    """Return the payload of a progress record with its raw fields as written; None if it is written otherwise.

    The payload in the envelope of an unusual record was encoded anew, so that it is not found in the record's bytes.
    """
    try:
        return msgspec.json.decode(body, type=_ProgressBody).data
    except jsontext.DECODE_ERRORS:
        return None


def to_envelope(value: dict[str, Any]) -> RecordEnvelope:
    """Return the envelope of any object; drop fields that do not have the expected type."""
    try:
        return decode_envelope(jsontext.dumps(value, deep=False))
    except RecursionError:
        value = _prune(value)
    except jsontext.DECODE_ERRORS:
        pass
    valid = _valid_fields(value, RecordEnvelope)
    message = value.get("message")
    if isinstance(message, dict):
        valid["message"] = _valid_message(cast(dict[str, Any], message))
    return decode_envelope(jsontext.dumps(valid))


def _prune(value: Any, levels: int = MAX_LEVELS) -> Any:
    """Replace with None what is nested deeper than any field of an envelope, and so too deep for the decoder."""
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        return None
    if isinstance(value, list):
        return [_prune(item, levels - 1) for item in cast(list[Any], value)]
    return {name: _prune(item, levels - 1) for name, item in cast(dict[str, Any], value).items()}


def parse_usage(raw: Raw) -> UsageFields | None:
    """Return the usage of a record, whatever its shape; None if there is none."""
    if not raw:
        return None
    try:
        return _decode_usage(raw)
    except jsontext.DECODE_ERRORS:
        value = jsontext.loads_clean(bytes(raw))
    return to_usage(cast(dict[str, Any], value)) if isinstance(value, dict) else None


def to_usage(usage: dict[str, Any]) -> UsageFields:
    """Return the usage in any object; drop fields that do not have the expected type."""
    return msgspec.json.decode(jsontext.dumps(_valid_usage(_prune(usage))), type=UsageFields)


def _valid_message(message: dict[str, Any]) -> dict[str, Any]:
    valid = _valid_fields(message, MessageEnvelope)
    content = message.get("content")
    if isinstance(content, str):
        valid["content"] = content
    elif isinstance(content, list):
        valid["content"] = [_valid_block(block) for block in cast(list[Any], content)]
    elif isinstance(content, dict):
        valid["content"] = [_valid_block(content)]
    return valid


def _valid_block(block: Any) -> dict[str, Any]:
    if isinstance(block, dict):
        return _valid_fields(cast(dict[str, Any], block), BlockEnvelope)
    return {"type": "text", "text": block} if isinstance(block, str) else {}


def _valid_usage(usage: dict[str, Any]) -> dict[str, Any]:
    valid = _valid_fields(usage, UsageFields)
    for name, nested in (("cache_creation", CacheCreationFields), ("server_tool_use", ServerToolFields)):
        inner = usage.get(name)
        if isinstance(inner, dict):
            valid[name] = _valid_fields(cast(dict[str, Any], inner), nested)
    return valid


_COUNT = int | None
"""The type of a count, which may also be written as 10.0."""


def _valid_fields(value: dict[str, Any], shape: type[Struct]) -> dict[str, Any]:
    valid: dict[str, Any] = {}
    for field in msgspec.structs.fields(shape):
        if field.name not in value:
            continue
        item = value[field.name]
        if field.type == _COUNT and isinstance(item, float) and isfinite(item):
            item = int(item)
        if field.type is not Raw:
            try:
                msgspec.convert(item, field.type)
            except msgspec.ValidationError:
                continue
        valid[field.name] = item
    return valid
