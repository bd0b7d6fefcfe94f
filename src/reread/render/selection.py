"""The selection of what to show of a session: the same options for every view."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

import msgspec

from reread.base.choices import FAILED, SelectedParts
from reread.base.text import matches_tool
from reread.errors import Misuse
from reread.model.conversation import Agent, Call, Conversation, Turn
from reread.model.parts import NOTICES, PROMPTS, TEXT, THINKING, TOOLS
from reread.session.places import call_at, no_turn_text, turns_at, turns_of
from reread.session.session import Session

ANSWERS = "answers"
ONLY = (PROMPTS, ANSWERS, TEXT, TOOLS)
"""The parts that a selection can be limited to."""
PATH_ARGUMENTS = ("file_path", "notebook_path", "path", "filePath", "file_paths", "target_file", "relative_path")
"""The arguments of tools that name a file."""

_RANGE = re.compile(r"(\d{1,9})?(-)?(\d{1,9})?", re.ASCII)
NESTED = 8
"""How many agents, one inside the other, are shown below their calls; the next one is shown at the end."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """A choice of what to show of a session."""

    turns: tuple[int, int | None] = (1, None)
    """The first and last turn, counted from 1; None for the end. A negative first turn counts from the end."""
    path: int | None = None
    """The number of a path through the conversation; None for the active one."""
    thinking: bool = True
    tools: bool = True
    only: SelectedParts | None = None
    """prompts, answers (prompts and final answers), text (prompts and all answers) or tools; None for everything."""
    tool_names: tuple[str, ...] = ()
    """Only calls of these tools, as glob patterns in any case."""
    files: tuple[str, ...] = ()
    """Only calls that name one of these files: a path, its end, or a glob pattern."""
    calls: tuple[str, ...] = ()
    """Only calls with these ids."""
    errors: bool = False
    """Only what failed."""
    full: bool = False
    """Whether long output is shown in full."""
    images: bool = True
    """Whether an HTML page contains its pictures."""

    @property
    def is_excerpt(self) -> bool:
        """True if some turns or messages, or another path, are selected."""
        return self.turns != (1, None) or self.path is not None or self.chooses_messages

    @property
    def chooses_calls(self) -> bool:
        """True if only some calls are shown, with the prompts of their turns."""
        return bool(self.tool_names or self.files or self.calls or self.errors)

    @property
    def chooses_messages(self) -> bool:
        """True if only some messages of a turn are shown."""
        return self.chooses_calls or self.only == ANSWERS

    @property
    def shows_totals(self) -> bool:
        """True if all turns and all kinds are shown, so that the session's end belongs to it."""
        return self.only is None and self.turns == (1, None) and not self.chooses_calls

    @property
    def every_kind(self) -> bool:
        """True if no kind of part is left out."""
        return self.thinking and self.tools and self.only is None and not self.chooses_calls

    @property
    def for_agents(self) -> Selection:
        """The same selection for an agent shown below its call, which is shown with all its turns."""
        return msgspec.structs.replace(self, turns=(1, None), path=None)

    def turn_numbers(self, count: int) -> range:
        """The numbers of the selected turns out of `count`, from 1."""
        first, last = self.turns
        if first > count and self.turns != (1, None):
            raise Misuse(no_turn_text(first, count, self.path))
        numbers = range(1, count + 1)
        return numbers[first:] if first < 0 else numbers[max(first - 1, 0) : last]

    def shows(self, kind: str) -> bool:
        """True if parts of this kind are shown: prompts, text, thinking, tools or notices."""
        if (kind == THINKING and not self.thinking) or (kind == TOOLS and not self.tools):
            return False
        if self.chooses_calls:
            return kind in (PROMPTS, TOOLS) or (kind == NOTICES and self.errors)
        return self.only is None or kind == self.only or (self.only in (TEXT, ANSWERS) and kind in (PROMPTS, TEXT))

    def shows_call(self, call: Call) -> bool:
        """True if a call, or one that its agents made, is selected."""
        return not self.chooses_calls or self.has_call([call])

    def has_call(self, calls: Iterable[Call]) -> bool:
        """True if one of these calls, or one that their agents made, is selected."""
        return any(map(self._is_chosen, _calls_below(calls)))

    def _is_chosen(self, call: Call) -> bool:
        return (
            (not self.tool_names or matches_tool(call.name, self.tool_names))
            and (not self.errors or is_failed(call))
            and (not self.calls or call.id in self.calls)
            and (not self.files or any(_names_file(path, self.files) for path in call_files(call)))
        )


EVERYTHING = Selection()


def selection_at(session: Session, selection: Selection = EVERYTHING) -> Selection:
    """Return a selection, limited to the place at which a session was opened."""
    at = session.at
    if at.request is not None:
        raise Misuse("An API request is shown by show, context and diff; name a turn or a call, as in 8c1f:3.2.")
    if at.path is None and at.turn is None:
        return selection
    if selection.path is not None or (at.turn is not None and selection.turns != (1, None)):
        raise Misuse(f"Cannot choose turns or a path of {at.place}; name the session alone.")
    turns = turns_at(session.conversation, at)
    calls = (call_at(session.conversation, at).id,) if at.call is not None else selection.calls
    chosen = (turns[0].index, turns[0].index) if at.turn is not None else selection.turns
    return msgspec.structs.replace(selection, path=at.path, turns=chosen, calls=calls)


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
    turns = turns_of(conversation, selection.path)
    numbers = selection.turn_numbers(len(turns))
    chosen = turns[numbers.start - 1 : numbers.stop - 1]
    if not selection.chooses_messages:
        return chosen
    narrow = _with_calls if selection.chooses_calls else _with_answer
    return [narrowed for turn in chosen if (narrowed := narrow(turn, selection)) is not None]


def _with_answer(turn: Turn, selection: Selection) -> Turn | None:
    """A turn with its prompt and its final answer: the last response that says something and calls no tool."""
    said = [message for message in turn.messages if message.kind == "response" and message.text.strip()]
    final = next((message for message in reversed(said) if not message.calls), said[-1] if said else None)
    kept = [message for message in turn.messages if message is turn.prompt or message is final]
    return Turn(turn.index, turn.prompt, kept) if kept else None


def _with_calls(turn: Turn, selection: Selection) -> Turn | None:
    """A turn with its prompt and the messages that have selected calls; None if there are none."""
    found = {
        message.index
        for message in turn.messages
        if selection.has_call(message.calls) or (selection.errors and message.kind == "error")
    }
    kept = [message for message in turn.messages if message is turn.prompt or message.index in found]
    return Turn(turn.index, turn.prompt, kept) if found else None


def is_failed(call: Call) -> bool:
    """True if a call failed."""
    return call.state == FAILED


def call_files(call: Call) -> Iterator[str]:
    """Yield the paths that a call's input names."""
    given: Any = call.input
    for name in PATH_ARGUMENTS if isinstance(given, dict) else ():
        value = cast(dict[str, Any], given).get(name)
        listed = cast(list[Any], value) if isinstance(value, list) else [value]
        yield from (path for path in listed if isinstance(path, str))


def _names_file(path: str, files: Iterable[str]) -> bool:
    """True if a path is one of some files: the same, ending in it, or matching it as a glob pattern."""
    slashed = path.replace("\\", "/")
    return any(
        slashed == file or slashed.endswith(f"/{file.removeprefix('./')}") or fnmatchcase(slashed, file)
        for file in (file.replace("\\", "/") for file in files)
    )


def is_shown_at_end(agent: Agent) -> bool:
    """True if an agent is nested so deeply that it is shown at the end and not below its call."""
    depth = 0
    above: Agent | None = agent
    while above is not None:
        depth, above = depth + 1, above.parent
    return depth % NESTED == 0


def agents_at_end(session: Session, selection: Selection) -> Iterator[tuple[Agent, str]]:
    """The agents shown at the end, each with the reason; the client's warm-up agents only with `full`."""
    if selection.only is not None or selection.turns != (1, None):
        return
    for agent in session.agents.values():
        if selection.chooses_calls and not selection.has_call(agent.calls):
            continue
        if agent.call is None and agent.parent is None:
            if selection.full or not agent.warmup:
                yield agent, "not linked to a call"
        elif agent.parent is not None and is_shown_at_end(agent):
            yield agent, f"started by agent {agent.parent.id}"


def agents_below(session: Session, calls: Iterable[Call] | None = None) -> list[Agent]:
    """The agents that these calls started, directly or through other agents; all agents without `calls`."""
    agents = list(session.agents.values())
    if calls is None:
        return agents
    found = {agent.id for call in _calls_below(calls) for agent in call.agents}
    return [agent for agent in agents if agent.id in found]


def _calls_below(calls: Iterable[Call]) -> Iterator[Call]:
    """Yield calls, and those that their agents made, directly or through other agents."""
    waiting, seen = list(calls), set[str]()
    while waiting:
        call = waiting.pop()
        yield call
        for agent in call.agents:
            if agent.id not in seen:
                seen.add(agent.id)
                waiting += agent.calls
