"""Tools that the API runs itself: searching and reading the web, running code, finding tools, asking an advisor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.coerce import as_list
from reread.records import blocks as b
from reread.tools import _diff, _draw
from reread.tools._values import count, each, first, held, line, names, number, words
from reread.tools.nodes import Code, Hunk, Node, Note, Prose, Terminal, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall


class SearchInput(Struct, kw_only=True):
    """What is searched."""

    query: str = ""


class FetchInput(Struct, kw_only=True):
    """Which page."""

    url: str = ""


class CodeInput(Struct, kw_only=True):
    """What is run."""

    code: str | None = None
    command: str | None = None


class EditorInput(Struct, kw_only=True):
    """What is done to which file."""

    command: str | None = None
    path: str | None = None
    file_text: str | None = None
    old_str: str | None = None
    new_str: str | None = None
    insert_line: int | None = None
    insert_text: str | None = None
    view_range: list[int] | None = None


class ToolSearchInput(Struct, kw_only=True):
    """Which tools are wanted."""

    query: str | None = None
    pattern: str | None = None
    limit: int | None = None


def search_title(call: ToolCall) -> str:
    """What is searched, and how many pages were found."""
    found = each(_content(call), b.WebSearchResult)
    return f'{call.name} "{line(call.input(SearchInput).query)}"' + (f" → {count(found, 'link')}" if found else "")


def draw_search(call: ToolCall) -> Iterator[Node]:
    """The query and the pages as links."""
    yield from facts(query=words(call.input(SearchInput).query))
    hits = each(_content(call), b.WebSearchResult)
    yield from _draw.links(*((hit.url, hit.title) for hit in hits))
    ages = {first(hit.title, hit.url): words(hit.page_age) for hit in hits if first(hit.page_age)}
    yield from _draw.section("ages", facts(**ages))
    yield from _ending(call, drawn=isinstance(_content(call), list))


def fetch_title(call: ToolCall) -> str:
    """Which page."""
    return f"{call.name} {line(call.input(FetchInput).url)}".strip()


def draw_fetch(call: ToolCall) -> Iterator[Node]:
    """The address and what it says."""
    page = held(_content(call), b.WebFetchResult)
    url = first(call.input(FetchInput).url, page.url if page else None)
    blocks = b.to_blocks(page.content) if page else []
    title = next((block.title for block in blocks if isinstance(block, b.Document)), None)
    yield from _draw.links((url, title))
    for block in blocks:
        yield from _page(block)
    yield from facts(retrieved=words(page.retrieved_at) if page else "")
    yield from _ending(call, drawn=bool(blocks))


def _page(block: b.Block) -> Iterator[Node]:
    source = block.source if isinstance(block, b.Document) else None
    if isinstance(source, b.Source) and source.type == "text":
        yield from _draw.prose(source.data)
    else:
        yield from _draw.drawn(block)


def code_title(call: ToolCall) -> str:
    """The first line of what is run."""
    given = call.input(CodeInput)
    return f"{call.name} {line(first(given.command, given.code).strip().partition(chr(10))[0])}".strip()


def draw_code(call: ToolCall) -> Iterator[Node]:
    """What is run, what it printed and what it left behind."""
    given, ran = call.input(CodeInput), held(_content(call), b.CodeExecutionResult)
    if first(given.command):
        yield Terminal(text=words(given.command), stream="in")
    if first(given.code):
        yield Code(text=words(given.code), language="python")
    if ran:
        yield from _printed(ran)
    yield from _ending(call, drawn=ran is not None)


def _printed(ran: b.CodeExecutionResult) -> Iterator[Node]:
    for text, stream in ((ran.stdout, "out"), (ran.stderr, "err")):
        if first(text):
            yield Terminal(text=words(text), stream=stream)
    if number(ran.return_code):
        yield Note(text=f"exit code {ran.return_code}", level="error")
    if first(ran.encrypted_stdout):
        yield Note(text="the output is sealed: only the API can read it")
    yield from _draw.files(*((file.file_id, "left behind") for file in each(ran.content, b.OutputFile)))


def edit_title(call: ToolCall) -> str:
    """What is done to which file."""
    given = call.input(EditorInput)
    return " ".join(part for part in (call.name, line(given.command), line(given.path)) if part)


def draw_edit(call: ToolCall) -> Iterator[Node]:
    """What was seen or changed."""
    given, result = call.input(EditorInput), held(_content(call), b.TextEditorResult)
    yield from facts(
        does=words(given.command),
        file=words(given.path),
        lines=names(given.view_range),
        after_line=words(given.insert_line),
    )
    if first(given.file_text):
        yield _diff.source(words(given.file_text), words(given.path))
    if result and as_list(result.lines):
        yield from _diff.changed(words(given.path), [_hunk(result)])
    elif first(given.old_str, given.new_str, given.insert_text):
        hunks = _diff.between(words(given.old_str), first(given.new_str, given.insert_text))
        yield from _diff.changed(words(given.path), hunks)
    if result and first(result.content):
        start = _diff.line_number(result.start_line)
        yield _diff.source(words(result.content), words(given.path), start=start)
    yield from _ending(call, drawn=result is not None)


def _hunk(result: b.TextEditorResult) -> Hunk:
    return Hunk(
        old_start=_diff.line_number(result.old_start) or 1,
        new_start=_diff.line_number(result.new_start) or 1,
        lines=[words(text) for text in as_list(result.lines)],
    )


def find_title(call: ToolCall) -> str:
    """Which tools are wanted, and how many were found."""
    given, found = call.input(ToolSearchInput), _found(call)
    return f'{call.name} "{line(first(given.query, given.pattern))}"' + (f" → {count(found, 'tool')}" if found else "")


def draw_find(call: ToolCall) -> Iterator[Node]:
    """The tools that were found."""
    given, found = call.input(ToolSearchInput), _found(call)
    yield from facts(query=first(given.query, given.pattern), found=", ".join(found))
    yield from _ending(call, drawn=held(_content(call), b.ToolSearchResult) is not None)


def _found(call: ToolCall) -> list[str]:
    result = held(_content(call), b.ToolSearchResult)
    blocks = b.to_blocks(result.tool_references) if result else []
    return [words(block.tool_name) for block in blocks if isinstance(block, b.ToolReference)]


def advice_title(call: ToolCall) -> str:
    """That a stronger model is asked."""
    return call.name


def draw_advice(call: ToolCall) -> Iterator[Node]:
    """What it advised."""
    advice = held(_content(call), b.AdvisorResult)
    if call.arguments:
        yield from facts(**{name: words(value) for name, value in call.arguments.items()})
    if advice and first(advice.text):
        yield Prose(text=words(advice.text))
    elif advice and first(advice.encrypted_content):
        yield Note(text="the advice is sealed: only the API can read it")
    if advice and first(advice.stop_reason) and words(advice.stop_reason) != "end_turn":
        yield Note(text=f"it stopped early: {words(advice.stop_reason)}", level="warning")
    yield from _ending(call, drawn=advice is not None)


def _content(call: ToolCall) -> Any:
    return getattr(call.block, "content", None)


def _ending(call: ToolCall, *, drawn: bool) -> Iterator[Node]:
    """The error in place of a result; or the result as any other, where it has another shape."""
    content = _content(call)
    code = first(getattr(content, "error_code", None))
    if code:
        said = first(getattr(content, "error_message", None))
        yield Note(text=f"failed: {code}" + (f": {said}" if said else ""), level="error")
    elif drawn:
        yield from _draw.ending(call)
    else:
        yield from _draw.reply(call)


TOOLS = [
    Tool(("web_search",), search_title, draw_search, category="web"),
    Tool(("web_fetch",), fetch_title, draw_fetch, category="web"),
    Tool(("code_execution", "bash_code_execution"), code_title, draw_code, category="run"),
    Tool(("text_editor_code_execution",), edit_title, draw_edit, category="edit"),
    Tool(
        ("tool_search_tool_regex", "tool_search_tool_bm25", "tool_search_tool"),
        find_title,
        draw_find,
        category="search",
    ),
    Tool(("advisor",), advice_title, draw_advice),
]
