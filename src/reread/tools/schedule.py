"""Scheduled prompts (CronCreate, CronDelete, CronList), ScheduleWakeup and RemoteTrigger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.choices import DONE
from reread.base.format import as_number, duration_text, number_text, utc_text
from reread.base.text import as_text, one_line, plural
from reread.tools import _draw, generic
from reread.tools._values import first_nonblank, join_parts, list_of, parse_json, titled, typed_result, yes_no
from reread.tools.nodes import Data, Node, Note, Table, facts
from reread.tools.tool import NoInput, Tool, ToolCall

HTTP_ERROR = 400


class CronCreateInput(Struct, frozen=True, kw_only=True):
    """The input of CronCreate."""

    cron: str = ""
    prompt: str | None = None
    recurring: bool | None = None
    durable: bool | None = None


class CronJob(Struct, frozen=True, kw_only=True):
    """A scheduled prompt."""

    id: str = ""
    cron: str | None = None
    humanSchedule: str | None = None
    prompt: str | None = None
    recurring: bool | None = None
    durable: bool | None = None
    nextFireAt: float | None = None


class CronDeleteInput(Struct, frozen=True, kw_only=True):
    """The input of CronDelete."""

    id: str = ""


class CronDeleteResult(Struct, frozen=True, kw_only=True):
    """The result of CronDelete."""

    id: str = ""
    endedLoopWakeup: bool | None = None


class CronListResult(Struct, frozen=True, kw_only=True):
    """The result of CronList."""

    jobs: list[CronJob] | None = None


class ScheduleWakeupInput(Struct, frozen=True, kw_only=True):
    """The input of ScheduleWakeup."""

    delaySeconds: float | None = None
    reason: str | None = None
    prompt: str | None = None
    stop: bool | None = None
    noop: bool | None = None


class ScheduleWakeupResult(Struct, frozen=True, kw_only=True):
    """The result of ScheduleWakeup; `scheduledFor` is 0 if nothing was scheduled."""

    scheduledFor: float | None = None
    clampedDelaySeconds: float | None = None
    wasClamped: bool | None = None
    stopped: bool | None = None
    cancelledWakeups: int | None = None


class RemoteTriggerInput(Struct, frozen=True, kw_only=True):
    """The input of RemoteTrigger."""

    action: str = ""
    trigger_id: str | None = None
    session_id: str | None = None
    cursor: str | None = None
    body: dict[str, Any] | None = None


class RemoteTriggerResult(Struct, frozen=True, kw_only=True):
    """The result of RemoteTrigger."""

    status: int | None = None
    json: str | None = None
    summary: str | None = None


def create_title(call: ToolCall) -> str:
    """Return the schedule and the prompt."""
    args, job = call.input(CronCreateInput), call.output(CronJob) or CronJob()
    return f"{call.name} {one_line(first_nonblank(job.humanSchedule, args.cron))}: {one_line(args.prompt)}".rstrip(": ")


def draw_create(call: ToolCall) -> Iterator[Node]:
    """Draw the prompt and its schedule."""
    args, job = call.input(CronCreateInput), call.output(CronJob)
    yield from _draw.prose(args.prompt)
    result = job or CronJob()
    yield from facts(
        job=result.id,
        schedule=result.humanSchedule,
        cron=args.cron,
        repeats=yes_no(args.recurring if result.recurring is None else result.recurring),
        outlives_the_session=yes_no(args.durable if result.durable is None else result.durable),
        next=utc_text(result.nextFireAt),
    )
    yield from generic.outcome_note(call) if job else _draw.plain_result(call)


def draw_delete(call: ToolCall) -> Iterator[Node]:
    """Draw the cancelled job."""
    output = call.output(CronDeleteResult) or CronDeleteResult()
    yield from facts(job=first_nonblank(call.input(CronDeleteInput).id, output.id))
    yield from _draw.plain_result(call)
    if output.endedLoopWakeup is True:
        yield Note(text="this ended the waiting loop")


def list_title(call: ToolCall) -> str:
    """Return the number of jobs."""
    output = call.output(CronListResult)
    return f"{call.name} → {plural(list_of(output.jobs, CronJob), 'job')}" if output else call.name


def draw_list(call: ToolCall) -> Iterator[Node]:
    """Draw all jobs as a table."""
    output = call.output(CronListResult)
    jobs = list_of(output.jobs, CronJob) if output else []
    if not jobs:
        yield from _draw.plain_result(call)
        return
    yield Table(columns=["job", "schedule", "cron", "next", "prompt"], rows=[_row(job) for job in jobs])
    yield from generic.outcome_note(call)


def _row(job: CronJob) -> list[str]:
    return [
        as_text(job.id),
        as_text(job.humanSchedule),
        as_text(job.cron),
        utc_text(job.nextFireAt),
        as_text(job.prompt),
    ]


def wake_title(call: ToolCall) -> str:
    """Return the delay and the reason."""
    args = call.input(ScheduleWakeupInput)
    if args.stop is True:
        return f"{call.name} stop"
    delay = duration_text(args.delaySeconds)
    when = f"in {delay}" if delay else ""
    return join_parts(call.name, join_parts(when, one_line(args.reason), separator=": "))


def draw_wake(call: ToolCall) -> Iterator[Node]:
    """Draw the reason, the prompt, and when it will run."""
    args, output = call.input(ScheduleWakeupInput), call.output(ScheduleWakeupResult)
    yield from _draw.prose(args.reason)
    yield from _draw.section("prompt", _draw.prose(args.prompt))
    result = output or ScheduleWakeupResult()
    if result.stopped is True:
        yield Note(text=f"the loop ended; {plural(result.cancelledWakeups, 'wakeup') or 'nothing'} cancelled")
    elif result.wasClamped is True:
        yield Note(text=f"the delay was changed to {duration_text(result.clampedDelaySeconds)}", level="warning")
    yield from facts(
        delay=duration_text(args.delaySeconds), wakes_at=utc_text(result.scheduledFor), no_news=yes_no(args.noop)
    )
    scheduled = output is not None and bool(as_number(result.scheduledFor))
    yield from generic.outcome_note(call) if scheduled else _draw.plain_result(call)


def trigger_title(call: ToolCall) -> str:
    """Return the action and the trigger."""
    args = call.input(RemoteTriggerInput)
    return f"{call.name} {one_line(args.action)} {one_line(first_nonblank(args.trigger_id, args.session_id))}".strip()


def draw_trigger(call: ToolCall) -> Iterator[Node]:
    """Draw the request to the service, and its answer."""
    args, output = call.input(RemoteTriggerInput), typed_result(call, RemoteTriggerResult)
    yield from facts(action=args.action, trigger=args.trigger_id, session=args.session_id, cursor=args.cursor)
    if args.body:
        yield from _draw.section("body", [Data(value=args.body)], open=True)
    if output is None or call.outcome.state != DONE:
        yield from _draw.plain_result(call)
    else:
        yield from _trigger_result(output)


def _trigger_result(output: RemoteTriggerResult) -> Iterator[Node]:
    yield from _draw.prose(output.summary)
    if (as_number(output.status) or 0) >= HTTP_ERROR:
        yield Note(text=f"the service returned {number_text(output.status)}", level="error")
    value = parse_json(as_text(output.json))
    yield from [Data(value=value)] if value is not None else _draw.prose_or_code(output.json)
    yield from facts(status=output.status)


TOOLS = [
    Tool(("CronCreate",), create_title, draw_create, input=CronCreateInput, result=CronJob),
    Tool(("CronDelete",), titled("id"), draw_delete, input=CronDeleteInput, result=CronDeleteResult),
    Tool(("CronList",), list_title, draw_list, input=NoInput, result=CronListResult),
    Tool(("ScheduleWakeup",), wake_title, draw_wake, input=ScheduleWakeupInput, result=ScheduleWakeupResult),
    Tool(("RemoteTrigger",), trigger_title, draw_trigger, input=RemoteTriggerInput, result=RemoteTriggerResult),
]
