"""`reread delete`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.format import size_text
from reread.base.paths import SAMPLES
from reread.base.text import plural
from reread.cli._option_types import SessionName, offered
from reread.cli._options import json_option, merged_roots, refuse_with, root_options, yes_option
from reread.cli._output import print_json, print_notice
from reread.cli._unmatched import exit_unmatched, unknown_projects
from reread.cli.ls import filter_options, kinds_of, matching
from reread.errors import Misuse, RereadError
from reread.storage.kept_names import SESSION_UUID

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from reread.catalog.header import Header
    from reread.handover.deletion import Deletion


class DeletedOrNot(SessionName):
    """The type of a session to delete; the shell completes what is in the trash if it is to be restored."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if not ctx.params.get("undo"):
            return super().shell_complete(ctx, param, incomplete)
        from reread.handover.trash import trash

        found = trash(on_error=lambda _: None)
        return offered({one.session: one.title for one in found if one.session.startswith(incomplete)})


@click.command()
@click.argument("names", nargs=-1, type=DeletedOrNot(), metavar="[SESSION]...")
@filter_options
@click.option("--kept", is_flag=True, help="Also delete what archives and captured conversations have of them.")
@click.option("--now", is_flag=True, help="Delete them for good, not into the trash; also what is in the trash.")
@click.option("--undo", is_flag=True, help="Restore a session from the trash, or all that were deleted last.")
@click.option("--dry-run", is_flag=True, help="Name every file and line that would be deleted.")
@yes_option()
@json_option
@root_options
@click.pass_context
def delete(
    ctx: click.Context,
    names: tuple[str, ...],
    kept: bool,
    now: bool,
    undo: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    root: tuple[Path, ...],
    **filters: Any,
) -> None:
    """Delete sessions, with everything that belongs to them.

    Transcript, agents, results, copies of files, todos, tasks, plans, logs, and the lines in the history of prompts
    go to a trash of reread's own; `reread ls --only trash` lists it, and --undo restores them. What reread derived from
    them is forgotten. Choose sessions by name, or with the options of `reread ls`. A running session is not deleted.

    \b
    reread delete 8c1f --dry-run
    reread delete 8c1f --yes
    reread delete --project lantern --until 2020-01-01 --yes
    reread delete 8c1f --kept --now --yes
    reread delete --undo
    """
    from reread.handover import deletion
    from reread.handover.trash import trash

    refuse_with(ctx, "--undo", ("--kept", "--now", "--dry-run"), "it restores")
    if undo:
        unread: list[RereadError] = []
        if not trash(on_error=unread.append) and not unread:
            exit_unmatched(ctx, [], "No session is in the trash.")
        return _say(deletion.undo_delete(*names, on_error=_tell), "Restored", as_json=as_json)
    roots = merged_roots(ctx, root)
    chosen: list[str | Path] = [*names]
    if not names and not any(filters.values()):
        raise Misuse("No session to delete; name some, or choose them with options such as --project and --until.")
    if any(filters.values()):
        if names:
            raise Misuse("Cannot use options that choose sessions with names of sessions; give one or the other.")
        from reread.catalog.headers import sessions

        known = list(sessions(prompts="prompts" in kinds_of(filters["only"]), root=roots or None))
        chosen += [Path(header.path) for header in matching(known, roots, **filters)]
        _refuse_divided(known, {*map(str, chosen)})
        if not chosen:
            unknown = unknown_projects(filters["project"], {header.project for header in known})
            exit_unmatched(ctx, list(unknown), "No matching sessions; run `reread ls` with the same options.")
    if SAMPLES in roots and not dry_run:
        raise Misuse("Cannot delete a bundled sample; leave out --demo.")
    remove = partial(deletion.delete, *chosen, kept=kept, now=now, skip_kept=not names, root=roots or None)
    if dry_run:
        return _say(remove(dry_run=True, on_error=_tell), "", as_json=as_json)
    if not (yes or _asks(remove(dry_run=True), now=now)):
        exit_unmatched(ctx, [], "Nothing was deleted.")
    done = remove(on_error=_tell)
    return _say(done, "Deleted for good:" if now else "Deleted", as_json=as_json)


def _tell(error: RereadError) -> None:
    print_notice(str(error))


def _refuse_divided(known: Sequence[Header], chosen: set[str]) -> None:
    """Raise Misuse if a session has a file in another project, too, which the options do not choose."""
    ids = {id for path in chosen if SESSION_UUID.fullmatch(id := Path(path).stem)}
    for other in (Path(header.path) for header in known if header.path not in chosen):
        if other.stem in ids:
            raise Misuse(
                f"Nothing was deleted: {other.stem} is also at {other}, which these options do not choose, and a "
                "session is deleted as a whole. Name the sessions to delete.",
                path=str(other),
            )


def _asks(found: Sequence[Deletion], *, now: bool) -> bool:
    """Ask whether to delete; raise Misuse if nobody can answer."""
    _list(found)
    if not sys.stdin.isatty():
        raise Misuse("Nothing was deleted; look at what would be, then use --yes.")
    return click.confirm("Delete for good?" if now else "Delete?", err=True)


def _list(found: Sequence[Deletion]) -> None:
    from reread.base.sanitize import safe

    for one in found:
        what = plural(len(one.files), "file") + (
            f", {plural(len(one.lines), 'line')} of the history" if one.lines else ""
        )
        left = "; kept copies stay, --kept deletes them, too" if one.kept else ""
        click.echo(safe(f"{one.session[:8]}  {one.title}  ({what}, {size_text(one.size)}{left})"), err=True)


def _say(found: Sequence[Deletion], verb: str, *, as_json: bool) -> None:
    """Print what was deleted or restored; without a verb, every file and line that would be."""
    from reread.base.sanitize import safe

    if as_json:
        print_json(found)
        return
    for one in found:
        if verb:
            undo = "; `reread delete --undo` restores it" if one.trash else ""
            left = "; kept copies are left, `--kept` deletes them, too" if one.kept else ""
            what = f"{plural(len(one.files), 'file')}, {size_text(one.size)}{undo}{left}"
            click.echo(safe(f"{verb} {one.session}  {one.title}  ({what})"))
            continue
        click.echo(safe(f"{one.session}  {one.title}"))
        for path in one.files:
            click.echo(safe(f"  {path}"))
        for line in one.lines:
            click.echo(safe(f"  {line.path}:{line.line}"))
        if one.kept:
            click.echo("  kept copies stay; --kept deletes them, too")
