"""Web servers that answer as pages did: `python -I -S page_server.py FOLDER DESCRIPTOR …`.

In the folder are `pages.json`, for each address its status and where it leads to, and the key and the certificate of
the hosts, `key.pem` and `cert.pem`. The descriptors are sockets that listen.
"""

from __future__ import annotations

import json
import socket
import ssl
import sys
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TEXT = b"<html><body><p>reread: what this page said is recorded as the answer about it.</p></body></html>"
NOT_RECORDED = {"status": 404, "location": ""}


class PageServer(ThreadingHTTPServer):
    """Answers for the hosts of a port."""

    def __init__(self, listening: socket.socket, pages: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), PageHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.port: int = listening.getsockname()[1]
        self.pages: Mapping[str, Mapping[str, Any]] = pages


class PageHandler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with what was recorded of an address, whatever its scheme and port."""
        assert isinstance(self.server, PageServer)
        host = (self.headers["host"] or "").partition(":")[0]
        page = self.server.pages.get(f"{host}:{self.server.port}{self.path}", NOT_RECORDED)
        self.send_response(page["status"])
        self.send_header("content-type", "text/html; charset=utf-8")
        if page["location"]:
            self.send_header("location", page["location"])
        self.send_header("content-length", str(len(TEXT)))
        self.end_headers()
        self.wfile.write(TEXT)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the client's own errors stand where this would."""


def main(folder: Path, descriptors: Sequence[int]) -> None:
    """Answer on all ports, until the box ends."""
    pages: Mapping[str, Mapping[str, Any]] = json.loads((folder / "pages.json").read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    threads: list[threading.Thread] = []
    for one in descriptors:
        listening = context.wrap_socket(socket.socket(fileno=one), server_side=True)
        threads.append(threading.Thread(target=PageServer(listening, pages).serve_forever))
        threads[-1].start()
    for thread in threads:
        thread.join()  # Python 3.12 starts no thread, so answers nobody, once the main one has ended


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(word) for word in sys.argv[2:]])
