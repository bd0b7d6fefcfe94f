"""Every trace is received over HTTP: as it was exported, and sent by the exporter of OpenTelemetry's SDK."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

from every import every_session
from exported import counts_exactly
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from receiver import JSON, Receiver, receiver

import reread

KINDS = {Span.SPAN_KIND_INTERNAL: SpanKind.INTERNAL, Span.SPAN_KIND_CLIENT: SpanKind.CLIENT}
TOKENS = {
    "gen_ai.usage.input_tokens": lambda usage: usage.tokens - usage.output_tokens,
    "gen_ai.usage.output_tokens": lambda usage: usage.output_tokens,
    "gen_ai.usage.cache_read.input_tokens": lambda usage: usage.cache_read_tokens,
    "gen_ai.usage.cache_creation.input_tokens": lambda usage: usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
}


@pytest.fixture(scope="module")
def listening() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


def posted(listening: Receiver, session: reread.Session) -> ResourceSpans:
    """Send a session's document as it is, and return what arrived."""
    document = reread.export(session, "otlp")
    request = urllib.request.Request(listening.address, document, {"content-type": JSON})
    with urllib.request.urlopen(request, timeout=150) as answer:
        assert answer.status == 200 and answer.read() == b"{}"
    (arrived,) = listening.take()
    return arrived


def attributes(span: Any) -> dict[str, Any]:
    return {item.key: plain(item.value) for item in span.attributes}


def plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [plain(item) for item in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def readable(arrived: ResourceSpans) -> list[ReadableSpan]:
    """Return spans as a program has them that records them with the SDK."""
    resource = Resource(attributes(arrived.resource))
    (scope,) = arrived.scope_spans

    def context(id: bytes, span: Span) -> SpanContext:
        trace = int.from_bytes(span.trace_id, "big")
        return SpanContext(trace, int.from_bytes(id, "big"), is_remote=False, trace_flags=TraceFlags(1))

    return [
        ReadableSpan(
            name=span.name,
            context=context(span.span_id, span),
            parent=context(span.parent_span_id, span) if span.parent_span_id else None,
            resource=resource,
            attributes=attributes(span),
            kind=KINDS[span.kind],
            status=Status(StatusCode.ERROR, span.status.message) if span.status.code else Status(),
            start_time=span.start_time_unix_nano,
            end_time=span.end_time_unix_nano,
            instrumentation_scope=InstrumentationScope(scope.scope.name, scope.scope.version),
        )
        for span in scope.spans
    ]


def facts(span: Span) -> tuple[Any, ...]:
    ids = (span.trace_id, span.span_id, span.parent_span_id)
    times = (span.start_time_unix_nano, span.end_time_unix_nano)
    return (*ids, span.name, span.kind, *times, attributes(span), span.status.code, span.status.message)


def check_nested(spans: list[Span]) -> None:
    """Each span lies within its parent, and only the first has none."""
    by_id: dict[bytes, Span] = {}
    for span in spans:
        assert len(span.trace_id) == 16 and len(span.span_id) == 8
        assert span.span_id not in by_id and span.trace_id == spans[0].trace_id
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert bool(span.parent_span_id) == bool(by_id)
        if span.parent_span_id:
            above = by_id[span.parent_span_id]
            assert above.start_time_unix_nano <= span.start_time_unix_nano or not span.start_time_unix_nano
            assert span.end_time_unix_nano <= above.end_time_unix_nano
        by_id[span.span_id] = span


@pytest.mark.timeout(1800)
def test_every_trace_arrives(listening: Receiver) -> None:
    exporter = OTLPSpanExporter(endpoint=listening.address, timeout=150)
    traces: dict[bytes, str] = {}
    for session in every_session():
        arrived = posted(listening, session)
        spans = list(arrived.scope_spans[0].spans)
        check_nested(spans)
        assert traces.setdefault(spans[0].trace_id, session.id) == session.id
        if counts_exactly(session):
            chats = [attributes(span) for span in spans if span.name.startswith("chat")]
            counted = {name: sum(chat[name] for chat in chats) for name in TOKENS}
            assert counted == {name: count(session.usage) for name, count in TOKENS.items()}, session.path
        assert exporter.export(readable(arrived)) is SpanExportResult.SUCCESS
        (sent,) = listening.take()
        assert attributes(sent.resource) == attributes(arrived.resource)
        assert [facts(span) for span in sent.scope_spans[0].spans] == [facts(span) for span in spans], session.path
    exporter.shutdown()
    assert len(traces) > 100


def test_what_is_no_trace_is_refused(listening: Receiver) -> None:
    for body in (b"{", b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"spanID": "x"}]}]}]}'):
        request = urllib.request.Request(listening.address, body, {"content-type": JSON})
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(request, timeout=150)
    assert listening.take() == []
