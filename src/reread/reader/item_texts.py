"""The texts of a timeline item that a search reads: on the server, and packed into an exported page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reread.base.choices import FAILED
from reread.index.document import INPUT, NOTICE, PROMPT, RESULT, SearchDocument
from reread.index.document import TEXT as ANSWER
from reread.index.document import THINKING as THOUGHT
from reread.index.documents import named_files
from reread.model.conversation import Call, Message
from reread.model.parts import NOTICES, PROMPTS, TEXT, THINKING, TOOLS, MessageCall, MessagePart, part_texts
from reread.reader.drawing import shown_parts
from reread.reader.schema import Value

PLACES = {PROMPTS: "prompt", TEXT: "text", THINKING: "thinking", TOOLS: "call", NOTICES: "notice"}
"""The name that a hit has for the kind of part it is in."""
UNIT_KINDS = {
    "prompt": (PROMPT,),
    "text": (ANSWER,),
    "thinking": (THOUGHT,),
    "call": (INPUT, RESULT),
    "notice": (NOTICE,),
}
"""The name that a query has for it; a call is one text here, and its input and its result there."""


class ItemText(Value, frozen=True, omit_defaults=True):
    """One text of an item."""

    where: str
    """prompt, text, thinking, call or notice."""
    text: str
    call: int | None = None
    """The index of the call that the text belongs to."""
    tool: str = ""
    files: tuple[str, ...] = ()
    """The files that the call names."""
    error: bool = False

    @property
    def documents(self) -> list[SearchDocument]:
        """The text as each kind that a query can ask for."""
        return [SearchDocument(kind, self.text, self.tool, self.files, self.error) for kind in UNIT_KINDS[self.where]]


def message_texts(message: Message) -> Iterator[tuple[MessagePart, ItemText]]:
    """Every text of a message with the part that it belongs to."""
    return texts_of(shown_parts(message))


def texts_of(parts: Iterable[MessagePart]) -> Iterator[tuple[MessagePart, ItemText]]:
    """Every text of some parts with the part that it belongs to."""
    for part in parts:
        where = PLACES[part.kind]
        for text in part_texts(part):
            if isinstance(part, MessageCall):
                yield part, _call_text(part.call, where, text)
            else:
                yield part, ItemText(where=where, text=text, error=part.message.kind == "error")


def _call_text(call: Call, where: str, text: str) -> ItemText:
    files = named_files(call.input) or named_files(call.data)
    return ItemText(where=where, text=text, call=call.index, tool=call.name, files=files, error=call.state == FAILED)
