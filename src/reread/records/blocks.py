"""Typed content blocks of messages, as the API and the client write them.

Every field is optional. A field whose value does not have the declared type holds that value as written.
"""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import FieldInfo

from reread.base.coerce import LIST, OBJECT
from reread.base.structs import FrozenStruct

Number: TypeAlias = int | float

Content: TypeAlias = Annotated[
    Any,
    Meta(
        extra={"contains": "block"},
        extra_json_schema={
            "anyOf": [
                {"type": ["string", "null"]},
                {"$ref": "#/$defs/AnyBlock"},
                {"type": "array", "items": {"$ref": "#/$defs/AnyBlock"}},
            ]
        },
    ),
]
"""A string, a block or a list of blocks, as written; `to_blocks` converts it."""

T = TypeVar("T")
Needed: TypeAlias = Annotated[T, Meta(extra={"needed": True})]
"""A field that a healthy record has."""
Name: TypeAlias = Annotated[str, Meta(min_length=1, extra={"needed": True})]
"""A field that a healthy record has, and that is not empty."""

CONVERT_ERRORS = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)
"""The errors of a strict conversion; a lone surrogate in a key, for example, raises UnicodeError."""

StructT = TypeVar("StructT", bound=Struct)


class BlockPart(FrozenStruct):
    """An object inside a block or record."""


class CacheControl(BlockPart):
    """A cache breakpoint of a prompt."""

    type: str | None = None
    ttl: str | None = None


class Block(FrozenStruct):
    """One content block of a message."""

    type: str = ""
    cache_control: CacheControl | None = None


class UnknownBlock(Block):
    """A block of an unknown type, or a value that is not a block at all."""

    value: Any = None


class Citation(BlockPart):
    """The source of a statement."""

    type: str | None = None
    cited_text: str | None = None
    title: str | None = None
    url: str | None = None
    source: str | None = None
    file_id: str | None = None
    document_index: int | None = None
    document_title: str | None = None
    search_result_index: int | None = None
    encrypted_index: str | None = None
    start_char_index: int | None = None
    end_char_index: int | None = None
    start_page_number: int | None = None
    end_page_number: int | None = None
    start_block_index: int | None = None
    end_block_index: int | None = None


class CitationsConfig(BlockPart):
    """Whether a document may be cited."""

    enabled: bool | None = None


class Caller(BlockPart):
    """Who made a call: the model itself, or code that it runs."""

    type: str | None = None
    tool_id: str | None = None


class ContentSource(BlockPart):
    """The bytes of an image or document, or where they are: a URL or an uploaded file."""

    type: str | None = None
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    content: Content = None


class Text(Block):
    """Text of a message."""

    type: str = "text"
    text: Needed[str] | None = None
    citations: list[Citation] | None = None


class Thinking(Block):
    """The model's thinking; the text is empty, with a signature, if it was not recorded."""

    type: str = "thinking"
    thinking: Needed[str] | None = None
    signature: str | None = None


class RedactedThinking(Block):
    """Encrypted thinking."""

    type: str = "redacted_thinking"
    data: str | None = None


class CallBlock(Block):
    """Base of all blocks that call a tool."""

    id: Name | None = None
    name: Name | None = None
    input: Needed[Any] = None


class ToolUse(CallBlock):
    """A call of one of the client's tools."""

    type: str = "tool_use"
    caller: Caller | None = None
    toolset_name: str | None = None


class ServerToolUse(CallBlock):
    """A call of one of the API's own tools."""

    type: str = "server_tool_use"
    caller: Caller | None = None


class McpToolUse(CallBlock):
    """A call of an MCP tool by the API itself."""

    type: str = "mcp_tool_use"
    server_name: str | None = None


class ResultBlock(Block):
    """Base of all blocks with the result of a call."""

    tool_use_id: str | None = None


class ToolResult(ResultBlock):
    """The result of a call of one of the client's tools."""

    type: str = "tool_result"
    content: Content = None
    is_error: bool | None = None
    toolset_name: str | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks."""
        return to_blocks(self.content)


class McpToolResult(ResultBlock):
    """The result of an MCP tool that the API called."""

    type: str = "mcp_tool_result"
    content: Content = None
    is_error: bool | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks."""
        return to_blocks(self.content)


class McpTool(BlockPart):
    """A tool of an MCP server."""

    name: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class McpToolListing(Block):
    """The tools of an MCP server."""

    type: str = "mcp_tool_listing"
    mcp_server_name: str | None = None
    tools: list[McpTool] | None = None


class ImageTransformations(BlockPart):
    """The changes that the API may make to an image that is too large."""

    oversized_image: str | None = None


class Image(Block):
    """An image. MCP servers write `data` and `mimeType` instead of a source."""

    type: str = "image"
    source: ContentSource | None = None
    data: str | None = None
    mimeType: str | None = None
    transformations: ImageTransformations | None = None

    @property
    def picture(self) -> ContentSource:
        """The source, however it is written."""
        if isinstance(self.source, ContentSource):
            return self.source
        return ContentSource(type="base64", media_type=self.mimeType, data=self.data)


class Document(Block):
    """A PDF or text document given to the model."""

    type: str = "document"
    source: ContentSource | None = None
    title: str | None = None
    context: str | None = None
    citations: CitationsConfig | None = None


class SearchResult(Block):
    """A passage found by the client's own search."""

    type: str = "search_result"
    source: str | None = None
    title: str | None = None
    content: Content = None
    citations: CitationsConfig | None = None


class ToolReference(Block):
    """A tool found by a tool search."""

    type: str = "tool_reference"
    tool_name: str | None = None


class WebSearchPage(BlockPart):
    """A page found by a web search, or the error instead of all results."""

    type: str | None = None
    url: str | None = None
    title: str | None = None
    page_age: str | None = None
    encrypted_content: str | None = None
    error_code: str | None = None


class WebSearchToolResult(ResultBlock):
    """The result of a web search."""

    type: str = "web_search_tool_result"
    content: list[WebSearchPage] | WebSearchPage | None = None
    caller: Caller | None = None


class WebFetchPage(BlockPart):
    """A fetched page, or the error instead of it."""

    type: str | None = None
    url: str | None = None
    content: Content = None
    retrieved_at: str | None = None
    error_code: str | None = None


class WebFetchToolResult(ResultBlock):
    """The result of fetching a page."""

    type: str = "web_fetch_tool_result"
    content: WebFetchPage | None = None
    caller: Caller | None = None


class AdvisorResult(BlockPart):
    """The advisor's answer, encrypted or not, or the error instead of it."""

    type: str | None = None
    text: str | None = None
    encrypted_content: str | None = None
    stop_reason: str | None = None
    error_code: str | None = None


class AdvisorToolResult(ResultBlock):
    """Advice from a stronger model."""

    type: str = "advisor_tool_result"
    content: AdvisorResult | None = None


class OutputFile(BlockPart):
    """A file written by executed code."""

    type: str | None = None
    file_id: str | None = None


class CodeExecutionResult(BlockPart):
    """The output of executed code, or the error instead of it."""

    type: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    encrypted_stdout: str | None = None
    return_code: int | None = None
    content: list[OutputFile] | None = None
    error_code: str | None = None
    error_message: str | None = None


class CodeExecutionToolResult(ResultBlock):
    """The result of running code in the API's sandbox."""

    type: str = "code_execution_tool_result"
    content: CodeExecutionResult | None = None


class BashCodeExecutionToolResult(ResultBlock):
    """The result of a shell command in the API's sandbox."""

    type: str = "bash_code_execution_tool_result"
    content: CodeExecutionResult | None = None


class TextEditorResult(BlockPart):
    """The result of viewing, creating or changing a file, or the error instead of it."""

    type: str | None = None
    content: str | None = None
    file_type: str | None = None
    num_lines: int | None = None
    start_line: int | None = None
    total_lines: int | None = None
    is_file_update: bool | None = None
    lines: list[str] | None = None
    old_start: int | None = None
    old_lines: int | None = None
    new_start: int | None = None
    new_lines: int | None = None
    error_code: str | None = None
    error_message: str | None = None


class TextEditorCodeExecutionToolResult(ResultBlock):
    """The result of the text editor in the API's sandbox."""

    type: str = "text_editor_code_execution_tool_result"
    content: TextEditorResult | None = None


class ToolSearchReferences(BlockPart):
    """The tools found, or the error instead of them."""

    type: str | None = None
    tool_references: Content = None
    error_code: str | None = None
    error_message: str | None = None


class ToolSearchToolResult(ResultBlock):
    """The result of a tool search by the API."""

    type: str = "tool_search_tool_result"
    content: ToolSearchReferences | None = None


class ContainerUpload(Block):
    """A file uploaded to the API's sandbox."""

    type: str = "container_upload"
    file_id: str | None = None


class CompactionBlock(Block):
    """A summary by the API that replaces everything before it."""

    type: str = "compaction"
    content: str | None = None
    encrypted_content: str | None = None
    signature: str | None = None
    tool_changes: Content = None


class FallbackModel(BlockPart):
    """The model before or after a fallback."""

    model: str | None = None


class FallbackTrigger(BlockPart):
    """Why another model took over."""

    type: str | None = None
    category: str | None = None


class Fallback(Block):
    """The point where another model took over."""

    type: str = "fallback"
    from_: FallbackModel | None = field(default=None, name="from")
    to: FallbackModel | None = None
    trigger: FallbackTrigger | None = None


class ToolChange(BlockPart):
    """The tool, or the server with its tools, that was added or removed."""

    type: str | None = None
    name: str | None = None
    server_name: str | None = None
    definition: dict[str, Any] | None = None


class ToolAddition(Block):
    """A tool that can be called from here on."""

    type: str = "tool_addition"
    tool: ToolChange | None = None


class ToolRemoval(Block):
    """A tool that can no longer be called."""

    type: str = "tool_removal"
    tool: ToolChange | None = None


class BrowserTab(BlockPart):
    """An open browser tab."""

    tab_id: str | None = None
    title: str | None = None
    url: str | None = None
    active: bool | None = None


class BrowserChange(BlockPart):
    """A tab that opened, or the outcome of a download."""

    type: str | None = None
    tab_id: str | None = None
    download_id: str | None = None
    url: str | None = None
    path: str | None = None
    size_bytes: int | None = None
    error: str | None = None


class BrowserState(Block):
    """The tabs of the browser, and what changed in it."""

    type: str = "browser_state"
    tabs: list[BrowserTab] | None = None
    state_changes: list[BrowserChange] | None = None


def structs_by_type(base: type[StructT]) -> dict[str, type[StructT]]:
    """Return the subclasses of a struct at any depth by the default of their `type` field; bases have none."""
    found: dict[str, type[StructT]] = {}
    todo = [base]
    while todo:
        struct = todo.pop(0)
        todo += struct.__subclasses__()
        if kind := cast(Any, struct()).type:
            found.setdefault(kind, struct)
    return found


BLOCKS = structs_by_type(Block)
"""Every known type of block."""


def to_blocks(content: Any) -> list[Block]:
    """Return the content of a message or result as blocks, whatever shape it has."""
    if content is None:
        return []
    values = content if isinstance(content, LIST) else [content]
    return [to_block(value) for value in values]


def to_block(value: Any) -> Block:
    """Return one value as a block; a bare string is a text."""
    if isinstance(value, str):
        return Text(text=value)
    kind = value.get("type") if isinstance(value, OBJECT) else None
    if not isinstance(kind, str):
        return UnknownBlock(value=value)
    struct = BLOCKS.get(kind)
    return to_struct(value, struct) if struct else UnknownBlock(type=kind, value=value)


def to_struct(value: dict[str, Any], struct: type[StructT]) -> StructT:
    """Convert an object to a struct; field by field if it does not fit, keeping values of other types as written."""
    try:
        return msgspec.convert(value, struct)
    except CONVERT_ERRORS:
        fields = [f for f in fields_of(struct) if f.encode_name in value]
        return struct(**{f.name: to_type(value[f.encode_name], f.type) for f in fields})


def to_type(value: Any, hint: Any) -> Any:
    """Convert the objects in a value to the structs that a type has for them; keep all other values as written."""
    for member in union_members(hint):
        option = get_args(member)[0] if get_origin(member) is Annotated else member
        origin, args = get_origin(option), get_args(option)
        if isinstance(value, list) and origin is list:
            return [to_type(item, args[0]) for item in cast(list[Any], value)]
        if isinstance(value, dict) and origin is dict:
            return {key: to_type(item, args[1]) for key, item in cast(dict[str, Any], value).items()}
        if isinstance(value, dict) and isinstance(option, type) and issubclass(option, Struct):
            return to_struct(cast(dict[str, Any], value), option)
    return cast(Any, value)


@cache
def fields_of(struct: type[Struct]) -> tuple[FieldInfo, ...]:
    """Return the fields of a struct, cached because msgspec evaluates their annotations on every call."""
    return msgspec.structs.fields(struct)


def union_members(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union; of any other type, the type itself."""
    return get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
