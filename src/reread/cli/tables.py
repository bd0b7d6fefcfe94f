"""`reread tables`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import listing_options, merged_roots, refuse_without
from reread.cli._output import print_json, print_lines, print_notice, progress, terminal_width
from reread.cli._paths import place_option

if TYPE_CHECKING:
    from reread.dataset.schema import TableSchema

BEFORE_TEXT = 33
"""The columns before what a column of a table is."""


@click.command()
@place_option("Write Parquet files to this folder or bucket, or update them.", "DIR", bucket=True)
@click.option("--text", is_flag=True, help="Include the columns that hold what was said.")
@click.option(
    "--keep-deleted", is_flag=True, envvar="REREAD_KEEP_DELETED", help="Keep the rows of transcripts that were deleted."
)
@listing_options
@click.pass_context
def tables(
    ctx: click.Context,
    output: str | None,
    text: bool,
    keep_deleted: bool,
    as_json: bool,
    root: tuple[Path, ...],
    taken: Mapping[str, Any] = {},
) -> None:
    """Write sessions as Parquet tables, or list the tables.

    Only what changed is read and written again. Several machines can write to one folder at the same time, and readers
    never see half a change. Without a place to write to, lists the tables and their columns.

    \b
    reread tables
    reread tables -o ~/sessions
    reread tables -o ~/sessions --text --json
    reread tables -o s3://team/tables
    """
    if output is None:
        refuse_without(ctx, "--keep-deleted", "--output", "it is about what is written there")
    if output is None and not taken:
        return _list_tables(text, as_json)
    from reread.base.text import plural
    from reread.dataset.tables import tables as all_tables

    found = all_tables(root=merged_roots(ctx, root) or None, text=text)
    with progress("reading", None) as step:
        report = found.write(output, keep_deleted=keep_deleted, progress=step, **taken)
    for path in report.unread:
        print_notice(f"Cannot read {path}: not included.")
    if as_json:
        return print_json(report)
    for name, rows in report.rows.items():
        click.echo(f"{name:14}{rows:>10,}")
    read = f"{plural(report.read, 'transcript')} read, {report.unchanged:,} unchanged, {report.removed:,} removed"
    commits = f"; {plural(report.commits, 'commit')} to {taken['iceberg']}" if report.commits is not None else ""
    return click.echo(f"{read}, in {output or 'the cache'} as {report.machine}{commits}")


def _list_tables(text: bool, as_json: bool) -> None:
    from reread.dataset.schema import TABLES, VERSION

    if as_json:
        shown = ("name", "type", "doc", "text")
        listed = [
            {
                "name": table.name,
                "doc": table.doc,
                "columns": [{part: getattr(column, part) for part in shown} for column in table.columns],
            }
            for table in TABLES.values()
        ]
        return print_json({"version": VERSION, "tables": listed})
    return print_lines(line for table in TABLES.values() for line in _table_lines(table, text))


def _table_lines(table: TableSchema, text: bool) -> Iterator[list[tuple[str, str]]]:
    from reread.base.text import wrapped

    width = terminal_width()
    yield [("strong", table.name)]
    yield from ([("", f"  {line}")] for line in wrapped(table.doc, width and width - 2))
    for column in table.selected(text=text):
        first, *others = wrapped(column.doc, width and width - BEFORE_TEXT)
        yield [("", f"  {column.name:22}"), ("quiet", f"{column.type:9}"), ("", first)]
        yield from ([("", " " * BEFORE_TEXT + line)] for line in others)
    yield []
