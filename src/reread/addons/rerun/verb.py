"""`reread rerun`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reread.cli._exit_codes import UNDECIDED
from reread.cli._options import (
    json_option,
    merged_roots,
    open_whole_session,
    root_options,
    session_argument,
    yes_option,
)
from reread.cli._output import print_json, print_lines, progress
from reread.cli._paths import PathName, place_option
from reread.errors import Misuse

OK, DIFFERENT = 0, 1
FILE = PathName(path_type=Path)


@click.command()
@session_argument
@click.option("--client", metavar="CLIENT", help="Play with this client: a path, or a version (default: that on PATH).")
@click.option("--against", metavar="CLIENT", help="Compare with how this client plays it, instead of with the record.")
@click.option("--settings", type=FILE, metavar="FILE", help="Give the client these settings.")
@click.option("--claude-md", type=FILE, metavar="FILE", help="Put this in place of the project's CLAUDE.md.")
@click.option(
    "--hook",
    "hooks",
    multiple=True,
    metavar="[EVENT=]FILE",
    help="Run this as a hook (default event: PreToolUse). Repeatable.",
)
@click.option("--plugin", "plugins", multiple=True, type=FILE, metavar="DIR", help="Load this plug-in. Repeatable.")
@click.option(
    "--mcp-config",
    type=FILE,
    metavar="FILE",
    help="Start these MCP servers instead of stand-ins for the recorded ones.",
)
@click.option("--system-prompt", metavar="TEXT", help="Append this to the system prompt.")
@click.option("--model", metavar="MODEL", help="Ask for this model.")
@click.option("--turns", type=click.IntRange(min=1), metavar="N", help="Play only the first N turns.")
@click.option("--live", is_flag=True, help="Run the recorded commands in the box; asks.")
@yes_option()
@place_option("Keep the transcript that is written.", "DIR")
@json_option
@root_options
@click.pass_context
def rerun(
    ctx: click.Context,
    name: str,
    project: tuple[str, ...],
    client: str | None,
    against: str | None,
    settings: Path | None,
    claude_md: Path | None,
    hooks: tuple[str, ...],
    plugins: tuple[Path, ...],
    mcp_config: Path | None,
    system_prompt: str | None,
    model: str | None,
    turns: int | None,
    live: bool,
    yes: bool,
    output: str | None,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Let the real client play a session again, answered from the record.

    Says what a changed CLAUDE.md, hook, setting, MCP server, plug-in or client version changes: which calls are made
    and how they end, what the model would have been told, and what the files are like at the end. Needs no account, no
    model and no network: a stand-in for the API answers what was recorded.

    The client runs in a box with a home, a configuration and the work folder as the session found it; nothing of yours
    is touched. No recorded command is run: what it printed is printed again. With --live, commands run in the box.

    Exits with 0 if everything is equal, 1 if something differs, 3 if the session could not be played: if the client did
    not start or did not end, or asked for what is not in the record, so that nobody knows what would have come.

    \b
    reread rerun 8c1f
    reread rerun 8c1f --claude-md NEW.md
    reread rerun 8c1f --hook check.sh
    reread rerun 8c1f --client 2.1.327 --against 2.1.325
    reread rerun 8c1f --settings settings.json -o played
    """
    from reread.addons.rerun.playing import NotPlayed
    from reread.addons.rerun.playing import rerun as play
    from reread.catalog.resolve import require_whole

    if live and not yes:
        if not sys.stdin.isatty():
            raise Misuse("With --live, recorded commands run in the box; add --yes if that is meant.")
        click.confirm("Run the recorded commands in a box without a network?", abort=True, err=True)
    session = open_whole_session(ctx, name, root, project)
    require_whole(session.at)
    try:
        with progress("playing", None):
            found = play(
                session,
                client=client,
                against=against,
                settings=settings,
                claude_md=claude_md,
                hooks=hooks,
                plugins=plugins,
                mcp_config=mcp_config,
                system_prompt=system_prompt,
                model=model,
                turns=turns,
                live=live,
                keep=output,
                root=merged_roots(ctx, root) or None,
            )
    except NotPlayed as error:
        click.echo(f"reread: {error}", err=True)
        ctx.exit(UNDECIDED)
    if as_json:
        print_json({**found.to_dict(), "differences": found.differences})
    else:
        from reread.addons.rerun.text import rerun_lines

        print_lines(rerun_lines(found))
    ctx.exit(UNDECIDED if not found.is_decided else OK if found.is_equal else DIFFERENT)
