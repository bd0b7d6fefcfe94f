"""The prompt of `reread sql`: statements that end with a semicolon, with history and completion."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from reread.errors import RereadError

if TYPE_CHECKING:
    from reread.dataset.sql import Database

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
