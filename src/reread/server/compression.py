"""Compressed answers, for browsers that take them."""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

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
