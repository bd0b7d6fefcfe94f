"""`reread usage`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import SESSION, json_option, merged_roots, project_option, root_options, since_option
from reread.cli._output import print_json, progress
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.accounting.prices import Prices


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
@click.option("--by", default="day", show_default=True, metavar="GROUP,...", help="What to group by.")
@since_option
@click.option("--until", metavar="WHEN", help="Only until then; a day is in to its end.")
@click.option("--tz", metavar="ZONE", help="Whose days: local (default), UTC, +02:00, Europe/Berlin.")
@project_option
@click.option("--model", multiple=True, metavar="MODEL", help="Only this model or family (opus). Repeatable.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--prices", is_flag=True, help="Show the price table in force, and stop.")
@click.option("--price-file", type=click.Path(), metavar="FILE", help="Prices that go before the bundled ones.")
@click.option("--no-cache", is_flag=True, help="Read every file; keep nothing.")
@click.option(
    "--keep-deleted",
    is_flag=True,
    envvar="REREAD_KEEP_DELETED",
    help="Count files that are gone and were counted once.",
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
    """Tokens and cost, each response once.

    Groups: day, week, month, session, project, model, branch, agent, thread (main or subagents), block (5 hours);
    several with commas. Without arguments, all your sessions.

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
        raise Misuse("say --json or --csv: it prints one of them")
    table = current_prices(price_file)
    if prices:
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
    looks: dict[str, dict[str, Any]] = {"strong": {"bold": True}, "loud": {"fg": "yellow", "bold": True}}
    for style, line in lines:
        click.echo(click.style(line, **looks[style]) if style in looks else line)
