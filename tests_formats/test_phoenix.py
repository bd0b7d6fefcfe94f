"""Phoenix, which draws what OpenInference names, receives a session and shows its spans, tokens and tools."""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult
from receiver import receiver
from test_telemetry import posted, readable

import reread

PYTHON = Path(os.environ.get("REREAD_PHOENIX", Path(__file__).parents[1] / "build/environments/phoenix/bin/python"))
pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="Phoenix is not installed: `make test-formats` does it"),
    pytest.mark.timeout(600),
]
SESSION = next((Path(reread.__file__).parent / "samples").glob("projects/*/d2a94e17*.jsonl"))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Phoenix with an empty store of its own."""
    port, folder = free_port(), tmp_path_factory.mktemp("phoenix")
    own = {"PHOENIX_PORT": port, "PHOENIX_GRPC_PORT": free_port(), "PHOENIX_WORKING_DIR": folder, "HOME": folder}
    env = os.environ | {"PHOENIX_HOST": "127.0.0.1", "PHOENIX_TELEMETRY_ENABLED": "false"}
    env |= {name: str(value) for name, value in own.items()}
    with (folder / "log").open("wb") as log:
        command = [str(PYTHON), "-m", "phoenix.server.main", "serve"]
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: get(f"{address}/healthz") is not None, process)
        yield address
    finally:
        process.kill()
        process.wait()


def until(is_so: Any, process: "subprocess.Popen[bytes] | None" = None) -> None:
    deadline = time.monotonic() + 300
    while not is_so():
        assert time.monotonic() < deadline and (process is None or process.poll() is None)
        time.sleep(0.5)


def get(address: str) -> bytes | None:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.read()
    except (urllib.error.URLError, OSError):
        return None


def spans_in(address: str) -> list[dict[str, Any]]:
    """Return all spans that Phoenix has."""
    return json.loads(get(f"{address}/v1/projects/default/spans?limit=1000") or b'{"data": []}')["data"]


def test_phoenix_shows_a_session(phoenix: str) -> None:
    session = reread.open(SESSION)
    with receiver() as listening:
        sent = readable(posted(listening, session))
    exporter = OTLPSpanExporter(endpoint=f"{phoenix}/v1/traces", timeout=150)
    assert exporter.export(sent) is SpanExportResult.SUCCESS
    exporter.shutdown()
    until(lambda: len(spans_in(phoenix)) == len(sent))
    shown = spans_in(phoenix)
    kinds = Counter(span["span_kind"] for span in shown)
    assert kinds == Counter(span.attributes["openinference.span.kind"] for span in sent if span.attributes)
    assert set(kinds) == {"AGENT", "LLM", "TOOL"} and kinds["AGENT"] == 1 + len(session.agents)
    attributes = [span["attributes"] for span in shown]
    assert sum(one.get("llm.token_count.total", 0) for one in attributes) == session.usage.tokens
    assert {one["session.id"] for one in attributes} == {session.id}
    assert {one["tool.name"] for one in attributes if "tool.name" in one} == {call.name for call in every_call(session)}


def every_call(session: reread.Session) -> list[Any]:
    return [call for thread in (session, *session.agents.values()) for call in thread.calls]
