"""A unit of search: one text of a record; and what is carried along while the records of a file are read."""

from __future__ import annotations

import msgspec

KINDS = PROMPT, TEXT, THINKING, INPUT, RESULT, NOTICE, TITLE = (
    "prompt",
    "text",
    "thinking",
    "input",
    "result",
    "notice",
    "title",
)
"""The kinds of unit."""
CALL_ID = "toolu_"
"""How the ids of calls begin that the API made."""


class Unit(msgspec.Struct, gc=False):
    """One text of a record."""

    kind: str
    text: str
    tool: str = ""
    files: tuple[str, ...] = ()
    error: bool = False
    call: str = ""
    """The id of the call, of an input or a result."""


class CarriedCall(msgspec.Struct, gc=False, array_like=True):
    """A call that has no result yet."""

    tool: str
    files: tuple[str, ...] = ()
    own: bool = False
    """True if it calls reread."""
    texts: tuple[int, ...] = ()
    """Prints of the long texts of its input, which its result may repeat."""


class PartialBlock(msgspec.Struct, gc=False, array_like=True):
    """A block of a response that is still streamed, and the record that the response began with."""

    offset: int
    length: int
    line: int
    type: str
    text: str = ""
    time_ms: int = 0


class Carry(msgspec.Struct, array_like=True):
    """What the records so far mean for those that follow."""

    calls: dict[str, CarriedCall] = {}
    partial: dict[int, PartialBlock] = {}
    """The blocks of the streamed response by their index."""
    line: int = 0
    """Number of lines read."""
    time_ms: int = 0
    """The last time that a record stated; records without one are taken to be of the same time."""
