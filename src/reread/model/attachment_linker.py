"""Attach records to the call or the message that they belong to."""

from __future__ import annotations

from collections.abc import Sequence

from reread.model.conversation import Conversation, Message
from reread.model.ledger import NO_TARGET, call_target


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
