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
    completion_class = get_completion_class(shell)
    assert completion_class is not None, "click supports every shell in SHELLS"
    click.echo(completion_class(group, {}, "reread", "_REREAD_COMPLETE").source())
