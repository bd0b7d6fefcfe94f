"""`reread ls`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.scope_options import OF_LISTS
from reread.base.text import plural, split_names
from reread.cli._option_types import FILE, CommaList
from reread.cli._options import (
    limit_option,
    listing_options,
    merged_roots,
    no_sessions_text,
    scope_options,
)
from reread.cli._output import print_json, print_lines, print_notice, progress, terminal_width
from reread.cli._unmatched import exit_unmatched, unknown_projects, unknown_tools
from reread.errors import Misuse, RereadError, naming_file

if TYPE_CHECKING:
    from reread.catalog.header import Header
    from reread.session.session import Session

Test = Callable[["Header"], bool]

_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
UPDATED = "updated"
SORTS = (UPDATED, "started", "size", "title", "project")
NEWEST_OR_LARGEST_FIRST = ("updated", "started", "size")
CHUNK = 1 << 20


class CommitHash(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """The type of the --commit option."""

    name = "commit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value).lower()
        if not re.fullmatch(r"[0-9a-f]{4,64}", text):
            self.fail(f"Invalid commit {text!r}; use at least four digits of its hash.", param, ctx)
        return text


COMMIT = CommitHash()


OF_FILES = ("since", "until", "project", "tag", "tool")
"""The options of a scope that the headers of sessions tell, or a look into them."""
KINDS = {
    "starred": "that you starred in the reader",
    "archived": "that Claude Code has archived, else left out",
    "captured": "captured conversations",
    "prompts": "deleted sessions of which the prompts are left, in history.jsonl",
}
"""The values of --only, and what they choose."""
TRASH = "trash"
"""One more of `ls`: what was deleted."""
ABOUT_KINDS = ", ".join(f"{name} ({about})" for name, about in KINDS.items())
FILTERS = (
    scope_options(*OF_LISTS, tool="Only sessions that used this tool, * for any (reads the files)."),
    click.option("--grep", metavar="TEXT", help="Only sessions with this text in the title or note; case is ignored."),
    click.option("--size", metavar="RANGE", help="Only files of this size: 500k-10M, 10M-, -500k."),
    click.option(
        "--lines", metavar="RANGE", help="Only files with this many lines: 1-5, 3, 1000-, -5 (reads the files)."
    ),
    click.option("--errors", is_flag=True, help="Only sessions with errors (reads the files)."),
    click.option("--commit", metavar="SHA", type=COMMIT, help="Only the session that made this commit."),
    click.option("--pr", type=click.IntRange(1), metavar="N", help="Only sessions that worked on this pull request."),
    click.option(
        "--file", "changed", type=FILE, metavar="PATH", help="Only sessions that changed this file: a path or its end."
    ),
    click.option("--only", type=CommaList(*KINDS), metavar="KIND,...", help=f"Only these: {ABOUT_KINDS}."),
)
"""The options that choose sessions."""


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose sessions."""
    for option in reversed(FILTERS):
        command = option(command)
    return command


@click.command()
@filter_options
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    help="List all one after the other in this order (default: by project); the newest and the largest come first.",
)
@limit_option("List at most N sessions.")
@listing_options
@click.pass_context
def ls(
    ctx: click.Context,
    sort: str | None,
    limit: int | None,
    as_json: bool,
    root: tuple[Path, ...],
    **filters: Any,
) -> None:
    """List sessions by project, newest first.

    --since and --until list the sessions that were active in that time. ★ marks those that you starred in the
    reader, #word a tag (`reread tag`). Those that are archived (`reread archive`) are left out, unless you use
    --only archived. `--only trash` lists what `reread delete` has put into the trash. Other verbs take these ids,
    or the beginning of one.

    \b
    reread ls --project . --since 7d
    reread ls --project harbor --grep login
    reread ls --since "last week" --until yesterday --sort updated
    reread ls --tool bash --errors --json
    reread ls --sort size -n 5
    reread ls --lines 1-5
    reread ls --commit 1a2b3c4
    reread ls --file src/app.py
    reread ls --only starred
    reread ls --tag release
    reread ls --only prompts
    reread ls --only trash
    """
    from reread.catalog.headers import sessions

    if filters["only"] == TRASH:
        _list_trash(as_json=as_json)
        return
    roots = merged_roots(ctx, root)
    known = list(
        sessions(
            prompts="prompts" in kinds_of(filters["only"]),
            root=roots or None,
            on_error=lambda error: print_notice(str(error)),
        )
    )
    archived: list[Header] = []
    headers = matching(_sorted(known, sort or UPDATED), roots, left_out=archived, **filters)
    found = list(itertools.islice(headers, limit))
    if as_json:
        print_json(found)
    elif found:
        from reread.render.listings import header_lines, short_ids

        print_lines(header_lines(found, ids=short_ids(known), width=terminal_width(), flat=sort is not None))
    unknown = list(unknown_projects(filters["project"], {header.project for header in known}))
    more = [f"{plural(len(archived), 'archived session')} left out; --only archived lists them."] if archived else []
    if not found and any(filters.values()):
        exit_unmatched(ctx, unknown or more, _empty_text(roots, known, filters))
    for notice in [*unknown, *more] if found or more else [no_sessions_text(roots, "ls")]:
        print_notice(notice)


def _list_trash(*, as_json: bool) -> None:
    """List what was deleted, the last first."""
    from reread.base.format import date_text, size_text
    from reread.handover.trash import trash

    unread: list[RereadError] = []
    found = trash(on_error=unread.append)
    for error in unread:
        print_notice(str(error))
    if as_json:
        print_json(found)
        return
    from reread.base.sanitize import safe

    for entry in found:
        prompts = sum(len(removed.places) for removed in entry.lines)
        what = plural(len(entry.files), "file") + (f", {plural(prompts, 'prompt')}" if prompts else "")
        when, size = date_text(entry.deleted), size_text(entry.size)
        click.echo(safe(f"{entry.session[:8]}  {when}  {size:>9}  {entry.title}  {entry.project}  {what}"))
    if not found and not unread:
        print_notice("the trash is empty")


def matching(
    headers: Iterable[Header],
    roots: Sequence[Path],
    *,
    tool: tuple[str, ...],
    errors: bool,
    commit: str | None,
    pr: int | None,
    changed: str | None,
    only: str | None = None,
    left_out: list[Header] | None = None,
    **filters: Any,
) -> Iterable[Header]:
    """Return the headers of the sessions that the options choose, in their order.

    `left_out` gets those of archived ones, which are not returned unless the options ask for them.
    """
    kinds = kinds_of(only)
    wants_archived = "archived" in kinds
    scope = {name: filters.pop(name) for name in OF_LISTS if name not in OF_FILES}
    tests = list(_header_tests(kinds, **filters))
    chosen = [header for header in headers if all(test(header) for test in tests)]
    if left_out is not None:
        left_out += (header for header in chosen if header.archived and not wants_archived)
    found: Iterable[Header] = [header for header in chosen if header.archived == wants_archived]
    if tool or errors:
        found = _filter_by_content(found, tool, errors=errors)
    if any(scope.values()):
        found = _filter_by_facts(found, {**scope, "root": roots or None})
    if commit is not None or pr is not None:
        found = _filter_by_git(found, commit, pr)
    return found if changed is None else _filter_by_file(found, changed)


def kinds_of(only: str | None) -> list[str]:
    """Return the words of --only; raise Misuse if one is unknown or there is none, which would choose all sessions."""
    kinds = split_names(only)
    unknown = [kind for kind in kinds if kind not in KINDS] if kinds or only is None else [only]
    for kind in unknown:
        alone = "; `reread ls --only trash` lists what was deleted" if kind == TRASH else ""
        raise Misuse(f"Cannot choose only {kind!r}; use {', '.join(KINDS)}{alone}.")
    return kinds


def _header_tests(
    kinds: list[str],
    *,
    project: tuple[str, ...],
    since: str | None,
    until: str | None,
    tag: tuple[str, ...],
    grep: str | None,
    size: str | None,
    lines: str | None,
) -> Iterator[Test]:
    """Yield a test for each filter that needs no more than the header, or the number of lines, cheapest first."""
    from reread.catalog.headers import header_test

    yield header_test(project=project, since=since, until=until, tag=tag)
    if "captured" in kinds:
        yield lambda header: header.captured
    if "prompts" in kinds:
        yield lambda header: header.prompts_only
    if "starred" in kinds:
        yield lambda header: header.starred
    if grep is not None:
        words = grep.casefold()
        yield lambda header: words in header.title.casefold() or words in header.note.casefold()
    if size is not None:
        smallest, largest = parse_range(size, parse_size, "sizes", "500k-10M, 10M- or -500k")
        yield lambda header: smallest <= header.size <= largest
    if lines is not None:
        fewest, most = parse_range(lines, int, "lines", "1-5, 3, 1000- or -5")
        yield lambda header: fewest <= count_lines(header.path, most) <= most


def _sorted(headers: Iterable[Header], sort: str) -> list[Header]:
    """Return headers, which come newest first, in another order."""
    if sort == UPDATED:
        return list(headers)

    def key(header: Header) -> Any:
        value = getattr(header, sort)
        if sort == "started":
            return value.timestamp() if value is not None else 0.0
        return value.casefold() if isinstance(value, str) else value

    return sorted(headers, key=key, reverse=sort in NEWEST_OR_LARGEST_FIRST)


def _filter_by_facts(headers: Iterable[Header], scope: dict[str, Any]) -> Iterable[Header]:
    """Return the headers of the sessions that a scope chooses by what they did."""
    from reread.facts.chosen import chosen_headers

    with progress("reading", None) as step:
        return list(chosen_headers(headers, step, **scope))


def _filter_by_content(headers: Iterable[Header], tools: tuple[str, ...], *, errors: bool) -> Iterator[Header]:
    """Read each session and yield the headers of those that match, with a progress bar."""
    from reread.base.text import matches_tool
    from reread.session.session import open  # noqa: A004

    candidates = list(headers)
    names: set[str] = set()
    with progress("reading", len(candidates)) as step:
        for header in candidates:
            step(1)
            try:
                with naming_file(header.path):
                    session = open(Path(header.path))
                    used = {call.name for conversation in _conversations(session) for call in conversation.calls}
                    names |= used
                    matches = (not tools or any(matches_tool(name, tools) for name in used)) and (
                        not errors or _has_errors(session)
                    )
            except RereadError as error:
                print_notice(str(error))
                continue
            if matches:
                yield header
    for notice in unknown_tools(tools, names):
        print_notice(notice)


def _filter_by_git(headers: Iterable[Header], commit: str | None, pr: int | None) -> Iterator[Header]:
    """Yield the headers of sessions that made a commit or worked on a pull request."""
    from reread.facts.sessions import made

    candidates = list(headers)
    with progress("reading", len(candidates)) as step:
        found = made([Path(header.path) for header in candidates], commit=commit, pr=pr, progress=step)
    yield from (header for header in candidates if Path(header.path) in found)


def _filter_by_file(headers: Iterable[Header], changed: str) -> Iterator[Header]:
    """Yield the headers of sessions that changed a file."""
    from reread.reports.file_index import sessions_that_changed

    candidates = list(headers)
    with progress("reading", len(candidates)) as step:
        found = set(sessions_that_changed(changed, [header.path for header in candidates], progress=step))
    yield from (header for header in candidates if header.path in found)


def _conversations(session: Session) -> list[Any]:
    return [session.conversation, *session.agents.values()]


def _has_errors(session: Session) -> bool:
    from reread.render.selection import is_failed

    return any(
        any(message.kind == "error" for message in conversation.messages) or any(map(is_failed, conversation.calls))
        for conversation in _conversations(session)
    )


def _empty_text(roots: Sequence[Path], known: Sequence[Header], filters: dict[str, Any]) -> str:
    """Explain an empty list."""
    from reread.disk.layout import default_store
    from reread.storage.user_paths import typed_path

    kinds = kinds_of(filters["only"])
    if "prompts" in kinds and not any(header.prompts_only for header in known):
        return "No deleted session has prompts in history.jsonl."
    if known:
        return "No matching sessions. Run `reread ls` without options to list all."
    if "captured" in kinds:
        where = ", ".join(map(typed_path, roots)) or str(default_store())
        return f"No captured conversations in {where}. Run `reread capture -- claude -p …` to record one."
    return no_sessions_text(roots, "ls")


def count_lines(path: str, enough: float) -> int:
    """Count the lines of a file, a last one without end included; stop soon after there are more than `enough`."""
    from reread.disk.transcript_file import open_transcript

    count, last = 0, b"\n"
    try:
        with open_transcript(path) as file:
            while count <= enough and (chunk := file.read(CHUNK)):
                count += chunk.count(b"\n")
                last = chunk[-1:]
    except OSError:
        return -1
    return count + (last != b"\n")


def parse_range(text: str, parse: Callable[[str], int], what: str, such_as: str) -> tuple[int, float]:
    """Return the least and the most of a range: 1-5, 3, 1000- or -5."""
    least, dash, most = text.strip().partition("-")
    try:
        low = parse(least) if least else 0
        high = parse(most) if most else float("inf") if dash and least else low
        if not (least or most) or not 0 <= low <= high:
            raise ValueError
    except (ValueError, OverflowError):
        raise Misuse(f"Invalid range of {what} {text!r}; use {such_as}.") from None
    return low, high


def parse_size(text: str) -> int:
    """Return a number of bytes: 500k, 10M, 1G or a plain number."""
    number, unit = text.strip().lower().rstrip("b"), ""
    if number and number[-1] in _SIZES:
        number, unit = number[:-1], number[-1]
    return int(float(number) * _SIZES[unit])
