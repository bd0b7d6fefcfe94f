"""Running a command while what it prints is kept: what `reread capture` and `reread resume` share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.stdio import discard_output
from reread.cli._options import SAMPLES, FolderName, asked_roots, pretty_options
from reread.cli._output import say
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.catalog.store import Store
    from reread.recording.recorder import Capture, Recorder

NOT_KEPT = 74
"""The command did well, but not all of it could be kept (EX_IOERR)."""
STDIN = "-"


def capture_options(command: Callable[..., Any]) -> Callable[..., Any]:
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


def asked_store(ctx: click.Context, root: tuple[Path, ...]) -> Store:
    from reread.catalog.store import Store

    roots = asked_roots(ctx, root)
    if len(roots) > 1:
        raise Misuse("name one --root: a conversation is kept in one place")
    return Store(roots[0] if roots else None)


def keeper_for(
    store: Store, conversation: str, workspace: str, agent: str, fsync: str | None, *, quiet: bool
) -> Recorder:
    from reread.catalog.config import config_value
    from reread.catalog.store import RESULT, SYNCS
    from reread.recording.recorder import Recorder

    if store.root == SAMPLES:
        raise Misuse("the samples are only read: leave --demo out")
    asked = fsync or config_value(store.root, "fsync")
    chosen = asked if asked in SYNCS else RESULT
    keeper = Recorder(store, conversation, workspace=workspace, agent=agent, fsync=chosen, notice=say)
    if not quiet and keeper.fault is None:
        say(f"conversation {conversation}")
    return keeper


def run_kept(
    command: Sequence[str],
    keeper: Recorder,
    *,
    title: str | None,
    pretty: bool,
    full: bool,
    pty: bool | None,
    cwd: str | None = None,
    keep_input: bool | None = None,
) -> int:
    from reread.recording.recorder import Capture, takes_stream_json, wants_terminal

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
    from reread.recording.child import forwarding, passing_keys

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
            from reread.cli._screens import Screen

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
            say(f"what it prints cannot be passed on any more: {error.strerror or error}")
        run.hang_up()
        discard_output(sys.stdout)
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
