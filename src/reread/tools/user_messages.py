"""What goes to the user: messages, files, notifications; feedback to the makers; and first steps."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.coerce import as_dict, as_list
from reread.tools import _draw, generic
from reread.tools._values import answer, count, each, first, line, size, words
from reread.tools.nodes import Data, Node, Note, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall

WITHHELD = {
    "config_off": "not sent: notifications are turned off",
    "user_present": "not sent: the user is here",
    "no_transport": "not sent: there is no way to send one",
}
"""Why a notification stayed where it was."""
OUTCOMES = {
    "connected": "the browser is connected",
    "not_now": "the user said: not now",
    "no_attempt_yet": "not tried yet",
}
"""What became of the offer to set up a browser."""


class Attachment(Struct, kw_only=True):
    """A file that was sent."""

    path: str | None = None
    file_path: str | None = None
    name: str | None = None
    size: int | None = None
    isImage: bool | None = None


class FileInput(Struct, kw_only=True):
    """Which files, with which words."""

    files: list[str] | None = None
    caption: str | None = None
    status: str | None = None
    display: str | None = None


class FileOutput(Struct, kw_only=True):
    """The files that were sent."""

    attachments: list[Attachment] | None = None
    caption: str | None = None
    display: str | None = None
    sentAt: str | None = None


class MessageInput(Struct, kw_only=True):
    """What the user is told."""

    message: str | None = None
    attachments: list[str] | None = None
    status: str | None = None


class MessageOutput(Struct, kw_only=True):
    """What the user was told."""

    message: str | None = None
    attachments: list[Attachment] | None = None
    sentAt: str | None = None


class PushOutput(Struct, kw_only=True):
    """Whether the notification went out."""

    message: str | None = None
    pushSent: bool | None = None
    localSent: bool | None = None
    disabledReason: str | None = None
    sentAt: str | None = None


class FeedbackInput(Struct, kw_only=True):
    """What the makers are told."""

    type: str | None = None
    title: str | None = None
    details: str | None = None
    area: str | None = None
    failure_mode: str | None = None
    task_category: str | None = None


class Told(Struct, kw_only=True):
    """What came of it, in words."""

    success: bool | None = None
    message: str | None = None


class RoleOutput(Struct, kw_only=True):
    """Which role the user picked."""

    role: str | None = None
    dismissed: bool | None = None


class ChromeInput(Struct, kw_only=True):
    """What the user's browser is needed for."""

    reason: str | None = None


class ChromeOutput(Struct, kw_only=True):
    """What became of the offer."""

    outcome: str | None = None


def file_title(call: ToolCall) -> str:
    """Which files."""
    given = as_list(call.input(FileInput).files)
    what = line(given[0]) if len(given) == 1 else count(given, "file")
    return f"{call.name} {what}".strip()


def draw_file(call: ToolCall) -> Iterator[Node]:
    """The files and the words that go with them."""
    given, output = call.input(FileInput), answer(call, FileOutput)
    told = output or FileOutput()
    yield from _draw.prose(first(given.caption, told.caption))
    yield from _attached(told.attachments, given.files)
    yield from facts(status=words(given.status), shown_as=first(given.display, told.display), sent=words(told.sentAt))
    yield from generic.ending(call) if output else _draw.reply(call)


def _attached(sent: object, asked: object) -> Iterator[Node]:
    """Files as they were sent, or else as they were to be."""
    known = [_file(one) for one in each(sent, Attachment)]
    yield from _draw.files(*(known or ((path, None) for path in as_list(asked))))


def _file(one: Attachment) -> tuple[str, str]:
    notes = (size(one.size), "image" if one.isImage is True else "")
    return first(one.path, one.file_path, one.name), ", ".join(note for note in notes if note)


def message_title(call: ToolCall) -> str:
    """The first words of the message."""
    return f"{call.name} {line(call.input(MessageInput).message)}".strip()


def draw_message(call: ToolCall) -> Iterator[Node]:
    """The message and its files."""
    given, output = call.input(MessageInput), answer(call, MessageOutput)
    told = output or MessageOutput()
    yield from _draw.prose(first(given.message, told.message))
    yield from _attached(told.attachments, given.attachments)
    yield from facts(status=words(given.status), sent=words(told.sentAt))
    yield from generic.ending(call) if output else _draw.reply(call)


def draw_push(call: ToolCall) -> Iterator[Node]:
    """The notification, and whether it went out."""
    given, output = call.input(MessageInput), call.output(PushOutput)
    yield from _draw.prose(given.message)
    if output is None:
        yield from _draw.reply(call)
        return
    ways = [way for way, sent in (("phone", output.pushSent), ("this machine", output.localSent)) if sent is True]
    yield from _draw.ending(call, output.message)
    yield from _draw.note(WITHHELD.get(words(output.disabledReason), words(output.disabledReason)), "warning")
    yield from facts(sent_to=", ".join(ways), sent=words(output.sentAt), status=words(given.status))


def feedback_title(call: ToolCall) -> str:
    """What kind of feedback, on what."""
    given = call.input(FeedbackInput)
    return f"{call.name} {line(given.type).replace('_', ' ')}: {line(given.title)}".strip().removesuffix(":")


def draw_feedback(call: ToolCall) -> Iterator[Node]:
    """The feedback."""
    given, output = call.input(FeedbackInput), answer(call, Told) or Told()
    yield from _draw.prose(given.title)
    yield from _draw.prose(given.details)
    yield from facts(
        kind=words(given.type),
        area=words(given.area),
        failure=words(given.failure_mode),
        task=words(given.task_category),
    )
    yield from _draw.ending(call, output.message) if first(output.message) else _draw.reply(call)


def plain_title(call: ToolCall) -> str:
    """The name, and the argument that says most."""
    return generic.title(call)


def draw_guide(call: ToolCall) -> Iterator[Node]:
    """What was shared, and what was said to it."""
    output = answer(call, Told) or Told()
    if call.arguments:
        yield Data(value=call.given)
    yield from _draw.ending(call, output.message) if first(output.message) else _draw.reply(call)
    rest = {name: value for name, value in as_dict(call.data).items() if name not in Told.__struct_fields__}
    yield from _draw.section("result", [Data(value=rest)] if rest else [], open=True)


def role_title(call: ToolCall) -> str:
    """Which role the user picked."""
    output = call.output(RoleOutput) or RoleOutput()
    return f"{call.name} → {line(output.role)}" if first(output.role) else call.name


def draw_role(call: ToolCall) -> Iterator[Node]:
    """Which role the user picked, if any."""
    output = call.output(RoleOutput) or RoleOutput()
    yield from facts(role=words(output.role))
    if output.dismissed is True:
        yield Note(text="dismissed by the user")
    yield from _draw.reply(call)


def chrome_title(call: ToolCall) -> str:
    """What the user's browser is needed for."""
    return f"{call.name} {line(call.input(ChromeInput).reason)}".strip()


def draw_chrome(call: ToolCall) -> Iterator[Node]:
    """What for, and what became of it."""
    output = call.output(ChromeOutput) or ChromeOutput()
    yield from _draw.prose(call.input(ChromeInput).reason)
    yield from _draw.note(OUTCOMES.get(words(output.outcome), words(output.outcome)))
    yield from _draw.reply(call)


TOOLS = [
    Tool(("SendUserFile",), file_title, draw_file),
    Tool(("SendUserMessage", "Brief"), message_title, draw_message),
    Tool(("PushNotification",), message_title, draw_push),
    Tool(("SendFeedback",), feedback_title, draw_feedback),
    Tool(("ShareOnboardingGuide",), plain_title, draw_guide),
    Tool(("ShowOnboardingRolePicker",), role_title, draw_role),
    Tool(("OfferChromeSetup",), chrome_title, draw_chrome),
]
