"""API requests and contexts as lines of text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from reread.base import jsontext
from reread.base.choices import RequestProof
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.format import date_text, number_text, size_text
from reread.base.sanitize import safe
from reread.base.structs import copied
from reread.base.text import cell_width, pad, plural, truncate
from reread.model.conversation import Request
from reread.model.request import ADDED, DROPPED, RequestChange
from reread.render.file_listing import diff_lines
from reread.render.json_values import described_schema
from reread.render.listings import NAME, PLAIN, QUIET, STRONG, Span
from reread.render.text_table import Styled, bar, wrapped_notes
from reread.session.context_parts import UNRECORDED, Context, ContextPart
from reread.tools._diff import compute_hunks

BAR, NAMES, FIGURES = 24, 44, 22
"""The widths of columns: a bar, a name, and the figures with the sign before them."""
LEAST_BAR = 6
"""A shorter bar is left out, so that a name is cut last."""
MISSING = "missing"
MISSING_PARTS = (
    "Not in it are the system prompt and the tools. Claude Code notes them from 2.1.325 on; "
    "`reread rerun` can play the session with such a client."
)
PROOFS: dict[RequestProof, str] = {
    "verified": "verified: the client's digest is equal",
    "no_digest": "not verified: the client wrote no digest",
    "incomplete": "not verified",
    "different": "not verified: the client's digest is another",
}
LONG = 12
"""So many lines of a text are shown, unless all are asked for."""
SIGNS = {ADDED: ("added", "+"), DROPPED: ("removed", "−")}
LABELS = {
    "system": "system prompt",
    "tool": "tool",
    "mcp": "MCP server",
    "skills": "skills",
    "memory": "memory",
    "reminder": "reminder",
    "hook": "hook context",
    "summary": "summary",
    "prompt": "prompts",
    "command": "commands",
    "answer": "answers",
    "thinking": "thinking",
    "call": "calls",
    "result": "results",
    "picture": "pictures",
    "structure": "JSON around it",
    "unrecorded": "not in the transcript",
}
"""The common names of the kinds of part."""


def request_lines(request: Request, count: int, *, full: bool = False) -> Iterator[list[Span]]:
    """Yield a request: what it is and whether it is proven, then parameters, system prompt, tools and messages."""
    turn, response = request.turn, request.response
    when = f" · {date_text(request.timestamp)}" if request.timestamp is not None else ""
    place = f" · turn {turn.index}" if turn is not None else ""
    agent = f" · agent {safe(request.agent.id)}" if request.agent is not None else ""
    yield [(STRONG, f"Request {request.number} of {count}"), (QUIET, f"{agent}{place}{when}")]
    yield [(PLAIN, proof_text(request.proof, request.missing))]
    answer = safe(response.id) if response is not None else "none"
    yield [(QUIET, f"answered by {answer} · {safe(request.model or 'no model')} · {safe(request.query_source or '')}")]
    for name, value in request.params.items():
        yield [
            (QUIET, f"  {safe(name)}: "),
            (PLAIN, truncate(safe(_json(value)), 200) if not full else safe(_json(value))),
        ]
    marks = {tuple(mark.path or ())[:2] for mark in request.cache_marks}
    for n, block in enumerate(request.system):
        mark = " · cached up to here" if ("system", n) in marks else ""
        yield from _block(f"System {n + 1}{mark}", sent_text(block), full)
    if request.tools:
        yield []
        yield [(STRONG, plural(request.tools, "tool"))]
    for tool in map(as_dict, request.tools):
        name, text = as_str(tool.get("name")) or "", as_str(tool.get("description")) or ""
        yield [(NAME, f"  {safe(name)}"), (QUIET, f"  {truncate(safe(' '.join(text.split())), 100)}")]
        if full:
            yield from ([(PLAIN, f"    {safe(line)}")] for line in text.split("\n"))
            yield [(QUIET, f"    {safe(_json(tool.get('input_schema')))}")]
    for n, message in enumerate(request.messages):
        cached = ("messages", n) in marks
        role = MISSING if message is None else safe(as_str(message.get("role")) or "?")
        title = f"Message {n + 1} · {role}{' · cached up to here' if cached else ''}"
        if message is None or not message.get("content"):
            yield []
            yield [(STRONG, title)]
        for number, block in enumerate(as_list(as_dict(message).get("content"))):
            yield from _block(title if not number else "", sent_text(block), full)


def proof_text(proof: RequestProof, missing: Sequence[str]) -> str:
    """Return whether a request is proven, and what is missing of it."""
    return f"{PROOFS[proof]}; missing: {', '.join(map(safe, missing))}" if missing else PROOFS[proof]


def _block(title: str, text: str, full: bool) -> Iterator[list[Span]]:
    lines = text.split("\n")
    if title:
        yield []
        yield [(STRONG, title)]
    for line in lines if full else lines[:LONG]:
        yield [(PLAIN, f"  {safe(line if full else truncate(line, 400))}")]
    if not full and len(lines) > LONG:
        yield [(QUIET, f"  … {plural(len(lines) - LONG, 'more line')}: --full")]


def sent_text(block: Any) -> str:
    """Return a block as text: what it says, or its JSON."""
    fields = as_dict(block)
    for name in ("text", "thinking"):
        if isinstance(fields.get(name), str):
            return fields[name]
    if fields.get("type") == "tool_use":
        return f"{as_str(fields.get('name')) or ''} {_json(fields.get('input'))}"
    if fields.get("type") == "tool_result":
        content = fields.get("content")
        return content if isinstance(content, str) else "\n".join(map(sent_text, as_list(content)))
    if fields.get("type") in ("image", "document"):
        return f"[{fields['type']}, {size_text(len(_json(block)))}]"
    return _json(block)


def _json(value: Any) -> str:
    return jsontext.dumps(value).decode()


def request_change_lines(changes: Sequence[RequestChange], *, stat: bool = False) -> Iterator[list[Span]]:
    """Yield what a request added, dropped and edited; with `stat`, one line for each."""
    if not changes:
        yield [(QUIET, "The requests are equal.")]
    for change in changes:
        style, sign = SIGNS.get(change.change, (NAME, "~"))
        value = change.before if change.after is None else change.after
        is_missing = value is None and change.part == "message"
        size = "" if is_missing else f"  {size_text(len(_json(value)))}"
        yield [(style, f"{sign} {safe(change_title(change))}"), (QUIET, size)]
        if stat or is_missing:
            continue
        before, after = (comparable_text(one) for one in (change.before, change.after))
        if change.change in SIGNS:
            for line in (before or after).split("\n")[:LONG]:
                yield [(style, f"  {sign} {safe(truncate(line, 400))}")]
        else:
            yield from diff_lines(f"{change.part} {change.name}", compute_hunks(before, after))


def change_title(change: RequestChange) -> str:
    """Return what a change is about: its part and name, of a message also the role, or that it is missing."""
    sides = {"before": change.before, "now": change.after}
    if change.change in SIGNS:
        sides = {"": sides["before" if change.change == DROPPED else "now"]}
    title = f"{change.part} {change.name}"
    if change.part != "message":
        return title
    roles = [role for value in sides.values() if (role := as_str(as_dict(value).get("role")))]
    gone = [f"{MISSING} {side}".strip() for side, value in sides.items() if value is None]
    return " · ".join([title, *roles[-1:], *gone])


def comparable_text(value: Any) -> str:
    """Return a message, block, tool or parameter as text that can be compared."""
    if value is None:
        return ""
    content = as_dict(value).get("content")
    if isinstance(content, list):
        return "\n".join(map(sent_text, as_list(content)))
    fields = as_dict(value)
    if isinstance(fields.get("description"), str):
        return f"{fields['description']}\n{_json({k: v for k, v in fields.items() if k != 'description'})}"
    return sent_text(value) if isinstance(value, dict) else _json(value)


def context_lines(context: Context, *, width: int | None = None) -> Iterator[list[Span]]:
    """Yield what fills a context, with a bar for each part, then what came and went since the request before."""
    place = f"turn {context.turn}" if context.turn is not None else "no turn"
    model = f" · {safe(context.model)}" if context.model else ""
    request = f"request {context.request}" if context.request is not None else "estimate"
    tokens = f"{number_text(context.tokens)} tokens" if context.tokens is not None else "tokens not reported"
    filled, where = f"{tokens} · {size_text(context.bytes)}", f"{place} · {request}{model}"
    notes: list[Styled] = []
    if width is None or cell_width(f"{filled} · {where}") <= width:
        yield [(STRONG, filled), (QUIET, f" · {where}")]
    else:
        yield [(STRONG, filled)]
        notes.append((QUIET, where))
    if context.proof is None:
        notes.append((QUIET, "An estimate: the client noted no request, so these are the messages of the transcript."))
        if any(part.kind == UNRECORDED for part in context.parts):
            notes.append((QUIET, MISSING_PARTS))
    else:
        exact = "Bytes are those of what the transcript has" if context.missing else "Bytes are exact"
        notes.append((QUIET, f"{exact}; {proof_text(context.proof, context.missing)}."))
    if context.scaled:
        notes.append((QUIET, "Tokens are scaled: the API reports their sum, which is shared out by bytes."))
    yield from ([note] for note in wrapped_notes(notes, width))
    names = NAMES if width is None else min(NAMES, width - FIGURES)
    cells = BAR if width is None else min(BAR, width - NAMES - FIGURES)
    largest = max((_weight(part, context) for part in context.parts), default=0) or 1
    for part in context.parts:
        share = _weight(part, context) / largest if cells >= LEAST_BAR else 0.0
        yield [*_named_part(part, names), (NAME, bar(share, cells) or ("▏" if share else ""))]
    for title, sign, parts in (("came in", "+", context.came), ("went out", "−", context.went)):
        if parts:
            yield []
            yield [(STRONG, f"{title} since the request before")]
            style = "added" if sign == "+" else "removed"
            yield from ([(style, f"{sign} "), *_named_part(part, names)] for part in parts)


def _weight(part: ContextPart, context: Context) -> int:
    return (part.tokens or 0) if context.scaled else part.bytes


def _named_part(part: ContextPart, names: int) -> list[Span]:
    label = f"{LABELS.get(part.kind, part.kind)}{f': {safe(part.name)}' if part.name else ''}"
    if part.file:
        label = truncate(label, names // 2)
        label += f" {truncate(safe(part.file), names - 1 - cell_width(label), keep_end=True)}"
    label = truncate(label, names)
    tokens = number_text(part.tokens) if part.tokens is not None else "–"
    size = size_text(part.bytes) if part.bytes else "–"
    return [(PLAIN, pad(label, names)), (QUIET, f"{tokens:>9} {size:>9} ")]


class CacheMarkValue(msgspec.Struct, frozen=True, kw_only=True):
    """A place up to which a request asked the API to keep what it read."""

    path: list[str | int]
    """The way to the block: messages, 3, content, 0."""
    value: dict[str, Any]
    """The mark as sent."""


class RequestValue(msgspec.Struct, frozen=True, kw_only=True):
    """An API request, rebuilt from the transcript."""

    number: int
    """Its position among the requests of its thread, from 1."""
    id: str
    """The client's id for it."""
    timestamp: datetime | None
    """When it was sent."""
    turn: int | None
    """The turn in which it was sent."""
    response: str | None
    """The id of the response to it; null if there is none."""
    agent: str | None
    """The agent that sent it; null for the main thread."""
    query_source: str | None
    """The purpose of the request: sdk, repl_main_thread, agent:…"""
    verified: bool
    """True if the digest that the client wrote proves what was rebuilt."""
    proof: RequestProof
    """verified, or why it is not: no_digest (the client wrote none), incomplete (parts are missing), different."""
    missing: list[str]
    """The parts that were sent and cannot be rebuilt, each in words."""
    params: dict[str, Any]
    """Its other fields: model, max_tokens, thinking, betas …"""
    system: list[Any]
    """The blocks of its system prompt."""
    tools: list[Any]
    """The definitions of its tools."""
    messages: list[dict[str, Any] | None]
    """Its messages; a text alone is one block. Null stands for one that is missing."""
    cache_marks: list[CacheMarkValue]
    """Its cache marks."""


def request_value(request: Request) -> RequestValue:
    """Return a request as JSON."""
    turn, response, agent = request.turn, request.response, request.agent
    marks = [CacheMarkValue(path=mark.path or [], value=mark.value or {}) for mark in request.cache_marks]
    return copied(
        RequestValue,
        request,
        turn=turn.index if turn is not None else None,
        response=response.id if response is not None else None,
        agent=agent.id if agent is not None else None,
        cache_marks=marks,
    )


def request_schema() -> dict[str, Any]:
    """Return the JSON Schema of `show SESSION:req4 -f json`."""
    return described_schema(
        "An API request as `reread show SESSION:req4 -f json` prints it", RequestValue, CacheMarkValue
    )


def context_schema() -> dict[str, Any]:
    """Return the JSON Schema of `context --json`."""
    return described_schema("A context as `reread context --json` prints it", Context, ContextPart)
