"""Teams of agents: SendMessage, TeamCreate, ListAgents and ReadNotifications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.format import number_text
from reread.base.text import as_text, one_line, plural
from reread.tools import _draw, generic
from reread.tools._values import (
    as_type,
    comma_separated,
    first_nonblank,
    join_parts,
    list_of,
    titled,
    typed_result,
    yes_no,
)
from reread.tools.nodes import Data, Node, facts
from reread.tools.tool import NoInput, Tool, ToolCall


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


def message_title(call: ToolCall) -> str:
    """Return the receiver and the summary."""
    args = call.input(SendMessageInput)
    receiver = first_nonblank(args.to, args.recipient) or ("everyone" if args.type == "broadcast" else "")
    summary = one_line(first_nonblank(args.summary, args.message, args.content))
    to = f"to {one_line(receiver)}" if receiver else ""
    return join_parts(call.name, join_parts(to, summary, separator=": "))


def draw_message(call: ToolCall) -> Iterator[Node]:
    """Draw the message, its sender and receiver, and the result."""
    args, output = call.input(SendMessageInput), typed_result(call, SendMessageResult) or SendMessageResult()
    routing = as_type(output.routing, Routing) or Routing()
    message = args.message
    if isinstance(message, dict | list):
        yield Data(value=message)
        message = None
    yield from _draw.prose(first_nonblank(message, args.content))
    yield from facts(
        **{"from": as_text(routing.sender)},
        to=first_nonblank(args.to, args.recipient, routing.target),
        summary=args.summary,
        kind="" if args.type in (None, "message") else as_text(args.type).replace("_", " "),
        recipients=comma_separated(output.recipients),
        resumes=first_nonblank(output.resumedAgentId, output.revivedAgentId),
        message=output.msg_id,
        request=first_nonblank(args.request_id, output.request_id),
        approved=yes_no(args.approve),
    )
    yield from _draw.plain_result(call, output.message)


def team_title(call: ToolCall) -> str:
    """Return the team and its purpose."""
    args, output = call.input(TeamInput), call.output(TeamResult) or TeamResult()
    parts = (
        one_line(args.operation),
        one_line(first_nonblank(args.team_name, output.team_name)),
        one_line(args.description),
    )
    return join_parts(call.name, *parts)


def draw_team(call: ToolCall) -> Iterator[Node]:
    """Draw the team and its file."""
    args, output = call.input(TeamInput), typed_result(call, TeamResult) or TeamResult()
    yield from _draw.prose(args.description)
    yield from facts(
        operation=args.operation,
        team=first_nonblank(args.team_name, output.team_name),
        lead=output.lead_agent_id,
        type=args.agent_type,
    )
    yield from _draw.file_list((output.team_file_path, "team"))
    yield from _draw.plain_result(call, output.message)


def draw_agents(call: ToolCall) -> Iterator[Node]:
    """Draw the list of agents."""
    output = call.output(ListAgentsResult)
    if output and first_nonblank(output.listing):
        yield from generic.outcome_note(call)
        yield from _draw.prose(output.listing)
    else:
        yield from _draw.plain_result(call)
    for title, parts in (("sections", output and output.sections), ("notes", output and output.notes)):
        if parts:
            yield from _draw.section(title, [Data(value=parts)])


def notifications_title(call: ToolCall) -> str:
    """Return the number of notifications."""
    output = typed_result(call, ReadNotificationsResult)
    found = plural(list_of(output.notifications, Notification), "notification") if output else ""
    return f"{call.name} → {found}" if found else call.name


def draw_notifications(call: ToolCall) -> Iterator[Node]:
    """Draw each notification."""
    output = typed_result(call, ReadNotificationsResult)
    if output is None:
        yield from _draw.plain_result(call)
        return
    yield from generic.outcome_note(call)
    for item in list_of(output.notifications, Notification):
        yield from _draw.section(first_nonblank(item.origin, item.notification_id, "?"), _notification(item), open=True)
    yield from facts(remaining=number_text(output.remaining), read_at=output.read_at)


def _notification(item: Notification) -> Iterator[Node]:
    yield from _draw.prose_or_code(item.content)
    yield from facts(queued=item.queued_at, arrived=item.arrived_at, id=item.notification_id)


TOOLS = [
    Tool(("SendMessage",), message_title, draw_message, input=SendMessageInput, result=SendMessageResult),
    Tool(("TeamCreate", "TeamDelete", "Teammate"), team_title, draw_team, input=TeamInput, result=TeamResult),
    Tool(("ListAgents", "ListPeers"), titled(), draw_agents, input=NoInput, result=ListAgentsResult),
    Tool(
        ("ReadNotifications",), notifications_title, draw_notifications, input=NoInput, result=ReadNotificationsResult
    ),
]
