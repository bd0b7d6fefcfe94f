"""What several verbs print: JSON, progress, and what they have to say."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, cast

import click

AT_A_TIME = 256


def print_json(value: Any) -> None:
    """Print a value as JSON, a list a few items at a time, for it may be long."""
    import msgspec

    from reread.base import jsontext

    if not isinstance(value, list) or not value:
        return echo_json(msgspec.json.format(jsontext.dumps(value)))
    items = cast(list[Any], value)
    for at in range(0, len(items), AT_A_TIME):
        text = msgspec.json.format(jsontext.dumps(items[at : at + AT_A_TIME]))
        echo_json((b"," if at else b"[") + text[1:-2], end="")  # without its own brackets
    return click.echo("\n]")


def echo_json(text: bytes, *, end: str = "\n") -> None:
    """Print JSON, with nothing in it that a terminal would obey."""
    from reread.render.sanitize import safe_json

    click.echo(safe_json(text.decode()) + end, nl=False)


@contextmanager
def progress(label: str, length: int | None) -> Generator[Callable[[int], None]]:
    """A progress bar on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import Progress

    with Progress(transient=True) as bar:
        task = bar.add_task(label, total=length)
        yield lambda steps: bar.advance(task, steps)


def say(words: str) -> None:
    """Say something on standard error, with nothing in it that a terminal would obey."""
    from reread.render.sanitize import safe

    with suppress(OSError):  # nobody listens any more
        click.echo(f"reread: {safe(words)}", err=True)
