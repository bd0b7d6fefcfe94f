"""Teams of agents: SendMessage, TeamCreate, ListAgents and ReadNotifications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.tools import _draw
from reread.tools._show import (
    Fields,
    declared,
    if_answered,
    show_data,
    show_each,
    show_facts,
    show_files,
    show_outcome,
    show_outcome_or_result,
    show_prose,
    show_prose_or_code,
    show_result,
    show_section,
)
from reread.tools._values import first_nonblank, join_parts
from reread.tools.nodes import Data, Node
from reread.tools.tool import NoInput


class SendMessageInput(Struct, frozen=True, kw_only=True):
    """The input of SendMessage, with its earlier field names."""

    to: str | None = None
    recipient: str | None = None
    recipient_kind: str | None = None
    message: Any = None
    content: str | None = None
    summary: str | None = None
    type: str | None = None
    request_id: str | None = None
    approve: bool | None = None


class Routing(Struct, frozen=True, kw_only=True):
    """The sender and the receiver."""

    sender: str | None = None
    senderColor: str | None = None
    target: str | None = None
    targetColor: str | None = None
    summary: str | None = None
    content: str | None = None


class SendMessageResult(Struct, frozen=True, kw_only=True):
    """The result of SendMessage."""

    success: bool | None = None
    message: str | None = None
    routing: Routing | None = None
    recipients: list[str] | None = None
    msg_id: str | None = None
    request_id: str | None = None
    target: str | None = None
    resumedAgentId: str | None = None
    revivedAgentId: str | None = None
    pin: dict[str, Any] | None = None


class TeamInput(Struct, frozen=True, kw_only=True):
    """The input of the team tools."""

    operation: str | None = None
    team_name: str | None = None
    description: str | None = None
    agent_type: str | None = None


class TeamResult(Struct, frozen=True, kw_only=True):
    """The result of the team tools."""

    success: bool | None = None
    message: str | None = None
    team_name: str | None = None
    team_file_path: str | None = None
    lead_agent_id: str | None = None


class ListAgentsResult(Struct, frozen=True, kw_only=True):
    """The result of ListAgents."""

    listing: str | None = None
    sections: list[Any] | None = None
    notes: list[Any] | None = None


class Notification(Struct, frozen=True, kw_only=True):
    """A notification."""

    notification_id: str | None = None
    origin: str | None = None
    queued_at: str | None = None
    arrived_at: str | None = None
    content: str | None = None


class ReadNotificationsResult(Struct, frozen=True, kw_only=True):
    """The result of ReadNotifications."""

    notifications: list[Notification] | None = None
    remaining: int | None = None
    read_at: str | None = None


def _message_title(fields: Fields) -> str:
    """Return the receiver and the summary."""
    receiver = fields.line("to|recipient") or ("everyone" if fields.value("type") == "broadcast" else "")
    to = f"to {receiver}" if receiver else ""
    return join_parts(to, fields.line("summary|message|content"), separator=": ")


def _message(fields: Fields) -> Iterator[Node]:
    """Draw the message: its text, or the object that it is."""
    message = fields.value("message")
    if isinstance(message, dict | list):
        yield Data(value=message)
        message = None
    yield from _draw.prose(first_nonblank(message, fields.value("content")))


def _kind(fields: Fields) -> str:
    kind = fields.text("type:words")
    return "" if kind == "message" else kind


TOOLS = [
    declared(
        ("SendMessage",),
        _message_title,
        _message,
        show_facts(
            **{"from": "result.routing.sender"},
            to="to|recipient|result.routing.target",
            summary="summary",
            kind=_kind,
            recipients="result.recipients:list",
            resumes="result.resumedAgentId|result.revivedAgentId",
            message="result.msg_id",
            request="request_id|result.request_id",
            approved="approve:yes_no",
        ),
        show_result("{result.message}"),
        input=SendMessageInput,
        result=SendMessageResult,
    ),
    declared(
        ("TeamCreate", "TeamDelete", "Teammate"),
        "{operation} {team_name|result.team_name} {description}",
        show_prose("description"),
        show_facts(
            operation="operation", team="team_name|result.team_name", lead="result.lead_agent_id", type="agent_type"
        ),
        show_files(("result.team_file_path", "team")),
        show_result("{result.message}"),
        input=TeamInput,
        result=TeamResult,
    ),
    declared(
        ("ListAgents", "ListPeers"),
        "",
        show_outcome_or_result("result.listing"),
        show_prose("result.listing"),
        show_data("sections", "result.sections"),
        show_data("notes", "result.notes"),
        input=NoInput,
        result=ListAgentsResult,
    ),
    declared(
        ("ReadNotifications",),
        "[→ {result.notifications:# notification}]",
        if_answered(
            show_outcome(),
            show_each(
                "result.notifications",
                show_section(
                    "{origin|notification_id|'?'}",
                    show_prose_or_code("content"),
                    show_facts(queued="queued_at", arrived="arrived_at", id="notification_id"),
                    open=True,
                ),
            ),
            show_facts(remaining="result.remaining:number", read_at="result.read_at"),
            done=False,
        ),
        input=NoInput,
        result=ReadNotificationsResult,
    ),
]
