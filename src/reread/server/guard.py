"""The guard: who may ask the server for what. It stands before every route."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
METHODS = ("GET", "HEAD")
OWN = ("same-origin", "none")
"""What a browser says of a request that this reader made, or that someone typed."""
TOKEN = "token"
HTTP_PORT = 80

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
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
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(24)


class Guard:
    """Lets through what comes from this reader's own page, and adds the headers that keep it so."""

    def __init__(self, app: ASGIApp, *, port: int, hosts: Sequence[str] = (), token: str | None = None) -> None:
        self.app = app
        self.hosts = {_with_port(name, port) for name in (*LOOPBACK, *hosts)}
        """What the Host header may say, exactly: another name may be an attacker's that points here."""
        self.token = token
        self.cookie = f"reread_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        await (refusal or self.app)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return _refused(403, "this is not the address that the reader was started on")
        if scope["method"] not in METHODS:
            return PlainTextResponse("nothing here can be changed", 405, {"allow": ", ".join(METHODS)})
        if any(origin != f"http://{hosts[0].lower()}" for origin in headers.getlist("origin")):
            return _refused(403, "another site asked for this")
        if headers.get("sec-fetch-site", "none") not in OWN and not _is_visit(scope, headers):
            return _refused(403, "another site asked for this")
        return self._without_token(scope, headers) if self.token is not None else None

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        """What someone gets who does not know the token; who does gets a cookie, and the address without it."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == TOKEN), None)
        if given is not None and self._is_token(given):
            rest = urlencode([(name, value) for name, value in query if name != TOKEN])
            answer = RedirectResponse(f"{scope['path']}?{rest}" if rest else scope["path"], 303)
            answer.set_cookie(self.cookie, given, httponly=True, samesite="strict", path="/")
            return answer
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is_token(bearer) or self._is_token(_cookie(headers, self.cookie)):
            return None
        return _refused(401, "this reader needs its token: open the address that `reread serve` printed")

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), (self.token or "").encode())


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether someone follows a link to the page itself, which holds no data."""
    visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return visit and scope["path"] == "/"


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _refused(status: int, reason: str) -> Response:
    return PlainTextResponse(f"Refused: {reason}.", status)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending


def _with_port(host: str, port: int) -> str:
    return host.lower() if port == HTTP_PORT else f"{host.lower()}:{port}"
