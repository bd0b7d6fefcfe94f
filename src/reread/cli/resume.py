"""`reread resume`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import check_pretty_options, find_session, merged_roots, refuse_with, resumable_argument
from reread.cli._runs import capture_options, chosen_store, open_recorder, run_and_record
from reread.errors import Misuse, NotFound

if TYPE_CHECKING:
    from reread.catalog.store import Store
    from reread.recording.recorder import Recorder
    from reread.recording.resume_command import Resumption

CAPTURE_OPTIONS = ("--title", "--pretty", "--text", "--full", "--fsync", "--pty", "--quiet")


@click.command()
@resumable_argument
@click.argument("prompt", nargs=-1, type=click.UNPROCESSED)
@click.option("--print", "only_print", is_flag=True, help="Print the command instead of running it.")
@click.option("--no-capture", is_flag=True, help="Run Claude Code without recording what it prints.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask, even if the session is not from your own folders.")
@click.option("--title", metavar="TEXT", help="Give the conversation a title.")
@capture_options
@click.pass_context
def resume(
    ctx: click.Context,
    name: str,
    project: tuple[str, ...],
    prompt: tuple[str, ...],
    only_print: bool,
    no_capture: bool,
    yes: bool,
    title: str | None,
    root: tuple[Path, ...],
    fsync: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Continue a session in Claude Code.

    Runs `claude --resume` with the session's id, in its folder: with a prompt `claude -p`, without one Claude Code in
    the terminal. What it prints is captured into a conversation, the same one each time. Asks first if the session
    comes from a file that is neither in Claude Code's folders nor in your own store.

    \b
    reread resume latest "Now add a test"
    reread resume latest --text "What is left to do?"
    reread resume latest --no-capture
    reread resume latest --print
    """
    from reread.catalog.resolve import resolve_session
    from reread.recording.resume_command import quote_command, resumption

    check_pretty_options(ctx)
    refuse_with(ctx, "--print", ("--no-capture", "--yes", *CAPTURE_OPTIONS), "it runs nothing")
    refuse_with(ctx, "--no-capture", CAPTURE_OPTIONS, "they are about the capture")
    path = resolve_session(find_session(ctx, name, root, project), root=merged_roots(ctx, root) or None)
    found = resumption(path)
    argv = found.command(" ".join(prompt))
    if only_print:
        click.echo(quote_command(argv, found.cwd))
        return
    if found.cwd is None or not os.path.isdir(found.cwd):
        where = f"No such folder: {found.cwd}, where the session ran" if found.cwd else "The session names no folder"
        raise Misuse(f"{where}; run `reread resume --print` for the command.")
    if not found.trusted and not yes:
        _ask(path, argv, found.cwd)
    if no_capture:
        ctx.exit(_run(argv, found.cwd))
    recorder = _recorder(chosen_store(ctx, root), path, found, fsync, quiet)
    ctx.exit(run_and_record(argv, recorder, title=title, cwd=found.cwd, **options))


def _ask(path: Path, argv: Sequence[str], cwd: str) -> None:
    """Ask whether to run a command in a folder that a file from elsewhere names; raise Misuse if nobody can answer."""
    from reread.recording.resume_command import quote_command
    from reread.render.sanitize import safe

    said = f"{path} is not one of your own sessions. It names the folder in which this would run:"
    click.echo(safe(f"{said}\n  {quote_command(argv, cwd)}"), err=True)
    if not sys.stdin.isatty():
        raise Misuse("Nothing was run; check the folder, then use --yes.")
    if not click.confirm("Run it?", err=True):
        raise click.Abort


def _recorder(store: Store, path: Path, found: Resumption, fsync: str | None, quiet: bool) -> Recorder:
    """Open the conversation that the session was captured into, or a new one."""
    from reread.catalog.headers import captures_of
    from reread.catalog.store import Store
    from reread.catalog.stored_conversation import StoredConversation
    from reread.recording.recorder import new_id

    captures = [path] if found.captured else captures_of(found.session, [store.root])
    if not captures:
        return open_recorder(store, new_id(), "default", "default", fsync, quiet=quiet)
    stored = StoredConversation(captures[0])
    home = Store(stored.root) if stored.root is not None else store
    return open_recorder(home, stored.id, stored.workspace, stored.agent, fsync, quiet=quiet)


def _run(argv: Sequence[str], cwd: str) -> int:
    """Run a command in place of this one, and return its exit code if the system cannot do that."""
    import subprocess

    missing = NotFound(f"No such command: {argv[0]}; check that it is installed and on PATH.")
    sys.stdout.flush()
    try:
        if os.name == "posix":
            os.chdir(cwd)
            os.execvp(argv[0], list(argv))
        return subprocess.run(argv, cwd=cwd, check=False).returncode
    except FileNotFoundError:
        raise missing from None
