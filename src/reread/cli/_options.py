"""Options and arguments that several verbs share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from reread.base.choices import CALL_STATES
from reread.base.scope_options import SCOPE_OPTIONS
from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._option_types import (
    DEMO_KEY,
    FILE,
    LATEST,
    MODEL,
    PROJECT,
    SESSION,
    TOOL,
    CommaList,
    Name,
    SessionName,
    TimeZone,
    When,
    samples,
)
from reread.cli._output import NO_PAGER, print_notice
from reread.cli._paths import FolderName
from reread.cli._unmatched import exit_unmatched, unknown_projects
from reread.errors import Misuse, NotFound

if TYPE_CHECKING:
    from pathlib import Path

    from reread.render.selection import Selection
    from reread.session.session import Session

ROOTS = "reread.roots"
"""The key of the folders that the verb reads; none if it reads those of this machine."""
ADDRESS = "SESSION[:TURN[.CALL]]"
"""How help writes an address; `base.address` has all of it."""
ONLY = ("prompts", "answers", "text", "tools")
"""The values of --only; `render.selection` knows the same words."""
OMITTABLE = ("thinking", "tools", "images", "agents")
"""The values of --omit."""


def session_argument(command: Callable[..., Any], type: SessionName = SESSION) -> Callable[..., Any]:
    """Add the session that a verb is about, or a place in it, and --project to choose among the newest."""
    argument = click.argument("name", type=type, required=False, default=LATEST, metavar=f"[{ADDRESS}]")
    return argument(scope_options("project")(command))


def resumable_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the session to continue; the shell completes only those that can be continued."""
    return session_argument(command, SessionName(prompts_only=False))


def root_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --root and --demo, which work before and after the verb."""
    root = click.option(
        "--root",
        multiple=True,
        type=FolderName(),
        metavar="DIR",
        help="Look for sessions in this configuration or projects folder, or bucket, instead. Repeatable.",
    )
    demo = click.option(
        "--demo", is_flag=True, expose_value=False, callback=_set_demo, help="Use the bundled sample sessions."
    )
    return root(demo(command))


def _set_demo(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[DEMO_KEY] = value or ctx.meta.get(DEMO_KEY, False)


TYPES: dict[str, Any] = {
    **dict.fromkeys(("since", "until"), When()),
    **{name: Name(name) for name in ("person", "machine")},
    "tz": TimeZone(),
    "project": PROJECT,
    "model": MODEL,
    "tool": TOOL,
    "state": click.Choice(CALL_STATES),
}
"""The types of options of a scope whose values are no plain text."""


def scope_options(*names: str, default: str | None = None, **help: str) -> Callable[..., Any]:
    """Return a decorator that adds options of `base.scope_options`; `default` is that of the first."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            option, type = SCOPE_OPTIONS[name], TYPES.get(name)
            repeatable = "" if option.once or not option.metavar else " Repeatable."
            about: dict[str, Any] = {"help": help.get(name, option.help) + repeatable}
            if not option.metavar:
                about |= {"is_flag": True}
            else:
                about |= {"multiple": not option.once, "metavar": None if name == "state" else option.metavar}
            if default is not None and name == names[0]:
                about |= {"default": default, "show_default": True}
            command = click.option(f"--{name.replace('_', '-')}", type=type, **about)(command)
        return command

    return add


def is_filtered(options: Mapping[str, Any]) -> bool:
    """True if the options of a scope choose something."""
    return any(options.get(name) for name in SCOPE_OPTIONS if name != "tz")


def full_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--full", is_flag=True, help="Show long output, all paths and complete calls.")(command)


def stream_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --format and --full, for verbs that print a stream."""
    help = "Print every line as it came, messages as `reread tail` does, or only the answers, as `claude -p` does."
    form = format_option("raw", "terminal", "answers", default="raw", help=help)
    return form(full_option(command))


def check_stream_options(form: str, *, full: bool) -> None:
    """Raise Misuse if one of those options would be ignored."""
    if full and form != "terminal":
        raise Misuse("Cannot use --full without --format terminal: nothing else is cut.")


def no_redact_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --no-redact, for verbs that replace secrets and personal details unless told otherwise."""
    return click.option("--no-redact", is_flag=True, help="Leave secrets and personal details as they are.")(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def pager_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --no-pager, for verbs that print with `print_lines` or `print_pages`."""
    help = "Print directly to the terminal."
    return click.option("--no-pager", is_flag=True, expose_value=False, callback=_set_no_pager, help=help)(command)


def _set_no_pager(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[NO_PAGER] = value


def listing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --no-pager, --json and the options for folders, for verbs that print lines or JSON."""
    return pager_option(json_option(root_options(command)))


MOST_ROWS = "Show at most N rows: the newest if they are times, else the largest; the total counts all."


def limit_option(help: str = MOST_ROWS, *, least: int = 1, default: int | None = None) -> Callable[..., Any]:
    """Return the option for the most of what a verb prints, by default of tables whose totals count all rows."""
    shown = default is not None
    return click.option(
        "-n", "--limit", type=click.IntRange(least), default=default, show_default=shown, metavar="N", help=help
    )


def schema_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--schema", is_flag=True, help="Print the JSON Schema of --json and exit.")(command)


def yes_option(help: str = "Do not ask.") -> Callable[..., Any]:
    return click.option("-y", "--yes", is_flag=True, help=help)


def csv_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")(command)


FORMATS_BY_SUFFIX = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "markdown",
}
"""The default format by the suffix of the output."""


class Format(click.Choice):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.2 on
    """The type of the --format option; `md` is short for `markdown`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "md" and "markdown" in self.choices:  # pyright: ignore[reportUnknownMemberType]
            value = "markdown"
        return super().convert(value, param, ctx)  # pyright: ignore[reportUnknownVariableType]


class AnyFormat(Format):
    """The type of the --format option of exports; the formats are read from their list when they are needed."""

    def __init__(self) -> None:
        super().__init__(())  # pyright: ignore[reportUnknownMemberType]

    @property
    def choices(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        from reread.reader.export_formats import format_names

        return format_names()

    @choices.setter
    def choices(self, _: object) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        pass


class ListingCommand(click.Command):
    """A command whose help ends with a list, which is made when the help is."""

    def __init__(self, *args: Any, heading: str, rows: Callable[[], Iterable[tuple[str, str]]], **options: Any) -> None:
        super().__init__(*args, **options)
        self._heading, self._rows = heading, rows

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(self._heading):
            formatter.write_dl(list(self._rows()))


def format_option(*formats: str, default: str | None = None, help: str) -> Callable[..., Any]:
    return click.option("-f", "--format", "form", type=Format(formats), default=default, show_default=True, help=help)


def format_of(output: str, *formats: str) -> str | None:
    """Return the format that the suffix of an output stands for, if it is one of these."""
    from pathlib import Path  # loaded late: the help needs none

    found = FORMATS_BY_SUFFIX.get(Path(output).suffix.lower())
    return found if found in formats else None


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select parts of a session."""
    for option in reversed(
        [
            click.option(
                "--turns", metavar="RANGE", help="Show only these turns: 3-9, 3, 3-, or -5 for the last five."
            ),
            click.option(
                "--omit",
                type=CommaList(*OMITTABLE),
                default="",
                metavar="KIND,...",
                help=f"Omit these kinds of content: {', '.join(OMITTABLE)}.",
            ),
            click.option(
                "--only",
                type=click.Choice(ONLY),
                help="Show only this kind of content; `answers` is prompts and final answers.",
            ),
            scope_options("tool", tool="Show only calls of this tool, with their prompts."),
            click.option(
                "--file",
                "files",
                multiple=True,
                type=FILE,
                metavar="PATH",
                help="Show only calls that read or change this file: a path, its end, or a pattern. Repeatable.",
            ),
            click.option("--errors", is_flag=True, help="Show only calls that failed, and errors."),
            full_option,
        ]
    ):
        command = option(command)
    return command


CALL_OPTIONS = ("--tool", "--file", "--errors")
SELECTION_OPTIONS = ("--turns", "--omit", "--only", *CALL_OPTIONS, "--full")


def selection_from(ctx: click.Context, options: dict[str, Any]) -> tuple[Selection, bool]:
    """Return the selection that the selection options describe, and whether agents are a part of it."""
    from reread.base.text import split_names  # loaded late: --help needs no JSON
    from reread.render.selection import TOOLS, Selection, parse_turns

    refuse_with(ctx, "--only", CALL_OPTIONS, "they choose calls already")
    omitted = split_names(options["omit"])
    for name in omitted:
        if name not in OMITTABLE:
            raise Misuse(f"Cannot omit {name!r}; use {', '.join(OMITTABLE)}.")
    if "tools" in omitted:
        refuse_with(ctx, "--omit", CALL_OPTIONS, "without tools, that would show nothing")
        if options["only"] == TOOLS:
            raise Misuse("Cannot use --omit tools with --only tools: that would show nothing.")

    selection = Selection(
        turns=parse_turns(options["turns"]) if options["turns"] is not None else (1, None),
        thinking="thinking" not in omitted,
        tools="tools" not in omitted,
        only=options["only"],
        tool_names=options["tool"],
        files=options["files"],
        errors=options["errors"],
        full=options["full"],
        images="images" not in omitted,
    )
    return selection, "agents" not in omitted


def refuse_with(ctx: click.Context, option: str, others: Iterable[str], reason: str) -> None:
    """Raise Misuse if an option was given together with another one that it would make meaningless."""
    given = _given(ctx)
    other = next((name for name in others if name in given), None)
    if option in given and other is not None:
        raise Misuse(f"Cannot use {option} with {other}: {reason}.")


def refuse_without(ctx: click.Context, option: str, other: str, reason: str) -> None:
    """Raise Misuse if an option was given without another one that it needs."""
    given = _given(ctx)
    if option in given and other not in given:
        raise Misuse(f"Cannot use {option} without {other}: {reason}.")


def _given(ctx: click.Context) -> set[str]:
    """Return the options on the command line, by all their names."""
    return {
        name
        for param in ctx.command.params
        if ctx.get_parameter_source(param.name) == ParameterSource.COMMANDLINE
        for name in param.opts
    }


def merged_roots(ctx: click.Context, root: tuple[Path, ...]) -> list[Path]:
    """Return the folders of --demo and of --root before and after the verb."""
    roots = ctx.meta[ROOTS] = [*samples(ctx), *ctx.obj, *root]
    return roots


def have_no_sessions(roots: Sequence[Path]) -> bool:
    """True if there is no session at all, so that an empty report needs an explanation."""
    from reread.catalog.headers import read_headers
    from reread.disk.layout import session_paths

    return not any(next(read_headers([path]), None) for path in session_paths(roots or None))


def no_sessions_text(roots: Sequence[Path], verb: str) -> str:
    """Return what to say then, with a way to try the verb."""
    from reread.catalog.resolve import searched_text
    from reread.storage.user_paths import typed_path

    where = ", ".join(map(typed_path, roots)) or searched_text()
    return f"No sessions in {where}. Run `reread --demo {verb}` to try it on the samples."


def end_report(
    ctx: click.Context, roots: Sequence[Path], *, of_all: bool, filters: bool | None, notices: Iterable[str], text: str
) -> None:
    """Say which filters match nothing, and exit with 1 if nothing is left; `filters` is None unless a report is empty.

    An empty report of all sessions says so if there are none; `text` is for filters that match, but not together.
    """
    if filters is not None and of_all and have_no_sessions(roots):
        print_notice(no_sessions_text(roots, ctx.info_name or "usage"))
        ctx.exit(NOTHING_FOUND if filters else 0)
    if filters:
        exit_unmatched(ctx, notices, text)
    for notice in notices:
        print_notice(notice)


def unmatched_projects(roots: Sequence[Path], projects: Iterable[str]) -> list[str]:
    """Return a sentence for each of some projects that has no session."""
    from reread.catalog.headers import sessions

    return list(unknown_projects(projects, {header.project for header in sessions(root=roots or None)}))


def find_session(ctx: click.Context, name: str, root: tuple[Path, ...], project: tuple[str, ...]) -> str | Path:
    """Return the name of a session, or the path of the newest one of some projects."""
    from reread.catalog.resolve import latest_session

    if project and name != LATEST:
        raise Misuse(f"Cannot use --project with {name!r}: it chooses the newest session of a project.")
    if not project:
        return name
    roots = merged_roots(ctx, root)
    try:
        return latest_session(project=project, root=roots or None)
    except NotFound:
        exit_unmatched(ctx, unmatched_projects(roots, project), no_sessions_text(roots, ctx.info_name or "show"))


def open_session(ctx: click.Context, name: str, root: tuple[Path, ...], project: tuple[str, ...] = ()) -> Session:
    """Open the session, or the agent of one, that an argument names."""
    from reread.session.session import at_place

    return at_place(open_whole_session(ctx, name, root, project))


def open_whole_session(ctx: click.Context, name: str, root: tuple[Path, ...], project: tuple[str, ...] = ()) -> Session:
    """Open the session that an argument names a place in; `at` says which."""
    from reread.session.session import open_whole, threads_of

    session = open_whole(find_session(ctx, name, root, project), root=merged_roots(ctx, root) or None)
    ctx.call_on_close(threads_of(session).save_fold)
    _note_rest(session)
    _note_part(session, session.at.session)
    return session


def _note_rest(session: Session) -> None:
    """Say so if only the prompts of a session are left."""
    from reread.cli._output import print_notice
    from reread.storage.prompt_history import is_prompts

    if session.path is not None and is_prompts(session.path):
        print_notice("Claude Code has deleted this session; these are its prompts, from history.jsonl.")


def _note_part(session: Session, name: str) -> None:
    """Say that a file has more than the session that was named, or where that begins in a captured conversation."""
    from reread.cli._output import print_notice
    from reread.session.session import threads_of
    from reread.session.session_inputs import PartSource

    if isinstance(threads_of(session).source, PartSource):
        print_notice(f"Its file has other sessions, too; this shows all: reread show {session.path}")
        return
    if session.id.startswith(name):
        return
    begins = session.conversation.marks.sessions
    message, id = next(((at, id) for at, id in begins.items() if id.startswith(name)), (0, ""))
    turn = next((turn.index for turn in session.turns if turn.messages[-1].index >= message), None) if id else None
    if turn is not None:
        print_notice(f"{id} begins at turn {turn}: its file has several sessions.")
