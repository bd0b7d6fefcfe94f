"""The selection of what to show of a session: the same options for every view."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from reread.base.text import plural
from reread.errors import Misuse
from reread.model.conversation import Conversation, Turn
from reread.model.parts import PROMPTS, TEXT, THINKING, TOOLS

_RANGE = re.compile(r"(\d{1,9})?(-)?(\d{1,9})?", re.ASCII)


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What to show of a session."""

    turns: tuple[int, int | None] = (1, None)
    """The first and last turn, counted from 1; None for the end. A negative first turn counts from the end."""
    branch: int | None = None
    """The id of a branch; None for the active one."""
    thinking: bool = True
    tools: bool = True
    only: str | None = None
    """prompts, text (which includes prompts) or tools; None for everything."""
    full: bool = False
    """Whether long output is shown in full."""
    images: bool = True
    """Whether an HTML page contains its pictures."""

    @property
    def is_excerpt(self) -> bool:
        """True if some turns or another branch are selected."""
        return self.turns != (1, None) or self.branch is not None

    @property
    def every_kind(self) -> bool:
        """True if no kind of part is left out."""
        return self.thinking and self.tools and self.only is None

    @property
    def for_agents(self) -> Selection:
        """The same selection for an agent shown below its call, which is shown with all its turns."""
        return msgspec.structs.replace(self, turns=(1, None), branch=None)

    def turn_numbers(self, count: int) -> range:
        """The numbers of the selected turns out of `count`, from 1."""
        first, last = self.turns
        if first > count and self.turns != (1, None):
            place = "this session" if self.branch is None else f"branch {self.branch}"
            raise Misuse(f"No turn {first}; {place} has {plural(count, 'turn')}.")
        numbers = range(1, count + 1)
        return numbers[first:] if first < 0 else numbers[max(first - 1, 0) : last]

    def shows(self, kind: str) -> bool:
        """True if parts of this kind are shown: prompts, text, thinking, tools or notices."""
        if (kind == THINKING and not self.thinking) or (kind == TOOLS and not self.tools):
            return False
        return self.only is None or kind == self.only or (self.only == TEXT and kind == PROMPTS)


EVERYTHING = Selection()


def parse_turns(text: str) -> tuple[int, int | None]:
    """Parse a range of turns: `3-9`, `3`, `3-`, or `-9` for the last nine."""
    found = _RANGE.fullmatch(text.strip())
    first, dash, last = found.groups() if found else (None, None, None)
    if not first and last and dash:
        return -int(last), None
    start = int(first) if first else 0
    stop = int(last) if last else None if dash else start
    if start < 1 or (stop is not None and stop < start):
        raise Misuse(f"Invalid range of turns {text!r}; use 3-9, 3, 3- or -5 for the last five.")
    return start, stop


def selected_turns(conversation: Conversation, selection: Selection) -> Sequence[Turn]:
    """The selected turns of a conversation."""
    turns = conversation.turns
    if selection.branch is not None:
        branch = next((b for b in conversation.branches if b.id == selection.branch), None)
        if branch is None:
            raise Misuse(no_branch_text(conversation, selection.branch))
        turns = branch.turns
    numbers = selection.turn_numbers(len(turns))
    return turns[numbers.start - 1 : numbers.stop - 1]


def no_branch_text(conversation: Conversation, branch: int) -> str:
    """The message of an error about a branch that does not exist."""
    *others, last = (str(b.id) for b in sorted(conversation.branches, key=lambda b: b.id))
    known = f"branches {', '.join(others)} and {last}" if others else f"only branch {last}"
    return f"No branch {branch}; this session has {known}."
