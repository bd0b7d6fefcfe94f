"""Check every request before it reaches a route, and add security headers to every response."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import re
import secrets
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reread.base.addons import named_parts

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
METHODS = ("GET", "HEAD")
POSTS = re.compile(r"/api/(sessions/[^/]+/(share|annotation)|settings)")
"""The addresses that take a POST: decisions about what is shared, stars and notes, settings. None changes a session."""
GUESTS = re.compile(
    r"/|/assets/[^/]+|/api/(library(/shown)?|events|search|settings|reports/(usage|cost|responses|stats|cache|calls|failures|files|budgets))"
    r"|/api/sessions/[^/]+(/(items|outline|lines|place|search|filter|markdown|usage|context|waterfall|problems"
    r"|events|requests|files|(calls|requests|files|pictures|compare)/.+))?"
)
"""What people see whom a proxy has signed in, besides what add-ons have for them: the sessions that are served, and
nothing else of the machine that serves them."""
GUEST = "reread.guest"
"""The key of a request's scope that tells that such a person sent it."""
OWN_FETCH_SITES = ("same-origin", "none")
"""`Sec-Fetch-Site` of a request from the reader's own page, or of an address that the user typed."""
TOKEN = "token"
PAGE, ASSETS = "/", "/assets/"
"""The page, and the folder of its scripts and styles: they contain no data."""
FAILED = "The reader failed to answer; its console says why."
PIECE = 1 << 16
"""Bytes of an answer that are sent at a time: the next ones wait until a client has read these."""
LOGGED = 200
"""How much of an address is printed."""
logger: logging.Logger = logging.getLogger("reread.server")
HTTP_PORT = 80
LONGEST_NAME = 200

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def new_token() -> str:
    """Return a random token that cannot be guessed."""
    return secrets.token_urlsafe(24)


class SignIn(NamedTuple):
    """How a reverse proxy says whom it has signed in."""

    header: str
    """The header with the name of the person: the proxy sets it, and removes what a client sent."""
    proxies: tuple[str, ...] = ()
    """The addresses of the proxy; without any, this machine."""

    def accepts(self, scope: Scope, headers: Headers) -> bool:
        """True if the proxy sent a request, with one name in the header."""
        names = headers.getlist(self.header)
        peer = (scope.get("client") or ("",))[0]
        from_proxy = peer in self.proxies if self.proxies else _is_loopback(peer)
        return from_proxy and len(names) == 1 and 0 < len(names[0].strip()) <= LONGEST_NAME


class Guard:
    """ASGI middleware that passes on only the requests of the reader's own page."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int,
        hosts: Sequence[str] = (),
        token: str | None = None,
        sign_in: SignIn | None = None,
    ) -> None:
        self.app = app
        self.hosts: set[str] = {_with_port(name, port) for name in (*LOOPBACK_HOSTS, *hosts)}
        """The allowed Host headers. Any other name may be an attacker's that resolves to this address."""
        self.token = token
        self.sign_in = sign_in
        self.cookie: str = f"reread_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        response = self._reject(scope)
        answer = _Answer(send)
        try:
            await (response or self.app)(scope, receive, answer.send)
        except Exception as error:
            logger.error("%s %r failed: %r", scope["method"], scope["path"][:LOGGED], error)
            if not answer.started:  # else the connection is closed, so that a part is not taken for the whole
                await JSONResponse({"error": FAILED}, 500)(scope, receive, answer.send)

    def _reject(self, scope: Scope) -> Response | None:
        """Return the response to a request that must not reach a route, else None."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return _forbidden("Unknown host; open the address that `reread serve` printed.")
        if scope["method"] not in METHODS and not _is_decision(scope, headers):
            return PlainTextResponse("The reader changes no session; use GET.", 405, {"allow": ", ".join(METHODS)})
        if any(origin != f"http://{hosts[0].lower()}" for origin in headers.getlist("origin")):
            return _forbidden("Another site sent this request.")
        if headers.get("sec-fetch-site", "none") not in OWN_FETCH_SITES and not _is_page_visit(scope, headers):
            return _forbidden("Another site sent this request.")
        return self._check_token(scope, headers) if self.token is not None else None

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Reject a request for data without the token; move a token from the address to a cookie."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == TOKEN), None)
        if given is not None and self._is_token(given):
            rest = urlencode([(name, value) for name, value in query if name != TOKEN])
            redirect = RedirectResponse("/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else ""), 303)
            redirect.set_cookie(self.cookie, given, httponly=True, samesite="strict", path="/")
            return redirect
        if given is None and self.sign_in is not None and self.sign_in.accepts(scope, headers):
            if scope["method"] not in METHODS:
                return _forbidden("Only who has the token changes anything here.")
            scope[GUEST] = True
            may_see = GUESTS.fullmatch(scope["path"]) or scope["path"] in named_parts("guest_routes")
            return None if may_see else _forbidden("Only who has the token may see this.")
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if given is None and (self._is_token(bearer) or self._is_token(_cookie(headers, self.cookie))):
            return None
        if given is None and (scope["path"] == PAGE or scope["path"].startswith(ASSETS)):
            return None  # a browser that comes from another page sends its cookies only once this one is loaded
        return JSONResponse({"error": "Open the address that `reread serve` printed: it contains the token."}, 401)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), (self.token or "").encode())


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _is_decision(scope: Scope, headers: Headers) -> bool:
    """True if the reader's own page sends a decision: a form of another site cannot send JSON, nor hide its origin."""
    is_json = headers.get("content-type", "") == "application/json"
    return scope["method"] == "POST" and bool(POSTS.fullmatch(scope["path"])) and is_json and "origin" in headers


def _is_page_visit(scope: Scope, headers: Headers) -> bool:
    """True if the user follows a link to the page itself."""
    is_visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return is_visit and scope["path"] == PAGE


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _forbidden(reason: str) -> Response:
    return PlainTextResponse(reason, 403)


class _Answer:
    """A response on its way: security headers are added to it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        body = memoryview(message.get("body", b""))
        while len(body) > PIECE:
            await self._send({**message, "body": bytes(body[:PIECE]), "more_body": True})
            body = body[PIECE:]
            message = {**message, "body": bytes(body)} if len(body) <= PIECE else message
        await self._send(message)


def _with_port(host: str, port: int) -> str:
    return host.lower() if port == HTTP_PORT else f"{host.lower()}:{port}"
