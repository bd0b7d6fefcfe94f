"""The answers of the server: text with citations, in which everything from transcripts is quoted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import unquote

from pydantic import Field

from reread.addons.mcp.pages import MOST_TOKENS, TOKENS, Passage, answer, quoted, word
from reread.base.choices import UsageGrouping
from reread.base.format import date_text, size_text
from reread.base.text import one_line, plural
from reread.catalog.header import Header
from reread.catalog.headers import read_header, sessions
from reread.catalog.resolve import LATEST, Candidate, choose
from reread.disk import layout
from reread.disk.file_set import find_files
from reread.errors import Misuse, NotFound, RereadError
from reread.facts.chosen import chosen_headers
from reread.history.versions import FileVersion
from reread.index.find import search_filters
from reread.index.hits import Hit
from reread.index.search_process import SearchProcesses, SearchRequest
from reread.render.file_listing import diff_lines
from reread.render.markdown import sequence_markdown
from reread.render.report_table import report_lines
from reread.render.search_results import result_count
from reread.render.selection import ONLY, Selection, parse_turns, selected_turns
from reread.render.sequence import SequenceItem, TurnStart, turn_sequence
from reread.reports.brief_report import TOKENS as BRIEF_TOKENS
from reread.reports.brief_report import brief
from reread.reports.file_index import names_file, sessions_that_changed
from reread.reports.usage_report import usage
from reread.session.session import Session
from reread.session.session import open as open_session

MOST = 50
"""Hits, sessions or versions in an answer."""
LAST_TURNS = "-5"
WIDTH = 120
SCHEME = "reread://session/"
Roots = Sequence[str | Path] | None

Limit = Annotated[int, Field(description=f"How many to show, at most {MOST}.")]
Tokens = Annotated[int, Field(description=f"How long the answer may be, at most {MOST_TOKENS} tokens.")]
Page = Annotated[int, Field(description="Which page of a long answer, from 1.")]


def citation(session: str, turn: int | None = None) -> str:
    """Return the address of a session or of one of its turns."""
    return f"{SCHEME}{word(session)}" + (f"/turn/{turn}" if turn is not None else "")


def search_answer(
    query: Annotated[
        str,
        Field(
            description='Words, "exact phrases", prefixes (handl*), AND, OR, -not, parentheses, and fields: '
            "tool:bash file:src/app.py is:error before:tuesday."
        ),
    ],
    *,
    kinds: Annotated[
        str | None,
        Field(description="Only these kinds: prompts, text, thinking, inputs, results, notices, titles, requests."),
    ] = None,
    file: Annotated[str | None, Field(description="Only calls about this file, or a part of its path.")] = None,
    errors: Annotated[bool, Field(description="Only errors and failed calls.")] = False,
    newest: Annotated[bool, Field(description="The newest matches first instead of the best.")] = False,
    regex: Annotated[bool, Field(description="The query is a regular expression.")] = False,
    fixed: Annotated[bool, Field(description="Find exactly these characters, punctuation and case included.")] = False,
    strict: Annotated[bool, Field(description="Only texts that contain all words; nothing is guessed.")] = False,
    limit: Limit = 10,
    max_tokens: Tokens = TOKENS,
    page: Page = 1,
    roots: Roots = None,
    without: AbstractSet[str] = frozenset(),
    processes: SearchProcesses | None = None,
    **scope: Any,
) -> str:
    """Find where something was said in past sessions: prompts, answers, thinking, commands, output, files."""
    filters = search_filters(kinds=kinds, errors=errors, path=file, root=roots, without=tuple(without), **scope)
    if fixed and (regex or strict):
        raise Misuse("With fixed, exactly the characters of the query are found; leave out regex and strict.")
    files = find_files(roots, prompts=True)
    limits = (0, _limited(limit), newest)
    request = SearchRequest(query, *limits, files, filters=filters, regex=regex, fixed=fixed, strict=strict)
    with closing(SearchProcesses()) if processes is None else nullcontext(processes) as children:
        found = children.search(request)
    hits = found.hits
    if not hits:
        return " ".join(filter(None, ["No matches.", found.note]))
    counted = result_count(found, len(hits))
    shown = f"{counted}. Read one with `read` and its session and turn."
    noted = [Passage("What limits this answer:", quoted(found.note))] if found.note else []
    return answer(shown, [*noted, *map(_hit, hits)], tokens=max_tokens, page=page)


def _hit(hit: Hit) -> Passage:
    facts = [citation(hit.session, hit.turn), hit.kind, f"line {hit.line}", date_text(hit.time)]
    facts += [f"agent {word(hit.agent)}"] if hit.agent else []
    facts += [f"path {hit.branch}, abandoned"] if hit.branch is not None else []
    about = " · ".join(filter(None, [hit.title, hit.project, hit.tool, hit.file]))
    return Passage(
        " · ".join(fact for fact in facts if fact),
        [*quoted(one_line(about, 300)), *quoted(one_line(f"{hit.before}{hit.match}{hit.after}", 600))],
    )


def sessions_answer(
    *,
    limit: Limit = 20,
    max_tokens: Tokens = TOKENS,
    page: Page = 1,
    roots: Roots = None,
    without: AbstractSet[str] = frozenset(),
    **scope: Any,
) -> str:
    """List past sessions, newest first: title, project, git branch, model, time and size."""
    found = _others(roots, without, **scope)
    shown = list(itertools.islice(found, _limited(limit)))
    if not shown:
        return "No sessions. Name another project or period, or none."
    head = f"{plural(len(shown), 'session')}, newest first{'; there are more' if next(found, None) else ''}."
    return answer(head, map(_listed, shown), tokens=max_tokens, page=page)


def _others(roots: Roots, without: AbstractSet[str], **scope: Any) -> Iterator[Header]:
    """Yield the headers of sessions other than those that are left out, newest first."""
    of_files = {name: scope.pop(name, None) for name in ("project", "since", "until", "tag")}
    for header in chosen_headers(sessions(**of_files, root=roots), **scope, root=roots):
        if without.isdisjoint({header.id.lower(), *map(str.lower, header.sessions)}):
            yield header


def _listed(header: Header) -> Passage:
    facts = [citation(header.id), date_text(header.updated), size_text(header.size), "kept only" if header.gone else ""]
    facts += ["archived" if header.archived else "", *(f"tag {word(tag)}" for tag in header.tags)]
    about = [header.title, header.project, header.git_branch or "", header.model or ""]
    return Passage(" · ".join(fact for fact in facts if fact), quoted(one_line(" · ".join(filter(None, about)), 300)))


def turns_answer(
    session: Annotated[
        str, Field(description="A session's id, its beginning, its reread:// address, or latest.")
    ] = LATEST,
    *,
    turns: Annotated[
        str | None, Field(description="Which turns: 3, 3-9, 3-, or -5 for the last five (the default).")
    ] = None,
    path: Annotated[int | None, Field(description="An abandoned path, by its number in a hit.")] = None,
    only: Annotated[
        str | None, Field(description="prompts, answers (with the final answers), text (with all answers) or tools.")
    ] = None,
    thinking: Annotated[bool, Field(description="With the model's thinking.")] = False,
    full: Annotated[bool, Field(description="With long output in full.")] = False,
    max_tokens: Tokens = TOKENS,
    page: Page = 1,
    roots: Roots = None,
    without: AbstractSet[str] = frozenset(),
) -> str:
    """Read turns of a past session as Markdown: prompts, answers, calls of tools and what came of them."""
    opened = _open(session, roots, without)
    if only is not None and only not in ONLY:
        raise Misuse(f"Cannot show only {only!r}; use {', '.join(ONLY)}.")
    wanted = Selection(
        turns=parse_turns(turns or LAST_TURNS), path=path, only=only, thinking=thinking, full=full, images=False
    )
    chosen = selected_turns(opened.conversation, wanted)
    head = f"{citation(opened.id)} · {plural(len(opened.turns), 'turn')}, {len(chosen)} asked for."
    about = Passage("About it:", quoted(one_line(f"{opened.title} · {opened.project}", 300)))
    passages = _turns(opened, turn_sequence(opened.conversation, chosen, wanted), wanted)
    return answer(head, itertools.chain([about], passages), tokens=max_tokens, page=page)


def brief_answer(
    session: Annotated[
        str, Field(description="A session's id, its beginning, its reread:// address, or latest.")
    ] = LATEST,
    *,
    max_tokens: Annotated[int, Field(description="How long the brief may be, in tokens.")] = BRIEF_TOKENS,
    roots: Roots = None,
    without: AbstractSet[str] = frozenset(),
) -> str:
    """Learn what to know of a past session to go on from it: goal, decisions, files, open tasks, last error, answer."""
    opened = _open(session, roots, without)
    made = brief(opened, tokens=max_tokens)
    head = f"{citation(opened.id)} · brief. Read more with `read` and its turns."
    return answer(head, [Passage("Brief:", quoted(made.text))], tokens=MOST_TOKENS)


def _turns(session: Session, items: Iterator[SequenceItem], selection: Selection) -> Iterator[Passage]:
    """Yield each turn with its citation."""
    grouped = itertools.groupby(_numbered(items), key=lambda pair: pair[0])
    for start, pairs in grouped:
        turn = start.turn
        stamp = date_text(turn.messages[0].timestamp) if turn.messages else ""
        heading = " · ".join(filter(None, [citation(session.id, turn.index), stamp]))
        drawn = sequence_markdown((item for _, item in pairs if not isinstance(item, TurnStart)), selection)
        lines = (line for text in drawn for line in quoted(text))
        yield Passage(heading, lines)


def _numbered(items: Iterator[SequenceItem]) -> Iterator[tuple[TurnStart, SequenceItem]]:
    """Yield each item with the start of its turn."""
    start: TurnStart | None = None
    for item in items:
        start = item if isinstance(item, TurnStart) else start
        if start is not None:
            yield start, item


def _open(session: str, roots: Roots, without: AbstractSet[str]) -> Session:
    """Open a session by its id, never by a path; the latest one is never the session that asks."""
    if session == LATEST:
        newest = next(_others(roots, without), None)
        if newest is None:
            raise NotFound("No other session found.")
        return open_session(Path(newest.path), root=roots)
    id = unquote(session.removeprefix(SCHEME).partition("/")[0]) if session.startswith(SCHEME) else session
    known = [Candidate(Path(h.path), [h.id, *h.sessions], Path(h.path)) for h in sessions(root=roots)]
    found = choose(id, known, "session") if id else None
    if found is None:
        raise NotFound(f"No session has the id {id!r}; find one with `search` or `sessions`.")
    return open_session(found, root=roots)


def file_answer(
    path: Annotated[str, Field(description="A file's path, or the end of it.")],
    *,
    diffs: Annotated[bool, Field(description="With what each change did, as a diff.")] = False,
    limit: Limit = 20,
    max_tokens: Tokens = TOKENS,
    page: Page = 1,
    roots: Roots = None,
    without: AbstractSet[str] = frozenset(),
) -> str:
    """See how past sessions changed a file: when, in which session and turn, and by how much."""
    test = names_file(path)
    found = sessions_that_changed(path, layout.session_paths(roots))
    headers = [header for header in map(_header, found) if header is not None]
    headers = [header for header in headers if header.id.lower() not in without]
    headers.sort(key=lambda header: header.updated.timestamp() if header.updated else 0.0, reverse=True)
    if not headers:
        return "No session changed such a file. Name the end of its path."
    most = _limited(limit)
    changes = list(itertools.islice(_changes(headers, test), most))
    head = f"{plural(len(headers), 'session')} changed it; the latest {plural(len(changes), 'change')}, newest first."
    passages = (_change(header, version, diffs=diffs) for header, version in changes)
    return answer(head, passages, tokens=max_tokens, page=page)


def _header(path: str) -> Header | None:
    with suppress(RereadError, OSError):
        return read_header(path)
    return None


def _changes(headers: Sequence[Header], test: Callable[[str], bool]) -> Iterator[tuple[Header, FileVersion]]:
    """Yield the versions of a file in each session, the latest first."""
    for header in headers:
        with suppress(RereadError, OSError):
            histories = [history for name, history in open_session(header).files.items() if test(name)]
            versions = [version for history in histories for version in history.versions]
            yield from ((header, version) for version in sorted(versions, key=lambda v: v.record, reverse=True))


def _change(header: Header, version: FileVersion, *, diffs: bool) -> Passage:
    facts = [
        citation(header.id, version.turn),
        version.action,
        f"+{version.added} -{version.removed}",
        f"line {version.line}" if version.line is not None else "",
        date_text(version.time),
        f"agent {word(version.agent)}" if version.agent else "",
    ]
    lines = [f"{header.title} · {version.history.path}"]
    if diffs:
        lines += ["".join(text for _, text in spans) for spans in diff_lines(version.history.path, version.hunks)]
    return Passage(" · ".join(fact for fact in facts if fact), (line for text in lines for line in quoted(text)))


def usage_answer(
    *,
    by: Annotated[
        str, Field(description="day, week, month, session, project, repository, model, branch, agent; or several.")
    ] = "day",
    max_tokens: Tokens = TOKENS,
    page: Page = 1,
    roots: Roots = None,
    **scope: Any,
) -> str:
    """Count the tokens and cost of sessions, each response once."""
    report = usage(by=cast(UsageGrouping, by), root=roots, **scope)
    head = f"{plural(len(report.rows), 'row')}."
    lines = (line for _, text in report_lines(report, width=WIDTH) for line in quoted(text))
    return answer(head, [Passage("Tokens and cost:", lines)], tokens=max_tokens, page=page)


def _limited(limit: int) -> int:
    if limit < 1:
        raise Misuse(f"Cannot show {limit}; use a limit from 1 to {MOST}.")
    return min(limit, MOST)
