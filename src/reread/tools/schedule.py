"""Scheduled prompts (CronCreate, CronDelete, CronList), ScheduleWakeup and RemoteTrigger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.format import as_number
from reread.base.text import plural
from reread.tools import _draw
from reread.tools._show import (
    Fields,
    declared,
    if_answered,
    show_data,
    show_facts,
    show_note,
    show_outcome_or_result,
    show_prose,
    show_result,
    show_section,
    show_table,
    titled,
)
from reread.tools._values import parse_json
from reread.tools.nodes import Data, Node, Note
from reread.tools.tool import NoInput

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
]
