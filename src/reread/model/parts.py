"""The parts of a message: everything it says, in order.

Views, search and exports choose from these parts and draw them; none of them reads a message's blocks itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from reread.base.joined_text import joined_text
from reread.base.text import plural
from reread.model.authors import COMMAND, PERSON, user_author
from reread.model.compaction_linker import compaction_of
from reread.model.content import content_blocks, first_text
from reread.model.conversation import Call, Compaction, Message
from reread.model.hooks import has_failed
from reread.model.message import thinking_seconds
from reread.model.partial import new_blocks
from reread.model.prompt_text import PromptText, prompt_kind
from reread.model.record_kinds import TURN_STARTERS, payload_of
from reread.model.repeats import BLOCK_BITS
from reread.model.value_texts import block_text, keys_and_numbers, strings, without_original
from reread.records import blocks as b
from reread.records.decode import Record

KINDS = PROMPTS, TEXT, THINKING, TOOLS, NOTICES = "prompts", "text", "thinking", "tools", "notices"
"""The kinds of part, by the words that selections and filters use."""


HOOK, CONTEXT, PROGRESS, FILE, SELECTION = "hook", "reminder", "progress", "file", "IDE selection"
FAILED_HOOK, REPORT = "failed hook", "report"
QUIET_TYPES = {
    "already_read_file": FILE,
    "directory": FILE,
    "file": FILE,
    "image": FILE,
    "mcp_resource": FILE,
    "opened_file_in_ide": SELECTION,
    "pdf_reference": FILE,
    "permission_denied": "denial",
    "selected_lines_in_ide": SELECTION,
}
"""How attached records are counted, by type; those of hooks are hooks, all others context."""
QUIET_TAGS = {"ide_opened_file": SELECTION, "ide_selection": SELECTION, "pasted_content": "pasted text"}
"""How additions to a text are counted, by tag."""
BOUNDARY_WORDS = ("Conversation compacted", "Context microcompacted")
"""The text at the boundary of every compaction; the first versions wrote a text of their own."""


class MessagePart(msgspec.Struct, frozen=True):
    """One part of what a message says."""

    message: Message
    kind: str
    """prompts, text, thinking, tools or notices."""


class MessageText(MessagePart, frozen=True):
    """The text of a prompt or a notice, which may be blank, or one text of a response."""

    text: str


class TextPiece(MessagePart, frozen=True):
    """The addition of a record to a text or a thought that the record before begins."""

    text: str


class TextCitations(MessagePart, frozen=True):
    """The sources that the text before it cites, as recorded."""

    citations: Any


class MessageThinking(MessagePart, frozen=True):
    """A thinking block; its text is empty if only the signature was recorded."""

    text: str
    seconds: float | None = None
    """How long it took; None if unknown."""


class MessageCall(MessagePart, frozen=True):
    """A tool call."""

    call: Call


class MessageBlocks(MessagePart, frozen=True):
    """Pictures and other blocks that are neither text, thinking nor calls."""

    blocks: Sequence[b.Block]


class CommandOutput(MessagePart, frozen=True):
    """The output of a local command, which may be blank."""

    text: str


class MessageAside(MessagePart, frozen=True):
    """Text that the client added to a prompt, such as a reminder or the selection in an IDE."""

    tag: str
    text: str


class NotificationReport(MessagePart, frozen=True):
    """The report of a notification and its other fields."""

    report: str | None
    fields: Mapping[str, str]


class NoticeDetails(MessagePart, frozen=True):
    """The fields of the record behind a notice, including the one that holds its text."""

    fields: Mapping[str, Any]


class MetaContext(MessagePart, frozen=True):
    """Context that the client put into the conversation in the user's name."""

    text: str
    blocks: Sequence[b.Block]


class CompactionPoint(MessagePart, frozen=True):
    """A compaction."""

    compaction: Compaction
    summary: str
    """The text of its boundary and of its summary; empty if it has none, or if the summary is a part of its own."""


class MessageAttachment(MessagePart, frozen=True):
    """A record attached to the message: a file, context, the output of a hook."""

    payload: Mapping[str, Any]


class SessionStart(MessagePart, frozen=True):
    """Another session begins in the same file."""

    session: str


class QueuedPrompt(MessagePart, frozen=True):
    """A prompt that was queued after the message and, as far as the file says, never sent."""

    text: str
    author: str
    """person or command if someone typed it; else task, peer or client."""
    taken: str
    """How it left the queue: removed, or taken back to be edited; empty if it did not."""
    blocks: Sequence[b.Block] = ()
    """Pictures and other blocks that were queued with it."""

    @property
    def is_typed(self) -> bool:
        """True if a person typed it."""
        return self.author in (PERSON, COMMAND)


class ClientSetup(MessagePart, frozen=True):
    """How the client was set up before the message: its tools, MCP servers, permission mode."""

    fields: Mapping[str, Any]
    before: Mapping[str, Any] | None = None
    """How it was set up before in the same session; None if this is the first time."""


class TurnEnd(MessagePart, frozen=True):
    """How the turn ended whose last message this is."""

    line: int
    record: Mapping[str, Any]


def message_parts(message: Message) -> Iterator[MessagePart]:
    """Everything a message says, in order; a compaction's boundary includes the summary that follows it."""
    return _parts(message, with_summary=True)


def record_parts(message: Message, record: Record) -> Iterator[MessagePart]:
    """The part of a message that one record adds: to a response, the new blocks; else everything, with the first one.

    A result adds how the turn ended.
    """
    if record.type == "result":
        yield TurnEnd(message, NOTICES, record.line, record.native)
    elif message.kind == "response":
        if record.line == message.line:
            yield from _marks_before(message)
        native = record.native
        pieces, blocks = new_blocks(_content_before(message, record), content_blocks(native))
        yield from (TextPiece(message, block_kind(message, block), piece) for block, piece in pieces)
        yield from _block_parts(message, blocks, thinking_seconds(native, blocks), _calls_by_id(message))
    elif record.line == message.line:
        yield from _parts(message, with_summary=False)


def _content_before(message: Message, record: Record) -> Sequence[b.Block]:
    """The blocks of the record before this one in its message."""
    conversation = message.conversation
    at = bisect_left(message.records, record.line, key=conversation.records.line)
    return conversation.bodies.content(message.records[at - 1]) if at > 0 else ()


def _parts(message: Message, *, with_summary: bool) -> Iterator[MessagePart]:
    conversation, marks = message.conversation, message.conversation.marks
    yield from _marks_before(message)
    match message.kind:
        case "response":
            yield from _assistant_parts(message, message.blocks)
        case "meta":
            yield from _context(message)
        case _:
            yield from _statement(message, with_summary=with_summary)
    for index in message.attached:
        yield MessageAttachment(message, NOTICES, payload_of(conversation.bodies.native(index)))
    for index, taken in marks.queued.get(message.index, {}).items():
        yield _queued(message, conversation.bodies.native(index), taken)
    for index in marks.ends.get(message.index, ()):
        yield TurnEnd(message, NOTICES, conversation.records.line(index), conversation.bodies.native(index))


def _queued(message: Message, native: dict[str, Any], taken: str) -> QueuedPrompt:
    content = native.get("content")
    text, found = first_text(content), content_blocks({"message": {"content": content}})
    kind = prompt_kind(text)
    author = PERSON if kind == "prompt" else user_author(kind, None, text, in_agent=False)
    others = [block for block in found if not (isinstance(block, b.Text) and block.text == text)]
    return QueuedPrompt(message, NOTICES, text, author, taken, others)


def _marks_before(message: Message) -> Iterator[MessagePart]:
    """Parts that stand before a message: another session begins, the client was set up."""
    conversation, marks = message.conversation, message.conversation.marks
    if message.index in marks.sessions:
        yield SessionStart(message, NOTICES, marks.sessions[message.index])
    for index in marks.setups.get(message.index, ()):
        fields = payload_of(conversation.bodies.native(index))
        earlier = marks.before.get(index)
        before = payload_of(conversation.bodies.native(earlier)) if earlier is not None else None
        yield ClientSetup(message, NOTICES, fields, before)


def message_kind(message: Message) -> str:
    """The kind of a message's own text."""
    if message.kind in TURN_STARTERS:
        return PROMPTS
    return TEXT if message.kind == "response" else NOTICES


def block_kind(message: Message, block: b.Block) -> str:
    """The kind of a block of a message."""
    if isinstance(block, b.CallBlock):
        return TOOLS
    return THINKING if isinstance(block, (b.Thinking, b.RedactedThinking)) else message_kind(message)


def quick_kinds(message: Message) -> set[str]:
    """The kinds of a message's parts, calls and asides excluded, without reading its records."""
    found = {message_kind(message)}
    if message.kind == "response":
        seen = {kind for kind in (TEXT, THINKING) if message.seen & BLOCK_BITS[kind]}
        found = seen if seen or message.calls else found
    return found | {NOTICES} if message.attached or message.conversation.marks.has(message.index) else found


def quiet_noun(part: MessagePart) -> str | None:
    """Return how views count a part that they fold away: a hook, a file, other context; None if it is no context."""
    match part:
        case MessageAside():
            return QUIET_TAGS.get(part.tag, CONTEXT)
        case MetaContext():
            return HOOK if part.message.author == HOOK else CONTEXT
        case MessageAttachment():
            return payload_noun(part.payload)
        case NotificationReport():
            return REPORT if part.report else None
        case TextCitations():
            return "list of sources"
        case MessageBlocks(kind="notices"):
            return "block"
        case QueuedPrompt():
            return None if part.is_typed else "queued notification"
        case _:
            return None


def payload_noun(payload: Mapping[str, Any]) -> str:
    """Return how an attached record is counted."""
    if has_failed(payload):
        return FAILED_HOOK
    kind = payload.get("type") or payload.get("subtype")
    if not isinstance(kind, str):
        return CONTEXT
    if HOOK in kind:
        return HOOK
    return PROGRESS if kind.endswith("progress") else QUIET_TYPES.get(kind, CONTEXT)


def quiet_text(nouns: Iterable[str]) -> str:
    """Count what was folded away: `2 hooks, 7 reminders`; progress is not counted."""
    counts = Counter(noun for noun in nouns if noun != PROGRESS)
    return ", ".join(plural(count, noun) for noun, count in sorted(counts.items(), key=lambda item: item[0] == CONTEXT))


def attached_nouns(call: Call) -> list[str]:
    """Yield how each record attached to a call is counted."""
    return [payload_noun(payload_of(call.conversation.bodies.native(index))) for index in call.attached]


def _statement(message: Message, *, with_summary: bool) -> Iterator[MessagePart]:
    """The parts of a message with one text of its own: a prompt, a command, output, a notice, a compaction."""
    kind = message_kind(message)
    prompts = message.prompt_texts if message.has_prompt_text else []
    text = "\n\n".join(prompt.text for prompt in prompts if prompt.text) if prompts else message.text
    if message.kind in ("compaction", "summary"):
        yield from _compaction(message, text, with_summary=with_summary)
    else:
        yield (CommandOutput if message.kind == "output" else MessageText)(message, kind, text)
    others = [block for block in message.blocks if not isinstance(block, b.Text)]
    if message.role == "assistant":
        yield from _assistant_parts(message, others)
    elif others:
        yield MessageBlocks(message, kind, others)
    for aside in (aside for prompt in prompts for aside in prompt.asides):
        yield MessageAside(message, NOTICES, aside.tag, aside.text)
    if message.kind == "notification":
        yield from _report(message, prompts)
    if message.role == "system":
        record = message.conversation.bodies.native(message.records[0])
        yield NoticeDetails(message, NOTICES, payload_of(record))


def _compaction(message: Message, text: str, *, with_summary: bool) -> Iterator[MessagePart]:
    """A boundary with its summary, a summary without a boundary, or the text of either alone."""
    compaction = compaction_of(message)
    if compaction is not None and message is compaction.boundary:
        texts = ["" if compaction.micro or text.startswith(BOUNDARY_WORDS) else text]
        texts += [compaction.summary.text] if with_summary and compaction.summary is not None else []
        yield CompactionPoint(message, NOTICES, compaction, "\n\n".join(filter(None, texts)))
    elif compaction is not None and compaction.boundary is None:
        yield CompactionPoint(message, NOTICES, compaction, text)
    elif compaction is None or not with_summary:
        yield MessageText(message, NOTICES, text)


def _report(message: Message, prompts: Sequence[PromptText]) -> Iterator[MessagePart]:
    """The fields of a notification that are not its text, which is the summary or else the report."""
    fields = {tag: value for prompt in prompts for tag, value in prompt.fields.items()}
    report = fields.get("result") if fields.get("summary") else None
    others = {tag: value for tag, value in fields.items() if tag not in ("summary", "result")}
    if report or others:
        yield NotificationReport(message, NOTICES, report, others)


def _context(message: Message) -> Iterator[MessagePart]:
    text = message.full_text
    others = [block for block in message.blocks if not isinstance(block, b.Text)]
    if text.strip() or others:
        yield MetaContext(message, NOTICES, text, others)


def _assistant_parts(message: Message, blocks: Sequence[b.Block]) -> Iterator[MessagePart]:
    """The parts of these blocks, then the calls of which no block is left."""
    calls = _calls_by_id(message)
    seconds = message.thinking_seconds if any(isinstance(block, b.Thinking) for block in blocks) else {}
    yield from _block_parts(message, blocks, seconds, calls)
    yield from (MessageCall(message, TOOLS, call) for call in calls.values())


def _block_parts(
    message: Message, blocks: Sequence[b.Block], seconds: Mapping[str, float], calls: dict[str, Call]
) -> Iterator[MessagePart]:
    """The parts of an assistant's blocks; each call is taken out of `calls`, and results are on their calls."""
    for block in blocks:
        kind = block_kind(message, block)
        match block:
            case b.Text():
                if isinstance(block.text, str) and block.text.strip():
                    yield MessageText(message, kind, block.text)
                if block.citations:
                    yield TextCitations(message, kind, block.citations)
            case b.Thinking():
                text = block.thinking if isinstance(block.thinking, str) else ""
                took = seconds.get(block.signature) if isinstance(block.signature, str) else None
                yield MessageThinking(message, kind, text, took)
            case b.RedactedThinking():
                yield MessageThinking(message, kind, "")
            case b.CallBlock():
                call = _take_call(calls, block)
                if call is not None:
                    yield MessageCall(message, kind, call)
            case b.ResultBlock() if _has_call(message, block):
                pass
            case _:
                yield MessageBlocks(message, kind, [block])


def _calls_by_id(message: Message) -> dict[str, Call]:
    return {call.id: call for call in message.calls}


def _take_call(calls: dict[str, Call], block: b.CallBlock) -> Call | None:
    """Take the call of a block out of its message's calls: by its id, else by its name."""
    id = block.id if isinstance(block.id, str) else ""
    if id not in calls:
        id = next((call.id for call in calls.values() if call.name == block.name), id)
    return calls.pop(id, None)


def _has_call(message: Message, block: b.ResultBlock) -> bool:
    id = block.tool_use_id
    return isinstance(id, str) and message.conversation.find_call(id) is not None


def part_texts(part: MessagePart) -> Iterator[str]:
    """The texts of a part, as search reads them; values that belong together are lines of one text."""
    match part:
        case MessageText() | TextPiece() | MessageThinking() | CommandOutput() | MessageAside():
            yield part.text
        case MessageCall(call=call):
            result, data = getattr(call.result, "content", None), without_original(call.data)
            texts = [call.name, *strings(call.input), *strings(result), *strings(data)]
            spilled = call.spilled
            yield joined_text([*texts, *keys_and_numbers(call.input)]) + (f"\n{spilled}" if spilled else "")
        case MessageBlocks():
            yield from map(block_text, part.blocks)
        case MetaContext():
            yield part.text
            yield from map(block_text, part.blocks)
        case CompactionPoint(compaction=compaction):
            yield from (compaction.boundary.text,) if compaction.boundary is not None else ()
            yield part.summary
        case NotificationReport():
            yield "\n".join([*([part.report] if part.report else []), *part.fields.values()])
        case NoticeDetails():
            text = part.message.text
            yield "\n".join(value for value in strings(part.fields) if value.strip() not in text)
        case MessageAttachment():
            yield "\n".join(strings({name: value for name, value in part.payload.items() if name != "type"}))
        case TextCitations():
            yield "\n".join(strings(part.citations))
        case QueuedPrompt():
            yield part.text
            yield from map(block_text, part.blocks)
        case SessionStart() | ClientSetup() | TurnEnd():
            return
        case _:
            raise TypeError(f"Unknown part: {type(part).__name__}")
