"""Passages: messages and calls as the parts that the reader draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reread import tools
from reread.base.coerce import as_dict
from reread.base.text import plural
from reread.model.messages import Call, Message
from reread.reader import schema
from reread.reader.timeline import category_of
from reread.reader.trim import CHARS, Trimmer
from reread.records.blocks import CallBlock, RedactedThinking, Text, Thinking
from reread.render.parts import take_call
from reread.tools import generic
from reread.tools import nodes as n
from reread.tools._images import measured
from reread.tools.tool_call import DENIED, FAILED, INTERRUPTED, Ending, one_line

RASTER = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The pictures that a browser may show: nothing that can hold a script."""
ENVELOPE = frozenset(
    {
        "agentId",
        "cwd",
        "entrypoint",
        "gitBranch",
        "isMeta",
        "isSidechain",
        "logicalParentUuid",
        "parentUuid",
        "sessionId",
        "slug",
        "timestamp",
        "type",
        "userType",
        "uuid",
        "version",
    }
)
"""What every record says of itself, and a reader need not be told."""
RUNS = ("read", "search")
TITLE = 80
DETAILS = "details"

Address = Callable[[str, int, n.Picture], str | None]
"""Where a picture can be had: the message or call it belongs to, which of its pictures it is, and the picture."""


class PartBuilder:
    """Draws messages and calls as values."""

    def __init__(
        self, address: Address, agents: Callable[[Call], list[schema.AgentMark]], *, whole: bool = False
    ) -> None:
        self._address = address
        self._agents = agents
        self._whole = whole
        self._owner = ""
        self._pictures = 0

    def parts(self, message: Message) -> Iterator[schema.Part]:
        """A message, part by part."""
        self._owner, self._pictures = f"message/{message.index}", 0
        yield from _KINDS.get(message.kind, PartBuilder._notice)(self, message)
        for index in message.attached:
            yield self._attached(message.conversation.native(index))

    def body(self, call: Call, *, full: bool = True) -> schema.CallBody:
        """A call, opened; in full, with all that was recorded and that no node shows."""
        self._owner, self._pictures = f"call/{call.index}", 0
        trimmer = self._trimmer()
        return schema.CallBody(
            id=call.id, nodes=trimmer.nodes([*call.draw(full=full), *_progress(call)]), cut=trimmer.cut
        )

    def call(self, call: Call) -> schema.CallPart:
        """A call on one line."""
        deed = call.tool_call
        title = tools.title(deed)
        name, _, rest = title.partition(" ")
        labelled = name == call.name
        return schema.CallPart(
            index=call.index,
            id=call.id,
            name=call.name,
            label=call.name if labelled else "",
            title=rest if labelled else title,
            category=category_of(call.name),
            state=deed.ending.state,
            is_error=call.is_error,
            note=_note(deed.ending),
            seconds=deed.seconds,
            line=call.line,
            agents=self._agents(call) if deed.agent is not None else [],
        )

    def text(self, text: str) -> tuple[str, int | None]:
        """A text as far as it is sent, and its whole length where it is cut."""
        if self._whole or len(text) <= CHARS:
            return text, None
        return text[:CHARS], len(text)

    def _trimmer(self) -> Trimmer:
        return Trimmer(self._place, whole=self._whole)

    def _place(self, picture: n.Picture) -> str | None:
        number = self._pictures
        self._pictures += 1
        if picture.data is None or picture.media_type not in RASTER:
            return None
        return self._address(self._owner, number, picture)

    def _nodes(self, drawn: Sequence[n.Node], title: str = "") -> schema.NodesPart:
        trimmer = self._trimmer()
        return schema.NodesPart(nodes=trimmer.nodes(drawn), title=title, cut=trimmer.cut)

    def _text(self, text: str) -> Iterator[schema.Part]:
        if text.strip():
            shown, chars = self.text(text)
            yield schema.TextPart(text=shown, chars=chars)

    def _typed(self, message: Message) -> Iterator[schema.Part]:
        yield from self._text(message.text)
        yield from self._others(message)
        yield from self._asides(message)

    def _others(self, message: Message) -> Iterator[schema.Part]:
        """The blocks that are no text."""
        drawn = _other_nodes(message)
        if drawn:
            yield self._nodes(drawn)

    def _asides(self, message: Message) -> Iterator[schema.Part]:
        for aside in message.asides:
            yield self._nodes([n.Prose(text=aside.text)], title=aside.tag.replace("-", " ").replace("_", " "))

    def _response(self, message: Message) -> Iterator[schema.Part]:
        calls = {call.id: call for call in message.calls}
        seconds = message.thinking_seconds
        for block in message.blocks:
            if isinstance(block, Text):
                yield from self._text(block.text if isinstance(block.text, str) else "")
            elif isinstance(block, Thinking | RedactedThinking):
                said, signature = getattr(block, "thinking", None), getattr(block, "signature", None)
                shown, chars = self.text(said if isinstance(said, str) else "")
                took = seconds.get(signature) if isinstance(signature, str) else None
                yield schema.ThinkingPart(text=shown, chars=chars, seconds=took)
            elif isinstance(block, CallBlock):
                call = take_call(calls, block)
                if call is not None:
                    yield self.call(call)
            elif not hasattr(block, "tool_use_id"):
                yield self._nodes([measured(generic.block_node(block))])
        yield from map(self.call, calls.values())

    def _notice(self, message: Message) -> Iterator[schema.Part]:
        yield from self._text(message.text)
        yield from self._others(message)
        yield from self._asides(message)
        if message.role == "system":
            yield self._nodes([n.Data(value=_details(message))], title=DETAILS)

    def _output(self, message: Message) -> Iterator[schema.Part]:
        if message.text.strip():
            yield self._nodes([n.Terminal(text=message.text)])
        yield from self._others(message)

    def _notification(self, message: Message) -> Iterator[schema.Part]:
        yield from self._text(message.text)
        yield from self._others(message)
        report, facts = reported(message)
        drawn = [*([n.Prose(text=report)] if report else []), *n.facts(**facts)]
        if drawn:
            yield self._nodes(drawn, title="report")

    def _meta(self, message: Message) -> Iterator[schema.Part]:
        said = message.said
        drawn = [*([n.Prose(text=said)] if said.strip() else []), *_other_nodes(message)]
        if drawn:
            yield self._nodes(drawn, title=one_line(message.text or said, TITLE) or "context")

    def _compaction(self, message: Message) -> Iterator[schema.Part]:
        found = message.conversation.compaction_of(message)
        if found is None:
            yield from self._notice(message)
            return
        summary, chars = self.text(found.summary.text if found.summary is not None else "")
        yield schema.CompactionPart(
            trigger=found.trigger,
            micro=found.micro,
            before=found.pre_tokens,
            after=found.post_tokens,
            summary=summary,
            chars=chars,
        )

    def _summary(self, message: Message) -> Iterator[schema.Part]:
        found = message.conversation.compaction_of(message)
        if found is None:
            yield from self._text(message.text)
        elif found.boundary is None:
            yield from self._compaction(message)
        yield from self._others(message)

    def _attached(self, record: dict[str, Any]) -> schema.NodesPart:
        payload = as_dict(record.get("attachment")) or as_dict(record.get("data")) or record
        kind = payload.get("type")
        named = next((v for name in NAMES if isinstance(v := payload.get(name), str) and v), "")
        words = str(kind).replace("_", " ") if isinstance(kind, str) else "attached"
        return self._nodes(_payload(payload), title=one_line(f"{words} {named}", TITLE).strip())


NAMES = ("displayPath", "filename", "path", "hookName", "name", "skillName")
"""The fields of an attachment that say what it is."""

_KINDS: dict[str, Callable[[PartBuilder, Message], Iterator[schema.Part]]] = {
    "prompt": PartBuilder._typed,  # pyright: ignore[reportPrivateUsage]
    "command": PartBuilder._typed,  # pyright: ignore[reportPrivateUsage]
    "response": PartBuilder._response,  # pyright: ignore[reportPrivateUsage]
    "output": PartBuilder._output,  # pyright: ignore[reportPrivateUsage]
    "notification": PartBuilder._notification,  # pyright: ignore[reportPrivateUsage]
    "meta": PartBuilder._meta,  # pyright: ignore[reportPrivateUsage]
    "compaction": PartBuilder._compaction,  # pyright: ignore[reportPrivateUsage]
    "summary": PartBuilder._summary,  # pyright: ignore[reportPrivateUsage]
}
"""How each kind of message is drawn; all others are notices."""


def reported(message: Message) -> tuple[str | None, dict[str, str]]:
    """What a notification tells besides its text: a report, and facts by name."""
    fields = message.fields
    report = fields.get("result") if fields.get("summary") else None
    return report, {tag: value for tag, value in fields.items() if tag not in ("summary", "result")}


def details(message: Message) -> dict[str, Any]:
    """What a notice has besides its text; of any other message, nothing."""
    return _details(message) if message.role == "system" and message.kind not in _KINDS else {}


def _details(message: Message) -> dict[str, Any]:
    record = message.conversation.native(message.records[0])
    inner = as_dict(record.get("attachment")) or record
    return {name: value for name, value in inner.items() if name not in ENVELOPE}


def _other_nodes(message: Message) -> list[n.Node]:
    """The blocks of a message that are no text."""
    return [measured(generic.block_node(block)) for block in message.blocks if not isinstance(block, Text)]


def run_title(messages: Sequence[Message]) -> str:
    """What a run of small calls did, counted: 7 reads, 2 searches."""
    counts = Counter(category_of(call.name) for message in messages for call in message.calls)
    return ", ".join(plural(count, sort) for sort, count in counts.most_common() if sort in RUNS)


def _payload(payload: dict[str, Any]) -> list[n.Node]:
    """What was attached: a file as its text, anything else as it stands."""
    file = as_dict(as_dict(payload.get("content")).get("file"))
    text = file.get("content")
    if isinstance(text, str):
        path, start = file.get("filePath"), file.get("startLine")
        return [
            n.Code(
                text=text,
                path=path if isinstance(path, str) else None,
                start=start if isinstance(start, int) else None,
            )
        ]
    return [n.Data(value={name: value for name, value in payload.items() if name != "type"})]


SHOWN_PROGRESS = 20


def _progress(call: Call) -> list[n.Node]:
    """What was told of a call while it ran, closed; of much, the last."""
    if not call.attached:
        return []
    records = [call.conversation.native(index) for index in call.attached[-SHOWN_PROGRESS:]]
    told = [as_dict(record.get("attachment")) or as_dict(record.get("data")) for record in records]
    title = plural(len(call.attached), "note") + " of the client"
    return [n.Section(title=title, nodes=[n.Data(value=item) for item in told], open=False)]


def _note(ending: Ending) -> str:
    if ending.state not in (FAILED, DENIED, INTERRUPTED):
        return ""
    code = f"exit code {ending.exit_code}" if ending.exit_code is not None else ""
    first = one_line(ending.message.strip().split("\n")[0], TITLE) if ending.message.strip() else ""
    return ": ".join(part for part in (code, first) if part)
