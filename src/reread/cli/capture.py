"""`reread capture`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from reread.cli._options import ListingCommand, check_stream_options, json_option, refuse_without
from reread.cli._output import print_notice
from reread.cli._paths import PathName
from reread.cli._runs import STDIN, capture_options, chosen_store, open_recorder, run_and_record
from reread.errors import Misuse

RUN_OPTIONS = ("conversation", "title", "form", "full", "pty", "quiet", "root")
"""The parameters that are about a command that is run."""


def _runs() -> list[tuple[str, str]]:
    from reread.recording.adoption import importers

    return [(name, importer.ABOUT) for name, importer in importers().items()]


@click.command(
    cls=ListingCommand,
    heading="Runs",
    rows=_runs,
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND... | -")
@click.option(
    "--from",
    "paths",
    multiple=True,
    type=PathName(path_type=Path),
    metavar="PATH",
    help="Instead of a command, take the runs of another agent that are stored here, as sessions. Repeatable.",
)
@click.option(
    "--to",
    type=PathName(written=True, path_type=Path),
    metavar="DIR",
    help="With --from, write sessions below this folder instead of reread's own.",
)
@click.option(
    "--conversation",
    metavar="[WORKSPACE/AGENT/]ID",
    help="Append to this conversation, creating it if needed (default: a new one). WORKSPACE/AGENT/ begins a new one.",
)
@click.option("--title", metavar="TEXT", help="Give the conversation a title.")
@capture_options
@json_option
@click.pass_context
def capture(
    ctx: click.Context,
    command: tuple[str, ...],
    paths: tuple[Path, ...],
    to: Path | None,
    conversation: str | None,
    title: str | None,
    root: tuple[Path, ...],
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run a command, pass its output on, and record every line.

    Adds --output-format stream-json --verbose to `claude -p`, unless an output format is given. The exit code is
    the command's own. With --format answers, only the answer is printed, and the whole stream is still recorded.
    With `-` instead of a command, reads a pipe.

    --from turns runs of other agents that are stored somewhere into sessions: every verb can then show, search and
    count them. Each becomes a session, with its agents, below reread's own folder. Harbor and others write
    trajectories for dozens of agents.

    \b
    reread capture -- claude -p "Why do the tests fail?"
    reread capture --format answers -- claude -p "Why do the tests fail?"
    reread capture --format terminal --title "Fix login" -- claude -p "Fix the login"
    claude -p "…" --output-format stream-json --verbose | reread capture -
    reread capture --from ~/.codex
    reread capture --from trajectory.json --to ~/runs
    """
    from reread.recording.recorder import new_id

    if paths:
        if command or any(ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE for name in RUN_OPTIONS):
            raise Misuse("Cannot use --from with anything but --to and --json: no command is run.")
        return _adopt(paths, to, as_json=as_json)
    for option in ("--to", "--json"):
        refuse_without(ctx, option, "--from", "it is about stored runs")
    if not command:
        raise Misuse("No command to capture; name one after --, or - for a pipe, or a stored run with --from.")
    check_stream_options(options["form"], full=options["full"])
    if list(command) == [STDIN] and options["pty"]:
        raise Misuse("Cannot use --pty with a pipe: no command is run.")
    *place, id = (conversation or "").split("/")
    if len(place) not in (0, 2) or "" in place:
        raise Misuse(f"Invalid conversation {conversation!r}; use ID, WORKSPACE/AGENT/ID or WORKSPACE/AGENT/.")
    workspace, agent = place or ("default", "default")
    recorder = open_recorder(chosen_store(ctx, root), id or new_id(), workspace, agent, quiet=quiet)
    return ctx.exit(run_and_record(list(command), recorder, title=title, **options))


def _adopt(paths: tuple[Path, ...], to: Path | None, *, as_json: bool) -> None:
    """Turn stored runs into sessions, and list these."""
    from reread.base.sanitize import safe_line
    from reread.base.text import plural
    from reread.cli._output import print_json
    from reread.recording.adoption import adopt

    unread: list[str] = []
    adopted = adopt(paths, to=to, unread=unread)
    for path in unread:
        print_notice(f"Cannot read {path}: not included.")
    if as_json:
        rows = [{"id": one.id, "path": str(one.path), "agents": one.agents, "steps": one.steps} for one in adopted]
        return print_json(rows)
    for one in adopted:
        agents = f", {plural(one.agents, 'agent')}" if one.agents else ""
        click.echo(safe_line(f"{one.id}  {plural(one.steps, 'step')}{agents}  {one.path}"))
    return None
