"""`reread replay`."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from reread.cli._options import SESSION, merged_roots, pretty_options, root_options

AS_CLAUDE = "--as-claude"


class Replay(click.Command):
    """A command that leaves what stands after `--as-claude` to the stand-in."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index(AS_CLAUDE) + 1 if AS_CLAUDE in args else len(args)
        ctx.meta[AS_CLAUDE] = args[at:]
        return super().parse_args(ctx, args[:at])


@click.command(cls=Replay)
@click.argument("conversation", type=SESSION, required=False)
@click.option("--speed", type=float, default=1.0, show_default=True, metavar="N", help="So many times as fast.")
@click.option("--instant", is_flag=True, help="All at once.")
@click.option("--max-gap", metavar="SPAN", help="Wait no longer than this between two lines: 2s, 500ms.")
@click.option("--from", "start", metavar="WHERE", help="Begin there: 90s, 1m30s into it, or a time.")
@click.option("--to", "stop", metavar="WHERE", help="End there.")
@click.option("--run", type=int, metavar="N", help="Only this run, from 1.")
@pretty_options
@click.option(AS_CLAUDE, is_flag=True, help="Be `claude`, and answer from what was recorded; its arguments follow.")
@root_options
@click.pass_context
def replay(
    ctx: click.Context,
    conversation: str | None,
    speed: float,
    instant: bool,
    max_gap: str | None,
    start: str | None,
    stop: str | None,
    run: int | None,
    pretty: bool,
    full: bool,
    as_claude: bool,
    root: tuple[Path, ...],
) -> None:
    """Play a captured conversation back, at the pace it came.

    What was printed is printed again, byte for byte. A session that was never captured is played as the lines that
    Claude Code would have printed of it.

    \b
    reread replay latest
    reread replay latest --speed 4 --max-gap 2s --pretty
    reread replay latest --instant | jq .type
    reread replay latest --as-claude -p "the prompt that it answers"
    """
    if as_claude:
        ctx.exit(_stand_in(ctx, conversation, root))
    if conversation is None:
        raise click.UsageError("Missing argument 'CONVERSATION'.", ctx)
    from reread.recording.player import INSTANT, parse_bound, parse_span
    from reread.recording.player import replay as play

    entries = play(
        conversation,
        speed=INSTANT if instant else speed,
        max_gap=parse_span(max_gap) if max_gap is not None else None,
        start=parse_bound(start) if start is not None else None,
        stop=parse_bound(stop) if stop is not None else None,
        run=run,
        root=merged_roots(ctx, root) or None,
    )
    if pretty:
        from reread.cli._screens import Screen

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


def _stand_in(ctx: click.Context, conversation: str | None, root: tuple[Path, ...]) -> int:
    """Answer one call of `claude`; what the command line does not say, the environment does."""
    import os
    from dataclasses import replace

    from reread.fake_claude.client import run_fake_claude
    from reread.fake_claude.matcher import FakeClaudeSettings

    settings = FakeClaudeSettings.of(os.environ)
    roots = merged_roots(ctx, root)
    places = [_found(conversation, roots)] if conversation else [str(path) for path in roots]
    if places:
        settings = replace(settings, places=tuple(places))
    if ctx.params["instant"]:
        settings = replace(settings, speed=None)
    elif ctx.get_parameter_source("speed") == ParameterSource.COMMANDLINE:
        settings = replace(settings, speed=ctx.params["speed"])
    return run_fake_claude(ctx.meta[AS_CLAUDE], settings)


def _found(conversation: str, roots: list[Path]) -> str:
    """The file of a conversation, where it is looked for elsewhere than usual."""
    from reread.recording.player import find_recording

    return str(find_recording(conversation, root=roots).path) if roots else conversation
