"""The differences between two API requests: parameters, system prompt, tools and messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import msgspec

from reread.base.canonical_json import canonical
from reread.base.coerce import as_dict, as_str
from reread.model.request import RequestContent

ADDED, DROPPED, EDITED = "added", "dropped", "edited"
MOST_COMPARED = 2000
"""If more items than these differ, they are dropped and added, and not compared with each other."""


class RequestChange(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between two requests."""

    part: str
    """param, system, tool or message."""
    change: str
    """added, dropped or edited."""
    name: str
    """The parameter, the tool, or the position of a block or message from 1, in the later request if it is there."""
    before: Any = None
    """None if there was nothing, or a message that is missing in the transcript."""
    after: Any = None


def request_changes(before: RequestContent, after: RequestContent) -> list[RequestChange]:
    """Return what a request added, dropped and edited since another one."""
    return [
        *_by_name("param", before.params, after.params),
        *_by_position("system", *map(_keyed, (before.system, after.system))),
        *_by_name("tool", _named(before.tools), _named(after.tools)),
        *_by_position("message", *map(_messages, (before, after))),
    ]


def _keyed(items: Sequence[Any]) -> list[tuple[bytes, Any]]:
    return [(_key(item), item) for item in items]


def _messages(request: RequestContent) -> list[tuple[bytes, Any]]:
    """Return the messages of a request, each with what it is compared by: one that is missing by its hash."""
    pairs = zip(request.message_hashes, request.messages, strict=True)
    return [(hash.encode("utf-8", "surrogatepass") if item is None else _key(item), item) for hash, item in pairs]


def _named(tools: Sequence[Any]) -> dict[str, Any]:
    return {as_str(as_dict(tool).get("name")) or str(number): tool for number, tool in enumerate(tools, 1)}


def _by_name(part: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[RequestChange]:
    for name in dict.fromkeys((*before, *after)):
        if name not in after:
            yield RequestChange(part=part, change=DROPPED, name=name, before=before[name])
        elif name not in before:
            yield RequestChange(part=part, change=ADDED, name=name, after=after[name])
        elif _key(before[name]) != _key(after[name]):
            yield RequestChange(part=part, change=EDITED, name=name, before=before[name], after=after[name])


def _by_position(
    part: str, before: Sequence[tuple[bytes, Any]], after: Sequence[tuple[bytes, Any]]
) -> Iterator[RequestChange]:
    """Compare two sequences by their keys; items that stand in the place of others are edited ones."""
    old, new = [key for key, _ in before], [key for key, _ in after]
    start = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    rest = (old[start:], new[start:])
    blocks = [("replace", 0, len(rest[0]), 0, len(rest[1]))]
    if max(map(len, rest)) <= MOST_COMPARED:
        blocks = SequenceMatcher(None, *rest, autojunk=False).get_opcodes()
    for tag, a, a_end, b, b_end in blocks:
        if tag == "equal":
            continue
        both = min(a_end - a, b_end - b)
        for n in range(max(a_end - a, b_end - b)):
            change = EDITED if n < both else DROPPED if a + n < a_end else ADDED
            gone, came = start + a + n, start + b + n
            yield RequestChange(
                part=part,
                change=change,
                name=str((gone if change == DROPPED else came) + 1),
                before=before[gone][1] if change != ADDED else None,
                after=after[came][1] if change != DROPPED else None,
            )


def _key(value: Any) -> bytes:
    """Return what an item is compared by, which is small however large the item is."""
    from hashlib import sha256  # loaded late: it loads OpenSSL

    try:
        return sha256(canonical(value)).digest()
    except ValueError:  # nested too deep: equal only to itself
        return b"%d" % id(value)
