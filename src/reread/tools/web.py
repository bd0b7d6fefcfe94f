"""WebSearch and WebFetch: pages found, and what a page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.coerce import as_list
from reread.records.blocks import to_struct
from reread.tools import _draw, generic
from reread.tools._values import count, each, first, grouped, line, names, number, parsed, size, span, span_ms, words
from reread.tools.nodes import Node, Note, Prose, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

_LINKS = re.compile(r"^Links: (\[.*\])$", re.MULTILINE)
_HEAD = re.compile(r'\AWeb search results for query: ".*?"\n+', re.DOTALL)
HTTP_ERROR = 400


class SearchInput(Struct, kw_only=True):
    """What is searched, and where."""

    query: str = ""
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None


class Hit(Struct, kw_only=True):
    """A page that was found."""

    title: str | None = None
    url: str = ""
    snippet: str | None = None


class Hits(Struct, kw_only=True):
    """The pages that one search found."""

    tool_use_id: str | None = None
    content: list[Hit] | None = None


class SearchOutput(Struct, kw_only=True):
    """Pages and what was said about them, in the order they came."""

    query: str | None = None
    results: list[Hits | str] | None = None
    durationSeconds: float | None = None
    searchCount: int | None = None
    detachedToolCall: bool | None = None


class FetchInput(Struct, kw_only=True):
    """Which page, and what is asked of it."""

    url: str = ""
    prompt: str | None = None
    offset: int | None = None


class FetchOutput(Struct, kw_only=True):
    """What the page says, and how it was got."""

    url: str | None = None
    code: int | None = None
    codeText: str | None = None
    bytes: int | None = None
    result: str | None = None
    durationMs: float | None = None
    artifactRead: dict[str, Any] | None = None
    detachedToolCall: bool | None = None


def search_title(call: ToolCall) -> str:
    """What is searched, and how many pages were found."""
    output = _searched(call)
    found = sum(len(each(hits.content, Hit)) for hits in each(output.results, Hits)) if output else 0
    query = line(first(call.input(SearchInput).query, output.query if output else None))
    return f'{call.name} "{query}"' + (f" → {count(found, 'link')}" if output else "")


def draw_search(call: ToolCall) -> Iterator[Node]:
    """The query, the pages as links, and the summary after them."""
    given, output = call.input(SearchInput), _searched(call)
    yield from facts(
        query=first(given.query, output.query if output else None),
        only=names(given.allowed_domains),
        never=names(given.blocked_domains),
    )
    yield from generic.ending(call)
    if output is None:
        return
    for part in as_list(output.results):
        yield from _part(part)
    yield from _detached(output.detachedToolCall)
    yield from facts(searches=grouped(output.searchCount), duration=span(output.durationSeconds))


def _searched(call: ToolCall) -> SearchOutput | None:
    """What was found; from the result's text where only that was kept."""
    output = call.output(SearchOutput)
    if output is not None or call.ending.state != DONE:
        return output
    pieces = _LINKS.split(_HEAD.sub("", call.text))
    parts = [{"content": parsed(piece)} if place % 2 else piece.strip() for place, piece in enumerate(pieces)]
    return to_struct({"results": [part for part in parts if part]}, SearchOutput)


def _part(part: Any) -> Iterator[Node]:
    """Pages as links, anything said as Markdown."""
    if isinstance(part, str):
        yield from _draw.prose(part)
    elif isinstance(part, Hits):
        hits = each(part.content, Hit)
        yield from _draw.links(*((hit.url, hit.title) for hit in hits))
        for hit in hits:
            yield from _draw.section(first(hit.title, hit.url), _draw.text(hit.snippet))


def _detached(flag: object) -> Iterator[Node]:
    if flag is True:
        yield Note(text="went on in the background")


def fetch_title(call: ToolCall) -> str:
    """Which page, and how that went."""
    output = call.output(FetchOutput) or FetchOutput()
    status = _status(output)
    return f"{call.name} {line(first(call.input(FetchInput).url, output.url))}" + (f" → {status}" if status else "")


def draw_fetch(call: ToolCall) -> Iterator[Node]:
    """The address, how it was got, and what it says."""
    given, output = call.input(FetchInput), call.output(FetchOutput)
    yield from _draw.links((first(given.url, output.url if output else None), None))
    if output and first(output.url) and first(given.url) and words(output.url) != words(given.url):
        yield from _draw.links((output.url, "where it led"))
    yield from facts(asked=words(given.prompt), from_character=grouped(given.offset))
    if output is None or not first(output.result):
        yield from _draw.reply(call)
    else:
        yield from _draw.refusal(call)
    if output:
        yield from _fetched(output)


def _fetched(output: FetchOutput) -> Iterator[Node]:
    if (number(output.code) or 0) >= HTTP_ERROR:
        yield Note(text=_status(output), level="error")
    if first(output.result):
        yield Prose(text=words(output.result))
    yield from _detached(output.detachedToolCall)
    yield from facts(status=_status(output), size=size(output.bytes), duration=span_ms(output.durationMs))


def _status(output: FetchOutput) -> str:
    code = number(output.code)
    return "" if code is None else f"{code} {line(output.codeText)}".strip()


TOOLS = [
    Tool(("WebSearch",), search_title, draw_search, category="web"),
    Tool(("WebFetch",), fetch_title, draw_fetch, category="web"),
]
