"""What runs in the background: asking how far it is, stopping it, and watching for events."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.records.blocks import to_struct
from reread.tools import _draw
from reread.tools._values import answer, first, held, line, number, span, span_ms, tagged, words
from reread.tools.nodes import Code, Node, Note, Terminal, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

FAILURES = frozenset({"failed", "error", "killed", "timeout", "timed_out"})
RETRIEVALS = {
    "timeout": ("still running when the wait was over", "warning"),
    "not_ready": ("still running", "info"),
    "running": ("still running", "info"),
}
"""What asking for a task's output may come to, other than getting it."""
TAGS = ("retrieval_status", "task_id", "task_type", "status", "exit_code", "output", "error")
"""What a result that is only told says of a task."""


class ShellInput(Struct, kw_only=True):
    """Which shell is asked."""

    bash_id: str = ""
    filter: str | None = None
    block: bool | None = None
    wait_up_to: float | None = None
    """Seconds."""


class ShellOutput(Struct, kw_only=True):
    """What the shell has printed since it was last asked."""

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


class TaskInput(Struct, kw_only=True):
    """Which task is asked."""

    task_id: str | None = None
    agentId: str | None = None
    bash_id: str | None = None
    block: bool | None = None
    timeout: float | None = None
    """Milliseconds."""
    wait_up_to: float | None = None
    """Seconds."""


class Task(Struct, kw_only=True):
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


class TaskOutput(Struct, kw_only=True):
    """How far the task is."""

    retrieval_status: str | None = None
    task: Task | None = None


class StopInput(Struct, kw_only=True):
    """What is to be stopped."""

    task_id: str | None = None
    shell_id: str | None = None


class StopOutput(Struct, kw_only=True):
    """What was stopped."""

    message: str | None = None
    task_id: str | None = None
    shell_id: str | None = None
    task_type: str | None = None
    command: str | None = None
    success: bool | None = None


class Socket(Struct, kw_only=True):
    """A WebSocket whose frames are events."""

    url: str = ""
    protocols: list[str] | None = None


class MonitorInput(Struct, kw_only=True):
    """What is watched, and how long."""

    description: str | None = None
    command: str | None = None
    ws: Socket | None = None
    timeout_ms: float | None = None
    persistent: bool | None = None


class MonitorOutput(Struct, kw_only=True):
    """The watch that was set up."""

    taskId: str | None = None
    timeoutMs: float | None = None
    persistent: bool | None = None


def shell_title(call: ToolCall) -> str:
    """Which shell, and whether it runs."""
    output = _shell(call)
    what = first(output.command if output else None, call.input(ShellInput).bash_id)
    return _title(call, what, output.status if output else None)


def draw_shell(call: ToolCall) -> Iterator[Node]:
    """The command, whether it still runs, and what it printed."""
    given, output = call.input(ShellInput), _shell(call)
    if output is None:
        yield from facts(shell=words(given.bash_id), filter=words(given.filter))
        yield from _draw.reply(call)
        return
    if first(output.command):
        yield Terminal(text=words(output.command), stream="in")
    yield from _draw.refusal(call)
    yield from _state(output.status, output.exitCode, words(output.timestamp))
    yield from _printed(output.stdout, "out")
    yield from _printed(output.stderr, "err")
    yield from facts(
        shell=first(output.shellId, given.bash_id),
        time=words(output.timestamp),
        filter=first(given.filter, output.filterPattern),
        waited_at_most=span(given.wait_up_to),
    )


def _shell(call: ToolCall) -> ShellOutput | None:
    """What the shell told; from the tags of the result where only those were kept."""
    output = call.output(ShellOutput)
    if output is not None or call.ending.state != DONE:
        return output
    told = tagged(call.text, "status", "exit_code", "stdout", "stderr", "timestamp")
    return to_struct({**told, "exitCode": _whole(told.get("exit_code"))}, ShellOutput) if "status" in told else None


def task_title(call: ToolCall) -> str:
    """Which task, and how far it is."""
    output = _output(call)
    task = held(output.task, Task) if output else None
    what = first(task.description if task else None, _task_id(call.input(TaskInput)))
    return _title(call, what, first(task.status if task else None, output.retrieval_status if output else None))


def draw_task(call: ToolCall) -> Iterator[Node]:
    """How far the task is, and what it printed or reported."""
    given, output = call.input(TaskInput), _output(call)
    task = held(output.task, Task) if output else None
    if output is None:
        yield from facts(task=_task_id(given))
        yield from _draw.reply(call)
        return
    yield from _draw.refusal(call)
    text, level = RETRIEVALS.get(words(output.retrieval_status), ("", "info"))
    yield from _draw.note(text, level)
    if task:
        if not (text and task.status == "running"):
            yield from _state(task.status, task.exitCode, "")
        yield from _draw.section("prompt", _draw.prose(task.prompt))
        yield from _reported(task)
        yield from _draw.note(task.error, "error")
    yield from facts(
        task=first(task.task_id if task else None, _task_id(given)),
        type=words(task.task_type).replace("_", " ") if task else "",
        description=words(task.description) if task else "",
        waited=span(call.seconds),
        at_most=span_ms(given.timeout) or span(given.wait_up_to),
    )


def _output(call: ToolCall) -> TaskOutput | None:
    """What was told of the task; from the tags of the result where only those were kept."""
    output = call.output(TaskOutput)
    if output is not None or call.ending.state != DONE:
        return output
    told = tagged(call.text, *TAGS)
    task = {**told, "exitCode": _whole(told.get("exit_code"))}
    return to_struct({**told, "task": task}, TaskOutput) if "retrieval_status" in told else None


def _task_id(given: TaskInput) -> str:
    return first(given.task_id, given.agentId, given.bash_id)


def _reported(task: Task) -> Iterator[Node]:
    output, result = words(task.output), words(task.result)
    if task.isRawTranscript is True:
        yield Code(text=output, language="json")
    elif "agent" not in words(task.task_type):
        yield from _printed(output, "out")
    elif output.strip() != result.strip():
        yield from _draw.prose(output)
    yield from _draw.prose(result)


def stop_title(call: ToolCall) -> str:
    """What is stopped."""
    given, output = call.input(StopInput), answer(call, StopOutput)
    command = first(output.command if output else None)
    return _title(call, first(command, given.task_id, given.shell_id), None)


def draw_stop(call: ToolCall) -> Iterator[Node]:
    """What was stopped, and what came of that."""
    given, output = call.input(StopInput), answer(call, StopOutput) or StopOutput()
    if first(output.command):
        yield Terminal(text=words(output.command), stream="in")
    yield from facts(
        task=first(given.task_id, given.shell_id, output.task_id, output.shell_id),
        type=words(output.task_type).replace("_", " "),
    )
    if first(output.message):
        yield from _draw.ending(call, output.message)
    else:
        yield from _draw.reply(call)


def monitor_title(call: ToolCall) -> str:
    """What is watched."""
    given = call.input(MonitorInput)
    socket = held(given.ws, Socket)
    return _title(call, first(given.description, given.command, socket.url if socket else None), None)


def draw_monitor(call: ToolCall) -> Iterator[Node]:
    """What is watched, and under which name it goes on."""
    given, output = call.input(MonitorInput), call.output(MonitorOutput)
    socket = held(given.ws, Socket)
    if first(given.command):
        yield Terminal(text=words(given.command), stream="in")
    if socket:
        yield from _draw.links((socket.url, given.description))
    if output is None:
        yield from _draw.reply(call)
    else:
        yield from _draw.refusal(call)
        yield Note(text=f"watching in the background as {words(output.taskId)}, {_until(given, output)}")
    yield from facts(description=words(given.description))


def _until(given: MonitorInput, output: MonitorOutput) -> str:
    if output.persistent is True or given.persistent is True:
        return "until it is stopped"
    limit = span_ms(output.timeoutMs if number(output.timeoutMs) else given.timeout_ms)
    return f"for at most {limit}" if limit else "until its source ends"


def _state(status: object, code: object, at: str) -> Iterator[Node]:
    """Whether it runs, and how it ended."""
    said = words(status)
    ended = f" with exit code {code}" if number(code) is not None else ""
    if said == "running":
        yield Note(text=f"still running at {at}" if at else "still running")
    elif said in FAILURES or number(code):
        yield Note(text=f"{said or 'ended'}{ended}", level="error")
    elif said:
        yield Note(text=f"{said}{ended}")


def _printed(text: object, stream: str) -> Iterator[Node]:
    if first(text):
        yield Terminal(text=words(text), stream=stream)


def _title(call: ToolCall, what: str, status: object) -> str:
    parts = (line(what), words(status).replace("_", " "))
    return f"{call.name} {' · '.join(part for part in parts if part)}".strip()


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.lstrip("-").isdecimal() and len(text) < 12 else None


TOOLS = [
    Tool(("BashOutput",), shell_title, draw_shell, category="read"),
    Tool(("TaskOutput", "AgentOutput", "AgentOutputTool", "BashOutputTool"), task_title, draw_task, category="read"),
    Tool(("TaskStop", "KillShell", "KillBash"), stop_title, draw_stop),
    Tool(("Monitor",), monitor_title, draw_monitor),
]
