"""What is to do: TodoWrite and TodoRead, one list; TaskCreate, TaskUpdate, TaskGet and TaskList, tasks with ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import field

from reread.base.choices import DONE, FAILED
from reread.base.coerce import as_list
from reread.base.late_pattern import late_pattern
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, one_line
from reread.records.blocks import to_struct
from reread.tools import _draw, generic
from reread.tools._values import as_type, first_nonblank, join_parts, list_of
from reread.tools.nodes import Checklist, ChecklistItem, Data, Node, Note, facts
from reread.tools.tool import NoInput, Tool, ToolCall

STATES = {
    "pending": "pending",
    "in_progress": "active",
    "completed": "done",
    "deleted": "cancelled",
    "cancelled": "cancelled",
}
"""The state of a checklist item for each status."""
VERIFY_NOTE = "all done without a verification step; the model is asked to verify"
_CREATED = late_pattern(r"Task #(\S+) created")
_LISTED = late_pattern(r"#(\S+) \[(\w+)\] (.*)")


class TaskCreateInput(FrozenStruct):
    """The input of TaskCreate."""

    subject: str = ""
    description: str | None = None
    activeForm: str | None = None
    metadata: dict[str, Any] | None = None


class TaskUpdateInput(FrozenStruct):
    """The input of TaskUpdate."""

    taskId: str = ""
    status: str | None = None
    subject: str | None = None
    description: str | None = None
    activeForm: str | None = None
    addBlocks: list[str] | None = None
    addBlockedBy: list[str] | None = None
    owner: str | None = None
    metadata: dict[str, Any] | None = None


class TaskGetInput(FrozenStruct):
    """The input of TaskGet."""

    taskId: str = ""


class TaskItem(FrozenStruct):
    """A task."""

    id: str = ""
    subject: str = ""
    description: str | None = None
    status: str = "pending"
    activeForm: str | None = None
    owner: str | None = None
    blocks: list[str] | None = None
    blockedBy: list[str] | None = None


class TaskResult(FrozenStruct):
    """The result of TaskCreate and TaskGet."""

    task: TaskItem | None = None


class StatusChange(FrozenStruct):
    """The status before and after."""

    before: str = field(default="", name="from")
    after: str = field(default="", name="to")


class TaskUpdateResult(FrozenStruct):
    """The result of TaskUpdate."""

    success: bool | None = None
    taskId: str = ""
    updatedFields: list[str] | None = None
    error: str | None = None
    statusChange: StatusChange | None = None
    verificationNudgeNeeded: bool | None = None


class TaskListResult(FrozenStruct):
    """The result of TaskList."""

    tasks: list[TaskItem] | None = None


def create_title(call: ToolCall) -> str:
    """Return the number and the subject of the new task."""
    return join_parts(call.name, _hash(_created(call)), one_line(_subject(call)))


def draw_create(call: ToolCall) -> Iterator[Node]:
    """Draw the new task and its description."""
    args, task = call.input(TaskCreateInput), _task(call)
    text = join_parts(_hash(_created(call)), _subject(call))
    if text:
        yield Checklist(items=[ChecklistItem(text=text, changed=True)])
    yield from _draw.prose(first_nonblank(task.description if task else None, args.description))
    yield from facts(active_form=args.activeForm)
    yield from _metadata(args.metadata)
    yield from generic.outcome_note(call)


def _created(call: ToolCall) -> str:
    found = _CREATED.match(call.text)
    task = _task(call)
    return first_nonblank(task.id if task else None, found[1] if found else None)


def _subject(call: ToolCall) -> str:
    task = _task(call)
    return first_nonblank(task.subject if task else None, call.input(TaskCreateInput).subject)


def update_title(call: ToolCall) -> str:
    """Return the task and the change."""
    args, output = call.input(TaskUpdateInput), call.output(TaskUpdateResult) or TaskUpdateResult()
    change = as_type(output.statusChange, StatusChange)
    status = f"{_status(change.before)} → {_status(change.after)}" if change else _status(args.status)
    changes = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in _changes(args).items() if text)
    return join_parts(call.name, _hash(args.taskId), one_line(status or changes))


def draw_update(call: ToolCall) -> Iterator[Node]:
    """Draw the task and its changes."""
    args, output = call.input(TaskUpdateInput), call.output(TaskUpdateResult) or TaskUpdateResult()
    change = as_type(output.statusChange, StatusChange)
    after = first_nonblank(change.after if change else None, args.status)
    if after:
        note = f"was {_status(change.before)}" if change else None
        text = f"{_hash(args.taskId)} {as_text(args.subject)}".strip()
        done = call.outcome.state != FAILED
        yield Checklist(items=[ChecklistItem(text=text, state=state(after), changed=done, note=note)])
    yield from facts(**_changes(args))
    yield from _draw.prose(args.description)
    yield from _metadata(args.metadata)
    yield from _draw.outcome_message(call, output.error)
    if output.verificationNudgeNeeded is True:
        yield Note(text=VERIFY_NOTE)


def _changes(args: TaskUpdateInput) -> dict[str, str]:
    """Return the changes other than status and description."""
    return {
        "subject": as_text(args.subject),
        "active_form": as_text(args.activeForm),
        "owner": as_text(args.owner),
        "blocks": _hashes(args.addBlocks),
        "blocked_by": _hashes(args.addBlockedBy),
    }


def get_title(call: ToolCall) -> str:
    """Return the task."""
    task = _task(call)
    number = _hash(call.input(TaskGetInput).taskId)
    return join_parts(call.name, number, one_line(task.subject) if task else "")


def draw_get(call: ToolCall) -> Iterator[Node]:
    """Draw the task."""
    task = _task(call)
    if task is None:
        yield from _draw.plain_result(call)
        return
    yield Checklist(items=[_item(task)])
    yield from _draw.prose(task.description)
    yield from facts(
        status=_status(task.status), owner=task.owner, blocks=_hashes(task.blocks), blocked_by=_hashes(task.blockedBy)
    )
    yield from generic.outcome_note(call)


def list_title(call: ToolCall) -> str:
    """Return how many tasks are done."""
    tasks = _tasks(call)
    done = sum(state(task.status) == "done" for task in tasks)
    return f"{call.name} {done} of {len(tasks)} done" if tasks else call.name


def draw_list(call: ToolCall) -> Iterator[Node]:
    """Draw all tasks."""
    tasks = _tasks(call)
    if tasks:
        yield Checklist(items=[_item(task) for task in tasks])
        yield from generic.outcome_note(call)
    else:
        yield from _draw.plain_result(call)


def _tasks(call: ToolCall) -> list[TaskItem]:
    """Return all tasks, from the text of the result if there is no structured one."""
    output = call.output(TaskListResult)
    if output is not None:
        return list_of(output.tasks, TaskItem)
    found = (_LISTED.fullmatch(line) for line in call.text.splitlines())
    return [_listed(match[1], match[2], match[3]) for match in found if match]


def _listed(id: str, status: str, text: str) -> TaskItem:
    subject, mark, blockers = text.partition(" [blocked by ") if text.endswith("]") else (text, "", "")
    blocked_by = blockers[:-1].replace("#", "").split(", ") if mark and blockers[:-1] else None
    return TaskItem(id=id, status=status, subject=subject, blockedBy=blocked_by)


def _task(call: ToolCall) -> TaskItem | None:
    output = call.output(TaskResult)
    return as_type(output.task, TaskItem) if output else None


def _item(task: TaskItem) -> ChecklistItem:
    blocked, owner = _hashes(task.blockedBy), as_text(task.owner)
    notes = [owner, f"blocked by {blocked}" if blocked else ""]
    return ChecklistItem(
        text=join_parts(_hash(task.id), as_text(task.subject)),
        state=state(task.status),
        note=join_parts(*notes, separator=", ") or None,
    )


def _status(status: object) -> str:
    return as_text(status).replace("_", " ")


def _hash(id: object) -> str:
    return f"#{one_line(id)}" if first_nonblank(id) else ""


def _hashes(ids: object) -> str:
    return ", ".join(_hash(id) for id in as_list(ids))


def _metadata(value: object) -> Iterator[Node]:
    if value:
        yield from _draw.section("metadata", [Data(value=value)])


class TodoItem(FrozenStruct):
    """An item of the list."""

    content: str = ""
    status: str = "pending"
    activeForm: str | None = None
    id: str | None = None
    priority: str | None = None


class TodoWriteInput(FrozenStruct):
    """The new list."""

    todos: list[TodoItem] | None = None


class TodoWriteResult(FrozenStruct):
    """The list before and after."""

    oldTodos: list[TodoItem] | None = None
    newTodos: list[TodoItem] | None = None
    verificationNudgeNeeded: bool | None = None


def state(status: object) -> str:
    """Return the state of a checklist item; an unknown status is pending."""
    return STATES.get(as_text(status), "pending")


def todo_title(call: ToolCall) -> str:
    """Return how many items are done, and the active one."""
    todos = _todos(call)
    if not todos:
        return f"{call.name} empty list" if call.arguments.get("todos") == [] else call.name
    states = [state(todo.status) for todo in todos]
    active = next((_todo_text(todo) for todo in todos if state(todo.status) == "active"), "")
    return f"{call.name} {states.count('done')} of {len(todos)} done" + (f" · {one_line(active)}" if active else "")


def draw_todo(call: ToolCall) -> Iterator[Node]:
    """Draw the list with its changes, then the items that were dropped."""
    output = call.output(TodoWriteResult) or TodoWriteResult()
    old = {as_text(todo.content): todo for todo in list_of(output.oldTodos, TodoItem)}
    todos = _todos(call)
    items = [_todo_item(todo, old if output.oldTodos is not None else None) for todo in todos]
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


def _todo_item(todo: TodoItem, old: dict[str, TodoItem] | None) -> ChecklistItem:
    before = old.get(as_text(todo.content)) if old is not None else None
    changed = old is not None and (before is None or as_text(before.status) != as_text(todo.status))
    return ChecklistItem(
        text=_todo_text(todo), state=state(todo.status), changed=changed, note=first_nonblank(todo.priority) or None
    )


def _todo_text(todo: TodoItem) -> str:
    """Return the text of an item; an active item has its own wording."""
    return first_nonblank(todo.activeForm, todo.content) if state(todo.status) == "active" else as_text(todo.content)


def _dropped(old: dict[str, TodoItem], kept: set[str]) -> list[ChecklistItem]:
    dropped = [todo for text, todo in old.items() if text not in kept and state(todo.status) != "done"]
    return [
        ChecklistItem(text=as_text(todo.content), state="cancelled", changed=True, note="dropped") for todo in dropped
    ]


def open_tasks(calls: Iterable[ToolCall]) -> list[str]:
    """Return what some calls leave to do: of the last list that was written, and of the tasks with ids."""
    todos: list[TodoItem] = []
    tasks: dict[str, tuple[str, str]] = {}
    for call in calls:
        if call.outcome.state != DONE:
            continue
        if call.name == "TodoWrite":
            todos = _todos(call)
        elif call.name in ("TaskCreate", "TaskGet"):
            task = _task(call)
            if id := _created(call):
                tasks[id] = (_subject(call), as_text(task.status) if task else "")
        elif call.name == "TaskUpdate":
            args = call.input(TaskUpdateInput)
            subject, status = tasks.get(as_text(args.taskId), (_hash(args.taskId), ""))
            tasks[as_text(args.taskId)] = (first_nonblank(args.subject, subject), first_nonblank(args.status, status))
        elif call.name == "TaskList":
            tasks |= {as_text(task.id): (as_text(task.subject), as_text(task.status)) for task in _tasks(call)}
    items = [(as_text(todo.content), todo.status) for todo in todos] + list(tasks.values())
    return [text for text, status in items if text and state(status) in ("pending", "active")]


TOOLS = [
    Tool(("TaskCreate",), create_title, draw_create, category="plan", input=TaskCreateInput, result=TaskResult),
    Tool(("TaskUpdate",), update_title, draw_update, category="plan", input=TaskUpdateInput, result=TaskUpdateResult),
    Tool(("TaskGet",), get_title, draw_get, category="plan", input=TaskGetInput, result=TaskResult),
    Tool(("TaskList",), list_title, draw_list, category="plan", input=NoInput, result=TaskListResult),
    Tool(
        ("TodoWrite", "TodoRead"),
        todo_title,
        draw_todo,
        category="plan",
        input=TodoWriteInput,
        result=TodoWriteResult | list[TodoItem],
    ),
]
