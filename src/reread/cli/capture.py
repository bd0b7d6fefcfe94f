"""`reread capture`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reread.cli._runs import asked_store, capture_options, keeper_for, run_kept


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND... | -")
@click.option("--workspace", default="default", show_default=True, metavar="NAME", help="Where to keep it.")
@click.option("--agent", default="default", show_default=True, metavar="NAME", help="Whose conversation it is.")
@click.option("--conversation", metavar="ID", help="Go on with this conversation, or begin it; else a new one.")
@click.option("--title", metavar="TEXT", help="What to call it.")
@click.option("--keep-input/--no-keep-input", default=None, help="Keep standard input too, or do not.")
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
    """Run a command, pass on what it prints, and keep every line.

    `claude -p` is told to print its messages (--output-format stream-json --verbose) unless it was told otherwise. The
    exit code is the command's own. `-` reads a pipe instead.

    \b
    reread capture -- claude -p "Why do the tests fail?"
    reread capture --pretty --title "Fix login" -- claude -p "Fix the login"
    claude -p "…" --output-format stream-json --verbose | reread capture -
    """
    from reread.recording.recorder import fresh_id

    store = asked_store(ctx, root)
    keeper = keeper_for(store, conversation or fresh_id(), workspace, agent, fsync, quiet=quiet)
    ctx.exit(run_kept(list(command), keeper, title=title, **options))
