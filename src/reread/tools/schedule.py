"""What is to happen later: scheduled prompts, waking up again, and triggers in the cloud."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.tools import _draw, generic
from reread.tools._values import answer, count, each, first, grouped, line, moment, number, parsed, span, words, yes
from reread.tools.nodes import Data, Node, Note, Table, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

HTTP_ERROR = 400


class CronInput(Struct, kw_only=True):
    """When to ask what."""

    cron: str = ""
    prompt: str | None = None
    recurring: bool | None = None
    durable: bool | None = None


class Job(Struct, kw_only=True):
    """A prompt with its times."""

    id: str = ""
    cron: str | None = None
    humanSchedule: str | None = None
    prompt: str | None = None
    recurring: bool | None = None
    durable: bool | None = None
    nextFireAt: float | None = None


class DeleteInput(Struct, kw_only=True):
    """Which job is called off."""

    id: str = ""


class DeleteOutput(Struct, kw_only=True):
    """The job that was called off."""

    id: str = ""
    endedLoopWakeup: bool | None = None


class ListOutput(Struct, kw_only=True):
    """All jobs."""

    jobs: list[Job] | None = None


class WakeInput(Struct, kw_only=True):
    """When to go on, with what."""

    delaySeconds: float | None = None
    reason: str | None = None
    prompt: str | None = None
    stop: bool | None = None
    noop: bool | None = None


class WakeOutput(Struct, kw_only=True):
    """When it will be; zero where nothing was scheduled."""

    scheduledFor: float | None = None
    clampedDelaySeconds: float | None = None
    wasClamped: bool | None = None
    stopped: bool | None = None
    cancelledWakeups: int | None = None


class TriggerInput(Struct, kw_only=True):
    """What is done with which trigger."""

    action: str = ""
    trigger_id: str | None = None
    session_id: str | None = None
    cursor: str | None = None
    body: dict[str, Any] | None = None


class TriggerOutput(Struct, kw_only=True):
    """What the service answered."""

    status: int | None = None
    json: str | None = None
    summary: str | None = None


def create_title(call: ToolCall) -> str:
    """When, and what is asked then."""
    given, job = call.input(CronInput), call.output(Job) or Job()
    return f"{call.name} {line(first(job.humanSchedule, given.cron))}: {line(given.prompt)}".rstrip(": ")


def draw_create(call: ToolCall) -> Iterator[Node]:
    """What is asked, when, and for how long."""
    given, job = call.input(CronInput), call.output(Job)
    yield from _draw.prose(given.prompt)
    told = job or Job()
    yield from facts(
        job=words(told.id),
        schedule=words(told.humanSchedule),
        cron=words(given.cron),
        repeats=yes(given.recurring if told.recurring is None else told.recurring),
        outlives_the_session=yes(given.durable if told.durable is None else told.durable),
        next=moment(told.nextFireAt),
    )
    yield from generic.ending(call) if job else _draw.reply(call)


def delete_title(call: ToolCall) -> str:
    """Which job is called off."""
    return f"{call.name} {line(call.input(DeleteInput).id)}".strip()


def draw_delete(call: ToolCall) -> Iterator[Node]:
    """Which job was called off."""
    output = call.output(DeleteOutput) or DeleteOutput()
    yield from facts(job=first(call.input(DeleteInput).id, output.id))
    yield from _draw.reply(call)
    if output.endedLoopWakeup is True:
        yield Note(text="this ended the loop that was waiting")


def list_title(call: ToolCall) -> str:
    """How many jobs there are."""
    output = call.output(ListOutput)
    return f"{call.name} → {count(each(output.jobs, Job), 'job')}" if output else call.name


def draw_list(call: ToolCall) -> Iterator[Node]:
    """All jobs as a table."""
    output = call.output(ListOutput)
    jobs = each(output.jobs, Job) if output else []
    if not jobs:
        yield from _draw.reply(call)
        return
    yield Table(columns=["job", "schedule", "cron", "next", "prompt"], rows=[_row(job) for job in jobs])
    yield from generic.ending(call)


def _row(job: Job) -> list[str]:
    return [words(job.id), words(job.humanSchedule), words(job.cron), moment(job.nextFireAt), words(job.prompt)]


def wake_title(call: ToolCall) -> str:
    """When to go on, and why then."""
    given = call.input(WakeInput)
    if given.stop is True:
        return f"{call.name} stop"
    delay = span(given.delaySeconds)
    parts = (f"in {delay}" if delay else "", line(given.reason))
    return f"{call.name} {': '.join(part for part in parts if part)}".strip()


def draw_wake(call: ToolCall) -> Iterator[Node]:
    """What goes on then, and when that will be."""
    given, output = call.input(WakeInput), call.output(WakeOutput)
    yield from _draw.prose(given.reason)
    yield from _draw.section("prompt", _draw.prose(given.prompt))
    told = output or WakeOutput()
    if told.stopped is True:
        yield Note(text=f"the loop ended; {count(told.cancelledWakeups, 'wakeup') or 'nothing'} called off")
    elif told.wasClamped is True:
        yield Note(text=f"the delay was set to {span(told.clampedDelaySeconds)}", level="warning")
    yield from facts(delay=span(given.delaySeconds), wakes_at=moment(told.scheduledFor), nothing_new=yes(given.noop))
    scheduled = output is not None and bool(number(told.scheduledFor))
    yield from generic.ending(call) if scheduled else _draw.reply(call)


def trigger_title(call: ToolCall) -> str:
    """What is done with which trigger."""
    given = call.input(TriggerInput)
    return f"{call.name} {line(given.action)} {line(first(given.trigger_id, given.session_id))}".strip()


def draw_trigger(call: ToolCall) -> Iterator[Node]:
    """What was asked of the service, and what it answered."""
    given, output = call.input(TriggerInput), answer(call, TriggerOutput)
    yield from facts(
        action=words(given.action),
        trigger=words(given.trigger_id),
        session=words(given.session_id),
        after=words(given.cursor),
    )
    if given.body:
        yield from _draw.section("body", [Data(value=given.body)], open=True)
    if output is None or call.ending.state != DONE:
        yield from _draw.reply(call)
    else:
        yield from _answered(output)


def _answered(output: TriggerOutput) -> Iterator[Node]:
    yield from _draw.prose(output.summary)
    if (number(output.status) or 0) >= HTTP_ERROR:
        yield Note(text=f"the service answered {grouped(output.status)}", level="error")
    value = parsed(words(output.json))
    yield from [Data(value=value)] if value is not None else _draw.text(output.json)
    yield from facts(status=words(output.status))


TOOLS = [
    Tool(("CronCreate",), create_title, draw_create),
    Tool(("CronDelete",), delete_title, draw_delete),
    Tool(("CronList",), list_title, draw_list),
    Tool(("ScheduleWakeup",), wake_title, draw_wake),
    Tool(("RemoteTrigger",), trigger_title, draw_trigger),
]
