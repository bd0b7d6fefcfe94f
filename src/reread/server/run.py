"""Serving: a port, the server on it, and the browser before it."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from reread.errors import Misuse
from reread.server.guard import Guard, new_token
from reread.server.library import Library
from reread.server.routes import make_app
from reread.tools import all_tools

HOST, PORT = "127.0.0.1", 7373
TRIES = 50
"""How many ports after the usual one are tried."""
GRACE_SECONDS = 1
"""How long requests that are being answered are waited for at the end."""
SWITCH_SECONDS = 0.001
"""How long a thread that counts may keep the others waiting, each time one of them has something to do."""


def serve(
    *paths: Path,
    roots: Sequence[Path] = (),
    host: str = HOST,
    port: int | None = None,
    demo: bool = False,
    open_browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Open the reader in the browser and serve it until Ctrl-C.

    Without paths, all sessions of this machine or below `roots`. Another host than loopback is served with a token.
    """
    listening = bind(host, port)
    chosen = listening.getsockname()[1]
    token = None if is_loopback(host) else new_token()
    library = Library(roots, paths=paths, demo=demo)
    key = library.key_of(paths[0]) if len(paths) == 1 and not roots else None
    app = make_app(library)
    names = names_of(host)
    address = f"http://{names[0]}:{chosen}/{f'?token={token}' if token else ''}{f'#/s/{key}' if key else ''}"
    server = Server(app, Guard(app, port=chosen, hosts=names, token=token))
    sys.setswitchinterval(SWITCH_SECONDS)
    if key is not None:
        app.state.open_sessions.room(key)  # read while the browser starts
    library.start()
    threading.Thread(target=all_tools, daemon=True).start()  # loaded by the time that the first page is drawn
    say(f"The reader is at {address} (Ctrl-C ends it).")
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    if server.cut_off:
        os._exit(0)  # a thread that still counts for a request cannot be stopped, and would be waited for


class Server(uvicorn.Server):
    """A server that ends soon and quietly: it lets go of its streams, and of requests that take long."""

    def __init__(self, app: Starlette, guard: Guard) -> None:
        super().__init__(
            uvicorn.Config(
                guard,
                log_level="error",
                access_log=False,
                lifespan="off",
                server_header=False,
                date_header=False,
                proxy_headers=False,
                ws="none",
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self.cut_off = False
        """Whether something was not answered before the end."""
        self._parts = (app.state.open_sessions, app.state.library)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End every stream, then the server; what is not answered soon is cut off."""
        for part in self._parts:
            part.close()
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._give_up)
        await super().shutdown(sockets)

    def _give_up(self) -> None:
        self.cut_off = True
        logging.getLogger("uvicorn.error").disabled = True  # a moment later it would tell at length of each request


def bind(host: str, port: int | None) -> socket.socket:
    """A socket on a port: on the one asked for, else on the first free one from the usual on."""
    if port is None:
        for number in range(PORT, PORT + TRIES):
            with suppress(OSError):
                return _listening(host, number)
    try:
        return _listening(host, port or 0)
    except OSError as error:
        hint = "; leave --port out to get a free one" if error.errno == errno.EADDRINUSE else ""
        where = f"{host}:{port}" if port else host
        raise Misuse(f"cannot listen on {where}: {error.strerror or error}{hint}") from error


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, so that asyncio knows it for TCP and sends at once: else half of an answer may wait 40 ms for the other.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # where reusing an address would share it
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError:
        listening.close()
        raise
    return listening


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def names_of(host: str) -> list[str]:
    """The names by which an address can be asked for, the best first; all interfaces have those of this machine."""
    if host not in ("0.0.0.0", "::", ""):
        return [f"[{host}]" if ":" in host else host]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing, and tells which interface would
            own = [probe.getsockname()[0]]
        except OSError:
            own = []
    return [*own, socket.gethostname(), f"{socket.gethostname()}.local"]
