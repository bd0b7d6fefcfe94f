"""`reread adopt`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._options import ListingCommand, json_option
from reread.cli._output import print_json, print_notice
from reread.cli._paths import PathName


def _runs() -> list[tuple[str, str]]:
    from reread.recording.adoption import importers

    return [(name, importer.ABOUT) for name, importer in importers().items()]


@click.command(cls=ListingCommand, heading="Runs", rows=_runs)
@click.argument("paths", nargs=-1, required=True, type=PathName(path_type=Path), metavar="PATH...")
@click.option(
    "--to",
    type=PathName(written=True, path_type=Path),
    metavar="DIR",
    help="Write sessions below this folder instead of reread's own.",
)
@json_option
def adopt(paths: tuple[Path, ...], to: Path | None, as_json: bool) -> None:
    """Turn the runs of other agents into sessions.

    Every verb can then show, search and count them. Each becomes a session, with its agents, below reread's own folder.
    Harbor and others write trajectories for dozens of agents.

    \b
    reread adopt ~/.codex
    reread adopt trajectory.json
    reread adopt trajectory.json --to ~/runs
    """
    from reread.base.sanitize import safe_line
    from reread.base.text import plural
    from reread.recording.adoption import adopt as adopt_files

    unread: list[str] = []
    adopted = adopt_files(paths, to=to, unread=unread)
    for path in unread:
        print_notice(f"Cannot read {path}: not included.")
    if as_json:
        rows = [{"id": one.id, "path": str(one.path), "agents": one.agents, "steps": one.steps} for one in adopted]
        return print_json(rows)
    for one in adopted:
        agents = f", {plural(one.agents, 'agent')}" if one.agents else ""
        click.echo(safe_line(f"{one.id}  {plural(one.steps, 'step')}{agents}  {one.path}"))
    return None
