"""The records between messages: how the client was set up, how a turn ended, that another session begins.

Here are also the prompts that were queued and not sent, and the state of the session, each at the message before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base.coerce import as_str
from reread.model.content import first_text


class BetweenMessages:
    """The records between messages, by the index of the message that they stand at."""

    def __init__(self) -> None:
        self.setups: dict[int, list[int]] = {}
        """The records before a message that say how the client was set up, if anything changed."""
        self.before: dict[int, int] = {}
        """For each of these records that changed something, the one before it in the same session."""
        self.setup = -1
        """The last record that says how the client was set up; -1 if there is none."""
        self.ends: dict[int, list[int]] = {}
        """The results after the last message of a turn."""
        self.ended: dict[int, int] = {}
        """The message after which each of these results stands."""
        self.sessions: dict[int, str] = {}
        """The id of the session that begins with a message, if another one came before it."""
        self.files: list[int] = []
        """The records that tell of the state of files: backups, and files that were mentioned or changed."""
        self.states: dict[int, list[int]] = {}
        """The records of session state after a message, or before the first one."""
        self.queued: dict[int, dict[int, str]] = {}
        """The prompts that were queued after a message and are not known to be sent, by their records: how each left
        the queue, or nothing."""
        self.queued_after: dict[int, int] = {}
        """The message that each of these records stands after."""
        self.requeued: dict[int, list[int]] = {}
        """The messages at which a record changed what is known of queued prompts."""
        self.last_of_type: dict[str, int] = {}
        """The last record of session state of each type."""
        self.waiting: list[int] = []
        """Setups that no message has followed yet."""
        self.session: str | None = None
        """The session of the last message."""
        self.last: int = 0
        """The last message, or the first one before it has come."""

    def add_message(self, message: int, session: str | None) -> None:
        """Note that a message follows what was added, and the session that it belongs to."""
        self.last = message
        if self.waiting:
            self.setups[message] = self.waiting[:]
            self.waiting.clear()
        if session is not None and session != self.session:
            if self.session is not None:
                self.sessions[message] = session
            self.session = session

    def add_setup(self, record: int, *, of_session: bool) -> None:
        """Note that the client was set up as no record before says; `of_session` if it was set up in this session."""
        self.waiting.append(record)
        if of_session:
            self.before[record] = self.setup

    def end_turn(self, message: int, record: int) -> None:
        """Note that a result ends a turn after a message."""
        self.ends.setdefault(message, []).append(record)
        self.ended[record] = message

    def add_state(self, record: int, type: str) -> None:
        """Note a record of session state after the last message, and the one of its type before it."""
        self.states.setdefault(self.last, []).append(record)
        if type in self.last_of_type:
            self.before[record] = self.last_of_type[type]
        self.last_of_type[type] = record

    def queue_prompt(self, record: int) -> None:
        """Note that a prompt was queued after the last message."""
        self.queued.setdefault(self.last, {})[record] = ""
        self.queued_after[record] = self.last

    def is_queued(self, record: int) -> bool:
        """True if a prompt is still in the queue, as far as is known."""
        return record in self.queued_after and not self.queued[self.queued_after[record]][record]

    def take_prompt(self, record: int, how: str, *, by: int) -> None:
        """Note how a prompt left the queue without being sent, and the record that says so."""
        message = self.queued_after[record]
        self.queued[message][record] = how
        self.requeued.setdefault(by, []).append(message)

    def send_prompt(self, record: int, *, by: int) -> None:
        """Note that a queued prompt was sent, and the record that says so."""
        message = self.queued_after.pop(record)
        self.requeued.setdefault(by, []).append(message)
        del self.queued[message][record]
        if not self.queued[message]:
            del self.queued[message]

    def has(self, message: int) -> bool:
        """True if something stands at a message."""
        return message in self.setups or message in self.ends or message in self.sessions or message in self.queued


REMOVED, TAKEN_BACK = "removed", "taken back"
TAKING = {"remove": REMOVED, "popAll": TAKEN_BACK}
"""The fate of prompts that an operation takes out of the queue; `dequeue` sends one."""
MOST_LINES = 50
"""Lines of a queued text up to which it is found as a part of a prompt; a longer one only alone."""


class PromptQueue:
    """The queued prompts of a conversation while its records come in; those not known to be sent are marks."""

    def __init__(self, marks: BetweenMessages) -> None:
        self._marks = marks
        self._waiting: dict[str, list[int]] = {}
        """The records of texts that are not known to be sent."""
        self._order: list[int] = []
        """All records that queued a prompt."""
        self._first = 0
        """The first of them that may still be in the queue."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, index: int, native: dict[str, Any]) -> None:
        """Add what an operation says."""
        operation, text = as_str(native.get("operation")) or "", _plain(first_text(native.get("content")))
        if operation == "enqueue" and text:
            self._order.append(index)
            self._wait(index, text)
        elif operation in TAKING:
            taken = list(self._taken(text, whole=operation == "popAll"))
            if text and not taken and text not in self._waiting:
                self._wait(index, text)  # how it came into the queue was not recorded
                taken = [index]
            for record in taken:
                self._marks.take_prompt(record, TAKING[operation], by=index)

    def _wait(self, index: int, text: str) -> None:
        self._waiting.setdefault(text, []).append(index)
        self._marks.queue_prompt(index)

    def _taken(self, text: str, *, whole: bool) -> Iterator[int]:
        """The prompts that leave the queue: all, the one with this text, or else the first."""
        if text and not whole:
            yield from [record for record in self._waiting.get(text, ())[-1:] if self._marks.is_queued(record)]
            return
        while self._first < len(self._order):
            record = self._order[self._first]
            self._first += 1
            if self._marks.is_queued(record):
                yield record
                if not whole:
                    return

    def send(self, index: int, text: str) -> None:
        """Note that a prompt was sent: one that was queued, or several joined by line ends."""
        text = _plain(text)
        while text:
            queued = next((one for one in (text, *_beginnings(text)) if one in self._waiting), None)
            if queued is None:
                return
            self._marks.send_prompt(self._waiting[queued].pop(), by=index)
            if not self._waiting[queued]:
                del self._waiting[queued]
            text = text[len(queued) :].strip("\n")


def _plain(text: str) -> str:
    return text.replace("\r", "").strip()


def _beginnings(text: str) -> Iterator[str]:
    """The first lines of a text: one, two …"""
    end = -1
    for _ in range(MOST_LINES):
        end = text.find("\n", end + 1)
        if end < 0:
            return
        yield text[:end].rstrip()
