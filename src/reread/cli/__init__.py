"""The command line: each verb has a module of its name, and calls one public function."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import click

from reread.base.stdio import flush_or_discard, open_standard_streams
from reread.base.version import __version__
from reread.cli._options import root_options
from reread.cli._output import guard_output
from reread.errors import RereadError

OK, FAILED, INTERRUPTED = 0, 2, 130
OUTPUT_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EDQUOT)
"""An error with one of these and without a file name comes from standard output."""

HEADINGS = {
    "Read": ("serve", "ls", "show", "tail"),
    "Check and count": ("check", "usage"),
    "Keep and share": ("capture", "resume", "replay", "export"),
    "Set up": ("completion",),
}
"""The verbs under the headings of the help."""
VERBS = tuple(verb for verbs in HEADINGS.values() for verb in verbs)


@contextmanager
def _closed_pipe_is_ok() -> Generator[None]:
    """Exit normally if the reader of a pipe closes it; click would report a failure."""
    try:
        yield
    except BrokenPipeError:
        raise click.exceptions.Exit(OK) from None


class VerbGroup(click.Group):
    """A group that imports the module of a verb when the verb is used."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _closed_pipe_is_ok():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _closed_pipe_is_ok():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        return getattr(importlib.import_module(f"reread.cli.{cmd_name}"), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, verbs in HEADINGS.items():
            with formatter.section(heading):
                known = [(verb, self.get_command(ctx, verb)) for verb in verbs]
                rows = [(f"{verb:10}", command.get_short_help_str(64)) for verb, command in known if command]
                formatter.write_dl(rows)


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="reread")
@root_options
@click.pass_context
def reread(ctx: click.Context, root: tuple[Path, ...]) -> None:
    """Read, check, follow, capture and replay Claude Code sessions.

    \b
    reread                         read sessions in the browser
    reread ls                      list sessions, newest first
    reread show latest             read the newest session
    reread tail latest             follow it live
    reread export latest -o it.md  write it to a file
    reread check                   validate all sessions
    reread usage --since 30d       count tokens and cost
    reread capture -- claude -p …  run Claude Code and record its output
    reread replay latest           play a recording back
    reread --demo show latest      try it on sample sessions

    A SESSION is a path, a session id or a unique prefix of one, "latest", or "-" for standard input.
    """
    ctx.obj = list(root)
    if ctx.invoked_subcommand is not None:
        return
    if sys.stdout.isatty():
        from reread.cli.serve import serve

        ctx.invoke(serve)
    else:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line; print an error as one line that says what to do."""
    open_standard_streams()
    guard_output()
    try:
        code = reread.main(standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        code = OK
    except (click.ClickException, RereadError, OSError, MemoryError) as error:
        _print_error(error)
        code = FAILED
    flush_or_discard(sys.stdout)
    flush_or_discard(sys.stderr)
    gc.freeze()  # the system frees a large session faster than the interpreter does
    sys.exit(code if isinstance(code, int) else OK)


def _print_error(error: Exception) -> None:
    """Print an error to standard error, without control characters."""
    from reread.render.sanitize import safe

    message = StringIO()
    if isinstance(error, click.ClickException):
        error.show(message)
    else:
        message.write(f"reread: {_error_text(error)}\n")
    with suppress(OSError):  # standard error is closed or full
        click.echo(safe(message.getvalue()), err=True, nl=False)


def _error_text(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "Not enough memory; close other programs, or choose fewer or smaller sessions."
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror or error
    if error.filename is not None:
        return f"Cannot use {os.fsdecode(error.filename)}: {reason}."
    if error.errno in OUTPUT_ERRORS:
        return f"Cannot write to standard output: {reason}."
    return f"The system reported an error: {reason}."
