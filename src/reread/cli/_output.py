"""Output that several verbs share: JSON, styled lines, progress bars and notices."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, cast

import click

from reread.cli._glance import Glance

if TYPE_CHECKING:
    from pathlib import Path

ITEMS_PER_WRITE = 256
NO_PAGER = "reread.no_pager"
"""The key in a context's `meta` that is set by --no-pager."""
MIN_WIDTH, USUAL_WIDTH = 40, 80
"""Tables are not made narrower than the first; the second is the width of a terminal that does not tell its own."""


SHOWN = Glance()
"""Looks at what is printed, wherever it goes."""


class PrintableStream(TextIOWrapper):
    """Standard output through which no text can act on the terminal; bytes pass unchanged through its buffer."""

    def write(self, s: str, /) -> int:
        """Write text; what is not a colour is made visible."""
        from reread.base.sanitize import terminal_text

        SHOWN.see(s)
        super().write(terminal_text(s))
        return len(s)


def guard_output() -> None:
    """Let nothing but colours reach the terminal as text, whatever a verb prints."""
    stream = sys.stdout
    if type(stream) is TextIOWrapper:
        options: dict[str, Any] = {"encoding": stream.encoding, "errors": stream.errors}
        options["line_buffering"] = stream.line_buffering
        # also the original, which is asked for the size of the terminal
        sys.stdout = sys.__stdout__ = PrintableStream(stream.detach(), **options)


def tell_secret(seen: Glance = SHOWN, where: str = "This") -> None:
    """Say once if a secret was seen that `share` would have replaced, by default in what was printed."""
    if kind := seen.kind():
        SHOWN.close()
        print_notice(
            f"{where} has what looks like a secret ({kind}); `reread share --check` lists all, "
            "`reread share` replaces them."
        )


def print_json(value: Any) -> None:
    """Print a value as indented JSON; a list is encoded in batches, because it may be long."""
    import msgspec

    from reread.base import jsontext

    if not isinstance(value, list) or not value:
        return echo_json(msgspec.json.format(jsontext.dumps(value)))
    items = cast(list[Any], value)
    for start in range(0, len(items), ITEMS_PER_WRITE):
        text = msgspec.json.format(jsontext.dumps(items[start : start + ITEMS_PER_WRITE]))
        echo_json((b"," if start else b"[") + text[1:-2], end="")  # without the brackets of the batch
    return click.echo("\n]")


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Write bytes as they are; to a terminal as text, so that nothing in them acts on it."""
    if not sys.stdout.isatty():
        return sys.stdout.buffer.writelines(map(_seen, pieces))
    for piece in pieces:
        click.echo(piece.decode("utf-8", "replace"), nl=False)
    return None


def _seen(piece: bytes) -> bytes:
    SHOWN.see_bytes(piece)
    return piece


def echo_json(text: bytes, *, end: str = "\n") -> None:
    """Print JSON with control characters escaped."""
    from reread.base.sanitize import safe_json

    click.echo(safe_json(text.decode()) + end, nl=False)


STYLES: dict[str, dict[str, Any]] = {
    "strong": {"bold": True},
    "loud": {"fg": "yellow", "bold": True},
    "name": {"fg": "yellow"},
    "quiet": {"dim": True},
    "added": {"fg": "green"},
    "removed": {"fg": "red"},
    "match": {"fg": "yellow", "bold": True},
}
"""The styles of listings."""


def styled(spans: Iterable[tuple[str, str]], *, plain: bool | None = None) -> str:
    """Return texts with their styles as one line; `plain` without styles, by default if NO_COLOR is set."""
    if bool(os.environ.get("NO_COLOR")) if plain is None else plain:
        return "".join([text for _, text in spans]).rstrip()
    texts = [(STYLES.get(style), text) for style, text in spans if text]
    return "".join(click.style(text, **style) if style else text for style, text in texts).rstrip()


def print_lines(lines: Iterable[str | Iterable[tuple[str, str]]]) -> None:
    """Print lines of texts with their styles, or of plain text; on a terminal through a pager."""
    plain = None if sys.stdout.isatty() else True
    texts = (f"{line if isinstance(line, str) else styled(line, plain=plain)}\n" for line in lines)
    print_pages(texts if plain is None else _joined(texts))


def _joined(texts: Iterable[str]) -> Iterator[str]:
    """Yield many texts as one, because each write takes longer than most lines do."""
    rest = iter(texts)
    while page := "".join(itertools.islice(rest, ITEMS_PER_WRITE)):
        yield page


def echo_lines(lines: Iterable[Iterable[tuple[str, str]]]) -> None:
    """Print a few lines of texts with their styles, without a pager."""
    for line in lines:
        click.echo(styled(line))


def print_pages(pages: Iterable[str], *, colour: bool | None = None) -> None:
    """Print pieces of text, on a terminal through a pager; with `colour`, keep the codes in them for other outputs."""
    from reread.base.sanitize import terminal_text

    safe_pages = map(terminal_text, pages)
    if pages_output():
        first = next(safe_pages, "")  # an error is raised before the pager takes the terminal
        os.environ.setdefault("LESS", "FRX")
        click.echo_via_pager(map(_seen_text, itertools.chain([first], safe_pages)), color=True)
        return
    for page in safe_pages:
        click.echo(page, nl=False, color=colour)


def _seen_text(page: str) -> str:
    SHOWN.see(page)
    return page


def pages_output() -> bool:
    """True if the output goes to a terminal, and --no-pager was not given."""
    return sys.stdout.isatty() and not click.get_current_context().meta.get(NO_PAGER)


def terminal_width() -> int | None:
    """Return the width of the terminal, or of COLUMNS; None if the output goes elsewhere."""
    asked = os.environ.get("COLUMNS", "")
    if not sys.stdout.isatty() and not asked.isdigit():
        return None
    columns = int(asked) if asked.isdecimal() and len(asked) < 10 else 0
    with suppress(OSError):
        columns = columns or os.get_terminal_size(sys.stdout.fileno()).columns
    return max(MIN_WIDTH, columns or USUAL_WIDTH)  # as shutil does, which loads every compressor


@contextmanager
def progress(label: str, length: int | None) -> Generator[Callable[[int], None]]:
    """Show a progress bar if standard error is a terminal; yield a function that advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(transient=True, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=length)
        yield lambda steps: bar.advance(task, steps)


def print_notice(text: str) -> None:
    """Print a notice to standard error, without control characters."""
    from reread.base.sanitize import safe

    with suppress(OSError):  # standard error is closed or full
        click.echo(f"reread: {safe(text)}", err=True)


def ids_to_type(roots: Sequence[Path]) -> dict[str, str]:
    """Return the beginning of the id of each session file that no other one begins with, as `ls` lists them."""
    from reread.base.paths import path_name
    from reread.disk.gone_sessions import prompt_paths
    from reread.disk.layout import session_paths
    from reread.render.listings import unique_beginnings

    stems = {path: path_name(path).removesuffix(".jsonl") for path in session_paths(roots or None)}
    gone = prompt_paths(roots or None, set(stems.values()))
    stems |= {path: path_name(path).removesuffix(".jsonl") for path in list(gone)}
    short = unique_beginnings((path, stem, ()) for path, stem in stems.items())
    return {stem: short[path] for path, stem in stems.items()}
