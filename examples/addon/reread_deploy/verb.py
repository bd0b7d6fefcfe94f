"""`reread deploys`."""

from pathlib import Path

import click

from reread.plugins.verbs import open_session, root_options, safe_line, session_argument


@click.command()
@session_argument
@root_options
@click.pass_context
def deploys(ctx: click.Context, name: str, project: tuple[str, ...], root: tuple[Path, ...]) -> None:
    """List what a session deployed, and how that ended."""
    for call in open_session(ctx, name, root, project).calls:
        if call.name == "deploy":
            click.echo(safe_line(f"{call.title}: {call.state}"))
