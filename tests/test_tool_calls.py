"""Every tool: each result shape has the expected title and nodes, as the files of `tool_calls` say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from batches import table
from effort import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st

from reread import tools
from reread.base.choices import CALL_STATES, DENIED, FAILED, INTERRUPTED, RUNNING
from reread.records import blocks as b
from reread.tools import nodes as n
from reread.tools.outcome import Outcome, outcome_of
from reread.tools.tool import AgentStats, ToolCall

FAMILIES = "agent bash claude_ai edit mcp patch plan read schedule search tasks user_messages web workflow".split()
Row = tuple[str, ToolCall, str, list[tuple[str, str]]]


def called(
    name: str,
    given: Any,
    content: Any = None,
    data: Any = None,
    *,
    block: Any = None,
    failed: str | None = None,
    is_error: bool = False,
    running: bool = False,
    agent: Any = None,
    seconds: float | None = None,
) -> ToolCall:
    """A call with its result: content or a whole block, structured data, or a text that says why it failed."""
    if running:
        return ToolCall(name, given)
    if failed is not None:
        content, data, is_error = failed, f"Error: {failed}", True
    result = b.ToolResult(content=content) if block is None else b.to_block(block)
    outcome = outcome_of(result, data, is_error=is_error)
    started = AgentStats(**agent) if agent else None
    return ToolCall(name, given, result=result, data=data, outcome=outcome, agent=started, seconds=seconds)


def row(text: str) -> Row:
    """A case of a file: its name, the tool with its input, what came of the call, its title, and texts in its nodes."""
    name, call, *lines = text.replace("\n  ", " ").splitlines()
    tool, given = call.split(" ", 1)
    facts = {key: json.loads(value) for key, _, value in (line.partition(" ") for line in lines) if key not in "=-"}
    title = next(line[2:] for line in lines if line.startswith("= "))
    nodes = [line[2:].replace("\\n", "\n").partition(" ") for line in lines if line.startswith("- ")]
    return name, called(tool, json.loads(given), **facts), title, [(kind, text) for kind, _, text in nodes]


FILES = sorted((Path(__file__).parent / "tool_calls").glob("*.txt"))
ROWS = [row(text) for path in FILES for text in path.read_text("utf-8").removeprefix("# ").split("\n\n# ")]


def choice(node: n.Choice) -> str:
    """A question as text, with check boxes or radio buttons."""
    left, right = "[]" if node.multiple else "()"
    options = [f"{left}{'x' if one.chosen else ' '}{right}{one.label}" for one in node.options]
    return " ".join([node.question, *options, *(["=", node.answer] if node.answer else [])])


def item(one: n.ChecklistItem) -> str:
    """A checklist item as text: its state, a star if it changed, its note."""
    return f"{one.text}:{one.state}{'*' if one.changed else ''}" + (f"({one.note})" if one.note else "")


def code_marks(node: n.Code) -> list[object]:
    """What is known of a code besides its text."""
    return [one for one in (node.language, node.path, node.start, node.marks or None) if one is not None]


def hunk(one: n.Hunk) -> str:
    """A hunk as text: where it starts after the change, and before it if that is elsewhere, then its lines."""
    before = "" if one.old_start == one.new_start else f" from {one.old_start}"
    return f"{one.new_start}{before} {' '.join(one.lines)}"


SHOW: dict[type[n.Node], Any] = {
    n.Prose: lambda node: node.text,
    n.Code: lambda node: " ".join([*(str(one) for one in code_marks(node)), node.text]),
    n.Diff: lambda node: " ".join([str(node.path), *map(hunk, node.hunks)]),
    n.Terminal: lambda node: f"{node.stream} {node.text}",
    n.Files: lambda node: " ".join(f"{one.path} {one.note}" for one in node.entries),
    n.Checklist: lambda node: ", ".join(map(item, node.items)),
    n.Choice: choice,
    n.Table: lambda node: " ".join("|".join(row) for row in node.rows),
    n.Picture: lambda node: f"{node.media_type} {node.width}×{node.height} {node.size} {node.name}",
    n.Facts: lambda node: ", ".join(f"{one.name}={one.value}" for one in node.items),
    n.Links: lambda node: " ".join(f"{one.title} {one.url}" for one in node.targets),
    n.Note: lambda node: f"{node.level} {node.text}",
    n.Data: lambda node: str(node.value),
    n.Section: lambda node: " ".join([node.title, *map(shown, node.nodes)]),
}
"""How each type of node is written as one text."""


def shown(node: n.Node) -> str:
    """A node as text."""
    return SHOW[type(node)](node)


def kind(node: n.Node) -> str:
    """The type of a node."""
    return type(node).__name__.lower()


@table(("tool_call", "title", "expected"), [row[1:] for row in ROWS])
def test_each_shape_of_a_result_has_its_title_and_drawing(
    tool_call: ToolCall, title: str, expected: list[tuple[str, str]]
) -> None:
    drawn = list(tools.tool_for(tool_call.name).draw(tool_call))
    assert tools.title(tool_call) == title
    assert [kind(node) for node in drawn] == [name for name, _ in expected]
    for node, (_, text) in zip(drawn, expected, strict=True):
        assert text in shown(node)


def strings(value: Any) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)


@table(("tool_call", "title"), [row[1:3] for row in ROWS])
def test_a_full_drawing_has_every_text(tool_call: ToolCall, title: str) -> None:
    drawn = json.dumps(msgspec.to_builtins(tools.draw(tool_call, full=True)), ensure_ascii=False) + title
    given = [text for text in strings(tool_call.raw_input) if len(text) > 3 and "\n" not in text]
    assert not [text for text in given if json.dumps(text, ensure_ascii=False)[1:-1] not in drawn]


def test_what_a_node_shows_whole_is_not_left_out() -> None:
    call = ToolCall("SomeUnknownTool", {"a": {"n": 1, "m": [2]}, "b": {}})
    assert tools.left_out(call, tools.draw(call)) == {}
    assert tools.left_out(call, []) == {"input.a.n": 1, "input.a.m[0]": 2}


MODULES = [import_module(f"reread.tools.{family}") for family in FAMILIES]
TOOLS = [(module, tool) for module in MODULES for tool in module.TOOLS]
OWN_TOOLS = pytest.mark.parametrize(("module", "tool"), TOOLS, ids=[tool.names[0] for _, tool in TOOLS])
UNFINISHED = [
    (Outcome(state=RUNNING), "still running"),
    (Outcome(state=INTERRUPTED, message="because"), "interrupted"),
    (Outcome(state=DENIED, message="because"), "denied"),
    (Outcome(state=FAILED, message="because"), "failed"),
]


@OWN_TOOLS
@table(("how", "word"), UNFINISHED)
def test_how_a_call_ended_is_drawn(module: ModuleType, tool: Any, how: Outcome, word: str) -> None:
    block = None if how.state == RUNNING else b.ToolResult(content="because")
    drawn = list(tool.draw(ToolCall(tool.names[0], {}, result=block, outcome=how)))
    assert any(isinstance(node, n.Note) and node.text.startswith(word) for node in drawn)


def field_names(module: ModuleType) -> list[str]:
    """The field names of a module's structs, as recorded."""
    shapes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, msgspec.Struct)]
    return sorted({field.encode_name for shape in shapes for field in msgspec.structs.fields(shape)})


TEXTS = st.text(max_size=8) | st.sampled_from(
    [
        *("text", "completed", "running", "<status>x</status>", "Links: [{}]", '{"a": [1]}', "[", "a, b", "agentId: x"),
        *("image", "notebook", "pdf", "parts", "file_unchanged", "content", "count", "insert", "delete", "code"),
        *("1\ta\n2\tb", "     1→x", "No files found", "a.py:3", "(", "a*", "x\ny", '{"cells": [{}]}', "\ud800"),
        '<cell id="a"><cell_type>markdown</cell_type># Title</cell id="a">\n<cell id="b">x</cell id="b">\n\ny\n',
        "<system-reminder>\nBe careful.\n</system-reminder>\n",
        "<persisted-output>\nx\n</persisted-output>",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.just(10**400)


@cache
def tool_calls(module: ModuleType, tool: Any) -> st.SearchStrategy[ToolCall]:
    """Any call of a tool: with fields that it reads and texts that it parses, of any type."""
    names = st.sampled_from([*field_names(module), "type"]) | TEXTS
    value = st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
        max_leaves=8,
    )
    shaped = st.dictionaries(names, value, max_size=6) | value
    kinds = st.sampled_from(sorted(b.BLOCKS))
    return st.builds(
        ToolCall,
        st.sampled_from([*tool.names, "mcp__a__b"]),
        shaped,
        result=st.none()
        | st.builds(lambda kind, content: b.to_block({"type": kind, "content": content}), kinds, value),
        data=shaped,
        outcome=st.sampled_from([None, *(Outcome(state=state, message="why") for state in CALL_STATES)]),
        seconds=st.none() | st.floats(0, 1e6),
    )


def check(node: n.Node) -> None:
    """Check that every field of a node has its declared type, on which views rely."""
    if isinstance(node, n.Section):
        assert isinstance(node.title, str)
        for inner in node.nodes:
            check(inner)
    elif not isinstance(node, n.Data):
        msgspec.convert(msgspec.to_builtins(node), type(node))


@one_in(3)
@OWN_TOOLS
@settings(max_examples=examples(20))
@given(data=st.data())
def test_no_content_of_a_call_makes_a_drawing_raise(module: ModuleType, tool: Any, data: st.DataObject) -> None:
    tool_call = data.draw(tool_calls(module, tool))
    assert "\n" not in tool.title(tool_call)
    drawn = list(tool.draw(tool_call))
    for node in drawn:
        check(node)
    tools.left_out(tool_call, drawn)


@settings(max_examples=examples(300))
@given(st.sampled_from(ROWS), TEXTS, LEAVES | st.lists(LEAVES, max_size=2), st.data())
def test_a_field_of_another_type_never_raises(row: Row, key: str, value: Any, data: st.DataObject) -> None:
    def spoiled(original: Any) -> Any:
        if not isinstance(original, dict) or not original:
            return value if original is None else original
        name = data.draw(st.sampled_from(sorted(original)))
        inner = original[name]
        return {**original, key: value, name: spoiled(inner) if isinstance(inner, dict) else value}

    old = row[1]
    one = ToolCall(old.name, spoiled(old.raw_input), result=old.result, data=spoiled(old.data))
    assert "\n" not in tools.tool_for(one.name).title(one)
    for node in tools.tool_for(one.name).draw(one):
        check(node)
