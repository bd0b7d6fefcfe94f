"""Agents among each other: messages, teams, who can be reached, and what arrived from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.tools import _draw, generic
from reread.tools._values import answer, count, each, first, grouped, held, line, names, words, yes
from reread.tools.nodes import Data, Node, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall


class MessageInput(Struct, kw_only=True):
    """What is said to whom; the names were others once."""

    to: str | None = None
    recipient: str | None = None
    recipient_kind: str | None = None
    message: Any = None
    content: str | None = None
    summary: str | None = None
    type: str | None = None
    request_id: str | None = None
    approve: bool | None = None


class Routing(Struct, kw_only=True):
    """Between whom it went."""

    sender: str | None = None
    senderColor: str | None = None
    target: str | None = None
    targetColor: str | None = None
    summary: str | None = None
    content: str | None = None


class MessageOutput(Struct, kw_only=True):
    """Whether it went out, and what that set going."""

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


class TeamInput(Struct, kw_only=True):
    """Which team, and what for."""

    operation: str | None = None
    team_name: str | None = None
    description: str | None = None
    agent_type: str | None = None


class TeamOutput(Struct, kw_only=True):
    """The team as it is now."""

    success: bool | None = None
    message: str | None = None
    team_name: str | None = None
    team_file_path: str | None = None
    lead_agent_id: str | None = None


class AgentsOutput(Struct, kw_only=True):
    """Who can be reached."""

    listing: str | None = None
    sections: list[Any] | None = None
    notes: list[Any] | None = None


class Notification(Struct, kw_only=True):
    """Something that arrived from outside."""

    notification_id: str | None = None
    origin: str | None = None
    queued_at: str | None = None
    arrived_at: str | None = None
    content: str | None = None


class NotificationsOutput(Struct, kw_only=True):
    """What arrived, and how much is still waiting."""

    notifications: list[Notification] | None = None
    remaining: int | None = None
    read_at: str | None = None


def message_title(call: ToolCall) -> str:
    """To whom, and what about."""
    given = call.input(MessageInput)
    who = first(given.to, given.recipient) or ("everyone" if given.type == "broadcast" else "")
    about = line(first(given.summary, given.message, given.content))
    return f"{call.name} to {line(who)}: {about}".removesuffix(": ") if who else f"{call.name} {about}".strip()


def draw_message(call: ToolCall) -> Iterator[Node]:
    """What is said, between whom, and what came of it."""
    given, output = call.input(MessageInput), answer(call, MessageOutput) or MessageOutput()
    way = held(output.routing, Routing) or Routing()
    said = given.message
    if isinstance(said, dict | list):
        yield Data(value=said)
    yield from _draw.prose(first(None if isinstance(said, dict | list) else said, given.content))
    yield from facts(
        **{"from": words(way.sender)},
        to=first(given.to, given.recipient, way.target),
        about=words(given.summary),
        kind="" if given.type in (None, "message") else words(given.type).replace("_", " "),
        recipients=names(output.recipients),
        continues=first(output.resumedAgentId, output.revivedAgentId),
        message=words(output.msg_id),
        request=first(given.request_id, output.request_id),
        approved=yes(given.approve),
    )
    yield from _draw.ending(call, output.message) if first(output.message) else _draw.reply(call)


def team_title(call: ToolCall) -> str:
    """Which team, and what for."""
    given, output = call.input(TeamInput), call.output(TeamOutput) or TeamOutput()
    parts = (line(given.operation), line(first(given.team_name, output.team_name)), line(given.description))
    return " ".join(part for part in (call.name, *parts) if part)


def draw_team(call: ToolCall) -> Iterator[Node]:
    """The team and its file."""
    given, output = call.input(TeamInput), answer(call, TeamOutput) or TeamOutput()
    yield from _draw.prose(given.description)
    yield from facts(
        operation=words(given.operation),
        team=first(given.team_name, output.team_name),
        lead=words(output.lead_agent_id),
        type=words(given.agent_type),
    )
    yield from _draw.files((output.team_file_path, "team"))
    yield from _draw.ending(call, output.message) if first(output.message) else _draw.reply(call)


def agents_title(call: ToolCall) -> str:
    """That it is asked who can be reached."""
    return call.name


def draw_agents(call: ToolCall) -> Iterator[Node]:
    """Who can be reached."""
    output = call.output(AgentsOutput)
    if output and first(output.listing):
        yield from generic.ending(call)
        yield from _draw.prose(output.listing)
    else:
        yield from _draw.reply(call)
    for title, parts in (("sections", output and output.sections), ("notes", output and output.notes)):
        if parts:
            yield from _draw.section(title, [Data(value=parts)])


def notices_title(call: ToolCall) -> str:
    """How much arrived."""
    output = answer(call, NotificationsOutput)
    found = count(each(output.notifications, Notification), "notification") if output else ""
    return f"{call.name} → {found}" if found else call.name


def draw_notices(call: ToolCall) -> Iterator[Node]:
    """Each notification as it arrived."""
    output = answer(call, NotificationsOutput)
    if output is None:
        yield from _draw.reply(call)
        return
    yield from generic.ending(call)
    for one in each(output.notifications, Notification):
        yield from _draw.section(first(one.origin, one.notification_id, "?"), _notice(one), open=True)
    yield from facts(still_waiting=grouped(output.remaining), read_at=words(output.read_at))


def _notice(one: Notification) -> Iterator[Node]:
    yield from _draw.text(one.content)
    yield from facts(queued=words(one.queued_at), arrived=words(one.arrived_at), id=words(one.notification_id))


TOOLS = [
    Tool(("SendMessage",), message_title, draw_message),
    Tool(("TeamCreate", "TeamDelete", "Teammate"), team_title, draw_team),
    Tool(("ListAgents", "ListPeers"), agents_title, draw_agents),
    Tool(("ReadNotifications",), notices_title, draw_notices),
]
