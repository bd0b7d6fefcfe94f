"""Messages and calls as the parts that the reader draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from reread import tools
from reread.base.choices import DENIED, FAILED, INTERRUPTED
from reread.base.coerce import as_dict, as_str
from reread.base.sanitize import strip_escapes
from reread.base.text import one_line, plural, telling_line
from reread.model import parts as p
from reread.model.conversation import Call, Message
from reread.model.remaining_fields import other_fields, state_after
from reread.reader import schema
from reread.reader.timeline import RUN_CATEGORIES, category_of
from reread.reader.trim import CHARS, Trimmer
from reread.render.format import agent_of
from reread.render.part_nodes import call_nodes, part_nodes, part_title
from reread.render.selection import EVERYTHING, Selection
from reread.render.sequence import SESSION_STATE
from reread.session.commits import Commit, PullRequest
from reread.tools import nodes as n
from reread.tools.outcome import Outcome
from reread.tools.unshown_fields import OTHER_FIELDS, leftover_nodes

RASTER = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The pictures that a browser may show: formats that cannot contain a script."""
SELF_EXPLANATORY = frozenset({"compaction", "notification", "output"})
"""The kinds of notice whose details are not a part."""
NOTE = 160
"""Characters of a note at most; the page cuts it to its width."""
DETAIL, TITLE_START = 240, 40
"""Characters of a command at most; and how many of them, found in the title, mean that it is the command."""
ATTACHED_SHOWN = 20
"""How many of the records attached to a call are shown."""
FOLDED = (p.HOOK, p.FAILED_HOOK, p.CONTEXT, p.PROGRESS)
"""The parts that are folded into one part of an item."""

PictureUrl = Callable[[str, int, n.Picture], str | None]
"""The URL of a picture, from the message or call it belongs to, its number among that one's pictures, and itself."""


def shown_parts(message: Message) -> Iterator[p.MessagePart]:
    """The parts of a message that the reader shows and searches: all but some details, which are recorded fields."""
    for part in p.message_parts(message):
        if not (isinstance(part, p.NoticeDetails) and message.kind in SELF_EXPLANATORY):
            yield part


class PartBuilder:
    """Builds the schema's parts from messages and calls."""

    def __init__(
        self,
        picture_url: PictureUrl,
        agents: Callable[[Call], list[schema.AgentInfo]],
        *,
        whole: bool = False,
        full: bool = True,
        selection: Selection = EVERYTHING,
    ) -> None:
        self._picture_url = picture_url
        self._agents = agents
        self._whole = whole
        self._full = full
        self._selection = selection
        self._owner = ""
        self._pictures = 0
        self._selected: dict[int, list[p.MessagePart]] = {}
        """The selected parts of the messages of the item drawn last."""

    def parts(self, *messages: Message) -> list[schema.Part]:
        """The selected parts of the messages of an item; hooks and context are folded into one part at the end."""
        shown: list[schema.Part] = []
        quiet: list[tuple[str, schema.NodesPart]] = []
        self._selected = {}
        for message in messages:
            self._owner, self._pictures = f"message/{message.index}", 0
            for part in self.selected(message):
                noun = p.quiet_noun(part)
                for drawn in self._part(part):
                    if noun in FOLDED and isinstance(drawn, schema.NodesPart):
                        quiet.append((noun, drawn))
                    else:
                        shown.append(drawn)
        return shown + ([part for _, part in quiet] if len(quiet) < 2 else [_folded(quiet)])

    def shows(self, part: p.MessagePart) -> bool:
        """True if a part is selected."""
        selection = self._selection
        return selection.shows(part.kind) and (not isinstance(part, p.MessageCall) or selection.shows_call(part.call))

    def selected(self, message: Message) -> list[p.MessagePart]:
        """The selected parts of a message; those of the item drawn last are known."""
        if message.index not in self._selected:
            self._selected[message.index] = list(filter(self.shows, shown_parts(message)))
        return self._selected[message.index]

    def fields(self, messages: Sequence[Message]) -> schema.NodesPart | None:
        """Return the fields of some messages' records that their parts do not show; None without `full`."""
        if not self._full:
            return None
        left = (other_fields(message, self.selected(message)) for message in messages)
        drawn: list[n.Node] = [n.Data(value=fields) for fields in left if fields]
        for message in messages:
            drawn += leftover_nodes(state_after(message), SESSION_STATE)
        trimmer = self._trimmer()
        nodes = trimmer.nodes(drawn)
        return schema.NodesPart(nodes=nodes, title=OTHER_FIELDS, cut=trimmer.cut) if nodes else None

    def body(self, call: Call) -> schema.CallBody:
        """The body of a call; with `full`, including recorded values that no other node shows."""
        self._owner, self._pictures = f"call/{call.index}", 0
        trimmer = self._trimmer()
        nodes = trimmer.nodes(call_nodes(call, full=self._full, attached=None if self._whole else ATTACHED_SHOWN))
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
            detail=_detail(call, title),
            category=category_of(call.name),
            state=tool_call.outcome.state,
            note=_outcome_note(tool_call.outcome),
            seconds=tool_call.seconds,
            line=call.line,
            agents=self._agents(call) if tool_call.agent is not None else [],
            quiet=p.quiet_text(p.attached_nouns(call)),
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
                nodes = part_nodes(part)
                if nodes:
                    trimmer = self._trimmer()
                    yield schema.NodesPart(nodes=trimmer.nodes(nodes), title=part_title(part), cut=trimmer.cut)

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
        title=p.quiet_text(noun for noun, _ in parts) or p.PROGRESS,
        folded=True,
        cut=[
            schema.CutNode(path=[at, *cut.path], lines=cut.lines, chars=cut.chars)
            for at, (_, part) in enumerate(parts)
            for cut in part.cut
        ],
    )


def response_info(message: Message) -> schema.ResponseInfo:
    """A response with its figures and what the API said of it."""
    facts = message.api_facts
    return schema.ResponseInfo(
        id=message.id,
        model=message.model,
        figures=schema.Figures.of(message.usage),
        time=message.timestamp,
        stop_reason=message.stop_reason,
        stop_sequence=facts.stop_sequence,
        service_tier=facts.service_tier,
        request_id=facts.request_id,
    )


def commit_info(commit: Commit) -> schema.CommitInfo:
    """A commit that a turn made."""
    return schema.CommitInfo(
        sha=commit.sha,
        subject=commit.subject or "",
        branch=commit.branch or "",
        call=commit.call.id,
        agent=agent_of(commit.call),
    )


def pull_request_info(pull: PullRequest) -> schema.PullRequestInfo:
    """A pull request of a turn."""
    return schema.PullRequestInfo(
        number=pull.number,
        url=pull.url or "",
        repository=pull.repository or "",
        action=pull.action or "linked",
        call=pull.call.id if pull.call is not None else None,
        agent=agent_of(pull.call) if pull.call is not None else None,
    )


def run_title(parts: Sequence[schema.Part]) -> str:
    """The calls of a run, counted: 7 reads, 2 searches."""
    counts = Counter(part.category for part in parts if isinstance(part, schema.CallPart))
    return ", ".join(plural(count, category) for category, count in counts.most_common() if category in RUN_CATEGORIES)


def _detail(call: Call, title: str) -> str:
    """The command of a call, unless its title is the command."""
    command = as_str(as_dict(call.input).get("command")) if category_of(call.name) == "run" else None
    shown = one_line(command, DETAIL) if command else ""
    return "" if shown and shown[:TITLE_START] in title else shown


def _outcome_note(outcome: Outcome) -> str:
    """How a call failed, in a few words."""
    if outcome.state not in (FAILED, DENIED, INTERRUPTED):
        return ""
    code = f"exit code {outcome.exit_code}" if outcome.exit_code is not None else ""
    why = one_line(telling_line(strip_escapes(outcome.message)), NOTE)
    return ": ".join(part for part in (code, why) if part)
