"""The tools that read, write and search files, and the shell: every result shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest
from batches import table
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from reread import tools
from reread.base.choices import CALL_STATES
from reread.records import blocks as b
from reread.tools import _diff
from reread.tools.generic import dimensions
from reread.tools.nodes import Code, Diff, Files, Hunk, Node, Note, Picture, Section
from reread.tools.outcome import Outcome, outcome_of
from reread.tools.search import matched_texts
from reread.tools.spilled import parse_numbered_lines, unwrap
from reread.tools.tool import ToolCall

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAJUlEQVR4nGNgYGCQk5OzsbGJioqqqKiY"
    "Nm3ali1bLl26xDC0JABjG07Bu/EhPgAAAABJRU5ErkJggg=="
)
GIF = "R0lGODlhAwACAIAAAP///wAAACH5BAAAAAAALAAAAAADAAIAAAICRF4AOw=="
JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/wAARCAACAAMDASIAAhEBAxEB"
REMINDER = "<system-reminder>\nBe careful.\n</system-reminder>\n"
PATCH = [
    {
        "oldStart": 41,
        "oldLines": 3,
        "newStart": 41,
        "newLines": 4,
        "lines": [" def wait():", "-    sleep(1)", "+    sleep(2)", "+    log()", " "],
    }
]
HUNK = Hunk(old_start=41, new_start=41, lines=[" def wait():", "-    sleep(1)", "+    sleep(2)", "+    log()", " "])
DENIED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
MISSING = object()


def tool_call(name: str, given: Any, *, text: Any = MISSING, data: Any = None, is_error: bool = False) -> ToolCall:
    """A call with this result; without one it is still running."""
    if text is MISSING and data is None:
        return ToolCall(name, given)
    content = "" if text is MISSING else text
    block = b.ToolResult(content=content)
    return ToolCall(name, given, result=block, data=data, outcome=outcome_of(block, data, is_error=is_error))


def draw(one: ToolCall) -> list[Node]:
    """The nodes that the tool itself draws; unlike `tools.draw`, errors are not hidden."""
    return list(tools.tool_for(one.name).draw(one))


def kinds(nodes: list[Node]) -> list[str]:
    return [type(node).__name__.lower() for node in nodes]


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(item)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


class Row(NamedTuple):
    """A call with its expected title, types of nodes, and texts in them."""

    name: str
    tool_call: ToolCall
    title: str
    kinds: list[str]
    texts: list[str] = []


def read_text(content: str, start: int, lines: int, total: int, **more: Any) -> dict[str, Any]:
    file = {"filePath": "src/a.py", "content": content, "numLines": lines, "startLine": start, "totalLines": total}
    return {"type": "text", "file": {**file, **more}}


PATH = {"file_path": "src/a.py"}
IMAGE = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]
CELLS = [
    {"cellType": "markdown", "source": "# Title", "cell_id": "intro"},
    {
        "cellType": "code",
        "source": ["import os\n", "os.name"],
        "cell_id": "cell-b",
        "language": "python",
        "execution_count": 3,
        "outputs": [
            {"output_type": "execute_result", "text": "posix"},
            {"output_type": "error", "text": "Boom"},
            {"output_type": "display_data", "image": {"image_data": PNG, "media_type": "image/png"}},
        ],
    },
]
TAGGED = (
    '<cell id="intro"><cell_type>markdown</cell_type># Title</cell id="intro">\n'
    '<cell id="cell-b">os.name</cell id="cell-b">\n\nposix\n'
)

READ = [
    Row("running", tool_call("Read", PATH), "Read src/a.py", ["note"], ["still running"]),
    Row("running, a part", tool_call("Read", {**PATH, "offset": 41, "limit": 40}), "Read src/a.py 41–80", ["note"]),
    Row("running, from a line on", tool_call("Read", {**PATH, "offset": 41}), "Read src/a.py from 41", ["note"]),
    Row(
        "whole",
        tool_call("Read", PATH, text="1\ta\n2\tb", data=read_text("a\nb", 1, 2, 2)),
        "Read src/a.py",
        ["code"],
        ["a\nb", "python", "src/a.py"],
    ),
    Row(
        "a limit that reaches the end",
        tool_call("Read", {**PATH, "limit": 2000}, data=read_text("a\nb", 1, 2, 2)),
        "Read src/a.py",
        ["code"],
    ),
    Row(
        "from line 0, which 2.1 writes as such",
        tool_call("Read", {**PATH, "offset": 0}, data=read_text("a\nb", 0, 2, 2)),
        "Read src/a.py",
        ["code"],
    ),
    Row(
        "a part",
        tool_call("Read", {**PATH, "offset": 41, "limit": 40}, data=read_text("x\n" * 39 + "x", 41, 40, 300)),
        "Read src/a.py 41–80 of 300",
        ["code"],
    ),
    Row(
        "one line",
        tool_call("Read", {**PATH, "offset": 7, "limit": 1}, data=read_text("x", 7, 1, 9)),
        "Read src/a.py 7 of 9",
        ["code"],
    ),
    Row(
        "truncated without a limit",
        tool_call("Read", PATH, data=read_text("x", 1, 2000, 3001)),
        "Read src/a.py 1–2000 of 3001",
        ["note", "code"],
        ["truncated: lines 1–2000 of 3001"],
    ),
    Row(
        "truncated at the token limit",
        tool_call("Read", PATH, data=read_text("x", 1, 100, 9000, truncatedByTokenCap=True)),
        "Read src/a.py 1–100 of 9000",
        ["note", "code"],
        ["truncated at the token limit: lines 1–100 of 9000"],
    ),
    Row(
        "empty", tool_call("Read", PATH, data=read_text("", 1, 1, 1)), "Read src/a.py", ["note"], ["the file is empty"]
    ),
    Row(
        "past the end",
        tool_call("Read", {**PATH, "offset": 90}, data=read_text("", 90, 0, 12)),
        "Read src/a.py from 90 of 12",
        ["note"],
        ["no lines in this range; the file has 12 lines"],
    ),
    Row(
        "too large for the model",
        tool_call(
            "Read",
            PATH,
            text="<persisted-output>\nOutput too large (99KB). Full output saved to: /t/x.txt\n\n"
            "Preview (first 2KB):\n     1→a\n...\n</persisted-output>",
            data=read_text("a\nb", 1, 2, 2),
        ),
        "Read src/a.py",
        ["code", "note"],
        ["a\nb", "Output too large (99KB). Full output saved to: /t/x.txt"],
    ),
    Row(
        "only text, arrows, with a reminder",
        tool_call("Read", PATH, text=f"     1→import os\n     2→\n     3→<x>\n\n{REMINDER}"),
        "Read src/a.py",
        ["code"],
        ["import os\n\n<x>"],
    ),
    Row(
        "only text, tabs, a part",
        tool_call("Read", {**PATH, "offset": 99, "limit": 5}, text="99\ta\tb\n100\tc"),
        "Read src/a.py 99–100",
        ["code"],
        ["a\tb\nc"],
    ),
    Row(
        "only text, padded tabs and the tool name of 0.2",
        tool_call("View", PATH, text="     1\ta\n     2\tb"),
        "View src/a.py",
        ["code"],
        ["a\nb"],
    ),
    Row(
        "only a preview",
        tool_call(
            "Read",
            PATH,
            text="<persisted-output>\nOutput too large (99KB). Full output saved to: /t/x.txt\n\n"
            "Preview (first 2KB):\n     1→a\n...\n</persisted-output>",
        ),
        "Read src/a.py",
        ["code", "note"],
        ["a", "Output too large (99KB). Full output saved to: /t/x.txt"],
    ),
    Row(
        "only text, with a note around",
        tool_call("Read", PATH, text="Part of it:\n1\ta\n2\tb\n[cut here]"),
        "Read src/a.py",
        ["note", "code", "note"],
        ["Part of it:", "a\nb", "[cut here]"],
    ),
    Row(
        "only a note", tool_call("Read", PATH, text="PDF file read: x"), "Read src/a.py", ["note"], ["PDF file read: x"]
    ),
    Row(
        "image",
        tool_call(
            "Read",
            {"file_path": "p.png"},
            text=IMAGE,
            data={
                "type": "image",
                "file": {
                    "base64": PNG,
                    "type": "image/png",
                    "originalSize": 94,
                    "dimensions": {
                        "originalWidth": 3000,
                        "originalHeight": 2000,
                        "displayWidth": 1500,
                        "displayHeight": 1000,
                    },
                },
            },
        ),
        "Read p.png 3000×2000",
        ["picture", "facts"],
        ["image/png", "p.png", "shown to the model", "1500×1000"],
    ),
    Row(
        "image of 1.0, without dimensions",
        tool_call("Read", {"file_path": "p.png"}, data={"type": "image", "file": {"base64": PNG, "type": "image/png"}}),
        "Read p.png 8×8",
        ["picture"],
    ),
    Row(
        "image, only as a block",
        tool_call("Read", {"file_path": "p.png"}, text=IMAGE),
        "Read p.png",
        ["picture"],
        ["p.png"],
    ),
    Row(
        "notebook",
        tool_call(
            "Read", {"file_path": "n.ipynb"}, data={"type": "notebook", "file": {"filePath": "n.ipynb", "cells": CELLS}}
        ),
        "Read n.ipynb 2 cells",
        ["section", "section"],
        ["cell intro · markdown", "# Title", "cell-b · python · 3", "import os\nos.name", "posix", "Boom"],
    ),
    Row(
        "notebook, only text",
        tool_call("Read", {"file_path": "n.ipynb"}, text=[{"type": "text", "text": TAGGED}]),
        "Read n.ipynb",
        ["section", "section"],
        ["cell intro · markdown", "# Title", "cell-b · python", "os.name", "posix"],
    ),
    Row(
        "notebook of 1.0, a bare list",
        tool_call("NotebookRead", {"notebook_path": "n.ipynb"}, data=[{"cell": 0, "cellType": "code", "source": "x"}]),
        "NotebookRead n.ipynb 1 cell",
        ["section"],
        ["cell 0", "x"],
    ),
    Row(
        "pdf",
        tool_call(
            "Read",
            {"file_path": "d.pdf", "pages": "1-5"},
            text="PDF file read: d.pdf (374 bytes)",
            data={"type": "pdf", "file": {"filePath": "d.pdf", "base64": "JVBERi0=", "originalSize": 374}},
        ),
        "Read d.pdf pages 1-5",
        ["picture"],
        ["application/pdf", "d.pdf"],
    ),
    Row(
        "parts",
        tool_call(
            "Read",
            {"file_path": "d.pdf"},
            data={
                "type": "parts",
                "file": {"filePath": "d.pdf", "originalSize": 5_000_000, "count": 12, "outputDir": "/tmp/p"},
                "firstPage": 1,
                "pages": [{"base64": PNG, "type": "image/png"}],
            },
        ),
        "Read d.pdf 12 pages",
        ["facts", "picture"],
        ["12 pages", "5 MB", "/tmp/p"],
    ),
    Row(
        "unchanged",
        tool_call("Read", PATH, text="Wasted call", data={"type": "file_unchanged", "file": {"filePath": "src/a.py"}}),
        "Read src/a.py unchanged",
        ["note"],
        ["unchanged since it was last read"],
    ),
    Row(
        "failed",
        tool_call(
            "Read",
            PATH,
            text="<tool_use_error>File does not exist.</tool_use_error>",
            data="Error: File does not exist.",
            is_error=True,
        ),
        "Read src/a.py",
        ["note"],
        ["failed: File does not exist."],
    ),
    Row(
        "denied", tool_call("Read", PATH, text=DENIED, is_error=True), "Read src/a.py", ["note"], [f"denied: {DENIED}"]
    ),
    Row("no input", tool_call("Read", None, text="a\nb"), "Read", ["code"], ["a\nb"]),
    Row(
        "data of unknown shape",
        tool_call("Read", PATH, text="1\ta", data={"file": 3}),
        "Read src/a.py",
        ["code"],
        ["a"],
    ),
    Row(
        "an unknown type, with text",
        tool_call("Read", PATH, data={"type": "rtf", "file": {"content": "a"}}),
        "Read src/a.py",
        ["code"],
        ["a"],
    ),
]

FILE = {"file_path": "n.txt", "content": "one\n2\n"}
WRITE = [
    Row("running", tool_call("Write", FILE), "Write n.txt 2 lines", ["note", "code"], ["one\n2\n"]),
    Row(
        "created",
        tool_call(
            "Write", FILE, text="File created", data={"type": "create", "filePath": "n.txt", "content": "one\n2\n"}
        ),
        "Write n.txt 2 lines",
        ["code"],
        ["one\n2\n", "n.txt"],
    ),
    Row(
        "created, empty",
        tool_call("Write", {"file_path": "n.txt", "content": ""}, text="File created"),
        "Write n.txt empty",
        ["note"],
        ["empty file"],
    ),
    Row(
        "updated, with a patch",
        tool_call(
            "Write",
            FILE,
            data={
                "type": "update",
                "filePath": "n.txt",
                "content": "one\n2\n",
                "structuredPatch": PATCH,
                "originalFile": "before",
                "userModified": True,
            },
        ),
        "Write n.txt +2 −1 · changed by the user",
        ["note", "diff"],
        ["edited by the user before it was written", "+    sleep(2)"],
    ),
    Row(
        "updated, the patch computed",
        tool_call(
            "Write",
            FILE,
            data={"type": "update", "content": "one\n2\n", "structuredPatch": [], "originalFile": "one\ntwo\n"},
        ),
        "Write n.txt +1 −1",
        ["diff"],
        [" one", "-two", "+2"],
    ),
    Row(
        "updated to nothing",
        tool_call("Write", FILE, data={"type": "update", "content": "", "originalFile": "one\n"}),
        "Write n.txt +0 −1",
        ["diff", "note"],
        ["empty file"],
    ),
    Row(
        "the shape of seed 002",
        tool_call(
            "Write",
            FILE,
            data={
                "type": "text",
                "file": {"filePath": "n.txt", "content": "one", "numLines": 1, "startLine": 1, "totalLines": 1},
            },
        ),
        "Write n.txt 1 line",
        ["code"],
        ["one"],
    ),
    Row(
        "only text, in 0.2", tool_call("Replace", FILE, text="written"), "Replace n.txt 2 lines", ["code"], ["one\n2\n"]
    ),
    Row(
        "failed",
        tool_call("Write", FILE, text="File has not been read yet.", is_error=True),
        "Write n.txt 2 lines",
        ["note", "code"],
        ["failed: File has not been read yet."],
    ),
    Row(
        "denied",
        tool_call("Write", FILE, text=DENIED, is_error=True),
        "Write n.txt 2 lines",
        ["note", "code"],
        ["one\n2\n"],
    ),
    Row("no input", tool_call("Write", [1], text="ok"), "Write empty", ["note"]),
]

CHANGE = {"file_path": "a.py", "old_string": "    sleep(1)", "new_string": "    sleep(2)\n    log()"}
EDIT = [
    Row("running", tool_call("Edit", CHANGE), "Edit a.py +2 −1", ["note", "diff"], ["-    sleep(1)", "+    log()"]),
    Row(
        "done",
        tool_call(
            "Edit",
            CHANGE,
            text="The file has been updated.",
            data={
                "filePath": "a.py",
                "oldString": CHANGE["old_string"],
                "newString": CHANGE["new_string"],
                "originalFile": None,
                "structuredPatch": PATCH,
                "userModified": False,
                "replaceAll": False,
            },
        ),
        "Edit a.py +2 −1",
        ["diff"],
        ["a.py", " def wait():", "+    log()"],
    ),
    Row(
        "replace all, edited by the user, recovered",
        tool_call(
            "Edit",
            {**CHANGE, "replace_all": True},
            data={"structuredPatch": PATCH, "userModified": True, "replaceAll": True, "staleRecovered": True},
        ),
        "Edit a.py +2 −1 · every occurrence · changed by the user",
        ["note", "note", "note", "diff"],
        ["edited by the user before it was applied", "replaces every occurrence"],
    ),
    Row(
        "the patch computed in the file",
        tool_call(
            "Edit",
            {"file_path": "a.py", "old_string": "f", "new_string": "F"},
            data={"oldString": "f", "newString": "F", "originalFile": "a\nb\nc\nd\ne\nf\ng\n", "structuredPatch": []},
        ),
        "Edit a.py +1 −1",
        ["diff"],
        [" c", " d", " e", "-f", "+F", " g"],
    ),
    Row(
        "only text, the line number in a snippet",
        tool_call(
            "Edit", CHANGE, text="The file has been updated:\n    40→def wait():\n    41→    sleep(2)\n    42→    log()"
        ),
        "Edit a.py +2 −1",
        ["diff"],
        ["-    sleep(1)", "+    sleep(2)"],
    ),
    Row(
        "without a line end at the end",
        tool_call(
            "Edit", CHANGE, data={"structuredPatch": [{"lines": ["-a", "\\ No newline at end of file", "+b", "plain"]}]}
        ),
        "Edit a.py +1 −1",
        ["diff", "note"],
        ["\\ No newline at end of file", " plain"],
    ),
    Row(
        "failed",
        tool_call(
            "Edit",
            CHANGE,
            text="<tool_use_error>String to replace not found in file.</tool_use_error>",
            data="Error: String to replace not found in file.",
            is_error=True,
        ),
        "Edit a.py +2 −1",
        ["note", "diff"],
        ["failed: String to replace not found in file."],
    ),
    Row("denied", tool_call("Edit", CHANGE, text=DENIED, is_error=True), "Edit a.py +2 −1", ["note", "diff"]),
    Row(
        "a new file", tool_call("Edit", {"file_path": "a.py", "new_string": "x\n"}), "Edit a.py +1 −0", ["note", "diff"]
    ),
    Row("nothing changed", tool_call("Edit", {"file_path": "a.py"}, text="ok"), "Edit a.py", []),
    Row(
        "several, with a patch",
        tool_call(
            "MultiEdit",
            {"file_path": "a.py", "edits": [{"old_string": "a", "new_string": "b"}] * 2},
            data={
                "filePath": "a.py",
                "edits": [{"old_string": "a", "new_string": "b", "replace_all": False}] * 2,
                "originalFileContents": "x",
                "structuredPatch": PATCH,
                "userModified": False,
            },
        ),
        "MultiEdit a.py 2 edits +2 −1",
        ["diff"],
        ["+    log()"],
    ),
    Row(
        "several, computed in the file",
        tool_call(
            "MultiEdit",
            {"file_path": "a.py"},
            data={
                "edits": [
                    {"old_string": "one", "new_string": "1"},
                    {"old_string": "nine", "new_string": "9", "replace_all": True},
                ],
                "originalFileContents": "one\n2\n3\n4\n5\n6\n7\n8\nnine\n",
            },
        ),
        "MultiEdit a.py 2 edits +2 −2 · every occurrence",
        ["note", "diff"],
        ["-one", "+1", "-nine", "+9", " 6"],
    ),
    Row(
        "several, only text",
        tool_call(
            "MultiEdit",
            {"file_path": "a.py", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c"}]},
            text="Applied 2 edits",
        ),
        "MultiEdit a.py 2 edits +1 −2",
        ["diff"],
        ["-a", "+b", "-c"],
    ),
]

CELL = {"notebook_path": "n.ipynb", "cell_id": "cell-1", "new_source": "print(2)"}
NOTEBOOK_FILE = json.dumps({"cells": [{"id": "a", "source": "x"}, {"source": ["print(1)"]}]})
NOTEBOOK = [
    Row(
        "running",
        tool_call("NotebookEdit", {**CELL, "edit_mode": "replace"}),
        "NotebookEdit n.ipynb replace cell-1",
        ["note", "facts", "code"],
        ["print(2)"],
    ),
    Row(
        "replaced",
        tool_call(
            "NotebookEdit",
            CELL,
            data={
                "new_source": "print(2)",
                "old_source": "print(1)",
                "cell_id": "cell-1",
                "cell_type": "code",
                "language": "python",
                "edit_mode": "replace",
                "error": "",
                "notebook_path": "n.ipynb",
            },
        ),
        "NotebookEdit n.ipynb replace cell-1 +1 −1",
        ["facts", "diff"],
        ["-print(1)", "+print(2)", "python", "code"],
    ),
    Row(
        "replaced, the old text from the notebook",
        tool_call("NotebookEdit", CELL, data={"new_source": "print(2)", "original_file": NOTEBOOK_FILE}),
        "NotebookEdit n.ipynb replace cell-1 +1 −1",
        ["facts", "diff"],
        ["-print(1)"],
    ),
    Row(
        "replaced, in 1.0 by number",
        tool_call(
            "NotebookEdit",
            {"notebook_path": "n.ipynb", "cell_number": 0, "new_source": "x"},
            data={
                "cell_number": 0,
                "cell_type": "code",
                "edit_mode": "replace",
                "error": "",
                "language": "python",
                "new_source": "x",
            },
        ),
        "NotebookEdit n.ipynb replace 0",
        ["facts", "code"],
        ["x"],
    ),
    Row(
        "inserted",
        tool_call(
            "NotebookEdit",
            {**CELL, "edit_mode": "insert", "cell_type": "markdown", "new_source": "# new"},
            data={"new_source": "# new", "cell_id": "k2", "cell_type": "markdown", "edit_mode": "insert"},
        ),
        "NotebookEdit n.ipynb insert k2",
        ["facts", "prose"],
        ["# new", "after cell-1"],
    ),
    Row(
        "inserted, only text",
        tool_call("NotebookEdit", {**CELL, "edit_mode": "insert"}, text="Inserted cell k2 with print(2)"),
        "NotebookEdit n.ipynb insert after cell-1",
        ["facts", "code"],
        ["print(2)"],
    ),
    Row(
        "deleted",
        tool_call(
            "NotebookEdit",
            {**CELL, "new_source": "", "edit_mode": "delete"},
            data={"new_source": "", "old_source": "a\nb", "cell_id": "cell-1", "edit_mode": "delete"},
        ),
        "NotebookEdit n.ipynb delete cell-1 +0 −2",
        ["facts", "diff"],
        ["-a", "-b"],
    ),
    Row(
        "deleted, only text, in 0.2",
        tool_call("NotebookEditCell", {**CELL, "new_source": "", "edit_mode": "delete"}, text="Deleted cell cell-1"),
        "NotebookEditCell n.ipynb delete cell-1",
        ["facts", "note"],
        ["Deleted cell cell-1"],
    ),
    Row(
        "emptied",
        tool_call("NotebookEdit", {**CELL, "new_source": ""}, text="ok"),
        "NotebookEdit n.ipynb replace cell-1",
        ["facts", "note"],
        ["empty cell"],
    ),
    Row(
        "failed in the result's own words",
        tool_call("NotebookEdit", CELL, data={"error": "no such cell", "edit_mode": "replace"}),
        "NotebookEdit n.ipynb replace cell-1",
        ["note", "facts", "code"],
        ["no such cell"],
    ),
]

PY = {"pattern": "**/*.py"}
GLOB = [
    Row("running", tool_call("Glob", {**PY, "path": "src"}), "Glob **/*.py in src", ["note"]),
    Row(
        "files",
        tool_call("Glob", PY, data={"filenames": ["a.py", "b.py"], "durationMs": 3, "numFiles": 2, "truncated": False}),
        "Glob **/*.py → 2 files",
        ["files"],
        ["a.py", "b.py"],
    ),
    Row(
        "truncated",
        tool_call(
            "Glob",
            PY,
            data={
                "filenames": ["a.py"],
                "numFiles": 1,
                "truncated": True,
                "totalMatches": 1234,
                "countIsComplete": False,
                "timedOut": True,
                "durationMs": 20000,
            },
        ),
        "Glob **/*.py → 1 file",
        ["files", "note", "note"],
        ["truncated: 1 of at least 1,234 files", "the search timed out after 20 s"],
    ),
    Row("nothing", tool_call("Glob", PY, data={"filenames": [], "numFiles": 0}), "Glob **/*.py → no files", ["note"]),
    Row(
        "only text, truncated",
        tool_call(
            "GlobTool", PY, text="a.py\nb c.py\n(Results are truncated. Consider a more specific path or pattern.)"
        ),
        "GlobTool **/*.py → 2 files",
        ["files", "note"],
        ["b c.py", "Results are truncated. Consider a more specific path or pattern."],
    ),
    Row("only text, nothing", tool_call("Glob", PY, text="No files found"), "Glob **/*.py → no files", ["note"]),
    Row(
        "failed",
        tool_call("Glob", PY, text="Error: no such folder", is_error=True),
        "Glob **/*.py",
        ["note"],
        ["failed: no such folder"],
    ),
]

TODO = {"pattern": "TODO|fixme", "path": "src"}
FOUND = "a.py-3-x\na.py:4:# TODO: one\n--\nb.py:6:# FIXME"
GREP = [
    Row("running", tool_call("Grep", {**TODO, "glob": "*.py"}), 'Grep "TODO|fixme" in src (*.py)', ["note"]),
    Row(
        "files",
        tool_call(
            "Grep",
            TODO,
            data={"mode": "files_with_matches", "filenames": ["a.py", "b.py", "c.py"], "numFiles": 3, "totalFiles": 9},
        ),
        'Grep "TODO|fixme" in src → 3 files',
        ["files", "note"],
        ["c.py", "limited to 3 of 9"],
    ),
    Row(
        "files, in 0.2, with no mode",
        tool_call("GrepTool", {"pattern": "x", "include": "*.ts"}, data={"filenames": ["a.py"], "numFiles": 1}),
        'GrepTool "x" (*.ts) → 1 file',
        ["files"],
    ),
    Row(
        "content",
        tool_call(
            "Grep",
            {**TODO, "output_mode": "content", "-n": True, "-C": 1, "-i": True},
            data={"mode": "content", "numFiles": 0, "filenames": [], "content": FOUND, "numLines": 4},
        ),
        'Grep "TODO|fixme" in src → 4 lines',
        ["facts", "code"],
        [FOUND, "TODO", "FIXME", "ignored"],
    ),
    Row(
        "content, limited",
        tool_call(
            "Grep",
            {**TODO, "output_mode": "content"},
            data={
                "mode": "content",
                "content": "a:TODO",
                "numLines": 1,
                "totalLines": 3000,
                "appliedLimit": 1,
                "appliedOffset": 5,
            },
        ),
        'Grep "TODO|fixme" in src → 1 line',
        ["code", "note"],
        ["limited to 1 of 3,000, skipping the first 5"],
    ),
    Row(
        "content, limited to more than was found",
        tool_call("Grep", TODO, data={"mode": "content", "content": "a:TODO", "numLines": 1, "appliedLimit": 5}),
        'Grep "TODO|fixme" in src → 1 line',
        ["code", "note"],
        ["limited to 5"],
    ),
    Row(
        "content, nothing",
        tool_call("Grep", TODO, data={"mode": "content", "content": "", "numLines": 0, "filenames": []}),
        'Grep "TODO|fixme" in src → no matches',
        ["note"],
        ["nothing found"],
    ),
    Row(
        "count",
        tool_call(
            "Grep",
            {**TODO, "output_mode": "count"},
            data={"mode": "count", "numFiles": 2, "filenames": [], "content": "C:\\a.py:3\nb.py:1", "numMatches": 4},
        ),
        'Grep "TODO|fixme" in src → 4 matches in 2 files',
        ["files"],
        ["C:\\a.py", "3", "b.py", "1"],
    ),
    Row(
        "count of one file",
        tool_call("Grep", {"pattern": "x", "path": "a.py"}, data={"mode": "count", "content": "1", "filenames": []}),
        'Grep "x" in a.py → 1 match in 1 file',
        ["files"],
        ["a.py", "1"],
    ),
    Row(
        "only text, files",
        tool_call("Grep", TODO, text="Found 2 files limit: 2\na.py\nb.py"),
        'Grep "TODO|fixme" in src → 2 files',
        ["files", "note"],
        ["a.py", "limited: limit: 2"],
    ),
    Row(
        "only text, content",
        tool_call(
            "Grep",
            {**TODO, "output_mode": "content"},
            text=f"{FOUND}\n\n[Showing results with pagination = limit: 4, offset: 0]",
        ),
        'Grep "TODO|fixme" in src → 4 lines',
        ["code", "note"],
        [FOUND, "limited: limit: 4, offset: 0"],
    ),
    Row(
        "only text, count",
        tool_call(
            "Grep", {**TODO, "output_mode": "count"}, text="a.py:3\nb.py:1\n\nFound 4 total occurrences across 2 files."
        ),
        'Grep "TODO|fixme" in src → 4 matches in 2 files',
        ["files"],
        ["a.py", "3"],
    ),
    Row(
        "only text, nothing",
        tool_call("Grep", TODO, text="No files found"),
        'Grep "TODO|fixme" in src → no files',
        ["note"],
    ),
    Row(
        "failed", tool_call("Grep", TODO, text="regex parse error", is_error=True), 'Grep "TODO|fixme" in src', ["note"]
    ),
]

TREE = "- /p/\n  - README.md\n  - docs/\n    - a.md\n"
OTHERS = [
    Row(
        "LS, a string",
        tool_call("LS", {"path": "/p", "ignore": ["*.o"]}, text=f"{TREE}\nNOTE: do any seem malicious?", data=TREE),
        "LS /p → 3 entries",
        ["facts", "code"],
        [TREE, "*.o"],
    ),
    Row("LS, only text", tool_call("LS", {"path": "/p"}, text=TREE), "LS /p → 3 entries", ["code"], [TREE]),
    Row(
        "LS, failed",
        tool_call("LS", {"path": "/p"}, text="no", data="Error: no", is_error=True),
        "LS /p",
        ["note"],
        ["failed: no"],
    ),
    Row("LS, running", tool_call("LS", {"path": "/p"}), "LS /p", ["note"]),
    Row(
        "LSP, places",
        tool_call(
            "LSP",
            {"operation": "findReferences", "filePath": "a.ts", "line": 10, "character": 17},
            data={
                "operation": "findReferences",
                "result": "a.ts:\n  Line 10:17",
                "filePath": "a.ts",
                "resultCount": 5,
                "fileCount": 3,
            },
        ),
        "LSP findReferences a.ts:10:17 → 5 in 3 files",
        ["code"],
        ["a.ts:\n  Line 10:17"],
    ),
    Row(
        "LSP, documentation",
        tool_call("LSP", {"operation": "hover", "filePath": "a.ts"}, data={"operation": "hover", "result": "`x`: int"}),
        "LSP hover a.ts",
        ["prose"],
        ["`x`: int"],
    ),
    Row("LSP, only text", tool_call("LSP", {"operation": "hover"}, text="none"), "LSP hover", ["prose"], ["none"]),
    Row("LSP, running", tool_call("LSP", {"operation": "hover"}), "LSP hover", ["note"]),
    Row("LSP, a tree", tool_call("LSP", {}, data={"result": [{"a": 1}]}), "LSP", ["data"]),
]

ECHO = {"command": "echo hi", "description": "Say hi"}
BASH = [
    Row("running", tool_call("Bash", ECHO), "Bash Say hi", ["terminal", "note"], ["echo hi", "still running"]),
    Row(
        "both streams",
        tool_call("Bash", ECHO, data={"stdout": "hi", "stderr": "oops", "interrupted": False, "isImage": False}),
        "Bash Say hi",
        ["terminal", "terminal", "terminal"],
        ["hi", "oops", "err"],
    ),
    Row(
        "interrupted, explained, timed out, truncated",
        tool_call(
            "PowerShell",
            {"command": "ls\n-l", "dangerouslyDisableSandbox": True},
            data={
                "stdout": "x",
                "interrupted": True,
                "returnCodeInterpretation": "No matches found",
                "timedOutAfterMs": 1500,
                "persistedOutputPath": "/t/x.txt",
                "persistedOutputSize": 108894,
                "gitOperation": {"pr": {"number": 42, "action": "created"}},
                "backgroundedByUser": True,
                "structuredContent": {"n": 3},
            },
        ),
        "PowerShell ls -l · interrupted",
        ["terminal", "note", "note", "terminal", "note", "note", "note", "note", "facts", "data"],
        [
            "interrupted",
            "No matches found",
            "timed out after 1.5 s",
            "truncated: the full output (108.9 kB) is in /t/x.txt",
        ],
    ),
    Row(
        "in the background",
        tool_call("Bash", ECHO, text="Command running in background with ID: b1", data={"backgroundTaskId": "b1"}),
        "Bash Say hi · in the background",
        ["terminal", "note"],
        ["Command running in background with ID: b1"],
    ),
    Row(
        "an image",
        tool_call("Bash", ECHO, text=IMAGE, data={"stdout": f"data:image/png;base64,{PNG}", "isImage": True}),
        "Bash Say hi",
        ["terminal", "picture"],
        ["image/png"],
    ),
    Row("an image, only as a block", tool_call("Bash", ECHO, text=IMAGE), "Bash Say hi", ["terminal", "picture"]),
    Row("only text", tool_call("Bash", ECHO, text="hi"), "Bash Say hi", ["terminal", "terminal"], ["hi"]),
    Row("nothing printed", tool_call("Bash", ECHO, data={"stdout": "", "stderr": ""}), "Bash Say hi", ["terminal"]),
    Row(
        "failed with a code",
        tool_call(
            "Bash", ECHO, text="Exit code 2\nno such file", data="Error: Exit code 2\nno such file", is_error=True
        ),
        "Bash Say hi",
        ["terminal", "note", "terminal"],
        ["exit code 2", "no such file"],
    ),
    Row(
        "failed in 1.0",
        tool_call("Bash", ECHO, text="no", is_error=True),
        "Bash Say hi",
        ["terminal", "note", "terminal"],
        ["failed"],
    ),
    Row("denied", tool_call("Bash", ECHO, text=DENIED, is_error=True), "Bash Say hi", ["terminal", "note"]),
    Row(
        "interrupted",
        tool_call("Bash", ECHO, text="[Request interrupted by user for tool use]", is_error=True),
        "Bash Say hi · interrupted",
        ["terminal", "note"],
        ["interrupted: [Request interrupted by user for tool use]"],
    ),
]

ROWS = [*READ, *WRITE, *EDIT, *NOTEBOOK, *GLOB, *GREP, *OTHERS, *BASH]
NAMES = sorted({row.tool_call.name for row in ROWS})


@table("row", ROWS)
def test_each_shape_of_a_result_has_its_title_and_drawing(row: Row) -> None:
    nodes = draw(row.tool_call)
    assert tools.title(row.tool_call) == row.title
    assert kinds(nodes) == row.kinds
    texts = set(strings(msgspec.to_builtins(nodes)))
    assert not [text for text in row.texts if text not in texts]


@table("row", ROWS)
def test_a_full_drawing_has_every_text(row: Row) -> None:
    drawn = json.dumps(msgspec.to_builtins(tools.draw(row.tool_call, full=True)), ensure_ascii=False)
    given = [text for text in strings(row.tool_call.raw_input) if len(text) > 3 and "\n" not in text]
    assert not [text for text in given if json.dumps(text, ensure_ascii=False)[1:-1] not in drawn + row.title]


def test_code_keeps_the_line_numbers_of_the_text() -> None:
    [code] = draw(READ[6].tool_call)
    assert isinstance(code, Code) and code.start == 41
    [code] = draw(tool_call("Read", PATH, text="    99→a\n   100→b"))
    assert isinstance(code, Code) and (code.start, code.text) == (99, "a\nb")


def test_hunks_come_from_the_clients_patch() -> None:
    [diff] = draw(EDIT[1].tool_call)
    assert isinstance(diff, Diff) and diff.hunks == [HUNK]


def test_a_computed_diff_has_the_lines_of_the_file() -> None:
    [diff] = draw(EDIT[3].tool_call)
    assert isinstance(diff, Diff)
    assert diff.hunks == [Hunk(old_start=3, new_start=3, lines=[" c", " d", " e", "-f", "+F", " g"])]
    snippet = next(row for row in EDIT if "snippet" in row.name)
    [diff] = draw(snippet.tool_call)
    assert isinstance(diff, Diff) and diff.hunks[0].new_start == 41


def test_errors_and_warnings_have_their_level() -> None:
    levels = {row.name: [n.level for n in draw(row.tool_call) if isinstance(n, Note)] for row in READ}
    assert levels["failed"] == ["error"]
    assert levels["denied"] == ["warning"]
    assert levels["truncated at the token limit"] == ["warning"]


def test_images_have_size_and_dimensions() -> None:
    [shown] = draw(tool_call("Read", {"file_path": "p.png"}, text=IMAGE))
    assert isinstance(shown, Picture) and (shown.width, shown.height, shown.size) == (8, 8, 94)
    assert (dimensions(GIF), dimensions(JPEG)) == ((3, 2), (3, 2))
    assert [dimensions(text) for text in ("", "é", "AAAA", PNG[:20], JPEG[:20])] == [None] * 5


def test_match_counts_are_notes_on_files() -> None:
    [files] = draw(next(row for row in GREP if row.name == "count").tool_call)
    assert isinstance(files, Files)
    assert {entry.path: entry.note for entry in files.entries} == {"C:\\a.py": "3", "b.py": "1"}


def test_a_notebook_cell_has_its_outputs() -> None:
    row = next(row for row in READ if row.name == "notebook")
    sections = [node for node in draw(row.tool_call) if isinstance(node, Section)]
    assert [kinds(section.nodes) for section in sections] == [["prose"], ["code", "terminal", "terminal", "picture"]]


@table(
    ("pattern", "content", "ignore_case", "expected"),
    [
        ("TODO", "a.py:4:TODO: x", False, ["TODO"]),
        ("todo", "a.py:4:TODO: x", True, ["TODO"]),
        ("(?i)todo", "TODO todo", False, ["TODO", "todo"]),
        (r"^import \w+", "a.py:1:import os\nb.py-2-import sys", False, ["import os", "import sys"]),
        (r"\bticks\(", "ticks(1)", False, ["ticks("]),
        ("retr(y|ies)", "retry retries", False, ["retry", "retries"]),
        (r"\d{4}", "in 2026", False, ["2026"]),
        ("(a+)+b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", False, []),
        (r"(ab)+ long\.name", "abab long.name", False, [" long.name", "ab"]),
        (r"\p{Lu}oken", "Token", False, ["oken"]),
        ("[[:alpha:]]+x{2}yz", "axxyz", False, ["yz"]),
        ("(", "f(x)", False, []),
        ("", "f(x)", False, []),
        ("x*", "abc", False, []),
    ],
)
def test_matches_of_a_pattern_are_highlighted(
    pattern: str, content: str, ignore_case: bool, expected: list[str]
) -> None:
    assert matched_texts(pattern, content, ignore_case=ignore_case) == expected


def test_highlighting_is_fast_for_any_pattern() -> None:
    line = "a" * 5000
    for pattern in ("(a*)*b", "a*a*a*a*a*b", "(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)b", "a?" * 40 + "a" * 40, ".*.*.*x"):
        assert len(matched_texts(pattern, "\n".join([line] * 50))) <= 50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("     1→a\n     2→b", (1, "a\nb", "", "")),
        ("9\ta\n10\t", (9, "a\n", "", "")),
        ("head\n1\ta\n3\tc", (1, "a", "head", "3\tc")),
        ("1→2→x", (1, "2→x", "", "")),
    ],
)
def test_line_numbers_are_removed(text: str, expected: tuple[int, str, str, str]) -> None:
    assert parse_numbered_lines(text) == expected


def test_a_text_without_line_numbers() -> None:
    assert parse_numbered_lines("a\nb") is None


def test_a_reminder_inside_the_file_stays() -> None:
    inside = "1\t<system-reminder>\n2\tx</system-reminder>"
    assert unwrap(inside).text == inside
    assert unwrap(f"1\ta\n\n{REMINDER}\n{REMINDER}").text == "1\ta"
    assert unwrap(REMINDER).text == ""


@table(
    ("path", "expected"),
    [
        ("src/a.PY", "python"),
        ("C:\\x\\Makefile", "makefile"),
        ("Dockerfile", "dockerfile"),
        ("a.test.tsx", "tsx"),
        (".bashrc", "bash"),
        ("notes.txt", None),
        ("", None),
        ("src/", None),
    ],
)
def test_the_language_follows_from_the_file_name(path: str, expected: str | None) -> None:
    assert _diff.language_of(path) == expected


LINES = st.lists(st.sampled_from(["a", "b", "", "c d", "-x", "+y"]), max_size=30)


@given(LINES, LINES)
def test_a_computed_diff_turns_old_into_new(old: list[str], new: list[str]) -> None:
    old, new = [*old, "end"], [*new, "end"]
    made, at = [], 0
    for hunk in _diff.compute_hunks("\n".join(old), "\n".join(new)):
        assert len(made) + hunk.old_start - 1 - at == hunk.new_start - 1
        made += old[at : hunk.old_start - 1]
        at = hunk.old_start - 1
        for line in hunk.lines:
            if line[0] != "+":
                assert old[at] == line[1:]
                at += 1
            if line[0] != "-":
                made.append(line[1:])
    assert made + old[at:] == new


def test_a_line_added_to_many_equal_ones() -> None:
    [hunk] = _diff.compute_hunks("a\n" * 10, "a\n" * 11)
    assert hunk == Hunk(old_start=8, new_start=8, lines=[" a", " a", " a", "+a"])
    [hunk] = _diff.compute_hunks("a\n" * 11, "a\n" * 10)
    assert hunk == Hunk(old_start=8, new_start=8, lines=[" a", " a", " a", "-a"])


def test_a_missing_newline_is_a_note_and_not_a_line() -> None:
    marker = "\\ No newline at end of file"
    patch = {"oldStart": 1, "newStart": 1, "lines": ["-a", marker, "+b", marker]}
    diff, note = draw(tool_call("Edit", {"file_path": "a.py"}, data={"structuredPatch": [patch]}))
    assert isinstance(diff, Diff) and diff.hunks[0].lines == ["-a", "+b"]
    assert note == Note(text=marker)


def test_a_huge_rewrite_is_not_compared() -> None:
    old, new = "\n".join(f"old {n}" for n in range(3000)), "\n".join(f"new {n}" for n in range(3000))
    assert _diff.change_counts(_diff.compute_hunks(old, new)) == "+3000 −3000"


def test_replacements_cannot_grow_a_file_without_limit() -> None:
    assert (
        _diff.apply_edits("a" * 10**5, [_diff.Edit(old_string="a", new_string="b" * 10**5, replace_all=True)]) is None
    )


def test_an_edit_replaces_the_first_occurrence_or_all_of_them() -> None:
    edits = [_diff.Edit(old_string="a", new_string="x"), _diff.Edit(old_string="b", new_string="y", replace_all=True)]
    assert _diff.apply_edits("a b a b", edits) == "x y a y"
    every = {"file_path": "n.txt", "old_string": "b", "new_string": "y", "replace_all": True}
    [note, diff] = draw(tool_call("Edit", every, data={"originalFile": "b\nc\nb\n"}))
    assert isinstance(note, Note) and isinstance(diff, Diff)
    assert diff.hunks[0].lines == ["-b", "+y", " c", "-b", "+y"]


def test_an_edit_that_does_not_match_is_not_applied() -> None:
    assert _diff.apply_edits("a", [_diff.Edit(old_string="b", new_string="c")]) is None
    assert _diff.apply_edits("a", [_diff.Edit(old_string="", new_string="c")]) is None


WORDS = st.sampled_from(
    [
        "text",
        "image",
        "notebook",
        "pdf",
        "parts",
        "file_unchanged",
        "content",
        "count",
        "insert",
        "delete",
        "code",
        "markdown",
        "1\ta\n2\tb",
        "     1→x",
        TAGGED,
        REMINDER,
        PNG,
        "No files found",
        "a.py:3",
        "(",
        "a*",
        "x\ny",
        "<persisted-output>\nx\n</persisted-output>",
        '{"cells": [{}]}',
        "\ud800",
    ]
)
KEYS = st.sampled_from(
    sorted({key for row in ROWS for key in (*keys(row.tool_call.raw_input), *keys(row.tool_call.data))})
)
LEAVES = st.none() | st.booleans() | st.integers() | st.integers(0, 9) | st.floats() | st.text(max_size=12) | WORDS
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=8), max_leaves=25
)


@settings(max_examples=examples(300))
@given(st.sampled_from(NAMES), JSON, JSON, JSON, st.sampled_from([None, *CALL_STATES]))
def test_no_content_of_a_call_makes_a_drawing_raise(
    name: str, given: Any, content: Any, data: Any, state: str | None
) -> None:
    outcome = Outcome(state=state) if state is not None else None
    one = ToolCall(name, given, result=b.ToolResult(content=content), data=data, outcome=outcome)
    title = tools.tool_for(name).title(one)
    assert title.startswith(name) and "\n" not in title
    assert all(isinstance(node, Node) for node in draw(one))


@settings(max_examples=examples(300))
@given(st.sampled_from(ROWS), KEYS, LEAVES | st.lists(LEAVES, max_size=2), st.data())
def test_a_field_of_another_type_never_raises(row: Row, key: str, value: Any, data: st.DataObject) -> None:
    def spoiled(original: Any) -> Any:
        if not isinstance(original, dict) or not original:
            return value if original is None else original
        name = data.draw(st.sampled_from(sorted(original)))
        inner = original[name]
        return {**original, key: value, name: spoiled(inner) if isinstance(inner, dict) else value}

    old = row.tool_call
    one = ToolCall(old.name, spoiled(old.raw_input), result=old.result, data=spoiled(old.data))
    assert tools.tool_for(one.name).title(one).startswith(one.name)
    assert all(isinstance(node, Node) for node in draw(one))
