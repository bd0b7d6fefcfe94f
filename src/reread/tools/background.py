"""Background tasks: BashOutput, TaskOutput, TaskStop and Monitor."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from reread.base.choices import DONE
from reread.base.format import as_number, duration_ms_text, duration_text
from reread.base.text import as_text, one_line
from reread.records.blocks import to_struct
from reread.tools import _draw
from reread.tools._values import as_type, first_nonblank, join_parts, parse_tags, typed_result
from reread.tools.nodes import Code, Node, Note, facts
from reread.tools.tool import Tool, ToolCall

FAILURES = frozenset({"failed", "error", "killed", "timeout", "timed_out"})
RETRIEVALS = {
    "timeout": ("still running when the wait timed out", "warning"),
    "not_ready": ("still running", "info"),
    "running": ("still running", "info"),
}
"""The note if the output of a task is not available yet."""
TAGS = ("retrieval_status", "task_id", "task_type", "status", "exit_code", "output", "error")
"""The tags of a result that is only text."""


class BashOutputInput(Struct, frozen=True, kw_only=True):
    """The input of BashOutput."""

    bash_id: str = ""
    filter: str | None = None
    block: bool | None = None
    wait_up_to: float | None = None
    """In seconds."""


class BashOutputResult(Struct, frozen=True, kw_only=True):
    """The result of BashOutput: what the shell has printed since the last call."""

    shellId: str = ""
    command: str | None = None
    status: str | None = None
    exitCode: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    stdoutLines: int | None = None
    stderrLines: int | None = None
    filterPattern: str | None = None
    timestamp: str | None = None


class TaskOutputInput(Struct, frozen=True, kw_only=True):
    """The input of TaskOutput."""

    task_id: str | None = None
    agentId: str | None = None
    bash_id: str | None = None
    block: bool | None = None
    timeout: float | None = None
    """In milliseconds."""
    wait_up_to: float | None = None
    """In seconds."""


class TaskState(Struct, frozen=True, kw_only=True):
    """A command or an agent in the background."""

    task_id: str = ""
    task_type: str | None = None
    status: str | None = None
    description: str | None = None
    output: str | None = None
    exitCode: int | None = None
    prompt: str | None = None
    result: str | None = None
    error: str | None = None
    isRawTranscript: bool | None = None


class TaskOutputResult(Struct, frozen=True, kw_only=True):
    """The result of TaskOutput."""

    retrieval_status: str | None = None
    task: TaskState | None = None


class TaskStopInput(Struct, frozen=True, kw_only=True):
    """The input of TaskStop."""

    task_id: str | None = None
    shell_id: str | None = None


class TaskStopResult(Struct, frozen=True, kw_only=True):
    """The result of TaskStop."""

    message: str | None = None
    task_id: str | None = None
    shell_id: str | None = None
    task_type: str | None = None
    command: str | None = None
    success: bool | None = None


class MonitorSocket(Struct, frozen=True, kw_only=True):
    """A WebSocket whose frames are events."""

    url: str = ""
    protocols: list[str] | None = None


class MonitorInput(Struct, frozen=True, kw_only=True):
    """The input of Monitor."""

    description: str | None = None
    command: str | None = None
    ws: MonitorSocket | None = None
    timeout_ms: float | None = None
    persistent: bool | None = None


class MonitorResult(Struct, frozen=True, kw_only=True):
    """The result of Monitor."""

    taskId: str | None = None
    timeoutMs: float | None = None
    persistent: bool | None = None


def shell_title(call: ToolCall) -> str:
    """Return the command or the shell, and its status."""
    output = _shell_output(call)
    command = output.command if output else None
    return _title(call, first_nonblank(command, call.input(BashOutputInput).bash_id), output.status if output else None)


def draw_shell(call: ToolCall) -> Iterator[Node]:
    """Draw the command, its status, and what it printed."""
    args, output = call.input(BashOutputInput), _shell_output(call)
    if output is None:
        yield from facts(shell=args.bash_id, filter=args.filter)
        yield from _draw.plain_result(call)
        return
    yield from _draw.terminal(output.command, "in")
    yield from _draw.unfinished_note(call)
    yield from _status_note(output.status, output.exitCode, as_text(output.timestamp))
    yield from _draw.terminal(output.stdout)
    yield from _draw.terminal(output.stderr, "err")
    yield from facts(
        shell=first_nonblank(output.shellId, args.bash_id),
        time=output.timestamp,
        filter=first_nonblank(args.filter, output.filterPattern),
        max_wait=duration_text(args.wait_up_to),
    )


def _shell_output(call: ToolCall) -> BashOutputResult | None:
    """Return the structured result, or what the tags in its text say; some say the time in the text alone."""
    output = call.output(BashOutputResult)
    tags = parse_tags(call.text, "status", "exit_code", "stdout", "stderr", "timestamp")
    if output is not None:
        return replace(output, timestamp=output.timestamp or tags.get("timestamp"))
    if call.outcome.state != DONE:
        return None
    return (
        to_struct({**tags, "exitCode": _parse_int(tags.get("exit_code"))}, BashOutputResult)
        if "status" in tags
        else None
    )


def task_title(call: ToolCall) -> str:
    """Return the task and its status."""
    output = _task_output(call)
    task = as_type(output.task, TaskState) if output else None
    name = first_nonblank(task.description if task else None, _task_id(call.input(TaskOutputInput)))
    return _title(
        call, name, first_nonblank(task.status if task else None, output.retrieval_status if output else None)
    )


def draw_task(call: ToolCall) -> Iterator[Node]:
    """Draw the status of the task, and what it printed or reported."""
    args, output = call.input(TaskOutputInput), _task_output(call)
    task = as_type(output.task, TaskState) if output else None
    if output is None:
        yield from facts(task=_task_id(args))
        yield from _draw.plain_result(call)
        return
    yield from _draw.unfinished_note(call)
    text, level = RETRIEVALS.get(as_text(output.retrieval_status), ("", "info"))
    yield from _draw.note(text, level)
    if task:
        if not (text and task.status == "running"):
            yield from _status_note(task.status, task.exitCode, "")
        yield from _draw.section("prompt", _draw.prose(task.prompt))
        yield from _task_report(task)
        yield from _draw.note(task.error, "error")
    yield from facts(
        task=first_nonblank(task.task_id if task else None, _task_id(args)),
        type=as_text(task.task_type).replace("_", " ") if task else "",
        description=as_text(task.description) if task else "",
        waited=duration_text(call.seconds),
        max_wait=duration_ms_text(args.timeout) or duration_text(args.wait_up_to),
    )


def _task_output(call: ToolCall) -> TaskOutputResult | None:
    """Return the structured result, or what the tags in its text say."""
    output = call.output(TaskOutputResult)
    if output is not None or call.outcome.state != DONE:
        return output
    tags = parse_tags(call.text, *TAGS)
    task = {**tags, "exitCode": _parse_int(tags.get("exit_code"))}
    return to_struct({**tags, "task": task}, TaskOutputResult) if "retrieval_status" in tags else None


def _task_id(args: TaskOutputInput) -> str:
    return first_nonblank(args.task_id, args.agentId, args.bash_id)


def _task_report(task: TaskState) -> Iterator[Node]:
    output, result = as_text(task.output), as_text(task.result)
    if task.isRawTranscript is True:
        yield Code(text=output, language="json")
    elif "agent" not in as_text(task.task_type):
        yield from _draw.terminal(output)
    elif output.strip() != result.strip():
        yield from _draw.prose(output)
    yield from _draw.prose(result)


def stop_title(call: ToolCall) -> str:
    """Return what is stopped."""
    args, output = call.input(TaskStopInput), typed_result(call, TaskStopResult)
    command = first_nonblank(output.command if output else None)
    return _title(call, first_nonblank(command, args.task_id, args.shell_id), None)


def draw_stop(call: ToolCall) -> Iterator[Node]:
    """Draw what was stopped, and how that went."""
    args, output = call.input(TaskStopInput), typed_result(call, TaskStopResult) or TaskStopResult()
    yield from _draw.terminal(output.command, "in")
    yield from facts(
        task=first_nonblank(args.task_id, args.shell_id, output.task_id, output.shell_id),
        type=as_text(output.task_type).replace("_", " "),
    )
    yield from _draw.plain_result(call, output.message)


def monitor_title(call: ToolCall) -> str:
    """Return what is watched."""
    args = call.input(MonitorInput)
    socket = as_type(args.ws, MonitorSocket)
    return _title(call, first_nonblank(args.description, args.command, socket.url if socket else None), None)


def draw_monitor(call: ToolCall) -> Iterator[Node]:
    """Draw what is watched, and for how long."""
    args, output = call.input(MonitorInput), call.output(MonitorResult)
    socket = as_type(args.ws, MonitorSocket)
    yield from _draw.terminal(args.command, "in")
    if socket:
        yield from _draw.links((socket.url, args.description))
    if output is None:
        yield from _draw.plain_result(call)
    else:
        yield from _draw.unfinished_note(call)
        yield Note(text=f"watching in the background as {as_text(output.taskId)} {_limit(args, output)}")
    yield from facts(description=args.description)


def _limit(args: MonitorInput, output: MonitorResult) -> str:
    if output.persistent is True or args.persistent is True:
        return "until stopped"
    limit = duration_ms_text(output.timeoutMs if as_number(output.timeoutMs) else args.timeout_ms)
    return f"for at most {limit}" if limit else "until its source ends"


def _status_note(status: object, code: object, time: str) -> Iterator[Node]:
    word = as_text(status)
    exit_code = f" with exit code {code}" if as_number(code) is not None else ""
    if word == "running":
        yield Note(text=f"still running at {time}" if time else "still running")
    elif word in FAILURES or as_number(code):
        yield Note(text=f"{word or 'ended'}{exit_code}", level="error")
    elif word:
        yield Note(text=f"{word}{exit_code}")


def _title(call: ToolCall, name: str, status: object) -> str:
    parts = (one_line(name), as_text(status).replace("_", " "))
    return f"{call.name} {join_parts(*parts, separator=' · ')}".strip()


def _parse_int(text: str | None) -> int | None:
    return int(text) if text and text.lstrip("-").isdecimal() and len(text) < 12 else None


TOOLS = [
    Tool(("BashOutput",), shell_title, draw_shell, category="read", input=BashOutputInput, result=BashOutputResult),
    Tool(
        ("TaskOutput", "AgentOutput", "AgentOutputTool", "BashOutputTool"),
        task_title,
        draw_task,
        category="read",
        input=TaskOutputInput,
        result=TaskOutputResult,
    ),
    Tool(("TaskStop", "KillShell", "KillBash"), stop_title, draw_stop, input=TaskStopInput, result=TaskStopResult),
    Tool(("Monitor",), monitor_title, draw_monitor, input=MonitorInput, result=MonitorResult),
]
