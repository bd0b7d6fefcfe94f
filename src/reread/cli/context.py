"""`reread context`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._option_types import LATEST, SESSION
from reread.cli._options import ADDRESS, listing_options, merged_roots, refuse_with, schema_option
from reread.cli._output import print_json, print_lines, terminal_width
from reread.cli._unmatched import exit_unmatched


@click.command()
@click.argument("name", type=SESSION, required=False, default=LATEST, metavar=f"[{ADDRESS}]")
@schema_option
@listing_options
@click.pass_context
def context(
    ctx: click.Context,
    name: str,
    schema: bool,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Show what fills the context of a request.

    Lists the system prompt, each tool, MCP servers, skills, memory, prompts, answers, results and so on: by default
    for the last request of the newest session, with a turn for the last request of that turn, with a call for the
    one that it answered. Then lists what was added and removed since the request before. Bytes are exact, and
    tokens are scaled so that they add up to what the API reported. Claude Code records its requests from 2.1.325
    on; for older sessions the parts are estimated.

    \b
    reread context
    reread context 8c1f:2
    reread context latest:req3
    reread context d2a9:ac60
    reread context latest --json | jq '.parts[] | select(.kind == "tool")'
    """
    from reread.render.request_listing import context_lines, context_schema
    from reread.reports.request_report import context as find
    from reread.session.places import NoSuchRequest

    if schema:
        refuse_with(ctx, "--schema", ("--json",), "it reads no session")
        return print_json(context_schema())
    try:
        found = find(name, root=merged_roots(ctx, root) or None)
    except NoSuchRequest as error:
        exit_unmatched(ctx, (), str(error))
    if as_json:
        return print_json(found)
    return print_lines(context_lines(found, width=terminal_width()))
