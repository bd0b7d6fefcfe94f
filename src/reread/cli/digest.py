"""`reread digest`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._options import (
    format_option,
    json_option,
    merged_roots,
    project_option,
    root_options,
    tz_option,
    until_option,
)
from reread.cli._output import print_json, print_notice, progress
from reread.cli._paths import PathName
from reread.errors import Misuse

STDOUT = "-"


@click.command()
@click.option(
    "--since",
    default="yesterday",
    show_default=True,
    metavar="WHEN",
    help="Report what was done from this time on.",
)
@until_option
@tz_option
@project_option
@format_option("md", "html", "json", default="md", help="Print in this format.")
@click.option(
    "-o",
    "--output",
    type=PathName(written=True, stream=True),
    default=STDOUT,
    metavar="FILE",
    help="Write to this file.",
)
@click.option("--redact", is_flag=True, help="Replace secrets and personal details, as `reread share` does.")
@json_option
@root_options
@click.pass_context
def digest(
    ctx: click.Context,
    since: str,
    until: str | None,
    tz: str | None,
    project: tuple[str, ...],
    form: str,
    output: str,
    redact: bool,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Report what was done since yesterday, by project.

    For each session: its prompts, the files and lines that it changed, its commits and pull requests, the tests that
    passed and failed, its failed calls and its cost. All of it is recorded; no model is asked. Exits with 1 if no
    session did anything.

    \b
    reread digest
    reread digest --since today --project .
    reread digest --since yesterday --until yesterday
    reread digest --since "last week" -f html -o week.html
    reread digest --redact -f json
    """
    from reread.base import jsontext
    from reread.render.digest_text import digest_html, digest_markdown
    from reread.reports.digest_report import digest as report_on
    from reread.reports.digest_report import digest_value

    if as_json and form == "html":
        raise Misuse("Cannot print both JSON and HTML; use --json or -f html.")
    with progress("reading", None) as step:
        made = report_on(
            since=since,
            until=until,
            tz=tz,
            project=project or None,
            root=merged_roots(ctx, root) or None,
            redact=redact,
            progress=step,
        )
    as_json = as_json or form == "json"
    if output != STDOUT:
        from reread.storage.atomic import write_atomic

        text = digest_html(made) if form == "html" else digest_markdown(made)
        write_atomic(Path(output), [jsontext.dumps(digest_value(made)) if as_json else text.encode("utf-8", "replace")])
    elif as_json:
        print_json(digest_value(made))
    else:
        click.echo(digest_html(made) if form == "html" else digest_markdown(made), nl=False)
    for reason in made.unread:
        print_notice(f"{reason} Not included.")
    ctx.exit(0 if made.projects else NOTHING_FOUND)
