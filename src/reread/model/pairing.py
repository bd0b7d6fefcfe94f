"""Pair the results of tools with the calls that they answer, in whatever order they come."""

from __future__ import annotations

from typing import Any, cast

from reread.base.coerce import as_dict, as_str
from reread.model.attachment_linker import AttachmentLinker
from reread.model.conversation import Call, Conversation, Message
from reread.model.ledger import ORPHAN, PAIRED
from reread.model.repeats import says_again
from reread.records.envelope import BlockEnvelope


class CallPairing:
    """The calls of a conversation while its records come in."""

    def __init__(self, conversation: Conversation, attaching: AttachmentLinker) -> None:
        self._attaching = attaching
        self._conversation = conversation
        self._calls = conversation.calls
        self._by_id = conversation.calls_by_id
        self._unanswered: list[Call] = []
        """Calls that may be unanswered, the newest last."""
        self._early: dict[str, tuple[int, bool]] = {}
        """Results that came before their call: the record, and whether it is an error."""

    def add_call(self, index: int, uuid: str | None, message: Message, block: BlockEnvelope, place: int) -> None:
        """Add the call that a block of a response makes."""
        id = block.id or f"{uuid or index}#{len(self._calls)}"
        if id in self._by_id:
            return
        conversation = self._conversation
        call = Call(
            conversation.bodies,
            len(self._calls),
            id,
            block.name or block.type,
            index,
            place=place,
            conversation=conversation,
            message=message,
        )
        self._by_id[id] = call
        self._calls.append(call)
        self._unanswered.append(call)
        if message.calls:
            cast(list[Call], message.calls).append(call)
        else:
            message.calls = [call]
        if self._early and id in self._early:
            record, is_error = self._early.pop(id)
            call.set_result(record, is_error=is_error)
            if conversation.ledger.code(record) == ORPHAN:
                conversation.ledger.change(record, PAIRED, call.index)
                self._attaching.release(record)

    def pair_results(self, index: int, content: list[BlockEnvelope]) -> tuple[int, Call | None]:
        """Pair the results among the blocks of a user record; return how many there are and the first call."""
        first: Call | None = None
        results = 0
        for place, block in enumerate(content):
            if block.type != "tool_result":
                continue
            results += 1
            id = block.tool_use_id
            call = self._by_id.get(id) if id else self._next_unanswered()
            if call is None:
                if id:
                    self._early[id] = (index, bool(block.is_error))
                continue
            first = first or call
            if call.answer < 0:
                call.set_result(index, is_error=bool(block.is_error), place=-1 if id else place)
                if not id:
                    self._conversation.bodies.positional_results.add(index)
            elif not says_again(self._conversation.records[index], self._conversation.records[call.answer]):
                self._attaching.to_call(index, call.id)
        return results, first

    def pair_inline(self, index: int, block: BlockEnvelope) -> None:
        """Pair the result of a tool that the API ran itself: it is in the response."""
        call = self._by_id.get(block.tool_use_id or "")
        if call is not None and call.answer < 0:
            call.set_result(index, is_error=bool(block.is_error))

    def deny_calls(self, denials: list[Any]) -> None:
        """Mark the calls that the result of a turn lists as denied."""
        for denial in denials:
            call = self._by_id.get(as_str(as_dict(denial).get("tool_use_id")) or "")
            if call is not None:
                call.deny()

    def _next_unanswered(self) -> Call | None:
        """Return the call that a result without an id answers: the first unanswered one of the last response."""
        while self._unanswered and self._unanswered[-1].answer >= 0:
            self._unanswered.pop()
        if not self._unanswered:
            return None
        last = self._unanswered[-1]
        return next((call for call in last.message.calls if call.answer < 0), last)
