"""What was loaded into the requests of a session: servers, tools and skills, and what its memory files say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str

if TYPE_CHECKING:
    from reread.model.conversation import Conversation
    from reread.records.decode import Record

MCP_PREFIX = "mcp__"
MARKS = (
    b'"api-request-shape"',
    b'"skill_listing"',
    b'"deferred_tools_delta"',
    b'"mcp_instructions_delta"',
    b'"mcp_servers"',
    b'"instructions"',
    b'"nested_memory"',
)
"""One of these is in every record that tells what was loaded."""
TELLING = frozenset({"api-request-shape", "attachment", "system"})
"""The types of these records."""
MEMORY = ("instructions", "nested_memory")
"""The attachments that hold memory files."""
LONGEST_MEMORY = 200_000
"""Characters of memory that are kept of a session."""
_LISTED = re.compile(r"^- ([^:\n]+):", re.MULTILINE)

PLACEHOLDER = "DeferredToolPlaceholder"
"""A tool that stands for those that are loaded later."""
SERVER, TOOL, SKILL = "mcp_server", "tool", "skill"


class Loaded(NamedTuple):
    """What was in the requests of a session."""

    items: list[tuple[str, str, int | None]]
    """The kind of each server, tool or skill, its name, and the characters of its definition in each request."""
    memory: str
    """The texts of its memory files, as recorded."""


def loaded_in(conversation: Conversation) -> Loaded:
    """Return what was loaded in the main thread of a session."""
    loaded: dict[tuple[str, str], int | None] = {}
    memory: dict[str, None] = {}
    for record in conversation.records:
        if record.type in TELLING and any(mark in record.body for mark in MARKS):
            for kind, name, chars in _loaded(record):
                loaded[kind, name] = max(chars or 0, loaded.get((kind, name)) or 0) or None
            memory |= dict.fromkeys(_memory(record))
    found = [(kind, name, chars) for (kind, name), chars in loaded.items()]
    return Loaded(found, "\n\n".join(memory)[:LONGEST_MEMORY])


def server_of(tool: str) -> str | None:
    """Return the MCP server of a tool by its name; None if it is another tool."""
    if not tool.startswith(MCP_PREFIX):
        return None
    return tool.removeprefix(MCP_PREFIX).partition("__")[0] or None


def _loaded(record: Record) -> Iterator[tuple[str, str, int | None]]:
    native = record.native
    if record.type == "api-request-shape":
        yield from _defined(as_list(as_dict(native.get("shape")).get("tools")))
    elif record.type == "attachment":
        yield from _attached(as_dict(native.get("attachment")))
    elif record.type == "system" and native.get("subtype") == "init":
        yield from ((SERVER, name, None) for item in as_list(native.get("mcp_servers")) if (name := _server_name(item)))
        yield from ((SKILL, name, None) for name in _names(native.get("skills")))


def _defined(tools: list[Any]) -> Iterator[tuple[str, str, int | None]]:
    """The tools of a request; those of one MCP server count together."""
    servers: dict[str, int] = {}
    for tool in tools:
        name, chars = as_str(as_dict(tool).get("name")), len(jsontext.dumps(tool))
        server = server_of(name) if name else None
        if server is not None:
            servers[server] = servers.get(server, 0) + chars
        elif name and name != PLACEHOLDER:
            yield TOOL, name, chars
    yield from ((SERVER, name, chars) for name, chars in servers.items())


def _attached(payload: dict[str, Any]) -> Iterator[tuple[str, str, int | None]]:
    kind, names = payload.get("type"), _names(payload.get("addedNames"))
    if kind == "skill_listing":
        content = as_str(payload.get("content")) or ""
        starts = list(_LISTED.finditer(content))
        ends = [*(start.start() for start in starts[1:]), len(content)]
        sizes = {start[1]: end - start.start() for start, end in zip(starts, ends, strict=False)}
        yield from ((SKILL, name, sizes.get(name)) for name in _names(payload.get("names")) or sizes)
    elif kind == "mcp_instructions_delta":
        blocks = as_list(payload.get("addedBlocks"))
        yield from ((SERVER, name, len(str(block))) for name, block in zip(names, blocks, strict=False))
    elif kind == "deferred_tools_delta":  # of a deferred tool, requests have the name alone
        for server in dict.fromkeys(map(server_of, names)):
            if server is not None:
                yield SERVER, server, sum(len(name) + 1 for name in names if server_of(name) == server)


def _memory(record: Record) -> Iterator[str]:
    payload = as_dict(record.native.get("attachment")) if record.type == "attachment" else {}
    if payload.get("type") in MEMORY:
        for file in [*as_list(payload.get("files")), payload.get("content")]:
            text = as_dict(file).get("content") if isinstance(file, dict) else file
            if isinstance(text, str):
                yield text


def _names(value: Any) -> list[str]:
    return [name for name in as_list(value) if isinstance(name, str) and name]


def _server_name(item: Any) -> str | None:
    connected = as_dict(item).get("status") in (None, "connected")
    return (as_str(as_dict(item).get("name")) if isinstance(item, dict) else as_str(item)) if connected else None
