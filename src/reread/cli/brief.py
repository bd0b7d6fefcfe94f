"""`reread brief`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._options import (
    json_option,
    limit_option,
    no_redact_option,
    open_session,
    root_options,
    session_argument,
)
from reread.cli._output import print_json


@click.command()
@session_argument
@limit_option("Write at most N tokens, of three bytes.", default=2000)
@no_redact_option
@json_option
@root_options
@click.pass_context
def brief(
    ctx: click.Context,
    name: str,
    project: tuple[str, ...],
    limit: int,
    no_redact: bool,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Write what the next session, or a colleague, needs to know of a session.

    The goal and what was asked since, decisions, changed files, open tasks, the last error, tests, commits and the last
    answer, up to a turn if you name one. All of it is recorded; no model is asked. Every changed file, open task and
    decision is in it: if there is little room, texts are cut first, and what is left out is counted.

    \b
    reread brief
    reread brief 8c1f | claude
    reread brief 8c1f:3 -n 800
    reread brief 8c1f --no-redact --json
    """
    from reread.base.sanitize import safe
    from reread.reports.brief_report import brief as make

    made = make(open_session(ctx, name, root, project), tokens=limit, redact=not no_redact)
    if as_json:
        print_json(made)
    else:
        click.echo("\n".join(safe(line) for line in made.text.splitlines()))
