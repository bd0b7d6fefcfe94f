"""Pair the results of tools with the calls that they answer, and attach other records, in whatever order they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from reread.base.coerce import as_dict, as_str
from reread.model.conversation import Call, Conversation, Message
from reread.model.ledger import NO_TARGET, ORPHAN, PAIRED, call_target
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


class AttachmentLinker:
    """The attached records of a conversation while its records come in."""

    def __init__(self, conversation: Conversation) -> None:
        self._messages = conversation.messages
        self._calls_by_id = conversation.calls_by_id
        self._ledger = conversation.ledger
        self._loose: list[int] = []
        """Records that came before the first message, which will have them."""
        self._orphans: dict[int, Message] = {}
        """The messages that have results whose call is unknown."""

    def to_call(self, index: int, *tool_use_ids: str | None) -> int:
        """Attach a record to the call with one of these ids, else to a message; return the target for the ledger."""
        for id in tool_use_ids:
            call = self._calls_by_id.get(id or "")
            if call is not None:
                call.attached = appended(call.attached, index)
                return call_target(call.index)
        return self.to_message(index)

    def to_message(self, index: int) -> int:
        """Attach a record to the last message, or to the first one once there is one."""
        if not self._messages:
            self._loose.append(index)
            return NO_TARGET
        message = self._messages[-1]
        message.attached = appended(message.attached, index)
        return message.index

    def orphan(self, index: int) -> int:
        """Attach a record with a result whose call is unknown; the call may still come."""
        target = self.to_message(index)
        if target != NO_TARGET:
            self._orphans[index] = self._messages[target]
        return target

    def release(self, index: int) -> None:
        """Detach a result whose call has come."""
        message = self._orphans.pop(index, None)
        if message is not None:
            message.attached = [other for other in message.attached if other != index]
        self._loose = [other for other in self._loose if other != index]

    def adopt(self, message: Message) -> None:
        """Attach the records that came before the first message to it."""
        for index in self._loose:
            message.attached = appended(message.attached, index)
            self._ledger.change(index, self._ledger.code(index), message.index)
            self._orphans[index] = message
        self._loose = []


def appended(indexes: Sequence[int], index: int) -> Sequence[int]:
    """Append to a list that is an empty tuple until the first item: most messages have none."""
    if isinstance(indexes, list):
        indexes.append(index)
        return indexes
    return [index]
