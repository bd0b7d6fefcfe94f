"""A session on a terminal: prose as prose, calls as one line with what they did below."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.ansi import AnsiDecoder
from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table as RichTable
from rich.text import Text
from rich.theme import Theme

from reread.base.coerce import as_dict
from reread.base.format import date_text, duration_text, time_text, tokens_text
from reread.base.text import plural
from reread.model.conversation import Agent, Change
from reread.model.messages import Call
from reread.records.decode import Record
from reread.render import parts as p
from reread.render.format import BOXES, MARKS, model_text, picture_text, result_text, unread_text, usage_text
from reread.render.sanitize import coloured_output, plain_output, safe
from reread.render.terminal_images import inline
from reread.render.tree import data_lines, file_lines
from reread.session.session import Session
from reread.tools import nodes

THEME = Theme(
    {
        "prompt": "bold",
        "bar": "cyan",
        "quiet": "dim",
        "thought": "dim italic",
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
SHORT = 10
"""Lines of a result that are shown unless all are asked for."""
THOUGHT = 3
LONG_LIST = 12
STATES = {True: "ok", False: "failed", None: "odd"}
LEVELS = {"info": "quiet", "warning": "odd", "error": "failed"}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command line, as for everything else that is printed."""
        raise


def make_console(**options: Any) -> Console:
    """A console that takes nothing in a text for markup, and never writes a link."""
    return _Console(theme=THEME, highlight=False, markup=False, emoji=False, soft_wrap=False, **options)


class TerminalView:
    """Draws parts on a console."""

    def __init__(self, selection: p.Selection, *, pictures: str | None = None) -> None:
        self.selection = selection
        self._pictures = pictures
        """How the terminal shows pictures, where it can."""

    def session(self, session: Session) -> Iterator[RenderableType]:
        """A session from its title to its end."""
        parts = p.parts(session.conversation, self.selection)
        yield Text(safe(session.title or "(no title)"), style="bold")
        yield Text(safe(" · ".join(_facts(session))), style="quiet")
        for part in parts:
            yield from self.part(part)
        if self.selection.only is None and self.selection.turns == (1, None):
            for agent, why in p.apart(session, self.selection):
                yield Text()
                yield Text(safe(f"◇ agent {agent.id} {agent.type or ''}: {why}"))
                yield from self._nested(agent)
            yield from _spent(session)

    def part(self, part: p.Part) -> Iterator[RenderableType]:
        """One part."""
        yield from _DRAW[type(part)](self, part)

    def turn_start(self, part: p.TurnStart) -> Iterator[RenderableType]:
        """Room between turns."""
        yield Text()

    def prompt(self, part: p.Prompt) -> Iterator[RenderableType]:
        """What a person typed, with a bar beside it."""
        message = part.message
        text = safe(message.text).strip() or "(nothing typed)"
        if "deleted" in message.flags:
            text = f"(deleted) {text}"
        when = time_text(message.timestamp)
        for n, line in enumerate(text.split("\n")):
            shown = Text.assemble(("▌ ", "bar"), (line, "prompt"))
            if n == 0 and when:
                shown.append(f"  {when}", style="quiet")
            yield shown

    def said(self, part: p.Said) -> Iterator[RenderableType]:
        """A piece of an answer."""
        yield Markdown(safe(part.text.strip()), hyperlinks=False, code_theme="ansi_dark")

    def thought(self, part: p.Thought) -> Iterator[RenderableType]:
        """A thought, dimmed."""
        lines = (safe(part.text).strip() or "thinking (not recorded)").split("\n")
        shown = lines if self.selection.full else lines[:THOUGHT]
        took = f"{duration_text(part.seconds)}  " if part.seconds is not None else ""
        yield Text(f"∴ {took}" + "\n  ".join(shown), style="thought")
        yield from self._hidden(len(lines) - len(shown), 2)

    def shown(self, part: p.Shown) -> Iterator[RenderableType]:
        """Pictures and other blocks."""
        yield from self._indented(part.nodes)

    def did(self, part: p.Did) -> Iterator[RenderableType]:
        """A call, what it did below it, and its agent below that."""
        call = part.call
        yield call_line(call)
        yield from self._indented(call.draw(full=self.selection.full))
        for agent in call.agents:
            if p.is_deep(agent):
                yield Text(safe(f"    ◇ agent {agent.id} is shown at the end"), style="quiet")
            else:
                yield from self._nested(agent)

    def notice(self, part: p.Notice) -> Iterator[RenderableType]:
        """Something the client says."""
        message = part.message
        lines = (safe(message.text).strip() or message.kind).split("\n")
        shown = lines if self.selection.full else lines[:THOUGHT]
        style = "failed" if message.kind == "error" else "odd" if message.kind == "interrupt" else "quiet"
        yield Text(f"· {message.kind}: " + "\n  ".join(shown), style=style)
        yield from self._hidden(len(lines) - len(shown), 2)

    def compacted(self, part: p.Compacted) -> Iterator[RenderableType]:
        """A rule across, with the figures and the summary."""
        compaction = part.compaction
        figures = [tokens_text(n) for n in (compaction.pre_tokens, compaction.post_tokens) if n is not None]
        words = ["compacted", compaction.trigger or "", " → ".join(figures) + " tokens" if figures else ""]
        yield Rule(Text(" · ".join(word for word in words if word), style="odd"), style="odd")
        if compaction.summary is not None:
            lines = safe(compaction.summary.text).strip().split("\n")
            shown = lines if self.selection.full else lines[:THOUGHT]
            yield Text("  " + "\n  ".join(shown), style="quiet")
            yield from self._hidden(len(lines) - len(shown), 2)

    def forked(self, part: p.Forked) -> Iterator[RenderableType]:
        """Where branches leave."""
        for branch in part.branches:
            first = branch.own[0].text if branch.own else ""
            state = "the one shown" if branch.active else f"--branch {branch.id} shows it"
            line = " ".join(first.split())[:60]
            yield Text(safe(f"⑂ branch {branch.id} leaves here ({state}): {line}"), style="odd")

    def abandoned(self, part: p.Abandoned) -> Iterator[RenderableType]:
        """A rule across, above what was said on another branch."""
        yield Rule(Text(f"⑂ branch {part.branch.id}, which was left", style="odd"), style="odd")

    def ended(self, part: p.Ended) -> Iterator[RenderableType]:
        """What an answer took."""
        message = part.message
        words = [model_text(message.model), time_text(message.timestamp)]
        usage = message.usage
        if usage.responses:
            words.append(usage_text(usage))
        words += sorted(message.flags)
        yield Text("  " + safe(" · ".join(word for word in words if word)), style="quiet")

    def _nested(self, agent: Agent) -> Iterator[RenderableType]:
        inner = TerminalView(self.selection.of_agents, pictures=self._pictures)
        drawn = itertools.chain.from_iterable(inner.part(part) for part in p.parts(agent, inner.selection))
        yield Padding(Group(*drawn), (0, 0, 0, 4))

    def _indented(self, drawn: Iterable[nodes.Node]) -> Iterator[RenderableType]:
        for node in drawn:
            for item in self.node(node):
                yield Padding(item, (0, 0, 0, 4))

    def node(self, node: nodes.Node) -> Iterator[RenderableType]:
        """One node."""
        yield from _NODES[type(node)](self, node)

    def _hidden(self, count: int, indent: int = 0) -> Iterator[RenderableType]:
        if count > 0:
            yield Text(" " * indent + f"… {plural(count, 'more line')} (--full)", style="quiet")

    def _cut(self, lines: Sequence[str]) -> tuple[Sequence[str], int]:
        if self.selection.full or len(lines) <= SHORT + 2:
            return lines, 0
        return lines[:SHORT], len(lines) - SHORT

    def prose(self, node: nodes.Prose) -> Iterator[RenderableType]:
        """Markdown."""
        lines, hidden = self._cut(safe(node.text).strip().split("\n"))
        yield Markdown("\n".join(lines), hyperlinks=False, code_theme="ansi_dark")
        yield from self._hidden(hidden)

    def code(self, node: nodes.Code) -> Iterator[RenderableType]:
        """Source, with its line numbers."""
        lines, hidden = self._cut(node.text.rstrip("\n").split("\n"))
        text = plain_output("\n".join(lines))
        if node.marks:
            marked = Text(text)
            for mark in node.marks:
                marked.highlight_words([mark], style="mark", case_sensitive=False)
            yield marked
        elif node.language or node.start is not None:
            yield Syntax(
                text,
                node.language or "text",
                theme="ansi_dark",
                background_color="default",
                line_numbers=node.start is not None,
                start_line=node.start or 1,
                word_wrap=True,
            )
        else:
            yield Text(text)
        yield from self._hidden(hidden)

    def diff(self, node: nodes.Diff) -> Iterator[RenderableType]:
        """Changed lines with their numbers."""
        rows = [row for hunk in node.hunks for row in _diff_rows(hunk)]
        shown = rows if self.selection.full or len(rows) <= 2 * SHORT + 2 else rows[: 2 * SHORT]
        width = max((len(str(number)) for number, _ in shown), default=1)
        for number, line in shown:
            style = {"+": "added", "-": "removed"}.get(line[:1], "")
            yield Text.assemble((f"{number or '':>{width}} ", "number"), (safe(line), style))
        yield from self._hidden(len(rows) - len(shown))

    def terminal(self, node: nodes.Terminal) -> Iterator[RenderableType]:
        """A command, or what it printed in its own colours."""
        if node.stream == "in":
            yield Text("$ " + safe(node.text).replace("\n", "\n  "), style="bold")
            return
        lines, hidden = self._cut(node.text.rstrip("\n").split("\n"))
        for line in AnsiDecoder().decode(coloured_output("\n".join(lines))):
            if node.stream == "err":
                line.stylize_before("err")
            yield line
        yield from self._hidden(hidden)

    def files(self, node: nodes.Files) -> Iterator[RenderableType]:
        """Files, as a tree when there are many."""
        lines, hidden = self._cut([safe(line) for line in file_lines(node.entries, tree=len(node.entries) > LONG_LIST)])
        yield Text("\n".join(lines))
        yield from self._hidden(hidden)

    def checklist(self, node: nodes.Checklist) -> Iterator[RenderableType]:
        """Things to do, what changed in bold."""
        for item in node.items:
            style = "quiet" if item.state in ("done", "cancelled") else ""
            note = f"  ({item.note})" if item.note else ""
            text = Text(safe(f"{BOXES.get(item.state, '☐')} {item.text}{note}"), style=style)
            if item.changed:
                text.stylize("bold not dim")
            yield text

    def choice_node(self, node: nodes.Choice) -> Iterator[RenderableType]:
        """A question, the chosen answers marked."""
        header = f"[{node.header}] " if node.header else ""
        yield Text(safe(f"{header}{node.question}"), style="bold")
        on, off = ("☑", "☐") if node.multiple else ("◉", "○")
        for option in node.options:
            text = f"{on if option.chosen else off} {option.label}"
            yield Text(safe(text), style="ok" if option.chosen else "")
            for detail in (option.description, option.preview):
                if detail:
                    yield Text(safe("    " + detail.replace("\n", "\n    ")), style="quiet")
        if node.answer:
            yield Text(safe(f"→ {node.answer}"), style="ok")

    def table(self, node: nodes.Table) -> Iterator[RenderableType]:
        """Rows and columns."""
        drawn = RichTable(*(safe(column) for column in node.columns), box=None, pad_edge=False, header_style="quiet")
        shown = node.rows if self.selection.full else node.rows[: SHORT * 2]
        for row in shown:
            drawn.add_row(*(Text(safe(cell)) for cell in row))
        yield drawn
        yield from self._hidden(len(node.rows) - len(shown))

    def picture(self, node: nodes.Picture) -> Iterator[RenderableType]:
        """A picture in words, and itself where the terminal can show it."""
        yield Text(safe(f"▣ {picture_text(node)}"), style="quiet")
        drawn = inline(node, self._pictures)
        if drawn is not None:
            yield drawn

    def facts(self, node: nodes.Facts) -> Iterator[RenderableType]:
        """Names and values."""
        for fact in node.items:
            yield Text.assemble((safe(f"{fact.name}: "), "quiet"), safe(fact.value))

    def links(self, node: nodes.Links) -> Iterator[RenderableType]:
        """Addresses, as text."""
        for target in node.targets:
            title = f"{safe(target.title)}  " if target.title else ""
            yield Text.assemble(title, (safe(target.url), "underline"))

    def note(self, node: nodes.Note) -> Iterator[RenderableType]:
        """A remark."""
        lines, hidden = self._cut(plain_output(node.text).split("\n"))
        yield Text("\n".join(lines), style=LEVELS.get(node.level, "quiet"))
        yield from self._hidden(hidden)

    def data(self, node: nodes.Data) -> Iterator[RenderableType]:
        """A JSON value as an indented tree."""
        lines, hidden = self._cut([safe(line) for line in data_lines(node.value)])
        yield Text("\n".join(lines))
        yield from self._hidden(hidden)

    def section(self, node: nodes.Section) -> Iterator[RenderableType]:
        """Nodes under a heading."""
        if not node.open and not self.selection.full:
            return
        yield Text(safe(node.title), style="quiet")
        for inner in node.nodes:
            for item in self.node(inner):
                yield Padding(item, (0, 0, 0, 2))


Draw = Callable[[TerminalView, Any], Iterator[RenderableType]]

_DRAW: dict[type[p.Part], Draw] = {
    p.TurnStart: TerminalView.turn_start,
    p.Prompt: TerminalView.prompt,
    p.Said: TerminalView.said,
    p.Thought: TerminalView.thought,
    p.Shown: TerminalView.shown,
    p.Did: TerminalView.did,
    p.Notice: TerminalView.notice,
    p.Compacted: TerminalView.compacted,
    p.Forked: TerminalView.forked,
    p.Abandoned: TerminalView.abandoned,
    p.Ended: TerminalView.ended,
}

_NODES: dict[type[nodes.Node], Draw] = {
    nodes.Prose: TerminalView.prose,
    nodes.Code: TerminalView.code,
    nodes.Diff: TerminalView.diff,
    nodes.Terminal: TerminalView.terminal,
    nodes.Files: TerminalView.files,
    nodes.Checklist: TerminalView.checklist,
    nodes.Choice: TerminalView.choice_node,
    nodes.Table: TerminalView.table,
    nodes.Picture: TerminalView.picture,
    nodes.Facts: TerminalView.facts,
    nodes.Links: TerminalView.links,
    nodes.Note: TerminalView.note,
    nodes.Data: TerminalView.data,
    nodes.Section: TerminalView.section,
}


def call_line(call: Call) -> Text:
    """A call in one line: its state, its tool, what it did, how long it took."""
    name, _, rest = call.title.partition(" ")
    line = Text.assemble((f"{MARKS[call.ok]} ", STATES[call.ok]), (safe(name), "tool"), f" {safe(rest)}")
    for agent in call.agents:
        line.append(f"  ◇ {plural(len(agent.calls), 'call')}", style="quiet")
    if call.duration is not None:
        line.append(f"  {duration_text(call.duration)}", style="quiet")
    return line


def _facts(session: Session) -> list[str]:
    facts = [session.project, *session.git_branches[-1:], *map(model_text, session.models), *session.versions[-1:]]
    return [fact for fact in [*facts, date_text(session.started)] if fact]


def _spent(session: Session) -> Iterator[RenderableType]:
    """What the session took: at the end, for it is not known before all of it was read."""
    usage = session.usage
    for n, outcome in enumerate(session.results):
        text = safe(result_text(outcome))
        yield Text(f"\n{text}" if n == 0 else text, style="failed" if outcome.is_error else "quiet")
    if usage.responses:
        yield Text(f"\n{plural(usage.responses, 'response')} · {usage_text(usage)}", style="quiet")
    if lines := p.unread(session):
        yield Text(f"\n{unread_text(lines)}", style="odd")


def _diff_rows(hunk: nodes.Hunk) -> Iterator[tuple[int | None, str]]:
    """Each line of a hunk with its number: the old one for removed lines, else the new one."""
    old, new = hunk.old_start, hunk.new_start
    for line in hunk.lines:
        sign = line[:1]
        if sign == "-":
            yield old, line
            old += 1
        elif sign == "\\":
            yield None, line
        else:
            yield new, line
            new += 1
            old += sign != "+"


def change_lines(change: Change, view: TerminalView) -> Iterator[RenderableType]:
    """What one record changed, for someone who watches."""
    if change.kind == "rewritten":
        yield Text(f"(the file was rewritten from line {change.line} on)", style="odd")
        return
    drawn = _changed(change, view)
    if change.agent is not None:
        name = change.agent.type or change.agent.id
        for item in drawn:
            yield Padding(Group(Text(f"◇ {safe(name)}", style="quiet"), item), (0, 0, 0, 4))
    else:
        yield from drawn


def _changed(change: Change, view: TerminalView) -> Iterator[RenderableType]:
    if change.call is not None:
        yield from view.did(p.Did(change.call))
    elif change.record is not None and change.record.type == "stream_event":
        piece = delta_text(change.record)
        if piece:
            yield Text(safe(piece), end="")
    elif change.message is not None and change.record is not None:
        for part in p.record_parts(change.message, change.record, view.selection):
            if not isinstance(part, p.Ended):
                yield from view.part(part)


def delta_text(record: Record) -> str:
    """The piece of an answer that an event of a stream brings; a line end where a block ends."""
    event = as_dict(record.native.get("event"))
    if event.get("type") == "content_block_stop":
        return "\n"
    piece = as_dict(event.get("delta")).get("text")
    return piece if isinstance(piece, str) else ""
