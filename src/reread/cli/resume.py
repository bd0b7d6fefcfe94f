"""`reread resume`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from reread.cli._options import LATEST, SESSION
from reread.cli._runs import capture_options, chosen_store, open_recorder, run_and_record
from reread.errors import Misuse


@click.command()
@click.argument("conversation", type=SESSION, required=False, default=LATEST, metavar="[SESSION]")
@click.argument("prompt", nargs=-1, type=click.UNPROCESSED)
@click.option("--print", "only_print", is_flag=True, help="Print the command instead of running it.")
@click.option("--title", metavar="TEXT", help="Give the conversation a title.")
@capture_options
@click.pass_context
def resume(
    ctx: click.Context,
    conversation: str,
    prompt: tuple[str, ...],
    only_print: bool,
    title: str | None,
    root: tuple[Path, ...],
    fsync: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Continue a captured conversation in Claude Code.

    With a prompt, runs `claude -p`; without one, Claude Code in the terminal. The output is captured into the same
    conversation.

    \b
    reread resume latest "Now add a test"
    reread resume latest --print
    """
    from reread.recording.resume_command import quote_command, resume_command

    store = chosen_store(ctx, root)
    stored = store.open(conversation)
    argv, cwd = resume_command(stored, " ".join(prompt))
    if only_print:
        click.echo(quote_command(argv, cwd))
        return
    if cwd is not None and not os.path.isdir(cwd):
        raise Misuse(f"No such folder: {cwd}, where the conversation ran; run `reread resume --print` for the command.")
    from reread.catalog.store import Store

    home = Store(stored.root) if stored.root is not None else store
    recorder = open_recorder(home, stored.id, stored.workspace, stored.agent, fsync, quiet=quiet)
    ctx.exit(run_and_record(argv, recorder, title=title, cwd=cwd, **options))
