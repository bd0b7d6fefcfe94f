"""Pages: what the web reader and the HTML export draw, as values. The TypeScript types are generated from here.

A session is a long document: a list of passages, each one message or a run of small calls. Pages are slices of it.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from reread.accounting.billing import Usage
from reread.catalog.summaries import Header
from reread.render.format import heading
from reread.session.context_window import ContextFill
from reread.tools.nodes import Node

TITLE = 120
"""How long a title is at most."""


class Value(msgspec.Struct, kw_only=True, frozen=True):
    """Something that is sent to the reader."""


class Figures(Value, frozen=True):
    """What was spent."""

    tokens: int = 0
    """All of them: input, cache and output."""
    output_tokens: int = 0
    cost_usd: float | None = None
    """None where nothing could be priced."""
    unconfirmed_responses: int = 0
    """Responses without a final token count: the figures are a lower bound."""
    unpriced_models: list[str] = []

    @classmethod
    def of(cls, usage: Usage) -> Figures:
        """What was spent, as the reader shows it."""
        return cls(
            tokens=usage.tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            unconfirmed_responses=usage.unconfirmed_responses,
            unpriced_models=list(usage.unpriced_models),
        )


class LibraryRow(Value, frozen=True):
    """A session as a row of the library; what only its whole file can tell comes later."""

    key: str
    """What addresses call it."""
    id: str
    title: str
    project: str
    project_guessed: bool = False
    git_branch: str | None = None
    version: str | None = None
    started: datetime | None = None
    updated: datetime | None = None
    size: int = 0
    captured: bool = False
    """Whether it is a captured stream, not a transcript."""
    live: bool = False
    """Whether it is being written now."""
    models: list[str] = []
    turns: int | None = None
    agents: int | None = None
    figures: Figures | None = None

    @classmethod
    def of(cls, key: str, header: Header) -> LibraryRow:
        """A session as far as its header tells."""
        return cls(
            key=key,
            id=header.id,
            title=heading(header.title, TITLE),
            project=header.project,
            project_guessed=header.project_guessed,
            git_branch=header.git_branch,
            version=header.version,
            started=header.started,
            updated=header.updated,
            size=header.size,
            captured=header.captured,
            models=[header.model] if header.model else [],
        )


class Library(Value, frozen=True):
    """Every session, newest first."""

    sessions: list[LibraryRow]
    roots: list[str]
    """Where they were looked for."""
    pending: int = 0
    """How many are still to be counted."""
    demo: bool = False


class BranchMark(Value, frozen=True):
    """A branch, where one can be chosen."""

    id: int
    active: bool
    title: str
    """What it begins with."""
    turns: int
    """Those that are on no other."""
    parent: int | None = None


class AgentMark(Value, frozen=True):
    """An agent, where it is named."""

    id: str
    type: str | None
    title: str
    """What it was asked to do."""
    calls: int
    errors: int
    figures: Figures
    seconds: float | None = None
    running: bool = False
    parent: str | None = None
    """The agent that started it; None for the main thread."""
    call: str | None = None
    """The id of the call that did."""


class Overview(Value, frozen=True):
    """A session, or one of its agents alone, as the head of its page."""

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
    """Those of the first and the last records."""
    started: datetime | None
    ended: datetime | None
    live: bool
    turns: int
    """On the branch."""
    items: int
    """On the branch."""
    branch: int
    branches: list[BranchMark]
    agents: list[AgentMark]
    """All of the session's, all depths."""
    agent: AgentMark | None
    """The agent whose page this is."""
    tools: dict[str, int]
    """How often each tool was called."""
    errors: int
    """Calls that failed, and errors of the API."""
    malformed: int
    """Lines that could not be read."""
    replaced: bool = False
    """Whether the file vanished since; what was read is still shown."""


class UsageSummary(Value, frozen=True):
    """What a session spent: counting takes longer than the page."""

    figures: Figures
    by_model: dict[str, Figures]
    context: list[ContextFill]
    """Turns with a response; of many, the fullest of each stretch."""


class Cut(Value, frozen=True):
    """A long text in a node that was not sent whole."""

    path: list[int]
    """The node, by its place in the list and in each section around it."""
    lines: int
    """How many it has in all."""
    chars: int


class Part(Value, frozen=True, tag_field="part"):
    """A piece of a passage."""


class TextPart(Part, frozen=True, tag="text"):
    """Markdown."""

    text: str
    chars: int | None = None
    """Its whole length, where it was cut."""


class ThinkingPart(Part, frozen=True, tag="thinking"):
    """A thought; without text where only its signature was kept."""

    text: str
    chars: int | None = None
    seconds: float | None = None
    """How long it took, where that is known."""


class CallPart(Part, frozen=True, tag="call"):
    """A call on one line; its body is asked for when it is opened."""

    index: int
    """Its place among the conversation's calls: what `calls/{index}` asks for."""
    id: str
    name: str
    label: str
    """What stands before the title: the tool's name, or nothing where the title has a name of its own."""
    title: str
    """What it does, without the tool's name."""
    category: str
    """read, search, edit, run, agent, web, plan or other."""
    state: str
    """running, done, failed, denied or interrupted."""
    is_error: bool = False
    """Whether its result says that it is one: what errors are counted and filtered by."""
    note: str = ""
    """How it ended, in a few words, where that says more than the state."""
    seconds: float | None = None
    line: int = 0
    agents: list[AgentMark] = []
    """Those it started."""


class NodesPart(Part, frozen=True, tag="nodes"):
    """Pictures and other blocks, as nodes."""

    nodes: list[Node]
    title: str = ""
    """Where it stays closed until asked for: an aside of the client, a file that was attached."""
    cut: list[Cut] = []
    """What is not whole here; `whole` asks for all."""


class CompactionPart(Part, frozen=True, tag="compaction"):
    """The conversation was summed up here."""

    trigger: str | None
    micro: bool
    before: int | None
    """Tokens."""
    after: int | None
    summary: str
    chars: int | None = None


class ForkBranch(Value, frozen=True):
    """A branch where it parts from others."""

    id: int
    title: str
    """What it goes on with."""


class ForkPart(Part, frozen=True, tag="fork"):
    """Branches part here: the one that is shown, and the others."""

    branches: list[ForkBranch]
    shown: int
    """The id of the one among them that is on this page."""


class TimelineItem(Value, frozen=True):
    """One message, or a run of small calls, as a piece of the document."""

    index: int
    """Its place on the branch."""
    key: str
    """What links call it: the id of its first message, else something as good."""
    kind: str
    """prompt, command, response, run, compaction; or what the client says: output, notification, interrupt, hook,
    error, notice, summary, meta."""
    turn: int
    """From 1."""
    line: int
    time: datetime | None
    parts: list[Part]
    title: str = ""
    """Of a run: what it did, counted."""
    model: str | None = None
    flags: list[str] = []
    """error, deleted, superseded, aborted, queued."""
    figures: Figures | None = None
    """At the end of a turn: what the whole turn spent."""
    seconds: float | None = None
    """At the end of a turn: how long it took."""


class Page(Value, frozen=True):
    """A slice of the document."""

    start: int
    total: int
    """Passages on the branch."""
    stamp: int
    """Grows with the file: pages of another stamp may be out of date."""
    items: list[TimelineItem]


class TurnMark(Value, frozen=True):
    """A turn in the outline."""

    index: int
    """From 1."""
    item: int
    """Where it begins."""
    title: str
    """The prompt's first words."""
    time: datetime | None
    marks: str
    """One letter a call, in order: `.` done, `e` edit, `a` agent, `x` failed, `?` denied or stopped, `r` running."""
    more: int = 0
    """Calls beyond those that have a mark."""
    errors: int = 0
    edits: int = 0
    agents: int = 0
    branches: int = 0
    """Branches that leave in it, besides this one."""
    compacted: bool = False


class Outline(Value, frozen=True):
    """A slice of the turns."""

    start: int
    total: int
    stamp: int
    turns: list[TurnMark]


class CallBody(Value, frozen=True):
    """A call, opened."""

    id: str
    nodes: list[Node]
    cut: list[Cut]
    """What is not whole here; `whole` asks for all."""


class RawLine(Value, frozen=True):
    """A line as it stands in the file, with what became of it."""

    line: int
    offset: int
    text: str
    """The JSON as written."""
    chars: int | None
    """Its whole length, where it was cut."""
    fate: str
    reason: str


class RawLines(Value, frozen=True):
    """The lines that a message or a call was made of."""

    path: str | None
    lines: list[RawLine]


class Place(Value, frozen=True):
    """Where something stands in the document."""

    item: int
    key: str
    branch: int
    agent: str | None = None
    call: int | None = None
    """The call to open."""


class Hit(Value, frozen=True):
    """A place where a text was found."""

    item: int
    key: str
    turn: int
    agent: str | None
    """The agent in whose talk it stands, with its passage and turn; None for the one that was asked about."""
    call: int | None
    where: str
    """prompt, text, thinking, call, or notice."""
    before: str
    match: str
    after: str


class Hits(Value, frozen=True):
    """What was found so far."""

    hits: list[Hit]
    next: int | None
    """Where to go on from; None when all was looked through."""
    searched: int
    """Passages looked through so far, those of agents after those of the main thread."""
    total: int


class Filtered(Value, frozen=True):
    """The passages that fit a filter, as far as they were looked through."""

    indices: list[int]
    next: int | None
    """The passage to go on from; None when all was looked through."""
    total: int


class Problem(Value, frozen=True):
    """Something that is odd about the file."""

    code: str
    level: str
    """error, warning or info."""
    line: int
    text: str


class Problems(Value, frozen=True):
    """What is odd about the file, with the line of each."""

    problems: list[Problem]
    more: int
    """How many are left out."""


class TimelineUpdate(Value, frozen=True):
    """A live session went on: from this passage on, pages are out of date."""

    stamp: int
    branch: int
    """The branch that is told of: where none was asked for, the active one, which may have become another."""
    items: int
    turns: int
    first: int
    """The first passage that changed; the number of passages where none did."""
    live: bool
    agents: list[str] = []
    """The agents that changed or appeared."""
    rewritten: bool = False
    gone: bool = False
    """Whether the file vanished."""


class OpeningProgress(Value, frozen=True):
    """How far a large file has been read."""

    read: int
    size: int
