"""Marks on the line of a call, and files as a tree: alike in every view."""

import json
from pathlib import Path
from typing import Any

import pytest
from batches import table
from making import answer, attachment, read, reply, result, use, user

from reread.reader.drawing import PartBuilder
from reread.render.json import call_value
from reread.render.markdown import session_markdown
from reread.render.selection import Selection
from reread.render.terminal import call_line
from reread.render.tree import file_lines
from reread.tools.nodes import FileEntry

TREES: dict[str, tuple[list[str], list[str]]] = json.loads(
    (Path(__file__).parent / "fixtures" / "file_tree.json").read_text()
)
BUILDER = PartBuilder(lambda owner, number, picture: None, lambda call: [])
EDITS = [{"old_string": "a", "new_string": "b", "replace_all": True}, {"old_string": "c", "new_string": "d"}]
BARE_EDITS = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
CALLS: list[tuple[str, dict[str, Any], Any, str]] = [
    ("Bash", {"command": "ls"}, {"stdout": "x", "interrupted": True}, "Bash ls · interrupted"),
    ("Bash", {"command": "ls", "run_in_background": True}, {"stdout": ""}, "Bash ls · in the background"),
    ("Bash", {"command": "ls"}, {"stdout": "", "backgroundTaskId": "b1"}, "Bash ls · in the background"),
    ("Agent", {"prompt": "Look"}, {"status": "async_launched"}, "Agent Look · in the background"),
    ("Agent", {"prompt": "Look", "run_in_background": True}, None, "Agent Look · in the background"),
    ("Write", {"file_path": "a", "content": "x\n"}, {"userModified": True}, "Write a 1 line · changed by the user"),
    ("Edit", {"file_path": "a", **EDITS[0]}, {"userModified": False}, "Edit a +1 −1 · every occurrence"),
    ("MultiEdit", {"file_path": "a", "edits": EDITS}, None, "MultiEdit a 2 edits +2 −2 · every occurrence"),
    ("MultiEdit", {"file_path": "a", "edits": EDITS}, {"edits": BARE_EDITS},
     "MultiEdit a 2 edits +2 −2 · every occurrence"),
    ("Unknown", {"query": "x", "run_in_background": True}, None, "Unknown x · in the background"),
    ("Bash", {"command": "ls", "run_in_background": "no"}, {"stdout": "x", "interrupted": 1}, "Bash ls"),
]  # fmt: skip


@table(("name", "given", "data", "title"), CALLS)
def test_every_view_marks_the_line_of_a_call(name: str, given: dict[str, Any], data: Any, title: str) -> None:
    session = read(user("go"), reply(use("t", name, **given)), answer(result("t", "ok"), data=data), reply("done"))
    (call,) = session.calls
    assert call.title == title
    assert title in call_line(call).plain
    assert call_value(call).title == title
    assert title.partition(" ")[2] in "\n".join(session_markdown(session, Selection()))
    part = BUILDER.call(call)
    assert f"{part.label} {part.title}" == title


def test_an_edit_that_only_the_input_calls_everywhere_is_applied_everywhere() -> None:
    data = {"edits": BARE_EDITS, "originalFileContents": "a\na\nc\n"}
    session = read(user("go"), reply(use("t", "MultiEdit", file_path="f", edits=EDITS)), answer(result("t"), data=data))
    assert "+3 −3" in session.calls[0].title


def test_the_reader_counts_the_hooks_of_a_call_on_its_line() -> None:
    hook = attachment("hook_success", {"toolUseID": "t", "stdout": "{}", "hookName": "PostToolUse:Bash"})
    session = read(user("go"), reply(use("t", "Bash", command="ls")), answer(result("t")), hook, hook)
    assert BUILDER.call(session.calls[0]).quiet == "2 hooks"


@pytest.mark.parametrize("name", TREES)
def test_files_are_a_tree(name: str) -> None:
    paths, lines = TREES[name]
    assert list(file_lines([FileEntry(path=path) for path in paths])) == lines


def test_a_tree_of_a_deep_path_takes_no_recursion() -> None:
    deep = "a/" * 50_000
    assert len(list(file_lines([FileEntry(path=f"{deep}x"), FileEntry(path=f"{deep}y")]))) == 3
