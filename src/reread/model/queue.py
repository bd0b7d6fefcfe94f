"""Prompts that were queued while a turn ran, until the file shows that they were sent.

A queue's records name no prompt by id: `enqueue` has a text, `dequeue` has none, `remove` had none before 2.1.205, and
several texts may be sent as one prompt. So what was sent is known by its text, and what left the queue by its order.
Each step takes constant time, however long the queue is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base.coerce import as_str
from reread.model.between_messages import BetweenMessages
from reread.model.content import first_text

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
