"""Bash and PowerShell: a command and what it printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base.choices import DONE, FAILED
from reread.base.coerce import as_dict
from reread.base.format import as_number, duration_ms_text, size_text
from reread.base.structs import FrozenStruct
from reread.base.text import as_text
from reread.tools import _draw, generic
from reread.tools._show import declared
from reread.tools._values import first_nonblank
from reread.tools.generic import image_node
from reread.tools.nodes import Data, Node, Note, Terminal, facts
from reread.tools.spilled import unwrap
from reread.tools.tool import ToolCall

BACKGROUND = "Command running in background"
"""How a result begins if the command runs in the background."""


class BashInput(FrozenStruct):
    """The command to run."""

    command: str = ""
    description: str | None = None
    timeout: float | None = None
    """In milliseconds."""
    run_in_background: bool | None = None
    dangerouslyDisableSandbox: bool | None = None


class BashResult(FrozenStruct):
    """The output of the command, and how the client handled it."""

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


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the command, then its output, with errors apart."""
    args, output = call.input(BashInput), call.output(BashResult)
    yield Terminal(text=as_text(args.command), stream="in")
    if args.dangerouslyDisableSandbox is True:
        yield Note(text="ran outside the sandbox", level="warning")
    if call.outcome.state == FAILED:
        yield from _failure(call)
    else:
        yield from generic.outcome_note(call)
    if output:
        yield from _printed(call, output)
        yield from _remarks(output)
    elif call.outcome.state == DONE:
        yield from _plain(call)


def _failure(call: ToolCall) -> Iterator[Node]:
    code = call.outcome.exit_code
    yield Note(text="failed" if code is None else f"exit code {code}", level="error")
    if call.outcome.message:
        yield Terminal(text=call.outcome.message, stream="err")


def _plain(call: ToolCall) -> Iterator[Node]:
    """Draw a result that has only text or images."""
    yield from (generic.media_node(image) for image in call.images)
    result = unwrap(call.text)
    if result.text.startswith(BACKGROUND):
        yield Note(text=result.text)
    else:
        yield from _draw.terminal(result.text)
    yield from result.warning()


def is_left_running(call: ToolCall) -> bool:
    """True if a command went on in the background, so that its result does not say how it ended."""
    output = call.output(BashResult)
    return bool(output and first_nonblank(output.backgroundTaskId)) or call.text.startswith(BACKGROUND)


def _printed(call: ToolCall, output: BashResult) -> Iterator[Node]:
    out, err = as_text(output.stdout), as_text(output.stderr)
    if out and output.isImage is True:
        head, _, body = out.partition(",")
        media_type = head.removeprefix("data:").partition(";")[0] if body else "image/png"
        yield image_node(body or out, media_type)
    elif out:
        yield Terminal(text=out)
    if err:
        yield Terminal(text=err, stream="err")
    if first_nonblank(output.backgroundTaskId):
        note = f"running in the background as {as_text(output.backgroundTaskId)}"
        yield Note(text=call.text if call.text.startswith(BACKGROUND) else note)
    elif not out and not err and call.outcome.state == DONE:
        yield from _plain(call)


def _remarks(output: BashResult) -> Iterator[Node]:
    yield from _draw.note(output.returnCodeInterpretation)
    if as_number(output.timedOutAfterMs):
        yield Note(text=f"timed out after {duration_ms_text(output.timedOutAfterMs)}", level="warning")
    if output.backgroundedByUser is True:
        yield Note(text="moved to the background by the user")
    yield from _full_output_note(output)
    for hint in (output.backgroundCwdHint, output.staleReadFileStateHint, output.ghRateLimitHint):
        yield from _draw.note(hint)
    yield from facts(**{f"git {name}": _git(value) for name, value in as_dict(output.gitOperation).items()})
    if output.structuredContent is not None:
        yield Data(value=output.structuredContent)


def _full_output_note(output: BashResult) -> Iterator[Node]:
    path = first_nonblank(output.persistedOutputPath, output.rawOutputPath)
    if path:
        size = size_text(output.persistedOutputSize)
        yield Note(text=f"truncated: the full output{f' ({size})' if size else ''} is in {path}", level="warning")


def _git(value: Any) -> str:
    return ", ".join(map(as_text, as_dict(value).values())) or as_text(value)


TOOLS = [
    declared(
        ("Bash", "PowerShell"),
        "{description|command}",
        lambda fields: draw(fields.call),
        category="run",
        input=BashInput,
        result=BashResult,
    )
]
