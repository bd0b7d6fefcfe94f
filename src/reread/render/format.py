"""Headings, model names, usage and turn results as the terminal and Markdown views write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reread.base.choices import CAUSE_WORDS, DENIED, DONE, FAILED, INTERRUPTED, RUNNING
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.format import as_number, duration_ms_text, money_text, size_text, tokens_text
from reread.base.late_pattern import late_pattern
from reread.base.text import one_line, plural
from reread.model.conversation import Agent
from reread.model.hooks import hook_label

if TYPE_CHECKING:
    from reread.accounting.billing import Usage
    from reread.model.conversation import Call, Message
    from reread.model.parts import QueuedPrompt
    from reread.session.cache_breaks import CacheBreak
    from reread.session.commits import Commit, PullRequest
    from reread.session.results import TurnResult
    from reread.session.session import Session
    from reread.tools.nodes import Picture

SETUP_LENGTH = 200
"""How many characters of the names of MCP servers are shown."""
ERROR_LENGTH = 200
"""How many characters of an error are shown on a line."""
SENDER_LENGTH = 60
"""How many characters of a peer's name are shown."""
MOST_FIELDS, FIELD_LENGTH = 3, 40
"""How many fields that are left out are named, and how many characters of each name are shown."""
MARKS = {RUNNING: "…", DONE: "✓", FAILED: "✗", DENIED: "⊘", INTERRUPTED: "⊘"}
"""The mark of a call in each state."""
BOXES = {"pending": "☐", "active": "◐", "done": "☑", "cancelled": "☒"}
SHORT_SHA = 9
"""How many digits of a commit's hash are shown."""
_CAPITAL = late_pattern(r"(?<=[a-z])[A-Z]")
_CODE = late_pattern(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def heading(text: str, length: int) -> str:
    """Return Markdown as a heading: one line, at most `length` characters, without the backticks around code."""
    line = " ".join(text.split())[: 4 * length]
    return one_line(_CODE.sub(lambda found: found[2].strip(), line), length)


def notice_label(message: Message) -> str:
    """Return the word before a notice: what it is, or who sent it."""
    sender = message.sender
    if sender:
        return f"message from {one_line(sender, SENDER_LENGTH)}"
    if message.kind != "hook":
        return message.kind
    return one_line(hook_label(message.conversation.bodies.native(message.records[0])), SENDER_LENGTH)


def more_fields(names: Sequence[str]) -> str:
    """Return the names of recorded values that only a full view shows; empty text for none."""
    shown = ", ".join(one_line(name, FIELD_LENGTH) for name in names[:MOST_FIELDS])
    more = len(names) - MOST_FIELDS
    return f"+ {shown}{f' and {more} more' if more > 0 else ''}" if names else ""


def usage_text(usage: Usage) -> str:
    """Return the tokens of a response."""
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    bound = "≥ " if usage.unconfirmed_responses else ""
    return f"{tokens_text(read)} in, {bound}{tokens_text(usage.output_tokens)} out"


def session_cost_text(usage: Usage) -> str:
    """Return what a session cost: as the client reported it, else as computed; empty if that is unknown."""
    if usage.reported_cost_usd is not None:
        return money_text(usage.reported_cost_usd)
    if not usage.responses or usage.cost_usd is None:
        return ""
    return money_text(usage.cost_usd, lower_bound=usage.lower_bound)


def cache_break_text(found: CacheBreak) -> str:
    """Return a cache break on one line: its cause, how much was written again, and what that cost."""
    words = [
        found.detail or CAUSE_WORDS[found.cause],
        f"{tokens_text(found.tokens)} tokens",
        money_text(found.cost_usd),
    ]
    return f"cache rewritten: {' · '.join(word for word in words if word)}"


def picture_text(picture: Picture) -> str:
    """Return an image's name, type, dimensions and size."""
    size = f", {size_text(picture.size)}" if picture.size is not None else ""
    dimensions = f", {picture.width} × {picture.height}" if picture.width and picture.height else ""
    name = f"{picture.name}: " if picture.name else ""
    return f"{name}{picture.media_type}{dimensions}{size}"


def commit_text(commit: Commit) -> str:
    """Return a commit on one line: its short hash, its subject, and the agent that made it."""
    agent = agent_of(commit.call)
    return f"committed {commit.sha[:SHORT_SHA]} {commit.subject or ''}".rstrip() + (
        f" (agent {agent})" if agent else ""
    )


def pull_text(pull: PullRequest) -> str:
    """Return a pull request in a few words: what was done to it, its repository and its number."""
    return f"pull request {pull.repository or ''}#{pull.number} {pull.action or 'linked'}"


def agent_of(call: Call) -> str | None:
    """Return the id of the agent whose call it is; None in the main thread."""
    conversation = call.conversation
    return conversation.id if isinstance(conversation, Agent) else None


def result_text(result: TurnResult) -> str:
    """Return how a turn ended, on one line: the client's word for it, errors, and what it took."""
    from reread.session.results import NO_RESULT, SUCCESS

    name = result.subtype.replace("_", " ") or "a result"
    parts = [f"ended: {name}" if result.subtype != NO_RESULT else "ended without a result"]
    if result.is_error and result.subtype in ("", SUCCESS):
        parts.append("but with an error")
    if as_number(result.exit_code) is not None:
        parts.append(f"exit code {result.exit_code}")
    if result.denials:
        parts.append(f"{plural(len(result.denials), 'call')} denied ({', '.join(dict.fromkeys(result.denials))})")
    api = duration_ms_text(result.duration_api_ms)
    parts += [plural(result.num_turns, "turn"), duration_ms_text(result.duration_ms), f"API {api}" if api else ""]
    if cost := money_text(result.cost_usd):
        parts.append(f"{cost} so far")
    if result.is_error:
        parts.append(" ".join(result.text.split())[:ERROR_LENGTH])
    return " · ".join(part for part in parts if part)


def setup_text(fields: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> str:
    """Return how the client was set up, on one line: tools, MCP servers and permission mode; or what changed."""
    if before is not None:
        names = [name for name in {**before, **fields} if before.get(name) != fields.get(name)]
        changes = [_setup_change(name, before.get(name), fields.get(name)) for name in names]
        return f"set up anew: {' · '.join(changes)}"
    tools, servers = as_list(fields.get("tools")), as_list(fields.get("mcp_servers"))
    parts = [plural(len(tools), "tool")] if tools else []
    if servers:
        parts.append(f"{plural(len(servers), 'MCP server')}: {one_line(', '.join(_names(servers)), SETUP_LENGTH)}")
    if mode := as_str(fields.get("permissionMode")):
        parts.append(f"permission mode {one_line(mode, SETUP_LENGTH)}")
    return f"set up: {' · '.join(parts) or 'nothing recorded'}"


def _setup_change(name: str, old: Any, new: Any) -> str:
    """Return what changed in one field of a setup: the items of a list that came and went, or both values."""
    words = _CAPITAL.sub(lambda found: f" {found[0].lower()}", name.replace("_", " ")).replace("mcp ", "MCP ")
    if isinstance(old, list) or isinstance(new, list):
        was, now = _names(as_list(old)), _names(as_list(new))
        came = [f"+{item}" for item in now if item not in was] + [f"−{item}" for item in was if item not in now]
        return one_line(f"{words} {' '.join(came) or 'in another order'}", SETUP_LENGTH)
    values = [value for value in (old, new) if isinstance(value, str | int | float)]
    return one_line(f"{words} {' → '.join(map(str, values)) if len(values) == 2 else 'changed'}", SETUP_LENGTH)


def _names(items: Sequence[Any]) -> list[str]:
    """Return the items of a list in a setup: names, or MCP servers with their states."""
    named = [(as_dict(item).get("name"), as_dict(item).get("status")) for item in items]
    return [
        (f"{name} ({status})" if status else str(name)) if name else str(item)
        for item, (name, status) in zip(items, named, strict=True)
    ]


QUEUED = {"": "queued, not sent", "removed": "queued, then removed", "taken back": "queued, then taken back"}


def queued_text(part: QueuedPrompt) -> str:
    """Return what became of a prompt that was queued."""
    return QUEUED[part.taken]


def session_start_text(id: str) -> str:
    """Return that another session begins."""
    return f"session {id} begins"


def unread_text(lines: int) -> str:
    """Return a warning that lines could not be read."""
    return f"{plural(lines, 'line')} could not be read; run `reread check` for details"


def shown_path(session: Session) -> str | None:
    """The path of a session's file, or where it is kept; of a copy, the one that it stands for. None for bytes."""
    from reread.session.session import threads_of

    threads = threads_of(session)
    return threads.shown_as or threads.kept_as or (str(session.path) if session.path is not None else None)
