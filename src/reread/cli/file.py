"""`reread file`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._option_types import FILE, LATEST, SESSION
from reread.cli._options import ADDRESS, json_option, merged_roots, refuse_with, root_options
from reread.cli._output import print_json, print_notice, write_bytes
from reread.cli._paths import STDOUT, output_option, write_file
from reread.errors import NotFound

if TYPE_CHECKING:
    from reread.reports.file_report import FileAt


@click.command()
@click.argument("path", type=FILE)
@click.argument("at", type=SESSION, required=False, default=LATEST, metavar=f"[{ADDRESS}]")
@output_option("Write to this file instead of standard output.")
@json_option
@root_options
@click.pass_context
def file(ctx: click.Context, path: str, at: str, output: str, as_json: bool, root: tuple[Path, ...]) -> None:
    """Print a file as a session left it, or as it was after a turn.

    PATH is a path, or the end of one. SESSION:TURN, SESSION:TURN.CALL or SESSION:AGENT prints it as that left it;
    turn 0 is before the first. Prints an error instead if the whole text is not known for certain. Prints the exact
    bytes if a backup or the session says how lines end; otherwise lines end with LF.

    \b
    reread file src/harbor/backoff.py 8c1f
    reread file src/harbor/backoff.py 8c1f:1 -o backoff.py
    reread file backoff.py 8c1f:2.1
    reread file backoff.py 8c1f:0
    """
    from reread.reports.file_report import file as find

    refuse_with(ctx, "--json", ("--output",), "it is printed")
    found = find(path, at, root=merged_roots(ctx, root) or None)
    if as_json:
        return print_json(_value(found))
    if not found.known or found.text is None:
        raise NotFound(_reason(found))
    if found.then is not None:
        print_notice(f"Something outside the session changed this file before turn {found.then.turn}.")
    if found.text.written is None and "\n" in found.text.text:
        print_notice("The transcript does not say how lines end; they are written with LF.")
    data = found.text.best_data
    if output == STDOUT:
        return write_bytes([data])
    return write_file(output, [data], mode=0o666)


def _reason(found: FileAt) -> str:
    name = found.history.path
    if found.known:
        return f"There is no file {name} then; run `reread files --file` to see when it existed."
    return f"The whole text of {name} is not known then; run `reread show --file {name}` to see each change."


def _value(found: FileAt) -> dict[str, Any]:
    from reread.reports.file_report import version_value

    return {
        "path": found.history.path,
        "known": found.known,
        "exact": found.text is not None and found.text.written is not None,
        "text": found.text.text if found.text is not None else None,
        "version": version_value(found.version) if found.version is not None else None,
        "changed_from_outside": version_value(found.then) if found.then is not None else None,
    }
