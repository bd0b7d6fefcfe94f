"""A struct made from the attributes of another value."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def copied(shape: type[S], source: object, /, **given: Any) -> S:
    """Return a struct with the given fields, and with all others as `source` has them."""
    return shape(**given, **{name: getattr(source, name) for name in shape.__struct_fields__ if name not in given})
