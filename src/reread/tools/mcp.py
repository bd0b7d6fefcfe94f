"""What MCP servers offer: any tool of theirs, their resources, and waiting for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.coerce import as_dict, as_list
from reread.records import blocks as b
from reread.records.blocks import to_struct
from reread.tools import _draw, generic
from reread.tools._images import picture
from reread.tools._values import answer, count, each, first, line, names, parsed, words
from reread.tools.nodes import Code, Data, Node, Picture, Prose, Table, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

PREFIX = "mcp__"
LANGUAGES = {"application/json": "json", "text/html": "html", "text/css": "css", "application/xml": "xml"}
"""What a media type is highlighted as."""
SHORT = 100
"""Arguments no longer than this are facts; others are a tree."""


class ToolOutput(Struct, kw_only=True):
    """A result that has structured content beside its blocks."""

    content: Any = None
    structuredContent: Any = None
    isError: bool | None = None


class Resource(Struct, kw_only=True):
    """Something that a server can be asked to read."""

    uri: str = ""
    name: str | None = None
    mimeType: str | None = None
    description: str | None = None
    server: str | None = None
    text: str | None = None
    blobSavedTo: str | None = None


class ResourceInput(Struct, kw_only=True):
    """Which server, and which resource of it."""

    server: str | None = None
    uri: str | None = None


class ResourceOutput(Struct, kw_only=True):
    """What was found, or what it says."""

    resources: list[Resource] | None = None
    contents: list[Resource] | None = None
    error: str | None = None


class Refresh(Struct, kw_only=True):
    """What became of a server's tools."""

    server: str = ""
    status: str | None = None
    toolCount: int | None = None
    added: list[str] | None = None
    removed: list[str] | None = None
    error: str | None = None


class RefreshOutput(Struct, kw_only=True):
    """All servers that were asked again."""

    servers: list[Refresh] | None = None


class WaitInput(Struct, kw_only=True):
    """Which servers are waited for, and how long."""

    servers: list[str] | None = None
    timeout: float | None = None


def title(call: ToolCall) -> str:
    """The server, its tool and the argument that says most."""
    server, _, tool = call.name.removeprefix(PREFIX).partition("__")
    given = call.arguments
    known = [given[name] for name in generic.ARGUMENTS if name in given] + list(given.values())
    best = next((value for value in known if isinstance(value, str) and value.strip()), "")
    return f"{server} · {tool or call.name} {line(best, 80)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """What the tool was given, and what it answered: texts, pictures, structured content."""
    yield from _given(call)
    yield from generic.ending(call)
    output = call.output(ToolOutput)
    blocks = b.to_blocks(output.content) if output and output.content else call.blocks
    structured = _structured(call, output)
    for block in blocks:
        if not (isinstance(block, b.Text) and _is_told(call, block, structured)):
            yield from _block(block)
    if structured is not None:
        yield Data(value=structured)


def _given(call: ToolCall) -> Iterator[Node]:
    given = call.arguments
    if all(isinstance(value, str | int | float | bool) and len(words(value)) <= SHORT for value in given.values()):
        yield from facts(**{name: words(value) for name, value in given.items()})
    else:
        yield from _draw.section("input", [Data(value=call.given)], open=True)


def _is_told(call: ToolCall, block: b.Text, structured: Any) -> bool:
    """Whether the ending or the structured content says the text already."""
    if call.ending.state != DONE:
        return True
    return structured is not None and parsed(words(block.text)) == structured


def _structured(call: ToolCall, output: ToolOutput | None) -> Any:
    """The structured content, whichever way it was written."""
    if output is not None and output.structuredContent is not None:
        return output.structuredContent
    if output is not None and not output.content:
        return call.data
    return parsed(call.text) if call.ending.state == DONE else None


def _block(block: b.Block) -> Iterator[Node]:
    """One block of a result, with the kinds that only MCP has."""
    if isinstance(block, b.Text):
        yield from _draw.text(block.text)
        return
    value = as_dict(block.value) if isinstance(block, b.UnknownBlock) else {}
    if block.type == "resource":
        yield from _read(to_struct(as_dict(value.get("resource")), Resource))
    elif block.type == "resource_link":
        yield from _draw.links((value.get("uri"), first(value.get("title"), value.get("name"))))
    elif block.type == "audio":
        yield _sound(value)
    else:
        yield from _draw.drawn(block)


def _sound(value: dict[str, Any]) -> Picture:
    return picture(words(value.get("data")), first(value.get("mimeType"), "application/octet-stream"))


def list_title(call: ToolCall) -> str:
    """Whose resources, and how many."""
    found = _resources(call)
    return _title(call, call.input(ResourceInput).server, count(found, "resource") if found else "")


def draw_list(call: ToolCall) -> Iterator[Node]:
    """The resources as a table."""
    found = _resources(call)
    yield from facts(**_asked(call))
    yield from _ending(call)
    if found:
        yield Table(columns=["name", "address", "type", "server", "about"], rows=[_row(one) for one in found])
    elif call.ending.state == DONE:
        yield from _draw.content(getattr(call.block, "content", None))


def read_title(call: ToolCall) -> str:
    """Which resource is read."""
    given = call.input(ResourceInput)
    return _title(call, first(given.uri, given.server), "")


def draw_read(call: ToolCall) -> Iterator[Node]:
    """What the resource says."""
    output = answer(call, ResourceOutput) or ResourceOutput()
    yield from facts(**_asked(call))
    yield from _ending(call)
    contents = each(output.contents, Resource)
    for one in contents:
        yield from _read(one)
    if not contents and call.ending.state == DONE:
        yield from _draw.content(getattr(call.block, "content", None))


def wait_title(call: ToolCall) -> str:
    """Which servers are waited for."""
    return _title(call, names(call.input(WaitInput).servers), "")


def draw_wait(call: ToolCall) -> Iterator[Node]:
    """What became of the waiting."""
    if call.arguments:
        yield Data(value=call.given)
    yield from _draw.reply(call)


def refresh_title(call: ToolCall) -> str:
    """Which server is asked again for its tools."""
    return _title(call, call.input(ResourceInput).server, "")


def draw_refresh(call: ToolCall) -> Iterator[Node]:
    """What became of each server's tools."""
    servers = each(to_struct({"servers": _listing(call)}, RefreshOutput).servers, Refresh)
    yield from facts(**_asked(call))
    if not servers:
        yield from _draw.reply(call)
        return
    yield from generic.ending(call)
    columns = ["server", "status", "tools", "added", "removed", "error"]
    yield Table(columns=columns, rows=[_refreshed(one) for one in servers])


def _refreshed(one: Refresh) -> list[str]:
    changes = [names(one.added), names(one.removed), words(one.error)]
    return [words(one.server), words(one.status), words(one.toolCount), *changes]


def _title(call: ToolCall, what: object, found: str) -> str:
    return f"{call.name} {line(what)}".strip() + (f" → {found}" if found else "")


def _asked(call: ToolCall) -> dict[str, str]:
    given = call.input(ResourceInput)
    return {"server": words(given.server), "address": words(given.uri)}


def _ending(call: ToolCall) -> Iterator[Node]:
    output = answer(call, ResourceOutput) or ResourceOutput()
    yield from generic.ending(call)
    yield from _draw.note(output.error, "error")


def _listing(call: ToolCall) -> list[Any]:
    """A result that is a list, as data or as text."""
    return as_list(call.data) or as_list(parsed(call.text))


def _resources(call: ToolCall) -> list[Resource]:
    output = answer(call, ResourceOutput)
    return each((output or to_struct({"resources": _listing(call)}, ResourceOutput)).resources, Resource)


def _row(one: Resource) -> list[str]:
    return [words(part) for part in (one.name, one.uri, one.mimeType, one.server, one.description)]


def _read(one: Resource) -> Iterator[Node]:
    """One resource: its text in its language, or where its bytes were put."""
    kind = words(one.mimeType)
    if first(one.text):
        text = words(one.text)
        marked = kind == "text/markdown"
        yield Prose(text=text) if marked else Code(text=text, path=words(one.uri), language=LANGUAGES.get(kind))
    yield from _draw.files((one.blobSavedTo, kind))


TOOLS = [
    Tool((PREFIX,), title, draw),
    Tool(("ListMcpResourcesTool", "ListMcpResources"), list_title, draw_list, category="search"),
    Tool(("ReadMcpResourceTool", "ReadMcpResource"), read_title, draw_read, category="read"),
    Tool(("ReadMcpResourceDirTool", "ReadMcpResourceDir"), read_title, draw_list, category="search"),
    Tool(("WaitForMcpServers",), wait_title, draw_wait),
    Tool(("RefreshMcpTools",), refresh_title, draw_refresh),
]
