"""MCP servers: any tool of theirs, their resources, waiting for them and refreshing their tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_list
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, one_line
from reread.records import blocks as b
from reread.records.blocks import to_struct
from reread.tools import _draw, generic, nodes
from reread.tools._show import (
    Fields,
    declared,
    show_facts,
    show_input,
    show_note,
    show_outcome,
    show_outcome_or_result,
    show_result,
    show_table,
    structured,
)
from reread.tools._values import first_nonblank, parse_json
from reread.tools.generic import image_node
from reread.tools.nodes import Code, Data, Node, Picture, Prose
from reread.tools.tool import Tool, ToolCall

PREFIX = "mcp__"
LANGUAGES = {"application/json": "json", "text/html": "html", "text/css": "css", "application/xml": "xml"}
"""The language that a media type is highlighted as."""
SHORT = 100
"""Longer arguments are drawn as JSON, shorter ones as facts."""


class McpResult(FrozenStruct):
    """A result with structured content beside its blocks."""

    content: Any = None
    structuredContent: Any = None
    isError: bool | None = None


class McpResource(FrozenStruct):
    """A resource of a server."""

    uri: str = ""
    name: str | None = None
    mimeType: str | None = None
    description: str | None = None
    server: str | None = None
    text: str | None = None
    blobSavedTo: str | None = None


class McpResourceInput(FrozenStruct):
    """The input of all resource tools."""

    server: str | None = None
    uri: str | None = None


class McpResourceResult(FrozenStruct):
    """The resources found, or the content of one."""

    resources: list[McpResource] | None = None
    contents: list[McpResource] | None = None
    error: str | None = None


class RefreshedServer(FrozenStruct):
    """A server and the changes to its tools."""

    server: str = ""
    status: str | None = None
    toolCount: int | None = None
    added: list[str] | None = None
    removed: list[str] | None = None
    error: str | None = None


class RefreshMcpToolsResult(FrozenStruct):
    """The result of RefreshMcpTools."""

    servers: list[RefreshedServer] | None = None


class WaitForMcpServersInput(FrozenStruct):
    """The input of WaitForMcpServers."""

    servers: list[str] | None = None
    timeout: float | None = None


def title(call: ToolCall) -> str:
    """Return the server, its tool and the most telling argument."""
    server, _, tool = call.name.removeprefix(PREFIX).partition("__")
    args = call.arguments
    candidates = [args[name] for name in generic.TITLE_ARGUMENTS if name in args] + list(args.values())
    best = next((value for value in candidates if isinstance(value, str) and value.strip()), "")
    return f"{server} · {tool or call.name} {one_line(best, 80)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the arguments and the result: texts, images, structured content."""
    yield from _arguments(call)
    yield from generic.outcome_note(call)
    output = call.output(McpResult)
    blocks = b.to_blocks(output.content) if output and output.content else call.blocks
    structured = _structured(call, output)
    for block in blocks:
        if not (isinstance(block, b.Text) and _is_repeated(call, block, structured)):
            yield from _block(block)
    if structured is not None:
        yield Data(value=structured)


def _arguments(call: ToolCall) -> Iterator[Node]:
    args = call.arguments
    if all(isinstance(value, str | int | float | bool) and len(as_text(value)) <= SHORT for value in args.values()):
        yield from nodes.facts(**{name: as_text(value) for name, value in args.items()})
    else:
        yield from _draw.section("input", [Data(value=call.raw_input)], open=True)


def _is_repeated(call: ToolCall, block: b.Text, structured: Any) -> bool:
    """True if the outcome or the structured content has the same text."""
    if call.outcome.state != DONE:
        return True
    return structured is not None and parse_json(as_text(block.text)) == structured


def _structured(call: ToolCall, output: McpResult | None) -> Any:
    """Return the structured content, however it was recorded."""
    if output is not None and output.structuredContent is not None:
        return output.structuredContent
    if output is not None and not output.content:
        return call.data
    return parse_json(call.text) if call.outcome.state == DONE else None


def _block(block: b.Block) -> Iterator[Node]:
    """Draw one block of a result, including the types that only MCP has."""
    if isinstance(block, b.Text):
        yield from _draw.prose_or_code(block.text)
        return
    value = as_dict(block.value) if isinstance(block, b.UnknownBlock) else {}
    if block.type == "resource":
        yield from _resource(to_struct(as_dict(value.get("resource")), McpResource))
    elif block.type == "resource_link":
        yield from _draw.links((value.get("uri"), first_nonblank(value.get("title"), value.get("name"))))
    elif block.type == "audio":
        yield _audio(value)
    else:
        yield from _draw.content_block(block)


def _audio(value: dict[str, Any]) -> Picture:
    return image_node(as_text(value.get("data")), first_nonblank(value.get("mimeType"), "application/octet-stream"))


def _resource_result(call: ToolCall) -> dict[str, Any] | None:
    """Return the structured result, or the list of resources that is one, as data or as text."""
    listed = as_list(call.data) or as_list(parse_json(call.text))
    return {"resources": listed, "servers": listed} if listed else structured(call)


def _contents(fields: Fields) -> Iterator[Node]:
    """Draw the contents of a resource, or the content of the result if it has neither contents nor resources."""
    contents = [to_struct(resource.own, McpResource) for resource in fields.objects("result.contents")]
    for resource in contents:
        yield from _resource(resource)
    if not contents and not fields.objects("result.resources") and fields.call.outcome.state == DONE:
        yield from _draw.draw_content(fields.call.content)


def _resource(resource: McpResource) -> Iterator[Node]:
    """Draw a resource: its text in its language, or the file its bytes were saved to."""
    media_type, text = as_text(resource.mimeType), as_text(resource.text)
    if text.strip() and media_type == "text/markdown":
        yield Prose(text=text)
    elif text.strip():
        yield Code(text=text, path=as_text(resource.uri), language=LANGUAGES.get(media_type))
    yield from _draw.file_list((resource.blobSavedTo, media_type))


_TARGET = show_facts(server="server", URI="uri")
_RESOURCES = (
    _TARGET,
    show_outcome(),
    show_note("{result.error}", "error"),
    show_table("result.resources", name="name", URI="uri", type="mimeType", server="server", description="description"),
    _contents,
)
_LIST_OF_RESOURCES = McpResourceResult | list[McpResource]
TOOLS = [
    Tool((PREFIX,), title, draw),
    declared(
        ("ListMcpResourcesTool", "ListMcpResources"),
        "{server} [→ {result.resources:# resource}]",
        *_RESOURCES,
        category="search",
        input=McpResourceInput,
        result=_LIST_OF_RESOURCES,
        read=_resource_result,
    ),
    declared(
        ("ReadMcpResourceTool", "ReadMcpResource"),
        "{uri|server}",
        *_RESOURCES,
        category="read",
        input=McpResourceInput,
        result=McpResourceResult,
        read=_resource_result,
    ),
    declared(
        ("ReadMcpResourceDirTool", "ReadMcpResourceDir"),
        "{uri|server}",
        *_RESOURCES,
        category="search",
        input=McpResourceInput,
        result=_LIST_OF_RESOURCES,
        read=_resource_result,
    ),
    declared(("WaitForMcpServers",), "{servers:list}", show_input, show_result(), input=WaitForMcpServersInput),
    declared(
        ("RefreshMcpTools",),
        "{server}",
        _TARGET,
        show_outcome_or_result("result.servers"),
        show_table(
            "result.servers",
            server="server",
            status="status",
            tools="toolCount",
            added="added:list",
            removed="removed:list",
            error="error",
        ),
        input=McpResourceInput,
        result=RefreshMcpToolsResult | list[RefreshedServer],
        read=_resource_result,
    ),
]
