"""Find the fields and types of a record that are not known."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple, TypeAlias, cast, get_args, get_origin

from msgspec import Struct

from reread.records.blocks import fields_of, union_members
from reread.records.types.base import System
from reread.records.types.convert import string_field
from reread.records.types.registry import FAMILIES, RECORDS, SYSTEMS


class _MapOf(NamedTuple):
    """An object whose keys are data and whose values have a shape."""

    value: _Shape


_Shape: TypeAlias = type[Struct] | str | _MapOf
"""What the objects in a field are: a struct, a member of a family (by its name), or a map of either."""


def unknown_fields(value: Any) -> list[str]:
    """Return the dotted paths of the unknown fields and types in a native record, such as `user.newField`."""
    found: dict[str, None] = {}
    todo: list[tuple[Any, _Shape, str]] = [(value, "entry", "")]
    while todo:
        part, shape, path = todo.pop()
        if isinstance(part, list):
            todo += [(item, shape, path) for item in reversed(cast(list[Any], part))]
        elif isinstance(part, dict):
            todo += reversed(_check_object(cast(dict[str, Any], part), shape, path, found))
    return list(found)


def _check_object(
    part: dict[str, Any], shape: _Shape, path: str, found: dict[str, None]
) -> list[tuple[Any, _Shape, str]]:
    if isinstance(shape, _MapOf):
        return [(item, shape.value, path) for item in part.values()]
    if isinstance(shape, str):
        struct, path = _struct_for(part, shape)
        if struct is None:
            found[path] = None
            return []
        shape = struct
    names, inner = _field_names(shape), _nested_fields(shape)
    if not names.issuperset(part):
        found.update((f"{path}.{name}", None) for name in part if name not in names)
    return [(part[name], held, f"{path}.{name}") for name, held in inner if name in part]


def _struct_for(part: dict[str, Any], family: str) -> tuple[type[Struct] | None, str]:
    """Return the struct of a member of a family, and the prefix of its paths."""
    kind, subtype = string_field(part, "type"), string_field(part, "subtype")
    if family != "entry":
        return FAMILIES[family].get(kind), f"{family}/{kind}"
    if kind == "system":
        return (SYSTEMS.get(subtype), f"system/{subtype}") if subtype else (System, "system")
    return (RECORDS[kind], kind) if kind in RECORDS else (None, f"type/{kind}")


@cache
def _field_names(struct: type[Struct]) -> frozenset[str]:
    """Return the names of a struct's fields, as in the file."""
    return frozenset(f.encode_name for f in fields_of(struct))


@cache
def _nested_fields(struct: type[Struct]) -> list[tuple[str, _Shape]]:
    """Return the fields of a struct that contain other objects."""
    shapes = ((f.encode_name, _shape(f.type)) for f in fields_of(struct))
    return [(name, shape) for name, shape in shapes if shape is not None]


def _shape(hint: Any) -> _Shape | None:
    for option in union_members(hint):
        origin, args = get_origin(option), get_args(option)
        if origin is Annotated:
            return cast(str, args[1].extra["contains"])
        if origin is list:
            return _shape(args[0])
        if origin is dict and (inner := _shape(args[1])) is not None:
            return _MapOf(inner)
        if isinstance(option, type) and issubclass(option, Struct):
            return option
    return None
