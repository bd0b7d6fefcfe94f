"""`reread statusline`; without --install, `__main__` runs it before any of this is imported."""

from __future__ import annotations

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._options import refuse_with, refuse_without, yes_option
from reread.errors import Misuse


@click.command()
@click.option(
    "--format",
    "template",
    metavar="TEXT",
    help="Print this text; parts between ' · ' whose fields have no value are left out.",
)
@click.option("--install", is_flag=True, help="Show the setting for Claude Code, and add it to its settings; asks.")
@click.option("--uninstall", is_flag=True, help="Put back what --install replaced in Claude Code's settings.")
@yes_option()
@click.pass_context
def statusline(ctx: click.Context, template: str | None, install: bool, uninstall: bool, yes: bool) -> None:
    """Print one line for Claude Code's status line.

    Reads the JSON that Claude Code gives a status line on standard input. The line says what this session and today
    cost, what is left of the tightest budget that counts this session, how full the context is, until when the cache is
    warm, and the rate limits. Fields for --format: {cost} {today} {left} {context} {cache} {limits} {model} {project}.

    What today costs is counted in the background, at most once a minute. If its input is not such JSON,
    or after 0.8 seconds, it prints an empty line. Without --install or --uninstall, it always exits with 0.

    \b
    reread statusline --install
    reread statusline --uninstall
    reread statusline --install --format '{model} · {cost} · {context}' --yes
    """
    refuse_with(ctx, "--install", ("--uninstall",), "it is the opposite")
    if install:
        return _install(ctx, template, yes)
    if uninstall:
        refuse_with(ctx, "--uninstall", ("--format", "--yes"), "it puts back what was there")
        return _uninstall(ctx)
    refuse_without(ctx, "--yes", "--install", "nothing is asked")
    from reread.reports.status_line import main

    return main(["--format", template] if template is not None else [])


def _install(ctx: click.Context, template: str | None, yes: bool) -> None:
    import json

    from reread.disk.client_settings import KEY, set_status_line, settings_file, status_command, status_setting

    path, setting = settings_file(), status_setting(template)
    before = status_command(path)
    click.echo(f"The setting for {path}:\n\n{json.dumps({KEY: setting}, indent=2, ensure_ascii=False)}\n")
    if before == setting["command"]:
        click.echo("It is set already.")
        return
    if before is not None:
        click.echo(f"It replaces the status line that is set now: {before}")
    try:
        agreed = yes or click.confirm("Add it?" if before is None else "Replace it?", err=True)
    except click.Abort:  # nobody is there to answer
        raise Misuse("Nothing was changed; add it with --yes.") from None
    if not agreed:
        ctx.exit(NOTHING_FOUND)
    set_status_line(path, setting)
    click.echo(f"{'Added' if before is None else 'Replaced'}. Claude Code shows it from the next prompt on.")


def _uninstall(ctx: click.Context) -> None:
    from reread.disk.client_settings import KEY, settings_file, status_command, unset_status_line

    path = settings_file()
    if not unset_status_line(path):
        now = status_command(path)
        said = f"the status line there is another one: {now}" if now is not None else f"it has no {KEY}"
        click.echo(f"Nothing was changed in {path}: {said}.", err=True)
        ctx.exit(NOTHING_FOUND)
    now = status_command(path)
    click.echo(f"Removed from {path}." if now is None else f"Put back in {path}: {now}")
