"""`reread sql`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from reread.cli._options import csv_option, listing_options, merged_roots, refuse_with
from reread.cli._output import print_json, print_lines, progress, terminal_width
from reread.cli._paths import PathName, place_option, write_file
from reread.errors import Misuse, RereadError, Unwritable

if TYPE_CHECKING:
    from reread.dataset.sql import Database, QueryResult

WELCOME = "The tables are {}. End a query with a semicolon; `describe calls;` lists columns, Ctrl-D leaves."
FIRST, MORE = "reread> ", "   ...> "
HISTORY = "sql_history"
LONGEST_HISTORY = 2000
KEYWORDS = """
    and as asc avg between by case coalesce count cross date_trunc day describe desc distinct else end exists explain
    false filter from group by all having hour ilike in inner interval is join left like limit lower max median min
    month not null offset on or order over partition quantile_cont round select show tables sum summarize then true
    union unnest upper using week when where window with
""".split()


def prompt(database: Database, answer: Callable[[str], None]) -> None:
    """Read queries and answer them until the input ends."""
    from reread.dataset.schema import TABLES

    click.echo(WELCOME.format(", ".join(TABLES)))
    with _line_editing(completions(text=database.text)):
        for text in _queries():
            try:
                for statement in database.statements(text):
                    answer(statement)
            except RereadError as error:
                click.echo(f"{error}")
            except KeyboardInterrupt:
                click.echo("Interrupted.")


def _queries() -> Iterator[str]:
    """Yield what is typed, up to each semicolon at the end of a line."""
    lines: list[str] = []
    while True:
        try:
            lines.append(input(MORE if lines else FIRST))
        except EOFError:
            click.echo()
            return
        except KeyboardInterrupt:
            click.echo()
            lines.clear()
            continue
        text = "\n".join(lines).strip()
        if text in ("exit", "quit", ".quit", ".exit"):
            return
        if text.endswith(";") or not text:
            lines.clear()
            if text:
                yield text


def completions(*, text: bool) -> list[str]:
    """Return what can be completed: tables, columns and words of SQL."""
    from reread.dataset.schema import TABLES

    columns = {name for table in TABLES.values() for name in table.names(text=text)}
    return sorted({*TABLES, *columns, *KEYWORDS})


@contextmanager
def _line_editing(known: list[str]) -> Generator[None]:
    """Edit lines with history and completion, if this Python can."""
    try:
        import readline
    except ImportError:  # Windows has an editor of its own
        yield
        return
    _complete_with(readline, known)
    from reread.disk.layout import default_store

    path = default_store() / HISTORY
    with suppress(OSError):
        _make_private(path)
        readline.read_history_file(path)
    readline.set_history_length(LONGEST_HISTORY)
    try:
        yield
    finally:
        with suppress(OSError):
            readline.write_history_file(path)


def _complete_with(readline: ModuleType, known: list[str]) -> None:
    def complete(start: str, n: int) -> str | None:
        found = [word for word in known if word.startswith(start.lower())]
        return found[n] if n < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n,()=<>+-*/;.\"'")
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")


def _make_private(path: Path) -> None:
    """Create the history, so that only its owner can read it: queries name files and projects."""
    from reread.storage.safe_open import make_private_folder, open_descriptor

    make_private_folder(path.parent)
    os.close(open_descriptor(path, os.O_RDWR | os.O_CREAT))


@click.command()
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@csv_option
@place_option("Write the rows to this Parquet or CSV file.")
@click.option(
    "--from", "folder", type=PathName(bucket=True), metavar="DIR", help="Query the tables in this folder or bucket."
)
@click.option("--text", is_flag=True, help="Include the columns that hold what was said.")
@click.option("--allow-files", is_flag=True, help="Let queries read and write other files.")
@listing_options
@click.pass_context
def sql(
    ctx: click.Context,
    queries: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
    output: str | None,
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
    reread sql "from usage" -o usage.parquet
    echo "from calls; from edits" | reread sql --json
    """
    if sum((as_json, as_csv, output is not None)) > 1:
        raise Misuse("Cannot give rows in several forms; use --json, --csv or -o.")
    if folder is not None:
        refuse_with(ctx, "--from", ("--root",), "a folder with tables has sessions of its own")
    if "" in queries:
        raise Misuse("Empty query; is a variable not set?")
    asked = [*queries]
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
            return prompt(database, lambda statement: _echo(database.query(statement)))
        statements = [statement for given in asked for statement in database.statements(given)]
        return _answer(database, statements, as_json, as_csv, output)


def _answer(database: Database, statements: list[str], as_json: bool, as_csv: bool, output: str | None) -> None:
    """Run the statements and print or write their rows."""
    if as_json:
        from reread.render.query_table import json_rows

        found = [list(json_rows(result.schema.names, result.rows)) for result in map(database.query, statements)]
        return print_json(found[0] if len(found) == 1 else found)
    if (as_csv or output is not None) and len(statements) != 1:
        raise Misuse(f"Cannot write {len(statements)} queries as one table; give one query.")
    from reread.disk.layout import expand_path

    if output is not None and output.lower().endswith(".csv"):
        return write_file(expand_path(output), [line.encode() for line in _csv(database.query(statements[0]))])
    if output is not None:
        from reread.dataset.parquet import write_result

        result = database.query(statements[0])
        try:
            return write_result(expand_path(output), result.schema, result.batches)
        except OSError as error:
            raise Unwritable.at(output, error) from error
    if as_csv:
        for line in _csv(database.query(statements[0])):
            click.echo(line, nl=False)
        return None
    return print_lines(_answer_lines(map(database.query, statements)))


def _csv(result: QueryResult) -> Iterator[str]:
    from reread.render.query_table import query_csv

    return query_csv(result.schema.names, result.rows)


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
