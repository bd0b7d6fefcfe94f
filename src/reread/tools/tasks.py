"""TaskCreate, TaskUpdate, TaskGet and TaskList: tasks with ids, owners and what blocks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from reread.base.coerce import as_list
from reread.tools import _draw, generic
from reread.tools._values import each, first, held, line, words
from reread.tools.nodes import Checklist, Data, Item, Node, Note, facts
from reread.tools.todo import state
from reread.tools.tool import Tool
from reread.tools.tool_call import FAILED, Deed

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


def create_title(deed: Deed) -> str:
    """The new task's number and subject."""
    return " ".join(part for part in (deed.name, _hash(_created(deed)), line(_subject(deed))) if part)


def draw_create(deed: Deed) -> Iterator[Node]:
    """The new task and what it is about."""
    given, task = deed.input(CreateInput), _task(deed)
    text = " ".join(part for part in (_hash(_created(deed)), _subject(deed)) if part)
    if text:
        yield Checklist(items=[Item(text=text, changed=True)])
    yield from _draw.prose(first(task.description if task else None, given.description))
    yield from facts(while_doing_it=words(given.activeForm))
    yield from _metadata(given.metadata)
    yield from generic.ending(deed)


def _created(deed: Deed) -> str:
    found = _CREATED.match(deed.text)
    task = _task(deed)
    return first(task.id if task else None, found[1] if found else None)


def _subject(deed: Deed) -> str:
    task = _task(deed)
    return first(task.subject if task else None, deed.input(CreateInput).subject)


def update_title(deed: Deed) -> str:
    """Which task, and what becomes of it."""
    given, output = deed.input(UpdateInput), deed.output(UpdateOutput) or UpdateOutput()
    change = held(output.statusChange, StatusChange)
    what = f"{_said(change.before)} → {_said(change.after)}" if change else _said(given.status)
    about = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in _changes(given).items() if text)
    return " ".join(part for part in (deed.name, _hash(given.taskId), line(what or about)) if part)


def draw_update(deed: Deed) -> Iterator[Node]:
    """The task with what changed about it."""
    given, output = deed.input(UpdateInput), deed.output(UpdateOutput) or UpdateOutput()
    change = held(output.statusChange, StatusChange)
    after = first(change.after if change else None, given.status)
    if after:
        note = f"was {_said(change.before)}" if change else None
        text = f"{_hash(given.taskId)} {words(given.subject)}".strip()
        done = deed.ending.state != FAILED
        yield Checklist(items=[Item(text=text, state=state(after), changed=done, note=note)])
    yield from facts(**_changes(given))
    yield from _draw.prose(given.description)
    yield from _metadata(given.metadata)
    yield from _draw.ending(deed, output.error)
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


def get_title(deed: Deed) -> str:
    """Which task."""
    task = _task(deed)
    number = _hash(deed.input(GetInput).taskId)
    return " ".join(part for part in (deed.name, number, line(task.subject) if task else "") if part)


def draw_get(deed: Deed) -> Iterator[Node]:
    """The task as it is."""
    task = _task(deed)
    if task is None:
        yield from _draw.reply(deed)
        return
    yield Checklist(items=[_item(task)])
    yield from _draw.prose(task.description)
    yield from facts(
        status=_said(task.status),
        owner=words(task.owner),
        blocks=_hashes(task.blocks),
        blocked_by=_hashes(task.blockedBy),
    )
    yield from generic.ending(deed)


def list_title(deed: Deed) -> str:
    """How far all tasks are."""
    tasks = _tasks(deed)
    done = sum(state(task.status) == "done" for task in tasks)
    return f"{deed.name} {done} of {len(tasks)} done" if tasks else deed.name


def draw_list(deed: Deed) -> Iterator[Node]:
    """All tasks."""
    tasks = _tasks(deed)
    if tasks:
        yield Checklist(items=[_item(task) for task in tasks])
        yield from generic.ending(deed)
    else:
        yield from _draw.reply(deed)


def _tasks(deed: Deed) -> list[Task]:
    """All tasks; from the lines of the result where only those were kept."""
    output = deed.output(ListOutput)
    if output is not None:
        return each(output.tasks, Task)
    found = [match for text in deed.text.splitlines() if (match := _LISTED.fullmatch(text))]
    return [
        Task(id=m[1], status=m[2], subject=m[3], blockedBy=m[4].replace("#", "").split(", ") if m[4] else None)
        for m in found
    ]


def _task(deed: Deed) -> Task | None:
    output = deed.output(TaskOutput)
    return held(output.task, Task) if output else None


def _item(task: Task) -> Item:
    blocked, owner = _hashes(task.blockedBy), words(task.owner)
    notes = [owner, f"blocked by {blocked}" if blocked else ""]
    return Item(
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
    Tool(("TaskCreate",), create_title, draw_create, sort="plan"),
    Tool(("TaskUpdate",), update_title, draw_update, sort="plan"),
    Tool(("TaskGet",), get_title, draw_get, sort="plan"),
    Tool(("TaskList",), list_title, draw_list, sort="plan"),
]
