"""`reread usage`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import (
    SESSION,
    json_option,
    merged_roots,
    project_option,
    refuse_with,
    root_options,
    since_option,
    until_option,
)
from reread.cli._output import print_json, progress
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.accounting.prices import Prices


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
@click.option("--by", default="day", show_default=True, metavar="GROUP,...", help="Group by these.")
@since_option
@until_option
@click.option(
    "--tz", metavar="ZONE", help="Time zone for grouping by day: local (default), UTC, +02:00, Europe/Berlin."
)
@project_option
@click.option("--model", multiple=True, metavar="MODEL", help="Include only this model or family (opus). Repeatable.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--prices", is_flag=True, help="Show the price table and exit.")
@click.option(
    "--price-file", type=click.Path(), metavar="FILE", help="JSON file with prices that override the bundled ones."
)
@click.option("--no-cache", is_flag=True, help="Read all files again, and store nothing in the cache.")
@click.option(
    "--keep-deleted",
    is_flag=True,
    envvar="REREAD_KEEP_DELETED",
    help="Keep counting transcripts that have since been deleted.",
)
@json_option
@root_options
@click.pass_context
def usage(
    ctx: click.Context,
    sessions: tuple[str, ...],
    root: tuple[Path, ...],
    as_json: bool,
    as_csv: bool,
    prices: bool,
    no_cache: bool,
    price_file: str | None,
    **options: Any,
) -> None:
    """Report tokens and cost, counting each response once.

    Without arguments, count all sessions. Groups are day, week, month, session, project, model, branch, agent, thread
    (main or subagents) and block (5 hours); separate several with commas.

    \b
    reread usage --since 30d
    reread usage --by project,model --json
    reread usage ./run.jsonl latest
    """
    from reread.accounting.prices import current_prices
    from reread.render.usage_table import unread_note, usage_csv, usage_lines
    from reread.reports.usage_report import report_value
    from reread.reports.usage_report import usage as count

    if as_json and as_csv:
        raise Misuse("Cannot print both JSON and CSV; use --json or --csv.")
    table = current_prices(price_file)
    if prices:
        refuse_with(ctx, "--prices", ("--csv", "--by", "--since", "--until"), "it counts nothing")
        _print_prices(table, as_json)
        return
    with progress("reading", None) as step:
        report = count(
            *sessions, root=merged_roots(ctx, root) or None, prices=table, cache=not no_cache, progress=step, **options
        )
    if report.unread and (as_json or as_csv):
        click.echo(unread_note(report), err=True)
    if as_json:
        print_json(report_value(report))
    elif as_csv:
        click.echo(usage_csv(report), nl=False)
    else:
        _print_styled(usage_lines(report, width=_table_width()))


def _print_prices(table: Prices, as_json: bool) -> None:
    import time

    from reread.render.usage_table import price_lines

    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.Encoder(decimal_format="number").encode(table.table)))
    else:
        _print_styled(price_lines(table, int(time.time() // 86400)))


def _table_width() -> int:
    import shutil

    return max(80, min(120, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else 80


def _print_styled(lines: Iterator[tuple[str, str]]) -> None:
    styles: dict[str, dict[str, Any]] = {"strong": {"bold": True}, "loud": {"fg": "yellow", "bold": True}}
    for style, line in lines:
        click.echo(click.style(line, **styles[style]) if style in styles else line)
