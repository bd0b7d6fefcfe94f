"""`reread capture`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reread.cli._options import check_pretty_options
from reread.cli._runs import STDIN, capture_options, chosen_store, open_recorder, run_and_record
from reread.errors import Misuse


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND... | -")
@click.option("--workspace", default="default", show_default=True, metavar="NAME", help="Store it in this workspace.")
@click.option("--agent", default="default", show_default=True, metavar="NAME", help="Store it for this agent.")
@click.option(
    "--conversation", metavar="ID", help="Append to this conversation, creating it if needed (default: a new one)."
)
@click.option("--title", metavar="TEXT", help="Give the conversation a title.")
@click.option(
    "--keep-input/--no-keep-input",
    default=None,
    help="Also record standard input, or not (default: if the command reads stream-json).",
)
@capture_options
@click.pass_context
def capture(
    ctx: click.Context,
    command: tuple[str, ...],
    workspace: str,
    agent: str,
    conversation: str | None,
    title: str | None,
    root: tuple[Path, ...],
    fsync: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Run a command, pass its output on, and record every line.

    Adds --output-format stream-json --verbose to `claude -p`, unless an output format is given. The exit code is the
    command's own. With --text, only the answer is printed, and the whole stream is still recorded. With `-` instead of
    a command, reads a pipe.

    \b
    reread capture -- claude -p "Why do the tests fail?"
    reread capture --text -- claude -p "Why do the tests fail?"
    reread capture --pretty --title "Fix login" -- claude -p "Fix the login"
    claude -p "…" --output-format stream-json --verbose | reread capture -
    """
    from reread.recording.recorder import new_id

    check_pretty_options(ctx)
    if list(command) == [STDIN] and (options["pty"] is not None or options["keep_input"] is not None):
        raise Misuse("Cannot use --pty or --keep-input with a pipe: no command is run.")
    store = chosen_store(ctx, root)
    recorder = open_recorder(store, conversation or new_id(), workspace, agent, fsync, quiet=quiet)
    ctx.exit(run_and_record(list(command), recorder, title=title, **options))
