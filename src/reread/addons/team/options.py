"""What verbs take for a team, and how they report on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from reread.base.scope_options import ALL
from reread.base.text import plural
from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._options import merged_roots, refuse_with, refuse_without
from reread.cli._output import print_json, print_lines, print_notice, progress, terminal_width
from reread.cli._paths import PathName
from reread.cli._report import refuse_two_forms
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.addons.team.reports import Team
    from reread.reports.report import Report

BUCKET = "this bucket or folder"
MERGED = "groups of fewer than three people are merged."
NOTHING = "Nobody of the team did anything in this time. Run it without --since and --until to count all."


def extend_usage(command: click.Command) -> None:
    """Let `reread usage` count the figures of a team."""

    def usage(
        ctx: click.Context,
        bucket: str,
        *,
        sessions: tuple[str, ...],
        as_json: bool,
        as_csv: bool,
        fail_over: float | None,
        by: str,
        **options: Any,
    ) -> None:
        from reread.cli.usage import CACHE, OF_RESPONSES, exit_over, refuse_for_breaks

        refuse_two_forms(as_json=as_json, as_csv=as_csv)
        opened = team_of(ctx, bucket, ("--keep-deleted", "--prices", "--list"), sessions)
        if ctx.get_parameter_source("by") != ParameterSource.COMMANDLINE:
            by = "week"
        is_of_breaks = CACHE in by.split(",")
        if is_of_breaks:
            refuse_for_breaks(ctx)
        asked = {name: options[name] for name in (*OF_RESPONSES, "sort", "limit")}
        report = team_report(opened.cache_breaks if is_of_breaks else opened.usage, by=by, **asked)
        print_team(ctx, report, as_json=as_json, as_csv=as_csv)
        exit_over(ctx, report.totals.get("cost_usd"), fail_over)

    _extend(command, usage, f"Count the figures that a team has written to {BUCKET}; {MERGED}")


def extend_stats(command: click.Command) -> None:
    """Let `reread stats` report on the figures of a team."""

    def stats(
        ctx: click.Context, bucket: str, *, sessions: tuple[str, ...], as_json: bool, as_csv: bool, **options: Any
    ) -> None:
        refuse_two_forms(as_json=as_json, as_csv=as_csv)
        opened = team_of(ctx, bucket, ("--list",), sessions)
        asked = {name: options[name] for name in (*ALL, "by", "limit")}
        print_team(ctx, team_report(opened.stats, **asked), as_json=as_json, as_csv=as_csv)

    _extend(command, stats, f"Report on the figures that a team has written to {BUCKET}; {MERGED}")


def extend_digest(command: click.Command) -> None:
    """Let `reread digest` report on a week of a team."""
    inner = command.callback
    assert inner is not None

    def digest(ctx: click.Context, bucket: str, *, since: str, **options: Any) -> None:
        others = ("--until", "--project", "--full", "--no-redact", "--root", "--demo")
        refuse_with(ctx, "--team", others, "it is a week of all")
        inner(since=since, made_of=partial(_digest_of, ctx, bucket, since), **options)

    _extend(command, digest, f"Report on the last whole week of a team, or that of --since, from {BUCKET}.")


def _digest_of(ctx: click.Context, bucket: str, since: str, form: str) -> tuple[Any, bool, Sequence[str]]:
    """Return the digest of a team as text or JSON values, and whether it has anything."""
    from reread.addons.team.text import team_digest_lines, team_digest_markdown, team_digest_value
    from reread.base.times import parse_span
    from reread.cli.digest import TEXT

    if form == "html":
        raise Misuse("Cannot write the digest of a team as HTML; use markdown or json.")
    opened = team_of(ctx, bucket, ())
    week = None
    if ctx.get_parameter_source("since") == ParameterSource.COMMANDLINE:
        week = parse_span(since, zone=UTC).start.date()
    made = opened.digest(week=week)
    text: Any
    if form == TEXT:
        text = team_digest_lines(made, terminal_width())
    else:
        text = (team_digest_value if form == "json" else team_digest_markdown)(made)
    return text, bool(made.usage.totals), ()


def extend_serve(command: click.Command) -> None:
    """Let `reread serve` have a page of a team."""
    inner = command.callback
    assert inner is not None

    def serve(
        ctx: click.Context,
        bucket: str,
        *,
        sessions: tuple[str, ...],
        root: tuple[Path, ...],
        given: Mapping[str, Any] = {},
        **options: Any,
    ) -> None:
        from reread.addons.team.reports import TEAM, team
        from reread.disk.layout import expand_path

        if not (sessions or merged_roots(ctx, root)):
            root = (expand_path(bucket),)
        given, at = {**given, TEAM: team(bucket)}, "" if sessions else f"#/{TEAM}"
        inner(sessions=sessions, root=root, given=given, at=at, **options)

    help = f"Serve the figures that a team has written to {BUCKET}, and the sessions kept there or below --root."
    _extend(command, serve, help)


def extend_tables(command: click.Command) -> None:
    """Let `reread tables` write figures for a team, and check those of all."""
    inner = command.callback
    assert inner is not None

    @click.pass_context
    def tables(ctx: click.Context, to: str | None, check: bool, taken: Mapping[str, Any] = {}, **options: Any) -> None:
        refuse_without(ctx, "--check", "--to", "it names the bucket")
        if to is None:
            return inner(taken=taken, **options)
        refuse_with(ctx, "--to", ("--output", "--text"), "it writes figures without words")
        if check:
            refuse_with(ctx, "--check", ("--iceberg", "--keep-deleted"), "it writes nothing")
            return _verify(ctx, to, options["as_json"])
        return inner(taken={**taken, "figures": True}, **{**options, "output": to})

    command.callback = tables
    command.params += [
        click.Option(
            ["--to"],
            type=PathName(written=True, bucket=True),
            metavar="BUCKET",
            help="Write figures for a team to this bucket or folder, or update them: no words, only figures and hashes "
            "with the key of the team.",
        ),
        click.Option(
            ["--check"], is_flag=True, help="Report what in the bucket of --to differs from what its machine wrote."
        ),
    ]


def _verify(ctx: click.Context, to: str, as_json: bool) -> None:
    """Report what in a bucket is not as its machine wrote it."""
    from reread.addons.team.reports import team

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


def _extend(command: click.Command, run: Callable[..., None], help: str) -> None:
    """Add --team to a verb, which then does something else."""
    inner = command.callback
    assert inner is not None

    @click.pass_context
    def callback(ctx: click.Context, bucket: str | None, **options: Any) -> None:
        (inner if bucket is None else partial(run, ctx, bucket))(**options)

    command.callback = callback
    command.params.append(click.Option(["--team", "bucket"], type=PathName(bucket=True), metavar="BUCKET", help=help))


def team_of(ctx: click.Context, bucket: str, others: tuple[str, ...], sessions: tuple[str, ...] = ()) -> Team:
    """Return the team of a bucket; raise Misuse if options or sessions are given that it has no use for.

    It refuses itself what would choose sessions by something that its figures do not have.
    """
    from reread.addons.team.reports import team

    refuse_with(ctx, "--team", (*others, "--root", "--demo"), "a team has its own figures")
    if sessions:
        raise Misuse(f"Cannot use --team with {sessions[0]}: the figures of a team name no session.")
    return team(bucket)


def team_report(
    ask: Callable[..., Report],
    *,
    by: str,
    limit: int | None,
    sort: Any = "group",
    **options: Any,
) -> Report:
    """Return a report on a team, with its rows in the order that options ask for, and as many."""
    from reread.addons.team.text import team_notes
    from reread.render.report_table import WEIGHTS
    from reread.reports.tally import limited
    from reread.reports.usage_report import arrange

    report = ask(by=["cause" if name == "cache" else name for name in by.split(",")], **options)
    report.notes = list(team_notes(report))
    if report.kind == "usage":
        return arrange(report, sort=sort, limit=limit)
    report.rows, report.hidden = limited(report.rows, limit, by=report.by, weight=WEIGHTS[report.kind])
    return report


def print_team(ctx: click.Context, report: Report, *, as_json: bool, as_csv: bool) -> None:
    """Print a report on a team, and exit with 1 if it is empty."""
    from reread.render.report_table import report_lines, report_value

    if as_json:
        print_json(report_value(report))
    elif as_csv:
        click.echo(report.to_csv(), nl=False)
    elif report.totals:
        print_lines([line] for line in report_lines(report, width=terminal_width()))
    for _, note in (report.notes or ()) if as_csv or not report.totals else ():
        print_notice(note)
    if not report.totals:
        if not report.withheld:
            print_notice(NOTHING)
        ctx.exit(NOTHING_FOUND)
