"""Run a command and record its output, for `reread capture` and `reread resume`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.paths import SAMPLES
from reread.base.stdio import discard_output
from reread.cli._options import merged_roots, stream_options
from reread.cli._output import print_notice
from reread.cli._paths import FolderName
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.catalog.store import Store
    from reread.cli._streams import AnswerPrinter, PrettyPrinter
    from reread.recording.recorder import Capture, Recorder

NOT_RECORDED = 74
"""The exit code if the command succeeded, but not all of its output could be recorded (EX_IOERR)."""
STDIN = "-"


def capture_options(
    command: Callable[..., Any], root_help: str = "Store conversations in this folder (default: your own store)."
) -> Callable[..., Any]:
    """Add the options that `capture` and `resume` share."""
    for option in reversed(
        [
            stream_options,
            click.option("--pty", is_flag=True, help="Run the command on a terminal of its own, even in a pipe."),
            click.option("-q", "--quiet", is_flag=True, help="Print only errors."),
            click.option(
                "--root",
                multiple=True,
                type=FolderName(),
                metavar="DIR",
                help=root_help,
            ),
        ]
    ):
        command = option(command)
    return command


def chosen_store(ctx: click.Context, root: tuple[Path, ...]) -> Store:
    """Return the store that `--root` names, or this machine's own."""
    from reread.catalog.store import Store

    roots = merged_roots(ctx, root)
    if len(roots) > 1:
        raise Misuse("Cannot use several folders; give --root once.")
    return Store(roots[0] if roots else None)


def open_recorder(store: Store, conversation: str, workspace: str, agent: str, *, quiet: bool) -> Recorder:
    """Open a conversation for recording, and print its id."""
    from reread.catalog.config import config_value
    from reread.catalog.writer import FSYNC_MODES, RESULT
    from reread.recording.recorder import Recorder

    if store.root == SAMPLES:
        raise Misuse("Cannot write to the bundled samples; leave out --demo.")
    mode = config_value(store.root, "fsync")
    recorder = Recorder(
        store,
        conversation,
        workspace=workspace,
        agent=agent,
        fsync=mode if mode in FSYNC_MODES else RESULT,
        notify=print_notice,
    )
    if not quiet and recorder.error is None:
        print_notice(f"conversation {conversation}")
    return recorder


def run_and_record(
    command: Sequence[str],
    recorder: Recorder,
    *,
    title: str | None,
    form: str,
    full: bool,
    pty: bool,
    cwd: str | None = None,
) -> int:
    """Run a command, or read standard input for `-`, and return the exit code."""
    from reread.base.claude_argv import takes_stream_json, wants_terminal
    from reread.recording.recorder import Capture

    if list(command) == [STDIN]:
        with _ignore_first_interrupt():
            run = Capture(sys.stdin.fileno(), recorder, title=title)
            return _print_output(run, form, full)
    on_terminal = os.name == "posix" and all(os.isatty(fd) for fd in (0, 1)) and form == "raw"
    terminal = pty or (on_terminal and wants_terminal(command))
    run = Capture(
        command,
        recorder,
        title=title,
        cwd=cwd,
        input_fd=0 if takes_stream_json(command) else None,
        error_fd=2,
        terminal=terminal,
    )
    from reread.recording.child import forward_keys, forward_signals

    with ExitStack() as stack:
        if run.child is not None and run.child.master is not None:
            stack.enter_context(forward_keys(run.child.master))
        if run.child is not None:
            stack.enter_context(forward_signals(run.child.send, shares_terminal=not terminal))
        return _print_output(run, form, full)


def _print_output(run: Capture, form: str, full: bool) -> int:
    """Print the output as it comes, and return the exit code."""
    try:
        if form != "raw":
            printer = make_printer(form, full=full)
            for chunk in run.chunks():
                printer.feed(chunk)
            printer.flush()
        else:
            for chunk in run.chunks():
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
    except OSError as error:  # a closed pipe or terminal, a full disk
        if not isinstance(error, BrokenPipeError):
            print_notice(f"Cannot print the rest of the output: {error.strerror or error}.")
        run.stop_reading()
        discard_output(sys.stdout)
    return run.exit_code or (NOT_RECORDED if run.recorder.error is not None else 0)


def make_printer(form: str, *, full: bool) -> PrettyPrinter | AnswerPrinter:
    """Return what prints the messages of a stream, or only its answers."""
    from reread.cli._streams import AnswerPrinter, PrettyPrinter

    return AnswerPrinter() if form == "answers" else PrettyPrinter(full=full)


@contextmanager
def _ignore_first_interrupt() -> Generator[None]:
    """Ignore the first Ctrl-C: it ends the program that writes to us, whose last output is still to come."""

    import signal

    def restore_default(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, restore_default)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
