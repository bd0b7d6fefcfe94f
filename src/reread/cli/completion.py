"""`reread completion`."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a completion script for your shell.

    \b
    eval "$(reread completion bash)"       # in ~/.bashrc
    eval "$(reread completion zsh)"        # in ~/.zshrc
    reread completion fish > ~/.config/fish/completions/reread.fish
    """
    from click.shell_completion import get_completion_class

    group = ctx.find_root().command
    known = get_completion_class(shell)
    assert known is not None, "click knows every shell that the argument allows"
    click.echo(known(group, {}, "reread", "_REREAD_COMPLETE").source())
