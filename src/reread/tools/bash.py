"""Bash and PowerShell: a command and what it printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.coerce import as_dict
from reread.tools import _draw, generic
from reread.tools._images import measured, picture
from reread.tools._result_text import unwrap
from reread.tools._values import first, grouped, line, number, span_ms, words
from reread.tools.nodes import Data, Node, Note, Terminal, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, FAILED, ToolCall

BACKGROUND = "Command running in background"
"""How a result begins that only says where the command went."""


class Input(Struct, kw_only=True):
    """What is run."""

    command: str = ""
    description: str | None = None
    timeout: float | None = None
    """Milliseconds."""
    run_in_background: bool | None = None
    dangerouslyDisableSandbox: bool | None = None


class Output(Struct, kw_only=True):
    """What came of it."""

    stdout: str = ""
    stderr: str = ""
    interrupted: bool = False
    isImage: bool | None = None
    returnCodeInterpretation: str | None = None
    noOutputExpected: bool | None = None
    backgroundTaskId: str | None = None
    backgroundedByUser: bool | None = None
    assistantAutoBackgrounded: bool | None = None
    backgroundCwdHint: str | None = None
    backgroundEndsWithFinalResponse: bool | None = None
    backgroundWakesOwner: bool | None = None
    timedOutAfterMs: float | None = None
    persistedOutputPath: str | None = None
    persistedOutputSize: int | None = None
    rawOutputPath: str | None = None
    sandbox: bool | None = None
    gitOperation: dict[str, Any] | None = None
    structuredContent: Any = None
    staleReadFileStateHint: str | None = None
    ghRateLimitHint: str | None = None


def title(call: ToolCall) -> str:
    """What the command is for, or the command itself."""
    given = call.input(Input)
    return f"{call.name} {line(first(given.description, given.command))}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """The command, then its output, errors told apart."""
    given, output = call.input(Input), call.output(Output)
    yield Terminal(text=words(given.command), stream="in")
    if given.dangerouslyDisableSandbox is True:
        yield Note(text="run outside the sandbox", level="warning")
    if call.ending.state == FAILED:
        yield from _failure(call)
    else:
        yield from generic.ending(call)
    if output:
        yield from _printed(call, output)
        yield from _remarks(output)
    elif call.ending.state == DONE:
        yield from _told(call)


def _failure(call: ToolCall) -> Iterator[Node]:
    code = call.ending.exit_code
    yield Note(text="failed" if code is None else f"exit code {code}", level="error")
    if call.ending.message:
        yield Terminal(text=call.ending.message, stream="err")


def _told(call: ToolCall) -> Iterator[Node]:
    """A result that is only text, or pictures."""
    yield from (measured(generic.picture(image)) for image in call.pictures)
    told = unwrap(call.text)
    if told.text.startswith(BACKGROUND):
        yield Note(text=told.text)
    elif told.text.strip():
        yield Terminal(text=told.text)
    yield from told.warning()


def _printed(call: ToolCall, output: Output) -> Iterator[Node]:
    out, err = words(output.stdout), words(output.stderr)
    if out and output.isImage is True:
        head, _, body = out.partition(",")
        kind = head.removeprefix("data:").partition(";")[0] if body else "image/png"
        yield picture(body or out, kind)
    elif out:
        yield Terminal(text=out)
    if err:
        yield Terminal(text=err, stream="err")
    if first(output.backgroundTaskId):
        known = f"running in the background as {words(output.backgroundTaskId)}"
        yield Note(text=call.text if call.text.startswith(BACKGROUND) else known)
    elif not out and not err and call.ending.state == DONE:
        yield from _told(call)


def _remarks(output: Output) -> Iterator[Node]:
    if output.interrupted is True:
        yield Note(text="interrupted", level="warning")
    yield from _draw.note(output.returnCodeInterpretation)
    if number(output.timedOutAfterMs):
        yield Note(text=f"timed out after {span_ms(output.timedOutAfterMs)}", level="warning")
    if output.backgroundedByUser is True:
        yield Note(text="put into the background by the user")
    yield from _spilled(output)
    for hint in (output.backgroundCwdHint, output.staleReadFileStateHint, output.ghRateLimitHint):
        yield from _draw.note(hint)
    yield from facts(**{f"git {name}": _git(value) for name, value in as_dict(output.gitOperation).items()})
    if output.structuredContent is not None:
        yield Data(value=output.structuredContent)


def _spilled(output: Output) -> Iterator[Node]:
    path = first(output.persistedOutputPath, output.rawOutputPath)
    if path:
        size = grouped(output.persistedOutputSize)
        yield Note(text=f"cut: all of it{f' ({size} bytes)' if size else ''} is in {path}", level="warning")


def _git(value: Any) -> str:
    return ", ".join(map(words, as_dict(value).values())) or words(value)


TOOLS = [Tool(("Bash", "PowerShell"), title, draw, category="run")]
