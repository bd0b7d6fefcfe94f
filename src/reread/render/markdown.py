"""A session as a Markdown document that reads well on a forge, and that no content can break out of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Any

from reread.base.format import date_text, duration_text, time_text, tokens_text
from reread.base.text import plural
from reread.model.conversation import Agent
from reread.render import parts as p
from reread.render.format import MARKS, model_text, picture_text, result_text, unread_text, usage_text
from reread.render.sanitize import plain_output, safe
from reread.render.tree import data_lines, file_lines
from reread.session.session import Session
from reread.tools import nodes

SHORT = 12
"""Lines of a result that stand open; more are folded."""
CUT = 200
"""Lines of a result that are kept unless all are asked for."""

WHO = {"prompt": "You", "command": "Command"}

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_SPAN = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_RUN = re.compile(r"`{3,}")


def session_markdown(session: Session, selection: p.Selection) -> Iterator[str]:
    """A session as lines of Markdown."""
    parts = p.parts(session.conversation, selection)
    yield f"# {inline(session.title or 'Session')}"
    yield ""
    facts = [session.project, *session.git_branches[-1:], *session.models, *session.versions[-1:]]
    if session.started:
        facts.append(date_text(session.started))
    if session.usage.responses:
        facts.append(usage_text(session.usage))
    yield " · ".join(inline(fact) for fact in facts if fact)
    yield from conversation_markdown(parts, selection)
    if selection.only is None and selection.turns == (1, None):
        for agent, why in p.apart(session, selection):
            yield from _agent(agent, selection, f"agent {agent.id}: {why}")
        for outcome in session.results:
            yield ""
            yield f"*{inline(result_text(outcome))}*"
        if lines := p.unread(session):
            yield ""
            yield f"*{unread_text(lines)}*"


def conversation_markdown(parts: Iterable[p.Part], selection: p.Selection) -> Iterator[str]:
    """Parts as lines of Markdown."""
    for part in parts:
        drawn = list(_PARTS[type(part)](part, selection))
        if drawn:
            yield ""
            yield from drawn


def _turn(part: p.TurnStart, selection: p.Selection) -> Iterator[str]:
    yield "---"


def _prompt(part: p.Prompt, selection: p.Selection) -> Iterator[str]:
    message = part.message
    when = time_text(message.timestamp)
    who = "Task" if isinstance(message.conversation, Agent) else WHO[message.kind]
    yield f"**{who}**{f' · {when}' if when else ''}"
    yield ""
    text = guarded(message.text.strip() or "(nothing typed)")
    yield from (f"> {line}".rstrip() for line in text.split("\n"))


def _said(part: p.Said, selection: p.Selection) -> Iterator[str]:
    yield guarded(part.text.strip())


def _thought(part: p.Thought, selection: p.Selection) -> Iterator[str]:
    took = f" · {duration_text(part.seconds)}" if part.seconds is not None else ""
    if not part.text.strip():
        yield f"*thinking (not recorded){took}*"
        return
    yield from folded(f"thinking{took}", [guarded(part.text.strip())])


def _shown(part: p.Shown, selection: p.Selection) -> Iterator[str]:
    yield from nodes_markdown(part.nodes, selection)


def _did(part: p.Did, selection: p.Selection) -> Iterator[str]:
    call = part.call
    name, _, rest = call.title.partition(" ")
    took = f" · {duration_text(call.duration)}" if call.duration is not None else ""
    heading = f"{MARKS[call.ok]} **{inline(name)}** {inline(rest)}{took}".replace("  ", " ")
    drawn = list(nodes_markdown(call.draw(full=selection.full), selection))
    if sum(line.count("\n") + 1 for line in drawn) > SHORT:
        summary = f"{MARKS[call.ok]} {name} {rest}{took}"
        yield from folded(summary, drawn)
    else:
        yield heading
        if drawn:
            yield ""
            yield from drawn
    for agent in call.agents:
        if p.is_deep(agent):
            yield f"*◇ agent {inline(agent.id)} is shown at the end*"
        else:
            yield from _agent(agent, selection, f"{agent.type or 'agent'}: {plural(len(agent.calls), 'call')}")


def _agent(agent: Agent, selection: p.Selection, title: str) -> Iterator[str]:
    inner = selection.of_agents
    yield ""
    yield from folded(f"◇ {title}", list(conversation_markdown(p.parts(agent, inner), inner)))


def _notice(part: p.Notice, selection: p.Selection) -> Iterator[str]:
    message = part.message
    text = message.text.strip()
    if text.count("\n") < 3:
        yield f"*{message.kind}*: {inline(' '.join(text.split()))}" if text else f"*{message.kind}*"
    else:
        yield from folded(message.kind, [fenced(plain_output(text))])


def _compacted(part: p.Compacted, selection: p.Selection) -> Iterator[str]:
    compaction = part.compaction
    figures = [tokens_text(n) for n in (compaction.pre_tokens, compaction.post_tokens) if n is not None]
    words = ["compacted", compaction.trigger or "", " → ".join(figures) + " tokens" if figures else ""]
    title = " · ".join(word for word in words if word)
    if compaction.summary is None:
        yield f"*{inline(title)}*"
    else:
        yield from folded(title, [guarded(compaction.summary.text.strip())])


def _forked(part: p.Forked, selection: p.Selection) -> Iterator[str]:
    for branch in part.branches:
        first = " ".join(branch.own[0].text.split())[:80] if branch.own else ""
        yield f"*⑂ branch {branch.id} leaves here{' (the one shown)' if branch.active else ''}: {inline(first)}*"


def _abandoned(part: p.Abandoned, selection: p.Selection) -> Iterator[str]:
    yield "---"
    yield ""
    yield f"**⑂ Branch {part.branch.id}**, which was left"


def _ended(part: p.Ended, selection: p.Selection) -> Iterator[str]:
    message = part.message
    words = [model_text(message.model)]
    usage = message.usage
    words += [usage_text(usage)] if usage.responses else []
    words += sorted(message.flags)
    shown = " · ".join(word for word in words if word)
    if shown:
        yield f"<sub>{inline(shown)}</sub>"


def nodes_markdown(drawn: Iterable[nodes.Node], selection: p.Selection) -> Iterator[str]:
    """Nodes as Markdown, a blank line between them."""
    first = True
    for node in drawn:
        lines = list(_NODES[type(node)](node, selection))
        if lines:
            if not first:
                yield ""
            yield from lines
            first = False


def _cut(text: str, selection: p.Selection) -> str:
    lines = text.split("\n")
    if selection.full or len(lines) <= CUT:
        return text
    return "\n".join([*lines[:CUT], f"… {plural(len(lines) - CUT, 'more line')}"])


def _prose(node: nodes.Prose, selection: p.Selection) -> Iterator[str]:
    yield guarded(_cut(node.text.strip(), selection))


def _code(node: nodes.Code, selection: p.Selection) -> Iterator[str]:
    yield fenced(plain_output(_cut(node.text.rstrip("\n"), selection)), node.language or "")


def _diff(node: nodes.Diff, selection: p.Selection) -> Iterator[str]:
    lines: list[str] = []
    for hunk in node.hunks:
        lines += [f"@@ -{hunk.old_start} +{hunk.new_start} @@", *hunk.lines]
    yield fenced(safe(_cut("\n".join(lines), selection)), "diff")


def _terminal(node: nodes.Terminal, selection: p.Selection) -> Iterator[str]:
    text = plain_output(_cut(node.text.rstrip("\n"), selection))
    if node.stream == "in":
        yield fenced("$ " + text.replace("\n", "\n  "), "console")
    elif text:
        yield fenced(text, "text")


def _files(node: nodes.Files, selection: p.Selection) -> Iterator[str]:
    yield fenced(_cut(safe("\n".join(file_lines(node.entries, tree=len(node.entries) > SHORT))), selection), "text")


def _checklist(node: nodes.Checklist, selection: p.Selection) -> Iterator[str]:
    for item in node.items:
        text = inline(item.text)
        text = f"**{text}**" if item.changed else text
        state = f" ({item.state})" if item.state in ("active", "cancelled") else ""
        note = f" — {inline(item.note)}" if item.note else ""
        yield f"- [{'x' if item.state == 'done' else ' '}] {text}{state}{note}"


def _choice(node: nodes.Choice, selection: p.Selection) -> Iterator[str]:
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


def _table(node: nodes.Table, selection: p.Selection) -> Iterator[str]:
    yield "| " + " | ".join(cell(column) for column in node.columns) + " |"
    yield "|" + "---|" * len(node.columns)
    shown = node.rows if selection.full else node.rows[:CUT]
    yield from ("| " + " | ".join(cell(value) for value in row) + " |" for row in shown)
    if len(shown) < len(node.rows):
        yield f"\n… {plural(len(node.rows) - len(shown), 'more row')}"


def _picture(node: nodes.Picture, selection: p.Selection) -> Iterator[str]:
    yield f"*▣ {inline(picture_text(node))}*"


def _facts(node: nodes.Facts, selection: p.Selection) -> Iterator[str]:
    for fact in node.items:
        value = safe(fact.value)
        shown = f"\n\n{fenced(value)}" if "\n" in value else f" {inline(value)}"
        yield f"- {inline(fact.name)}:{shown}"


def _links(node: nodes.Links, selection: p.Selection) -> Iterator[str]:
    for target in node.targets:
        title = f"{inline(target.title)}: " if target.title else ""
        yield f"- {title}{code(target.url)}"


def _note(node: nodes.Note, selection: p.Selection) -> Iterator[str]:
    text = plain_output(node.text).strip()
    if "\n" in text:
        yield fenced(_cut(text, selection), "text")
    else:
        yield f"*{inline(text)}*"


def _data(node: nodes.Data, selection: p.Selection) -> Iterator[str]:
    yield fenced(_cut(safe("\n".join(data_lines(node.value))), selection), "yaml")


def _section(node: nodes.Section, selection: p.Selection) -> Iterator[str]:
    if node.open:
        yield f"*{inline(node.title)}*"
        yield ""
        yield from nodes_markdown(node.nodes, selection)
    elif selection.full:
        yield from folded(node.title, list(nodes_markdown(node.nodes, selection)))


Draw = Callable[[Any, p.Selection], Iterator[str]]

_PARTS: dict[type[p.Part], Draw] = {
    p.TurnStart: _turn,
    p.Prompt: _prompt,
    p.Said: _said,
    p.Thought: _thought,
    p.Shown: _shown,
    p.Did: _did,
    p.Notice: _notice,
    p.Compacted: _compacted,
    p.Forked: _forked,
    p.Abandoned: _abandoned,
    p.Ended: _ended,
}

_NODES: dict[type[nodes.Node], Draw] = {
    nodes.Prose: _prose,
    nodes.Code: _code,
    nodes.Diff: _diff,
    nodes.Terminal: _terminal,
    nodes.Files: _files,
    nodes.Checklist: _checklist,
    nodes.Choice: _choice,
    nodes.Table: _table,
    nodes.Picture: _picture,
    nodes.Facts: _facts,
    nodes.Links: _links,
    nodes.Note: _note,
    nodes.Data: _data,
    nodes.Section: _section,
}


def folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines that stay closed until the reader opens them."""
    yield f"<details><summary>{escape(safe(' '.join(title.split())))}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"


def fenced(text: str, language: str = "") -> str:
    """Text in a fence longer than any in it."""
    longest = max((len(run) for run in _RUN.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """A short text as a code span."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{safe(' '.join(text.split()))}{pad}{ticks}"


def inline(text: str) -> str:
    """A short text within a line: nothing in it is Markdown or HTML."""
    line = " ".join(safe(text).split())
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", line)


def cell(text: str) -> str:
    """A text in a table."""
    return inline(text)


def guarded(text: str) -> str:
    """Markdown that someone else wrote: its tags shown as text, and every fence it opens closed."""
    out: list[str] = []
    fence = ""
    for line in safe(text).split("\n"):
        found = _FENCE.match(line)
        if fence:
            out.append(line)
            if found and found[1][0] == fence[0] and len(found[1]) >= len(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            out.append(line)
        else:
            out.append(_without_tags(line))
    if fence:
        out.append(fence)
    return "\n".join(out)


def _without_tags(line: str) -> str:
    out: list[str] = []
    at = 0
    for span in _SPAN.finditer(line):
        out.append(_TAG.sub("&lt;", line[at : span.start()]))
        out.append(span[0])
        at = span.end()
    out.append(_TAG.sub("&lt;", line[at:]))
    return "".join(out)
