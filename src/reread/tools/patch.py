"""apply_patch: the Codex CLI's tool that adds, changes, moves and deletes files."""

from __future__ import annotations

from collections.abc import Iterator

from reread.base.choices import DONE
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, path_line, plural
from reread.tools import _diff, _draw, generic
from reread.tools._values import join_parts
from reread.tools.nodes import Diff, Hunk, Node, Note
from reread.tools.tool import Tool, ToolCall

ADDS, DELETES, CHANGES = "adds", "deletes", "changes"
ACTIONS = {"*** Add File: ": ADDS, "*** Delete File: ": DELETES, "*** Update File: ": CHANGES}
MOVE = "*** Move to: "
BEGIN, END, END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
HUNK = "@@"


class ApplyPatchInput(FrozenStruct):
    """The input of apply_patch: a patch of several files, without line numbers."""

    patch: str = ""


class PatchChunk:
    """Lines of a patch that belong together, each with its prefix."""

    def __init__(self, context: str = "") -> None:
        self.context = context
        """A line above them, from which on they are looked for."""
        self.lines: list[str] = []
        self.at_end = False
        """True if they are the last ones of the file."""


class PatchedFile:
    """The change that a patch makes to a file."""

    def __init__(self, action: str, path: str) -> None:
        self.action = action
        """adds, deletes or changes."""
        self.path = path
        """As written: often below the folder that the patch was applied in."""
        self.moved_to = ""
        self.chunks: list[PatchChunk] = [PatchChunk()]

    def hunks(self) -> list[Hunk]:
        """The chunks as they are drawn; the patch does not say where in the file they are."""
        found = [[*([f" {one.context}"] if one.context else []), *one.lines] for one in self.chunks if one.lines]
        return [Hunk(old_start=1, new_start=1, lines=lines) for lines in found]


def title(call: ToolCall) -> str:
    """Return the file, or how many there are, and the number of changed lines."""
    files = _files(call)
    what = path_line(files[0].path) if len(files) == 1 else plural(files, "file") if files else ""
    return join_parts(call.name, what, _diff.change_counts([hunk for file in files for hunk in file.hunks()]))


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the change of each file, or the one that was attempted."""
    files = _files(call)
    if not files:
        yield from generic.draw(call)
        return
    yield from generic.outcome_note(call)
    for file in files:
        yield Note(text=f"{file.action} {file.path}" + (f", moves it to {file.moved_to}" if file.moved_to else ""))
        if hunks := file.hunks():
            yield Diff(path=file.path or None, hunks=hunks)
    if call.outcome.state == DONE:
        yield from _draw.terminal(call.text)


def _files(call: ToolCall) -> list[PatchedFile]:
    return patched_files(as_text(call.input(ApplyPatchInput).patch))


def patched_files(patch: str) -> list[PatchedFile]:
    """Return the files of a patch in order."""
    files: list[PatchedFile] = []
    for line in patch.split("\n"):
        head = next((head for head in ACTIONS if line.startswith(head)), None)
        if head:
            files.append(PatchedFile(ACTIONS[head], line.removeprefix(head).strip()))
        elif line.startswith(END) and not line.startswith(END_OF_FILE):
            break
        elif not files:
            continue
        elif line.startswith(MOVE):
            files[-1].moved_to = line.removeprefix(MOVE).strip()
        elif line.startswith(HUNK):
            files[-1].chunks.append(PatchChunk(line.removeprefix(HUNK).strip()))
        elif line.startswith(END_OF_FILE):
            files[-1].chunks[-1].at_end = True
        elif line[:1] in ("+", "-", " "):
            files[-1].chunks[-1].lines.append(line)
        elif not line and files[-1].action == CHANGES:
            files[-1].chunks[-1].lines.append(" ")
    return files


TOOLS = [Tool(("apply_patch",), title, draw, category="edit", input=ApplyPatchInput)]
