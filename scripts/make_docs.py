"""Writes docs/reference.md from the docstrings, and docs/commands.md from the program's own help."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import reread
from reread.cli import VERBS
from reread.cli import reread as group

DOCS = Path(__file__).parent.parent / "docs"

READING = ("open", "Session", "sessions", "Header")
MODEL = ("Turn", "Message", "Call", "Agent", "Branch", "Compaction", "Conversation", "Fate", "Record", "Line")
ORDER = {
    "Reading": READING,
    "The model": MODEL,
    "Live": ("follow", "Change", "Decoder"),
    "Checking": ("check", "Finding"),
    "Counting": ("usage", "Usage"),
    "Sharing": ("export",),
    "Keeping": ("capture", "replay", "Store"),
    "Errors": ("RereadError", "NotFound", "Ambiguous", "Misuse", "Unreadable"),
}
"""The public names by what they are for; one that is in no group is listed at the end."""


def reference() -> str:
    """The library, name by name."""
    lines = [
        "# The library",
        "",
        "Made from the docstrings by `scripts/make_docs.py`. Every name is `reread.NAME`.",
        "",
    ]
    placed = {name for names in ORDER.values() for name in names}
    others = tuple(name for name in reread.__all__ if name not in placed)
    for title, names in {**ORDER, **({"More": others} if others else {})}.items():
        known = [name for name in names if name in reread.__all__]
        if known:
            lines += [f"## {title}", ""]
        for name in known:
            lines += [*_entry(name, getattr(reread, name)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _entry(name: str, thing: Any) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    if inspect.isclass(thing):
        yield from _class(thing)
        return
    yield "```python"
    yield _signature(name, thing)
    yield "```"
    yield ""
    yield _doc(thing)


def _class(thing: type) -> Iterator[str]:
    yield _doc(thing)
    rows = list(_members(thing))
    if rows:
        yield ""
        yield "| name | what it is |"
        yield "|---|---|"
        yield from (f"| `{name}` | {text} |" for name, text in rows)


def _members(thing: type) -> Iterator[tuple[str, str]]:
    """Fields with a docstring below them, properties and methods: what a reader may use."""
    for base in reversed([c for c in thing.__mro__ if c.__module__.startswith("reread.")]):
        tree = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(tree, ast.ClassDef)
        body = tree.body
        for n, node in enumerate(body):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                after = body[n + 1] if n + 1 < len(body) else None
                if not node.target.id.startswith("_"):
                    yield node.target.id, _cell(_stated(after)) or f"`{_cell(ast.unparse(node.annotation))}`"
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                text = _cell(ast.get_docstring(node) or "")
                shown = node.name if _is_property(node) else f"{node.name}({_arguments(node)})"
                yield shown, text


def _stated(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def _is_property(node: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def _arguments(node: ast.FunctionDef) -> str:
    names = [argument.arg for argument in [*node.args.args, *node.args.kwonlyargs] if argument.arg != "self"]
    return ", ".join(names)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _doc(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def _signature(name: str, thing: Any) -> str:
    home = importlib.import_module(thing.__module__)
    tree = ast.parse(inspect.getsource(home))
    node = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == thing.__name__)
    node.body, node.decorator_list = [ast.Pass()], []
    text = ast.unparse(node).removeprefix("def ").removesuffix(":\n    pass")
    if len(text) <= 100:
        return text
    given = _split(ast.unparse(node.args))
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{name}(\n" + "".join(f"    {part},\n" for part in given) + f"){returns}"


def _split(arguments: str) -> list[str]:
    """Arguments, cut at the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for n, char in enumerate(arguments):
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            parts.append(arguments[start:n].strip())
            start = n + 1
    return [*parts, arguments[start:].strip()]


def commands() -> str:
    """The command line, verb by verb, in its own words."""
    lines = ["# The command line", "", "What `--help` says, made by `scripts/make_docs.py`.", ""]
    lines += ["```", _help(group, "reread"), "```", ""]
    for verb in VERBS:
        command = group.get_command(click.Context(group), verb)
        assert command is not None
        lines += [f"## reread {verb}", "", "```", _help(command, f"reread {verb}"), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _help(command: click.Command, path: str) -> str:
    settings = group.context_settings
    with click.Context(command, info_name=path, max_content_width=100, terminal_width=100, **settings) as context:
        return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


PAGES = {"reference.md": reference, "commands.md": commands}


if __name__ == "__main__":
    for name, make in PAGES.items():
        (DOCS / name).write_text(make())
