"""`reread search`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.paths import SAMPLES
from reread.base.scope_options import OF_LISTS
from reread.cli._option_types import FILE, SESSION, CommaList
from reread.cli._options import (
    have_no_sessions,
    limit_option,
    listing_options,
    merged_roots,
    no_sessions_text,
    refuse_with,
    scope_options,
)
from reread.cli._output import ids_to_type, print_json, print_lines, print_notice, progress, terminal_width
from reread.cli._unmatched import close_name, exit_unmatched, suggestion, unknown_models, unknown_projects

if TYPE_CHECKING:
    from reread.index.find import Hits
    from reread.index.hits import Hit
    from reread.index.search_process import SearchReply
    from reread.index.stale_files import Progress

LIMIT = 20
NO_MATCH = "No matches."
KIND_WORDS = ("prompts", "text", "thinking", "inputs", "results", "notices", "titles", "requests")


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--only",
    "kinds",
    type=CommaList(*KIND_WORDS),
    metavar="KIND,...",
    help=f"Search only these kinds: {', '.join(KIND_WORDS)}.",
)
@click.option(
    "--file",
    "paths",
    multiple=True,
    type=FILE,
    metavar="PATH",
    help="Search only calls about this file, or a part of its path. Repeatable.",
)
@click.option("--errors", is_flag=True, help="Search only errors and failed calls.")
@scope_options(
    *OF_LISTS,
    model="Search only what this model or family (opus) wrote.",
    tool="Search only calls of this tool.",
)
@click.option(
    "--without",
    multiple=True,
    type=SESSION,
    metavar="SESSION",
    help="Leave out this session, by its id or the beginning of it. Repeatable.",
)
@click.option(
    "--match",
    type=click.Choice(["all", "exact", "regex"]),
    help="Find only texts with all words, exactly these characters, or what a regular expression describes.",
)
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest"]),
    default="relevance",
    show_default=True,
    help="Show the best matches first, or the newest.",
)
@limit_option("Show at most N matches.", default=LIMIT)
@click.option("--open", "open_first", is_flag=True, help="Open the first match in the reader.")
@listing_options
@click.pass_context
def search(
    ctx: click.Context,
    query: tuple[str, ...],
    kinds: str | None,
    paths: tuple[str, ...],
    errors: bool,
    without: tuple[str, ...],
    match: str | None,
    sort: str,
    limit: int,
    open_first: bool,
    as_json: bool,
    root: tuple[Path, ...],
    **scope: Any,
) -> None:
    """Search everything that was said in all sessions.

    The sessions that match best come first: rare words near each other in a short text, best in a prompt or title. A
    word that occurs nowhere is replaced by the most similar one that does. Words match in any order, and also as
    parts of identifiers and paths. "Quotes" and --match exact find the exact characters, handl* finds a beginning, and
    -word excludes. With AND, OR, parentheses or --match all, nothing is guessed: a text has to contain all words,
    except where OR offers a choice. Fields narrow the search: tool:bash file:src/app.py project:shop in:thinking
    is:error model:opus branch:main tag:release before:tuesday after:2026-11-01 on:last-week. Fields alone list what
    they select.

    \b
    reread search where did i fix the login timeout
    reread search '"connection refused" tool:bash is:error'
    reread search --match exact 'foo->bar()'
    reread search 'parse_config OR parseConfig' --only inputs,results --sort newest
    reread search project:shop since:last-week
    reread search --match regex 'def \\w+_handler\\(' --json
    """
    from reread.catalog.resolve import parse_address, require_whole
    from reread.index.find import NEWEST, RELEVANCE
    from reread.index.find import search as search_sessions

    refuse_with(ctx, "--open", ("--json",), "it opens the browser")
    roots = merged_roots(ctx, root)
    for name in without:
        require_whole(parse_address(name, roots or None))
    options: dict[str, Any] = {
        **scope,
        "kinds": kinds.split(",") if kinds else None,  # other names are refused there
        "errors": errors,
        "path": ",".join(paths) or None,
        "without": without,
    }
    shown = 1 if open_first else limit
    with progress("indexing", None) as step:
        if match == "regex":
            found: SearchReply | Hits = _matches(
                " ".join(query), options, roots, newest=sort == NEWEST, limit=shown, step=step
            )
            hits: list[Hit] = found.hits
        else:
            found = search_sessions(
                " ".join(query),
                **options,
                order=NEWEST if sort == NEWEST else RELEVANCE,
                limit=shown,
                fixed=match == "exact",
                strict=match == "all",
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

        print_json(
            {
                "hits": [hit_value(hit) for hit in hits],
                "total": found.total,
                "with_all": found.with_all,
                "with_some": found.with_some,
                "words": found.words,
                "corrected": found.corrected,
                "facets": found.facets,
            }
        )
    elif hits:
        from reread.render.search_results import result_lines
        from reread.storage.user_paths import reread_words

        width = terminal_width()
        print_lines(result_lines(hits, found, command=reread_words(roots), ids=ids_to_type(roots), width=width))
    if not hits:
        if have_no_sessions(roots):
            exit_unmatched(ctx, (), no_sessions_text(roots, "search jitter"))
        named = [("path", path) for path in paths]
        for field in ("tool", "model", "branch", "project"):
            named += [(field, name) for name in scope[field]]
        named += [] if match in ("regex", "exact") else _fields(" ".join(query))
        exit_unmatched(ctx, _unknown(named, roots), NO_MATCH)


def _matches(
    query: str, options: dict[str, Any], roots: Sequence[Path], *, newest: bool, limit: int, step: Progress
) -> SearchReply:
    """Search for a regular expression in a child, which is stopped if the expression takes too long."""
    from reread.disk.file_set import find_files
    from reread.index.find import refresh_waiting, search_filters
    from reread.index.search_process import SearchProcesses, SearchRequest

    filters = search_filters(**options, root=roots or None)
    files = find_files(roots or None, prompts=True)
    refresh_waiting(step)(files)  # here, where its progress is shown
    with closing(SearchProcesses()) as children:
        return children.search(SearchRequest(query, 0, limit, newest, files, filters=filters, regex=True, facets=True))


def _fields(query: str) -> Iterator[tuple[str, str]]:
    """Yield the names that the fields of a query give: of tools, models, branches, files and projects."""
    from reread.index.query import FIELDS, InProject, NamedFilter, Or, field_texts
    from reread.index.terms import words

    for field, text in field_texts(query):
        node = FIELDS[field](text)
        if isinstance(node, InProject):
            yield "project", text
        names = (name.strip() for name in text.split(",") if words(name))
        for option, name in zip(node.nodes if isinstance(node, Or) else [node], names, strict=False):
            if isinstance(option, NamedFilter):
                yield option.field, name


def _unknown(named: Iterable[tuple[str, str]], roots: Sequence[Path]) -> Iterator[str]:
    """Yield a sentence for each name that nothing has, whatever is searched for."""
    from reread.catalog.headers import sessions
    from reread.index.find import search as search_sessions
    from reread.tools import tool_names

    headers = list(sessions(root=roots or None))
    for field, name in dict.fromkeys(named):
        narrowed: dict[str, Any] = {field: name}
        if not name or search_sessions("", **narrowed, limit=1, root=roots or None).total:
            continue
        if field == "tool":
            close = close_name(name, tool_names())
            advice = f"did you mean {close}?" if close else "run `reread stats` to list the tools that were used."
            yield f"No session used a tool {name!r}; {advice}"
        elif field == "model":
            yield from unknown_models([name], {header.model for header in headers if header.model})
        elif field == "branch":
            known = {header.git_branch for header in headers if header.git_branch}
            yield f"Nothing was said on a git branch {name!r}; {suggestion(name, known)}"
        elif field == "project":
            yield from unknown_projects([name], {header.project for header in headers})
        else:
            yield f"No call is about a file {name!r}; name its end, or a part of its path."


def _open(link: str, roots: Sequence[Path]) -> None:
    from reread.server.run import serve

    serve(roots=roots, demo=SAMPLES in roots, at=link, echo=lambda text: click.echo(text))
