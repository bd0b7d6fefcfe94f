"""The bodies of a conversation's records, decoded when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from reread.base.coerce import as_str
from reread.base.times import parse_timestamp
from reread.model.content import content_blocks
from reread.records.blocks import Block, ToolResult
from reread.records.decode import Records
from reread.records.lines import ReadAt

CACHED = 16
"""How many bodies stay decoded: drawing one call asks for each of its records several times."""


class Bodies:
    """Records by index, with their native objects and content blocks, and what others say of them."""

    def __init__(self, read: ReadAt, calls: Mapping[str, object]) -> None:
        self.records = Records(read)
        self.superseded: set[str] = set()
        """The uuids of records that the stream took back."""
        self.positional_results: set[int] = set()
        """The records whose results were paired with calls by position."""
        self.of_agent = False
        """True if the records are an agent's."""
        self._calls = calls
        self._natives: dict[int, dict[str, Any]] = {}
        self._contents: dict[int, list[Block]] = {}

    def native(self, index: int) -> dict[str, Any]:
        """Return a record's object in the native format."""
        found = self._natives.get(index)
        if found is None:
            found = self.records[index].native
            if len(self._natives) >= CACHED:
                del self._natives[next(iter(self._natives))]
            self._natives[index] = found
        return found

    def content(self, index: int) -> list[Block]:
        """Return the content blocks that a record holds."""
        found = self._contents.get(index)
        if found is None:
            found = content_blocks(self.native(index))
            if len(self._contents) >= CACHED:
                del self._contents[next(iter(self._contents))]
            self._contents[index] = found
        return list(found)

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
