"""A receiver of OpenTelemetry traces over HTTP, as the protocol demands: JSON or protobuf, compressed or not.

https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

PATH = "/v1/traces"
JSON, PROTOBUF = "application/json", "application/x-protobuf"
IDS = ("traceId", "spanId", "parentSpanId")
"""The fields that are hexadecimal in OTLP, but base64 in protobuf's own JSON."""


class Receiver:
    """What a running receiver was sent, and where to send more."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._received: list[ResourceSpans] = []

    def receive(self, request: ExportTraceServiceRequest) -> None:
        """Store the spans of a request."""
        self._received += request.resource_spans

    def take(self) -> list[ResourceSpans]:
        """Return what was received since the last time."""
        taken, self._received = self._received, []
        return taken


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Run a receiver on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            kind = self.headers["content-type"].partition(";")[0]
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path != PATH or kind not in (JSON, PROTOBUF):
                self.send_error(404 if self.path != PATH else 415)
                return
            try:
                given = _from_json(body) if kind == JSON else ExportTraceServiceRequest.FromString(body)
            except Exception as error:  # whatever is wrong with a request, its sender is told
                self.send_error(400, str(error).partition("\n")[0])
                return
            running.receive(given)
            answer = b"{}" if kind == JSON else ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = Receiver(f"http://127.0.0.1:{server.server_port}{PATH}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _from_json(body: bytes) -> ExportTraceServiceRequest:
    """Return a request in the JSON encoding of OTLP; a field that the protocol does not have is an error."""
    document = json.loads(body)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in IDS:
                    if name in span:
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return ParseDict(document, ExportTraceServiceRequest())
