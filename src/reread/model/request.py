"""An API request, rebuilt from what a transcript has of it, proven by the digest of the client, and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from reread.base.alignment import EQUAL, steps
from reread.base.canonical_json import CACHE_MARK, canonical
from reread.base.choices import RequestProof
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.structs import FrozenStruct
from reread.base.times import parse_timestamp
from reread.model.metadata import Metadata
from reread.model.request_index import NOT_NOTED, RequestIndex

if TYPE_CHECKING:
    from reread.records.types.api import CacheMark
from collections.abc import Iterator, Mapping

NOT_DIGESTED = frozenset({"metadata", "stream", "thread", "diagnostics", "safeguards", "data_flow"})
"""The fields of a request that the client leaves out of its digest, and out of the transcript."""
MESSAGES = "messages"
MOST_REPEATED = 2 << 20
"""Bytes that a request may have more than once. Each record is mostly named once; one that is named ten thousand times
would make gigabytes out of a small transcript."""


class RequestContent:
    """The content of one request; rebuilt when asked for."""

    def __init__(self, index: RequestIndex, number: int) -> None:
        self._index = index
        self.number: int = number
        """Its position among the requests of its thread, from 1."""
        self.record: int = index.notes[number - 1].record
        """The record that notes it, by index."""

    @cached_property
    def _note(self) -> dict[str, Any]:
        return self._index.value(self.record)

    @property
    def id(self) -> str:
        """The client's id for it."""
        return self._index.notes[self.number - 1].id

    @property
    def timestamp(self) -> datetime | None:
        """When it was sent, with a time zone."""
        return parse_timestamp(as_str(self._note.get("timestamp")))

    @property
    def query_source(self) -> str | None:
        """The purpose of the request: `sdk`, `repl_main_thread`, `agent:…`."""
        return as_str(self._note.get("querySource"))

    @property
    def params(self) -> dict[str, Any]:
        """Its other fields: model, max_tokens, thinking, betas …"""
        return as_dict(self._note.get("params"))

    @property
    def model(self) -> str | None:
        """The model that was asked."""
        return as_str(self.params.get("model"))

    @property
    def shape_hash(self) -> str | None:
        """The hash of system prompt and tools: equal in two requests if these are."""
        return as_str(self._note.get("shapeHash"))

    @cached_property
    def _shape(self) -> dict[str, Any] | None:
        home = self._index.home(self.shape_hash) if self.shape_hash else None
        return home.shape(self.shape_hash or "") if home is not None else None

    @property
    def system(self) -> list[Any]:
        """The blocks of its system prompt, without cache marks."""
        system = as_dict(self._shape).get("system")
        return [{"type": "text", "text": system}] if isinstance(system, str) else as_list(system)

    @property
    def tools(self) -> list[Any]:
        """The definitions of its tools, without cache marks."""
        return as_list(as_dict(self._shape).get("tools"))

    @cached_property
    def _hashes(self) -> tuple[list[str], bool]:
        return self._index.hashes(self.number - 1)

    @property
    def message_hashes(self) -> list[str]:
        """The hash of each message: equal in two requests if the messages are."""
        return self._hashes[0]

    @property
    def messages(self) -> list[dict[str, Any] | None]:
        """Its messages, without cache marks; a text alone is one block. None stands for one that is missing.

        All are None if they are too large to be rebuilt. Equal messages share their content.
        """
        return [None] * len(self.message_hashes) if self._too_large else self._index.messages(self.message_hashes)

    @cached_property
    def _too_large(self) -> int:
        """The bytes of its messages if they repeat too many; else 0."""
        self._index.find(self.message_hashes, self.record)
        size, read = self._index.sizes(self.message_hashes)
        return size if size - read > MOST_REPEATED else 0

    def rows(self, number: int) -> Sequence[int]:
        """Return the records that a message, counted from 0, was made of, by index; none if no record has it."""
        hash = self.message_hashes[number]
        self._index.find([hash], self.record)
        return self._index.rows(hash)

    @property
    def cache_marks(self) -> list[CacheMark]:
        """Its cache marks, each with the way to its block: `["messages", 3, "content", 0]`."""
        from reread.records.types.api import CacheMark  # loaded late: few verbs need the structs of records

        noted = map(as_dict, as_list(self._note.get("cacheControl")))
        return [
            CacheMark(path=cast(list[str | int], mark["path"]), value=as_dict(mark.get("value")))
            for mark in noted
            if isinstance(mark.get("path"), list) and all(isinstance(step, str | int) for step in mark["path"])
        ]

    @property
    def body(self) -> dict[str, Any]:
        """The whole request, with its cache marks: what was sent, without what the client never notes.

        None stands for a message that is missing.
        """
        return _marked({**(self._shape or {}), **self.params, MESSAGES: self.messages}, self.cache_marks, start=0)

    @property
    def digest(self) -> str | None:
        """The digest that the client wrote; of a request that it cut, that of what is left."""
        return as_str(self._note.get("requestDigest")) or as_str(self._note.get("cutRequestDigest"))

    @cached_property
    def missing(self) -> list[str]:
        """The parts that were sent and cannot be rebuilt, each in words; empty if nothing is missing."""
        hashes, complete = self._hashes
        out = ["system prompt and tools"] if self._shape is None else []
        if not complete:
            out.append("messages of an earlier request")
        if self._too_large:
            out.append(f"all messages, too large to rebuild ({self._too_large:,} bytes)")
        else:
            gone = [n for n, message in enumerate(self.messages, 1) if message is None and hashes[n - 1] != NOT_NOTED]
            out += [f"message {n} of {len(hashes)}" for n in gone]
        if isinstance(self._note.get("cut"), dict):
            out.append("what the client cut out before it noted the request")
        return out + [f"parameter {name}" for name in as_list(self._note.get("withheld"))]

    @cached_property
    def proof(self) -> RequestProof:
        """Whether the digest that the client wrote proves what was rebuilt, or why it does not."""
        if self.digest is None:
            return "no_digest"
        try:
            if self._digest() == self.digest:
                return "verified"
        except ValueError:  # nested too deep to be hashed
            return "different"
        return "incomplete" if self.missing else "different"

    @property
    def verified(self) -> bool:
        """True if the digest of what was rebuilt is the one that the client wrote."""
        return self.proof == "verified"

    def _digest(self) -> str:
        hashes, shape = self.message_hashes, self._shape
        if shape is None or self._too_large:
            return ""
        marks: dict[int, list[CacheMark]] = {}
        outside: list[CacheMark] = []
        for mark in self.cache_marks:
            first, number = (*as_list(mark.path), None, None)[:2]
            inside = first == MESSAGES and isinstance(number, int) and number >= 0
            (marks.setdefault(cast(int, number), []) if inside else outside).append(mark)
        fields = {
            **self._index.field_texts(shape, outside, lambda: _marked(shape, outside, start=0)),
            **{name: canonical(value) for name, value in self.params.items()},
        }
        texts = {
            name: canonical(name) + b":" + text
            for name, text in fields.items()
            if name not in NOT_DIGESTED and name != MESSAGES
        }
        head = [texts[name] for name in sorted(texts) if name < MESSAGES]
        tail = [texts[name] for name in sorted(texts) if name > MESSAGES]
        opening = b"{" + b",".join([*head, b'"messages":['])
        self._index.find(hashes, self.record)
        done = self._index.digest_messages(opening, hashes, marks, _marked)
        if done is None:
            return ""
        done.update(b"]" + b"".join(b"," + text for text in tail) + b"}")
        return done.hexdigest()


R = TypeVar("R", bound=RequestContent)


class Requests(Sequence[R]):
    """The API requests of a thread, in file order; each is rebuilt when it is asked for."""

    def __init__(self, make: Callable[[RequestIndex, int], R], parts: RequestIndex, metadata: Metadata) -> None:
        self._make = make
        self._metadata = metadata
        self.parts: RequestIndex = parts
        """Where the parts of its requests are."""

    def __len__(self) -> int:
        return len(self._metadata.requests)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> list[R]: ...
    def __getitem__(self, index: int | slice) -> R | list[R]:
        numbers = range(1, len(self) + 1)[index]
        if isinstance(numbers, int):
            return self._make(self.parts, numbers)
        return [self._make(self.parts, number) for number in numbers]

    def __repr__(self) -> str:
        return f"<{len(self)} requests>"


def _marked(top: dict[str, Any], marks: Sequence[CacheMark], *, start: int = 2) -> dict[str, Any]:
    """Return a request with its cache marks, or with `start=2` one of its messages.

    Only what leads to a mark is copied: messages that are equal share what they hold.
    """
    top = {**top}
    copies = {id(top)}
    for mark in marks:
        _set_mark(top, as_list(mark.path)[start:], mark, copies)
    return top


def _set_mark(top: Any, path: Sequence[Any], mark: CacheMark, copies: set[int]) -> None:
    """Put a cache mark at its place; one that leads nowhere is left out."""
    nodes = [top]
    for step in path:
        node = nodes[-1]
        if isinstance(node, list) and isinstance(step, int) and 0 <= step < len(cast(list[Any], node)):
            nodes.append(cast(Any, node[step]))
        elif isinstance(node, dict) and isinstance(step, str):
            nodes.append(cast(dict[str, Any], node).get(step))
        else:
            return
    if not isinstance(nodes[-1], dict):
        return
    node = top
    for step in path:
        if id(node[step]) not in copies:
            node[step] = node[step].copy()
            copies.add(id(node[step]))
        node = node[step]
    node[CACHE_MARK] = mark.value


ADDED, DROPPED, EDITED = "added", "dropped", "edited"
MOST_COMPARED = 2000
"""If more items than these differ, they are dropped and added, and not compared with each other."""


class RequestChange(FrozenStruct):
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
    for tag, a, a_end, b, b_end in steps(old, new, MOST_COMPARED**2):
        if tag == EQUAL:
            continue
        both = min(a_end - a, b_end - b)
        for n in range(max(a_end - a, b_end - b)):
            change = EDITED if n < both else DROPPED if a + n < a_end else ADDED
            gone, came = a + n, b + n
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
