"""Responses in pieces: blocks that are still streamed, and the blocks of several records joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from reread.base import jsontext
from reread.base.coerce import as_dict
from reread.records.blocks import Block, Text, Thinking, to_block

GROWING = ("text", "thinking", "signature", "partial_json")
"""The fields of a block that a stream sends in pieces."""


class PartialResponse:
    """A response that is still being streamed: the blocks for which no whole record has come yet."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}
        """The pieces appended to the fields of each block; there can be thousands."""
        self._complete: set[int] = set()

    def apply(self, event: dict[str, Any]) -> None:
        """Apply one event of the API's stream."""
        place = event.get("index")
        if not isinstance(place, int):
            return
        if event.get("type") == "content_block_start" and isinstance(event.get("content_block"), dict):
            self._blocks[place] = dict(event["content_block"])
            self._pieces.pop(place, None)
        elif event.get("type") == "content_block_delta" and isinstance(event.get("delta"), dict):
            self._blocks.setdefault(place, {"type": "text", "text": ""})
            _append(self._pieces.setdefault(place, {}), event["delta"])

    def complete(self, type: str) -> None:
        """Drop the first pending block of a type: a whole record with it has come."""
        for place in sorted(self._blocks):
            if place not in self._complete and self._blocks[place].get("type") == type:
                self._complete.add(place)
                return

    def pending(self) -> list[Block]:
        """Return the blocks that no whole record has replaced."""
        return [to_block(self._block(place)) for place in sorted(self._blocks) if place not in self._complete]

    def _block(self, place: int) -> dict[str, Any]:
        block, pieces = self._blocks[place], self._pieces.get(place, {})
        return block | {name: f"{block.get(name) or ''}{''.join(more)}" for name, more in pieces.items()}


def _append(pieces: dict[str, list[str]], delta: dict[str, Any]) -> None:
    for name in GROWING:
        piece = delta.get(name)
        if isinstance(piece, str):
            pieces.setdefault(name, []).append(piece)


class BlockPrints:
    """The blocks of a message as JSON, each with the first record that holds it."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}

    def add(self, native: dict[str, Any], index: int) -> None:
        """Add the blocks of a record."""
        for block in _raw_blocks(native):
            self._first.setdefault(jsontext.dumps(block), index)

    def holder(self, native: dict[str, Any]) -> int:
        """Return the first record that holds the blocks of this one, or -1 if one of them is new."""
        prints = [jsontext.dumps(block) for block in _raw_blocks(native)]
        return self._first[prints[0]] if prints and all(block in self._first for block in prints) else -1


def _raw_blocks(native: dict[str, Any]) -> list[Any]:
    """Return the content blocks of a user or assistant record, as written."""
    content = as_dict(native.get("message")).get("content")
    return cast(list[Any], content) if isinstance(content, list) else [content]


def join_blocks(contents: Sequence[Sequence[Block]]) -> list[Block]:
    """Join the blocks of several records of one message.

    Exact repeats are dropped. Content that repeats all earlier blocks and adds to them replaces them. So does content
    that repeats the record before it with longer texts, of which only the last state is kept.
    """
    if len(contents) == 1:
        return list(contents[0])
    blocks: list[Block] = []
    prints: list[bytes] = []
    seen: set[bytes] = set()
    before: Sequence[Block] = ()
    for content in contents:
        more = [jsontext.dumps(block) for block in content]
        if len(more) > len(prints) and more[: len(prints)] == prints:
            blocks, prints = list(content), more
        elif _grows(before, content) and blocks[-len(before) :] == list(before):
            blocks[-len(before) :], prints[-len(before) :] = content, more
        else:
            fresh = [n for n, text in enumerate(more) if text not in seen]
            blocks += [content[n] for n in fresh]
            prints += [more[n] for n in fresh]
        seen.update(more)
        before = content
    return blocks


def new_blocks(before: Sequence[Block], content: Sequence[Block]) -> tuple[list[tuple[Block, str]], Sequence[Block]]:
    """Return what a record adds to the one before: pieces of the texts that grow, and the blocks that are new."""
    if not _grows(before, content):
        known = set(map(jsontext.dumps, before))
        return [], [block for block in content if jsontext.dumps(block) not in known]
    grown = [(old, new) for old, new in zip(before, content, strict=False) if old != new]
    return [(new, _grown_text(new)[len(_grown_text(old)) :]) for old, new in grown], content[len(before) :]


def _grown_text(block: Block) -> str:
    text = block.text if isinstance(block, Text) else getattr(block, "thinking", "")
    return text if isinstance(text, str) else ""


def _grows(before: Sequence[Block], after: Sequence[Block]) -> bool:
    """True if each block of a record is repeated by the next record at its place, whole or with a longer text."""
    if not before or len(after) < len(before):
        return False
    return all(old == new or _is_longer(old, new) for old, new in zip(before, after, strict=False))


def _is_longer(old: Block, new: Block) -> bool:
    """True if a block is another one with more text, and has all of its other fields."""
    name = "text" if isinstance(old, Text) else "thinking"
    if not isinstance(old, (Text, Thinking)) or type(new) is not type(old):
        return False
    was, now = getattr(old, name), getattr(new, name)
    if not isinstance(was, str) or not isinstance(now, str) or not now.startswith(was):
        return False
    others = (field for field in old.__struct_fields__ if field != name)
    return all(getattr(old, field) in (None, getattr(new, field)) for field in others)
