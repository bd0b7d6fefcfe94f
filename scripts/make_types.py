"""Write the reader's TypeScript types from the Python values: `python scripts/make_types.py [--check]`."""

import inspect
import sys
import types
import typing
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from reread.reader import schema
from reread.session.context_window import ContextDrop, ContextFill
from reread.tools import nodes

TARGET = Path(__file__).parent.parent / "web" / "src" / "values.ts"
HEAD = """// Made by scripts/make_types.py from the Python values: change those, and run it again.
"""
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", datetime: "string", Any: "unknown"}
UNIONS = {nodes.Node: "node", schema.Part: "part"}
"""The families that are told apart by a tag."""


def main() -> int:
    made = HEAD + "\n".join(declarations())
    if "--check" in sys.argv:
        if TARGET.read_text() == made:
            return 0
        print(f"{TARGET} is out of date: run python scripts/make_types.py", file=sys.stderr)
        return 1
    TARGET.write_text(made)
    return 0


def declarations() -> list[str]:
    """A declaration for every struct, and one for every family."""
    found = [kind for room in (nodes, schema) for kind in structs(room)]
    shapes = [interface(kind) for kind in [ContextDrop, ContextFill, *found] if kind not in (*UNIONS, schema.Value)]
    return shapes + [union(base, [kind for kind in found if issubclass(kind, base)]) for base in UNIONS]


def structs(room: types.ModuleType) -> list[type[msgspec.Struct]]:
    kinds = [kind for _, kind in inspect.getmembers(room, inspect.isclass) if kind.__module__ == room.__name__]
    return sorted((k for k in kinds if issubclass(k, msgspec.Struct)), key=lambda k: inspect.getsourcelines(k)[1])


def interface(kind: type[msgspec.Struct]) -> str:
    tag = kind.__struct_config__.tag
    lines = [f"  {kind.__struct_config__.tag_field}: {tag!r};".replace("'", '"')] if tag else []
    hints = typing.get_type_hints(kind)
    lines += [f"  {field}: {written(hints[field])};" for field in kind.__struct_fields__]
    said = inspect.cleandoc(kind.__doc__ or "").split("\n")[0]
    return "\n".join([f"/** {said} */", f"export interface {kind.__name__} {{", *lines, "}", ""])


def union(base: type, kinds: list[type]) -> str:
    names = "\n".join(f"  | {kind.__name__}" for kind in kinds if kind is not base)
    return f"export type {base.__name__} =\n{names};\n"


def written(hint: Any) -> str:
    """A Python type as TypeScript writes it."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " | ".join("null" if part is type(None) else written(part) for part in inner)
    if origin in (list, tuple):
        item = written(inner[0])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin is dict:
        return f"Record<string, {written(inner[1])}>"
    return PLAIN.get(hint) or hint.__name__


if __name__ == "__main__":
    sys.exit(main())
