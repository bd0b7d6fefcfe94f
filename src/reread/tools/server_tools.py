"""Tools that the API runs: web search and fetch, code execution, tool search and the advisor."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.coerce import as_list
from reread.base.text import as_text, one_line, path_line, plural
from reread.records import blocks as b
from reread.tools import _diff, _draw
from reread.tools._values import as_type, comma_separated, first_nonblank, join_parts, list_of, titled
from reread.tools.nodes import Code, Hunk, Node, Note, Prose, facts
from reread.tools.tool import Tool, ToolCall


class ServerSearchInput(Struct, frozen=True, kw_only=True):
    """The input of web_search."""

    query: str = ""


class ServerFetchInput(Struct, frozen=True, kw_only=True):
    """The input of web_fetch."""

    url: str = ""


class CodeExecutionInput(Struct, frozen=True, kw_only=True):
    """The input of code_execution and bash_code_execution."""

    code: str | None = None
    command: str | None = None


class TextEditorInput(Struct, frozen=True, kw_only=True):
    """The input of text_editor_code_execution."""

    command: str | None = None
    path: str | None = None
    file_text: str | None = None
    old_str: str | None = None
    new_str: str | None = None
    insert_line: int | None = None
    insert_text: str | None = None
    view_range: list[int] | None = None


class ServerToolSearchInput(Struct, frozen=True, kw_only=True):
    """The input of the tool search tools."""

    query: str | None = None
    pattern: str | None = None
    limit: int | None = None


def search_title(call: ToolCall) -> str:
    """Return the query and the number of pages."""
    found = list_of(call.content, b.WebSearchPage)
    return f'{call.name} "{one_line(call.input(ServerSearchInput).query)}"' + (
        f" → {plural(found, 'link')}" if found else ""
    )


def draw_search(call: ToolCall) -> Iterator[Node]:
    """Draw the query and the pages as links."""
    yield from facts(query=call.input(ServerSearchInput).query)
    hits = list_of(call.content, b.WebSearchPage)
    yield from _draw.links(*((hit.url, hit.title) for hit in hits))
    ages = {first_nonblank(hit.title, hit.url): as_text(hit.page_age) for hit in hits if first_nonblank(hit.page_age)}
    yield from _draw.section("page ages", facts(**ages))
    yield from _outcome(call, drawn=isinstance(call.content, list))


def draw_fetch(call: ToolCall) -> Iterator[Node]:
    """Draw the URL and the page."""
    page = as_type(call.content, b.WebFetchPage)
    url = first_nonblank(call.input(ServerFetchInput).url, page.url if page else None)
    blocks = b.to_blocks(page.content) if page else []
    title = next((block.title for block in blocks if isinstance(block, b.Document)), None)
    yield from _draw.links((url, title))
    for block in blocks:
        yield from _page_block(block)
    yield from facts(retrieved=as_text(page.retrieved_at) if page else "")
    yield from _outcome(call, drawn=bool(blocks))


def _page_block(block: b.Block) -> Iterator[Node]:
    source = block.source if isinstance(block, b.Document) else None
    if isinstance(source, b.ContentSource) and source.type == "text":
        yield from _draw.prose(source.data)
    else:
        yield from _draw.content_block(block)


def code_title(call: ToolCall) -> str:
    """Return the first line of the code."""
    args = call.input(CodeExecutionInput)
    return f"{call.name} {one_line(first_nonblank(args.command, args.code).strip().partition(chr(10))[0])}".strip()


def draw_code(call: ToolCall) -> Iterator[Node]:
    """Draw the code, what it printed and the files it created."""
    args, execution = call.input(CodeExecutionInput), as_type(call.content, b.CodeExecutionResult)
    yield from _draw.terminal(args.command, "in")
    if first_nonblank(args.code):
        yield Code(text=as_text(args.code), language="python")
    if execution:
        yield from _execution(execution)
    yield from _outcome(call, drawn=execution is not None)


def _execution(execution: b.CodeExecutionResult) -> Iterator[Node]:
    yield from _draw.terminal(execution.stdout)
    yield from _draw.terminal(execution.stderr, "err")
    if first_nonblank(execution.encrypted_stdout):
        yield Note(text="the output is encrypted; only the API can read it")
    yield from _draw.file_list(*((file.file_id, "created") for file in list_of(execution.content, b.OutputFile)))


def edit_title(call: ToolCall) -> str:
    """Return the command and the file."""
    args = call.input(TextEditorInput)
    return join_parts(call.name, one_line(args.command), path_line(args.path))


def draw_edit(call: ToolCall) -> Iterator[Node]:
    """Draw what was viewed or changed."""
    args, result = call.input(TextEditorInput), as_type(call.content, b.TextEditorResult)
    yield from facts(
        command=args.command, file=args.path, lines=comma_separated(args.view_range), after_line=args.insert_line
    )
    if first_nonblank(args.file_text):
        yield _diff.code_node(as_text(args.file_text), as_text(args.path))
    if result and as_list(result.lines):
        yield from _diff.diff_nodes(as_text(args.path), [_hunk(result)])
    elif first_nonblank(args.old_str, args.new_str, args.insert_text):
        hunks = _diff.compute_hunks(as_text(args.old_str), first_nonblank(args.new_str, args.insert_text))
        yield from _diff.diff_nodes(as_text(args.path), hunks)
    if result and first_nonblank(result.content):
        start = _diff.line_number(result.start_line)
        yield _diff.code_node(as_text(result.content), as_text(args.path), start=start)
    yield from _outcome(call, drawn=result is not None)


def _hunk(result: b.TextEditorResult) -> Hunk:
    return Hunk(
        old_start=_diff.line_number(result.old_start) or 1,
        new_start=_diff.line_number(result.new_start) or 1,
        lines=[as_text(text) for text in as_list(result.lines)],
    )


def find_title(call: ToolCall) -> str:
    """Return the query and the number of tools."""
    args, found = call.input(ServerToolSearchInput), _found(call)
    return f'{call.name} "{one_line(first_nonblank(args.query, args.pattern))}"' + (
        f" → {plural(found, 'tool')}" if found else ""
    )


def draw_find(call: ToolCall) -> Iterator[Node]:
    """Draw the tools that were found."""
    args, found = call.input(ServerToolSearchInput), _found(call)
    yield from facts(query=first_nonblank(args.query, args.pattern), found=", ".join(found))
    yield from _outcome(call, drawn=as_type(call.content, b.ToolSearchReferences) is not None)


def _found(call: ToolCall) -> list[str]:
    result = as_type(call.content, b.ToolSearchReferences)
    blocks = b.to_blocks(result.tool_references) if result else []
    return [as_text(block.tool_name) for block in blocks if isinstance(block, b.ToolReference)]


def draw_advice(call: ToolCall) -> Iterator[Node]:
    """Draw the advice."""
    advice = as_type(call.content, b.AdvisorResult)
    if call.arguments:
        yield from facts(**{name: as_text(value) for name, value in call.arguments.items()})
    if advice and first_nonblank(advice.text):
        yield Prose(text=as_text(advice.text))
    elif advice and first_nonblank(advice.encrypted_content):
        yield Note(text="the advice is encrypted; only the API can read it")
    if advice and first_nonblank(advice.stop_reason) and as_text(advice.stop_reason) != "end_turn":
        yield Note(text=f"stopped early: {as_text(advice.stop_reason)}", level="warning")
    yield from _outcome(call, drawn=advice is not None)


def _outcome(call: ToolCall, *, drawn: bool) -> Iterator[Node]:
    """Draw the error of the API, or how the call ended, with the result if that is not drawn yet."""
    content = call.content
    code = first_nonblank(getattr(content, "error_code", None))
    if code:
        message = first_nonblank(getattr(content, "error_message", None))
        yield Note(text=join_parts("failed", code, message, separator=": "), level="error")
    elif drawn:
        yield from _draw.outcome_message(call)
    else:
        yield from _draw.plain_result(call)


TOOLS = [
    Tool(("web_search",), search_title, draw_search, category="web", input=ServerSearchInput),
    Tool(("web_fetch",), titled("url"), draw_fetch, category="web", input=ServerFetchInput),
    Tool(("code_execution", "bash_code_execution"), code_title, draw_code, category="run", input=CodeExecutionInput),
    Tool(("text_editor_code_execution",), edit_title, draw_edit, category="edit", input=TextEditorInput),
    Tool(
        ("tool_search_tool_regex", "tool_search_tool_bm25", "tool_search_tool"),
        find_title,
        draw_find,
        category="search",
        input=ServerToolSearchInput,
    ),
    Tool(("advisor",), titled(), draw_advice),
]
