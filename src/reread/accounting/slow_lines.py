"""Intake: lines that are damaged, foreign or of another shape than they should be, for what they say of usage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec

from reread.accounting.digest import Digest
from reread.accounting.rows import AnyLine
from reread.base import jsontext
from reread.base.times import timestamp_ms
from reread.records import dialects
from reread.records.decode import Record, slow_records
from reread.records.envelope import UsageFields, to_usage

if TYPE_CHECKING:
    from reread.accounting.scan import Scanner


def take_line(scanner: Scanner, body: bytes) -> None:
    """Take in a line of any kind."""
    take_records(scanner, _records(body))


def take_records(scanner: Scanner, records: Iterable[Record]) -> None:
    """Take in records, each in the native tongue."""
    for record in records:
        native = record.native
        if native:
            line = fitted(native, AnyLine)
            scanner.take(line, jsontext.dumps(native), printed=_was_printed(scanner.known, record))


def peek(known: Digest, body: bytes) -> None:
    """See what a line says of its file: when it was begun, and whether it was printed."""
    for record in _records(body):
        _was_printed(known, record)
        if known.began is None:
            known.began = timestamp_ms(record.envelope.timestamp)


def _records(body: bytes) -> list[Record]:
    """The records of a line, however it is damaged."""
    if not body.strip(b" \t\r\n\x00"):
        return []
    record = Record(0, 0, body)
    return [record] if not record.fault else slow_records(body, 0, 0)


def _was_printed(known: Digest, record: Record) -> bool:
    if record.dialect == dialects.NATIVE:
        return False
    value = record.value
    printed = isinstance(value, dict) and dialects.was_printed(cast(dict[str, Any], value))
    known.printed |= printed
    return printed


def fitted(value: Any, shape: type[Any]) -> Any:
    """An object as a struct, without what does not fit it, at any depth."""
    try:
        return msgspec.json.decode(jsontext.dumps(value), type=shape)
    except jsontext.DECODE_ERRORS:
        pass
    if shape is UsageFields and isinstance(value, dict):
        return to_usage(cast(dict[str, Any], value))
    out = shape()
    for field in msgspec.structs.fields(shape):
        if not isinstance(value, dict) or field.name not in value:
            continue
        item: Any = cast(dict[str, Any], value)[field.name]
        inner = next((part for part in get_args(field.type) if isinstance(part, type) and _is_struct(part)), None)
        if inner is not None and isinstance(item, dict):
            setattr(out, field.name, fitted(item, inner))
            continue
        try:
            setattr(out, field.name, msgspec.json.decode(jsontext.dumps(item), type=field.type))
        except jsontext.DECODE_ERRORS:
            continue
    return out


def _is_struct(kind: type) -> bool:
    return issubclass(kind, msgspec.Struct)
