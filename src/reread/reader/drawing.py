"""Messages and calls as the parts that the reader draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reread import tools
from reread.base.coerce import as_dict
from reread.base.telling_line import telling_line
from reread.base.text import one_line, plural
from reread.model import parts as p
from reread.model.conversation import Call, Message
from reread.reader import schema
from reread.reader.timeline import RUN_CATEGORIES, category_of
from reread.reader.trim import CHARS, Trimmer
from reread.records.blocks import Block
from reread.render.sanitize import strip_escapes
from reread.render.selection import EVERYTHING, Selection
from reread.tools import nodes as n
from reread.tools._images import with_dimensions
from reread.tools.generic import block_node
from reread.tools.outcome import DENIED, FAILED, INTERRUPTED, Outcome

RASTER = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The pictures that a browser may show: formats that cannot contain a script."""
SELF_EXPLANATORY = frozenset({"compaction", "notification", "output"})
"""The kinds of notice whose details are not shown."""
TITLE = 80
"""Characters of a title at most."""
NOTE = 160
"""Characters of a note at most; the page cuts it to its width."""
DETAILS = "details"
ATTACHED_SHOWN = 20
"""How many of the records attached to a call are shown."""
FOLDED = (p.HOOK, p.CONTEXT)
"""What is folded into one part of an item."""
NAMES = ("displayPath", "filename", "path", "hookName", "name", "skillName")
"""The fields of an attachment that name it."""

PictureUrl = Callable[[str, int, n.Picture], str | None]
"""The URL of a picture, from the message or call it belongs to, its number among that one's pictures, and itself."""


def shown_parts(message: Message) -> Iterator[p.MessagePart]:
    """The parts of a message that the reader shows and searches: all but citations and some details."""
    for part in p.message_parts(message):
        hidden = isinstance(part, p.NoticeDetails) and message.kind in SELF_EXPLANATORY
        if not hidden and not isinstance(part, p.TextCitations):
            yield part


class PartBuilder:
    """Builds the schema's parts from messages and calls."""

    def __init__(
        self,
        picture_url: PictureUrl,
        agents: Callable[[Call], list[schema.AgentInfo]],
        *,
        whole: bool = False,
        selection: Selection = EVERYTHING,
    ) -> None:
        self._picture_url = picture_url
        self._agents = agents
        self._whole = whole
        self._selection = selection
        self._owner = ""
        self._pictures = 0

    def parts(self, *messages: Message) -> list[schema.Part]:
        """The selected parts of the messages of an item; hooks and context are folded into one part at the end."""
        shown: list[schema.Part] = []
        quiet: list[tuple[str, schema.NodesPart]] = []
        for message in messages:
            self._owner, self._pictures = f"message/{message.index}", 0
            for part in filter(lambda part: self._selection.shows(part.kind), shown_parts(message)):
                noun = p.quiet_noun(part)
                for drawn in self._part(part):
                    if noun in FOLDED and isinstance(drawn, schema.NodesPart):
                        quiet.append((noun, drawn))
                    else:
                        shown.append(drawn)
        return shown + ([part for _, part in quiet] if len(quiet) < 2 else [_folded(quiet)])

    def body(self, call: Call, *, full: bool = True) -> schema.CallBody:
        """The body of a call; with `full`, including recorded values that no other node shows."""
        self._owner, self._pictures = f"call/{call.index}", 0
        trimmer = self._trimmer()
        nodes = trimmer.nodes([*call.draw(full=full), *_attached_records(call)])
        return schema.CallBody(id=call.id, nodes=nodes, cut=trimmer.cut)

    def call(self, call: Call) -> schema.CallPart:
        """A call on one line."""
        tool_call = call.tool_call
        title = tools.title(tool_call)
        name, _, rest = title.partition(" ")
        labelled = name == call.name
        return schema.CallPart(
            index=call.index,
            id=call.id,
            name=call.name,
            label=call.name if labelled else "",
            title=rest if labelled else title,
            category=category_of(call.name),
            state=tool_call.outcome.state,
            note=_outcome_note(tool_call.outcome),
            seconds=tool_call.seconds,
            line=call.line,
            agents=self._agents(call) if tool_call.agent is not None else [],
        )

    def _part(self, part: p.MessagePart) -> Iterator[schema.Part]:
        match part:
            case p.MessageText():
                if part.text.strip():
                    text, chars = self._cut(part.text)
                    yield schema.TextPart(text=text, chars=chars)
            case p.MessageThinking():
                text, chars = self._cut(part.text)
                yield schema.ThinkingPart(text=text, chars=chars, seconds=part.seconds)
            case p.MessageCall():
                yield self.call(part.call)
            case p.CompactionPoint():
                yield self._compaction(part)
            case _:
                nodes = _nodes_of(part)
                if nodes:
                    trimmer = self._trimmer()
                    yield schema.NodesPart(nodes=trimmer.nodes(nodes), title=_title_of(part), cut=trimmer.cut)

    def _compaction(self, part: p.CompactionPoint) -> schema.CompactionPart:
        compaction = part.compaction
        summary, chars = self._cut(part.summary)
        return schema.CompactionPart(
            trigger=compaction.trigger,
            micro=compaction.micro,
            before=compaction.pre_tokens,
            after=compaction.post_tokens,
            summary=summary,
            chars=chars,
        )

    def _cut(self, text: str) -> tuple[str, int | None]:
        """The beginning of a text, and its whole length if it is cut."""
        if self._whole or len(text) <= CHARS:
            return text, None
        return text[:CHARS], len(text)

    def _trimmer(self) -> Trimmer:
        return Trimmer(self._next_url, whole=self._whole)

    def _next_url(self, picture: n.Picture) -> str | None:
        """The URL of the next picture of the current message or call."""
        number = self._pictures
        self._pictures += 1
        if picture.data is None or picture.media_type not in RASTER:
            return None
        return self._picture_url(self._owner, number, picture)


def _folded(parts: Sequence[tuple[str, schema.NodesPart]]) -> schema.NodesPart:
    """Closed parts as sections of one."""
    return schema.NodesPart(
        nodes=[n.Section(title=part.title, nodes=part.nodes, open=False) for _, part in parts],
        title=p.quiet_text(noun for noun, _ in parts),
        folded=True,
        cut=[
            schema.CutNode(path=[at, *cut.path], lines=cut.lines, chars=cut.chars)
            for at, (_, part) in enumerate(parts)
            for cut in part.cut
        ],
    )


def run_title(messages: Sequence[Message]) -> str:
    """The calls of a run, counted: 7 reads, 2 searches."""
    counts = Counter(category_of(call.name) for message in messages for call in message.calls)
    return ", ".join(plural(count, category) for category, count in counts.most_common() if category in RUN_CATEGORIES)


def _nodes_of(part: p.MessagePart) -> list[n.Node]:
    """The nodes of a part that is neither text, thinking nor a call."""
    match part:
        case p.MessageBlocks():
            return _block_nodes(part.blocks)
        case p.MetaContext():
            return [*_prose(part.text), *_block_nodes(part.blocks)]
        case p.CommandOutput():
            return [n.Terminal(text=part.text)] if part.text.strip() else []
        case p.MessageAside():
            return [n.Prose(text=part.text)]
        case p.NotificationReport():
            return [*_prose(part.report or ""), *n.facts(**part.fields)]
        case p.NoticeDetails():
            return [n.Data(value=part.fields)]
        case p.MessageAttachment():
            return _attachment_nodes(part.payload)
        case _:
            raise TypeError(f"Unknown part: {type(part).__name__}")


def _title_of(part: p.MessagePart) -> str:
    """The title under which a part stays closed; empty for a part that is open."""
    match part:
        case p.MetaContext():
            return one_line(part.message.text or part.text, TITLE) or "context"
        case p.MessageAside():
            return part.tag.replace("-", " ").replace("_", " ")
        case p.NotificationReport():
            return "report"
        case p.NoticeDetails():
            return DETAILS
        case p.MessageAttachment():
            kind = part.payload.get("type") or part.payload.get("subtype")
            name = next((v for name in NAMES if isinstance(v := part.payload.get(name), str) and v), "")
            words = kind.replace("_", " ") if isinstance(kind, str) else "attached"
            return one_line(f"{words} {name}", TITLE).strip()
        case _:
            return ""


def _prose(text: str) -> list[n.Node]:
    return [n.Prose(text=text)] if text.strip() else []


def _block_nodes(blocks: Sequence[Block]) -> list[n.Node]:
    return [with_dimensions(block_node(block)) for block in blocks]


def _attachment_nodes(payload: Mapping[str, Any]) -> list[n.Node]:
    """An attached file as its text, anything else as JSON."""
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


def _attached_records(call: Call) -> list[n.Node]:
    """The records attached to a call, such as its progress, in a closed section; of many, the last ones."""
    if not call.attached:
        return []
    records = [call.conversation.bodies.native(index) for index in call.attached[-ATTACHED_SHOWN:]]
    payloads = [as_dict(record.get("attachment")) or as_dict(record.get("data")) for record in records]
    title = p.quiet_text(p.attached_nouns(call))
    return [n.Section(title=title, nodes=[n.Data(value=payload) for payload in payloads], open=False)]


def _outcome_note(outcome: Outcome) -> str:
    """How a call failed, in a few words."""
    if outcome.state not in (FAILED, DENIED, INTERRUPTED):
        return ""
    code = f"exit code {outcome.exit_code}" if outcome.exit_code is not None else ""
    why = one_line(telling_line(strip_escapes(outcome.message)), NOTE)
    return ": ".join(part for part in (code, why) if part)
