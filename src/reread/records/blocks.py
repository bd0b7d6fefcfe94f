"""Content blocks: what a message is made of, typed as the API and the client write them.

Every field is optional; one whose value has another shape than its type says holds that value as written.
"""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import FieldInfo

Number: TypeAlias = int | float

Content: TypeAlias = Annotated[
    Any,
    Meta(
        extra={"holds": "block"},
        extra_json_schema={
            "anyOf": [
                {"type": ["string", "null"]},
                {"$ref": "#/$defs/AnyBlock"},
                {"type": "array", "items": {"$ref": "#/$defs/AnyBlock"}},
            ]
        },
    ),
]
"""A text, a block or a list of blocks, as written; `to_blocks` reads it."""

CONVERT_ERRORS = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)
"""What a strict conversion may raise; lone surrogates in a key, for one, are a UnicodeError."""

StructT = TypeVar("StructT", bound=Struct)


class BlockPart(Struct, frozen=True, kw_only=True):
    """A part of a block or record that has a shape of its own."""


class CacheControl(BlockPart, frozen=True, kw_only=True):
    """Up to where a prompt is to be cached."""

    type: str | None = None
    ttl: str | None = None


class Block(Struct, frozen=True, kw_only=True):
    """One content block of a message."""

    type: str = ""
    cache_control: CacheControl | None = None


class UnknownBlock(Block, frozen=True, kw_only=True):
    """A block of a type that has no struct, or a value that is no block at all."""

    value: Any = None


class Citation(BlockPart, frozen=True, kw_only=True):
    """Where a statement comes from."""

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


class CitationsConfig(BlockPart, frozen=True, kw_only=True):
    """Whether a document may be cited."""

    enabled: bool | None = None


class Caller(BlockPart, frozen=True, kw_only=True):
    """Who made a call: the model itself, or code that it runs."""

    type: str | None = None
    tool_id: str | None = None


class Source(BlockPart, frozen=True, kw_only=True):
    """Where the bytes of an image or document are: in here, behind a URL, or in an uploaded file."""

    type: str | None = None
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    content: Content = None


class Text(Block, frozen=True, kw_only=True):
    """Something said."""

    type: str = "text"
    text: str | None = None
    citations: list[Citation] | None = None


class Thinking(Block, frozen=True, kw_only=True):
    """Something thought; the text is empty, with a signature, where it was not recorded."""

    type: str = "thinking"
    thinking: str | None = None
    signature: str | None = None


class RedactedThinking(Block, frozen=True, kw_only=True):
    """Something thought that is encrypted."""

    type: str = "redacted_thinking"
    data: str | None = None


class CallBlock(Block, frozen=True, kw_only=True):
    """What every call has."""

    id: str | None = None
    name: str | None = None
    input: Any = None


class ToolUse(CallBlock, frozen=True, kw_only=True):
    """A call of one of the client's tools."""

    type: str = "tool_use"
    caller: Caller | None = None
    toolset_name: str | None = None


class ServerToolUse(CallBlock, frozen=True, kw_only=True):
    """A call of one of the API's own tools."""

    type: str = "server_tool_use"
    caller: Caller | None = None


class McpToolUse(CallBlock, frozen=True, kw_only=True):
    """A call of an MCP tool that the API reaches itself."""

    type: str = "mcp_tool_use"
    server_name: str | None = None


class ResultBlock(Block, frozen=True, kw_only=True):
    """What every answer to a call has."""

    tool_use_id: str | None = None


class ToolResult(ResultBlock, frozen=True, kw_only=True):
    """What a call of the client's tools gave."""

    type: str = "tool_result"
    content: Content = None
    is_error: bool | None = None
    toolset_name: str | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks."""
        return to_blocks(self.content)


class McpToolResult(ResultBlock, frozen=True, kw_only=True):
    """What a call of an MCP tool gave."""

    type: str = "mcp_tool_result"
    content: Content = None
    is_error: bool | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks."""
        return to_blocks(self.content)


class McpTool(BlockPart, frozen=True, kw_only=True):
    """A tool that an MCP server offers."""

    name: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class McpToolListing(Block, frozen=True, kw_only=True):
    """The tools that an MCP server offers."""

    type: str = "mcp_tool_listing"
    mcp_server_name: str | None = None
    tools: list[McpTool] | None = None


class ImageTransformations(BlockPart, frozen=True, kw_only=True):
    """What may be done to an image that is too large."""

    oversized_image: str | None = None


class Image(Block, frozen=True, kw_only=True):
    """A picture; MCP servers write `data` and `mimeType` where the API has a source."""

    type: str = "image"
    source: Source | None = None
    data: str | None = None
    mimeType: str | None = None
    transformations: ImageTransformations | None = None

    @property
    def picture(self) -> Source:
        """The source, whichever way it was written."""
        if isinstance(self.source, Source):
            return self.source
        return Source(type="base64", media_type=self.mimeType, data=self.data)


class Document(Block, frozen=True, kw_only=True):
    """A PDF or text given to the model."""

    type: str = "document"
    source: Source | None = None
    title: str | None = None
    context: str | None = None
    citations: CitationsConfig | None = None


class SearchResult(Block, frozen=True, kw_only=True):
    """A passage found by a search of the client's own."""

    type: str = "search_result"
    source: str | None = None
    title: str | None = None
    content: Content = None
    citations: CitationsConfig | None = None


class ToolReference(Block, frozen=True, kw_only=True):
    """A tool that a search for tools found."""

    type: str = "tool_reference"
    tool_name: str | None = None


class WebSearchResult(BlockPart, frozen=True, kw_only=True):
    """A page that a web search found, or the error in place of all of them."""

    type: str | None = None
    url: str | None = None
    title: str | None = None
    page_age: str | None = None
    encrypted_content: str | None = None
    error_code: str | None = None


class WebSearchToolResult(ResultBlock, frozen=True, kw_only=True):
    """What a web search gave."""

    type: str = "web_search_tool_result"
    content: list[WebSearchResult] | WebSearchResult | None = None
    caller: Caller | None = None


class WebFetchResult(BlockPart, frozen=True, kw_only=True):
    """A page that was fetched, or the error in place of it."""

    type: str | None = None
    url: str | None = None
    content: Content = None
    retrieved_at: str | None = None
    error_code: str | None = None


class WebFetchToolResult(ResultBlock, frozen=True, kw_only=True):
    """What fetching a page gave."""

    type: str = "web_fetch_tool_result"
    content: WebFetchResult | None = None
    caller: Caller | None = None


class AdvisorResult(BlockPart, frozen=True, kw_only=True):
    """What the advisor said, sealed or not, or the error in place of it."""

    type: str | None = None
    text: str | None = None
    encrypted_content: str | None = None
    stop_reason: str | None = None
    error_code: str | None = None


class AdvisorToolResult(ResultBlock, frozen=True, kw_only=True):
    """What a stronger model advised."""

    type: str = "advisor_tool_result"
    content: AdvisorResult | None = None


class OutputFile(BlockPart, frozen=True, kw_only=True):
    """A file that running code left behind."""

    type: str | None = None
    file_id: str | None = None


class CodeExecutionResult(BlockPart, frozen=True, kw_only=True):
    """What running code gave, or the error in place of it."""

    type: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    encrypted_stdout: str | None = None
    return_code: int | None = None
    content: list[OutputFile] | None = None
    error_code: str | None = None
    error_message: str | None = None


class CodeExecutionToolResult(ResultBlock, frozen=True, kw_only=True):
    """What running code in the API's sandbox gave."""

    type: str = "code_execution_tool_result"
    content: CodeExecutionResult | None = None


class BashCodeExecutionToolResult(ResultBlock, frozen=True, kw_only=True):
    """What a command in the API's sandbox gave."""

    type: str = "bash_code_execution_tool_result"
    content: CodeExecutionResult | None = None


class TextEditorResult(BlockPart, frozen=True, kw_only=True):
    """What viewing, creating or changing a file gave, or the error in place of it."""

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


class TextEditorCodeExecutionToolResult(ResultBlock, frozen=True, kw_only=True):
    """What the text editor in the API's sandbox gave."""

    type: str = "text_editor_code_execution_tool_result"
    content: TextEditorResult | None = None


class ToolSearchResult(BlockPart, frozen=True, kw_only=True):
    """The tools that were found, or the error in place of them."""

    type: str | None = None
    tool_references: Content = None
    error_code: str | None = None
    error_message: str | None = None


class ToolSearchToolResult(ResultBlock, frozen=True, kw_only=True):
    """What a search for tools by the API gave."""

    type: str = "tool_search_tool_result"
    content: ToolSearchResult | None = None


class ContainerUpload(Block, frozen=True, kw_only=True):
    """A file put into the API's sandbox."""

    type: str = "container_upload"
    file_id: str | None = None


class Compaction(Block, frozen=True, kw_only=True):
    """The summary that replaces what came before, made by the API."""

    type: str = "compaction"
    content: str | None = None
    encrypted_content: str | None = None
    signature: str | None = None
    tool_changes: Content = None


class FallbackModel(BlockPart, frozen=True, kw_only=True):
    """A model that answered, or did not."""

    model: str | None = None


class FallbackTrigger(BlockPart, frozen=True, kw_only=True):
    """Why another model took over."""

    type: str | None = None
    category: str | None = None


class Fallback(Block, frozen=True, kw_only=True):
    """Where another model took over."""

    type: str = "fallback"
    from_: FallbackModel | None = field(default=None, name="from")
    to: FallbackModel | None = None
    trigger: FallbackTrigger | None = None


class ToolChange(BlockPart, frozen=True, kw_only=True):
    """The tool, or the server whose tools, came or went."""

    type: str | None = None
    name: str | None = None
    server_name: str | None = None
    definition: dict[str, Any] | None = None


class ToolAddition(Block, frozen=True, kw_only=True):
    """A tool that can be called from here on."""

    type: str = "tool_addition"
    tool: ToolChange | None = None


class ToolRemoval(Block, frozen=True, kw_only=True):
    """A tool that can no longer be called."""

    type: str = "tool_removal"
    tool: ToolChange | None = None


class BrowserTab(BlockPart, frozen=True, kw_only=True):
    """An open tab."""

    tab_id: str | None = None
    title: str | None = None
    url: str | None = None
    active: bool | None = None


class BrowserChange(BlockPart, frozen=True, kw_only=True):
    """A tab that opened, or what became of a download."""

    type: str | None = None
    tab_id: str | None = None
    download_id: str | None = None
    url: str | None = None
    path: str | None = None
    size_bytes: int | None = None
    error: str | None = None


class BrowserState(Block, frozen=True, kw_only=True):
    """What the browser shows."""

    type: str = "browser_state"
    tabs: list[BrowserTab] | None = None
    state_changes: list[BrowserChange] | None = None


BLOCKS: dict[str, type[Block]] = {
    kind().type: kind
    for kind in (
        Text,
        Thinking,
        RedactedThinking,
        ToolUse,
        ToolResult,
        Image,
        Document,
        SearchResult,
        ToolReference,
        ServerToolUse,
        WebSearchToolResult,
        WebFetchToolResult,
        AdvisorToolResult,
        CodeExecutionToolResult,
        BashCodeExecutionToolResult,
        TextEditorCodeExecutionToolResult,
        ToolSearchToolResult,
        McpToolUse,
        McpToolResult,
        McpToolListing,
        ContainerUpload,
        Compaction,
        Fallback,
        ToolAddition,
        ToolRemoval,
        BrowserState,
    )
}
"""Every block type that has a struct."""


def to_blocks(content: Any) -> list[Block]:
    """The blocks of a message's or a result's content, in whatever shape it was written."""
    if content is None:
        return []
    values = cast(list[Any], content) if isinstance(content, list) else [content]
    return [to_block(value) for value in values]


def to_block(value: Any) -> Block:
    """One block; a bare string is a text."""
    if isinstance(value, str):
        return Text(text=value)
    if not isinstance(value, dict):
        return UnknownBlock(value=value)
    block = cast(dict[str, Any], value)
    kind = block.get("type")
    if not isinstance(kind, str):
        return UnknownBlock(value=block)
    struct = BLOCKS.get(kind)
    return to_struct(block, struct) if struct else UnknownBlock(type=kind, value=block)


def to_struct(value: dict[str, Any], struct: type[StructT]) -> StructT:
    """An object as that struct; where it does not fit, field by field, and what still does not as it is."""
    try:
        return msgspec.convert(value, struct)
    except CONVERT_ERRORS:
        fields = [f for f in fields_of(struct) if f.encode_name in value]
        return struct(**{f.name: _to_type(value[f.encode_name], f.type) for f in fields})


def _to_type(value: Any, hint: Any) -> Any:
    """A value with the structs that a type has for it; a leaf is what it is, of the right type or not."""
    for option in union_members(hint):
        origin, args = get_origin(option), get_args(option)
        if isinstance(value, list) and origin is list:
            return [_to_type(item, args[0]) for item in cast(list[Any], value)]
        if isinstance(value, dict) and origin is dict:
            return {key: _to_type(item, args[1]) for key, item in cast(dict[str, Any], value).items()}
        if isinstance(value, dict) and isinstance(option, type) and issubclass(option, Struct):
            return to_struct(cast(dict[str, Any], value), option)
    return cast(Any, value)


@cache
def fields_of(struct: type[Struct]) -> tuple[FieldInfo, ...]:
    """The fields of a struct; msgspec evaluates their annotations each time it is asked."""
    return msgspec.structs.fields(struct)


def union_members(hint: Any) -> tuple[Any, ...]:
    """The members of a union; of anything else, that alone."""
    return get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
