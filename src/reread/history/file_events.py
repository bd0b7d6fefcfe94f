"""The records of a session about files, in the order of events: calls of all threads, backups, attachments."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from reread.base.coerce import as_dict, as_str
from reread.base.paths import absolute_path
from reread.base.times import timestamp_ms
from reread.history.changes import CHANGING, given_paths, use_of
from reread.history.patches import APPLY_PATCH, CallPatch, call_patch
from reread.history.reads import READ
from reread.model.conversation import Agent, Call, Conversation

BASH = "Bash"
TOOLS = frozenset({*CHANGING, READ, BASH, APPLY_PATCH})
WORKDIR = "workdir"
"""Where the Codex CLI says in which folder a command runs."""
SNAPSHOT, DELTA, ATTACHMENT = "file-history-snapshot", "file-history-delta", "attachment"


class Backup(NamedTuple):
    """That the client found a file in some state."""

    path: str
    """As written: below the session's folder, or from the root."""
    name: str | None
    """The name of the copy; None if the file did not exist."""
    time: str | None
    just_before: bool
    """True if it was made right before a change."""
    folder: str | None


class FileEvent(NamedTuple):
    """Something that a session recorded of files: one of call, backups and attachment."""

    time: int
    thread: int
    place: float
    """The position in its thread: the record, or right before or after it."""
    call: Call | None = None
    backups: tuple[Backup, ...] = ()
    attachment: dict[str, Any] | None = None
    agent: str | None = None
    record: int = -1
    branch: int = 0
    folder: str | None = None
    """The working directory of a call."""
    paths: tuple[str, ...] = ()
    """The files that a call names, from the root."""
    command: str = ""
    given: dict[str, Any] | None = None
    """The input of a call that changes a file."""
    patch: CallPatch | None = None
    """The patch of several files in a call or a command."""


def file_events(main: Conversation, agents: Mapping[str, Agent]) -> Iterator[FileEvent]:
    """Yield what was recorded of files. Each thread keeps its order; threads are merged by time."""
    folder = main.metadata.cwds[0] if main.metadata.cwds else None
    working = [agent for agent in agents.values() if any(call.name in TOOLS for call in agent.calls)]
    threads: list[Iterable[FileEvent]] = [_in_order(_main_events(main, folder, timed=bool(working)))]
    for number, agent in enumerate(working, 1):
        threads.append(_in_order(_call_events(agent, number, agent.id, folder, timed=True)))
    return heapq.merge(*threads, key=lambda event: event[:3])


def _in_order(events: Iterable[FileEvent]) -> list[FileEvent]:
    """Sort the events of a thread by place; where times run backwards, an event gets the time of the one before."""
    latest, out = 0, list[FileEvent]()
    for event in sorted(events, key=lambda event: event.place):
        latest = max(latest, event.time)
        out.append(event._replace(time=latest))
    return out


def _main_events(main: Conversation, folder: str | None, *, timed: bool) -> Iterator[FileEvent]:
    yield from _call_events(main, 0, None, folder, timed=timed)
    for record in main.marks.files:
        native = main.bodies.native(record)
        if native.get("type") == ATTACHMENT:
            time = timestamp_ms(as_str(native.get("timestamp"))) or 0
            attachment = as_dict(native.get("attachment"))
            yield FileEvent(time, 0, record, attachment=attachment, record=record, branch=_branch(main, record))
        else:
            yield _backup_event(main, record, native)


def _call_events(
    conversation: Conversation, thread: int, agent: str | None, folder: str | None, *, timed: bool
) -> Iterator[FileEvent]:
    """Yield the calls of a thread; their times only if there are other threads to be merged."""
    bodies = conversation.bodies
    for call in conversation.calls:
        if call.name not in TOOLS or call.answer < 0:
            continue
        given = use_of(call)
        cwd = as_str(bodies.native(call.use).get("cwd")) or folder
        cwd = absolute_path(place, cwd) if (place := as_str(given.get(WORKDIR))) else cwd
        command = as_str(given.get("command")) or "" if call.name == BASH else ""
        named = () if command else tuple(absolute_path(path, cwd) for path in given_paths(given))
        stamp = bodies.records[call.answer].envelope.timestamp if timed else None
        yield FileEvent(
            time=timestamp_ms(stamp) or 0,
            thread=thread,
            place=call.answer,
            call=call,
            agent=agent,
            record=call.answer if agent is None else -1,
            branch=call.message.branch,
            folder=cwd,
            paths=named,
            command=command,
            given=given if call.name in CHANGING else None,
            patch=call_patch(call.name, given, cwd),
        )


def _backup_event(main: Conversation, record: int, native: dict[str, Any]) -> FileEvent:
    """Return the event of a snapshot at a prompt, or of a backup that a call made right before its change."""
    snapshot = as_dict(native.get("snapshot"))
    update = native.get("isSnapshotUpdate") is True or native.get("type") == DELTA
    if native.get("type") == DELTA:
        found = {as_str(native.get("trackingPath")) or "": native.get("backup")}
    else:
        found = as_dict(snapshot.get("trackedFileBackups"))
    backups = [_backup(path, as_dict(value), update) for path, value in found.items() if path]
    index = main.tree.uuids.get(as_str(native.get("messageId")) or "")
    if update and index is not None and main.bodies.native(index).get("type") != "assistant":
        index = None  # older clients name the prompt, whenever in its turn the backup was made
    place = record if index is None else index + (0.5 if update else -0.5)
    stamps = [as_str(native.get("timestamp")) or as_str(snapshot.get("timestamp"))]
    stamps = [backup.time for backup in backups if backup.time] or stamps if update else stamps
    time = max((timestamp_ms(stamp) or 0 for stamp in stamps), default=0)
    branch = _branch(main, record if index is None else index)
    return FileEvent(time, 0, place, backups=tuple(backups), record=record if index is None else index, branch=branch)


def _backup(path: str, value: dict[str, Any], update: bool) -> Backup:
    name, time, folder = (as_str(value.get(key)) for key in ("backupFileName", "backupTime", "realParentDir"))
    return Backup(path, name, time, update, folder)


def _branch(main: Conversation, record: int) -> int:
    message = main.message_at(record)
    return 0 if message is None else message.branch
