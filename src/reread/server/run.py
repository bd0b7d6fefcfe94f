"""Start the web server, open the browser, and shut down on Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import signal
import socket
import stat
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any, cast

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from reread.base.structs import build_types
from reread.errors import Misuse
from reread.server.guard import Guard, SignIn, new_token
from reread.server.library import SessionLibrary
from reread.server.routes import make_app
from reread.storage.safe_open import open_plain
from reread.tools import all_tools

PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>reread</title>
<p><a href="{address}">Open the reader</a>
"""
HEAD = PAGE.partition("{address}")[0].encode()
"""How every page begins."""
PREFIX, SUFFIX = "reread-", ".html"
"""How the names of these pages begin and end."""
KEPT_SECONDS = 600
"""A page older than this was left behind: a browser needs it only for a moment."""
SignalHandler = Callable[[int, FrameType | None], object]
ENDING_SIGNALS = ("SIGTERM", "SIGHUP")


class ShutdownRequested(BaseException):
    """The process was asked to end; the argument is its exit code."""


@contextmanager
def private_page(address: str) -> Generator[Path]:
    """Write a page that leads to an address, and that only its owner can read; delete it at the end.

    A browser's arguments can be seen by every user, so it is given the page and not the address.
    """
    _remove_old_pages(Path(tempfile.gettempdir()))
    handle, name = tempfile.mkstemp(prefix=PREFIX, suffix=SUFFIX)  # with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(PAGE.format(address=escape(address)))
        yield Path(name)
    finally:
        with suppress(OSError):  # someone has deleted it
            Path(name).unlink()


def _remove_old_pages(folder: Path) -> None:
    """Delete the pages of this user whose server was killed."""
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(OSError):
            status = path.lstat()
            own = sys.platform == "win32" or status.st_uid == os.getuid()
            if own and stat.S_ISREG(status.st_mode) and status.st_mtime < time.time() - KEPT_SECONDS:
                with open_plain(path) as file:
                    is_page = file.read(len(HEAD)) == HEAD
                if is_page:
                    path.unlink()


def raise_ended(number: int, frame: FrameType | None) -> None:
    """Handle a signal that ends the process, so that what was left behind is cleaned up."""
    raise ShutdownRequested(128 + number)


@contextmanager
def ending_signals(handler: SignalHandler, instead_of: SignalHandler | signal.Handlers) -> Generator[None]:
    """Use a handler for those signals that end a process and have the other handler; an ignored one stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    present = [getattr(signal, name) for name in ENDING_SIGNALS if hasattr(signal, name)]
    numbers = [number for number in present if signal.getsignal(number) == instead_of]
    for number in numbers:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, instead_of)


def open_page(page: Path) -> None:
    """Open the page in the browser."""
    webbrowser.open(page.as_uri())


MAX_CONNECTIONS = 256
"""Open connections; one more closes one that waits for its request, or whose client does not read its answer."""
REQUEST_SECONDS = 10.0
"""How long a client may take to send a request."""
READ_SECONDS = 30.0
"""How long a client may read nothing while an answer is waiting for it."""
MAX_HEAD = 1 << 14
"""Bytes of a request's line and headers."""


class LimitedProtocol(H11Protocol):
    """One connection."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._close_oldest()
        self._expire_after(REQUEST_SECONDS)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.DONE and self.conn.trailing_data[0]:  # no browser asks on before it is answered
            self.abort()
        elif self.is_idle and self._timer is None:
            self._expire_after(REQUEST_SECONDS)
        elif not self.is_idle:
            self._cancel()

    def pause_writing(self) -> None:
        """Close the connection if the client does not read on."""
        super().pause_writing()
        self._expire_after(READ_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """True if no request is being answered."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    @property
    def expires(self) -> float:
        """The time at which it is closed unless its client does something."""
        return self._timer.when() if self._timer is not None else 0.0

    def abort(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _close_oldest(self) -> None:
        """Close the connection that has been idle longest, else one whose client does not read, else this one."""
        connections = cast(set[LimitedProtocol], self.connections)  # there are no others: it has no web sockets
        others = [other for other in connections if other is not self]
        idle = [other for other in others if other.is_idle]
        unread = [other for other in others if other.flow.write_paused]
        min(idle or unread, key=lambda other: other.expires, default=self).abort()

    def _expire_after(self, seconds: float) -> None:
        self._cancel()
        self._timer = self.loop.call_later(seconds, self.abort)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


HOST, PORT = "127.0.0.1", 7373
PORT_TRIES = 50
"""How many ports are tried, beginning with the default one."""
GRACE_SECONDS = 1
"""How long the shutdown waits for open requests."""
SWITCH_SECONDS = 0.001
"""Interpreter switch interval, so that a thread with long work does not delay the requests."""


def serve(
    *paths: Path,
    roots: Sequence[Path] = (),
    host: str = HOST,
    port: int | None = None,
    demo: bool = False,
    open_browser: bool = True,
    token: bool = True,
    at: str = "",
    beside: bool = False,
    sign_in: SignIn | None = None,
    given: Mapping[str, Any] | None = None,
    echo: Callable[[str], None] = print,
) -> None:
    """Serve sessions and open the browser; return after Ctrl-C.

    Without paths, serves all sessions below `roots` or, without those, of this machine. Requests need a token,
    which the printed address contains; on loopback it can be left out. `at` is the place to open, as the part of an
    address from `#` on; with `beside`, it is the page that compares the two sessions. Whoever a proxy has signed
    in, as `sign_in` says, needs no token. `given` is what options of add-ons say to their routes.
    """
    if sign_in is not None and not sign_in.proxies and not is_loopback(host):
        raise Misuse(f"Cannot trust a header on {host} from anyone; name the proxy: --sign-in HEADER@ADDRESS.")
    if not token and not is_loopback(host):
        raise Misuse(f"Cannot serve on {host} without a token; leave out --no-token.")
    listener = bind(host, port)
    bound_port = listener.getsockname()[1]
    secret = new_token() if token else None
    library = SessionLibrary(roots, paths=paths, demo=demo)
    key = library.key_of(paths[0]) if len(paths) == 1 and not roots else None
    app = make_app(library, given)
    names = host_names(host)
    place = at or (f"#/s/{key}" if key else "")
    if beside:
        place = f"#/compare/{'/'.join(str(library.key_of(path)) for path in paths)}"
    address = f"http://{names[0]}:{bound_port}/{f'?token={secret}' if secret else ''}{place}"
    server = Server(app, Guard(app, port=bound_port, hosts=names, token=secret, sign_in=sign_in))
    sys.setswitchinterval(SWITCH_SECONDS)
    all_tools()  # loads them before the first page needs them
    build_types()
    if key is not None:
        app.state.open_sessions.get(key)  # reads the file while the browser starts
    library.start()
    echo(f"Serving at {address} (press Ctrl-C to stop).")
    code = 0
    try:
        with (
            ending_signals(raise_ended, signal.SIG_DFL),
            private_page(address) if open_browser else nullcontext() as page,
        ):
            if page is not None:
                threading.Thread(target=open_page, args=(page,), daemon=True).start()
            server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    except ShutdownRequested as end:
        code = end.args[0]
    if server.timed_out:
        os._exit(code)  # a thread that still works for a request cannot be stopped, and a normal exit would wait for it
    if code:
        raise SystemExit(code)


class Server(uvicorn.Server):
    """A uvicorn server that shuts down quickly and quietly, even with open streams and slow requests."""

    def __init__(self, app: Starlette, guard: Guard) -> None:
        super().__init__(
            uvicorn.Config(
                guard,
                http=LimitedProtocol,
                h11_max_incomplete_event_size=MAX_HEAD,
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
        self.timed_out: bool = False
        """True if requests were still open when the grace period ended."""
        self._closables = (app.state.open_sessions, app.state.library, app.state.library_search)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End every stream, then the server, and abandon requests that take longer than the grace period."""
        for closable in self._closables:
            closable.close()
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._abandon_requests)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Shut down at all signals that end a process: an exception raised within the event loop would be lost."""
        with super().capture_signals(), ending_signals(self.handle_exit, raise_ended):
            yield

    def _abandon_requests(self) -> None:
        self.timed_out = True
        logging.getLogger("uvicorn.error").disabled = True  # it would log a traceback for each open request


def bind(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens on a port: the given one, or the first free one from the default port on."""
    if port is None:
        for number in range(PORT, PORT + PORT_TRIES):
            with suppress(OSError):
                return _listen(host, number)
    try:
        return _listen(host, port or 0)
    except OSError as error:
        hint = "; omit --port to use a free one" if error.errno == errno.EADDRINUSE else ""
        where = f"{host}:{port}" if port else host
        raise Misuse(f"Cannot listen on {where}: {error.strerror or error}{hint}.") from error


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol given, asyncio sets TCP_NODELAY; without it, the second half of a response may wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # SO_REUSEADDR would let two servers share the port there
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_names(host: str) -> list[str]:
    """Return the host names that reach an address, the best first; for all interfaces, the names of this machine."""
    if host not in ("0.0.0.0", "::", ""):
        return [f"[{host}]" if ":" in host else host]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing, but selects an interface
            own = [probe.getsockname()[0]]
        except OSError:
            own = []
    return [*own, socket.gethostname(), f"{socket.gethostname()}.local"]
