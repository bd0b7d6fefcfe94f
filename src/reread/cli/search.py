"""`reread search`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import (
    FILE,
    MODEL,
    SAMPLES,
    TOOL,
    have_no_sessions,
    json_option,
    merged_roots,
    no_sessions_text,
    project_option,
    refuse_with,
    root_options,
    since_option,
)
from reread.cli._output import print_json, print_notice, progress

if TYPE_CHECKING:
    from reread.render.search_results import StyledLine

LIMIT = 20
KIND_WORDS = ("prompts", "text", "thinking", "inputs", "results", "notices", "titles")
STYLES: dict[str, dict[str, Any]] = {
    "strong": {"bold": True},
    "match": {"bold": True, "fg": "yellow"},
    "quiet": {"dim": True},
}


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--in", "kinds", metavar="KIND,...", help=f"Search only these kinds: {', '.join(KIND_WORDS)}.")
@click.option(
    "--tool", "tools", type=TOOL, multiple=True, metavar="NAME", help="Search only calls of this tool. Repeatable."
)
@click.option(
    "--file",
    "paths",
    multiple=True,
    type=FILE,
    metavar="PATH",
    help="Search only calls about this file, or a part of its path. Repeatable.",
)
@click.option("--errors", is_flag=True, help="Search only what failed.")
@click.option(
    "--model",
    "models",
    type=MODEL,
    multiple=True,
    metavar="MODEL",
    help="Search only what this model or family (opus) wrote. Repeatable.",
)
@click.option("--git-branch", metavar="NAME", help="Search only what was said on this git branch.")
@project_option
@since_option
@click.option("--until", metavar="WHEN", help="Ignore everything from this time on; a day is included.")
@click.option(
    "--without",
    multiple=True,
    metavar="SESSION",
    help="Leave out this session, by its id or the beginning of it. Repeatable.",
)
@click.option("--regex", is_flag=True, help="The query is a regular expression.")
@click.option("--newest", is_flag=True, help="Show the newest matches first instead of the best.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1),
    default=LIMIT,
    show_default=True,
    metavar="N",
    help="Show at most N matches.",
)
@click.option("--open", "open_first", is_flag=True, help="Open the first match in the reader.")
@json_option
@root_options
@click.pass_context
def search(
    ctx: click.Context,
    query: tuple[str, ...],
    kinds: str | None,
    tools: tuple[str, ...],
    paths: tuple[str, ...],
    errors: bool,
    models: tuple[str, ...],
    git_branch: str | None,
    project: tuple[str, ...],
    since: str | None,
    until: str | None,
    without: tuple[str, ...],
    regex: bool,
    newest: bool,
    limit: int,
    open_first: bool,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Search everything that was said in all sessions.

    Words match in any order, and also as parts of identifiers and paths. "Quotes" match a phrase, handl* a prefix,
    and -word excludes. Combine words with AND, OR and parentheses. Fields narrow the search: tool:bash file:src/app.py
    project:shop in:thinking is:error model:opus branch:main before:tuesday after:2026-11-01.

    \b
    reread search login timeout
    reread search '"connection refused" tool:bash is:error'
    reread search 'parse_config OR parseConfig' --in inputs,results --newest
    reread search deploy --without "$CLAUDE_CODE_SESSION_ID"
    reread search --regex 'def \\w+_handler\\(' --json
    """
    from reread.index.find import NEWEST, RELEVANCE
    from reread.index.find import search as search_sessions

    refuse_with(ctx, "--open", ("--json",), "it opens the browser")
    roots = merged_roots(ctx, root)
    with progress("indexing", None) as step:
        found = search_sessions(
            " ".join(query),
            project=project,
            since=since,
            until=until,
            kinds=kinds,
            tools=tools,
            errors=errors,
            model=",".join(models) or None,
            branch=git_branch,
            path=",".join(paths) or None,
            order=NEWEST if newest else RELEVANCE,
            limit=1 if open_first else limit,
            regex=regex,
            without=without,
            root=roots or None,
            progress=step,
        )
    hits = list(found)
    if found.note:
        print_notice(found.note)
    if open_first and hits:
        _open(hits[0].link, roots)
    elif as_json:
        from reread.index.hits import hit_value

        print_json({"hits": [hit_value(hit) for hit in hits], "total": found.total})
    elif not hits:
        if have_no_sessions(roots):
            print_notice(no_sessions_text(roots, "search jitter"))
        else:
            click.echo("No matches. Use fewer or shorter words, or a prefix such as handl*.", err=True)
    else:
        from reread.render.search_results import result_lines

        for line in result_lines(hits, found.total, command=_command(roots), ids=_short_ids(roots)):
            click.echo(_styled(line))


def _styled(line: StyledLine) -> str:
    return "".join(click.style(piece.text, **STYLES.get(piece.style, {})) for piece in line)


def _short_ids(roots: Sequence[Path]) -> dict[str, str]:
    """Return the beginning of the id of each session file that no other one begins with, as `ls` lists them."""
    from reread.base.paths import path_name
    from reread.disk.layout import session_paths
    from reread.render.listings import unique_beginnings

    stems = {path: path_name(path).removesuffix(".jsonl") for path in session_paths(roots or None)}
    short = unique_beginnings((path, [stem]) for path, stem in stems.items())
    return {stem: short[path] for path, stem in stems.items()}


def _command(roots: Sequence[Path]) -> list[str]:
    """Return how reread is called to read the same sessions."""
    from reread.disk.user_paths import typed_path

    if list(roots) == [SAMPLES]:
        return ["reread", "--demo"]
    return ["reread", *(word for root in roots for word in ("--root", typed_path(root)))]


def _open(link: str, roots: Sequence[Path]) -> None:
    from reread.server.run import serve

    serve(roots=roots, demo=SAMPLES in roots, at=link, echo=lambda text: click.echo(text))
