"""The nodes of a call as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from reread.base.sanitize import plain_output, plain_text, safe
from reread.base.text import plural
from reread.render.format import picture_text
from reread.render.markdown_text import code, fenced, folded, guarded, inline
from reread.render.selection import Selection
from reread.render.tree import data_lines, file_lines
from reread.tools import nodes

CUT = 200
"""Lines of a result kept without `full`."""


def nodes_markdown(drawn: Iterable[nodes.Node], selection: Selection) -> Iterator[str]:
    """Nodes as lines of Markdown, with a blank line between nodes."""
    first = True
    for node in drawn:
        lines = list(_NODES[type(node)](node, selection))
        if lines:
            if not first:
                yield ""
            yield from lines
            first = False


def _cut(text: str, selection: Selection) -> str:
    lines = text.split("\n")
    if selection.full or len(lines) <= CUT:
        return text
    return "\n".join([*lines[:CUT], f"… {plural(len(lines) - CUT, 'more line')}"])


def _prose(node: nodes.Prose, selection: Selection) -> Iterator[str]:
    yield guarded(_cut(node.text.strip(), selection))


def _code(node: nodes.Code, selection: Selection) -> Iterator[str]:
    yield fenced(plain_text(_cut(node.text.rstrip("\n"), selection)), node.language or "")


def _diff(node: nodes.Diff, selection: Selection) -> Iterator[str]:
    lines: list[str] = []
    for hunk in node.hunks:
        lines += [f"@@ -{hunk.old_start} +{hunk.new_start} @@", *hunk.lines]
    yield fenced(safe(_cut("\n".join(lines), selection)), "diff")


def _terminal(node: nodes.Terminal, selection: Selection) -> Iterator[str]:
    text = _cut(node.text.rstrip("\n"), selection)
    if node.stream == "in":
        yield fenced("$ " + plain_text(text).replace("\n", "\n  "), "console")
    elif text:
        yield fenced(plain_output(text, full=selection.full), "text")


def _files(node: nodes.Files, selection: Selection) -> Iterator[str]:
    yield fenced(_cut(safe("\n".join(file_lines(node.entries, full=selection.full))), selection), "text")


def _checklist(node: nodes.Checklist, selection: Selection) -> Iterator[str]:
    for item in node.items:
        text = inline(item.text)
        text = f"**{text}**" if item.changed else text
        state = f" ({item.state})" if selection.full or item.state in ("active", "cancelled") else ""
        note = f" — {inline(item.note)}" if item.note else ""
        yield f"- [{'x' if item.state == 'done' else ' '}] {text}{state}{note}"


def _choice(node: nodes.Choice, selection: Selection) -> Iterator[str]:
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


def _table(node: nodes.Table, selection: Selection) -> Iterator[str]:
    yield "| " + " | ".join(inline(column) for column in node.columns) + " |"
    yield "|" + "---|" * len(node.columns)
    shown = node.rows if selection.full else node.rows[:CUT]
    yield from ("| " + " | ".join(inline(value) for value in row) + " |" for row in shown)
    if len(shown) < len(node.rows):
        yield f"\n… {plural(len(node.rows) - len(shown), 'more row')}"


def _picture(node: nodes.Picture, selection: Selection) -> Iterator[str]:
    yield f"*▣ {inline(picture_text(node))}*"


def _facts(node: nodes.Facts, selection: Selection) -> Iterator[str]:
    for fact in node.items:
        value = safe(fact.value)
        shown = f"\n\n{fenced(value)}" if "\n" in value else f" {inline(value)}"
        yield f"- {inline(fact.name)}:{shown}"


def _links(node: nodes.Links, selection: Selection) -> Iterator[str]:
    for target in node.targets:
        title = f"{inline(target.title)}: " if target.title else ""
        yield f"- {title}{code(target.url)}"


def _note(node: nodes.Note, selection: Selection) -> Iterator[str]:
    text = plain_text(node.text).strip()
    if "\n" in text:
        yield fenced(_cut(text, selection), "text")
    else:
        yield f"*{inline(text)}*"


def _data(node: nodes.Data, selection: Selection) -> Iterator[str]:
    yield fenced(_cut(safe("\n".join(data_lines(node.value))), selection), "yaml")


def _section(node: nodes.Section, selection: Selection) -> Iterator[str]:
    if node.open:
        yield f"*{inline(node.title)}*"
        yield ""
        yield from nodes_markdown(node.nodes, selection)
    elif selection.full:
        yield from folded(node.title, list(nodes_markdown(node.nodes, selection)))


Draw = Callable[[Any, Selection], Iterator[str]]

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
