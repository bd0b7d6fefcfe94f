"""`reread note`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._options import json_option, merged_roots, root_options
from reread.cli._output import print_json, print_lines, print_notice, progress
from reread.cli._paths import PathName
from reread.cli.review import Revision


@click.command()
@click.argument("which", type=Revision(), required=False, metavar="[A..B|BRANCH]")
@click.option(
    "--repo", type=PathName(path_type=Path), metavar="DIR", help="The repository (default: the one of this folder)."
)
@click.option("--write", is_flag=True, help="Write which session and turn wrote the lines of these commits.")
@click.option("--with-prompts", "prompts", is_flag=True, help="Also write the beginning of each prompt, redacted.")
@click.option("--replace-likely", is_flag=True, help="Also replace what only may be a secret.")
@click.option("--remove", is_flag=True, help="Remove the notes about these commits.")
@json_option
@root_options
@click.pass_context
def note(
    ctx: click.Context,
    which: str | None,
    repo: Path | None,
    write: bool,
    prompts: bool,
    replace_likely: bool,
    remove: bool,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Show or write git notes that say which session wrote the lines of commits.

    Notes are stored in `refs/notes/reread` of the repository. They contain session ids, turns and line numbers, and no
    text unless you use --with-prompts. `reread blame` and `reread review` use the notes of others for lines that no
    session on this machine explains. Nothing is written without --write, and nothing is pushed: use git for that.

    \b
    reread note
    reread note main..HEAD --write
    reread note main..HEAD --write --with-prompts --replace-likely
    git push origin refs/notes/reread
    git fetch origin refs/notes/reread:refs/notes/reread
    """
    from reread.cli._options import refuse_without
    from reread.reader.redacted_review import notes as find

    refuse_without(ctx, "--with-prompts", "--write", "it is about what is written")
    refuse_without(ctx, "--replace-likely", "--with-prompts", "only prompts are redacted")
    left: dict[str, str] = {}
    with progress("reading", None) as step:
        found = find(
            which,
            repository=repo,
            root=merged_roots(ctx, root) or None,
            write=write,
            prompts=prompts,
            replace_likely=replace_likely,
            remove=remove,
            progress=step,
            left=left,
        )
    for sha, reason in left.items():
        print_notice(f"{sha[:7]} was left as it is: {reason}.")
    if as_json:
        print_json(found)
    elif not found:
        if write and not left:
            print_notice("No session on this machine wrote a line of these commits: there is nothing to note.")
        if not write:
            hint = "" if remove else "; `reread note main..HEAD --write` writes some"
            print_notice(f"No notes of reread about these commits{hint}.")
    else:
        from reread.render.review_text import note_lines

        print_lines(note_lines(found))
    if remove and found:
        from reread.base.text import plural

        print_notice(f"Removed the notes about {plural(len(found), 'commit')}.")
    ctx.exit(0 if found else NOTHING_FOUND)
