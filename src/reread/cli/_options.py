"""Options and arguments that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from reread.render.selection import Selection
    from reread.session.session import Session

SAMPLES = Path(__file__).parent.parent / "samples"
DEMO_KEY = "reread.demo"
"""The key in a context's `meta` that is set by --demo."""
LATEST = "latest"
MAX_COMPLETIONS = 50
"""How many session ids shell completion offers."""


class SessionName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """The type of a SESSION argument; the shell completes ids."""

    name = "session"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "":
            self.fail("Empty session name; is a variable not set?", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from reread.catalog.summaries import sessions
        from reread.render.sanitize import safe

        group_params = ctx.parent.params if ctx.parent is not None else {}
        roots = [*_samples(ctx), *group_params.get("root", ()), *ctx.params.get("root", ())]
        matching = (header for header in sessions(root=roots or None) if header.id.startswith(incomplete))
        ids = [
            CompletionItem(header.id, help=safe(" ".join(header.title.split()))[:60])
            for header in islice(matching, MAX_COMPLETIONS)
        ]
        latest = [CompletionItem(LATEST, help="the newest session")] if LATEST.startswith(incomplete) else []
        return [*latest, *ids, CompletionItem(incomplete, type="file")]


SESSION = SessionName()


class FolderName(click.Path):
    """The type of the --root option."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("Empty folder name; is a variable not set?", param, ctx)
        return super().convert(value, param, ctx)


def root_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --root and --demo, which work before and after the verb."""
    root = click.option(
        "--root",
        multiple=True,
        type=FolderName(path_type=Path),
        metavar="DIR",
        help="Look for sessions in this configuration or projects folder instead. Repeatable.",
    )
    demo = click.option(
        "--demo", is_flag=True, expose_value=False, callback=_set_demo, help="Use the bundled sample sessions."
    )
    return root(demo(command))


def _set_demo(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[DEMO_KEY] = value or ctx.meta.get(DEMO_KEY, False)


def _samples(ctx: click.Context) -> list[Path]:
    return [SAMPLES] if ctx.meta.get(DEMO_KEY) else []


def project_option(command: Callable[..., Any]) -> Callable[..., Any]:
    help = "Include only sessions in this folder or below. Repeatable."
    return click.option("--project", multiple=True, metavar="DIR", help=help)(command)


def since_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--since", metavar="WHEN", help="Ignore everything before this time: 7d, yesterday, 2026-11-15."
    )(command)


def full_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--full", is_flag=True, help="Show long output, all branches and complete calls.")(command)


def pretty_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --pretty and --full, for verbs that print a stream."""
    pretty = click.option("--pretty", is_flag=True, help="Format the output as `reread tail` does.")
    return pretty(full_option(command))


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def format_option(*formats: str, default: str | None = None, help: str) -> Callable[..., Any]:
    return click.option(
        "-f", "--format", "form", type=click.Choice(formats), default=default, show_default=True, help=help
    )


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select parts of a session."""
    for option in reversed(
        [
            click.option(
                "--turns", metavar="RANGE", help="Show only these turns: 3-9, 3, 3-, or -5 for the last five."
            ),
            click.option("--branch", type=int, metavar="N", help="Show this branch instead of the active one."),
            click.option("--no-thinking", is_flag=True, help="Omit thinking."),
            click.option("--no-tools", is_flag=True, help="Omit tool calls."),
            click.option(
                "--only", type=click.Choice(["prompts", "text", "tools"]), help="Show only this kind of content."
            ),
            full_option,
        ]
    ):
        command = option(command)
    return command


def selection_from(options: dict[str, Any]) -> Selection:
    """Return the selection that the selection options describe."""
    from reread.render.selection import Selection, parse_turns

    return Selection(
        turns=parse_turns(options["turns"]) if options["turns"] is not None else (1, None),
        branch=options["branch"],
        thinking=not options["no_thinking"],
        tools=not options["no_tools"],
        only=options["only"],
        full=options["full"],
        images=not options.get("no_images"),
    )


def merged_roots(ctx: click.Context, root: tuple[Path, ...]) -> list[Path]:
    """Return the folders of --demo and of --root before and after the verb."""
    return [*_samples(ctx), *ctx.obj, *root]


def sessions_below(folder: Path) -> list[Path]:
    """Return the sessions of a configuration or projects folder, or every transcript below any other folder."""
    from reread.disk import layout

    known = list(layout.session_files([layout.require_folder(folder)]))
    return known or [path for path in layout.transcripts_in(folder) if layout.is_session_filename(path.name)]


def open_session(ctx: click.Context, session: str, root: tuple[Path, ...]) -> Session:
    """Open the session that an argument names."""
    from reread.session.session import open  # noqa: A004

    return open(session, root=merged_roots(ctx, root) or None)
