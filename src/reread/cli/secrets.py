"""`reread secrets`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._option_types import SESSION
from reread.cli._options import listing_options, merged_roots, no_sessions_text
from reread.cli._output import print_json, print_lines, print_notice, progress
from reread.errors import Misuse

OK, FOUND = 0, 1


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
@click.option("--personal", is_flag=True, help="Also list home folders, e-mail, phones, hosts, authors and remotes.")
@listing_options
@click.pass_context
def secrets(
    ctx: click.Context, sessions: tuple[str, ...], personal: bool, as_json: bool, root: tuple[Path, ...]
) -> None:
    """List secrets in sessions, by file and line, masked.

    Finds tokens in the published format of over a hundred vendors (certain), and values that are named a password, a
    key or a token (likely): also escaped, encoded in base64, broken over lines, in agents' files and spilled results.
    Exits with 1 if it finds any. Nothing leaves this machine. Without arguments, scans all your sessions.

    \b
    reread secrets
    reread secrets latest
    reread secrets ~/.claude/projects --json
    """
    from reread.disk.layout import session_folders
    from reread.reports.secrets_report import secrets_report

    roots = merged_roots(ctx, root) or None
    names = sessions or [str(folder) for folder in session_folders(roots)]
    if not names:
        raise Misuse(no_sessions_text(merged_roots(ctx, root), "secrets"))
    with progress("scanning", None) as step:
        report = secrets_report(names, root=roots, personal=personal, progress=step)
    for fault in report.faults:
        print_notice(fault)
    if as_json:
        print_json(report)
    else:
        from reread.render.listings import secret_lines

        print_lines(secret_lines(report))
    return ctx.exit(FOUND if any(report.totals.values()) else OK)
