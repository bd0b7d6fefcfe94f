"""`reread sql`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reread.cli._options import listing_options, merged_roots, refuse_with
from reread.cli._output import print_json, print_lines, progress, terminal_width
from reread.cli._paths import PathName
from reread.errors import Misuse, Unwritable

if TYPE_CHECKING:
    from reread.dataset.sql import Database, QueryResult

STDIN = "-"


@click.command()
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@click.option(
    "-f",
    "--queries",
    "query_files",
    multiple=True,
    type=PathName(stream=True),
    metavar="FILE",
    help="Run the queries in this file. Repeatable.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--parquet", type=PathName(written=True), metavar="FILE", help="Write the rows to this Parquet file.")
@click.option(
    "--tables", "folder", type=PathName(bucket=True), metavar="DIR", help="Query the tables in this folder or bucket."
)
@click.option("--text", is_flag=True, help="Include the columns that hold what was said.")
@click.option("--allow-files", is_flag=True, help="Let queries read and write other files.")
@listing_options
@click.pass_context
def sql(
    ctx: click.Context,
    queries: tuple[str, ...],
    query_files: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
    parquet: str | None,
    folder: str | None,
    text: bool,
    allow_files: bool,
    root: tuple[Path, ...],
) -> None:
    """Query sessions with SQL.

    The tables are sessions, records, messages, calls, usage, turns, prompts, cache_breaks, commits, pull_requests,
    edits and files; `reread tables` lists their columns. They are updated first; queries can only read them. Without a
    query, opens a prompt, or reads standard input.

    \b
    reread sql "select tool, count(*) from calls group by all order by 2 desc"
    reread sql "select model, sum(output_tokens) from usage group by all" --json
    reread sql "select text from messages where author = 'person'" --text
    reread sql "from usage" --parquet usage.parquet
    """
    if sum((as_json, as_csv, parquet is not None)) > 1:
        raise Misuse("Cannot give rows in several forms; use --json, --csv or --parquet.")
    if folder is not None:
        refuse_with(ctx, "--tables", ("--root",), "a folder with tables has sessions of its own")
    if "" in queries:
        raise Misuse("Empty query; is a variable not set?")
    asked = [*queries, *map(_read, query_files)]
    is_prompt = not asked and sys.stdin.isatty()
    if not asked and not is_prompt:
        asked = [sys.stdin.read()]
    from reread.dataset.sql import open_database
    from reread.dataset.table_files import table_files

    place = table_files(folder) if folder is not None else None
    roots = merged_roots(ctx, root) or None
    with ExitStack() as stack:
        with progress("reading", None) as step:
            opened = open_database(place, roots, text=text or None, allow_files=allow_files, progress=step)
            database = stack.enter_context(opened)
        if is_prompt:
            from reread.cli._sql_prompt import prompt

            return prompt(database, lambda statement: _echo(database.query(statement)))
        statements = [statement for given in asked for statement in database.statements(given)]
        return _answer(database, statements, as_json, as_csv, parquet)


def _read(name: str) -> str:
    from reread.errors import Unreadable
    from reread.storage.kept_file import read_whole

    if name == STDIN:
        return sys.stdin.read()
    try:
        return read_whole(name).decode("utf-8", "replace")
    except OSError as error:
        raise Unreadable.at(name, error) from error


def _answer(database: Database, statements: list[str], as_json: bool, as_csv: bool, parquet: str | None) -> None:
    """Run the statements and print or write their rows."""
    if as_json:
        from reread.render.query_table import json_rows

        found = [list(json_rows(result.schema.names, result.rows)) for result in map(database.query, statements)]
        return print_json(found[0] if len(found) == 1 else found)
    if (as_csv or parquet is not None) and len(statements) != 1:
        raise Misuse(f"Cannot write {len(statements)} queries as one table; give one query.")
    if parquet is not None:
        from reread.dataset.parquet import write_result
        from reread.disk.layout import expand_path

        result = database.query(statements[0])
        try:
            return write_result(expand_path(parquet), result.schema, result.batches)
        except OSError as error:
            raise Unwritable.at(parquet, error) from error
    if as_csv:
        from reread.render.query_table import query_csv

        result = database.query(statements[0])
        for line in query_csv(result.schema.names, result.rows):
            click.echo(line, nl=False)
        return None
    return print_lines(_answer_lines(map(database.query, statements)))


def _echo(result: QueryResult) -> None:
    """Print a table below the prompt, where what was asked before stays in sight."""
    for line in _answer_lines([result]):
        click.echo(line)


def _answer_lines(results: Iterable[QueryResult]) -> Iterator[str]:
    """Yield the lines of tables, with an empty line between two."""
    from reread.render.query_table import query_lines

    for n, result in enumerate(results):
        if n:
            yield ""
        yield from query_lines(result.schema.names, result.rows, terminal_width())
