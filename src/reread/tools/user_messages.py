"""Messages, files and notifications to the user, feedback to Anthropic, and onboarding."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.coerce import as_dict, as_list
from reread.base.format import size_text
from reread.base.text import as_text, one_line, path_line, plural
from reread.tools import _draw, generic
from reread.tools._values import first_nonblank, join_parts, list_of, titled, typed_result
from reread.tools.nodes import Data, Node, Note, facts
from reread.tools.tool import NoInput, Tool, ToolCall

DISABLED_REASONS = {
    "config_off": "not sent: notifications are turned off",
    "user_present": "not sent: the user is present",
    "no_transport": "not sent: no way to deliver it",
}
"""The note for a notification that was not sent."""
OUTCOMES = {
    "connected": "the browser is connected",
    "not_now": "postponed by the user",
    "no_attempt_yet": "not attempted yet",
}
"""The note for the outcome of a browser setup."""


class SentFile(Struct, frozen=True, kw_only=True):
    """A file that was sent."""

    path: str | None = None
    file_path: str | None = None
    name: str | None = None
    size: int | None = None
    isImage: bool | None = None
    media_type: str | None = None
    pathValidated: bool | None = None
    file_uuid: str | None = None


class SendUserFileInput(Struct, frozen=True, kw_only=True):
    """The input of SendUserFile."""

    files: list[str] | None = None
    caption: str | None = None
    status: str | None = None
    display: str | None = None


class SendUserFileResult(Struct, frozen=True, kw_only=True):
    """The result of SendUserFile."""

    attachments: list[SentFile] | None = None
    caption: str | None = None
    display: str | None = None
    sentAt: str | None = None


class SendUserMessageInput(Struct, frozen=True, kw_only=True):
    """The input of SendUserMessage and PushNotification."""

    message: str | None = None
    attachments: list[str] | None = None
    status: str | None = None


class SendUserMessageResult(Struct, frozen=True, kw_only=True):
    """The result of SendUserMessage."""

    message: str | None = None
    attachments: list[SentFile] | None = None
    sentAt: str | None = None


class PushNotificationResult(Struct, frozen=True, kw_only=True):
    """The result of PushNotification."""

    message: str | None = None
    pushSent: bool | None = None
    localSent: bool | None = None
    disabledReason: str | None = None
    sentAt: str | None = None


class SendFeedbackInput(Struct, frozen=True, kw_only=True):
    """The input of SendFeedback."""

    type: str | None = None
    title: str | None = None
    details: str | None = None
    area: str | None = None
    failure_mode: str | None = None
    task_category: str | None = None


class MessageResult(Struct, frozen=True, kw_only=True):
    """A result with a message."""

    success: bool | None = None
    message: str | None = None


class RolePickerResult(Struct, frozen=True, kw_only=True):
    """The result of ShowOnboardingRolePicker."""

    role: str | None = None
    dismissed: bool | None = None


class OfferChromeSetupInput(Struct, frozen=True, kw_only=True):
    """The input of OfferChromeSetup."""

    reason: str | None = None


class OfferChromeSetupResult(Struct, frozen=True, kw_only=True):
    """The result of OfferChromeSetup."""

    outcome: str | None = None


def file_title(call: ToolCall) -> str:
    """Return the file, or the number of files."""
    files = as_list(call.input(SendUserFileInput).files)
    return join_parts(call.name, path_line(files[0]) if len(files) == 1 else plural(files, "file"))


def draw_file(call: ToolCall) -> Iterator[Node]:
    """Draw the files and their caption."""
    args, output = call.input(SendUserFileInput), typed_result(call, SendUserFileResult)
    result = output or SendUserFileResult()
    yield from _draw.prose(first_nonblank(args.caption, result.caption))
    yield from _attachments(result.attachments, args.files)
    yield from facts(status=args.status, shown_as=first_nonblank(args.display, result.display), sent=result.sentAt)
    yield from generic.outcome_note(call) if output else _draw.plain_result(call)


def _attachments(sent: object, requested: object) -> Iterator[Node]:
    """Draw the files that were sent, or the requested ones if the result does not say."""
    known = [_file_entry(attachment) for attachment in list_of(sent, SentFile)]
    yield from _draw.file_list(*(known or ((path, None) for path in as_list(requested))))


def _file_entry(file: SentFile) -> tuple[str, str]:
    note = join_parts(size_text(file.size), "image" if file.isImage is True else "", separator=", ")
    return first_nonblank(file.path, file.file_path, file.name), note


def draw_message(call: ToolCall) -> Iterator[Node]:
    """Draw the message and its files."""
    args, output = call.input(SendUserMessageInput), typed_result(call, SendUserMessageResult)
    result = output or SendUserMessageResult()
    yield from _draw.prose(first_nonblank(args.message, result.message))
    yield from _attachments(result.attachments, args.attachments)
    yield from facts(status=args.status, sent=result.sentAt)
    yield from generic.outcome_note(call) if output else _draw.plain_result(call)


def draw_push(call: ToolCall) -> Iterator[Node]:
    """Draw the notification, and where it was sent."""
    args, output = call.input(SendUserMessageInput), call.output(PushNotificationResult)
    yield from _draw.prose(args.message)
    if output is None:
        yield from _draw.plain_result(call)
        return
    targets = (("phone", output.pushSent), ("this machine", output.localSent))
    yield from _draw.outcome_message(call, output.message)
    reason = as_text(output.disabledReason)
    yield from _draw.note(DISABLED_REASONS.get(reason, reason), "warning")
    yield from facts(
        sent_to=", ".join(target for target, sent in targets if sent is True), sent=output.sentAt, status=args.status
    )


def feedback_title(call: ToolCall) -> str:
    """Return the type and the title of the feedback."""
    args = call.input(SendFeedbackInput)
    return f"{call.name} {one_line(args.type).replace('_', ' ')}: {one_line(args.title)}".strip().removesuffix(":")


def draw_feedback(call: ToolCall) -> Iterator[Node]:
    """Draw the feedback."""
    args, output = call.input(SendFeedbackInput), typed_result(call, MessageResult) or MessageResult()
    yield from _draw.prose(args.title)
    yield from _draw.prose(args.details)
    yield from facts(kind=args.type, area=args.area, failure=args.failure_mode, task=args.task_category)
    yield from _draw.plain_result(call, output.message)


def draw_guide(call: ToolCall) -> Iterator[Node]:
    """Draw what was shared, and the result."""
    output = typed_result(call, MessageResult) or MessageResult()
    if call.arguments:
        yield Data(value=call.raw_input)
    yield from _draw.plain_result(call, output.message)
    others = {name: value for name, value in as_dict(call.data).items() if name not in MessageResult.__struct_fields__}
    yield from _draw.section("result", [Data(value=others)] if others else [], open=True)


def role_title(call: ToolCall) -> str:
    """Return the role that the user picked."""
    output = call.output(RolePickerResult) or RolePickerResult()
    return f"{call.name} → {one_line(output.role)}" if first_nonblank(output.role) else call.name


def draw_role(call: ToolCall) -> Iterator[Node]:
    """Draw the role that the user picked."""
    output = call.output(RolePickerResult) or RolePickerResult()
    yield from facts(role=output.role)
    if output.dismissed is True:
        yield Note(text="dismissed by the user")
    yield from _draw.plain_result(call)


def draw_chrome(call: ToolCall) -> Iterator[Node]:
    """Draw the reason and the outcome."""
    output = call.output(OfferChromeSetupResult) or OfferChromeSetupResult()
    yield from _draw.prose(call.input(OfferChromeSetupInput).reason)
    yield from _draw.note(OUTCOMES.get(as_text(output.outcome), as_text(output.outcome)))
    yield from _draw.plain_result(call)


TOOLS = [
    Tool(("SendUserFile",), file_title, draw_file, input=SendUserFileInput, result=SendUserFileResult),
    Tool(
        ("SendUserMessage", "Brief"),
        titled("message"),
        draw_message,
        input=SendUserMessageInput,
        result=SendUserMessageResult,
    ),
    Tool(
        ("PushNotification",), titled("message"), draw_push, input=SendUserMessageInput, result=PushNotificationResult
    ),
    Tool(("SendFeedback",), feedback_title, draw_feedback, input=SendFeedbackInput, result=MessageResult),
    Tool(("ShareOnboardingGuide",), generic.title, draw_guide, result=MessageResult),
    Tool(("ShowOnboardingRolePicker",), role_title, draw_role, input=NoInput, result=RolePickerResult),
    Tool(
        ("OfferChromeSetup",), titled("reason"), draw_chrome, input=OfferChromeSetupInput, result=OfferChromeSetupResult
    ),
]
