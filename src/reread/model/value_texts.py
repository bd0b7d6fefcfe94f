"""The texts in the values of records: blocks, inputs, results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from reread.base import jsontext
from reread.base.coerce import LIST, OBJECT, as_dict
from reread.records import blocks as b
from reread.tools.unshown_fields import NOT_TEXT, is_text

ORIGINAL = "originalFile"


def without_original(data: Any) -> Any:
    """Return a structured result without the whole file before an edit, which nobody looks for there."""
    return {**as_dict(data), ORIGINAL: None} if as_dict(data).get(ORIGINAL) else data


def block_text(block: b.Block) -> str:
    """The text of a block that is neither text, thinking nor a call."""
    match block:
        case b.Image():
            texts = strings(getattr(block.picture, "url", None))
        case b.Document():
            source = as_dict(msgspec.structs.asdict(block.source)) if isinstance(block.source, msgspec.Struct) else {}
            texts = strings(
                [block.title, block.context, {name: source.get(name) for name in ("url", "data", "content")}]
            )
        case _:
            texts = strings({name: value for name, value in msgspec.structs.asdict(block).items() if value is not None})
    return "\n".join(texts)


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value or struct, in order, except signatures and the bytes of pictures."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, OBJECT):
            stack += [inner for name, inner in reversed(item.items()) if name not in NOT_TEXT or is_text(name, item)]
        elif isinstance(item, LIST):
            stack += reversed(item)
        elif isinstance(item, msgspec.Struct):
            stack.append(msgspec.structs.asdict(item))


def keys_and_numbers(input: Any) -> Iterator[str]:
    """The keys and numbers of a call's input as one text, each number after its key; nothing if there are none."""
    lines: list[str] = []
    stack: list[tuple[str, Any]] = [("", input)]
    while stack:
        name, item = stack.pop()
        lines += [name] if name else []
        if isinstance(item, OBJECT):
            stack += reversed(item.items())
        elif isinstance(item, LIST):
            stack += [("", inner) for inner in reversed(item)]
        elif isinstance(item, (int, float)):
            lines.append(jsontext.dumps(item).decode())
    if lines:
        yield "\n".join(lines)
