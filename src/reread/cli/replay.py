"""`reread replay`."""

from __future__ import annotations

import sys
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from reread.cli._option_types import LATEST, SESSION, offered
from reread.cli._options import check_stream_options, merged_roots, refuse_with, root_options, stream_options
from reread.cli._output import write_bytes
from reread.errors import Misuse

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

AS_CLAUDE = "--as-claude"
INSTANT = "instant"


class Speed(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """The type of the --speed option."""

    name = "speed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return inf if value == INSTANT else click.FLOAT.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return offered({INSTANT: ""} if INSTANT.startswith(incomplete) else {})


class ReplayCommand(click.Command):
    """A command that leaves the arguments after `--as-claude` to the fake client."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index(AS_CLAUDE) + 1 if AS_CLAUDE in args else len(args)
        ctx.meta[AS_CLAUDE] = args[at:]
        return super().parse_args(ctx, args[:at])


@click.command(cls=ReplayCommand)
@click.argument("conversation", type=SESSION, required=False, metavar="[SESSION]")
@click.option(
    "--speed",
    type=Speed(),
    default=1.0,
    show_default=True,
    metavar="N|instant",
    help="Playback speed: 2 is twice as fast, `instant` does not wait at all.",
)
@click.option("--max-gap", metavar="TIME", help="Wait at most this long between two lines: 2s, 500ms.")
@click.option("--since", "start", metavar="WHERE", help="Start here: 90s, 1m30s, or a date and time.")
@click.option("--until", "stop", metavar="WHERE", help="Stop here.")
@stream_options
@click.option(AS_CLAUDE, is_flag=True, help="Act as `claude` and answer from the recording; its arguments follow.")
@root_options
@click.pass_context
def replay(
    ctx: click.Context,
    conversation: str | None,
    speed: float,
    max_gap: str | None,
    start: str | None,
    stop: str | None,
    form: str,
    full: bool,
    as_claude: bool,
    root: tuple[Path, ...],
) -> None:
    """Replay a captured conversation at the recorded pace.

    Prints what was printed, byte for byte; on a terminal, control characters are made visible. A session that was
    never captured is replayed as the lines that Claude Code would have printed.

    \b
    reread replay
    reread replay latest --speed 4 --max-gap 2s --format terminal
    reread replay latest --speed instant | jq .type
    reread replay latest --as-claude -p "a recorded prompt"
    """
    if as_claude:
        others = ("--max-gap", "--since", "--until", "--format", "--full")
        refuse_with(ctx, AS_CLAUDE, others, "the fake client answers from the whole recording")
        ctx.exit(_run_fake_claude(ctx, conversation, root))
    if speed == inf and max_gap is not None:
        raise Misuse("Cannot use --max-gap with --speed instant: it does not wait at all.")
    check_stream_options(form, full=full)
    from reread.base.times import parse_duration, parse_position
    from reread.recording.player import replay as play

    lines = play(
        conversation or LATEST,
        speed=speed,
        max_gap=parse_duration(max_gap) if max_gap is not None else None,
        start=parse_position(start) if start is not None else None,
        stop=parse_position(stop) if stop is not None else None,
        root=merged_roots(ctx, root) or None,
    )
    if form != "raw":
        from reread.cli._runs import make_printer

        printer = make_printer(form, full=full)
        for line in lines:
            printer.feed(line.raw + line.end)
        return printer.flush()
    for line in lines:
        write_bytes([line.raw + line.end])
        if speed != inf:
            sys.stdout.flush()
    return sys.stdout.flush()


def _run_fake_claude(ctx: click.Context, conversation: str | None, root: tuple[Path, ...]) -> int:
    """Answer one call of `claude`; options override the settings in the environment."""
    import os
    from dataclasses import replace

    from reread.fake_claude.client import run_fake_claude
    from reread.fake_claude.matcher import FakeClaudeSettings

    settings = FakeClaudeSettings.from_environment(os.environ)
    roots = merged_roots(ctx, root)
    sources = [_find_file(conversation, roots)] if conversation else [str(path) for path in roots]
    if sources:
        settings = replace(settings, sources=tuple(sources))
    if ctx.get_parameter_source("speed") == ParameterSource.COMMANDLINE:
        speed = ctx.params["speed"]
        settings = replace(settings, speed=None if speed == inf else speed)
    return run_fake_claude(ctx.meta[AS_CLAUDE], settings)


def _find_file(conversation: str, roots: list[Path]) -> str:
    """Return the path of a conversation in the given folders; its name if none are given."""
    from reread.recording.player import find_recording

    return str(find_recording(conversation, root=roots).path) if roots else conversation
