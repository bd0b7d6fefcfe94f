"""Bash and PowerShell: a command and what it printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.deeds import FAILED, Deed, one_line
from reread.nodes import Node, Note, Picture, Terminal, facts
from reread.tools import generic
from reread.tools.tool import Tool


class Input(Struct, kw_only=True):
    """What is run."""

    command: str = ""
    description: str | None = None
    timeout: float | None = None
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
    timedOutAfterMs: float | None = None
    persistedOutputPath: str | None = None
    persistedOutputSize: int | None = None
    rawOutputPath: str | None = None
    sandbox: bool | None = None
    gitOperation: dict[str, Any] | None = None
    structuredContent: Any = None
    staleReadFileStateHint: str | None = None
    ghRateLimitHint: str | None = None


def title(deed: Deed) -> str:
    """What the command is for, or the command itself."""
    given = deed.input(Input)
    return f"{deed.name} {one_line(given.description or given.command)}"


def draw(deed: Deed) -> Iterator[Node]:
    """The command, then its output, errors told apart."""
    given, output = deed.input(Input), deed.output(Output)
    yield Terminal(text=str(given.command), stream="in")
    if deed.outcome.state == FAILED:
        yield Note(text=_failure(deed), level="error")
        if deed.outcome.message:
            yield Terminal(text=deed.outcome.message, stream="err")
        return
    yield from generic.ending(deed)
    if output is None:
        if deed.text:
            yield Terminal(text=deed.text)
        return
    yield from _printed(deed, output)
    yield from _remarks(output)


def _failure(deed: Deed) -> str:
    code = deed.outcome.exit_code
    return "failed" if code is None else f"exit code {code}"


def _printed(deed: Deed, output: Output) -> Iterator[Node]:
    if output.isImage:
        head, _, body = output.stdout.partition(",")
        kind = head.removeprefix("data:").partition(";")[0] if body else "image/png"
        yield Picture(media_type=kind, data=body or output.stdout, size=len(body or output.stdout) * 3 // 4)
    elif output.stdout:
        yield Terminal(text=output.stdout)
    if output.stderr:
        yield Terminal(text=output.stderr, stream="err")
    if not output.stdout and not output.stderr and deed.text.strip():
        yield Terminal(text=deed.text)


def _remarks(output: Output) -> Iterator[Node]:
    if output.interrupted:
        yield Note(text="interrupted", level="warning")
    if output.returnCodeInterpretation:
        yield Note(text=output.returnCodeInterpretation)
    if output.timedOutAfterMs:
        yield Note(text=f"timed out after {output.timedOutAfterMs / 1000:g} s", level="warning")
    if output.backgroundTaskId:
        yield Note(text=f"running in the background as {output.backgroundTaskId}")
    if output.persistedOutputPath:
        size = f" ({output.persistedOutputSize:,} bytes)" if output.persistedOutputSize else ""
        yield Note(text=f"cut: all of it{size} is in {output.persistedOutputPath}", level="warning")
    yield from facts(**{f"git {name}": _git(value) for name, value in (output.gitOperation or {}).items()})


def _git(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(str(part) for part in value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(value)


TOOLS = [Tool(("Bash", "PowerShell"), title, draw)]
