"""A session as a Markdown document for reading on a forge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reread.accounting.prices import model_text
from reread.base.format import duration_text, period_text, time_text
from reread.base.sanitize import plain_output, plain_text, safe
from reread.base.text import plural
from reread.model import parts as p
from reread.model.authors import COMMAND, MODEL, PERSON
from reread.model.conversation import Agent, Message
from reread.render.format import (
    MARKS,
    cache_break_text,
    commit_text,
    more_fields,
    notice_label,
    picture_text,
    pull_text,
    queued_text,
    result_text,
    session_cost_text,
    session_start_text,
    setup_text,
    unread_text,
    usage_text,
)
from reread.render.markdown_text import code, fenced, folded, guarded, inline
from reread.render.part_nodes import call_nodes, mark_details, missed_call_fields, part_nodes, part_title
from reread.render.selection import Selection, agents_at_end, is_shown_at_end
from reread.render.sequence import (
    BranchStart,
    DroppedStart,
    ForkList,
    QuietMark,
    RecordFields,
    ResponseEnd,
    SequenceItem,
    SequenceView,
    TurnCommits,
    TurnStart,
    compaction_title,
    conversation_sequence,
    notice_text,
    session_sequence,
)
from reread.render.tree import data_lines, file_lines
from reread.session.results import turn_result
from reread.session.session import Session, unplaced_results
from reread.tools import nodes
from reread.tools.unshown_fields import leftover_nodes

CUT = 200
"""Lines of a result kept without `full`."""
SHORT = 12
"""Lines of a result above which its call is folded."""
LONG_NOTICE = 400
"""Characters of a notice above which it is folded."""
SHORT_NOTICE = 3
"""Lines of a notice above which it is folded."""
SPEAKERS = {PERSON: "You", MODEL: "Task", COMMAND: "Command"}
"""The heading of a prompt, by its author."""


def session_markdown(session: Session, selection: Selection) -> Iterator[str]:
    """A session as lines of Markdown."""
    return MarkdownView(selection).session(session)


def sequence_markdown(items: Iterable[SequenceItem], selection: Selection) -> Iterator[str]:
    """The items of a sequence as lines of Markdown, with a blank line before each."""
    return MarkdownView(selection).sequence(items)


class MarkdownView(SequenceView[str]):
    """Draws sessions, the items of a sequence and nodes as lines of Markdown."""

    def session(self, session: Session) -> Iterator[str]:
        """A session as lines of Markdown."""
        items = session_sequence(session, self.selection)
        yield f"# {inline(session.title or 'Session')}"
        yield ""
        facts = [session.project, *session.git_branches[-1:], *session.models, *session.versions[-1:]]
        usage = session.usage
        facts += [period_text(session.started, session.ended), session_cost_text(usage)]
        if usage.responses:
            facts.append(usage_text(usage))
        yield " · ".join(inline(fact) for fact in facts if fact)
        yield from self.sequence(items)
        for agent, reason in agents_at_end(session, self.selection):
            yield from self._agent(agent, f"agent {agent.id}: {reason}")
        if self.selection.shows_totals:
            for result in unplaced_results(session):
                yield ""
                yield f"*{inline(result_text(result))}*"
            if lines := session.ledger.fates.get("malformed", 0):
                yield ""
                yield f"*{unread_text(lines)}*"

    def sequence(self, items: Iterable[SequenceItem]) -> Iterator[str]:
        """The items of a sequence, with a blank line before each."""
        for item in items:
            drawn = list(self.item(item))
            if drawn:
                yield ""
                yield from drawn

    def drawn(self, drawn: Iterable[nodes.Node]) -> Iterator[str]:
        """Some nodes, with a blank line between them."""
        first = True
        for node in drawn:
            lines = list(self.node(node))
            if lines:
                if not first:
                    yield ""
                yield from lines
                first = False

    def _cut(self, text: str) -> str:
        lines = text.split("\n")
        if self.selection.full or len(lines) <= CUT:
            return text
        return "\n".join([*lines[:CUT], f"… {plural(len(lines) - CUT, 'more line')}"])

    def prose(self, node: nodes.Prose) -> Iterator[str]:
        yield guarded(self._cut(node.text.strip()))

    def code(self, node: nodes.Code) -> Iterator[str]:
        yield fenced(plain_text(self._cut(node.text.rstrip("\n"))), node.language or "")

    def diff(self, node: nodes.Diff) -> Iterator[str]:
        lines: list[str] = []
        for hunk in node.hunks:
            lines += [f"@@ -{hunk.old_start} +{hunk.new_start} @@", *hunk.lines]
        yield fenced(safe(self._cut("\n".join(lines))), "diff")

    def terminal(self, node: nodes.Terminal) -> Iterator[str]:
        text = self._cut(node.text.rstrip("\n"))
        if node.stream == "in":
            yield fenced("$ " + plain_text(text).replace("\n", "\n  "), "console")
        elif text:
            yield fenced(plain_output(text, full=self.selection.full), "text")

    def files(self, node: nodes.Files) -> Iterator[str]:
        yield fenced(self._cut(safe("\n".join(file_lines(node.entries, full=self.selection.full)))), "text")

    def checklist(self, node: nodes.Checklist) -> Iterator[str]:
        for item in node.items:
            text = inline(item.text)
            text = f"**{text}**" if item.changed else text
            state = f" ({item.state})" if self.selection.full or item.state in ("active", "cancelled") else ""
            note = f" — {inline(item.note)}" if item.note else ""
            yield f"- [{'x' if item.state == 'done' else ' '}] {text}{state}{note}"

    def choice(self, node: nodes.Choice) -> Iterator[str]:
        header = f"{inline(node.header)}: " if node.header else ""
        yield f"**{header}{inline(node.question)}**"
        yield ""
        on, off = ("☑", "☐") if node.multiple else ("◉", "○")
        for option in node.options:
            label = f"**{inline(option.label)}**" if option.chosen else inline(option.label)
            details = [inline(" ".join(text.split())) for text in (option.description, option.preview) if text]
            yield f"- {on if option.chosen else off} " + " — ".join([label, *details])
        if node.answer:
            yield f"- → {inline(node.answer)}"

    def table(self, node: nodes.Table) -> Iterator[str]:
        yield "| " + " | ".join(inline(column) for column in node.columns) + " |"
        yield "|" + "---|" * len(node.columns)
        shown = node.rows if self.selection.full else node.rows[:CUT]
        yield from ("| " + " | ".join(inline(value) for value in row) + " |" for row in shown)
        if len(shown) < len(node.rows):
            yield f"\n… {plural(len(node.rows) - len(shown), 'more row')}"

    def picture(self, node: nodes.Picture) -> Iterator[str]:
        yield f"*▣ {inline(picture_text(node))}*"

    def facts(self, node: nodes.Facts) -> Iterator[str]:
        for fact in node.items:
            value = safe(fact.value)
            shown = f"\n\n{fenced(value)}" if "\n" in value else f" {inline(value)}"
            yield f"- {inline(fact.name)}:{shown}"

    def links(self, node: nodes.Links) -> Iterator[str]:
        for target in node.targets:
            title = f"{inline(target.title)}: " if target.title else ""
            yield f"- {title}{code(target.url)}"

    def note(self, node: nodes.Note) -> Iterator[str]:
        text = plain_text(node.text).strip()
        if "\n" in text:
            yield fenced(self._cut(text), "text")
        else:
            yield f"*{inline(text)}*"

    def data(self, node: nodes.Data) -> Iterator[str]:
        yield fenced(self._cut(safe("\n".join(data_lines(node.value)))), "yaml")

    def section(self, node: nodes.Section) -> Iterator[str]:
        if node.open:
            yield f"*{inline(node.title)}*"
            yield ""
            yield from self.drawn(node.nodes)
        elif self.selection.full:
            yield from folded(node.title, list(self.drawn(node.nodes)))

    def turn_start(self, item: TurnStart) -> Iterator[str]:
        yield "---"

    def text(self, part: p.MessageText) -> Iterator[str]:
        if part.kind == p.PROMPTS:
            yield from self._prompt(part.message, part.text)
        elif part.kind == p.TEXT:
            yield guarded(part.text.strip())
        else:
            yield from self.notice(part)

    def _prompt(self, message: Message, text: str) -> Iterator[str]:
        when = time_text(message.timestamp)
        who = SPEAKERS.get(message.author, "You")
        yield f"**{who}**{f' · {when}' if when else ''}"
        yield ""
        yield from (f"> {line}".rstrip() for line in guarded(text.strip() or "(empty prompt)").split("\n"))

    def notice(self, part: p.MessageText | p.CommandOutput) -> Iterator[str]:
        label, text = notice_label(part.message), notice_text(part, full=self.selection.full)
        if text.count("\n") < SHORT_NOTICE and len(text) <= LONG_NOTICE:
            yield f"*{inline(label)}*: {inline(' '.join(text.split()) or '(empty)')}"
        else:
            yield from folded(label, [fenced(text)])

    def thinking(self, part: p.MessageThinking) -> Iterator[str]:
        took = f" · {duration_text(part.seconds)}" if part.seconds is not None else ""
        if not part.text.strip():
            yield f"*thinking (not recorded){took}*"
            return
        yield from folded(f"thinking{took}", [guarded(part.text.strip())])

    def mark(self, part: p.SessionStart | p.ClientSetup | p.TurnEnd) -> Iterator[str]:
        if isinstance(part, p.TurnEnd):
            text = result_text(turn_result(part.line, dict(part.record)))
        else:
            is_start = isinstance(part, p.SessionStart)
            text = session_start_text(part.session) if is_start else setup_text(part.fields, part.before)
        details = list(self.drawn(mark_details(part))) if self.selection.full else []
        yield from folded(text, details) if details else [f"*{inline(text)}*"]

    def background(self, part: p.MessagePart) -> Iterator[str]:
        drawn = list(self.drawn(part_nodes(part)))
        title = plain_text(part_title(part))
        yield from folded(title, drawn) if title else drawn

    def queued(self, part: p.QueuedPrompt) -> Iterator[str]:
        if not part.is_typed:
            yield from self.background(part)
            return
        yield f"*{queued_text(part)}*"
        yield ""
        yield from (f"> {line}".rstrip() for line in guarded(part.text.strip()).split("\n"))
        yield from self.drawn(part_nodes(part)[2:])

    def record_fields(self, item: RecordFields) -> Iterator[str]:
        yield from self.drawn(leftover_nodes(item.fields, item.title))

    def call(self, part: p.MessageCall) -> Iterator[str]:
        call = part.call
        name, _, rest = call.title.partition(" ")
        took = f" · {duration_text(call.duration)}" if call.duration is not None else ""
        nodes = call_nodes(call, full=self.selection.full)
        drawn = list(self.drawn(nodes))
        quiet = p.quiet_text(p.attached_nouns(call))
        took += f" · + {quiet}" if quiet else ""
        more = "" if self.selection.full else more_fields(missed_call_fields(call, nodes))
        if sum(line.count("\n") + 1 for line in drawn) > SHORT:
            yield from folded(f"{MARKS[call.state]} {name} {rest}{took}{f' · {more}' if more else ''}", drawn)
        else:
            took += f" · {inline(more)}" if more else ""
            yield f"{MARKS[call.state]} **{inline(name)}** {inline(rest)}{took}".replace("  ", " ")
            if drawn:
                yield ""
                yield from drawn
        for agent in call.agents:
            if is_shown_at_end(agent):
                yield f"*◇ agent {inline(agent.id)} is shown at the end*"
            else:
                yield from self._agent(agent, f"{agent.type or 'agent'}: {plural(len(agent.calls), 'call')}")

    def _agent(self, agent: Agent, title: str) -> Iterator[str]:
        inner = self.selection.for_agents
        yield ""
        yield from folded(f"◇ {title}", list(sequence_markdown(conversation_sequence(agent, inner), inner)))

    def compaction(self, part: p.CompactionPoint) -> Iterator[str]:
        title = compaction_title(part.compaction)
        if part.summary:
            yield from folded(title, [guarded(part.summary.strip())])
        else:
            yield f"*{inline(title)}*"

    def fork(self, item: ForkList) -> Iterator[str]:
        for choice in item.choices:
            state = " (shown)" if choice.shown else ""
            command = f" {code(choice.command)}" if choice.command and not choice.shown else ""
            yield f"- ⑂ path {choice.branch}{state}: {inline(choice.title)}{command}"

    def quiet(self, item: QuietMark) -> Iterator[str]:
        yield f"<sub>+ {inline(item.text)}</sub>"

    def commits(self, item: TurnCommits) -> Iterator[str]:
        for commit in item.operations.commits:
            yield f"- {inline(commit_text(commit))}"
        for pull in item.operations.pull_requests:
            yield f"- {inline(' '.join(filter(None, (pull_text(pull), pull.url))))}"

    def dropped_start(self, item: DroppedStart) -> Iterator[str]:
        yield f"*{item.text}*"
        yield ""

    def branch_start(self, item: BranchStart) -> Iterator[str]:
        yield "---"
        yield ""
        yield f"**⑂ Path {item.branch.id}** (abandoned)"

    def response_end(self, item: ResponseEnd) -> Iterator[str]:
        message = item.message
        words = [model_text(message.model)]
        usage = message.usage
        words += [usage_text(usage)] if usage.responses else []
        words += [*sorted(message.flags), more_fields(item.left_out)]
        shown = " · ".join(word for word in words if word)
        if shown:
            yield f"<sub>{inline(shown)}</sub>"
        if item.cache_break is not None:
            yield f"<sub>⚠ {inline(cache_break_text(item.cache_break))}</sub>"
