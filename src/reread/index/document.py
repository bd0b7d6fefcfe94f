"""A document of search: one text of a record; and what is carried along while the records of a file are read."""

from __future__ import annotations

import msgspec

KINDS = PROMPT, TEXT, THINKING, INPUT, RESULT, NOTICE, TITLE, REQUEST = (
    "prompt",
    "text",
    "thinking",
    "input",
    "result",
    "notice",
    "title",
    "request",
)
"""The kinds of document."""
SPILLED_PLACE = 1 << 60
"""The place of a piece of a file that a result was written to: added to the number of the result and of its file and
the offset of the piece."""
MOST_RESULTS = 256
"""The files of so many results of a record are searched."""
META_PLACE = 1 << 20
"""The place of what the client says of an agent beside its file, which is in none of its records."""
CALL_ID = "toolu_"
"""How the ids of calls begin that the API made."""


class SearchDocument(msgspec.Struct, gc=False):
    """One text of a record."""

    kind: str
    text: str
    tool: str = ""
    files: tuple[str, ...] = ()
    error: bool = False
    call: str = ""
    """The id of the call, of an input or a result."""
    spilled: tuple[str, ...] = ()
    """The names of the files that a result was written to."""


class WaitingText(msgspec.Struct, gc=False, array_like=True):
    """A record whose text is indexed if no other record says it."""

    offset: int
    length: int
    line: int
    place: int = 0
    time_ms: int = 0


class CarriedCall(msgspec.Struct, gc=False, array_like=True):
    """A call that has no result yet."""

    tool: str
    files: tuple[str, ...] = ()
    own: bool = False
    """True if it calls reread."""
    texts: tuple[int, ...] = ()
    """Prints of the long texts of its input, which its result may repeat."""
    report: WaitingText | None = None
    """Its last report while it ran."""


class PartialBlock(msgspec.Struct, gc=False, array_like=True):
    """A block of a response that is still streamed, and the record that the response began with."""

    offset: int
    length: int
    line: int
    type: str
    text: str = ""
    time_ms: int = 0


class ParseState(msgspec.Struct, array_like=True):
    """The state that the records so far leave for those that follow."""

    calls: dict[str, CarriedCall] = {}
    partial: dict[int, PartialBlock] = {}
    """The blocks of the streamed response by their index."""
    line: int = 0
    """Number of lines read."""
    time_ms: int = 0
    """The last time that a record stated; records without one are taken to be of the same time."""
    said: list[int] = []
    """Prints of the last texts: records of the session's state repeat them."""
    states: dict[str, int] = {}
    """Prints of the last texts of session state, by the type of record."""
    prompt: str = ""
    """How the last prompt begins, on one line."""
    prompts: list[int] = []
    """Prints of the last prompts, on one line each."""
    reports: list[int] = []
    """Prints of the last reports of running calls."""
    queued: dict[int, WaitingText | None] = {}
    """The texts in the queue by their prints; None for one that was delivered."""
