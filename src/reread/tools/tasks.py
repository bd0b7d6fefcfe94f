"""TaskCreate, TaskUpdate, TaskGet and TaskList: tasks with ids, owners and what blocks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.deeds import Deed
from reread.nodes import Checklist, Data, Item, Node, Note, facts
from reread.tools import generic, replies
from reread.tools.todo import state
from reread.tools.tool import Tool
from reread.tools.values import count, each, first, held, line, listed, words

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

    from_: str = ""
    to: str = ""

    __struct_config__: Any


class UpdateOutput(Struct, kw_only=True):
    """What changed."""

    success: bool | None = None
    taskId: str = ""
    updatedFields: list[str] | None = None
    error: str | None = None
    statusChange: dict[str, str] | None = None
    verificationNudgeNeeded: bool | None = None


class ListOutput(Struct, kw_only=True):
    """All tasks."""

    tasks: list[Task] | None = None
