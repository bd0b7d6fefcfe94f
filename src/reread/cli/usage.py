"""`reread usage`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from reread.base.scope_options import OF_RESPONSES
from reread.base.text import split_names
from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._option_types import DOLLARS, SESSION, USAGE_GROUPS
from reread.cli._options import (
    end_report,
    is_filtered,
    limit_option,
    listing_options,
    merged_roots,
    refuse_with,
    scope_options,
)
from reread.cli._output import echo_lines, print_json, print_lines, print_notice, progress, terminal_width
from reread.cli._paths import PathName
from reread.cli._team import print_team, team_of, team_option, team_report
from reread.cli._unmatched import unknown_models, unknown_projects
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
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
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
@click.option(
    "--min-cost", type=DOLLARS, metavar="USD", help="Leave out rows that cost less, but count them in the total."
)
@click.option("--fail-over", type=DOLLARS, metavar="USD", help="Exit with 1 if all of it costs more than this.")
@team_option("Count")
@limit_option
@scope_options(*OF_RESPONSES)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--prices", is_flag=True, help="Show the price table and exit.")
@click.option(
    "--price-file", type=PathName(), metavar="FILE", help="JSON file with prices that override the bundled ones."
)
@click.option("--no-cache", is_flag=True, help="Read all files again, and store nothing in the cache.")
@click.option(
    "--keep-deleted",
    is_flag=True,
    envvar="REREAD_KEEP_DELETED",
    help="Keep counting transcripts that have since been deleted.",
)
@listing_options
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
    fail_over: float | None,
    bucket: str | None,
    **options: Any,
) -> None:
    """Report tokens and cost, counting each response once.

    Without arguments, count all sessions. Groups are day, week, month, weekday, hour (of the day), session, project,
    repository (projects with their worktrees and subfolders), model, branch (of git), agent, agent_type, thread (main
    or subagents), block (5 hours), person, machine and team (of the machine that wrote a file). If the client reported
    a cost, both that and the computed cost are shown. `--by cache` shows what had to be written to the cache again, by
    cause. With --team, the groups are week, person, machine, team, project and model; groups of fewer than three
    people are merged.

    \b
    reread usage --since 30d
    reread usage --by session --sort cost --min-cost 0.50
    reread usage --by repository,model --json
    reread usage --by cache --since 7d
    reread usage ./run.jsonl latest
    reread usage --since today --fail-over 50
    reread usage --team s3://team/figures --by project
    """
    from reread.accounting.prices import current_prices
    from reread.facts.scope import Scope
    from reread.render.report_table import hidden_note, report_lines, report_value, unread_note
    from reread.render.text_table import PLAIN, wrapped_notes
    from reread.reports.usage_report import arrange, usage_in

    if as_json and as_csv:
        raise Misuse("Cannot print both JSON and CSV; use --json or --csv.")
    table = current_prices(price_file)
    if prices:
        refuse_with(
            ctx,
            "--prices",
            ("--csv", "--by", "--sort", "--min-cost", "--fail-over", "--limit", "--since", "--until"),
            "it counts nothing",
        )
        _print_prices(table, as_json)
        return
    is_of_breaks = CACHE in options["by"].split(",")
    if is_of_breaks:
        refuse_with(
            ctx,
            "--by",
            ("--sort", "--min-cost", "--fail-over", "--price-file", "--keep-deleted"),
            "`cache` has its own table",
        )
    if bucket is not None:
        opened = team_of(ctx, bucket, ("--price-file", "--keep-deleted"), sessions)
        if ctx.get_parameter_source("by") != ParameterSource.COMMANDLINE:
            options["by"] = "week"
        report = team_report(opened.cache_breaks if is_of_breaks else opened.usage, **options)
        print_team(ctx, report, as_json=as_json, as_csv=as_csv)
        _exit_over(ctx, report.totals.get("cost_usd"), fail_over)
        return
    roots = merged_roots(ctx, root)
    _check_groups(split_names(options["by"]))
    if is_of_breaks:
        _print_breaks(ctx, sessions, roots, as_json=as_json, as_csv=as_csv, cache=not no_cache, **options)
        return
    scope = Scope(*sessions, root=roots or None, **{name: options[name] for name in OF_RESPONSES})
    counted = {name: options[name] for name in ("by", "keep_deleted")}
    with progress("reading", None) as step:
        report = usage_in(scope, prices=table, cache=not no_cache, progress=step, **counted)
    report = arrange(report, **{name: options[name] for name in ("sort", "min_cost", "limit")})
    if as_json or as_csv:
        for note in [unread_note(report.unread)] * bool(report.unread) + [hidden_note(report)] * bool(report.hidden):
            print_notice(note)
    found_nothing = not report.rows and not report.hidden
    unmatched = found_nothing and is_filtered(options)
    if as_json:
        print_json(report_value(report))
    elif as_csv:
        click.echo(report.to_csv(), nl=False)
    elif not unmatched:
        unused = 0
        if "session" in report.by:
            report.titles, unused = _titles(sessions, roots, report)
        lines = report_lines(report, width=terminal_width())
        note = _cache_note(scope, sessions, roots, cache=not no_cache)
        if unused and not is_filtered(options):
            note.append((PLAIN, f"Sessions without usage of their own: {unused:,}."))
        print_lines([line] for line in (*lines, *wrapped_notes(note, terminal_width())))
    if not (as_json or as_csv or sessions or roots or is_filtered(options)):
        _print_budgets()
    unknown = unknown_projects(options["project"], report.known.get("project", ()))
    notices = [*unknown, *unknown_models(options["model"], report.known.get("model", ()))]
    in_limit = unmatched and fail_over is not None and not notices  # nothing was used, which is no failure
    filters = unmatched and not in_limit if found_nothing else None
    end_report(ctx, roots, of_all=not sessions, filters=filters, notices=notices, text=NO_RESPONSES)
    if in_limit:
        print_notice(NO_RESPONSES)
    _exit_over(ctx, report.totals["cost_usd"], fail_over)


def _exit_over(ctx: click.Context, cost: Any, limit: float | None) -> None:
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
    from reread.render.budget_table import budget_lines
    from reread.reports.budget_report import budgets

    states = budgets()
    if states:
        echo_lines([[("plain", "")], [("strong", "Budgets")], *budget_lines(states)])


def _print_breaks(
    ctx: click.Context,
    sessions: tuple[str, ...],
    roots: list[Path],
    *,
    as_json: bool,
    as_csv: bool,
    cache: bool,
    by: str,
    **options: Any,
) -> None:
    """Print what had to be written to the cache again, by cause."""
    from reread.render.report_table import report_lines, report_value
    from reread.reports.cache_report import cache_breaks

    kept = {name: options[name] for name in (*OF_RESPONSES, "limit")}
    groups = ["cause" if name == CACHE else name for name in by.split(",")]
    with progress("reading", None) as step:
        report = cache_breaks(*sessions, by=groups, root=roots or None, cache=cache, progress=step, **kept)  # pyright: ignore[reportArgumentType]
    if as_json or as_csv:
        for path in report.unread:
            print_notice(f"Cannot read {path}: not included.")
    if as_json:
        print_json({**report_value(report), "breaks": list(map(dict, report.items))})
    elif as_csv:
        click.echo(report.to_csv(), nl=False)
    elif report.totals["breaks"]:
        print_lines([line] for line in report_lines(report, width=terminal_width()))
    filtered = is_filtered(options)
    filters = None if report.totals["breaks"] or as_json else filtered
    end_report(ctx, roots, of_all=not sessions, filters=filters, notices=[], text=NO_BREAKS)
    if filters is False:
        print_notice("No cache break: whatever was cached was read from the cache.")


def _cache_note(scope: Scope, sessions: tuple[str, ...], roots: list[Path], *, cache: bool) -> list[tuple[str, str]]:
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
    totals = breaks_of(scope, by=(), cache=cache).totals
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

    from reread.render.price_listing import price_lines

    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.Encoder(decimal_format="number").encode(table.table)))
    else:
        print_lines([line] for line in price_lines(table, int(time.time() // 86400)))
