"""apply_patch: the Codex CLI's tool that adds, changes, moves and deletes files."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.text import as_text, path_line, plural
from reread.tools import _diff, _draw, generic
from reread.tools._values import join_parts
from reread.tools.nodes import Diff, Hunk, Node, Note
from reread.tools.outcome import DONE
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall

ACTIONS = {"*** Add File: ": "adds", "*** Delete File: ": "deletes", "*** Update File: ": "changes"}
MOVE = "*** Move to: "
HUNK = "@@"


class ApplyPatchInput(Struct, frozen=True, kw_only=True):
    """The input of apply_patch: a patch of several files, without line numbers."""

    patch: str = ""


class _File:
    """What a patch does to a file."""

    def __init__(self, action: str, path: str) -> None:
        self.action = action
        self.path = path
        self.moved_to = ""
        self.hunks: list[list[str]] = [[]]

    def drawn(self) -> list[Hunk]:
        """The hunks; the patch does not say where in the file they are."""
        return [Hunk(old_start=1, new_start=1, lines=lines) for lines in self.hunks if lines]


def title(call: ToolCall) -> str:
    """Return the file, or how many there are, and the number of changed lines."""
    files = _files(call)
    what = path_line(files[0].path) if len(files) == 1 else plural(files, "file") if files else ""
    return join_parts(call.name, what, _diff.change_counts([hunk for file in files for hunk in file.drawn()]))


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the change of each file, or the one that was attempted."""
    files = _files(call)
    if not files:
        yield from generic.draw(call)
        return
    yield from generic.outcome_note(call)
    for file in files:
        yield Note(text=f"{file.action} {file.path}" + (f", moves it to {file.moved_to}" if file.moved_to else ""))
        if hunks := file.drawn():
            yield Diff(path=file.path or None, hunks=hunks)
    if call.outcome.state == DONE:
        yield from _draw.terminal(call.text)


def _files(call: ToolCall) -> list[_File]:
    """Return the files of a patch in order."""
    files: list[_File] = []
    for line in as_text(call.input(ApplyPatchInput).patch).split("\n"):
        head = next((head for head in ACTIONS if line.startswith(head)), None)
        if head:
            files.append(_File(ACTIONS[head], line.removeprefix(head).strip()))
        elif not files:
            continue
        elif line.startswith(MOVE):
            files[-1].moved_to = line.removeprefix(MOVE).strip()
        elif line.startswith(HUNK):
            context = line.removeprefix(HUNK).strip()
            files[-1].hunks.append([f" {context}"] if context else [])
        elif line[:1] in ("+", "-", " "):
            files[-1].hunks[-1].append(line)
    return files


TOOLS = [Tool(("apply_patch",), title, draw, category="edit", input=ApplyPatchInput)]
