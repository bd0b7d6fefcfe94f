"""What runs later or meanwhile: Cron…, ScheduleWakeup, RemoteTrigger; BashOutput, TaskOutput, TaskStop and Monitor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base.choices import DONE
from reread.base.format import as_number, duration_ms_text, duration_text
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, plural
from reread.tools import _draw
from reread.tools._show import (
    Fields,
    declared,
    if_answered,
    recorded,
    show_data,
    show_facts,
    show_links,
    show_note,
    show_outcome_or_result,
    show_prose,
    show_result,
    show_section,
    show_table,
    show_terminal,
    show_unfinished,
    titled,
)
from reread.tools._values import parse_json, parse_tags
from reread.tools.nodes import Code, Data, Node, Note
from reread.tools.tool import NoInput, ToolCall

HTTP_ERROR = 400


class CronCreateInput(FrozenStruct):
    """The input of CronCreate."""

    cron: str = ""
    prompt: str | None = None
    recurring: bool | None = None
    durable: bool | None = None


class CronJob(FrozenStruct):
    """A scheduled prompt."""

    id: str = ""
    cron: str | None = None
    humanSchedule: str | None = None
    prompt: str | None = None
    recurring: bool | None = None
    durable: bool | None = None
    nextFireAt: float | None = None


class CronDeleteInput(FrozenStruct):
    """The input of CronDelete."""

    id: str = ""


class CronDeleteResult(FrozenStruct):
    """The result of CronDelete."""

    id: str = ""
    endedLoopWakeup: bool | None = None


class CronListResult(FrozenStruct):
    """The result of CronList."""

    jobs: list[CronJob] | None = None


class ScheduleWakeupInput(FrozenStruct):
    """The input of ScheduleWakeup."""

    delaySeconds: float | None = None
    reason: str | None = None
    prompt: str | None = None
    stop: bool | None = None
    noop: bool | None = None


class ScheduleWakeupResult(FrozenStruct):
    """The result of ScheduleWakeup; `scheduledFor` is 0 if nothing was scheduled."""

    scheduledFor: float | None = None
    clampedDelaySeconds: float | None = None
    wasClamped: bool | None = None
    stopped: bool | None = None
    cancelledWakeups: int | None = None


class RemoteTriggerInput(FrozenStruct):
    """The input of RemoteTrigger."""

    action: str = ""
    trigger_id: str | None = None
    session_id: str | None = None
    cursor: str | None = None
    body: dict[str, Any] | None = None


class RemoteTriggerResult(FrozenStruct):
    """The result of RemoteTrigger."""

    status: int | None = None
    json: str | None = None
    summary: str | None = None


def _wake_title(fields: Fields) -> str:
    """Return the delay and the reason."""
    return "stop" if fields.value("stop") is True else _WAKE_TITLE(fields)


_WAKE_TITLE = titled("[in {delaySeconds:seconds}]: {reason}")


def _changed_delay(fields: Fields) -> Iterator[Node]:
    """Draw what became of the wakeup, if not what was asked for."""
    if fields.value("result.stopped") is True:
        cancelled = plural(fields.value("result.cancelledWakeups"), "wakeup") or "nothing"
        yield Note(text=f"the loop ended; {cancelled} cancelled")
    elif fields.value("result.wasClamped") is True:
        delay = fields.text("result.clampedDelaySeconds:seconds")
        yield Note(text=f"the delay was changed to {delay}", level="warning")


def _service_answer(fields: Fields) -> Iterator[Node]:
    """Draw the answer of the service, as JSON if it is that."""
    if (as_number(fields.value("result.status")) or 0) >= HTTP_ERROR:
        yield Note(text=f"the service returned {fields.text('result.status:number')}", level="error")
    text = fields.text("result.json")
    value = parse_json(text)
    yield from [Data(value=value)] if value is not None else _draw.prose_or_code(text)


FAILURES = frozenset({"failed", "error", "killed", "timeout", "timed_out"})
RETRIEVALS = {
    "timeout": ("still running when the wait timed out", "warning"),
    "not_ready": ("still running", "info"),
    "running": ("still running", "info"),
}
"""The note if the output of a task is not available yet."""
TAGS = ("retrieval_status", "task_id", "task_type", "status", "exit_code", "output", "error")
"""The tags of a result that is only text."""


class BashOutputInput(FrozenStruct):
    """The input of BashOutput."""

    bash_id: str = ""
    filter: str | None = None
    block: bool | None = None
    wait_up_to: float | None = None
    """In seconds."""


class BashOutputResult(FrozenStruct):
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


class TaskOutputInput(FrozenStruct):
    """The input of TaskOutput."""

    task_id: str | None = None
    agentId: str | None = None
    bash_id: str | None = None
    block: bool | None = None
    timeout: float | None = None
    """In milliseconds."""
    wait_up_to: float | None = None
    """In seconds."""


class TaskState(FrozenStruct):
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


class TaskOutputResult(FrozenStruct):
    """The result of TaskOutput."""

    retrieval_status: str | None = None
    task: TaskState | None = None


class TaskStopInput(FrozenStruct):
    """The input of TaskStop."""

    task_id: str | None = None
    shell_id: str | None = None


class TaskStopResult(FrozenStruct):
    """The result of TaskStop."""

    message: str | None = None
    task_id: str | None = None
    shell_id: str | None = None
    task_type: str | None = None
    command: str | None = None
    success: bool | None = None


class MonitorSocket(FrozenStruct):
    """A WebSocket whose frames are events."""

    url: str = ""
    protocols: list[str] | None = None


class MonitorInput(FrozenStruct):
    """The input of Monitor."""

    description: str | None = None
    command: str | None = None
    ws: MonitorSocket | None = None
    timeout_ms: float | None = None
    persistent: bool | None = None


class MonitorResult(FrozenStruct):
    """The result of Monitor."""

    taskId: str | None = None
    timeoutMs: float | None = None
    persistent: bool | None = None


def _shell_result(call: ToolCall) -> dict[str, Any] | None:
    """Return the structured result, or what the tags in its text say; some say the time in the text alone."""
    found, tags = recorded(call), parse_tags(call.text, "status", "exit_code", "stdout", "stderr", "timestamp")
    if found is not None:
        return {**found, "timestamp": found.get("timestamp") or tags.get("timestamp")}
    return _tagged(tags) if call.outcome.state == DONE and "status" in tags else None


def _task_result(call: ToolCall) -> dict[str, Any] | None:
    """Return the structured result, or what the tags in its text say."""
    found, tags = recorded(call), parse_tags(call.text, *TAGS)
    is_tagged = found is None and call.outcome.state == DONE and "retrieval_status" in tags
    return {**tags, "task": _tagged(tags)} if is_tagged else found


def _tagged(tags: dict[str, str]) -> dict[str, Any]:
    code = tags.get("exit_code", "")
    return {**tags, "exitCode": int(code) if code.lstrip("-").isdecimal() and len(code) < 12 else None}


def _shell_status(fields: Fields) -> Iterator[Node]:
    return _status_note(fields, "result", fields.text("result.timestamp"))


def _task_status(fields: Fields) -> Iterator[Node]:
    text, level = RETRIEVALS.get(fields.text("result.retrieval_status"), ("", "info"))
    yield from _draw.note(text, level)
    if not (text and fields.value("result.task.status") == "running"):
        yield from _status_note(fields, "result.task", "")


def _status_note(fields: Fields, path: str, time: str) -> Iterator[Node]:
    word, code = fields.text(f"{path}.status"), as_number(fields.value(f"{path}.exitCode"))
    exit_code = f" with exit code {code}" if code is not None else ""
    if word == "running":
        yield Note(text=f"still running at {time}" if time else "still running")
    elif word in FAILURES or code:
        yield Note(text=f"{word or 'ended'}{exit_code}", level="error")
    elif word:
        yield Note(text=f"{word}{exit_code}")


def _task_report(fields: Fields) -> Iterator[Node]:
    output, report = as_text(fields.value("result.task.output")), as_text(fields.value("result.task.result"))
    if fields.value("result.task.isRawTranscript") is True:
        yield Code(text=output, language="json")
    elif "agent" not in fields.text("result.task.task_type"):
        yield from _draw.terminal(output)
    elif output.strip() != report.strip():
        yield from _draw.prose(output)
    yield from _draw.prose(report)


def _watching(fields: Fields) -> Iterator[Node]:
    """Draw what a monitor runs as, and how long."""
    timeout = fields.value("result.timeoutMs")
    limit = duration_ms_text(timeout if as_number(timeout) else fields.value("timeout_ms"))
    until = f"for at most {limit}" if limit else "until its source ends"
    if fields.value("result.persistent") is True or fields.value("persistent") is True:
        until = "until stopped"
    yield Note(text=f"watching in the background as {fields.text('result.taskId')} {until}")


_TASK = "task_id|agentId|bash_id"


TOOLS = [
    declared(
        ("CronCreate",),
        "{result.humanSchedule|cron}: {prompt}",
        show_prose("prompt"),
        show_facts(
            job="result.id",
            schedule="result.humanSchedule",
            cron="cron",
            repeats="result.recurring:yes_no|recurring:yes_no",
            outlives_the_session="result.durable:yes_no|durable:yes_no",
            next="result.nextFireAt:utc",
        ),
        show_outcome_or_result(),
        input=CronCreateInput,
        result=CronJob,
    ),
    declared(
        ("CronDelete",),
        "{id}",
        show_facts(job="id|result.id"),
        show_result(),
        show_note("this ended the waiting loop", when="result.endedLoopWakeup"),
        input=CronDeleteInput,
        result=CronDeleteResult,
    ),
    declared(
        ("CronList",),
        "[→ {result.jobs:# job}]",
        show_table(
            "result.jobs", job="id", schedule="humanSchedule", cron="cron", next="nextFireAt:utc", prompt="prompt"
        ),
        show_outcome_or_result("result.jobs"),
        input=NoInput,
        result=CronListResult,
    ),
    declared(
        ("ScheduleWakeup",),
        _wake_title,
        show_prose("reason"),
        show_section("prompt", show_prose("prompt")),
        _changed_delay,
        show_facts(delay="delaySeconds:seconds", wakes_at="result.scheduledFor:utc", no_news="noop:yes_no"),
        show_outcome_or_result("result.scheduledFor"),
        input=ScheduleWakeupInput,
        result=ScheduleWakeupResult,
    ),
    declared(
        ("RemoteTrigger",),
        "{action} {trigger_id|session_id}",
        show_facts(action="action", trigger="trigger_id", session="session_id", cursor="cursor"),
        show_data("body", "body", open=True),
        if_answered(show_prose("result.summary"), _service_answer, show_facts(status="result.status")),
        input=RemoteTriggerInput,
        result=RemoteTriggerResult,
    ),
    declared(
        ("BashOutput",),
        "{result.command|bash_id} · {result.status:words}",
        if_answered(
            show_terminal("result.command", "in"),
            show_unfinished,
            _shell_status,
            show_terminal("result.stdout"),
            show_terminal("result.stderr", "err"),
            show_facts(
                shell="result.shellId|bash_id",
                time="result.timestamp",
                filter="filter|result.filterPattern",
                max_wait="wait_up_to:seconds",
            ),
            done=False,
            other=[show_facts(shell="bash_id", filter="filter")],
        ),
        category="read",
        input=BashOutputInput,
        result=BashOutputResult,
        read=_shell_result,
    ),
    declared(
        ("TaskOutput", "AgentOutput", "AgentOutputTool", "BashOutputTool"),
        f"{{result.task.description|{_TASK}}} · {{result.task.status:words|result.retrieval_status:words}}",
        if_answered(
            show_unfinished,
            _task_status,
            show_section("prompt", show_prose("result.task.prompt")),
            _task_report,
            show_note("{result.task.error}", "error"),
            show_facts(
                task=f"result.task.task_id|{_TASK}",
                type="result.task.task_type:words",
                description="result.task.description",
                waited=lambda fields: duration_text(fields.call.seconds),
                max_wait="timeout:ms|wait_up_to:seconds",
            ),
            done=False,
            other=[show_facts(task=_TASK)],
        ),
        category="read",
        input=TaskOutputInput,
        result=TaskOutputResult,
        read=_task_result,
    ),
    declared(
        ("TaskStop", "KillShell", "KillBash"),
        "{result.command|task_id|shell_id}",
        show_terminal("result.command", "in"),
        show_facts(task="task_id|shell_id|result.task_id|result.shell_id", type="result.task_type:words"),
        show_result("{result.message}"),
        input=TaskStopInput,
        result=TaskStopResult,
    ),
    declared(
        ("Monitor",),
        "{description|command|ws.url}",
        show_terminal("command", "in"),
        show_links(("ws.url", "{description}")),
        if_answered(show_unfinished, _watching, done=False),
        show_facts(description="description"),
        input=MonitorInput,
        result=MonitorResult,
    ),
]
