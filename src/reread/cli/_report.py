"""How verbs print a report, and say what it leaves out and which filters match nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reread.base.shell_words import quote_command
from reread.cli._option_types import SESSION
from reread.cli._options import csv_option, end_report, is_filtered, listing_options
from reread.cli._output import ids_to_type, print_json, print_lines, print_notice, terminal_width
from reread.cli._unmatched import unknown_models, unknown_projects, unknown_tools
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.render.text_table import Styled
    from reread.reports.report import Report

MOST_LISTED = 50
"""So many items are listed unless -n says how many."""
UNKNOWN = {"project": unknown_projects, "model": unknown_models, "tool": unknown_tools}
"""What says of a filter which of its values nothing has."""


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the sessions that a report is about, and the options of listings."""
    sessions = click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
    return sessions(listing_options(command))


def form_options(listed: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --list, which lists what the help says, and --csv."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        return click.option("--list", "as_list", is_flag=True, help=listed)(csv_option(command))

    return decorate


def refuse_two_forms(*, as_json: bool, as_csv: bool, as_list: bool = False) -> None:
    """Raise Misuse if a report shall be printed in two forms."""
    if as_csv and (as_json or as_list):
        raise Misuse("Cannot print CSV and another form at once; use --csv, --json or --list.")


class Form(NamedTuple):
    """What a report is printed as: JSON, CSV, a list of what its figures count, or else a table."""

    is_json: bool
    is_csv: bool
    is_list: bool
    most: int | None = None
    """How many items are listed."""


def print_report(
    report: Report,
    options: Mapping[str, Any],
    form: Form,
    roots: Sequence[Path],
    *,
    command: Sequence[str] = ("reread", "usage"),
    more: Callable[[], Iterable[Styled]] = tuple,
    besides: Mapping[str, Any] | None = None,
) -> None:
    """Print a report in a form: as JSON also with what there is `besides`, as a table with `more` below it."""
    if form.is_list and (form.is_json or not is_empty(report)):
        _print_list(report, form.most, roots, as_json=form.is_json)
        return
    from reread.render.report_table import left_out_notes, report_lines, report_value
    from reread.render.text_table import wrapped_notes

    if form.is_json or form.is_csv:
        for _, note in left_out_notes(report):
            print_notice(note)
    if form.is_json:
        print_json({**report_value(report), **(besides or {})})
    elif form.is_csv:
        click.echo(report.to_csv(), nl=False)
    elif not is_empty(report) or not is_filtered(options):
        width, notes = terminal_width(), more()
        lines = report_lines(report, width=width, command=command)
        print_lines([line] for line in (*lines, *wrapped_notes(notes, width)))
        if report.hidden and options.get("limit"):
            print_notice("Without -n all rows are shown.")


def _print_list(report: Report, limit: int | None, roots: Sequence[Path], *, as_json: bool) -> None:
    """Print the items behind the figures of a report with their addresses, and how to see one of them, and more."""
    from reread.base.format import number_text
    from reread.base.text import plural
    from reread.render.report_table import item_lines  # loaded late: most reports list nothing
    from reread.render.text_table import WIDTH
    from reread.reports.item_list import listed_items, rows_to_list
    from reread.reports.report import ITEMS
    from reread.storage.user_paths import reread_words

    rows = rows_to_list(report)
    if as_json:
        print_json([one.value() for one in listed_items(report, rows[:limit])])
        return
    items, ids = listed_items(report, rows[: limit or MOST_LISTED]), ids_to_type(roots)
    print_lines([line] for line in item_lines(report, items, rows, ids=ids, width=terminal_width() or WIDTH))
    said: list[str] = []
    if len(items) < len(rows):
        said.append(f"{plural(len(items), ITEMS[report.kind])} of {number_text(len(rows))}; -n N lists more.")
    for address in (one.address for one in items[:1]):
        named = str(address._replace(session=ids.get(address.session, address.session)))
        said.append(f"`{quote_command([*reread_words(roots), 'show', named])}` shows the first.")
    if said:
        print_notice(" ".join(said))


def is_empty(report: Report) -> bool:
    """True if nothing fits the options of a report."""
    return not report.rows and not report.hidden


def end_of_report(
    ctx: click.Context,
    report: Report,
    options: Mapping[str, Any],
    *,
    roots: Sequence[Path],
    of_all: bool,
    text: str,
    may_be_empty: bool = False,
) -> None:
    """Say which filters match nothing, and exit with 1 if nothing is left, unless a report may be empty."""
    asked = {name: options[name] for name in UNKNOWN if options.get(name)}
    found = (UNKNOWN[name](values, report.known.get(name, ())) for name, values in asked.items())
    notices = [notice for notes in found for notice in notes]
    unmatched = is_empty(report) and is_filtered(options)
    is_fine = unmatched and may_be_empty and not notices
    filters = unmatched and not is_fine if is_empty(report) else None
    end_report(ctx, roots, of_all=of_all, filters=filters, notices=notices, text=text)
    if is_fine:
        print_notice(text)
