"""WebSearch and WebFetch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.choices import DONE
from reread.base.coerce import OBJECT, as_list
from reread.base.format import as_number
from reread.base.text import plural
from reread.tools import _draw
from reread.tools._show import (
    Fields,
    declared,
    recorded,
    show_each,
    show_facts,
    show_links,
    show_note,
    show_outcome,
    show_prose,
    show_prose_or_code,
    show_section,
)
from reread.tools._values import join_parts, parse_json
from reread.tools.nodes import Node, Note
from reread.tools.tool import ToolCall

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
]
