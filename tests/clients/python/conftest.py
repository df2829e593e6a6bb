"""What the tests stand on: flydocs as its processes, a webhook receiver, small documents."""

from __future__ import annotations

import http.server
import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from flydocs_client import File, Flydocs

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KEYS = "all-key,acme:acme-key,bolt:bolt-key"
PATIENCE = 60.0


def pdf(*pages: list[str]) -> bytes:
    """A PDF of pages with lines of text."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        text = "BT /F1 12 Tf 72 760 Td 16 TL\n" + "".join(f"({line}) Tj T*\n" for line in lines) + "ET"
        number = len(objects) + 1
        kids.append(f"{number} 0 R")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = "%PDF-1.7\n", []
    for i, one in enumerate(objects):
        places.append(len(out))
        out += f"{i + 1} 0 obj\n{one}\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    out += "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return out.encode()


@pytest.fixture(scope="session")
def invoice() -> File:
    lines = ["INVOICE", "Invoice number: RE-2026-0042", "Invoice date: 2026-02-01", "Total amount: 119.00"]
    return File("invoice.pdf", pdf(lines))


@pytest.fixture
def request_body() -> dict[str, Any]:
    return {
        "document_types": [
            {
                "id": "invoice",
                "description": "an invoice",
                "field_groups": [
                    {
                        "name": "head",
                        "fields": [
                            {"name": "invoice_number", "description": "Invoice number", "required": True},
                            {"name": "total", "description": "Total amount", "type": "number"},
                        ],
                    }
                ],
            }
        ]
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Processes:
    """flydocs as an operator runs it: one process a role, one database."""

    url: str
    children: list[subprocess.Popen[str]] = field(default_factory=list)

    def stop(self) -> None:
        for child in self.children:
            child.send_signal(signal.SIGTERM)
        for child in self.children:
            assert child.wait(PATIENCE) == 0, f"{child.args} ended with {child.returncode}"


def binary() -> str:
    return os.environ.get("FLYDOCS_TEST_BINARY") or str(
        Path(__file__).parents[3] / "target" / "debug" / "flydocs"
    )


def environment(database: str, port: int) -> dict[str, str]:
    """Nothing of the caller's own settings."""
    return {
        "PATH": os.environ["PATH"],
        "FLYDOCS_DATABASE_URL": database,
        "FLYDOCS_PORT": str(port),
        "FLYDOCS_API_KEYS": KEYS,
        "FLYDOCS_WEBHOOK_HMAC_SECRET": SECRET,
        "FLYDOCS_WEBHOOK_ALLOW_PRIVATE": "true",
        "FLYDOCS_LOG": "warn",
    }


def start(role: str, settings: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen([binary(), role], env=settings, stdout=subprocess.DEVNULL, text=True)


def await_health(url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if httpx.get(f"{url}/actuator/health", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, "the server did not come up"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """serve, worker and bbox-worker on one database; FLYDOCS_TEST_DATABASE_URL names another than SQLite."""
    folder = tmp_path_factory.mktemp("flydocs")
    port = free_port()
    database = os.environ.get("FLYDOCS_TEST_DATABASE_URL") or f"sqlite://{folder}/flydocs.db"
    settings = environment(database, port)
    subprocess.run([binary(), "migrate"], env=settings, check=True, stdout=subprocess.DEVNULL)
    processes = Processes(f"http://127.0.0.1:{port}")
    try:
        for role in ("serve", "worker", "bbox-worker"):
            processes.children.append(start(role, settings))
        await_health(processes.url)
        yield processes
        processes.stop()
    finally:
        for child in processes.children:
            child.kill()


@pytest.fixture
def client(server: Processes) -> Iterator[Flydocs]:
    with Flydocs(server.url, key="all-key") as client:
        yield client


@dataclass
class Posted:
    """One webhook as it came."""

    headers: dict[str, str]
    body: bytes


class Receiver:
    """A webhook receiver that answers what it is told to, and 204 from then on."""

    def __init__(self, *statuses: int) -> None:
        self.posted: queue.Queue[Posted] = queue.Queue()
        answers = list(statuses)
        posted = self.posted

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(answers.pop(0) if answers else 204)
                self.send_header("content-length", "0")
                self.end_headers()
                posted.put(Posted(headers, body))

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self) -> Posted:
        return self.posted.get(timeout=PATIENCE)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
