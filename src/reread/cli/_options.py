"""What several verbs share: their options, and the session they name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from reread.render.parts import Selection
    from reread.session.session import Session

SAMPLES = Path(__file__).parent.parent / "samples"
DEMO = "reread.demo"
"""Where a context notes that the samples are asked for."""
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
        from reread.catalog.summaries import sessions
        from reread.render.sanitize import safe

        above = ctx.parent.params if ctx.parent is not None else {}
        roots = [*_samples(ctx), *above.get("root", ()), *ctx.params.get("root", ())]
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


def root_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where sessions are looked for: before the verb or after it."""
    root = click.option(
        "--root",
        multiple=True,
        type=FolderName(path_type=Path),
        metavar="DIR",
        help="Look for sessions here instead: a configuration or projects folder. Repeatable.",
    )
    demo = click.option(
        "--demo", is_flag=True, expose_value=False, callback=_note_demo, help="Use the bundled sample sessions."
    )
    return root(demo(command))


def _note_demo(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    ctx.meta[DEMO] = wanted or ctx.meta.get(DEMO, False)


def _samples(ctx: click.Context) -> list[Path]:
    return [SAMPLES] if ctx.meta.get(DEMO) else []


def project_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--project", multiple=True, metavar="DIR", help="Only in this folder or below. Repeatable.")(
        command
    )


def since_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--since", metavar="WHEN", help="Only since then: 7d, yesterday, 2026-11-15.")(command)


def full_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--full", is_flag=True, help="Show everything: long output, every branch, all of each call.")(
        command
    )


def pretty_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a stream is printed: as it came, or drawn."""
    pretty = click.option("--pretty", is_flag=True, help="Draw it, as `reread tail` does, instead of its lines.")
    return pretty(full_option(command))


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
            full_option,
        ]
    ):
        command = option(command)
    return command


def selection_of(options: dict[str, Any]) -> Selection:
    from reread.render.parts import Selection, parse_turns

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
    return [*_samples(ctx), *ctx.obj, *root]


def sessions_below(folder: Path) -> list[Path]:
    """The sessions of a configuration or projects folder; of any other, every transcript in it."""
    from reread.disk import layout

    known = list(layout.session_files([layout.require_folder(folder)]))
    return known or [path for path in layout.transcripts_in(folder) if layout.is_session_filename(path.name)]


def open_session(ctx: click.Context, session: str, root: tuple[Path, ...]) -> Session:
    from reread.session.session import open  # noqa: A004

    return open(session, root=asked_roots(ctx, root) or None)
