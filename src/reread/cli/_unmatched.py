"""Filters that match nothing: say so, with what may have been meant, and exit with 1."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NoReturn

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._output import print_notice

if TYPE_CHECKING:
    from reread.render.selection import Selection
    from reread.session.session import Session

MOST_NAMED = 12
"""How many known names are listed."""
_WORD = re.compile(r"[^\W\d_]{3,}")


def exit_unmatched(ctx: click.Context, notices: Iterable[str], otherwise: str) -> NoReturn:
    """Print what is wrong with the filters, or else another text, and exit with 1."""
    for notice in list(notices) or [otherwise]:
        print_notice(notice)
    ctx.exit(NOTHING_FOUND)


def unknown_projects(projects: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each project that has no session; none if no project has one."""
    from reread.base.paths import path_parts
    from reread.disk.projects import expand_folders, is_within

    names = {name for folder in known for name in path_parts(folder)}
    for project in projects if known else ():
        if not any(is_within(folder, expand_folders(project)) for folder in known):
            yield f"No sessions of {project}; {suggestion(project, known, also=names)}"


def unknown_tools(tools: Iterable[str], used: Collection[str], text: str = "No session used a tool") -> Iterator[str]:
    """Yield a sentence for each tool that was not used; none if no tool was."""
    from reread.base.text import matches_tool

    for tool in tools if used else ():
        if not any(matches_tool(name, [tool]) for name in used):
            yield f"{text} {tool!r}; {suggestion(tool, used)}"


def unknown_files(paths: Iterable[str], changed: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each file that was not changed and is called nearly like one that was."""
    from reread.base.paths import path_name

    names = {path_name(path) for path in changed}
    for path in paths:
        close = close_name(path_name(path), names)
        if close is not None and path_name(path) not in names:
            yield f"No file {path!r} was changed in this session; did you mean {close}?"


def unknown_models(models: Iterable[str], used: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each model that was not used; none if no model was."""
    from reread.facts.scope import matches_model

    for model in models if used else ():
        if not any(matches_model(name, model) for name in used):
            families = {word for name in used for word in _WORD.findall(name)}
            yield f"No response of a model {model!r}; {suggestion(model, used, also=families)}"


def close_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that may have been meant; None if none is close."""
    import difflib

    names = {each.lower(): each for each in sorted(known)}
    wanted = name.lower()
    close = difflib.get_close_matches(wanted, names, n=1) or [each for each in names if wanted in each][:1]
    return names[close[0]] if close else None


def suggestion(name: str, known: Collection[str], *, also: Collection[str] = ()) -> str:
    """Say which known name, or which other name for one, may have been meant; if none is close, list those known."""
    close = close_name(name, {*known, *also})
    if close is not None:
        return f"did you mean {close}?"
    listed = sorted(known)
    more = f" and {len(listed) - MOST_NAMED:,} more" if len(listed) > MOST_NAMED else ""
    return f"there are {', '.join(listed[:MOST_NAMED])}{more}." if listed else "none is known."


def lacks_calls(session: Session, selection: Selection) -> bool:
    """True if a selection chooses calls and the session has none of them; print what may have been meant."""
    if not selection.chooses_calls:  # the calls of a large session take longer than what is shown of it
        return False
    calls = [call for conversation in (session, *session.agents.values()) for call in conversation.calls]
    if selection.has_call(calls):
        return False
    used = {call.name for call in calls}
    unknown = list(unknown_tools(selection.tool_names, used, "This session used no tool"))
    for notice in unknown or ["No such calls. Run `reread show` without --tool, --file and --errors to see all."]:
        print_notice(notice)
    return True
