"""`reread mcp`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.base.optional_dependencies import install_command
from reread.cli._options import merged_roots, root_options
from reread.errors import Misuse


@click.command()
@root_options
@click.pass_context
def mcp(ctx: click.Context, root: tuple[Path, ...]) -> None:
    """Let agents read past sessions, over the Model Context Protocol.

    The server speaks over standard input and output, so a client starts it. It is read-only, its answers are bounded
    and cite where they come from, and the session that asks is left out. Text of transcripts is quoted in them, so
    that an agent can tell it from instructions. Install it with `pip install 'reread[mcp]'`.

    \b
    claude mcp add reread -- reread mcp
    claude mcp add reread -- reread mcp --root ~/team-sessions
    """
    try:
        from reread.mcp_server.server import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "pydantic"):
            raise
        raise Misuse(f"The MCP server needs the `mcp` package; run `{install_command('mcp')}`.") from error
    run(merged_roots(ctx, root) or None)
