"""Find what in a record differs from the known types: unknown names, missing fields, values of other types."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple, TypeAlias, cast, get_args, get_origin

from msgspec import Meta, Struct

from reread.records.blocks import Block, fields_of, union_members
from reread.records.types.api import Prompt, Response
from reread.records.types.base import Entry, System, TreeRecord
from reread.records.types.messages import EarlyRecord
from reread.records.types.registry import FAMILIES, RECORDS, SYSTEMS, string_field

TYPE, SUBTYPE, BLOCK, FIELD, TOOL = ("type", "subtype", "block", "field", "tool")
"""The kinds of things that can be unknown."""
MISSING, WRONG, CHANGED = ("missing", "wrong", "changed")
"""A field that must be there, a value of another type, and the same deep inside a record."""

_COMMON = ("uuid", "parentUuid", "sessionId", "isSidechain", "isMeta", "cwd", "version", "gitBranch", "agentId")
"""Fields that mean the same in every record."""
_SIGNS = frozenset({"uuid", "parentUuid", "sessionId", "message"})
"""The fields by which a record without a type is known to be one."""
EMPTY = "is empty"
"""The fault of an empty name."""

_WORDS: dict[type, str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_SCALARS = frozenset({str, bool, int, float})
_ESSENTIAL = (Entry, EarlyRecord, Block, Prompt, Response)
"""The structs that messages are made of: a value of another type in one of them is lost to the conversation."""


class Deviation(NamedTuple):
    """One difference between a value and its type."""

    kind: str
    """The kind of thing that is unknown, or `missing`, `wrong` or `changed`."""
    path: str
    """Where it is, such as `user.newField` or `block/text.newField`."""
    text: str = ""
    """For a value of another type: what it is, and what it should be."""


class _Type(NamedTuple):
    """A type hint, compiled."""

    kinds: frozenset[type]
    """The types of JSON that are allowed besides null; empty if all are."""
    words: str = ""
    """The same in words."""
    shape: type[Struct] | str | None = None
    """The type of its objects: a struct, or a member of a family (by its name)."""
    values: _Type | None = None
    """The type of the values of an object whose keys are data."""
    items: _Type | None = None
    """The type of the items of a list."""
    is_needed: bool = False
    """True if the field must be there."""
    is_nullable: bool = False
    """True if a needed field may be null."""
    is_name: bool = False
    """True if a string must not be empty."""
    plain: frozenset[type] = frozenset()
    """The types of values that are right without a further look."""


_Task: TypeAlias = tuple[Any, _Type, str, bool]
"""A value, its type, its path, and whether it is essential."""


def deviations(value: Any, hint: Any = None, path: str = "") -> list[Deviation]:
    """Return how a value differs from a type; without a type, how a native record differs from the known ones."""
    found: dict[Deviation, None] = {}
    todo: list[_Task] = [(value, _ENTRY if hint is None else _compile(hint), path, hint is None)]
    while todo:
        part, kind, path, essential = todo.pop()
        if part is None:
            continue
        if kind.kinds and not _has_kind(part, kind):
            found[Deviation(WRONG if essential else CHANGED, path, _difference(part, kind))] = None
        elif isinstance(part, list):
            inner = kind.items or (kind if kind.shape is not None else None)
            if inner is not None:
                todo += [(item, inner, path, essential) for item in reversed(cast(list[Any], part))]
        elif isinstance(part, dict):
            todo += reversed(_check_object(cast(dict[str, Any], part), kind, path, found))
    return list(found)


def unknown_fields(value: Any) -> list[str]:
    """Return the paths of the unknown fields and types in a native record, such as `user.newField`."""
    return [one.path for one in deviations(value) if one.kind not in (MISSING, WRONG, CHANGED)]


def _check_object(part: dict[str, Any], kind: _Type, path: str, found: dict[Deviation, None]) -> list[_Task]:
    """Check an object, and return what it contains; a record inside another one need not be whole."""
    if kind.values is not None:
        return [(item, kind.values, path, False) for item in part.values()]
    shape = kind.shape
    if shape is None:
        return []
    is_copy = shape == "entry" and kind is not _ENTRY
    if isinstance(shape, str):
        level, path, struct = _member(part, shape)
        if struct is None:
            return _check_unknown(part, shape, level, path, found)
        shape = struct
    names, needed = _fields(shape)
    essential = issubclass(shape, _ESSENTIAL) and not is_copy
    for name in needed if not is_copy else ():
        held = part.get(name)
        if held is None and not (names[name].is_nullable and name in part):
            found[Deviation(MISSING, f"{path}.{name}")] = None
    todo: list[_Task] = []
    for name, item in part.items():
        known = names.get(name)
        if known is None:
            found[Deviation(FIELD, f"{path}.{name}")] = None
        elif item is not None and type(item) not in known.plain and (known.kinds or known.shape is not None):
            todo.append((item, known, f"{path}.{name}", essential))
    return todo


def _check_unknown(
    part: dict[str, Any], family: str, level: str, path: str, found: dict[Deviation, None]
) -> list[_Task]:
    """Check an object of an unknown type: of a record, the fields that all records have."""
    written = part.get("type")
    if isinstance(written, str) or (written is None and not _SIGNS.intersection(part)):
        found[Deviation(level, path)] = None
    elif family == "entry":
        missing, wrong = Deviation(MISSING, "record.type"), Deviation(WRONG, "record.type", _difference(written, _NAME))
        found[missing if written is None else wrong] = None
    elif written is not None:
        found[Deviation(WRONG, f"{family}.type", _difference(written, _NAME))] = None
    if family != "entry":
        return []
    names, _ = _fields(TreeRecord)
    return [(part[name], names[name], f"record.{name}", True) for name in _COMMON if name in part]


def _member(part: dict[str, Any], family: str) -> tuple[str, str, type[Struct] | None]:
    """Return what a member of a family is, the prefix of its paths, and its struct; None if it is unknown."""
    kind = string_field(part, "type")
    if family != "entry":
        return BLOCK if family == "block" else SUBTYPE, f"{family}/{kind}", FAMILIES[family].get(kind)
    if kind == "system":
        subtype = string_field(part, "subtype")
        return (SUBTYPE, f"system/{subtype}", SYSTEMS.get(subtype)) if subtype else (SUBTYPE, "system", System)
    struct = RECORDS.get(kind)
    return TYPE, kind if kind in RECORDS else f"type/{kind}", struct


def _has_kind(value: object, kind: _Type) -> bool:
    """True if a value is of an allowed type; whole numbers are integers however they are written."""
    if isinstance(value, float) and int in kind.kinds:
        return float in kind.kinds or value.is_integer()
    return type(value) in kind.kinds and not (kind.is_name and value == "")


def _difference(value: Any, kind: _Type) -> str:
    return EMPTY if kind.is_name and value == "" else f"is {kind_of(value)}, not {kind.words}"


def kind_of(value: object) -> str:
    """Return what kind of JSON a value is, in words."""
    return "a number" if type(value) is int else _WORDS.get(type(value), "a number")


@cache
def _fields(struct: type[Struct]) -> tuple[dict[str, _Type], list[str]]:
    """Return the types of a struct's fields by their names in the file, and the names of those that must be there."""
    names = {field.encode_name: _compile(field.type) for field in fields_of(struct)}
    return names, [name for name, kind in names.items() if kind.is_needed]


@cache
def _compile(hint: Any) -> _Type:
    """Return a type hint as a type that values are compared with."""
    kinds: dict[type, None] = {}
    merged = _Type(frozenset())
    anything = False
    for option in union_members(hint):
        one = _compile_option(option)
        anything = anything or (not one.kinds and option is not type(None))
        kinds |= dict.fromkeys(kind for kind in _WORDS if kind in one.kinds)
        merged = _Type(
            frozenset(),
            shape=merged.shape or one.shape,
            values=merged.values or one.values,
            items=merged.items or one.items,
            is_needed=merged.is_needed or one.is_needed,
            is_nullable=merged.is_nullable or one.is_nullable,
            is_name=merged.is_name or one.is_name,
        )
    if anything:
        return merged._replace(plain=_SCALARS)
    words = " or ".join(_WORDS[kind] for kind in kinds if not (kind is int and float in kinds))
    plain = _SCALARS.intersection(kinds) - ({str} if merged.is_name else frozenset())
    return merged._replace(kinds=frozenset(kinds), words=words, plain=plain)


def _compile_option(option: Any) -> _Type:
    origin, args = get_origin(option), get_args(option)
    if origin is Annotated:
        meta = cast(Meta, args[1])
        extra = meta.extra or {}
        if "contains" in extra:
            return _Type(frozenset(), shape=cast(str, extra["contains"]))
        nullable = extra.get("needed") == "key"
        return _compile(args[0])._replace(is_needed=True, is_nullable=nullable, is_name=meta.min_length == 1)
    if origin is list:
        return _Type(frozenset({list}), items=_compile(args[0]))
    if origin is dict:
        inner = _compile(args[1])
        return _Type(frozenset({dict}), values=inner if inner.kinds or inner.shape is not None else None)
    if isinstance(option, type) and issubclass(option, Struct):
        return _Type(frozenset({dict}), shape=option)
    if option is float:
        return _Type(frozenset({int, float}))
    return _Type(frozenset(kind for kind in _WORDS if kind is option and option is not type(None)))


_ENTRY = _Type(frozenset({dict}), _WORDS[dict], shape="entry")
_NAME = _Type(frozenset({str}), _WORDS[str])
