"""The content of the context of an API request: system prompt, tools, memory, prompts, results, and the changes.

Bytes are exact: the parts of a request that the client noted add up to its canonical JSON, with null for a message that
the transcript does not have. Tokens are scaled: the API reports only their sum, which is shared out by bytes. For older
clients the parts are those that the transcript has, and the rest of the tokens is `unrecorded`; such a context is an
estimate.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from reread.accounting.billing import charges_of
from reread.base.canonical_json import canonical
from reread.base.choices import RequestProof
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.text import plural
from reread.errors import NotFound
from reread.model.conversation import Conversation, Message, Request, Turn
from reread.model.request import RequestContent
from reread.session.places import request_at

PICTURE_BYTES = 6000
"""The weight of a picture in tokens, as bytes of text: about 1,500 tokens, however many bytes it has."""
BYTES_PER_TOKEN = 3.6
"""How many bytes of text one token stands for, in an estimate."""
MOST_TOKENS = 1 << 40
"""A record may claim any number of them, also one that no float can hold."""
REMINDER, END_REMINDER = "<system-reminder>", "</system-reminder>"
SYSTEM, TOOL, MCP, MEMORY, SKILLS, HOOK, REMINDERS = "system", "tool", "mcp", "memory", "skills", "hook", "reminder"
PROMPT, COMMAND, SUMMARY, ANSWER, THINKING = "prompt", "command", "summary", "answer", "thinking"
CALL, RESULT, PICTURE, STRUCTURE, UNRECORDED = "call", "result", "picture", "structure", "unrecorded"
KINDS = (
    *(SYSTEM, TOOL, MCP, SKILLS, MEMORY, REMINDERS, HOOK, SUMMARY, PROMPT, COMMAND, ANSWER, THINKING, CALL, RESULT),
    *(PICTURE, STRUCTURE, UNRECORDED),
)
"""All kinds of parts, in the order in which they are listed."""

_MARKERS = re.compile(
    r"(?P<memory>Codebase and user instructions are shown below|Contents of (?P<path>[^\n]{1,400}?) \(|# claudeMd\b)"
    r"|(?P<skills>The following skills (?:are|were|have)|The following skill)"
    r"|(?P<hook>[A-Z][A-Za-z]{3,30}(?::[^\n: ]{1,80})? hook (?:success|additional context|blocking|stopped|error)\b)"
    r"|(?P<mcp># MCP Server Instructions)"
    r"|(?P<agents>Available agent types for the Agent tool)"
    r"|(?P<deferred>The following deferred tools are)"
    r"|(?P<environment># Environment\b)"
    r"|(?P<model>You are powered by the model)"
    r"|(?P<language># Language\n)"
    r"|(?P<style># Output Style\b|(?<![^\n])[^\n]{1,60}? output style is active\b)"
    r"|(?P<git># gitStatus\b)"
    r"|(?P<date>Today's date is \d)"
)
"""How the client's own texts begin, as far as they are told apart; they are looked for at the beginning of lines."""
_NAMES = {"agents": "agent types", "deferred": "deferred tools", "git": "git status", "style": "output style"}
_COMMANDS = ("<command-", "<local-command-", "<bash-")
_SUMMARY = "This session is being continued from a previous conversation"
_ATTACHED = {"nested_memory": MEMORY, "instructions": MEMORY, "memory": MEMORY, "skill_listing": SKILLS}


class ContextPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a context."""

    kind: str
    """system, tool, mcp, skills, memory, reminder, hook, summary, prompt, command, answer, thinking, call, result,
    picture, structure (the JSON around all of it), or unrecorded (what an older client does not say)."""
    name: str = ""
    """The tool, MCP server, memory file or kind of reminder."""
    file: str = ""
    """The file that a result is about."""
    bytes: int
    tokens: int | None
    """Its share of the tokens that the API reported, by bytes; null if it reported none."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the context of one request."""

    turn: int | None
    request: int | None
    """The number of the request; null if the client did not note it, and this is an estimate."""
    agent: str | None
    model: str | None
    estimate: bool
    """True if it was put together from the messages of the transcript, because the client noted no request."""
    verified: bool
    """True if the client's digest proves the request."""
    proof: RequestProof | None
    """verified, or why it is not: no_digest, incomplete, different; null for an estimate."""
    missing: list[str]
    """The missing parts of the request, in words."""
    bytes: int
    """The sum of the parts: the size of the request in canonical JSON, as far as nothing is missing."""
    tokens: int | None
    """Tokens of the prompt, as the API reported them; the parts add up to it."""
    scaled: bool
    """True if the tokens of the parts are scaled: always, unless there are none."""
    parts: list[ContextPart]
    came: list[ContextPart]
    """The parts that this request has and the one before it had not, or had less of."""
    went: list[ContextPart]
    """The parts that the request before had, and this one has not, or has less of."""


class PartKey(NamedTuple):
    """What tells a part of a request from others."""

    kind: str
    name: str = ""
    file: str = ""


class PartSizes:
    """Bytes and weight of the parts of one request."""

    def __init__(self, other: PartSizes | None = None) -> None:
        """Begin with nothing, or with what another request has."""
        self.bytes: dict[PartKey, int] = dict(other.bytes) if other is not None else {}
        self.weights: dict[PartKey, int] = dict(other.weights) if other is not None else {}

    def add(self, key: PartKey, size: int, weight: int | None = None) -> None:
        self.bytes[key] = self.bytes.get(key, 0) + size
        self.weights[key] = self.weights.get(key, 0) + (size if weight is None else weight)

    def add_value(self, key: PartKey, value: Any) -> None:
        """Add a block of a request."""
        self.add(key, _size(value))

    def add_text(self, key: PartKey, text: str) -> None:
        """Add a piece of a text; JSON's quotes belong to the structure."""
        self.add(key, _size(text) - 2)

    def tokens(self, total: int | None) -> dict[PartKey, int | None]:
        """Share out a number of tokens by weight; the largest remainders get what is left."""
        weight = sum(self.weights.values())
        if total is None or not weight:
            return dict.fromkeys(self.bytes)
        exact = {key: divmod(total * own, weight) for key, own in self.weights.items()}
        out: dict[PartKey, int | None] = {key: whole for key, (whole, _) in exact.items()}
        left = total - sum(whole for whole, _ in exact.values())
        for key in sorted(exact, key=lambda key: (-exact[key][1], key))[:left]:
            out[key] = exact[key][0] + 1
        return out


def context_at(
    conversation: Conversation, *, turn: int | None = None, request: int | None = None, agent: str | None = None
) -> Context:
    """Return what filled the context of a request, by default the last one of a turn or of the thread."""
    if request is not None:
        return _noted(conversation, request_at(conversation, request), agent)
    return next(contexts_at(conversation, [turn], agent=agent))


def contexts_at(
    conversation: Conversation, turns: Sequence[int | None], *, agent: str | None = None
) -> Iterator[Context]:
    """Yield what filled the context of the last request of each of some turns, in their order; None means the last."""
    noted = _last_requests(conversation, turns)
    estimate = _Estimates(conversation, [turn for turn in turns if turn not in noted])
    for turn in turns:
        found = noted.get(turn)
        yield _noted(conversation, found, agent) if found is not None else estimate.of(turn, agent)


def _last_requests(conversation: Conversation, turns: Iterable[int | None]) -> dict[int | None, Request]:
    """Return the last request of each of some turns that have one; for None, that of the thread."""
    found: dict[int | None, Request] = {}
    missing = set(turns)
    for request in reversed(conversation.requests):
        if not missing:
            break
        at = request.turn
        for turn in missing & {None, at.index if at is not None else None}:
            found[turn] = request
            missing.discard(turn)
    return found


def _noted(conversation: Conversation, request: Request, agent: str | None) -> Context:
    before, response = conversation.requests[request.number - 2] if request.number > 1 else None, request.response
    sizes, tokens = request_sizes(request), prompt_tokens(response)
    earlier = request_sizes(before) if before is not None else PartSizes()
    turn = request.turn
    return _context(
        sizes,
        tokens,
        earlier,
        prompt_tokens(before.response) if before is not None else None,
        turn=turn.index if turn is not None else None,
        request=request.number,
        agent=agent,
        model=request.model,
        estimate=False,
        verified=request.verified,
        proof=request.proof,
        missing=request.missing,
    )


def _context(
    sizes: PartSizes, tokens: int | None, earlier: PartSizes, tokens_before: int | None, **facts: Any
) -> Context:
    shares, shares_before = sizes.tokens(tokens), earlier.tokens(tokens_before)
    return Context(
        bytes=sum(sizes.bytes.values()),
        tokens=tokens,
        scaled=tokens is not None,
        parts=[_part(key, size, shares[key]) for key, size in _in_order(sizes.bytes)],
        came=list(_more(sizes, shares, earlier)),
        went=list(_more(earlier, shares_before, sizes)),
        **facts,
    )


def _part(key: PartKey, size: int, tokens: int | None) -> ContextPart:
    return ContextPart(kind=key.kind, name=key.name, file=key.file, bytes=size, tokens=tokens)


def _in_order(sizes: Mapping[PartKey, int]) -> list[tuple[PartKey, int]]:
    return sorted(sizes.items(), key=lambda item: (KINDS.index(item[0].kind), -item[1], item[0]))


def _more(sizes: PartSizes, shares: Mapping[PartKey, int | None], other: PartSizes) -> Iterator[ContextPart]:
    """Yield what one request has more of than another, with its share of the tokens."""
    for key, size in _in_order(sizes.bytes):
        more, share = size - other.bytes.get(key, 0), shares[key]
        if more > 0:
            yield _part(key, more, share * more // size if share is not None else None)


def prompt_tokens(response: Message | None) -> int | None:
    """Return the tokens of the prompt that a response answers, as the API reported them."""
    rows = response.rows if response is not None else ()
    return charges_of(rows[-1].usage, None)[0].prompt if rows else None


def add_parts(sizes: PartSizes, request: RequestContent) -> None:
    """Add the system prompt, the tools and the messages of a request."""
    for block in request.system:
        sizes.add_value(PartKey(SYSTEM), block)
    for tool in request.tools:
        sizes.add_value(_tool_key(as_str(as_dict(tool).get("name")) or ""), tool)
    _add_messages(sizes, [message for message in request.messages if message is not None], {})


def request_sizes(request: Request) -> PartSizes:
    """Return the sizes of a request's parts, which add up to its canonical JSON."""
    sizes = PartSizes()
    add_parts(sizes, request)
    sizes.add(PartKey(STRUCTURE), max(0, _size(request.body) - sum(sizes.bytes.values())))
    return sizes


def _size(value: Any) -> int:
    try:
        return len(canonical(value))
    except ValueError:  # nested too deep to be written, and so to have been sent
        return 0


def _tool_key(name: str) -> PartKey:
    server = name.split("__")[1] if name.startswith("mcp__") and name.count("__") > 1 else ""
    return PartKey(MCP, server) if server else PartKey(TOOL, name)


def _add_messages(sizes: PartSizes, messages: Iterable[dict[str, Any]], calls: dict[str, tuple[str, str]]) -> None:
    """Add messages; `calls` has the tool and the file of the calls before them, and gets theirs."""
    for message in messages:
        role = as_str(message.get("role")) or ""
        for block in as_list(message.get("content")):
            _add_block(sizes, as_dict(block), role, calls)


def _add_block(sizes: PartSizes, block: dict[str, Any], role: str, calls: dict[str, tuple[str, str]]) -> None:
    type = as_str(block.get("type"))
    text = as_str(block.get("text"))
    if type == "text" and text is not None:
        _add_text(sizes, text, PartKey(ANSWER) if role == "assistant" else PartKey(PROMPT), role)
    elif type in ("image", "document"):
        sizes.add(PartKey(PICTURE), _size(block), min(_size(block), PICTURE_BYTES))
    elif type in ("thinking", "redacted_thinking"):
        sizes.add_value(PartKey(THINKING), block)
    elif type in ("tool_use", "server_tool_use", "mcp_tool_use"):
        name, given = as_str(block.get("name")) or "", as_dict(block.get("input"))
        file = next((path for key in ("file_path", "notebook_path", "path") if (path := as_str(given.get(key)))), "")
        calls[as_str(block.get("id")) or ""] = (name, file)
        sizes.add_value(PartKey(CALL, name), block)
    elif type is not None and "tool_result" in type:
        key = PartKey(RESULT, *calls.get(as_str(block.get("tool_use_id")) or "", ("", "")))
        content = block.get("content")
        inside = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
        before = sum(sizes.bytes.values())
        for item in map(as_dict, inside):
            text = as_str(item.get("text"))
            if text is not None:
                _add_text(sizes, text, key, role)
            else:
                _add_block(sizes, item, role, calls) if item.get("type") == "image" else sizes.add_value(key, item)
        sizes.add(key, max(0, _size(block) - (sum(sizes.bytes.values()) - before)))
    else:
        sizes.add_value(PartKey(ANSWER) if role == "assistant" else PartKey(PROMPT), block)


def _add_text(sizes: PartSizes, text: str, key: PartKey, role: str) -> None:
    """Add a text, with what the client put into it apart; JSON's quotes belong to the structure."""
    if role == "system":
        return _add_client_text(sizes, text)
    if role == "assistant":
        return sizes.add_text(key, text)
    if key.kind == PROMPT:
        start = text.lstrip()
        key = (
            PartKey(COMMAND) if start.startswith(_COMMANDS) else PartKey(SUMMARY) if start.startswith(_SUMMARY) else key
        )
    at = 0
    while (opening := text.find(REMINDER, at)) >= 0:
        closing = text.find(END_REMINDER, opening)
        if closing < 0:
            break
        _add_piece(sizes, text[at:opening], key)
        at = closing + len(END_REMINDER)
        _add_client_text(sizes, text[opening:at])
    return _add_piece(sizes, text[at:], key)


def _add_piece(sizes: PartSizes, text: str, key: PartKey) -> None:
    if text:
        sizes.add_text(key if text.strip() else PartKey(STRUCTURE), text)


def _add_client_text(sizes: PartSizes, text: str) -> None:
    """Add a text of the client, split where it begins to speak of something else."""
    key, start = PartKey(REMINDERS), 0
    for found in _MARKERS.finditer(text):
        if found.start() and text[found.start() - 1] != "\n":
            continue
        if text[start : found.start()].strip() != REMINDER:  # the tag belongs to what it introduces
            _add_piece(sizes, text[start : found.start()], key)
            start = found.start()
        name = found.lastgroup or ""
        kind = name if name in (SKILLS, HOOK, MCP) else MEMORY if name in (MEMORY, "path") else REMINDERS
        named = (
            found["path"] or "instructions" if kind == MEMORY else _NAMES.get(name, name) if kind == REMINDERS else ""
        )
        key = PartKey(kind, named)
    _add_piece(sizes, text[start:], key)


class _Estimates:
    """What the last responses of some turns were told, put together from the messages of the transcript.

    One was told all that those before it were, since the last compaction: each message is read once.
    """

    def __init__(self, conversation: Conversation, turns: Iterable[int | None]) -> None:
        known = conversation.turns
        self._conversation = conversation
        self._messages = sorted((message for turn in known for message in turn.messages), key=_index)
        self._last = {turn: _responses(known, turn)[-2:] for turn in turns}
        asked = {one.index: one for responses in self._last.values() for one in responses}
        self._asked = [asked[index] for index in sorted(asked)]
        compactions = (one for one in conversation.compactions if not one.micro)
        marks = {mark.index for one in compactions if (mark := one.boundary or one.summary) is not None}
        self._marks = sorted(marks & {message.index for message in self._messages})
        self._sizes: dict[int, PartSizes] = {}

    def of(self, turn: int | None, agent: str | None) -> Context:
        """Return the context at the end of one of the turns."""
        last, before = [*reversed(self._last[turn]), None, None][:2]
        return _context(
            self._told(last),
            prompt_tokens(last),
            self._told(before),
            prompt_tokens(before),
            turn=last.turn.index if last is not None else turn,
            request=None,
            agent=agent,
            model=last.model if last is not None else None,
            estimate=True,
            verified=False,
            proof=None,
            missing=[],
        )

    def _told(self, response: Message | None) -> PartSizes:
        if response is None:
            return PartSizes()
        if response.index not in self._sizes:
            self._tell(self._start(response))
        return self._sizes[response.index]

    def _start(self, response: Message) -> int:
        """Return the place of the last compaction before a response."""
        at = bisect_left(self._marks, response.index)
        return self._marks[at - 1] if at else 0

    def _tell(self, start: int) -> None:
        """Put together what each response after a compaction was told."""
        sizes, calls, at = PartSizes(), dict[str, tuple[str, str]](), start
        for response in islice(self._asked, bisect_left(self._asked, start, key=_index), None):
            if self._start(response) != start:
                break
            first, end = (bisect_left(self._messages, index, key=_index) for index in (at, response.index))
            _add_told(sizes, self._conversation, self._messages[first:end], calls)
            at = response.index
            told = self._sizes[at] = PartSizes(sizes)
            tokens = min(prompt_tokens(response) or 0, MOST_TOKENS)
            rest = tokens * BYTES_PER_TOKEN - sum(sizes.weights.values())
            if rest > 0:
                told.add(PartKey(UNRECORDED), 0, int(rest))


def _index(message: Message) -> int:
    return message.index


def _responses(turns: Sequence[Turn], turn: int | None) -> list[Message]:
    """Return the responses of a turn, or of all turns, that say what they took."""
    if turn is not None and not 0 < turn <= len(turns):
        raise NotFound(f"No turn {turn}; this session has {plural(turns, 'turn')}.")
    chosen = turns if turn is None else turns[turn - 1 : turn]
    return [message for one in chosen for message in one.messages if message.kind == "response" and message.rows]


def _add_told(
    sizes: PartSizes, conversation: Conversation, messages: Iterable[Message], calls: dict[str, tuple[str, str]]
) -> None:
    """Add what the transcript has of some messages, of the answers to their calls and of what is attached to them."""
    rows: list[dict[str, Any]] = []
    for message in messages:
        answers = [call.answer for call in message.calls if call.answer >= 0]
        rows += [as_dict(conversation.bodies.native(index).get("message")) for index in (*message.records, *answers)]
        for index in message.attached:
            _add_attached(sizes, as_dict(conversation.bodies.native(index).get("attachment")))
    texts = [
        {**row, "content": [{"type": "text", "text": row["content"]}]} if isinstance(row.get("content"), str) else row
        for row in rows
    ]
    _add_messages(sizes, texts, calls)


def _add_attached(sizes: PartSizes, payload: dict[str, Any]) -> None:
    type = as_str(payload.get("type")) or ""
    if payload and type != "prompt_snapshot":
        kind = HOOK if type.startswith(("hook_", "async_hook")) else _ATTACHED.get(type, REMINDERS)
        sizes.add(PartKey(kind, type if kind == REMINDERS else ""), _size(payload))
