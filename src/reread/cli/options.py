"""What several verbs share: their options, and the session they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from reread.session import Session
    from reread.views.parts import Choice


def root_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--root",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Look for sessions here instead: a configuration or projects folder. Repeatable.",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What of a session is shown: the same options for every view."""
    for option in reversed(
        [
            click.option("--turns", metavar="RANGE", help="Only these turns: 3-9, 3, 3-, -5 for the last five."),
            click.option("--branch", type=int, metavar="N", help="Another branch than the active one."),
            click.option("--no-thinking", is_flag=True, help="Leave thinking out."),
            click.option("--no-tools", is_flag=True, help="Leave tool calls out."),
            click.option("--only", type=click.Choice(["prompts", "text", "tools"]), help="Only one kind of thing."),
            click.option("--full", is_flag=True, help="Show long output whole, and all that was recorded."),
        ]
    ):
        command = option(command)
    return command


def chosen(options: dict[str, Any]) -> Choice:
    from reread.views.parts import Choice, parse_turns

    return Choice(
        turns=parse_turns(options["turns"]) if options["turns"] else (1, None),
        branch=options["branch"],
        thinking=not options["no_thinking"],
        tools=not options["no_tools"],
        only=options["only"],
        full=options["full"],
    )


def asked_roots(ctx: click.Context, root: tuple[Path, ...]) -> list[Path]:
    return [*ctx.obj, *root]


def open_session(ctx: click.Context, session: str, root: tuple[Path, ...]) -> Session:
    from reread.session import open  # noqa: A004

    return open(session, root=asked_roots(ctx, root) or None)
