"""Messages, files and notifications to the user, feedback to Anthropic, and onboarding."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.coerce import as_list
from reread.base.text import path_line, plural
from reread.tools import _draw
from reread.tools._show import (
    Fields,
    Step,
    declared,
    if_answered,
    show_facts,
    show_input,
    show_note,
    show_outcome,
    show_outcome_or_result,
    show_prose,
    show_result,
)
from reread.tools._values import join_parts
from reread.tools.generic import TITLE_ARGUMENTS
from reread.tools.nodes import Data, Node
from reread.tools.tool import NoInput

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


def _file_title(fields: Fields) -> str:
    """Return the file, or the number of files."""
    files = as_list(fields.value("files"))
    return path_line(files[0]) if len(files) == 1 else plural(files, "file")


def _attachments(requested: str) -> Step:
    """Draw the files that were sent, or the requested ones if the result does not say."""

    def draw(fields: Fields) -> Iterator[Node]:
        sent = [_file_entry(file) for file in fields.objects("result.attachments")]
        yield from _draw.file_list(*(sent or ((path, None) for path in as_list(fields.value(requested)))))

    return draw


def _file_entry(file: Fields) -> tuple[str, str]:
    note = join_parts(file.text("size:size"), "image" if file.value("isImage") is True else "", separator=", ")
    return file.text("path|file_path|name"), note


def _targets(fields: Fields) -> str:
    """Return where a notification was sent."""
    targets = (("phone", "result.pushSent"), ("this machine", "result.localSent"))
    return ", ".join(target for target, sent in targets if fields.value(sent) is True)


def _other_fields(fields: Fields) -> Iterator[Node]:
    known = MessageResult.__struct_fields__
    others = {name: value for name, value in (fields.result or {}).items() if name not in known}
    yield from _draw.section("result", [Data(value=others)] if others else [], open=True)


TOOLS = [
    declared(
        ("SendUserFile",),
        _file_title,
        show_prose("caption|result.caption"),
        _attachments("files"),
        show_facts(status="status", shown_as="display|result.display", sent="result.sentAt"),
        show_outcome_or_result(),
        input=SendUserFileInput,
        result=SendUserFileResult,
    ),
    declared(
        ("SendUserMessage", "Brief"),
        "{message}",
        show_prose("message|result.message"),
        _attachments("attachments"),
        show_facts(status="status", sent="result.sentAt"),
        show_outcome_or_result(),
        input=SendUserMessageInput,
        result=SendUserMessageResult,
    ),
    declared(
        ("PushNotification",),
        "{message}",
        show_prose("message"),
        if_answered(
            show_outcome("{result.message}"),
            show_note("{result.disabledReason}", "warning", words=DISABLED_REASONS),
            show_facts(sent_to=_targets, sent="result.sentAt", status="status"),
            done=False,
        ),
        input=SendUserMessageInput,
        result=PushNotificationResult,
    ),
    declared(
        ("SendFeedback",),
        "{type:words}: {title}",
        show_prose("title"),
        show_prose("details"),
        show_facts(kind="type", area="area", failure="failure_mode", task="task_category"),
        show_result("{result.message}"),
        input=SendFeedbackInput,
        result=MessageResult,
    ),
    declared(
        ("ShareOnboardingGuide",),
        "{" + "|".join(TITLE_ARGUMENTS) + "}",
        show_input,
        show_result("{result.message}"),
        _other_fields,
        result=MessageResult,
    ),
    declared(
        ("ShowOnboardingRolePicker",),
        "[→ {result.role}]",
        show_facts(role="result.role"),
        show_note("dismissed by the user", when="result.dismissed"),
        show_result(),
        input=NoInput,
        result=RolePickerResult,
    ),
    declared(
        ("OfferChromeSetup",),
        "{reason}",
        show_prose("reason"),
        show_note("{result.outcome}", words=OUTCOMES),
        show_result(),
        input=OfferChromeSetupInput,
        result=OfferChromeSetupResult,
    ),
]
