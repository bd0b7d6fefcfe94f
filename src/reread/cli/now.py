"""`reread now`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reread.cli._exit_codes import NOTHING_FOUND, OK
from reread.cli._options import (
    have_no_sessions,
    listing_options,
    merged_roots,
    no_sessions_text,
    refuse_with,
)
from reread.cli._output import NO_PAGER, SHOWN, echo_lines, print_json, print_notice, terminal_width

if TYPE_CHECKING:
    from reread.reports.now_report import LiveSession, NowWatch
import shutil
from collections.abc import Iterable
from typing import Self

from reread.base.sanitize import terminal_text
from reread.cli._output import styled

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""To another screen without a cursor, and back to what was there."""
HOME, LINE_END, SCREEN_END = "\x1b[H", "\x1b[K\r\n", "\x1b[J"


class Screen:
    """Lines that replace the lines drawn before: what stays the same is written again in place, and nothing is cleared.

    The codes that move the cursor are written past the gate of standard output; the lines go through it.
    """

    def __init__(self) -> None:
        self._shown = ""

    def __enter__(self) -> Self:
        self._write(ENTER)
        return self

    def __exit__(self, *_: object) -> None:
        self._write(LEAVE)

    def draw(self, lines: Iterable[Iterable[tuple[str, str]]]) -> None:
        """Draw as many lines as there is room for."""
        rows = shutil.get_terminal_size().lines - 1
        text = LINE_END.join(terminal_text(styled(line)) for line, _ in zip(lines, range(rows), strict=False))
        if text != self._shown:
            self._shown = text
            SHOWN.see(text)
            self._write(f"{HOME}{text}{LINE_END}{SCREEN_END}")

    def _write(self, text: str) -> None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()


FOOTER_SECONDS = 120.0
Line = list[tuple[str, str]]


@click.command()
@click.option("--notify", is_flag=True, help="Notify the desktop when a session waits, is done or died.")
@click.option("--exec", "command", metavar="CMD", help="Run a command whenever the state of a session changes.")
@listing_options
@click.pass_context
def now(ctx: click.Context, notify: bool, command: str | None, as_json: bool, root: tuple[Path, ...]) -> None:
    """Show which sessions are running, which wait for you, and what they cost.

    On a terminal, the list stays up to date until Ctrl-C; with --no-pager or elsewhere, it is printed once. A session
    works, waits for a permission or an answer, is idle (it waits for the next prompt), ended in the last ten minutes,
    or died in the last day. States that Claude Code does not report are inferred from the transcript, and marked. For a
    bucket, shows the newest states of all machines.

    Exits with 0 if a session waits, and with 1 if none does.

    --exec runs CMD in a shell, with these environment variables: REREAD_STATE, REREAD_WAITING_FOR, REREAD_SESSION,
    REREAD_TITLE, REREAD_PROJECT, REREAD_CALL, REREAD_COST_USD.

    \b
    reread now
    reread now --no-pager && echo "someone waits for me"
    reread now --json
    reread now --notify
    reread now --exec 'test "$REREAD_STATE" != waiting || say "$REREAD_TITLE"'
    reread --root s3://team/sessions now
    """
    from reread.reports.now_report import NowWatch

    acts = notify or command is not None
    if acts:
        refuse_with(ctx, "--notify" if notify else "--exec", ("--json", "--no-pager"), "it runs until it is stopped")
    tellers = _tellers(notify, command)
    roots = merged_roots(ctx, root)
    watch, footer = NowWatch(roots or None), Footer(roots)
    is_once = not acts and (as_json or ctx.meta[NO_PAGER] or not sys.stdout.isatty())
    live = watch.update() if is_once else ()
    if not live and have_no_sessions(roots):
        print_notice(no_sessions_text(roots, "now"))
    if is_once:
        if as_json:
            print_json(live)
        else:
            echo_lines(_lines(live, roots, footer))
        ctx.exit(OK if any(one.waits for one in live) else NOTHING_FOUND)
    _follow(watch, tellers, lambda live: _lines(live, roots, footer))


def _tellers(notify: bool, command: str | None) -> list[Callable[[LiveSession], None]]:
    """Return what to call with each session whose state has changed."""
    from reread.cli._notices import desktop_notifier, run_command

    found: list[Callable[[LiveSession], None]] = [desktop_notifier()] if notify else []
    if command is not None:
        found.append(lambda one: run_command(command, one))
    return found


def _lines(live: Sequence[LiveSession], roots: Sequence[Path], footer: Footer) -> list[Line]:
    from reread.render.now_table import now_lines
    from reread.storage.user_paths import typed_path

    where = f"in {', '.join(map(typed_path, roots))}" if roots else "on this machine"
    return [*now_lines(live, width=terminal_width(), where=where), *footer.lines()]


class Footer:
    """The rest of the budgets, and of this machine's rate limits, below the sessions; counted every few minutes."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self._counted = -FOOTER_SECONDS
        self._lines: list[Line] = []

    def lines(self) -> list[Line]:
        """Return the lines, with one before them that is empty; none if there is nothing to say."""
        from reread.render.report_table import budget_lines, limit_lines
        from reread.reports.budget_report import budgets
        from reread.reports.spending import rate_limits

        if time.monotonic() - self._counted >= FOOTER_SECONDS:
            self._counted = time.monotonic()
            limits = limit_lines(rate_limits()) if not self._roots else ()
            lines = [*budget_lines(budgets(root=self._roots or None)), *limits]
            self._lines = [[("plain", "")], *lines] if lines else []
        return self._lines


def _follow(
    watch: NowWatch,
    tellers: Sequence[Callable[[LiveSession], None]],
    show: Callable[[Sequence[LiveSession]], list[Line]],
) -> None:
    """Show what runs until Ctrl-C, and tell of each change of a state after the first look."""
    from contextlib import ExitStack

    from reread.reports.now_report import ticks_of

    before: dict[str, str] | None = None
    with ExitStack() as stack:
        screen = stack.enter_context(Screen()) if sys.stdout.isatty() else None
        for touched in ticks_of(watch, threading.Event()):
            live = watch.update(touched)
            if screen is not None:
                screen.draw(show(live))
            for one in live if before is not None else [one for one in live if one.waits]:
                if (before or {}).get(one.session) != one.state:
                    for tell in tellers:
                        tell(one)
            before = {one.session: one.state for one in live}
