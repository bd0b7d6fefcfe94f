"""`reread mcp`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.base.optional_dependencies import require
from reread.cli._options import merged_roots, root_options


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
    require("mcp.server.mcpserver", "mcp", "The MCP server needs")
    from reread.addons.mcp.server import run

    run(merged_roots(ctx, root) or None)
