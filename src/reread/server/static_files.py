"""The built files of the reader's page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from reread.reader.page_assets import STATIC

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
NOT_BUILT = "The web page is not built; run `make web` in the source folder."
HASHED = re.compile(r"-[\w-]{8}$")
"""The end of the name of a built file that never changes, because the name has a hash of its content."""


def static_routes(given: Iterable[str]) -> list[Route]:
    """Return one route for each built file, so that no other file can be requested; the page gets these marks."""
    built = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.suffix in MEDIA_TYPES}
    index = built.pop("index.html", None)
    routes = [Route(f"/{name}", _file(path)) for name, path in built.items() if name.startswith("assets/")]
    return [*routes, Route("/", _file(index, given) if index is not None else _not_built)]


def _file(path: Path, marks: Iterable[str] = ()) -> Callable[[Request], Any]:
    media_type = MEDIA_TYPES[path.suffix]
    tags = [f" data-{mark}".encode() for mark in marks]
    caching = "max-age=31536000, immutable" if HASHED.search(path.stem) else "no-cache"

    @lru_cache(maxsize=1)
    def content(changed: int) -> bytes:
        """Return the file's bytes, the same for all who wait for them."""
        data = path.read_bytes()
        return data.replace(b"<html", b"".join([b"<html", *tags]), 1) if tags else data

    async def endpoint(request: Request) -> Response:
        data = content(path.stat().st_mtime_ns)
        return Response(data, media_type=media_type, headers={"cache-control": caching})

    return endpoint


async def _not_built(request: Request) -> Response:
    return PlainTextResponse(NOT_BUILT, 503)


LEVEL = 5
"""A higher one takes a quarter more time and saves one percent."""
SMALLEST = 1000
"""Bytes below which an answer is sent as it is."""
DOWNLOADS = ("/export", "/share/document")
"""What the paths of documents end with, which are mostly packed already."""


class Compression(GZipMiddleware):
    """Compresses every answer but small ones, events, pictures and downloads."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app, minimum_size=SMALLEST, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_download = scope["type"] == "http" and scope["path"].endswith(DOWNLOADS)
        await (self.app if is_download else super().__call__)(scope, receive, send)
