"""TodoWrite and TodoRead: the list of things to do, and what changed in it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.records.blocks import to_struct
from reread.tools import generic
from reread.tools._values import each, first, line, words
from reread.tools.nodes import Checklist, ChecklistItem, Node, Note
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall

STATES = {
    "pending": "pending",
    "in_progress": "active",
    "completed": "done",
    "deleted": "cancelled",
    "cancelled": "cancelled",
}
"""What a status is drawn as."""


class Todo(Struct, kw_only=True):
    """Something to do."""

    content: str = ""
    status: str = "pending"
    activeForm: str | None = None
    id: str | None = None
    priority: str | None = None


class Input(Struct, kw_only=True):
    """The list as it is to be."""

    todos: list[Todo] | None = None


class Output(Struct, kw_only=True):
    """The list before and after."""

    oldTodos: list[Todo] | None = None
    newTodos: list[Todo] | None = None
    verificationNudgeNeeded: bool | None = None


def state(status: object) -> str:
    """What a status is drawn as; what is unknown is still to be done."""
    return STATES.get(words(status), "pending")


def title(call: ToolCall) -> str:
    """How far the list is, and what is being done."""
    todos = _todos(call)
    if not todos:
        return f"{call.name} empty list" if call.arguments.get("todos") == [] else call.name
    states = [state(todo.status) for todo in todos]
    doing = next((_text(todo) for todo in todos if state(todo.status) == "active"), "")
    return f"{call.name} {states.count('done')} of {len(todos)} done" + (f" · {line(doing)}" if doing else "")


def draw(call: ToolCall) -> Iterator[Node]:
    """The list with what changed; what was dropped undone stands below it."""
    output = call.output(Output) or Output()
    old = {words(todo.content): todo for todo in each(output.oldTodos, Todo)}
    todos = _todos(call)
    items = [_item(todo, old if output.oldTodos is not None else None) for todo in todos]
    items += _dropped(old, {words(todo.content) for todo in todos})
    if not items:
        yield from generic.draw(call)
        return
    yield Checklist(items=items)
    yield from generic.ending(call)
    if output.verificationNudgeNeeded is True:
        yield Note(text="all done, and nothing among it was a check: the model is asked to verify")


def _todos(call: ToolCall) -> list[Todo]:
    """The list after the call."""
    output = call.output(Output)
    written = each(output.newTodos, Todo) if output else []
    read = to_struct({"todos": call.data}, Input).todos
    return each(call.input(Input).todos, Todo) or written or each(read, Todo)


def _item(todo: Todo, old: dict[str, Todo] | None) -> ChecklistItem:
    before = old.get(words(todo.content)) if old is not None else None
    changed = old is not None and (before is None or words(before.status) != words(todo.status))
    return ChecklistItem(text=_text(todo), state=state(todo.status), changed=changed, note=first(todo.priority) or None)


def _text(todo: Todo) -> str:
    """What is to be done; what is being done, in those words."""
    return first(todo.activeForm, todo.content) if state(todo.status) == "active" else words(todo.content)


def _dropped(old: dict[str, Todo], kept: set[str]) -> list[ChecklistItem]:
    gone = [todo for text, todo in old.items() if text not in kept and state(todo.status) != "done"]
    return [ChecklistItem(text=words(todo.content), state="cancelled", changed=True, note="dropped") for todo in gone]


TOOLS = [Tool(("TodoWrite", "TodoRead"), title, draw, category="plan")]
