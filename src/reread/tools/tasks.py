"""TaskCreate, TaskUpdate, TaskGet and TaskList: tasks with ids, owners and what blocks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from reread.base.coerce import as_list
from reread.tools import _draw, generic
from reread.tools._values import each, first, held, line, words
from reread.tools.nodes import Checklist, ChecklistItem, Data, Node, Note, facts
from reread.tools.todo import state
from reread.tools.tool import Tool
from reread.tools.tool_call import FAILED, ToolCall

_CREATED = re.compile(r"Task #(\S+) created")
_LISTED = re.compile(r"#(\S+) \[(\w+)\] (.*?)(?: \[blocked by (.*)\])?")


class CreateInput(Struct, kw_only=True):
    """A task to be done."""

    subject: str = ""
    description: str | None = None
    activeForm: str | None = None
    metadata: dict[str, Any] | None = None


class UpdateInput(Struct, kw_only=True):
    """What is to change about a task."""

    taskId: str = ""
    status: str | None = None
    subject: str | None = None
    description: str | None = None
    activeForm: str | None = None
    addBlocks: list[str] | None = None
    addBlockedBy: list[str] | None = None
    owner: str | None = None
    metadata: dict[str, Any] | None = None


class GetInput(Struct, kw_only=True):
    """Which task is wanted."""

    taskId: str = ""


class Task(Struct, kw_only=True):
    """A task as it is."""

    id: str = ""
    subject: str = ""
    description: str | None = None
    status: str = "pending"
    activeForm: str | None = None
    owner: str | None = None
    blocks: list[str] | None = None
    blockedBy: list[str] | None = None


class TaskOutput(Struct, kw_only=True):
    """The task that was made or found."""

    task: Task | None = None


class StatusChange(Struct, kw_only=True):
    """From which status to which."""

    before: str = field(default="", name="from")
    after: str = field(default="", name="to")


class UpdateOutput(Struct, kw_only=True):
    """What changed."""

    success: bool | None = None
    taskId: str = ""
    updatedFields: list[str] | None = None
    error: str | None = None
    statusChange: StatusChange | None = None
    verificationNudgeNeeded: bool | None = None


class ListOutput(Struct, kw_only=True):
    """All tasks."""

    tasks: list[Task] | None = None


def create_title(call: ToolCall) -> str:
    """The new task's number and subject."""
    return " ".join(part for part in (call.name, _hash(_created(call)), line(_subject(call))) if part)


def draw_create(call: ToolCall) -> Iterator[Node]:
    """The new task and what it is about."""
    given, task = call.input(CreateInput), _task(call)
    text = " ".join(part for part in (_hash(_created(call)), _subject(call)) if part)
    if text:
        yield Checklist(items=[ChecklistItem(text=text, changed=True)])
    yield from _draw.prose(first(task.description if task else None, given.description))
    yield from facts(while_doing_it=words(given.activeForm))
    yield from _metadata(given.metadata)
    yield from generic.ending(call)


def _created(call: ToolCall) -> str:
    found = _CREATED.match(call.text)
    task = _task(call)
    return first(task.id if task else None, found[1] if found else None)


def _subject(call: ToolCall) -> str:
    task = _task(call)
    return first(task.subject if task else None, call.input(CreateInput).subject)


def update_title(call: ToolCall) -> str:
    """Which task, and what becomes of it."""
    given, output = call.input(UpdateInput), call.output(UpdateOutput) or UpdateOutput()
    change = held(output.statusChange, StatusChange)
    what = f"{_said(change.before)} → {_said(change.after)}" if change else _said(given.status)
    about = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in _changes(given).items() if text)
    return " ".join(part for part in (call.name, _hash(given.taskId), line(what or about)) if part)


def draw_update(call: ToolCall) -> Iterator[Node]:
    """The task with what changed about it."""
    given, output = call.input(UpdateInput), call.output(UpdateOutput) or UpdateOutput()
    change = held(output.statusChange, StatusChange)
    after = first(change.after if change else None, given.status)
    if after:
        note = f"was {_said(change.before)}" if change else None
        text = f"{_hash(given.taskId)} {words(given.subject)}".strip()
        done = call.ending.state != FAILED
        yield Checklist(items=[ChecklistItem(text=text, state=state(after), changed=done, note=note)])
    yield from facts(**_changes(given))
    yield from _draw.prose(given.description)
    yield from _metadata(given.metadata)
    yield from _draw.ending(call, output.error)
    if output.verificationNudgeNeeded is True:
        yield Note(text="all done, and nothing among it was a check: the model is asked to verify")


def _changes(given: UpdateInput) -> dict[str, str]:
    """What changes besides the status and the description."""
    return {
        "subject": words(given.subject),
        "while_doing_it": words(given.activeForm),
        "owner": words(given.owner),
        "blocks": _hashes(given.addBlocks),
        "blocked_by": _hashes(given.addBlockedBy),
    }


def get_title(call: ToolCall) -> str:
    """Which task."""
    task = _task(call)
    number = _hash(call.input(GetInput).taskId)
    return " ".join(part for part in (call.name, number, line(task.subject) if task else "") if part)


def draw_get(call: ToolCall) -> Iterator[Node]:
    """The task as it is."""
    task = _task(call)
    if task is None:
        yield from _draw.reply(call)
        return
    yield Checklist(items=[_item(task)])
    yield from _draw.prose(task.description)
    yield from facts(
        status=_said(task.status),
        owner=words(task.owner),
        blocks=_hashes(task.blocks),
        blocked_by=_hashes(task.blockedBy),
    )
    yield from generic.ending(call)


def list_title(call: ToolCall) -> str:
    """How far all tasks are."""
    tasks = _tasks(call)
    done = sum(state(task.status) == "done" for task in tasks)
    return f"{call.name} {done} of {len(tasks)} done" if tasks else call.name


def draw_list(call: ToolCall) -> Iterator[Node]:
    """All tasks."""
    tasks = _tasks(call)
    if tasks:
        yield Checklist(items=[_item(task) for task in tasks])
        yield from generic.ending(call)
    else:
        yield from _draw.reply(call)


def _tasks(call: ToolCall) -> list[Task]:
    """All tasks; from the lines of the result where only those were kept."""
    output = call.output(ListOutput)
    if output is not None:
        return each(output.tasks, Task)
    found = [match for text in call.text.splitlines() if (match := _LISTED.fullmatch(text))]
    return [
        Task(id=m[1], status=m[2], subject=m[3], blockedBy=m[4].replace("#", "").split(", ") if m[4] else None)
        for m in found
    ]


def _task(call: ToolCall) -> Task | None:
    output = call.output(TaskOutput)
    return held(output.task, Task) if output else None


def _item(task: Task) -> ChecklistItem:
    blocked, owner = _hashes(task.blockedBy), words(task.owner)
    notes = [owner, f"blocked by {blocked}" if blocked else ""]
    return ChecklistItem(
        text=" ".join(part for part in (_hash(task.id), words(task.subject)) if part),
        state=state(task.status),
        note=", ".join(note for note in notes if note) or None,
    )


def _said(status: object) -> str:
    return words(status).replace("_", " ")


def _hash(id: object) -> str:
    return f"#{line(id)}" if first(id) else ""


def _hashes(ids: object) -> str:
    return ", ".join(_hash(id) for id in as_list(ids))


def _metadata(value: object) -> Iterator[Node]:
    if value:
        yield from _draw.section("metadata", [Data(value=value)])


TOOLS = [
    Tool(("TaskCreate",), create_title, draw_create, category="plan"),
    Tool(("TaskUpdate",), update_title, draw_update, category="plan"),
    Tool(("TaskGet",), get_title, draw_get, category="plan"),
    Tool(("TaskList",), list_title, draw_list, category="plan"),
]
