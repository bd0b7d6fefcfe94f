"""`reread serve`, and `reread` without a verb."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from reread.base.paths import SAMPLES
from reread.base.text import split_names
from reread.cli._option_types import SESSION
from reread.cli._options import merged_roots, refuse_with, root_options
from reread.errors import Misuse


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Listen on this port (default: the first free one from 7373).",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Listen on this address, which other machines may be able to reach.",
)
@click.option(
    "--no-token", is_flag=True, help="Let every user of this machine read your sessions: the address has no token."
)
@click.option(
    "--sign-in",
    metavar="HEADER[@ADDRESS,...]",
    help="Let in the people that a reverse proxy names in this header, without the token: one on this machine, or only "
    "at these addresses.",
)
@click.option("--beside", type=SESSION, metavar="SESSION", help="Open this session beside the other one, turn by turn.")
@click.option("--no-open", is_flag=True, help="Do not open the browser.")
@root_options
@click.pass_context
def serve(
    ctx: click.Context,
    sessions: tuple[str, ...],
    port: int | None,
    host: str,
    no_token: bool,
    sign_in: str | None,
    beside: str | None,
    no_open: bool,
    root: tuple[Path, ...],
    given: Mapping[str, Any] = {},
    at: str = "",
) -> None:
    """Read sessions in the browser.

    Only this machine can connect, unless you use --host, and only with the token in the printed address. The server
    changes no session. Without arguments, serves all your sessions.

    With --sign-in, a reverse proxy signs people in: it has to set the header itself, and to remove any that a client
    sent.

    \b
    reread serve
    reread serve latest
    reread serve 8c1f --beside b90c
    reread serve ./run.jsonl ./more --no-open --port 8080
    reread --demo serve
    reread serve --root s3://team/sessions --sign-in X-Forwarded-User --no-open
    """
    from reread.server.guard import SignIn
    from reread.server.run import serve as run

    roots = merged_roots(ctx, root)
    if sign_in is not None:
        refuse_with(ctx, "--sign-in", ("--no-token",), "without a token, nobody needs to sign in")
    header, at_sign, proxies = (sign_in or "").partition("@")
    if sign_in is not None and (not header or bool(at_sign) != bool(split_names(proxies))):
        raise Misuse(f"Cannot sign in by {sign_in!r}; use HEADER, or HEADER@ADDRESS,... to trust only these addresses.")
    _require_folders(roots)
    paths = _named(sessions, roots)
    if beside is not None:
        paths += _named((beside,), roots)
        if len(paths) != 2 or paths[0] == paths[1]:
            raise Misuse("--beside needs one session, and another one to open beside it.")
    run(
        *paths,
        roots=[] if sessions else roots,
        host=host,
        port=port,
        demo=SAMPLES in roots,
        open_browser=not no_open,
        token=not no_token,
        sign_in=SignIn(header, tuple(split_names(proxies))) if sign_in is not None else None,
        given=given,
        at=at,
        beside=beside is not None,
        echo=lambda text: click.echo(text),
    )


def _require_folders(roots: list[Path]) -> None:
    """Refuse folders that are not there; buckets are read in the background, because that takes a while."""
    from reread.disk.layout import session_folders
    from reread.storage.user_paths import is_mirror

    if folders := [root for root in roots if not is_mirror(root)]:
        list(session_folders(folders))


def _readable(path: Path) -> Path:
    """Return the path of a session after checking that it can be read."""
    from reread.disk.sources import FileSource

    FileSource(path)
    return path


def _named(sessions: tuple[str, ...], roots: list[Path]) -> list[Path]:
    """Return the files that the arguments name, including those in folders."""
    from reread.catalog.resolve import resolve_session
    from reread.disk.layout import expand_path, sessions_below

    files: list[Path] = []
    for name in sessions:
        folder = expand_path(name)
        files += (
            sessions_below(folder) if os.path.isdir(folder) else [_readable(resolve_session(name, root=roots or None))]
        )
    if sessions and not files:
        raise Misuse(f"No sessions in {', '.join(sessions)}; name a session or a folder that contains some.")
    return [path.absolute() for path in files]
