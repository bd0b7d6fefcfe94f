"""Structs: frozen values, one made from the attributes of another, and types built before several threads need them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar, dataclass_transform

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenStructType(msgspec.StructMeta):
    """Makes a class of values; `frozen` and `kw_only` need not be said for each."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> FrozenStructType:
        given: dict[str, Any] = {"frozen": True, "kw_only": True, **options}
        return super().__new__(cls, name, bases, namespace, **given)


class FrozenStruct(msgspec.Struct, metaclass=FrozenStructType):
    """A struct that never changes, whose fields are given by name."""


def build_types() -> None:
    """Have msgspec look at the fields of every struct that is loaded.

    It does so when a struct is first decoded, and if two threads do that at once, the process crashes.
    """
    for struct in set(_below(msgspec.Struct)):
        with suppress(TypeError, NameError):  # it is never decoded
            msgspec.json.Decoder(struct)


def _below(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for found in struct.__subclasses__():
        yield found
        yield from _below(found)


def copied(shape: type[S], source: object, /, **given: Any) -> S:
    """Return a struct with the given fields, and with all others as `source` has them."""
    return shape(**given, **{name: getattr(source, name) for name in shape.__struct_fields__ if name not in given})
