"""`reread review`."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._option_types import Name, offered
from reread.cli._options import (
    format_of,
    format_option,
    have_no_sessions,
    listing_options,
    merged_roots,
    no_redact_option,
    no_sessions_text,
    refuse_with,
    schema_option,
)
from reread.cli._output import print_json, print_lines, print_notice, progress
from reread.cli._paths import STDOUT, PathName, output_option, write_file
from reread.cli._redaction import ask_about, review_of, settle, text_decision_options
from reread.errors import Misuse, RereadError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from reread.attribution.review_values import Review


FORMATS = ("markdown", "html", "json")


class Revision(Name):
    """The type of a range of commits or a branch."""

    name = "range"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from reread.git.repository import Repository

        before, dots, last = incomplete.rpartition("..")
        with suppress(RereadError, OSError):
            branches = Repository(ctx.params.get("repo") or Path()).branches()
            return offered({f"{before}{dots}{name}": "" for name in ("HEAD", *branches) if name.startswith(last)})
        return []


@click.command()
@click.argument("which", type=Revision(), required=False, metavar="[COMMIT|A..B|BRANCH]")
@click.option(
    "--pr",
    type=click.IntRange(min=1),
    metavar="N",
    help="Review a pull request that was fetched, or that a session worked on.",
)
@click.option(
    "--repo", type=PathName(path_type=Path), metavar="DIR", help="The repository (default: the one of this folder)."
)
@format_option(*FORMATS, help="Write this format (default: by the suffix of the output; a listing).")
@output_option()
@no_redact_option
@text_decision_options
@click.option(
    "--note",
    type=click.Choice(["show", "write", "prompts", "remove"]),
    help="Show, write or remove git notes that say which turn wrote each line; `prompts` writes their beginning, too.",
)
@schema_option
@listing_options
@click.pass_context
def review(
    ctx: click.Context,
    which: str | None,
    pr: int | None,
    repo: Path | None,
    form: str | None,
    output: str,
    no_redact: bool,
    review: Path | None,
    replace_likely: bool,
    texts: tuple[str, ...],
    note: str | None,
    schema: bool,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Show the prompts behind commits: which turns wrote their lines.

    For one commit, or each one of a range, a branch or a pull request: the turns that wrote its lines, and how that is
    known; then all prompts in order, with what was undone, the tests that ran, and the cost. Without any, it is about
    the branch that is checked out, since it left the default one. Guesses are marked, and lines that no session
    explains count as written by hand. The first run reads all sessions.

    Secrets and personal details are replaced, as `reread share` does. If something is left to decide, nothing is
    written, and the exit code is 3. Nothing that a repository configures is run.

    Notes are stored in `refs/notes/reread` of the repository. They contain session ids, turns and line numbers, and no
    text unless you use `--note prompts`, which redacts it. `reread blame` and `reread review` use the notes of others
    for lines that no session on this machine explains. Nothing is pushed: use git for that.

    \b
    reread review
    reread review HEAD
    reread review main..HEAD
    reread review feature/login -o review.md
    reread review --pr 42 -o review.html
    reread review HEAD~3..HEAD --json
    reread review HEAD~3..HEAD --no-redact
    reread review main..HEAD --note write
    git push origin refs/notes/reread
    git fetch origin refs/notes/reread:refs/notes/reread
    """
    import msgspec

    from reread.attribution.review_values import Review
    from reread.attribution.reviewing import find_review
    from reread.git.repository import MOST_COMMITS
    from reread.reader.redacted_review import ReviewRedaction, with_short_prompts

    if schema:
        return print_json(msgspec.json.schema(Review))
    if note is not None:
        others = ("--pr", "--format", "--output", "--no-redact", "--review", "--replace")
        refuse_with(ctx, "--note", others, "it is about notes")
        if replace_likely and note != "prompts":
            raise Misuse("Cannot use --replace-likely without --note prompts: only prompts are redacted.")
        return ctx.exit(
            _note(which, note, repo, merged_roots(ctx, root), replace_likely=replace_likely, as_json=as_json)
        )
    form = "json" if as_json else form or format_of(output, *FORMATS)
    if form is None and output != STDOUT:
        raise Misuse(f"Cannot tell the format from {output!r}; name one with -f.")
    with progress("reading", None) as step:
        sessions: list[str] = []
        roots = merged_roots(ctx, root) or None
        found = find_review(
            which, pr=pr, repository=repo, root=roots, most=MOST_COMMITS, progress=step, sessions=sessions
        )
    if len(found.commits) == MOST_COMMITS:
        print_notice(f"Only the last {MOST_COMMITS:,} commits are reviewed; name a shorter range for those before.")
    for session in found.unread:
        print_notice(f"Cannot read {session}: not included.")
    if not found.commits:
        print_notice("No commits in this range.")
        return ctx.exit(NOTHING_FOUND)
    if not found.turns and have_no_sessions(roots or []):
        print_notice(no_sessions_text(roots or [], "review"))
    redaction = None
    if not no_redact:
        redaction = ReviewRedaction(found, sessions)
        settle(redaction, review=review, replace_likely=replace_likely, texts=texts)
        if redaction.undecided and sys.stdin.isatty() and sys.stderr.isatty():
            ask_about(redaction, redaction.undecided)
        with review_of([redaction], review):
            found = redaction.redacted_review()
    found = with_short_prompts(found)
    if form is None:
        from reread.render.review_text import review_lines

        return print_lines(review_lines(found))
    document = _document(found, form)
    data = redaction.document(document) if redaction is not None else document.encode("utf-8", "replace")
    if output == STDOUT:
        return print_json(msgspec.json.decode(data)) if form == "json" else click.echo(data.decode(), nl=False)
    from reread.base.text import plural

    write_file(output, [data])
    print_notice(f"{output}: {plural(found.commits, 'commit')}, {plural(found.turns, 'prompt')}")
    return None


def _note(
    which: str | None, deed: str, repo: Path | None, roots: list[Path], *, replace_likely: bool, as_json: bool
) -> int:
    """Show, write or remove the notes about commits, and return the exit code."""
    from reread.base.text import plural
    from reread.reader.redacted_review import notes

    left: dict[str, str] = {}
    writes = deed in ("write", "prompts")
    with progress("reading", None) as step:
        found = notes(
            which,
            repository=repo,
            root=roots or None,
            write=writes,
            prompts=deed == "prompts",
            replace_likely=replace_likely,
            remove=deed == "remove",
            progress=step,
            left=left,
        )
    for sha, reason in left.items():
        print_notice(f"{sha[:7]} was left as it is: {reason}.")
    if as_json:
        print_json(found)
    elif found:
        from reread.render.review_text import note_lines

        print_lines(note_lines(found))
    elif not writes:
        hint = "; `reread review main..HEAD --note write` writes some" if deed == "show" else ""
        print_notice(f"No notes of reread about these commits{hint}.")
    elif not left:
        print_notice("No session on this machine wrote a line of these commits: there is nothing to note.")
    if deed == "remove" and found:
        print_notice(f"Removed the notes about {plural(len(found), 'commit')}.")
    return 0 if found else NOTHING_FOUND


def _document(found: Review, form: str) -> str:
    from reread.base import jsontext
    from reread.render.review_text import review_html, review_markdown

    if form == "json":
        return jsontext.dumps(found).decode()
    return review_html(found) if form == "html" else review_markdown(found)
