"""A session in the terminal: Markdown rendered, each call on one line with its result below."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text
from rich.theme import Theme

from reread.accounting.prices import model_text
from reread.base.choices import DONE, FAILED
from reread.base.coerce import as_dict
from reread.base.format import duration_text, period_text, time_text
from reread.base.sanitize import plain_text, safe, safe_line
from reread.base.text import one_line, plural
from reread.model import parts as p
from reread.model.conversation import Agent, Call, Message
from reread.records.decode import Record
from reread.render.format import (
    MARKS,
    cache_break_text,
    commit_text,
    more_fields,
    notice_label,
    pull_text,
    queued_text,
    result_text,
    session_cost_text,
    session_start_text,
    setup_text,
    unread_text,
    usage_text,
)
from reread.render.highlight import rendered_markdown
from reread.render.long_text import LONG, LongText, excerpt, indented
from reread.render.part_nodes import call_nodes, mark_details, missed_call_fields, part_nodes, part_title
from reread.render.selection import agents_at_end, is_shown_at_end
from reread.render.sequence import (
    BranchStart,
    DroppedStart,
    ForkList,
    QuietMark,
    RecordFields,
    ResponseEnd,
    TurnCommits,
    TurnStart,
    compaction_title,
    conversation_sequence,
    is_drawn,
    notice_text,
    session_sequence,
)
from reread.render.terminal_nodes import NodeView, hidden_lines
from reread.session.changes import Change
from reread.session.results import turn_result
from reread.session.session import Session, unplaced_results
from reread.tools.unshown_fields import leftover_nodes

THEME = Theme(
    {
        "prompt": "bold",
        "bar": "cyan",
        "quiet": "dim",
        "thinking": "dim italic",
        "ok": "green",
        "failed": "red",
        "odd": "yellow",
        "tool": "bold",
        "added": "green",
        "removed": "red",
        "err": "red",
        "number": "dim",
        "mark": "reverse",
        "markdown.code": "cyan",
        "markdown.code_block": "cyan",
    }
)
SHORT_TEXT = 3
"""Lines of thinking, a notice or a summary shown without `full`."""
SPARED = 2
"""So many lines more are shown rather than counted."""
SHORT_LINE = 400
"""Characters of a line of these shown without `full`."""
LARGE = 32 << 20
"""Bytes of a session above which its cost is shown at the end: counting 100 MB takes a quarter of a second."""
STATES = {DONE: "ok", FAILED: "failed"}
"""The style of a call's mark in each state; any other is odd."""
NOTICES = {"error": "failed", "interrupt": "odd"}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise, so that the command line handles a closed pipe as it does for all other output."""
        raise


def make_console(**options: Any) -> Console:
    """A console that takes nothing in a text for markup and never writes a hyperlink."""
    return _Console(theme=THEME, highlight=False, markup=False, emoji=False, soft_wrap=False, **options)


class TerminalView(NodeView):
    """Draws sessions, the items of a sequence and nodes as `rich` renderables."""

    def session(self, session: Session) -> Iterator[RenderableType]:
        """A session from its title to its totals."""
        items = session_sequence(session, self.selection)
        cost = "" if _is_large(session) else session_cost_text(session.usage)
        yield Text(safe_line(session.title or "(no title)"), style="bold")
        yield Text(safe_line(" · ".join(_facts(session, cost))), style="quiet")
        for item in items:
            yield from self.item(item)
        for agent, reason in agents_at_end(session, self.selection):
            yield Text()
            yield Text(safe_line(f"◇ agent {agent.id} {agent.type or ''}: {reason}"))
            yield from self._nested(agent)
        if self.selection.shows_totals:
            yield from _totals(session)

    def turn_start(self, item: TurnStart) -> Iterator[RenderableType]:
        """An empty line between turns."""
        yield Text()

    def text(self, part: p.MessageText) -> Iterator[RenderableType]:
        """A prompt, a text of a response or a notice."""
        if part.kind == p.PROMPTS:
            yield from self._prompt(part.message, part.text)
        elif part.kind == p.TEXT:
            for style, text in self._pieces(part.text):
                yield Text(text, style=style) if style else rendered_markdown(text)
        else:
            yield from self.notice(part)

    def _pieces(self, text: str, style: str = "") -> list[tuple[str, str]]:
        """A text made safe, with its style; if it is long, without `full`, its beginning, a note and its end."""
        cut = None if self.selection.full else excerpt(text)
        pieces = [(style, text)] if cut is None else zip((style, "quiet", style), cut, strict=True)
        return [(style, safe(piece).strip()) for style, piece in pieces]

    def _prompt(self, message: Message, text: str) -> Iterator[RenderableType]:
        """A prompt with a bar beside it, and its time on its first line."""
        bar = Text("▌ ", style="bar")
        mark = "(deleted) " if "deleted" in message.flags else ""
        when = time_text(message.timestamp)
        for style, piece in self._pieces(text, "prompt"):
            shown = mark + (piece or "(empty prompt)")
            if len(shown) > LONG:
                yield PrefixedText(Text(when, style="quiet"), first=bar, others=bar)
                yield LongText(shown, style, first=bar, others=bar)
                continue
            for line in shown.split("\n"):
                yield PrefixedText(
                    Text.assemble((line, style), (f"  {when}" if when else "", "quiet")), first=bar, others=bar
                )
                when = ""
            mark = ""

    def notice(self, part: p.MessageText | p.CommandOutput) -> Iterator[RenderableType]:
        """A notice from the client, or the output of a local command."""
        style = NOTICES.get(part.message.kind, "quiet")
        label = safe_line(notice_label(part.message))
        yield from self._short_text(f"· {label}: ", notice_text(part, full=self.selection.full) or "(empty)", style)

    def thinking(self, part: p.MessageThinking) -> Iterator[RenderableType]:
        """Thinking, dimmed."""
        took = f"{duration_text(part.seconds)}  " if part.seconds is not None else ""
        text = part.text if part.text.strip() else "thinking (not recorded)"
        yield from self._short_text(f"∴ {took}", text, "thinking")

    def _short_text(self, prefix: str, text: str, style: str) -> Iterator[RenderableType]:
        """The first lines of a text, indented by two; they are cut before they are made safe, which takes longer."""
        full = self.selection.full
        lines = (safe(text) if full else text).strip().split("\n")
        most = SHORT_TEXT if len(lines) > SHORT_TEXT + SPARED else SHORT_TEXT + SPARED
        short = (line if len(line) <= SHORT_LINE else one_line(line, SHORT_LINE) for line in lines[:most])
        shown = lines if full else list(short)
        yield _bullet(prefix + safe("\n".join(shown)), style)
        if len(shown) < len(lines):
            yield from hidden_lines(len(lines) - len(shown), 2)
        elif left_out := sum(map(len, lines)) - sum(map(len, shown)):
            yield Text(f"  … {plural(left_out, 'more character')} (--full)", style="quiet")

    def background(self, part: p.MessagePart) -> Iterator[RenderableType]:
        """Pictures and other blocks, and what the client added, under its title."""
        title = part_title(part)
        if title:
            yield Text(f"  {plain_text(title)}:", style="quiet")
        yield from self.indented(part_nodes(part))

    def mark(self, part: p.SessionStart | p.ClientSetup | p.TurnEnd) -> Iterator[RenderableType]:
        """Another session, a setup or the end of a turn, on one line; with `full`, everything recorded of it."""
        if isinstance(part, p.SessionStart):
            yield Rule(Text(safe_line(session_start_text(part.session)), style="odd"), style="odd")
        elif isinstance(part, p.ClientSetup):
            yield _bullet(safe_line(f"· {setup_text(part.fields, part.before)}"), "quiet")
        else:
            result = turn_result(part.line, dict(part.record))
            yield _bullet(safe(f"· {result_text(result)}"), "failed" if result.is_error else "quiet")
        if self.selection.full:
            yield from self.indented(mark_details(part))

    def queued(self, part: p.QueuedPrompt) -> Iterator[RenderableType]:
        """A prompt that was queued and never sent, as a notice."""
        if not part.is_typed:
            yield from self.background(part)
            return
        yield from self._short_text(f"· {queued_text(part)}: ", part.text, "odd")
        yield from self.indented(part_nodes(part)[2:])

    def record_fields(self, item: RecordFields) -> Iterator[RenderableType]:
        """Yield the fields of records that the parts of their message do not show."""
        yield from self.indented(leftover_nodes(item.fields, item.title))

    def call(self, part: p.MessageCall) -> Iterator[RenderableType]:
        """A call, its result below it and its agents below that."""
        call = part.call
        full = self.selection.full
        nodes = call_nodes(call, full=full)
        yield call_line(call, [] if full else missed_call_fields(call, nodes))
        yield from self.indented(nodes)
        for agent in call.agents:
            if is_shown_at_end(agent):
                yield Text(safe_line(f"    ◇ agent {agent.id} is shown at the end"), style="quiet")
            else:
                yield from self._nested(agent)

    def compaction(self, part: p.CompactionPoint) -> Iterator[RenderableType]:
        """A horizontal rule with the figures, and the summary below it; one line if only old results were cleared."""
        if part.compaction.micro:
            yield Text(safe_line(f"· {compaction_title(part.compaction)}"), style="quiet")
            return
        yield Rule(Text(safe_line(compaction_title(part.compaction)), style="odd"), style="odd")
        if part.summary:
            yield from self._short_text("  ", part.summary, "quiet")

    def fork(self, item: ForkList) -> Iterator[RenderableType]:
        """The ways on from here, each with the command that shows it."""
        for choice in item.choices:
            state = " (shown)" if choice.shown else ""
            yield Text(safe_line(f"⑂ path {choice.branch}{state}: {choice.title}"), style="odd")
            if choice.command and not choice.shown:
                yield Text(safe_line(f"  {choice.command}"), style="quiet")

    def quiet(self, item: QuietMark) -> Iterator[RenderableType]:
        """Return the parts that were folded away, counted."""
        yield Text(f"  + {item.text}", style="quiet")

    def commits(self, item: TurnCommits) -> Iterator[RenderableType]:
        """The commits and pull requests of a turn, one on a line."""
        for commit in item.operations.commits:
            yield Text.assemble(("● ", "ok"), (safe_line(commit_text(commit)), "quiet"))
        for pull in item.operations.pull_requests:
            yield Text.assemble(("● ", "ok"), (safe_line(" ".join(filter(None, (pull_text(pull), pull.url)))), "quiet"))

    def branch_start(self, item: BranchStart) -> Iterator[RenderableType]:
        """A horizontal rule above the messages of another branch."""
        yield Rule(Text(f"⑂ path {item.branch.id} (abandoned)", style="odd"), style="odd")

    def dropped_start(self, item: DroppedStart) -> Iterator[RenderableType]:
        """A note above messages that the file has dropped, and above the next that it has."""
        yield Text(f"⌫ {item.text}", style="odd")

    def response_end(self, item: ResponseEnd) -> Iterator[RenderableType]:
        """The model, time and usage of a response."""
        message = item.message
        words = [model_text(message.model), time_text(message.timestamp)]
        usage = message.usage
        if usage.responses:
            words.append(usage_text(usage))
        words += [*sorted(message.flags), more_fields(item.left_out)]
        yield Text("  " + safe_line(" · ".join(word for word in words if word)), style="quiet")
        if item.cache_break is not None:
            yield Text("  " + safe_line(cache_break_text(item.cache_break)), style="odd")

    def _nested(self, agent: Agent) -> Iterator[RenderableType]:
        inner = TerminalView(self.selection.for_agents, pictures=self._pictures)
        items = conversation_sequence(agent, inner.selection)
        drawn = itertools.chain.from_iterable(map(inner.item, items))
        yield from (indented(item, 4) for item in drawn)


def call_line(call: Call, left_out: Sequence[str] = ()) -> Text:
    """A call in one line: its state, its tool, what it did, how long it took, which fields are left out."""
    name, _, rest = call.title.partition(" ")
    state = call.state
    line = Text.assemble((f"{MARKS[state]} ", STATES.get(state, "odd")), (safe(name), "tool"), f" {safe(rest)}")
    for agent in call.agents:
        line.append(f"  ◇ {plural(len(agent.calls), 'call')}", style="quiet")
    if call.duration is not None:
        line.append(f"  {duration_text(call.duration)}", style="quiet")
    if quiet := p.quiet_text(p.attached_nouns(call)):
        line.append(f"  + {quiet}", style="quiet")
    if left_out:
        line.append(f"  {safe(more_fields(left_out))}", style="quiet")
    return line


def _bullet(text: str, style: str) -> PrefixedText | LongText:
    """A text that begins with a mark and a space; its other lines are indented by as much."""
    first, others = Text(text[:2], style=style), Text("  ")
    if len(text) > LONG:
        return LongText(text[2:], style, first=first, others=others)
    return PrefixedText(Text(text[2:], style=style), first=first, others=others)


def _facts(session: Session, cost: str) -> list[str]:
    facts = [session.project, *session.git_branches[-1:], *map(model_text, session.models), *session.versions[-1:]]
    return [fact for fact in (*facts, period_text(session.started, session.ended), cost) if fact]


def _is_large(session: Session) -> bool:
    """True if counting would delay the first screen: the cost is then shown at the end."""
    records = session.records
    return len(records) > 0 and records.position(len(records) - 1)[1] > LARGE


def _totals(session: Session) -> Iterator[RenderableType]:
    """How the session ended and its usage, which are known only after all of it was read."""
    usage = session.usage
    for n, result in enumerate(unplaced_results(session)):
        text = safe(result_text(result))
        yield Text(f"\n{text}" if n == 0 else text, style="failed" if result.is_error else "quiet")
    if usage.responses:
        words = [plural(usage.responses, "response"), usage_text(usage)]
        words += [session_cost_text(usage)] if _is_large(session) else []
        yield Text("\n" + " · ".join(word for word in words if word), style="quiet")
    if lines := session.ledger.fates.get("malformed", 0):
        yield Text(f"\n{unread_text(lines)}", style="odd")


class PrefixedText:
    """A text with something before its first line, and something as wide before each of the others."""

    def __init__(self, text: Text, *, first: Text, others: Text) -> None:
        self.text = text
        self.first = first
        self.others = others

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines that the text is wrapped into."""
        lines = self.text.wrap(console, max(1, options.max_width - self.others.cell_len))
        for n, line in enumerate(lines):
            yield Text.assemble(self.others if n else self.first, line)


class ChangePrinter:
    """Prints changes; the pieces of a text that grows are printed on one line as they come."""

    def __init__(self, console: Console, view: TerminalView) -> None:
        self._console = console
        self._view = view
        self._in_line = False
        """True if the last piece did not end its line."""

    def print(self, change: Change) -> None:
        """Print what one record changed."""
        for item in _change_lines(change, self._view):
            is_piece = isinstance(item, Text) and not item.end
            if self._in_line and not is_piece:
                self._console.print()
            self._console.print(item, end="" if is_piece else "\n")
            self._in_line = is_piece and not str(item).endswith("\n")


def _change_lines(change: Change, view: TerminalView) -> Iterator[RenderableType]:
    if change.kind == "rewritten":
        yield Text(f"(file rewritten from line {change.line})", style="odd")
        return
    drawn = _changed(change, view)
    if change.agent is not None:
        name = change.agent.type or change.agent.id
        for item in drawn:
            yield Padding(Group(Text(f"◇ {safe_line(name)}", style="quiet"), item), (0, 0, 0, 4))
    else:
        yield from drawn


def _changed(change: Change, view: TerminalView) -> Iterator[RenderableType]:
    if change.call is not None:
        yield from view.call(p.MessageCall(change.call.message, p.TOOLS, change.call))
    elif change.message is not None and change.record is not None:
        streamed = change.message.partial is not None
        for part in p.record_parts(change.message, change.record):
            if not is_drawn(part, view.selection) or not _is_new(part, streamed=streamed):
                continue
            if isinstance(part, p.TextPiece):
                yield Text(safe(part.text), style="thinking" if part.kind == p.THINKING else "", end="")
            else:
                yield from view.item(part)
        if change.record.type == "stream_event" and (piece := _delta_text(change.record)):
            yield Text(safe(piece), end="")


def _is_new(part: p.MessagePart, *, streamed: bool) -> bool:
    """False for the text of a streamed response, drawn as it came, and for a call that is drawn with its result."""
    if isinstance(part, p.MessageCall):
        return part.call.answer < 0
    return not streamed or part.kind == p.NOTICES


def _delta_text(record: Record) -> str:
    """The piece of a response in a stream event; a line end if the event ends a block."""
    event = as_dict(record.native.get("event"))
    if event.get("type") == "content_block_stop":
        return "\n"
    piece = as_dict(event.get("delta")).get("text")
    return piece if isinstance(piece, str) else ""
