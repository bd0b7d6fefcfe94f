"""The API requests of an open session as the values that the browser requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from reread.accounting.billing import Charge, charge_of
from reread.base.choices import RequestProof
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.format import size_text
from reread.base.text import plural, truncate
from reread.errors import NotFound
from reread.model.conversation import Request
from reread.model.request import ADDED, DROPPED, request_changes
from reread.reader.schema import CutNode, Value
from reread.reader.thread_view import ThreadView
from reread.reader.trim import Trimmer
from reread.render.format import cache_break_text
from reread.render.request_listing import change_title, comparable_text, sent_text
from reread.session.context_parts import Context, context_at, contexts_at
from reread.session.places import no_request_text
from reread.tools._diff import compute_hunks
from reread.tools.nodes import Code, Data, Diff, Node, Note, Section

TITLE = 72
"""So much of a message's beginning is its title."""
MOST_BLOCKS = 10_000
"""So many blocks of a request are apart; what a message has beyond them is one text."""
_SIGNS = {ADDED: "+", DROPPED: "−"}


def request_context(thread: ThreadView, *, turn: int | None, request: int | None, agent: str | None) -> RequestContext:
    """Return what filled the context of a request: one by its number, or the last one of a turn."""
    return _with_breaks(thread, context_at(thread.conversation, turn=turn, request=request, agent=agent))


def request_contexts(thread: ThreadView, turns: Sequence[int]) -> Iterator[RequestContext]:
    """Yield what filled the contexts of the last requests of some turns."""
    return (_with_breaks(thread, context) for context in contexts_at(thread.conversation, turns))


def _with_breaks(thread: ThreadView, context: Context) -> RequestContext:
    requests = thread.conversation.requests
    noted = requests[context.request - 1] if context.request is not None else None
    return RequestContext(
        context=context, requests=len(requests), cache_breaks=_breaks(thread, noted) if noted is not None else []
    )


def list_requests(thread: ThreadView, start: int, count: int) -> RequestList:
    """Return some of the requests of a thread."""
    requests = thread.conversation.requests
    shown = requests[start : start + count]
    return RequestList(start=start, total=len(requests), requests=[_info(thread, request) for request in shown])


def request_body(thread: ThreadView, number: int, *, changes: bool, whole: bool) -> RequestBody:
    """Return a request as nodes; with `changes`, only what differs from the request before it."""
    requests = thread.conversation.requests
    if not 0 < number <= len(requests):
        raise NotFound(no_request_text(len(requests), number))
    request = requests[number - 1]
    trimmer = Trimmer(lambda _: None, whole=whole)
    nodes = list(_changes(requests[number - 2] if number > 1 else None, request) if changes else _content(request))
    return RequestBody(
        info=_info(thread, request),
        requests=len(requests),
        proof=request.proof,
        missing=request.missing,
        nodes=trimmer.nodes(nodes),
        cut=trimmer.cut,
    )


def _info(thread: ThreadView, request: Request) -> RequestInfo:
    turn, response = request.turn, request.response
    charge = charge_of(response.rows[-1].usage, None) if response is not None and response.rows else Charge()
    return RequestInfo(
        number=request.number,
        turn=turn.index if turn is not None else None,
        time=request.timestamp,
        model=request.model,
        purpose=request.query_source,
        tokens=charge.prompt if response is not None and response.rows else None,
        read_tokens=charge.read,
        output_tokens=charge.output,
        cache_breaks=_breaks(thread, request),
    )


def _breaks(thread: ThreadView, request: Request) -> list[str]:
    found = thread.breaks.of(request.response) if request.response is not None else None
    return [cache_break_text(found)] if found is not None else []


def _content(request: Request) -> Iterator[Node]:
    """Yield a whole request: parameters, system prompt, tools and messages, each closed at first."""
    marks = {tuple(mark.path or ())[:2] for mark in request.cache_marks}
    cached = {True: " · cached up to here", False: ""}
    yield Section(title="Parameters", nodes=[Data(value=request.params)], open=False)
    for n, block in enumerate(request.system):
        text = sent_text(block)
        mark = cached[("system", n) in marks]
        yield Section(
            title=f"System {n + 1} · {_size(text)}{mark}", nodes=[Code(text=text, path=f"system {n + 1}")], open=False
        )
    if request.tools:
        tools = [_tool(as_dict(tool)) for tool in request.tools]
        yield Section(title=plural(tools, "tool"), nodes=tools, open=False)
    room = MOST_BLOCKS
    for n, message in enumerate(request.messages):
        mark = cached[("messages", n) in marks]
        if message is None:
            yield Note(text=f"Message {n + 1} · missing{mark}")
            continue
        texts = map(sent_text, as_list(message.get("content")))
        blocks = [*islice(texts, room), *filter(None, ["\n".join(texts)])]
        room = max(0, room - len(blocks))
        role = as_str(message.get("role")) or "?"
        title = f"{n + 1} {role} · {_size(''.join(blocks))}{mark} · {_beginning(next(iter(blocks), ''))}"
        names = (f"message {n + 1}, block {number}" for number in range(1, len(blocks) + 1))
        nodes: list[Node] = [Code(text=text, path=name) for text, name in zip(blocks, names, strict=True)]
        yield Section(title=title, nodes=nodes, open=False)


def _tool(tool: dict[str, Any]) -> Node:
    name, text = as_str(tool.get("name")) or "?", as_str(tool.get("description")) or ""
    nodes: list[Node] = [Code(text=text, path=name)] if text else []
    rest = {name: value for name, value in tool.items() if name not in ("name", "description")}
    return Section(title=f"{name} · {_beginning(text)}", nodes=[*nodes, Data(value=rest)], open=False)


def _changes(before: Request | None, request: Request) -> Iterator[Node]:
    """Yield what a request added, dropped and edited since the one before it."""
    if before is None:
        yield Note(text="The first request: all of it is new.")
        return
    changes = request_changes(before, request)
    if not changes:
        yield Note(text="Equal to the request before.")
    for change in changes:
        old, new = comparable_text(change.before), comparable_text(change.after)
        name = change_title(change)
        if change.part == "message" and change.before is None and change.after is None:
            yield Note(text=f"{_SIGNS.get(change.change, '~')} {name}")
        elif change.change in _SIGNS:
            text = old or new
            title = f"{_SIGNS[change.change]} {name} · {_size(text)} · {_beginning(text)}"
            yield Section(title=title, nodes=[Code(text=text, path=name)], open=False)
        else:
            yield Section(title=f"~ {name}", nodes=[Diff(path=name, hunks=compute_hunks(old, new))])


def _beginning(text: str) -> str:
    return truncate(" ".join(text[: 4 * TITLE].split()), TITLE)


def _size(text: str) -> str:
    return size_text(len(text.encode("utf-8", "surrogatepass")))


class RequestContext(Value, frozen=True):
    """The content of a context, and its place among the requests of its thread."""

    context: Context
    requests: int
    """How many requests the client noted; 0 if none, and the context is an estimate."""
    cache_breaks: list[str]
    """What the request had to write to the cache again, and why: at most one line."""


class RequestInfo(Value, frozen=True):
    """A request in the list of requests."""

    number: int
    """Counted from 1 in its thread."""
    turn: int | None
    time: datetime | None
    model: str | None
    purpose: str | None
    """What the client sent it for: sdk, repl_main_thread, agent:…"""
    tokens: int | None
    """Tokens of the prompt, as the API reported them; None if nothing answered."""
    read_tokens: int
    """Those that were read from the cache."""
    output_tokens: int
    cache_breaks: list[str]


class RequestList(Value, frozen=True):
    """Some of the requests of a thread."""

    start: int
    total: int
    requests: list[RequestInfo]


class RequestBody(Value, frozen=True):
    """A request as nodes: what it has more than the one before it, or all of it."""

    info: RequestInfo
    requests: int
    proof: RequestProof
    """Whether the client's digest proves it, or why it does not."""
    missing: list[str]
    nodes: list[Node]
    cut: list[CutNode]
