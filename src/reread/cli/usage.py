"""`reread usage`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.scope_options import OF_RESPONSES
from reread.base.text import split_names
from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._option_types import DOLLARS, USAGE_GROUPS
from reread.cli._options import (
    is_filtered,
    limit_option,
    merged_roots,
    refuse_with,
    scope_options,
)
from reread.cli._output import (
    echo_lines,
    print_lines,
    print_notice,
    progress,
    terminal_width,
)
from reread.cli._report import (
    Form,
    end_of_report,
    form_options,
    is_empty,
    print_report,
    refuse_two_forms,
    report_options,
)
from reread.errors import Misuse

STDIN = "-"
CACHE = "cache"
MOST_READ = 4_000_000
"""So many bytes of sessions that nobody named are read to count their cache breaks."""
NO_RESPONSES = "No response fits all of these options. Run `reread usage` without them to count all."

NO_BREAKS = "No cache break fits all of these options. Run `reread usage --by cache` without them to count all."

if TYPE_CHECKING:
    from reread.accounting.prices import Prices
    from reread.facts.scope import Scope
    from reread.reports.report import Report


@click.command()
@click.option(
    "--by",
    default="day",
    show_default=True,
    type=USAGE_GROUPS,
    metavar="GROUP,...",
    help="Group by these, separated by commas.",
)
@click.option(
    "--sort",
    type=click.Choice(["group", "cost", "tokens", "responses"]),
    default="group",
    show_default=True,
    help="Sort by this; the largest numbers come first.",
)
@click.option("--fail-over", type=DOLLARS, metavar="USD", help="Exit with 1 if all of it costs more than this.")
@limit_option()
@scope_options(*OF_RESPONSES)
@form_options("List the responses of each group, or cache breaks with --by cache.")
@click.option("--prices", is_flag=True, help="Show the price table and exit.")
@click.option(
    "--keep-deleted",
    is_flag=True,
    envvar="REREAD_KEEP_DELETED",
    help="Keep counting transcripts that have since been deleted.",
)
@report_options
@click.pass_context
def usage(
    ctx: click.Context,
    sessions: tuple[str, ...],
    root: tuple[Path, ...],
    as_json: bool,
    as_csv: bool,
    as_list: bool,
    prices: bool,
    fail_over: float | None,
    **options: Any,
) -> None:
    """Report tokens and cost, counting each response once.

    Without arguments, count all sessions. Groups are day, week, month, weekday, hour (of the day), session, project,
    repository (projects with their worktrees and subfolders), model, branch (of git), agent, agent_type, thread (main
    or subagents), block (5 hours), person, machine and team (of the machine that wrote a file). If the client reported
    a cost, both that and the computed cost are shown. `--by cache` shows what had to be written to the cache again, by
    cause. --list names the responses or the cache breaks of each group with their addresses, the dearest first.

    \b
    reread usage --since 30d
    reread usage --by session --sort cost -n 10
    reread usage --by repository,model --json
    reread usage --by cache --since 7d
    reread usage --since today --list
    reread usage --by cache --list -n 20
    reread usage ./run.jsonl latest
    reread usage --since today --fail-over 50
    """
    from reread.accounting.prices import current_prices
    from reread.facts.scope import Scope
    from reread.reports.usage_report import arrange, usage_in

    refuse_two_forms(as_json=as_json, as_csv=as_csv, as_list=as_list)
    table = current_prices()
    if prices:
        refuse_with(
            ctx,
            "--prices",
            ("--csv", "--by", "--sort", "--fail-over", "--limit", "--since", "--until"),
            "it counts nothing",
        )
        _print_prices(table, as_json)
        return
    is_of_breaks = CACHE in options["by"].split(",")
    if is_of_breaks:
        refuse_for_breaks(ctx)
    roots = merged_roots(ctx, root)
    _check_groups(split_names(options["by"]))
    if is_of_breaks:
        most = options.pop("limit") if as_list else None
        _print_breaks(ctx, sessions, roots, Form(as_json, as_csv, as_list, most), **options)
        return
    scope = Scope(*sessions, root=roots or None, **{name: options[name] for name in OF_RESPONSES})
    counted = {name: options[name] for name in ("by", "keep_deleted")}
    with progress("reading", None) as step:
        report = usage_in(scope, prices=table, progress=step, **counted)
    most = options.pop("limit")
    options["limit"] = None if as_list else most
    report = arrange(report, **{name: options[name] for name in ("sort", "limit")})

    def more() -> list[tuple[str, str]]:
        """Look for the titles of sessions, and for what else there is to say."""
        unused = 0
        if "session" in report.by:
            report.titles, unused = _titles(sessions, roots, report)
        note = _cache_note(scope, sessions, roots)
        if unused and not is_filtered(options):
            note.append(("plain", f"Sessions without usage of their own: {unused:,}."))
        return note

    print_report(report, options, Form(as_json, as_csv, as_list, most), roots, more=more)
    if not (as_json or as_csv or as_list or sessions or roots or is_filtered(options)):
        _print_budgets()
    end_of_report(
        ctx,
        report,
        options,
        roots=roots,
        of_all=not sessions,
        text=NO_RESPONSES,
        may_be_empty=fail_over is not None,  # nothing was used, which is no failure
    )
    exit_over(ctx, report.totals["cost_usd"], fail_over)


def refuse_for_breaks(ctx: click.Context) -> None:
    """Refuse options that are about other tables than that of cache breaks."""
    others = ("--sort", "--fail-over", "--keep-deleted")
    refuse_with(ctx, "--by", others, "`cache` has its own table")


def exit_over(ctx: click.Context, cost: Any, limit: float | None) -> None:
    """Exit with 1 if something costs more than a limit."""
    if limit is not None and (cost or 0) > limit:
        print_notice(f"This costs more than ${limit:,.2f}.")
        ctx.exit(NOTHING_FOUND)


def _check_groups(names: list[str]) -> None:
    """Refuse a group that is none, or that `cache` cannot be grouped by."""
    from reread.reports.usage_report import GROUPS

    known = (*GROUPS, CACHE)
    if CACHE in names:
        from reread.reports.cache_report import GROUPS as OF_BREAKS

        known = (CACHE, *(name for name in OF_BREAKS if name != "cause"))
    for name in names:
        if name not in known:
            what = "cache breaks " if CACHE in names else ""
            raise Misuse(f"Cannot group {what}by {name!r}; use {', '.join(known)}, or several of them with commas.")


def _print_budgets() -> None:
    """Print what is left of the budgets, if some are set."""
    from reread.render.report_table import budget_lines
    from reread.reports.budget_report import budgets

    states = budgets()
    if states:
        echo_lines([[("plain", "")], [("strong", "Budgets")], *budget_lines(states)])


def _print_breaks(
    ctx: click.Context,
    sessions: tuple[str, ...],
    roots: list[Path],
    form: Form,
    *,
    by: str,
    **options: Any,
) -> None:
    """Print what had to be written to the cache again, by cause."""
    from reread.reports.cache_report import cache_breaks

    kept = {name: options[name] for name in (*OF_RESPONSES, "limit") if name in options}
    groups = ["cause" if name == CACHE else name for name in by.split(",")]
    with progress("reading", None) as step:
        report = cache_breaks(*sessions, by=groups, root=roots or None, progress=step, **kept)  # pyright: ignore[reportArgumentType]
    if form.is_json or form.is_csv or not is_empty(report):
        besides = {"breaks": list(map(dict, report.items))} if form.is_json and not form.is_list else None
        print_report(report, options, form, roots, besides=besides)
    end_of_report(ctx, report, options, roots=roots, of_all=not sessions, text=NO_BREAKS, may_be_empty=form.is_json)
    if is_empty(report) and not is_filtered(options):
        print_notice("No cache break: whatever was cached was read from the cache.")


def _cache_note(scope: Scope, sessions: tuple[str, ...], roots: list[Path]) -> list[tuple[str, str]]:
    """Return how much sessions had to write to the cache again, unless that means to read many that nobody named."""
    if STDIN in sessions:
        return []
    from reread.disk.layout import expand_path
    from reread.facts.sessions import unknown_bytes
    from reread.facts.store import answered
    from reread.render.report_table import cache_note
    from reread.render.text_table import PLAIN
    from reread.reports.cache_report import breaks_of
    from reread.storage.user_paths import reread_words

    named = sessions and not any(expand_path(name).is_dir() for name in sessions)
    if not named and answered(lambda store: unknown_bytes(store, scope.sessions(), scope.inputs())) > MOST_READ:
        return []
    totals = breaks_of(scope, by=()).totals
    return [(PLAIN, cache_note(totals, [*reread_words(roots), "usage", *sessions]))] if totals["breaks"] else []


def _titles(names: tuple[str, ...], roots: list[Path], report: Report) -> tuple[dict[str, str], int]:
    """Return the titles of sessions by their id, and of how many sessions a report has no usage."""
    from reread.catalog.headers import read_header, sessions
    from reread.catalog.resolve import resolve_session
    from reread.disk.layout import expand_path, sessions_below

    paths: list[Path] = []
    for name in names:
        if name != STDIN:
            folder = expand_path(name)
            paths += sessions_below(folder) if folder.is_dir() else [resolve_session(name, root=roots or None)]
    headers = list(map(read_header, paths) if names else sessions(root=roots or None))
    counted = {row["session"] for row in (*report.rows, *report.hidden)}
    unused = {header.id for header in headers if counted.isdisjoint((header.id, *header.sessions))}
    return {id: header.title for header in headers for id in (*header.sessions, header.id)}, len(unused)


def _print_prices(table: Prices, as_json: bool) -> None:
    import time

    from reread.render.report_table import price_lines

    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.Encoder(decimal_format="number").encode(table.table)))
    else:
        print_lines([line] for line in price_lines(table, int(time.time() // 86400), terminal_width()))
