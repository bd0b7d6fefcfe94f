"""`reread keep`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.paths import SAMPLES
from reread.cli._option_types import SESSION
from reread.cli._options import (
    have_no_sessions,
    json_option,
    merged_roots,
    no_sessions_text,
    refuse_with,
    refuse_without,
    root_options,
    yes_option,
)
from reread.cli._output import print_json, print_notice, progress
from reread.cli._paths import FolderName, PathName
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.archive.archive import Archive, KeepReport
    from reread.archive.retention import AtRisk
    from reread.archive.timers import Timer

OK, FOUND_DAMAGE, NOTHING_DONE, NOT_STARTED = 0, 1, 1, 1
MODES = ("--check", "--restore", "--prune", "--forget", "--install", "--uninstall", "--dry-run")
MOST_NAMED = 10
"""Problems that are printed one by one; of more, the number is said."""


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
@click.option("--to", type=FolderName(), metavar="DIR", help="The folder or bucket to keep sessions in.")
@click.option("--dry-run", is_flag=True, help="Show what would be kept, and what is deleted soon; write nothing.")
@click.option("--check", is_flag=True, help="Read everything that is kept, and report every damaged byte.")
@click.option("--restore", is_flag=True, help="Write kept sessions back, below the folder of -o.")
@click.option("-o", "--output", type=PathName(path_type=Path), metavar="DIR", help="The folder for --restore.")
@click.option(
    "--generation", type=click.IntRange(1), metavar="N", help="Restore an earlier state of files that were rewritten."
)
@click.option(
    "--prune",
    is_flag=True,
    help="Delete earlier states that newer ones contain, or everything kept of the named sessions; asks.",
)
@click.option("--forget", type=FolderName(), metavar="DIR", help="No longer read what is kept there; deletes nothing.")
@click.option("--install", is_flag=True, help="Set up a timer that keeps sessions every hour; asks.")
@click.option("--uninstall", is_flag=True, help="Remove that timer; asks.")
@yes_option()
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
@json_option
@root_options
@click.pass_context
def keep(
    ctx: click.Context,
    sessions: tuple[str, ...],
    to: Path | None,
    root: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
    yes: bool,
    output: Path | None,
    generation: int | None,
    forget: Path | None,
    **modes: bool,
) -> None:
    """Copy sessions to where Claude Code does not delete them.

    Claude Code deletes sessions after 30 days, or after the days in its settings. This copies what changed, with
    agents and tool results, compressed and exact. Kept sessions are listed, read, searched and counted as others are,
    also when the originals are gone. Exits with 1 if something could not be kept, or is damaged, or if the answer to a
    question was no.

    \b
    reread keep                                 keep everything that changed
    reread keep --dry-run                       show what would be kept, and what is deleted soon
    reread keep --to ~/backup                   keep it in another folder
    reread keep --to s3://team/sessions         keep it in a bucket
    reread keep latest                          keep one session
    reread keep --check                         read it all, and report damage
    reread keep --restore latest -o ~/restored  write a session back
    reread keep --prune                         delete earlier states that newer ones contain
    reread keep --forget ~/backup               no longer list what is kept there
    reread keep --install                       keep sessions every hour
    """
    from reread.archive.archive import Archive

    _check_options(ctx)
    if forget is not None:
        return _forget(Archive(forget), as_json=as_json)
    archive = Archive(to)
    roots = merged_roots(ctx, root) or None
    if modes["check"]:
        return ctx.exit(_verify(archive, as_json=as_json, quiet=quiet))
    if modes["restore"]:
        return ctx.exit(_restore(archive, sessions, output, generation, as_json=as_json, yes=yes))
    if modes["prune"]:
        return ctx.exit(_prune(archive, sessions, as_json=as_json, yes=yes))
    if modes["install"] or modes["uninstall"]:
        return ctx.exit(_schedule(to, remove=modes["uninstall"], yes=yes))
    if to is None and SAMPLES in (roots or ()):
        raise Misuse("Cannot keep the samples among your own sessions; name another folder: --to DIR.")
    dry_run = modes["dry_run"]
    total = 0 if dry_run or not sys.stderr.isatty() else archive.pending_bytes(*sessions, root=roots)
    with progress("keeping", total) as step:
        report = archive.keep(*sessions, root=roots, dry_run=dry_run, progress=step, waiting=_say_waiting)
    stakes: list[AtRisk] = []
    if not roots and (as_json or not quiet):  # Claude Code deletes nothing elsewhere
        stakes = archive.stakes(report if not sessions else None)
    if as_json:
        print_json(_report_value(archive, report, stakes))
    else:
        for line in _report_lines(archive, report, stakes) if not quiet else ():
            click.echo(line)
        _print_problems([f"{file.path}: {file.outcome}: {file.note}" for file in report.problems])
    if not report.sessions and not quiet and have_no_sessions(roots or []):
        print_notice(no_sessions_text(roots or [], "keep --to DIR"))
    return ctx.exit(FOUND_DAMAGE if report.count("failed") else OK)


def _check_options(ctx: click.Context) -> None:
    """Raise Misuse for options that contradict each other."""
    for at, mode in enumerate(MODES):
        refuse_with(ctx, mode, MODES[at + 1 :], "do one after the other")
    for option in ("--output", "--generation"):
        refuse_without(ctx, option, "--restore", "it says how to restore")
    refuse_without(ctx, "--restore", "--output", "it says where to write; use -o DIR")
    refuse_with(ctx, "--forget", ("--to",), "name one folder")
    for mode in ("--check", "--forget", "--install", "--uninstall"):
        if ctx.params["sessions"] and ctx.params[mode.removeprefix("--")]:
            raise Misuse(f"Cannot use {mode} with a session: it concerns the whole archive.")


def _say_waiting() -> None:
    print_notice("Another process is keeping sessions there; waiting for it, at most five minutes.")


def _print_problems(problems: list[str]) -> None:
    for problem in problems[:MOST_NAMED]:
        print_notice(problem)
    if len(problems) > MOST_NAMED:
        print_notice(f"and {len(problems) - MOST_NAMED:,} more; --json lists all")


def _report_lines(archive: Archive, report: KeepReport, stakes: list[AtRisk]) -> Iterator[str]:
    from reread.base.format import size_text
    from reread.base.text import plural
    from reread.storage.user_paths import is_bucket_url

    kinds = [(report.count(name), name) for name in ("new", "grown", "rewritten", "unchanged", "skipped", "failed")]
    counts = ", ".join(f"{count:,} {name}" for count, name in kinds if count) or "no files"
    sessions = plural(report.sessions, "session")
    if report.dry_run:
        yield f"Would keep {sessions} in {report.folder}: {counts}; {size_text(report.added)} to copy."
    else:
        packed = f"; {size_text(report.added)} in {size_text(report.packed)}" if report.added else ""
        yield f"Kept {sessions} in {report.folder}: {counts}{packed}."
    for stake in stakes:
        where = f"by {stake.retention.source}" if stake.retention.source else "its default"
        yield f"Claude Code deletes what is older than {stake.retention.days:g} days in {stake.folder} ({where})."
        for one in stake.sooner:
            yield f"  By {one.source}, it deletes what is older than {one.days:g} days when it runs there."
        if stake.unkept:
            yield f"  Within 7 days it deletes {plural(len(stake.unkept), 'session')} not kept as they are now:"
            yield from (f"    {path}" for path in stake.unkept[:MOST_NAMED])
            if len(stake.unkept) > MOST_NAMED:
                yield f"    and {len(stake.unkept) - MOST_NAMED:,} more"
        elif stake.due:
            yield f"  All that it deletes within 7 days is kept: {stake.due:,} of {plural(stake.sessions, 'session')}."
        else:
            yield f"  Within 7 days it deletes none of {plural(stake.sessions, 'session')}."
    count, size = archive.size()
    yield f"The archive has {plural(count, 'session')} in {size_text(size)}."
    if not report.dry_run and not archive.is_listed() and not is_bucket_url(archive.name):
        yield f"To read it, use `--root {report.folder}`."


def _report_value(archive: Archive, report: KeepReport, stakes: list[AtRisk]) -> dict[str, Any]:
    import msgspec

    count, size = archive.size()
    names = ("new", "grown", "rewritten", "unchanged", "skipped", "failed")
    return {
        "folder": report.folder,
        "dry_run": report.dry_run,
        "sessions": report.sessions,
        "counts": {name: report.count(name) for name in names},
        "added": report.added,
        "packed": report.packed,
        "files": [msgspec.to_builtins(file) for file in report.files if file.outcome != "unchanged" or file.note],
        "at_stake": [msgspec.to_builtins(stake) for stake in stakes],
        "archive": {"sessions": count, "size": size},
    }


def _verify(archive: Archive, *, as_json: bool, quiet: bool) -> int:
    import msgspec

    from reread.archive.verify import KeptEntry
    from reread.base.format import size_text
    from reread.base.text import plural

    files = raw = packed = 0
    problems: list[Any] = []
    with progress("verifying", archive.size()[1]) as step:
        for found in archive.verify(step):
            if isinstance(found, KeptEntry):
                files, raw, packed = files + 1, raw + found.size, packed + found.packed
            else:
                problems.append(found)
    errors = sum(problem.level == "error" for problem in problems)
    if as_json:
        value = {"folder": archive.name, "files": files, "size": raw, "packed": packed, "errors": errors}
        print_json({**value, "problems": [msgspec.to_builtins(problem) for problem in problems]})
    else:
        for problem in problems:
            click.echo(f"{problem.path}: {problem.level}: {problem.text}")
        if not quiet:
            sizes = f"{size_text(raw)} in {size_text(packed)}"
            click.echo(f"{plural(files, 'file')} as they were written, {sizes}; {plural(errors, 'error')}.")
    return FOUND_DAMAGE if errors else OK


def _restore(
    archive: Archive,
    sessions: tuple[str, ...],
    output: Path | None,
    generation: int | None,
    *,
    as_json: bool,
    yes: bool,
) -> int:
    import msgspec

    from reread.base.format import size_text
    from reread.base.text import plural
    from reread.disk import layout

    if output is None:
        raise Misuse("Cannot use --restore without -o; it says where to write.")
    target = layout.expand_path(output).absolute()
    for folder in layout.config_folders():
        inside = target.resolve().is_relative_to(folder.resolve())
        if inside and not (yes or _asks(f"Write into Claude Code's folder {folder}?")):
            print_notice("Nothing was written; use another folder for -o.")
            return NOTHING_DONE
    kept = Counter(version.name for version in archive.versions(*sessions))
    earlier = [name for name, count in kept.items() if count > 1]
    with progress("restoring", None) as step:
        restored = archive.restore(*sessions, to=target, generation=generation, progress=step)
    damaged = [file for file in restored if file.damage]
    if as_json:
        print_json([msgspec.to_builtins(file) for file in restored])
    else:
        size = size_text(sum(file.size for file in restored))
        click.echo(f"Restored {plural(len(restored) - len(damaged), 'file')}, {size}, below {target}.")
        if earlier and generation is None:
            click.echo(
                f"Of {plural(len(earlier), 'file')}, earlier states are kept: --generation 1 restores the first."
            )
    _print_problems([f"{file.path}: not restored: {file.damage}" for file in damaged])
    return FOUND_DAMAGE if damaged else OK


def _prune(archive: Archive, sessions: tuple[str, ...], *, as_json: bool, yes: bool) -> int:
    import msgspec

    from reread.base.format import size_text
    from reread.base.text import plural

    what = "kept files" if sessions else "earlier states of rewritten files"
    planned = None if yes else archive.prune_outcomes(*sessions, dry_run=True)
    if planned is not None:
        chosen = [one for one in planned if one.outcome == "deleted"]
        for one in chosen[:MOST_NAMED] if not as_json else ():
            click.echo(f"{one.name}  generation {one.generation}")
        if len(chosen) > MOST_NAMED and not as_json:
            click.echo(f"and {len(chosen) - MOST_NAMED:,} more")
        size = size_text(sum(one.size for one in chosen))
        if chosen and not _asks(f"Delete {what} for good: {len(chosen):,} ({size})?"):
            print_notice("Nothing was deleted.")
            return NOTHING_DONE
    outcomes = archive.prune_outcomes(*sessions, among=planned)
    deleted = sum(one.outcome == "deleted" for one in outcomes)
    if as_json:
        print_json([msgspec.to_builtins(one) for one in outcomes])
    elif deleted:
        click.echo(f"Deleted {plural(deleted, 'file')}.")
    if not outcomes:
        print_notice(f"No {what} in {archive.name}.")
    _print_problems([f"{one.name} generation {one.generation} stays: {one.note}" for one in outcomes if one.note])
    return FOUND_DAMAGE if any(one.outcome == "damaged" for one in outcomes) else OK


def _forget(archive: Archive, *, as_json: bool) -> None:
    archive.forget()
    if as_json:
        return print_json({"folder": archive.name, "forgotten": True})
    return click.echo(f"Forgot {archive.name}. Nothing was deleted: `--root {archive.name}` reads it.")


def _asks(question: str) -> bool:
    """Ask a question on standard error; no answer is a no."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        return False


def _schedule(to: Path | None, *, remove: bool, yes: bool) -> int:
    """Install or remove the timer, if the answer is yes; return the exit code."""
    from reread.archive import timers
    from reread.storage.user_paths import named_url

    where = None if to is None else named_url(to) or str(to.absolute())
    wanted = timers.timer(timers.keep_command(where), timers.variables())
    if remove:
        return _remove_timer(wanted, yes=yes)
    for path, content in wanted.files.items():
        click.echo(f"{path}:")
        click.echo(content.decode("utf-16" if wanted.system == timers.WINDOWS else "utf-8"))
    code = NOTHING_DONE
    if yes or _asks("Write these files and start the timer?"):
        failed = timers.install(wanted)
        code = NOT_STARTED if failed else OK
        click.echo("Installed; `reread keep --uninstall` removes it." if not failed else "Written, but not started.")
        _print_problems(failed)
    else:
        print_notice("Nothing was written.")
    click.echo("\nClaude Code can run it as well. Put these hooks into its settings.json yourself, if you like:\n")
    click.echo(timers.hooks(where))
    return code


def _remove_timer(wanted: Timer, *, yes: bool) -> int:
    from reread.archive import timers

    found = timers.installed(wanted)
    if not found:
        print_notice("No timer of reread's is installed.")
        return OK
    for path in found:
        click.echo(path)
    if not (yes or _asks("Stop the timer and delete these files?")):
        print_notice("Nothing was removed.")
        return NOTHING_DONE
    failed = timers.uninstall(wanted)
    click.echo("Removed. What was kept stays where it is.")
    _print_problems(failed)
    return NOT_STARTED if failed else OK
