"""Where turns begin and end among messages."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TypeVar

from reread.model.message import MessageContent
from reread.model.record_kinds import TURN_STARTERS

M = TypeVar("M", bound=MessageContent)


def split_turns(messages: Sequence[M], ends: Container[int]) -> Iterator[tuple[M | None, list[M]]]:
    """Yield prompt and messages of each turn: a new one at each prompt, and after each end that the file states.

    Notices and context before the first prompt belong to its turn; a response before it is a turn without one.
    """
    turn: list[M] = []
    prompt: M | None = None
    opened = False
    for message in messages:
        starts = message.kind in TURN_STARTERS
        if (starts and opened) or (turn and turn[-1].index in ends):
            yield prompt, turn
            turn, prompt, opened = [], None, False
        if starts and prompt is None:
            prompt = message
        opened = opened or starts or message.kind == "response"
        turn.append(message)
    if turn:
        yield prompt, turn
