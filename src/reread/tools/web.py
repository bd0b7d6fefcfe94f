"""WebSearch and WebFetch, and the tools that the API runs: search, fetch, code execution, tool search, the advisor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reread.base.choices import DONE
from reread.base.coerce import OBJECT, as_list
from reread.base.format import as_number
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, plural
from reread.records import blocks as b
from reread.tools import _diff, _draw, nodes
from reread.tools._show import (
    Fields,
    Step,
    declared,
    recorded,
    show_code,
    show_each,
    show_facts,
    show_links,
    show_note,
    show_outcome,
    show_prose,
    show_prose_or_code,
    show_section,
    show_terminal,
)
from reread.tools._values import as_type, first_nonblank, join_parts, list_of, parse_json
from reread.tools.nodes import Hunk, Node, Note, Prose
from reread.tools.tool import ToolCall

_LINKS = re.compile(r"^Links: (\[.*\])$", re.MULTILINE)
_HEAD = re.compile(r'\AWeb search results for query: ".*?"\n+', re.DOTALL)
HTTP_ERROR = 400


class WebSearchInput(FrozenStruct):
    """The input of WebSearch."""

    query: str = ""
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None


class WebHit(FrozenStruct):
    """A page that was found."""

    title: str | None = None
    url: str = ""
    snippet: str | None = None


class WebHits(FrozenStruct):
    """The pages that one search found."""

    tool_use_id: str | None = None
    content: list[WebHit] | None = None


class WebSearchResult(FrozenStruct):
    """The result of WebSearch: pages and comments on them, in order."""

    query: str | None = None
    results: list[WebHits | str] | None = None
    durationSeconds: float | None = None
    searchCount: int | None = None
    detachedToolCall: bool | None = None


class WebFetchInput(FrozenStruct):
    """The input of WebFetch."""

    url: str = ""
    prompt: str | None = None
    offset: int | None = None


class WebFetchResult(FrozenStruct):
    """The result of WebFetch."""

    url: str | None = None
    code: int | None = None
    codeText: str | None = None
    bytes: int | None = None
    result: str | None = None
    durationMs: float | None = None
    artifactRead: dict[str, Any] | None = None
    detachedToolCall: bool | None = None


def _search_result(call: ToolCall) -> dict[str, Any] | None:
    """Return the structured result, or what its text says."""
    found = recorded(call)
    if found is not None or call.outcome.state != DONE:
        return found
    pieces = _LINKS.split(_HEAD.sub("", call.text))
    parts = [{"content": parse_json(piece)} if index % 2 else piece.strip() for index, piece in enumerate(pieces)]
    return {"results": [part for part in parts if part]}


def _search_title(fields: Fields) -> str:
    """Return the query and the number of pages."""
    found = [page for hits in fields.objects("result.results") for page in hits.objects("content")]
    return f'"{fields.line("query|result.query")}"' + (
        f" → {plural(found, 'link')}" if fields.result is not None else ""
    )


def _search_parts(fields: Fields) -> Iterator[Node]:
    """Draw pages as links, and text as Markdown."""
    for part in as_list(fields.value("result.results")):
        if isinstance(part, str):
            yield from _draw.prose(part)
        elif isinstance(part, OBJECT):
            hits = Fields(fields.call, part)
            pages = hits.objects("content")
            yield from _draw.links(*((page.text("url"), page.text("title")) for page in pages))
            yield from _SNIPPETS(hits)


_SNIPPETS = show_each("content", show_section("{title|url}", show_prose_or_code("snippet")))


def _redirected(fields: Fields) -> Iterator[Node]:
    asked, answered = fields.text("url"), fields.text("result.url")
    if asked and answered and asked != answered:
        yield from _draw.links((answered, "redirected to"))


def _fetched(fields: Fields) -> Iterator[Node]:
    """Draw how the call ended, unless the page says so, and the status of the page if that is an error."""
    has_page = fields.text("result.result")
    yield from _draw.unfinished_note(fields.call) if has_page else _draw.plain_result(fields.call)
    if (as_number(fields.value("result.code")) or 0) >= HTTP_ERROR:
        yield Note(text=_status(fields), level="error")


def _status(fields: Fields) -> str:
    code = as_number(fields.value("result.code"))
    return "" if code is None else join_parts(str(code), fields.line("result.codeText"))


def _fetch_title(fields: Fields) -> str:
    """Return the URL and the status."""
    return join_parts(fields.line("url|result.url"), _status(fields), separator=" → ")


_DETACHED = show_note("continued in the background", when="result.detachedToolCall")


class ServerSearchInput(FrozenStruct):
    """The input of web_search."""

    query: str = ""


class ServerFetchInput(FrozenStruct):
    """The input of web_fetch."""

    url: str = ""


class CodeExecutionInput(FrozenStruct):
    """The input of code_execution and bash_code_execution."""

    code: str | None = None
    command: str | None = None


class TextEditorInput(FrozenStruct):
    """The input of text_editor_code_execution."""

    command: str | None = None
    path: str | None = None
    file_text: str | None = None
    old_str: str | None = None
    new_str: str | None = None
    insert_line: int | None = None
    insert_text: str | None = None
    view_range: list[int] | None = None


class ServerToolSearchInput(FrozenStruct):
    """The input of the tool search tools."""

    query: str | None = None
    pattern: str | None = None
    limit: int | None = None


class ToolSearchInput(FrozenStruct):
    """The query and a limit."""

    query: str = ""
    max_results: int | None = None


class ToolSearchResult(FrozenStruct):
    """The tools that were found."""

    matches: list[str] | None = None
    query: str | None = None
    total_deferred_tools: int | None = None
    pending_mcp_servers: list[str] | None = None


def _server_tools_search_title(fields: Fields) -> str:
    """Return the query and the number of pages."""
    found = list_of(fields.call.content, b.WebSearchPage)
    return f'"{fields.line("query")}"' + (f" → {plural(found, 'link')}" if found else "")


def _search(fields: Fields) -> Iterator[Node]:
    """Draw the pages as links."""
    hits = list_of(fields.call.content, b.WebSearchPage)
    yield from _draw.links(*((hit.url, hit.title) for hit in hits))
    ages = {first_nonblank(hit.title, hit.url): as_text(hit.page_age) for hit in hits if first_nonblank(hit.page_age)}
    yield from _draw.section("page ages", nodes.facts(**ages))
    yield from _outcome(fields, drawn=isinstance(fields.call.content, list))


def _fetch(fields: Fields) -> Iterator[Node]:
    """Draw the URL and the page."""
    page = as_type(fields.call.content, b.WebFetchPage)
    blocks = b.to_blocks(page.content) if page else []
    title = next((block.title for block in blocks if isinstance(block, b.Document)), None)
    yield from _draw.links((fields.text("url") or (page.url if page else None), title))
    for block in blocks:
        yield from _page_block(block)
    yield from nodes.facts(retrieved=as_text(page.retrieved_at) if page else "")
    yield from _outcome(fields, drawn=bool(blocks))


def _page_block(block: b.Block) -> Iterator[Node]:
    source = block.source if isinstance(block, b.Document) else None
    if isinstance(source, b.ContentSource) and source.type == "text":
        yield from _draw.prose(source.data)
    else:
        yield from _draw.content_block(block)


def _execution(fields: Fields) -> Iterator[Node]:
    """Draw what code printed, and the files it created."""
    execution = as_type(fields.call.content, b.CodeExecutionResult)
    if execution:
        yield from _draw.terminal(execution.stdout)
        yield from _draw.terminal(execution.stderr, "err")
        if first_nonblank(execution.encrypted_stdout):
            yield Note(text="the output is encrypted; only the API can read it")
        yield from _draw.file_list(*((file.file_id, "created") for file in list_of(execution.content, b.OutputFile)))
    yield from _outcome(fields, drawn=execution is not None)


def _edit(fields: Fields) -> Iterator[Node]:
    """Draw what was viewed or changed."""
    path, text, result = fields.text("path"), fields.text("file_text"), as_type(fields.call.content, b.TextEditorResult)
    if text:
        yield _diff.code_node(text, path)
    if result and as_list(result.lines):
        yield from _diff.diff_nodes(path, [_hunk(result)])
    elif fields.text("old_str|new_str|insert_text"):
        yield from _diff.diff_nodes(
            path, _diff.compute_hunks(as_text(fields.value("old_str")), fields.text("new_str|insert_text"))
        )
    if result and first_nonblank(result.content):
        yield _diff.code_node(as_text(result.content), path, start=_diff.line_number(result.start_line))
    yield from _outcome(fields, drawn=result is not None)


def _hunk(result: b.TextEditorResult) -> Hunk:
    return Hunk(
        old_start=_diff.line_number(result.old_start) or 1,
        new_start=_diff.line_number(result.new_start) or 1,
        lines=[as_text(text) for text in as_list(result.lines)],
    )


def _tools_title(fields: Fields) -> str:
    """Return the query and the number of tools."""
    found = _tools(fields)
    count = f" → {plural(found, 'tool')}" if found or fields.call.outcome.state == DONE else ""
    return f'"{fields.line("query|pattern")}"{count}'


def _tools(fields: Fields) -> list[str]:
    """Return the tools that were found: named in the structured result, or referred to in the content."""
    named = [as_text(name) for name in as_list(fields.value("result.matches"))]
    listed = as_type(fields.call.content, b.ToolSearchReferences)
    blocks = b.to_blocks(listed.tool_references) if listed else fields.call.blocks
    return named or [as_text(block.tool_name) for block in blocks if isinstance(block, b.ToolReference)]


def _tools_outcome(fields: Fields) -> Iterator[Node]:
    is_drawn = bool(_tools(fields)) or isinstance(fields.call.content, b.ToolSearchReferences)
    return _outcome(fields, drawn=is_drawn)


def _advice(fields: Fields) -> Iterator[Node]:
    """Draw the advice."""
    advice = as_type(fields.call.content, b.AdvisorResult)
    yield from nodes.facts(**{name: as_text(value) for name, value in fields.own.items()})
    if advice and first_nonblank(advice.text):
        yield Prose(text=as_text(advice.text))
    elif advice and first_nonblank(advice.encrypted_content):
        yield Note(text="the advice is encrypted; only the API can read it")
    if advice and first_nonblank(advice.stop_reason) and as_text(advice.stop_reason) != "end_turn":
        yield Note(text=f"stopped early: {as_text(advice.stop_reason)}", level="warning")
    yield from _outcome(fields, drawn=advice is not None)


def _outcome(fields: Fields, *, drawn: bool) -> Iterator[Node]:
    """Draw the error of the API, or how the call ended, with the result if that is not drawn yet."""
    content = fields.call.content
    code = first_nonblank(getattr(content, "error_code", None))
    if code:
        message = first_nonblank(getattr(content, "error_message", None))
        yield Note(text=join_parts("failed", code, message, separator=": "), level="error")
    elif drawn:
        yield from _draw.outcome_message(fields.call)
    else:
        yield from _draw.plain_result(fields.call)


_TOOL_SEARCH: tuple[Step, ...] = (
    show_facts(
        query="query|pattern",
        max_results="max_results:number",
        found=lambda fields: ", ".join(_tools(fields)),
        out_of="result.total_deferred_tools:# tool",
        pending_servers="result.pending_mcp_servers:list",
    ),
    _tools_outcome,
)


TOOLS = [
    declared(
        ("WebSearch",),
        _search_title,
        show_facts(
            query="query|result.query", allowed_domains="allowed_domains:list", blocked_domains="blocked_domains:list"
        ),
        show_outcome(),
        _search_parts,
        _DETACHED,
        show_facts(searches="result.searchCount:number", duration="result.durationSeconds:seconds"),
        category="web",
        input=WebSearchInput,
        result=WebSearchResult,
        read=_search_result,
    ),
    declared(
        ("WebFetch",),
        _fetch_title,
        show_links(("url|result.url", "")),
        _redirected,
        show_facts(prompt="prompt", offset="offset:number"),
        _fetched,
        show_prose("result.result"),
        _DETACHED,
        show_facts(status=_status, size="result.bytes:size", duration="result.durationMs:ms"),
        category="web",
        input=WebFetchInput,
        result=WebFetchResult,
        read=recorded,
    ),
    declared(
        ("web_search",),
        _server_tools_search_title,
        show_facts(query="query"),
        _search,
        category="web",
        input=ServerSearchInput,
    ),
    declared(("web_fetch",), "{url}", _fetch, category="web", input=ServerFetchInput),
    declared(
        ("code_execution", "bash_code_execution"),
        "{command:first_line|code:first_line}",
        show_terminal("command", "in"),
        show_code("code", "python"),
        _execution,
        category="run",
        input=CodeExecutionInput,
    ),
    declared(
        ("text_editor_code_execution",),
        "{command} {path:path}",
        show_facts(command="command", file="path", lines="view_range:list", after_line="insert_line"),
        _edit,
        category="edit",
        input=TextEditorInput,
    ),
    declared(
        ("tool_search_tool_regex", "tool_search_tool_bm25", "tool_search_tool"),
        _tools_title,
        *_TOOL_SEARCH,
        category="search",
        input=ServerToolSearchInput,
    ),
    declared(
        ("ToolSearch",), _tools_title, *_TOOL_SEARCH, category="search", input=ToolSearchInput, result=ToolSearchResult
    ),
    declared(("advisor",), "", _advice),
]
