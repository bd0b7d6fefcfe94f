"""`reread tables`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._options import listing_options, merged_roots, refuse_with, refuse_without
from reread.cli._output import print_json, print_lines, print_notice, progress, terminal_width
from reread.cli._paths import PathName

if TYPE_CHECKING:
    from reread.dataset.schema import TableSchema

BEFORE_TEXT = 33
"""The columns before what a column of a table is."""


@click.command()
@click.option(
    "-o",
    "--output",
    type=PathName(written=True, bucket=True),
    metavar="DIR",
    help="Write Parquet files to this folder or bucket, or update them.",
)
@click.option(
    "--to",
    type=PathName(written=True, bucket=True),
    metavar="BUCKET",
    help="Write figures without words for a team to this bucket or folder, or update them.",
)
@click.option("--verify", is_flag=True, help="Report what in the bucket of --to differs from what its machine wrote.")
@click.option(
    "--iceberg", metavar="CATALOG", help="Commit what changed to this Iceberg catalogue: its name or address."
)
@click.option(
    "--warehouse",
    type=PathName(written=True, bucket=True),
    metavar="DIR",
    help="The folder or bucket for the files of new Iceberg tables.",
)
@click.option("--text", is_flag=True, help="Include the columns that hold what was said.")
@click.option(
    "--keep-deleted", is_flag=True, envvar="REREAD_KEEP_DELETED", help="Keep the rows of transcripts that were deleted."
)
@listing_options
@click.pass_context
def tables(
    ctx: click.Context,
    output: str | None,
    to: str | None,
    verify: bool,
    iceberg: str | None,
    warehouse: str | None,
    text: bool,
    keep_deleted: bool,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Write sessions as Parquet or Iceberg tables, or list the tables.

    Only what changed is read and written again. Several machines can write to one folder at the same time, and readers
    never see half a change. Without -o, --to and --iceberg, lists the tables and their columns.

    With --to, the tables are those for a team: no prompt, title, path, command, branch or name of a file is in them,
    only figures and hashes with the key that the team shares. The configuration names the team and the person.

    \b
    reread tables
    reread tables -o ~/sessions
    reread tables -o ~/sessions --text --json
    reread tables -o s3://team/tables
    reread tables --to s3://team/figures
    reread tables --iceberg team --warehouse s3://team/lake
    """
    refuse_without(ctx, "--warehouse", "--iceberg", "it is for the files of its tables")
    if to is not None:
        refuse_with(ctx, "--to", ("--output", "--text"), "it writes figures without words")
    else:
        refuse_without(ctx, "--keep-deleted", "--output", "it is about what is written there")
    refuse_without(ctx, "--verify", "--to", "it names the bucket")
    if verify and to is not None:
        refuse_with(ctx, "--verify", ("--iceberg", "--keep-deleted"), "it writes nothing")
        return _verify(ctx, to, as_json)
    if output is None and to is None and iceberg is None:
        return _list_tables(text, as_json)
    from reread.base.text import plural
    from reread.dataset.tables import tables as all_tables

    found = all_tables(root=merged_roots(ctx, root) or None, text=text)
    with progress("reading", None) as step:
        options = {"iceberg": iceberg, "warehouse": warehouse, "keep_deleted": keep_deleted, "progress": step}
        report = found.write(to or output, figures=to is not None, **options)  # pyright: ignore[reportArgumentType]
    for path in report.unread:
        print_notice(f"Cannot read {path}: not included.")
    if as_json:
        return print_json(report)
    for name, rows in report.rows.items():
        click.echo(f"{name:14}{rows:>10,}")
    read = f"{plural(report.read, 'transcript')} read, {report.unchanged:,} unchanged, {report.removed:,} removed"
    commits = f"; {plural(report.commits, 'commit')} to {iceberg}" if report.commits is not None else ""
    return click.echo(f"{read}, in {to or output or 'the cache'} as {report.machine}{commits}")


def _verify(ctx: click.Context, to: str, as_json: bool) -> None:
    """Report what in a bucket is not as its machine wrote it."""
    from reread.base.text import plural
    from reread.dataset.team_tables import team

    opened = team(to)
    with progress("reading", None) as step:
        findings = opened.verify(progress=step)
    if as_json:
        print_json(findings)
    else:
        for one in findings:
            click.echo(f"{one.machine}: {f'{one.file}: ' if one.file else ''}{one.text}")
        click.echo(f"{plural(len(opened.writers()), 'machine')}, {plural(len(findings), 'finding')}")
    ctx.exit(NOTHING_FOUND if findings else 0)


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
