"""One trace from the call through the bus to the webhook, as a collector gets it."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import PATIENCE, Receiver, await_health, environment, free_port, start
from flydocs_client import File, Flydocs

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"


@dataclass(frozen=True)
class Span:
    trace: str
    id: str
    parent: str
    name: str


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers, and bytes that may be messages."""

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at

    at = 0
    while at < len(message):
        key, at = varint(at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(at)
            yield number, value
        elif kind == 2:
            length, at = varint(at)
            yield number, message[at : at + length]
            at += length
        else:
            width = {1: 8, 5: 4}[kind]
            yield number, message[at : at + width]
            at += width


def spans(request: bytes) -> Iterator[Span]:
    """The spans of an ExportTraceServiceRequest."""
    for _, resource in (field for field in fields(request) if field[0] == 1):
        for _, scope in (field for field in fields(resource) if field[0] == 2):
            for _, span in (field for field in fields(scope) if field[0] == 2):
                known = {number: value for number, value in fields(span) if number in (1, 2, 4, 5)}
                yield Span(known[1].hex(), known[2].hex(), known.get(4, b"").hex(), known[5].decode())


class Collector:
    """Takes OTLP over HTTP."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        kept = self.spans

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                assert self.path == "/v1/traces", self.path
                kept.extend(spans(body))
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def test_a_call_its_extraction_and_its_webhooks_are_one_trace(
    tmp_path: Path, request_body: dict[str, Any], invoice: File
) -> None:
    collector, receiver, port = Collector(), Receiver(), free_port()
    settings = {**environment(f"sqlite://{tmp_path}/flydocs.db", port), "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    roles = [start(role, settings) for role in ("serve", "worker", "bbox-worker")]
    try:
        await_health(f"http://127.0.0.1:{port}")
        body = {
            **request_body,
            "callback_url": receiver.url,
            "options": {"stages": {"bbox_refine": True}},
        }
        with Flydocs(f"http://127.0.0.1:{port}", key="all-key") as client:
            client.submit(body, [invoice], traceparent=f"00-{TRACE}-{CALLER}-01", tracestate="vendor=1")
        posted = [receiver.next() for _ in range(2)]
        for role in roles:
            role.terminate()
        for role in roles:
            assert role.wait(PATIENCE) == 0
    finally:
        for role in roles:
            role.kill()
        receiver.close()
    ours = {span.id: span for span in collector.spans if span.trace == TRACE}
    names = [span.name for span in ours.values()]
    assert names.count("http") == 1 and names.count("extraction") == 1, names
    assert names.count("bbox_refinement") == 1 and names.count("webhook") == 2, names
    assert "stage" in names
    call = next(span for span in ours.values() if span.name == "http")
    assert call.parent == CALLER
    for span in ours.values():
        assert span is call or span.parent in ours, span
    for one in posted:
        version, trace, parent, _flags = one.headers["traceparent"].split("-")
        assert (version, trace) == ("00", TRACE)
        assert ours[parent].name == "webhook", "a receiver's spans hang under the attempt"
        assert one.headers["tracestate"] == "vendor=1"
