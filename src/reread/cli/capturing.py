"""`reread capture`, and `reread resume`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli.options import SAMPLES, SESSION, FolderName, asked_roots, pretty_options
from reread.errors import Misuse
from reread.streams import let_go

if TYPE_CHECKING:
    from reread.recorder import Capture, Keeper
    from reread.store import Store

NOT_KEPT = 74
"""The command did well, but not all of it could be kept (EX_IOERR)."""
INTERRUPTED = 130
STDIN = "-"


def _capture_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        [
            pretty_options,
            click.option(
                "--fsync",
                type=click.Choice(["never", "result", "line"]),
                help="When to force what was written onto the disk. By default after each result and run.",
            ),
            click.option("--pty/--no-pty", default=None, help="Give the command a terminal of its own, or none."),
            click.option("-q", "--quiet", is_flag=True, help="Say nothing of your own, except what went wrong."),
            click.option(
                "--root",
                multiple=True,
                type=FolderName(path_type=Path),
                metavar="DIR",
                help="The store that conversations are kept in, if not your own.",
            ),
        ]
    ):
        command = option(command)
    return command


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND... | -")
@click.option("--workspace", default="default", show_default=True, metavar="NAME", help="Where to keep it.")
@click.option("--agent", default="default", show_default=True, metavar="NAME", help="Whose conversation it is.")
@click.option("--conversation", metavar="ID", help="Go on with this conversation, or begin it; else a new one.")
@click.option("--title", metavar="TEXT", help="What to call it.")
@click.option("--keep-input/--no-keep-input", default=None, help="Keep standard input too, or do not.")
@_capture_options
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
    from reread.recorder import fresh_id

    store = _store(ctx, root)
    keeper = _keeper(store, conversation or fresh_id(), workspace, agent, fsync, quiet=quiet)
    ctx.exit(_run(list(command), keeper, title=title, **options))


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("conversation", type=SESSION)
@click.argument("prompt", nargs=-1, type=click.UNPROCESSED)
@click.option("--print", "only_print", is_flag=True, help="Only print the command.")
@click.option("--title", metavar="TEXT", help="What to call it.")
@_capture_options
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
    from reread.resumption import quoted, resume_command

    store = _store(ctx, root)
    kept = store.open(conversation)
    argv, cwd = resume_command(kept, " ".join(prompt))
    if only_print:
        click.echo(quoted(argv, cwd))
        return
    if cwd is not None and not os.path.isdir(cwd):
        raise Misuse(f"{cwd}: the folder it ran in is gone; `reread resume --print` prints the command")
    from reread.store import Store

    home = Store(kept.root) if kept.root is not None else store
    keeper = _keeper(home, kept.id, kept.workspace, kept.agent, fsync, quiet=quiet)
    ctx.exit(_run(argv, keeper, title=title, cwd=cwd, **options))


def _store(ctx: click.Context, root: tuple[Path, ...]) -> Store:
    from reread.store import Store

    roots = asked_roots(ctx, root)
    if len(roots) > 1:
        raise Misuse("name one --root: a conversation is kept in one place")
    return Store(roots[0] if roots else None)


def _keeper(store: Store, conversation: str, workspace: str, agent: str, fsync: str | None, *, quiet: bool) -> Keeper:
    from reread.recorder import Keeper
    from reread.settings import setting
    from reread.store import RESULT, SYNCS

    if store.root == SAMPLES:
        raise Misuse("the samples are only read: leave --demo out")
    asked = fsync or setting(store.root, "fsync")
    chosen = asked if asked in SYNCS else RESULT
    keeper = Keeper(store, conversation, workspace=workspace, agent=agent, fsync=chosen, notice=_say)
    if not quiet and keeper.fault is None:
        _say(f"conversation {conversation}")
    return keeper


def _run(
    command: Sequence[str],
    keeper: Keeper,
    *,
    title: str | None,
    pretty: bool,
    full: bool,
    pty: bool | None,
    cwd: str | None = None,
    keep_input: bool | None = None,
) -> int:
    from reread.recorder import Capture, takes_stream_json, wants_terminal

    if list(command) == [STDIN]:
        with _patient():
            run = Capture(sys.stdin.fileno(), keeper, title=title)
            return _pass_on(run, pretty, full)
    shown = os.name == "posix" and all(os.isatty(fd) for fd in (0, 1)) and not pretty
    terminal = (shown and wants_terminal(command)) if pty is None else pty
    run = Capture(
        command,
        keeper,
        title=title,
        cwd=cwd,
        keep_input=keep_input,
        feed=0 if keep_input or takes_stream_json(command) else None,
        echo_errors=2,
        terminal=terminal,
    )
    from reread.processes import forwarding, passing_keys

    with ExitStack() as stack:
        if run.child is not None and run.child.master is not None:
            stack.enter_context(passing_keys(run.child.master))
        if run.child is not None:
            stack.enter_context(forwarding(run.child.send, shared=not terminal))
        return _pass_on(run, pretty, full)


def _pass_on(run: Capture, pretty: bool, full: bool) -> int:
    """Print what comes, at once; then the exit code."""
    try:
        if pretty:
            from reread.cli.screens import Screen

            screen = Screen(full=full)
            for chunk in run.chunks():
                screen.feed(chunk)
            screen.flush()
        else:
            for chunk in run.chunks():
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
    except OSError as error:  # a pipe that is closed, a terminal that is gone, a full disk
        if not isinstance(error, BrokenPipeError):
            _say(f"what it prints cannot be passed on any more: {error.strerror or error}")
        run.hang_up()
        let_go(sys.stdout)
    return run.exit_code or (NOT_KEPT if run.keeper.fault is not None else 0)


@contextmanager
def _patient() -> Generator[None]:
    """Let the first Ctrl-C pass: it ends the program that writes to us, whose last words are still to come."""

    def wait_for_the_end(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, wait_for_the_end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _say(words: str) -> None:
    from reread.views.safety import safe

    with suppress(OSError):  # nobody listens any more
        click.echo(f"reread: {safe(words)}", err=True)
