"""The command line: every verb is one public function."""

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

from reread import __version__
from reread.base.stdio import flush_or_discard, open_standard_streams
from reread.cli._options import root_options
from reread.errors import RereadError

OK, MISUSED, INTERRUPTED = 0, 2, 130
OUTPUT_FAULTS = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EDQUOT)

HEADINGS = {
    "Read": ("serve", "ls", "show", "tail"),
    "Check and count": ("check", "usage"),
    "Keep and share": ("capture", "resume", "replay", "export"),
    "Set up": ("completion",),
}
"""The verbs by what they are for, as the help shows them; each lives in the module of its name."""
VERBS = tuple(verb for verbs in HEADINGS.values() for verb in verbs)


@contextmanager
def _until_nobody_reads() -> Generator[None]:
    """End in good order where the reader of a pipe has seen enough; click would call it a failure."""
    try:
        yield
    except BrokenPipeError:
        raise click.exceptions.Exit(OK) from None


class Verbs(click.Group):
    """The verbs, each loaded when it is asked for."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _until_nobody_reads():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _until_nobody_reads():
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


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="reread")
@root_options
@click.pass_context
def reread(ctx: click.Context, root: tuple[Path, ...]) -> None:
    """Read, check, follow, capture and replay Claude Code sessions.

    \b
    reread                         read them in the browser
    reread ls                      sessions, newest first
    reread show latest             read one
    reread tail latest             follow one while it is written
    reread export latest -o it.md  write one to a file
    reread check                   validate everything
    reread usage --since 30d       tokens and cost
    reread capture -- claude -p …  run Claude Code and keep what it prints
    reread replay latest           play it back
    reread --demo show latest      try it without sessions of your own

    A SESSION is a path, a session id or the beginning of one, "latest", or "-" for standard input.
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
    """Run the command line; what went wrong is said in one line, with what to do."""
    open_standard_streams()
    try:
        code = reread.main(standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        code = OK
    except (click.ClickException, RereadError, OSError, MemoryError) as error:
        _say(error)
        code = MISUSED
    flush_or_discard(sys.stdout)
    flush_or_discard(sys.stderr)
    gc.freeze()  # the system takes a large session back faster than the interpreter takes it apart
    sys.exit(code if isinstance(code, int) else OK)


def _say(error: Exception) -> None:
    """Say what went wrong, with nothing in it that a terminal would obey."""
    from reread.render.sanitize import safe

    said = StringIO()
    if isinstance(error, click.ClickException):
        error.show(said)
    else:
        said.write(f"reread: {_reason(error)}\n")
    with suppress(OSError):  # nobody listens any more
        click.echo(safe(said.getvalue()), err=True, nl=False)


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; close other programs, or choose fewer or smaller sessions"
    if not isinstance(error, OSError):
        return str(error)
    where = error.filename or ("standard output" if error.errno in OUTPUT_FAULTS else "the system")
    return f"{os.fsdecode(where)}: {error.strerror or error}; see to that, and run it again"
