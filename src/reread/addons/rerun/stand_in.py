"""Stand-ins for the MCP servers of a session: they have its tools and answer as they did."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reread.addons.rerun.box import INSIDE, python
from reread.base import jsontext
from reread.base.choices import DENIED, RUNNING
from reread.base.coerce import as_dict, as_list, as_str

if TYPE_CHECKING:
    from reread.model.conversation import Call
    from reread.session.session import Session

Object = dict[str, Any]
PREFIX = "mcp__"
PROGRAM = "mcp_server.py"
ADVICE = "\n\nThis tool's input schema was not in your prompt"
ADVISED = "The input schema is: "
SAVED = "[Image: source: "
"""How texts begin that the client adds to what a server answered."""


def stand_in_servers(session: Session, folder: Path, inside: str) -> dict[str, Object]:
    """Write stand-ins into a folder, and return their configuration with the paths that they have inside the box."""
    tools: dict[str, dict[str, Object]] = {}
    calls: dict[str, list[Object]] = {}
    for name, definition in _defined(session):
        tools.setdefault(name[0], {})[name[1]] = definition
    for call in _calls(session):
        server, tool = server_and_tool(call.name)
        if not tool:
            continue
        schema = _advised(call) or {"type": "object", "additionalProperties": True}
        tools.setdefault(server, {}).setdefault(tool, {"name": tool, "inputSchema": schema})
        if call.state not in (RUNNING, DENIED):
            calls.setdefault(server, []).append(
                {"tool": tool, "input": call.input, "content": _content(call), "isError": bool(call.is_error)}
            )
    resources = _resources(session)
    for server in resources:
        tools.setdefault(server, {})
    if tools:
        shutil.copyfile(INSIDE / PROGRAM, folder / PROGRAM)
    servers: dict[str, Object] = {}
    for number, (server, own) in enumerate(tools.items()):
        record: Object = {"name": server, "tools": list(own.values()), "calls": calls.get(server, [])}
        record["resources"] = resources.get(server, {})
        (folder / f"mcp-{number}.json").write_bytes(jsontext.dumps(record))
        words = ["-P", "-I", "-S", f"{inside}/{PROGRAM}", f"{inside}/mcp-{number}.json"]
        servers[server] = {"type": "stdio", "args": words, "command": python()}
    return servers


def server_and_tool(name: str) -> tuple[str, str]:
    """Return the MCP server of a tool, and what that calls it; empty for any other tool."""
    server, _, tool = name.removeprefix(PREFIX).partition("__") if name.startswith(PREFIX) else ("", "", "")
    return server, tool


def _calls(session: Session) -> Iterator[Call]:
    yield from session.calls
    for agent in session.agents.values():
        yield from agent.calls


def _defined(session: Session) -> Iterator[tuple[tuple[str, str], Object]]:
    """Yield the tools of MCP servers that requests define."""
    for request in session.requests:
        for tool in map(as_dict, request.tools):
            server, name = server_and_tool(as_str(tool.get("name")) or "")
            if name:
                schema = tool.get("input_schema") or {"type": "object"}
                yield (server, name), {"name": name, "description": tool.get("description", ""), "inputSchema": schema}


def _advised(call: Call) -> Object | None:
    """Return the schema of a tool that is not in the requests, from what the client said of it."""
    _, found, rest = call.tool_call.text.partition(ADVISED)
    if not found:
        return None
    try:
        return as_dict(jsontext.loads_clean(rest.partition("\n")[0].encode())) or None
    except ValueError:  # cut
        return None


def _content(call: Call) -> list[Object]:
    """Return what a server answered."""
    content = getattr(call.result, "content", None)
    blocks = as_list(jsontext.loads_clean(jsontext.dumps(content))) if isinstance(content, list) else []
    found: list[Object] = []
    for block in map(as_dict, blocks):
        source = as_dict(block.get("source"))
        if block.get("type") == "image" and source.get("data"):
            found.append({"type": "image", "data": source["data"], "mimeType": source.get("media_type", "image/png")})
        elif block.get("type") == "text" and not (text := as_str(block.get("text")) or "").startswith(SAVED):
            found.append({"type": "text", "text": text.partition(ADVICE)[0]})
    text = content if isinstance(content, str) else call.tool_call.text
    return found or [{"type": "text", "text": text.partition(ADVICE)[0]}]


def _resources(session: Session) -> dict[str, dict[str, Object]]:
    """Return the resources that were listed or read, by server and address."""
    found: dict[str, dict[str, Object]] = {}
    for call in _calls(session):
        given = as_dict(call.input)
        if call.name == "ListMcpResourcesTool":
            for one in map(as_dict, as_list(call.data)):
                own = found.setdefault(as_str(one.get("server")) or "", {}).setdefault(as_str(one.get("uri")) or "", {})
                own["listed"] = {name: value for name, value in one.items() if name != "server"}
        elif call.name == "ReadMcpResourceTool":
            uri = as_str(given.get("uri")) or ""
            own = found.setdefault(as_str(given.get("server")) or "", {}).setdefault(uri, {})
            own["contents"] = as_list(as_dict(call.data).get("contents"))
    return found
