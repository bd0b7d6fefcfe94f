"""`reread resume`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from reread.cli._options import SESSION
from reread.cli._runs import asked_store, capture_options, keeper_for, run_kept
from reread.errors import Misuse


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("conversation", type=SESSION)
@click.argument("prompt", nargs=-1, type=click.UNPROCESSED)
@click.option("--print", "only_print", is_flag=True, help="Only print the command.")
@click.option("--title", metavar="TEXT", help="What to call it.")
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
    """Go on with a captured conversation in Claude Code.

    With a prompt, as `claude -p` does; without one, in the terminal. What comes is captured into the same conversation.

    \b
    reread resume latest "Now add a test"
    reread resume latest --print
    """
    from reread.recording.resume_command import quoted, resume_command

    store = asked_store(ctx, root)
    kept = store.open(conversation)
    argv, cwd = resume_command(kept, " ".join(prompt))
    if only_print:
        click.echo(quoted(argv, cwd))
        return
    if cwd is not None and not os.path.isdir(cwd):
        raise Misuse(f"{cwd}: the folder it ran in is gone; `reread resume --print` prints the command")
    from reread.catalog.store import Store

    home = Store(kept.root) if kept.root is not None else store
    keeper = keeper_for(home, kept.id, kept.workspace, kept.agent, fsync, quiet=quiet)
    ctx.exit(run_kept(argv, keeper, title=title, cwd=cwd, **options))
