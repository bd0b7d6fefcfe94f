"""WebSearch and WebFetch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.choices import DONE
from reread.base.coerce import as_list
from reread.base.format import as_number, duration_ms_text, duration_text, number_text, size_text
from reread.base.text import as_text, one_line, plural
from reread.records.blocks import to_struct
from reread.tools import _draw, generic
from reread.tools._values import comma_separated, first_nonblank, list_of, parse_json
from reread.tools.nodes import Node, Note, Prose, facts
from reread.tools.tool import Tool, ToolCall

_LINKS = re.compile(r"^Links: (\[.*\])$", re.MULTILINE)
_HEAD = re.compile(r'\AWeb search results for query: ".*?"\n+', re.DOTALL)
HTTP_ERROR = 400


class WebSearchInput(Struct, frozen=True, kw_only=True):
    """The input of WebSearch."""

    query: str = ""
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None


class WebHit(Struct, frozen=True, kw_only=True):
    """A page that was found."""

    title: str | None = None
    url: str = ""
    snippet: str | None = None


class WebHits(Struct, frozen=True, kw_only=True):
    """The pages that one search found."""

    tool_use_id: str | None = None
    content: list[WebHit] | None = None


class WebSearchResult(Struct, frozen=True, kw_only=True):
    """The result of WebSearch: pages and comments on them, in order."""

    query: str | None = None
    results: list[WebHits | str] | None = None
    durationSeconds: float | None = None
    searchCount: int | None = None
    detachedToolCall: bool | None = None


class WebFetchInput(Struct, frozen=True, kw_only=True):
    """The input of WebFetch."""

    url: str = ""
    prompt: str | None = None
    offset: int | None = None


class WebFetchResult(Struct, frozen=True, kw_only=True):
    """The result of WebFetch."""

    url: str | None = None
    code: int | None = None
    codeText: str | None = None
    bytes: int | None = None
    result: str | None = None
    durationMs: float | None = None
    artifactRead: dict[str, Any] | None = None
    detachedToolCall: bool | None = None


def search_title(call: ToolCall) -> str:
    """Return the query and the number of pages."""
    output = _search_output(call)
    found = sum(len(list_of(hits.content, WebHit)) for hits in list_of(output.results, WebHits)) if output else 0
    query = one_line(first_nonblank(call.input(WebSearchInput).query, output.query if output else None))
    return f'{call.name} "{query}"' + (f" → {plural(found, 'link')}" if output else "")


def draw_search(call: ToolCall) -> Iterator[Node]:
    """Draw the query, the pages as links, and the summary."""
    args, output = call.input(WebSearchInput), _search_output(call)
    yield from facts(
        query=first_nonblank(args.query, output.query if output else None),
        allowed_domains=comma_separated(args.allowed_domains),
        blocked_domains=comma_separated(args.blocked_domains),
    )
    yield from generic.outcome_note(call)
    if output is None:
        return
    for part in as_list(output.results):
        yield from _search_part(part)
    yield from _detached_note(output.detachedToolCall)
    yield from facts(searches=number_text(output.searchCount), duration=duration_text(output.durationSeconds))


def _search_output(call: ToolCall) -> WebSearchResult | None:
    """Return the structured result, or what its text says."""
    output = call.output(WebSearchResult)
    if output is not None or call.outcome.state != DONE:
        return output
    pieces = _LINKS.split(_HEAD.sub("", call.text))
    parts = [{"content": parse_json(piece)} if index % 2 else piece.strip() for index, piece in enumerate(pieces)]
    return to_struct({"results": [part for part in parts if part]}, WebSearchResult)


def _search_part(part: Any) -> Iterator[Node]:
    """Draw pages as links, and text as Markdown."""
    if isinstance(part, str):
        yield from _draw.prose(part)
    elif isinstance(part, WebHits):
        hits = list_of(part.content, WebHit)
        yield from _draw.links(*((hit.url, hit.title) for hit in hits))
        for hit in hits:
            yield from _draw.section(first_nonblank(hit.title, hit.url), _draw.prose_or_code(hit.snippet))


def _detached_note(flag: object) -> Iterator[Node]:
    if flag is True:
        yield Note(text="continued in the background")


def fetch_title(call: ToolCall) -> str:
    """Return the URL and the status."""
    output = call.output(WebFetchResult) or WebFetchResult()
    status = _status(output)
    return f"{call.name} {one_line(first_nonblank(call.input(WebFetchInput).url, output.url))}" + (
        f" → {status}" if status else ""
    )


def draw_fetch(call: ToolCall) -> Iterator[Node]:
    """Draw the URL, the status and the page."""
    args, output = call.input(WebFetchInput), call.output(WebFetchResult)
    yield from _draw.links((first_nonblank(args.url, output.url if output else None), None))
    if output and first_nonblank(output.url) and first_nonblank(args.url) and as_text(output.url) != as_text(args.url):
        yield from _draw.links((output.url, "redirected to"))
    yield from facts(prompt=args.prompt, offset=number_text(args.offset))
    if output is None or not first_nonblank(output.result):
        yield from _draw.plain_result(call)
    else:
        yield from _draw.unfinished_note(call)
    if output:
        yield from _page(output)


def _page(output: WebFetchResult) -> Iterator[Node]:
    if (as_number(output.code) or 0) >= HTTP_ERROR:
        yield Note(text=_status(output), level="error")
    if first_nonblank(output.result):
        yield Prose(text=as_text(output.result))
    yield from _detached_note(output.detachedToolCall)
    yield from facts(status=_status(output), size=size_text(output.bytes), duration=duration_ms_text(output.durationMs))


def _status(output: WebFetchResult) -> str:
    code = as_number(output.code)
    return "" if code is None else f"{code} {one_line(output.codeText)}".strip()


TOOLS = [
    Tool(("WebSearch",), search_title, draw_search, category="web", input=WebSearchInput, result=WebSearchResult),
    Tool(("WebFetch",), fetch_title, draw_fetch, category="web", input=WebFetchInput, result=WebFetchResult),
]
