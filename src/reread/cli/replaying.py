"""`reread replay`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reread.cli.options import asked_roots, root_option


@click.command()
@click.argument("conversation")
@click.option("--speed", type=float, default=1.0, show_default=True, metavar="N", help="So many times as fast.")
@click.option("--instant", is_flag=True, help="All at once.")
@click.option("--max-gap", metavar="SPAN", help="Wait no longer than this between two lines: 2s, 500ms.")
@click.option("--from", "start", metavar="WHERE", help="Begin there: 90s, 1m30s into it, or a time.")
@click.option("--to", "stop", metavar="WHERE", help="End there.")
@click.option("--run", type=int, metavar="N", help="Only this run, from 1.")
@click.option("--pretty", is_flag=True, help="Draw it, as `reread tail` does, and not its lines.")
@click.option("--full", is_flag=True, help="With --pretty: draw long output whole.")
@root_option
@click.pass_context
def replay(
    ctx: click.Context,
    conversation: str,
    speed: float,
    instant: bool,
    max_gap: str | None,
    start: str | None,
    stop: str | None,
    run: int | None,
    pretty: bool,
    full: bool,
    root: tuple[Path, ...],
) -> None:
    """Play a captured conversation back: the bytes that were printed, at the pace they came.

    A session that was never captured is played as the lines that Claude Code would have printed of it.

    \b
    reread replay latest
    reread replay 3f2a --speed 4 --max-gap 2s --pretty
    reread replay 3f2a --instant | jq .type
    """
    from reread.player import INSTANT, parse_bound, parse_span
    from reread.player import replay as play

    entries = play(
        conversation,
        speed=INSTANT if instant else speed,
        max_gap=parse_span(max_gap) if max_gap else None,
        start=parse_bound(start) if start else None,
        stop=parse_bound(stop) if stop else None,
        run=run,
        root=asked_roots(ctx, root) or None,
    )
    if pretty:
        from reread.cli.screens import Screen

        screen = Screen(full=full)
        for entry in entries:
            screen.feed(entry.raw + entry.end)
        return screen.flush()
    out = sys.stdout.buffer
    for entry in entries:
        out.write(entry.raw + entry.end)
        if not instant:
            out.flush()
    return out.flush()
