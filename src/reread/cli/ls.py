"""`reread ls`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reread.cli._options import json_option, merged_roots, project_option, root_options, since_option
from reread.cli._output import print_json, progress
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.catalog.summaries import Header
    from reread.session.session import Session

_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


@click.command()
@project_option
@since_option
@click.option("--min-size", metavar="SIZE", help="List only files of at least this size: 500k, 10M.")
@click.option(
    "--tool",
    multiple=True,
    metavar="NAME",
    help="List only sessions that used this tool (reads the files). Repeatable.",
)
@click.option("--errors", is_flag=True, help="List only sessions with errors (reads the files).")
@click.option("--captured", is_flag=True, help="List only captured conversations.")
@click.option("--branches", is_flag=True, help="List only sessions on several git branches (reads the files).")
@click.option("-n", "--limit", type=click.IntRange(0), metavar="N", help="List at most N sessions.")
@json_option
@root_options
@click.pass_context
def ls(
    ctx: click.Context,
    project: tuple[str, ...],
    since: str | None,
    min_size: str | None,
    tool: tuple[str, ...],
    errors: bool,
    captured: bool,
    branches: bool,
    limit: int | None,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """List sessions by project, newest first.

    \b
    reread ls --project . --since 7d
    reread ls --tool WebFetch --errors --json
    reread ls --captured
    """
    from reread.catalog.summaries import sessions

    roots = merged_roots(ctx, root)
    headers = sessions(project=project, since=since, root=roots or None)
    if captured:
        headers = (header for header in headers if header.captured)
    if min_size is not None:
        minimum = parse_size(min_size)
        headers = (header for header in headers if header.size >= minimum)
    if tool or errors or branches:
        headers = _filter_by_content(headers, lambda session: _matches(session, tool, errors, branches))
    if limit is not None:
        headers = (header for header, _ in zip(headers, range(limit), strict=False))
    if as_json:
        print_json(list(headers))
    else:
        filters = (project, since, min_size, tool, errors, branches)
        _print_headers(list(headers), roots, captured=captured, filtered=any(filters))


def _filter_by_content(headers: Iterable[Header], matches: Callable[[Session], bool]) -> Iterator[Header]:
    """Read each session and yield the headers of those that match, with a progress bar."""
    from reread.session.session import open  # noqa: A004

    candidates = list(headers)
    with progress("reading", len(candidates)) as step:
        for header in candidates:
            if matches(open(Path(header.path))):
                yield header
            step(1)


def _matches(session: Session, tools: tuple[str, ...], errors: bool, branches: bool) -> bool:
    from reread.tools.outcome import FAILED

    conversations = [session.conversation, *session.agents.values()]
    calls = [call for conversation in conversations for call in conversation.calls]
    if tools and not any(call.name in tools for call in calls):
        return False
    if branches and len(set(session.metadata.git_branches)) < 2:
        return False
    return (
        not errors
        or any(any(message.kind == "error" for message in conversation.messages) for conversation in conversations)
        or any(call.state == FAILED for call in calls)
    )


def _print_headers(headers: Sequence[Header], roots: Sequence[Path], *, captured: bool, filtered: bool) -> None:
    from reread.render.listings import header_lines
    from reread.render.sanitize import safe

    if not headers:
        click.echo(safe(_empty_text(roots, captured, filtered)), err=True)
    for line in header_lines(headers):
        click.echo(line)


def _empty_text(roots: Sequence[Path], captured: bool, filtered: bool) -> str:
    """Explain an empty list."""
    from reread.disk.layout import default_store

    if filtered:
        return "No matching sessions. Run `reread ls` without options to list all."
    if captured:
        where = ", ".join(map(str, roots)) or str(default_store())
        return f"No captured conversations in {where}. Run `reread capture -- claude -p …` to record one."
    where = ", ".join(map(str, roots)) or "CLAUDE_CONFIG_DIR, ~/.claude and ~/.config/claude"
    return f"No sessions in {where}. Run `reread --demo ls` to list the samples."


def parse_size(text: str) -> int:
    """Return a number of bytes: 500k, 10M, 1G or a plain number."""
    number, unit = text.strip().lower().rstrip("b"), ""
    if number and number[-1] in _SIZES:
        number, unit = number[:-1], number[-1]
    try:
        return int(float(number) * _SIZES[unit])
    except (ValueError, OverflowError):
        raise Misuse(f"Invalid size {text!r}; use 500k, 10M or 1G.") from None
