"""`reread resume`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.format import size_text
from reread.base.paths import SAMPLES
from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._options import (
    check_stream_options,
    find_session,
    json_option,
    merged_roots,
    refuse_with,
    resumable_argument,
    yes_option,
)
from reread.cli._output import print_json, print_notice
from reread.cli._paths import PathName
from reread.cli._runs import capture_options, chosen_store, open_recorder, run_and_record
from reread.errors import Misuse, NotFound

if TYPE_CHECKING:
    from reread.catalog.store import Store
    from reread.handover.resuming import Continuation
    from reread.recording.recorder import Recorder

CAPTURE_OPTIONS = ("--title", "--format", "--full", "--pty", "--quiet")


@click.command()
@resumable_argument
@click.argument("prompt", nargs=-1, type=click.UNPROCESSED)
@click.option("--in", "into", type=PathName(path_type=Path), metavar="DIR", help="Continue it in this folder.")
@click.option("--generation", type=click.IntRange(min=1), metavar="N", help="Take an earlier state of a kept session.")
@click.option("--dry-run", is_flag=True, help="Print what would be written and run, and do neither.")
@click.option("--no-start", is_flag=True, help="Put the session where Claude Code looks for it, and print the command.")
@json_option
@click.option("--no-capture", is_flag=True, help="Run Claude Code without recording what it prints.")
@yes_option("Do not ask, even if the session is not from your own folders.")
@click.option("--title", metavar="TEXT", help="Give the conversation a title.")
@partial(capture_options, root_help="Look for the session in this folder, bucket or store of conversations.")
@click.pass_context
def resume(
    ctx: click.Context,
    name: str,
    project: tuple[str, ...],
    prompt: tuple[str, ...],
    into: Path | None,
    generation: int | None,
    dry_run: bool,
    no_start: bool,
    as_json: bool,
    no_capture: bool,
    yes: bool,
    title: str | None,
    root: tuple[Path, ...],
    quiet: bool,
    **options: Any,
) -> None:
    """Continue a session in Claude Code.

    Runs `claude --resume` with the session's id, in its folder: with a prompt `claude -p`, without one Claude Code in
    the terminal. What it prints is captured into a conversation, the same one each time.

    A session that is not in Claude Code's folder (kept, in a bucket, of another machine, deleted) is put there first,
    byte for byte, for the directory you are in or for --in DIR; never over anything newer.

    SESSION:TURN leaves the session as it is, and continues a new one that ends after that turn.

    \b
    reread resume latest "Now add a test"
    reread resume latest --format answers "What is left to do?"
    reread resume 8c1f --in .
    reread resume 8c1f:2 --in . "Try it another way"
    reread resume --root s3://team/sessions 8c1f
    reread resume latest --no-capture
    reread resume latest --dry-run
    """
    from reread.handover.resuming import resume as resume_session

    check_stream_options(options["form"], full=options["full"])
    for option in ("--dry-run", "--no-start"):
        refuse_with(ctx, option, ("--no-capture", "--yes", *CAPTURE_OPTIONS), "it runs nothing")
    refuse_with(ctx, "--dry-run", ("--no-start",), "it writes nothing")
    refuse_with(ctx, "--no-capture", CAPTURE_OPTIONS, "they are about the capture")
    if as_json and not (dry_run or no_start):
        raise Misuse("Cannot use --json without --dry-run or --no-start: Claude Code prints what it prints.")
    roots, session = merged_roots(ctx, root), find_session(ctx, name, root, project)
    if SAMPLES in roots and not dry_run:
        raise Misuse("Cannot continue a bundled sample; use --dry-run to see what would be done, or leave out --demo.")
    found = resume_session(
        session,
        into=into,
        prompt=" ".join(prompt),
        generation=generation,
        root=roots or None,
        dry_run=dry_run,
        on_error=lambda error: print_notice(str(error)),
    )
    if dry_run or no_start:
        _print(found, as_json=as_json, done=no_start)
        return
    _say_what_was_written(found)
    if found.cwd is None or not os.path.isdir(found.cwd):
        where = f"No such folder: {found.cwd}, where the session ran" if found.cwd else "The session names no folder"
        raise Misuse(f"{where}; name another with --in, or run `reread resume --dry-run` for the command.")
    if not (found.trusted or yes or _asks(found)):
        print_notice("Nothing was run.")
        ctx.exit(NOTHING_FOUND)
    if no_capture:
        ctx.exit(_run(found.command, found.cwd))
    store = chosen_store(ctx, root) if not found.files else _own_store()
    recorder = _recorder(store, found, quiet)
    ctx.exit(run_and_record(found.command, recorder, title=title, cwd=found.cwd, **options))


def _print(found: Continuation, *, as_json: bool, done: bool) -> None:
    """Print what was written or would be, and the command; all but the command as comments of a shell."""
    from reread.base.sanitize import safe
    from reread.base.shell_words import quote_command

    if as_json:
        print_json(found)
        return
    for file in found.files:
        said = {"new": "write", "grown": "write", "same": "already there:", "left": "left as it is:"}[file.outcome]
        said = "wrote" if done and said == "write" else said
        click.echo(safe(f"# {said} {file.path} ({size_text(file.size)})"))
    click.echo(quote_command(found.command, found.cwd))


def _say_what_was_written(found: Continuation) -> None:
    if found.files:
        there = Path(found.files[0].path).parent
        said = f"{len(found.written)} of {len(found.files)} files written" if found.written else "it is there already"
        print_notice(f"continuing {found.session} in {found.cwd}: {said}, in {there}")
        if found.ran_in is not None and os.path.isdir(found.ran_in):
            print_notice(f"the session ran in {found.ran_in}; use --in to continue it there")


def _asks(found: Continuation) -> bool:
    """Ask whether to run a command in a folder that a file from elsewhere names; raise Misuse if nobody can answer."""
    from reread.base.sanitize import safe
    from reread.base.shell_words import quote_command

    said = f"{found.session} is not one of your own sessions. It names the folder in which this would run:"
    click.echo(safe(f"{said}\n  {quote_command(found.command, found.cwd)}"), err=True)
    if not sys.stdin.isatty():
        raise Misuse("Nothing was run; check the folder, then use --yes.")
    return click.confirm("Run it?", err=True)


def _own_store() -> Store:
    from reread.catalog.store import Store

    return Store()


def _recorder(store: Store, found: Continuation, quiet: bool) -> Recorder:
    """Open the conversation that the session was captured into, or a new one."""
    from reread.catalog.headers import captures_of
    from reread.catalog.store import Store
    from reread.catalog.stored_conversation import StoredConversation
    from reread.recording.recorder import new_id

    captures = [Path(found.captured)] if found.captured else captures_of(found.session, [store.root])
    if not captures:
        return open_recorder(store, new_id(), "default", "default", quiet=quiet)
    stored = StoredConversation(captures[0])
    home = Store(stored.root) if stored.root is not None else store
    return open_recorder(home, stored.id, stored.workspace, stored.agent, quiet=quiet)


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
