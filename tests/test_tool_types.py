"""Typed inputs and results of tools, as a builder imports them."""

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any, get_origin

import msgspec
import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st
from making import answer, read, reply, result, use

import reread
from reread import tool_types, tools
from reread.records.blocks import ToolResult, union_members
from reread.tool_types import BashInput, BashResult, Edit, EditResult, ReadResult, TodoItem
from reread.tools.claude_ai import EXTRA_FIELDS
from reread.tools.tool import ToolCall

HERE = Path(__file__).parent
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)


def called(name: str, input: Any, data: Any) -> reread.value_types.Call:
    """Return a call as it is read from a file."""
    block = {**use("c", name), "input": input}
    (call,) = read(reply(block), answer(result("c"), data=data)).calls
    return call


def test_every_struct_of_a_tool_is_public() -> None:
    names = {tool.input.__module__ for tool in tools.all_tools().values() if tool.input} | {Edit.__module__}
    modules = [importlib.import_module(name) for name in names if name.startswith("reread.")]
    lines = {
        f"from {module.__name__} import {name} as {name}"
        for module in modules
        for name, item in vars(module).items()
        if inspect.isclass(item) and issubclass(item, msgspec.Struct) and item.__module__ == module.__name__
    }
    lines -= {
        "from reread.tools.mcp import McpResult as McpResult",  # it has no fields: MCP tools can return anything
        "from reread.tools.tool import AgentStats as AgentStats",  # it is no input and no result, but a plug-in's
    }
    missing = lines - {*Path(tool_types.__file__).read_text().splitlines()}
    assert not missing, f"add to src/reread/tool_types/__init__.py: {sorted(missing)}"
    assert len(lines) == len(tool_types.__all__)


def test_every_struct_is_frozen_and_says_what_it_is() -> None:
    for name in tool_types.__all__:
        struct = getattr(tool_types, name)
        assert struct.__doc__ and struct.__struct_config__.frozen, name
        assert all(field.required is False for field in msgspec.structs.fields(struct)), name


def test_a_call_has_its_input_and_its_result_as_structs() -> None:
    call = called("Bash", {"command": "ls", "timeout": 5}, {"stdout": "a", "stderr": "", "interrupted": True, "new": 1})
    assert call.typed_input == BashInput(command="ls", timeout=5)
    assert call.typed_result == BashResult(stdout="a", interrupted=True)
    assert call.data == {"stdout": "a", "stderr": "", "interrupted": True, "new": 1}


def test_an_older_name_of_a_tool_has_the_same_types() -> None:
    assert isinstance(called("Task", {"prompt": "x"}, {"status": "completed"}).typed_result, tool_types.AgentResult)


def test_some_tools_give_a_list() -> None:
    assert called("TodoRead", {}, [{"content": "x", "status": "done"}]).typed_result == [
        TodoItem(content="x", status="done")
    ]


@pytest.mark.parametrize("data", ["Error: no", None, 5, [1], True])
def test_a_result_of_another_shape_is_none(data: Any) -> None:
    assert called("Bash", {"command": "ls"}, data).typed_result is None


def test_a_field_of_another_type_keeps_its_value() -> None:
    typed: Any = called("Edit", {}, {"filePath": 5, "structuredPatch": [{"lines": ["+a"]}, "odd"]}).typed_result
    assert isinstance(typed, EditResult)
    assert typed.filePath == 5
    assert typed.structuredPatch == [tool_types.Patch(lines=["+a"]), "odd"]


@pytest.mark.parametrize("name", ["mcp__github__search", "Hologram", "StructuredOutput"])
def test_tools_that_take_anything_have_no_types(name: str) -> None:
    call = called(name, {"a": 1}, {"b": 2})
    assert (call.typed_input, call.typed_result) == (None, None)


@given(value=json_values, name=st.sampled_from(sorted(tools.tool_names())))
def test_no_value_raises(value: Any, name: str) -> None:
    tools.to_input(name, value)
    tools.to_result(name, value)


def test_real_results_are_typed() -> None:
    typed = [
        call.typed_result
        for path in sorted((HERE / "real").glob("*/*/projects/*/*.jsonl"))
        for call in reread.open(path).calls
        if isinstance(call.data, dict) and not call.name.startswith("mcp__")
    ]
    assert len(typed) > 20
    assert all(value is not None for value in typed)
    assert {BashResult, ReadResult, tool_types.WriteResult} <= {type(value) for value in typed}


class Asked(dict[str, Any]):
    """An object without fields that notes which ones it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


READ_OF_ALL = {"edits", "replaceAll", "replace_all", "run_in_background"} | {
    *("backgroundTaskId", "exitCode", "interrupted", "retrieval_status", "shellId", "status", "success", "task"),
    *("userModified", "wasInterrupted"),
}
"""Fields that are read of every call, whatever its tool: for the marks of its title, and how it ended."""


@table("name", sorted(tools.built_in_tools()))
def test_a_tool_shows_fields_that_its_input_and_its_result_have(name: str) -> None:
    tool, asked, answered = tools.tool_for(name), Asked(), Asked()
    call = ToolCall(name, asked, result=ToolResult(content=""), data=answered)
    tools.title(call)
    tools.draw(call)
    structs = [one for one in (tool.input, *union_members(tool.result)) if inspect.isclass(one) and not get_origin(one)]
    modules = {sys.modules[struct.__module__] for struct in structs}  # tools of a module may be drawn by the same steps
    beside = [one for module in modules for one in vars(module).values() if inspect.isclass(one)]
    typed = [one for one in beside if issubclass(one, msgspec.Struct)]
    fields = {field.encode_name for one in typed for field in msgspec.structs.fields(one)}
    names = (asked.names if tool.input else set[str]()) | (answered.names if tool.result else set[str]())
    assert names - fields - READ_OF_ALL <= {*EXTRA_FIELDS}
