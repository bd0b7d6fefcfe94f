"""What several verbs share: their options, and the session they name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from reread.session import Session
    from reread.views.parts import Selection

SAMPLES = Path(__file__).parent.parent / "samples"
LATEST = "latest"
MOST = 50
"""How many ids the shell is offered."""


class SessionName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """What a SESSION argument is; the shell completes ids."""

    name = "session"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "":
            self.fail("an empty name is no session; is a variable not set?", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from reread.headers import sessions
        from reread.views.safety import safe

        above = ctx.parent.params if ctx.parent is not None else {}
        roots = [SAMPLES] if above.get("demo") else [*above.get("root", ()), *ctx.params.get("root", ())]
        fits = (header for header in sessions(root=roots or None) if header.id.startswith(incomplete))
        shown = [
            CompletionItem(header.id, help=safe(" ".join(header.title.split()))[:60]) for header in islice(fits, MOST)
        ]
        words = [CompletionItem(LATEST, help="the newest")] if LATEST.startswith(incomplete) else []
        return [*words, *shown, CompletionItem(incomplete, type="file")]


SESSION = SessionName()


class FolderName(click.Path):
    """What --root takes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("an empty name is no folder; is a variable not set?", param, ctx)
        return super().convert(value, param, ctx)


def root_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--root",
        multiple=True,
        type=FolderName(path_type=Path),
        metavar="DIR",
        help="Look for sessions here instead: a configuration or projects folder. Repeatable.",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def format_option(*formats: str, default: str | None = None, help: str) -> Callable[..., Any]:
    return click.option(
        "-f", "--format", "form", type=click.Choice(formats), default=default, show_default=True, help=help
    )


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What of a session is shown: the same options for every view."""
    for option in reversed(
        [
            click.option("--turns", metavar="RANGE", help="Only these turns: 3-9, 3, 3-, -5 for the last five."),
            click.option("--branch", type=int, metavar="N", help="Another branch than the active one."),
            click.option("--no-thinking", is_flag=True, help="Leave thinking out."),
            click.option("--no-tools", is_flag=True, help="Leave tool calls out."),
            click.option("--only", type=click.Choice(["prompts", "text", "tools"]), help="Only one kind of thing."),
            click.option("--full", is_flag=True, help="Everything: long output, every branch, all text of each call."),
        ]
    ):
        command = option(command)
    return command


def selection_of(options: dict[str, Any]) -> Selection:
    from reread.views.parts import Selection, parse_turns

    return Selection(
        turns=parse_turns(options["turns"]) if options["turns"] is not None else (1, None),
        branch=options["branch"],
        thinking=not options["no_thinking"],
        tools=not options["no_tools"],
        only=options["only"],
        full=options["full"],
        images=not options.get("no_images"),
    )


def asked_roots(ctx: click.Context, root: tuple[Path, ...]) -> list[Path]:
    return [*ctx.obj, *root]


def sessions_below(folder: Path) -> list[Path]:
    """The sessions of a configuration or projects folder; of any other, every transcript in it."""
    from reread import places

    known = list(places.session_files([places.readable_folder(folder)]))
    return known or [path for path in places.transcripts_below(folder) if places.is_session_name(path.name)]


def open_session(ctx: click.Context, session: str, root: tuple[Path, ...]) -> Session:
    from reread.session import open  # noqa: A004

    return open(session, root=asked_roots(ctx, root) or None)
