"""The bodies of a conversation's records, decoded when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, cast

from reread.base.coerce import as_dict, as_list, as_str
from reread.base.times import parse_timestamp
from reread.model.content import content_blocks
from reread.model.record_kinds import payload_of
from reread.records.blocks import Block, ResultBlock, Text, ToolResult
from reread.records.decode import Record, Records
from reread.records.dialects.history import paste_files, pasted_text
from reread.records.lines import ReadAt
from reread.tools.outcome import is_plainly_done
from reread.tools.spilled import ReadSpilled
from reread.tools.unshown_fields import ShownText, leftover

CACHED = 16
"""How many bodies stay decoded: drawing one call asks for each of its records several times."""
CACHED_STATES = 64
"""How many records of session state stay decoded: until the next of their type comes."""
ALL = 1 << 62


PLAINLY_DONE, SUSPECT = 1, 2
"""The results in a record at a glance: no call failed, or one may have."""

T = TypeVar("T")


class RecordResults(NamedTuple):
    """The results that one record holds."""

    by_id: dict[str, ResultBlock]
    """The first result for each call."""
    places: dict[str, int]
    """The position of each call's result among the client's own."""
    own: int
    """How many results of the client's own tools there are."""

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> RecordResults:
        """Find the results among the blocks of a record."""
        results = [block for block in blocks if isinstance(block, ResultBlock)]
        if not results:
            return NO_RESULTS
        own = [block for block in results if isinstance(block, ToolResult)]
        by_id = {id: block for block in reversed(results) if isinstance(id := cast(Any, block.tool_use_id), str)}
        places = {
            id: n for n, block in reversed([*enumerate(own)]) if isinstance(id := cast(Any, block.tool_use_id), str)
        }
        return cls(by_id, places, len(own))

    def structured(self, native: dict[str, Any], id: str) -> Any:
        """Return a call's `toolUseResult` from the record that holds its result; None if it may be another call's."""
        data = native.get("toolUseResult")
        if self.own <= 1:
            return data
        place = self.places.get(id)
        if place is None or not isinstance(data, list) or len(cast(list[Any], data)) != self.own:
            return None
        return cast(list[Any], data)[place]


NO_RESULTS = RecordResults({}, {}, 0)


class RecordedState:
    """A record of session state."""

    def __init__(self, record: Record) -> None:
        native = record.native
        subtype = as_str(native.get("subtype")) if record.type == "system" else None
        self.name: str = subtype or record.type
        self.fields: dict[str, Any] = payload_of(native)
        self._text = record.raw.decode("utf-8", "replace") if record.fault is not None else None

    @cached_property
    def values(self) -> dict[str, Any]:
        """Its values by path; a record that cannot be read is one text."""
        return leftover(self.fields, ShownText()) if self._text is None else {"text": self._text}

    def changes(self, before: RecordedState | None) -> dict[str, Any]:
        """Return the values that the record before it does not have."""
        if before is None:
            return self.values
        if self._text is None and self.fields == before.fields:
            return {}
        known = before.values
        return {path: value for path, value in self.values.items() if path not in known or known[path] != value}


class _Body:
    """What one record holds, without its bytes; each part is decoded when it is asked for."""

    def __init__(self, native: dict[str, Any], read_spilled: ReadSpilled) -> None:
        self.native = native
        self._read_spilled = read_spilled

    @cached_property
    def content(self) -> Sequence[Block]:
        texts = (self._read_spilled(name) for name in paste_files(self.native))
        pasted = [Text(text=pasted_text(text)) for text in texts if text is not None]
        return (*content_blocks(self.native), *pasted)

    @cached_property
    def results(self) -> RecordResults:
        return RecordResults.of(self.content)

    @cached_property
    def written(self) -> dict[str, Any]:
        """The results as they are written, the first one for each call."""
        found: dict[str, Any] = {}
        for block in written_blocks(self.native):
            id = as_str(as_dict(block).get("tool_use_id"))
            if id is not None:
                found.setdefault(id, block)
        return found


class Bodies:
    """Records by index, with their native objects and content blocks, and what others say of them."""

    def __init__(self, read: ReadAt, calls: Mapping[str, object]) -> None:
        self.records: Records = Records(read)
        self.superseded: set[str] = set()
        """The uuids of records that the stream took back."""
        self.positional_results: set[int] = set()
        """The records whose results were paired with calls by position."""
        self.read_spilled: ReadSpilled = lambda _: None
        """Reads results that are too large for the transcript."""
        self.of_agent = False
        """True if the records are an agent's."""
        self._calls = calls
        self._bodies = _Recent(lambda index: _Body(self.records[index].native, self.read_spilled))
        self._diffs = _Recent(lambda index: b'"bashEditDiff"' in self.records.body(index))
        self._endings = bytearray()
        """For each record, 0 if its results were not looked at yet, else PLAINLY_DONE or SUSPECT."""
        self._states = _Recent(lambda index: RecordedState(self.records[index]), CACHED_STATES)

    def keep(self) -> None:
        """Keep everything that is decoded: for work on all records of a file that is not too large."""
        self.records.keep()
        self._bodies.most = self._diffs.most = self._states.most = ALL

    def native(self, index: int) -> dict[str, Any]:
        """Return a record's object in the native format."""
        return self._bodies[index].native

    def content(self, index: int) -> Sequence[Block]:
        """Return the content blocks that a record holds."""
        return self._bodies[index].content

    def state(self, index: int) -> RecordedState:
        """Return a record of session state; each is asked for again to tell what the next of its type changed."""
        return self._states[index]

    def result(self, index: int, id: str) -> ResultBlock | None:
        """Return the result for a call that a record holds."""
        return self._bodies[index].results.by_id.get(id)

    def is_plainly_done(self, index: int) -> bool:
        """True if nothing in a record with results can mean that a call failed."""
        endings = self._endings
        if index >= len(endings):
            endings.extend(bytes(index + 1 - len(endings)))
        if not endings[index]:
            endings[index] = PLAINLY_DONE if is_plainly_done(self.records.body(index)) else SUSPECT
        return endings[index] == PLAINLY_DONE

    @property
    def known_endings(self) -> int:
        """In how many records the results were looked at."""
        return len(self._endings) - self._endings.count(0)

    def written_result(self, index: int, id: str) -> Any:
        """Return the result for a call as its record has it written."""
        return self._bodies[index].written.get(id)

    def structured_result(self, index: int, id: str) -> Any:
        """Return the structured result for a call that a record holds."""
        body = self._bodies[index]
        return body.results.structured(body.native, id)

    def may_have_diffs(self, index: int) -> bool:
        """True if a record may say what a command changed."""
        return self._diffs[index]

    def stamp(self, index: int) -> str | None:
        """Return the timestamp of a record as written; if it is not decoded, only its envelope is."""
        body = self._bodies.peek(index)
        return self.records[index].envelope.timestamp if body is None else as_str(body.native.get("timestamp"))

    def time(self, index: int) -> datetime | None:
        """Return the timestamp of a record."""
        return parse_timestamp(as_str(self.native(index).get("timestamp")))

    def is_paired(self, block: Block, records: list[int]) -> bool:
        """True if a block of these records is a result that has been paired with its call."""
        if not isinstance(block, ToolResult):
            return False
        id: Any = block.tool_use_id
        if id is None:
            return not self.positional_results.isdisjoint(records)
        return isinstance(id, str) and id in self._calls


def written_blocks(native: dict[str, Any]) -> list[Any]:
    """Return the content blocks of a record as written; a text alone is one block."""
    content = as_dict(native.get("message")).get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


class _Recent(Generic[T]):
    """The values made of the records asked for last."""

    def __init__(self, make: Callable[[int], T], most: int = CACHED) -> None:
        self._make = make
        self._made: dict[int, T] = {}
        self.most = most

    def __getitem__(self, index: int) -> T:
        made = self._made
        found = made.pop(index) if index in made else self._make(index)
        if len(made) >= self.most:
            del made[next(iter(made))]
        made[index] = found  # the last one is the most recent
        return found

    def peek(self, index: int) -> T | None:
        """Return the value of a record if it is there."""
        return self._made.get(index)
