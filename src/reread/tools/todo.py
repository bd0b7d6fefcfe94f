"""TodoWrite and TodoRead: the to-do list, and what changed in it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.text import as_text, one_line
from reread.records.blocks import to_struct
from reread.tools import generic
from reread.tools._values import first_nonblank, list_of
from reread.tools.nodes import Checklist, ChecklistItem, Node, Note
from reread.tools.tool import Tool, ToolCall

STATES = {
    "pending": "pending",
    "in_progress": "active",
    "completed": "done",
    "deleted": "cancelled",
    "cancelled": "cancelled",
}
"""The state of a checklist item for each status."""


VERIFY_NOTE = "all done without a verification step; the model is asked to verify"


class TodoItem(Struct, frozen=True, kw_only=True):
    """An item of the list."""

    content: str = ""
    status: str = "pending"
    activeForm: str | None = None
    id: str | None = None
    priority: str | None = None


class TodoWriteInput(Struct, frozen=True, kw_only=True):
    """The new list."""

    todos: list[TodoItem] | None = None


class TodoWriteResult(Struct, frozen=True, kw_only=True):
    """The list before and after."""

    oldTodos: list[TodoItem] | None = None
    newTodos: list[TodoItem] | None = None
    verificationNudgeNeeded: bool | None = None


def state(status: object) -> str:
    """Return the state of a checklist item; an unknown status is pending."""
    return STATES.get(as_text(status), "pending")


def title(call: ToolCall) -> str:
    """Return how many items are done, and the active one."""
    todos = _todos(call)
    if not todos:
        return f"{call.name} empty list" if call.arguments.get("todos") == [] else call.name
    states = [state(todo.status) for todo in todos]
    active = next((_text(todo) for todo in todos if state(todo.status) == "active"), "")
    return f"{call.name} {states.count('done')} of {len(todos)} done" + (f" · {one_line(active)}" if active else "")


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the list with its changes, then the items that were dropped."""
    output = call.output(TodoWriteResult) or TodoWriteResult()
    old = {as_text(todo.content): todo for todo in list_of(output.oldTodos, TodoItem)}
    todos = _todos(call)
    items = [_item(todo, old if output.oldTodos is not None else None) for todo in todos]
    items += _dropped(old, {as_text(todo.content) for todo in todos})
    if not items:
        yield from generic.draw(call)
        return
    yield Checklist(items=items)
    yield from generic.outcome_note(call)
    if output.verificationNudgeNeeded is True:
        yield Note(text=VERIFY_NOTE)


def _todos(call: ToolCall) -> list[TodoItem]:
    """Return the list after the call."""
    output = call.output(TodoWriteResult)
    written = list_of(output.newTodos, TodoItem) if output else []
    read = to_struct({"todos": call.data}, TodoWriteInput).todos
    return list_of(call.input(TodoWriteInput).todos, TodoItem) or written or list_of(read, TodoItem)


def _item(todo: TodoItem, old: dict[str, TodoItem] | None) -> ChecklistItem:
    before = old.get(as_text(todo.content)) if old is not None else None
    changed = old is not None and (before is None or as_text(before.status) != as_text(todo.status))
    return ChecklistItem(
        text=_text(todo), state=state(todo.status), changed=changed, note=first_nonblank(todo.priority) or None
    )


def _text(todo: TodoItem) -> str:
    """Return the text of an item; an active item has its own wording."""
    return first_nonblank(todo.activeForm, todo.content) if state(todo.status) == "active" else as_text(todo.content)


def _dropped(old: dict[str, TodoItem], kept: set[str]) -> list[ChecklistItem]:
    dropped = [todo for text, todo in old.items() if text not in kept and state(todo.status) != "done"]
    return [
        ChecklistItem(text=as_text(todo.content), state="cancelled", changed=True, note="dropped") for todo in dropped
    ]


TOOLS = [
    Tool(
        ("TodoWrite", "TodoRead"),
        title,
        draw,
        category="plan",
        input=TodoWriteInput,
        result=TodoWriteResult | list[TodoItem],
    )
]
