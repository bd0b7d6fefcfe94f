"""The values that the browser and exported pages draw; the TypeScript types are generated from these.

The timeline of a session is a list of items, each one message or a run of small calls. Pages are slices of it.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from reread.accounting.billing import Usage
from reread.base.format import money_text
from reread.session.context_window import ContextFill
from reread.session.finding import Finding
from reread.tools.nodes import Node

TITLE = 120
"""Characters of a title at most."""


class Value(msgspec.Struct, kw_only=True, frozen=True):
    """A value sent to the reader."""


class Figures(Value, frozen=True):
    """Tokens and cost."""

    tokens: int = 0
    """Input, cache and output tokens."""
    output_tokens: int = 0
    cost_usd: float | None = None
    """None if no price is known."""
    unconfirmed_responses: int = 0
    """Responses without a final token count, which make the figures a lower bound."""
    unpriced_models: list[str] = []

    @property
    def cost_text(self) -> str:
        """The cost as text; empty if no price is known."""
        return money_text(self.cost_usd, lower_bound=bool(self.unconfirmed_responses or self.unpriced_models))

    @classmethod
    def of(cls, usage: Usage) -> Figures:
        """The figures of a usage."""
        return cls(
            tokens=usage.tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            unconfirmed_responses=usage.unconfirmed_responses,
            unpriced_models=list(usage.unpriced_models),
        )


class BranchInfo(Value, frozen=True):
    """A branch in a list of branches."""

    id: int
    active: bool
    title: str
    turns: int
    """Turns that are on no other branch."""
    parent: int | None = None


class AgentInfo(Value, frozen=True):
    """An agent in a list of agents or with its call."""

    id: str
    type: str | None
    title: str
    calls: int
    errors: int
    figures: Figures
    seconds: float | None = None
    running: bool = False
    failed: bool = False
    """Whether the call that started it failed."""
    parent: str | None = None
    """The agent that started it; None for the main conversation."""
    call: str | None = None
    """The id of the call that started it."""


class Overview(Value, frozen=True):
    """The head of the page of a session or of one of its agents."""

    key: str
    id: str
    title: str
    project: str
    project_guessed: bool
    path: str | None
    git_branches: list[str]
    versions: list[str]
    models: list[str]
    dialects: list[str]
    """The dialects of the first and last records."""
    started: datetime | None
    ended: datetime | None
    live: bool
    turns: int
    """Turns on the branch."""
    items: int
    """Items on the branch."""
    branch: int
    branches: list[BranchInfo]
    agents: list[AgentInfo]
    """All agents of the session, however deeply nested; none if nothing was counted yet."""
    agent_turns: dict[str, int]
    """The turn that started each agent, for those whose call is on the branch."""
    agent: AgentInfo | None
    """The agent whose page this is."""
    tools: dict[str, int]
    """How many times each tool was called."""
    errors: int | None
    """Failed calls and API errors; None if nothing was counted yet."""
    malformed: int
    """Lines that could not be read."""
    replaced: bool = False
    """Whether the file has vanished; what was read is still shown."""
    state: list[Node] = []
    """The texts of a file without messages."""


class UsageSummary(Value, frozen=True):
    """The usage of a session, which takes longer to count than a page takes to load."""

    figures: Figures
    by_model: dict[str, Figures]
    context: list[ContextFill]
    """How full the context was in each turn with a response; of many turns, the fullest of each group."""


class CutNode(Value, frozen=True):
    """A node of which only the beginning was sent."""

    path: list[int]
    """Its position in the list, and in each section around it."""
    lines: int
    """The number of lines in the whole node."""
    chars: int
    tail: str = ""
    """The last lines of a program's output."""


class Part(Value, frozen=True, tag_field="part"):
    """A part of an item."""


class TextPart(Part, frozen=True, tag="text"):
    """A text in Markdown."""

    text: str
    chars: int | None = None
    """The length of the whole text if it was cut."""


class ThinkingPart(Part, frozen=True, tag="thinking"):
    """A thinking block; its text is empty if only the signature was recorded."""

    text: str
    chars: int | None = None
    seconds: float | None = None
    """How long it took; None if unknown."""


class CallPart(Part, frozen=True, tag="call"):
    """A call on one line; its body is requested when it is opened."""

    index: int
    """Its index among the conversation's calls, for `calls/{index}`."""
    id: str
    name: str
    label: str
    """The tool's name, shown before the title; empty if the title contains a name of its own."""
    title: str
    """The title of the call, without the tool's name."""
    category: str
    """read, search, edit, run, agent, web, plan or other."""
    state: str
    """running, done, failed, denied or interrupted; the failed ones are counted and filtered as errors."""
    detail: str = ""
    """The command that it ran, if the title describes it in other words."""
    note: str = ""
    """How it failed, in a few words."""
    seconds: float | None = None
    line: int = 0
    agents: list[AgentInfo] = []
    """The agents it started."""
    quiet: str = ""
    """The records attached to it and folded away, counted: 2 hooks."""


class NodesPart(Part, frozen=True, tag="nodes"):
    """Pictures and other blocks, as nodes."""

    nodes: list[Node]
    title: str = ""
    """The title of a part that is closed at first, such as an attached file; empty for one that is open."""
    cut: list[CutNode] = []
    """The nodes that were cut; `whole` requests all of them."""
    folded: bool = False
    """Whether it stands for several closed parts, each of them a section."""


class CompactionPart(Part, frozen=True, tag="compaction"):
    """A compaction."""

    trigger: str | None
    micro: bool
    before: int | None
    """Tokens in the context before."""
    after: int | None
    summary: str
    chars: int | None = None


class ForkBranch(Value, frozen=True):
    """A branch that can be chosen at a fork."""

    id: int
    title: str
    """Its first words after the fork."""


class ForkPart(Part, frozen=True, tag="fork"):
    """A fork: the branches that can be chosen here."""

    branches: list[ForkBranch]
    shown: int
    """The id of the branch that is shown."""


class ResponseInfo(Value, frozen=True):
    """A response of the model, by the API's id."""

    id: str
    model: str | None
    figures: Figures
    time: datetime | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    service_tier: str | None = None
    request_id: str | None = None


class CommitInfo(Value, frozen=True):
    """A commit that a turn made."""

    sha: str
    """As far as the transcript states it."""
    subject: str
    branch: str
    call: str
    """The id of the call that made it."""
    agent: str | None = None
    """The agent whose call it is; None in the main conversation."""


class PullRequestInfo(Value, frozen=True):
    """A pull request that a turn created, changed or was linked to."""

    number: int
    url: str
    repository: str
    """Owner and name."""
    action: str
    """created, merged, commented …, or linked if the client linked the session to it."""
    call: str | None = None
    agent: str | None = None


class TimelineItem(Value, frozen=True):
    """One message or a run of small calls in the timeline."""

    index: int
    """Its position on the branch."""
    key: str
    """Its name in links: the id of its first message, or another unique name."""
    kind: str
    """prompt, command, response, run or compaction; or a message from the client: output, notification, interrupt,
    hook, error, notice or meta."""
    author: str
    """person, model, command, hook, peer, task or client."""
    turn: int
    """Counted from 1."""
    line: int
    time: datetime | None
    parts: list[Part]
    after: datetime | None = None
    """When the turn before it ended, if it begins a turn."""
    title: str = ""
    """The calls of a run, counted."""
    label: str = ""
    """Who or what sent a notice, if its kind alone does not say it."""
    model: str | None = None
    flags: list[str] = []
    """error, deleted, superseded, aborted, queued or dropped."""
    responses: list[ResponseInfo] = []
    """The responses in it."""
    context: int | None = None
    """Tokens in the context after its last response."""
    grew: int | None = None
    """How many more that are than after the response before; None if there is none, or one of them reports nothing."""
    new_model: str | None = None
    """The model of its responses, if the response before had another one or there is none."""
    fields: NodesPart | None = None
    """The fields of its records that these parts do not show."""
    figures: Figures | None = None
    """The usage of the whole turn, if this is its last item."""
    seconds: float | None = None
    """The duration of the whole turn, if this is its last item."""
    commits: list[CommitInfo] = []
    """The commits of the whole turn, if this is its last item."""
    pull_requests: list[PullRequestInfo] = []
    cache_breaks: list[str] = []
    """What its requests had to write to the cache again, and why: one line each."""


class ItemPage(Value, frozen=True):
    """A slice of the timeline."""

    start: int
    total: int
    """Items on the branch."""
    stamp: int
    """A number that grows with the file; pages with another stamp may be out of date."""
    items: list[TimelineItem]


class OutlineTurn(Value, frozen=True):
    """A turn in the outline."""

    index: int
    """Counted from 1."""
    item: int
    """Its first item."""
    title: str
    """The first words of its prompt."""
    time: datetime | None
    marks: str
    """One letter per call: `.` done, `e` edit, `a` agent, `x` failed, `?` denied or interrupted, `r` running."""
    more: int = 0
    """How many calls have no letter."""
    errors: int = 0
    edits: int = 0
    agents: int = 0
    branches: int = 0
    """How many other branches start in it."""
    compacted: bool = False


class Outline(Value, frozen=True):
    """A slice of the outline."""

    start: int
    total: int
    stamp: int
    turns: list[OutlineTurn]


class WaterfallTurn(Value, frozen=True):
    """When a turn began and ended, in milliseconds since 1970."""

    index: int
    """Counted from 1."""
    item: int
    """Its first item."""
    start: int
    end: int


class WaterfallSpan(Value, frozen=True):
    """When something was at work, in milliseconds since 1970."""

    kind: str
    """model, tool, agent, or person for a call that waits for an answer."""
    turn: int
    item: int
    start: int
    end: int
    name: str
    """The model, the tool, or what the agent does."""
    state: str = ""
    """The state of its call."""
    call: int | None = None
    """The index of its call."""


class Waterfall(Value, frozen=True):
    """A conversation over time; what has no time is left out."""

    turns: list[WaterfallTurn]
    spans: list[WaterfallSpan]


class CallBody(Value, frozen=True):
    """The body of a call."""

    id: str
    nodes: list[Node]
    cut: list[CutNode]
    """The nodes that were cut; `whole` requests all of them."""


class RawLine(Value, frozen=True):
    """A line of the file and what became of it."""

    line: int
    offset: int
    text: str
    """The JSON as written."""
    chars: int | None
    """The length of the whole line if it was cut."""
    fate: str
    reason: str


class RawLines(Value, frozen=True):
    """The lines of a message or a call."""

    path: str | None
    lines: list[RawLine]


class Place(Value, frozen=True):
    """A place in a timeline."""

    item: int
    key: str
    branch: int
    agent: str | None = None
    call: int | None = None
    """The index of the call to open."""


class SearchHit(Value, frozen=True):
    """A place where a searched text occurs."""

    item: int
    key: str
    turn: int
    agent: str | None
    """The agent in whose conversation it is; None for the conversation that was searched."""
    call: int | None
    where: str
    """prompt, text, thinking, call or notice."""
    tool: str | None
    """The tool of the call."""
    before: str
    match: str
    after: str


class SearchHits(Value, frozen=True):
    """The hits found so far."""

    hits: list[SearchHit]
    next: int | None
    """The item to continue at; None if all items were searched."""
    searched: int
    """Items searched so far; those of agents follow the main conversation's."""
    total: int


class FilterResult(Value, frozen=True):
    """The items found so far that match a filter."""

    indices: list[int]
    turns: list[int]
    """The turn of each of them."""
    next: int | None
    """The item to continue at; None if all items were filtered."""
    total: int


class Problems(Value, frozen=True):
    """The problems found in the file."""

    problems: list[Finding]
    more: int
    """How many more there are."""


class TimelineUpdate(Value, frozen=True):
    """A live session has grown or changed."""

    stamp: int
    branch: int
    """The branch that was requested; else the active one, which may have changed."""
    items: int
    turns: int
    first: int
    """The first item that changed; the number of items if none did."""
    live: bool
    agents: list[str] = []
    """The ids of agents that are new or changed."""
    rewritten: bool = False
    gone: bool = False
    """Whether the file has vanished."""


class OpeningProgress(Value, frozen=True):
    """How much of a large file has been read."""

    read: int
    size: int
