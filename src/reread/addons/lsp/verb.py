"""`reread lsp`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.base.optional_dependencies import require
from reread.cli._options import merged_roots, root_options


@click.command()
@root_options
@click.pass_context
def lsp(ctx: click.Context, root: tuple[Path, ...]) -> None:
    """Show in an editor which session wrote a line, over the Language Server Protocol.

    The server speaks over standard input and output, so an editor starts it: docs/editors.md has setups for Neovim,
    Helix, Emacs, Zed and VS Code. Hovering over a line shows the session, the turn and the prompt that wrote it, a lens
    stands above each part that one turn wrote, and an action opens the reader there. Unsaved changes count, too.
    Install it with `pip install 'reread[lsp]'`.

    \b
    reread lsp
    reread lsp --root ~/team-sessions
    """
    require("pygls.lsp.server", "lsp", "The language server needs")
    from reread.addons.lsp.server import run

    run(merged_roots(ctx, root) or None)
