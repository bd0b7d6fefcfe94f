"""`reread digest`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._notices import shell_words
from reread.cli._options import (
    format_of,
    format_option,
    have_no_sessions,
    json_option,
    merged_roots,
    no_redact_option,
    no_sessions_text,
    refuse_with,
    root_options,
    scope_options,
    unmatched_projects,
)
from reread.cli._output import echo_lines, print_json, print_notice, progress, terminal_width
from reread.cli._paths import STDOUT, output_option
from reread.errors import Misuse

FORMATS = ("markdown", "html", "json")
TEXT = "text"
"""What a terminal gets, without the marks and escapes of Markdown."""


@click.command()
@scope_options("since", "until", "tz", "project", default="yesterday")
@click.option("--exec", "command", metavar="CMD", help="Run a command with the digest as its input, such as a webhook.")
@format_option(*FORMATS, help="Write this format (default: by the suffix of the output; a terminal gets text).")
@output_option()
@click.option("--full", is_flag=True, help="Write all that each session did: prompts, files, commits, tests.")
@no_redact_option
@json_option
@root_options
@click.pass_context
def digest(
    ctx: click.Context,
    since: str,
    command: str | None,
    until: str | None,
    tz: str | None,
    project: tuple[str, ...],
    form: str | None,
    output: str,
    full: bool,
    no_redact: bool,
    as_json: bool,
    root: tuple[Path, ...],
    made_of: Callable[[str], tuple[Any, bool, Sequence[str]]] | None = None,
) -> None:
    """Report what was done since yesterday, by project.

    Half a page: what came of the dearest sessions (commits, pull requests, changed files, whether tests passed at the
    end), what they cost, what failed and what is open; runs of one prompt again and again are one line. --full and JSON
    have all of each session. All of it is recorded; no model is asked. Exits with 1 if no session did anything.

    --exec runs CMD in a shell, gives it the digest on standard input, and exits with its code.

    \b
    reread digest
    reread digest --since today --project .
    reread digest --since yesterday --until yesterday
    reread digest --since "last week" -o week.html
    reread digest --full --no-redact
    reread digest -f json --exec 'curl -sS --json @- "$WEBHOOK"'
    """
    if as_json and form not in (None, "json"):
        raise Misuse(f"Cannot use --json with -f {form}: both are formats.")
    form = "json" if as_json else form or format_of(output, *FORMATS)
    if form is None:
        is_read = output == STDOUT and command is None and sys.stdout.isatty()
        form = TEXT if is_read else "markdown"
    if command is not None:
        refuse_with(ctx, "--exec", ("--output",), "the command gets the digest")
    if made_of is not None:
        made, found, unread = made_of(form)
    else:
        with progress("reading", None) as step:
            made, found, unread = _of_sessions(
                form,
                full,
                since=since,
                until=until,
                tz=tz,
                project=project or None,
                root=merged_roots(ctx, root) or None,
                redact=not no_redact,
                progress=step,
            )
    if unread:
        from reread.render.report_table import unread_note

        print_notice(unread_note(unread))
    for notice in unmatched_projects(merged_roots(ctx, root), project) if project and not found else ():
        print_notice(notice)
    if made_of is None and not found and have_no_sessions(merged_roots(ctx, root)):
        print_notice(no_sessions_text(merged_roots(ctx, root), "digest"))
    from reread.base import jsontext

    if form == TEXT:
        echo_lines(made)
        return ctx.exit(0 if found else NOTHING_FOUND)
    data = made.encode("utf-8", "replace") if isinstance(made, str) else jsontext.dumps(made)
    if command is not None:
        ctx.exit(_run(command, data) if found else NOTHING_FOUND)
    if output != STDOUT:
        from reread.storage.atomic import write_atomic

        write_atomic(Path(output), [data])
    elif isinstance(made, str):
        click.echo(made, nl=False)
    else:
        print_json(made)
    return ctx.exit(0 if found else NOTHING_FOUND)


def _of_sessions(form: str, full: bool, **options: Any) -> tuple[Any, bool, Sequence[str]]:
    """Return the digest of sessions as text or JSON values, whether it has anything, and what could not be read."""
    from reread.render.digest_text import digest_html, digest_lines, digest_markdown
    from reread.reports.digest_report import digest as report_on

    made = report_on(**options)
    text: Any
    if form == TEXT:
        text = digest_lines(made, full=full, width=terminal_width())
    elif form == "json":
        text = made
    else:
        text = (digest_html if form == "html" else digest_markdown)(made, full=full)
    return text, bool(made.projects), made.unread


def _run(command: str, data: bytes) -> int:
    """Run a command of the user's with something on its standard input, and return its exit code."""
    import subprocess

    return subprocess.run([*shell_words(), command], input=data, check=False).returncode
