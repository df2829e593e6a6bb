"""What an operator does to running processes: kill -9, other keys, a silent caller, a flood of zeros."""

from __future__ import annotations

import json
import queue
import signal
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import PATIENCE, Processes, Receiver, await_health, environment, free_port, start
from flydocs_client import File, Flydocs, Problem


def test_a_process_killed_between_the_change_and_the_post_loses_no_webhook(
    tmp_path: Path, request_body: dict[str, Any], invoice: File
) -> None:
    receiver = Receiver()
    port = free_port()
    settings = environment(f"sqlite://{tmp_path}/flydocs.db", port)
    # serve writes the change and delivers nothing: whatever happens to it happens before the POST
    serve = start("serve", settings)
    worker = None
    try:
        await_health(f"http://127.0.0.1:{port}")
        ids = []
        with Flydocs(f"http://127.0.0.1:{port}", key="all-key") as client:
            for _ in range(5):
                body = {**request_body, "callback_url": receiver.url}
                id = client.submit(body, [invoice]).json()["id"]
                assert client.delete(id)["status"] == "cancelled"
                ids.append(id)
        serve.kill()
        serve.wait()
        assert receiver.posted.empty()
        worker = start("worker", settings)
        posted = [receiver.next() for _ in ids]
        envelopes = [json.loads(one.body) for one in posted]
        assert sorted(envelope["extraction"]["id"] for envelope in envelopes) == sorted(ids)
        assert len({envelope["event_id"] for envelope in envelopes}) == len(ids)
        with pytest.raises(queue.Empty):
            receiver.posted.get(timeout=2)
    finally:
        serve.kill()
        if worker is not None:
            worker.terminate()
            assert worker.wait(PATIENCE) == 0
        receiver.close()


def test_keys_are_rotated_without_a_restart(tmp_path: Path) -> None:
    port = free_port()
    keys = tmp_path / "keys.txt"
    keys.write_text("# of this year\nold-key\n")
    settings = {**environment(f"sqlite://{tmp_path}/flydocs.db", port), "FLYDOCS_API_KEYS_FILE": str(keys)}
    serve = start("serve", settings)
    url = f"http://127.0.0.1:{port}"

    def status(key: str) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.get(f"{url}/api/v1/version", headers=headers, trust_env=False).status_code

    def until(key: str, wanted: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while status(key) != wanted:
            assert time.monotonic() < deadline, f"{key} is not {wanted}"
            time.sleep(0.05)

    try:
        await_health(url)
        assert (status("old-key"), status("new-key"), status("all-key")) == (200, 401, 200)
        fresh = tmp_path / "fresh.txt"
        fresh.write_text("acme:new-key\n")
        fresh.replace(keys)
        serve.send_signal(signal.SIGHUP)
        until("new-key", 200)
        assert (status("old-key"), status("all-key")) == (401, 200)
        # a mistake changes nothing; without a signal the change itself is seen
        keys.write_text("acme:\n")
        serve.send_signal(signal.SIGHUP)
        assert status("new-key") == 200
        keys.write_text("newest-key\n")
        until("newest-key", 200)
        assert status("new-key") == 401
        serve.terminate()
        assert serve.wait(PATIENCE) == 0
    finally:
        serve.kill()


def resident(pid: int) -> int:
    """The most memory a process had, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


def test_a_gibibyte_of_zeros_costs_no_memory(tmp_path: Path, request_body: dict[str, Any]) -> None:
    port = free_port()
    blobs = tmp_path / "blobs"
    settings = {
        **environment(f"sqlite://{tmp_path}/flydocs.db", port),
        "FLYDOCS_MAX_BYTES": "1GiB",
        "FLYDOCS_BLOB_URL": f"file://{blobs}",
    }
    serve = start("serve", settings)
    url = f"http://127.0.0.1:{port}"
    size, piece = 1 << 30, bytes(1 << 20)

    def multipart() -> Any:
        yield (
            b'--edge\r\nContent-Disposition: form-data; name="request"\r\n\r\n'
            + json.dumps(request_body).encode()
            + b'\r\n--edge\r\nContent-Disposition: form-data; name="files"; filename="zeros.pdf"\r\n\r\n'
        )
        for _ in range(size // len(piece)):
            yield piece
        yield b"\r\n--edge--\r\n"

    def as_json() -> Any:
        body = json.dumps({**request_body, "files": [{"filename": "zeros.pdf", "content_base64": ""}]})
        before, after = body.split('"content_base64": "', 1)
        yield f'{before}"content_base64": "'.encode()
        # three zeros are AAAA: as many bytes as are allowed, and then one piece more
        quads = b"A" * (1 << 20)
        for _ in range((size // 3 * 4) // len(quads) + 2):
            yield quads
        yield after.encode()

    headers = {"Authorization": "Bearer all-key"}
    try:
        await_health(url)
        before = resident(serve.pid)
        kind = {"Content-Type": "multipart/form-data; boundary=edge", **headers}
        answer = httpx.post(f"{url}/api/v1/extractions", content=multipart(), headers=kind, timeout=600, trust_env=False)
        assert answer.status_code == 202, answer.text
        kind = {"Content-Type": "application/json", **headers}
        answer = httpx.post(f"{url}/api/v1/extractions", content=as_json(), headers=kind, timeout=600, trust_env=False)
        assert answer.status_code == 413, answer.text
        assert answer.json()["code"] == "file_too_large"
        grown = resident(serve.pid) - before
        assert grown < 64 << 20, f"two uploads of 1 GiB took {grown >> 20} MiB"
        # what came of the refused one is dropped
        deadline = time.monotonic() + PATIENCE
        while sum(file.stat().st_size for file in blobs.rglob("*") if file.is_file()) != size:
            assert time.monotonic() < deadline, list(blobs.rglob("*"))
            time.sleep(0.1)
    finally:
        serve.kill()


def test_a_caller_that_dribbles_is_let_go_and_holds_up_nobody(server: Processes) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    slow = []
    for _ in range(100):
        one = socket.create_connection((host, int(port)))
        one.sendall(b"POST /api/v1/extractions HTTP/1.1\r\nHost: x\r\nX-A: ")
        slow.append(one)
    with Flydocs(server.url, key="all-key") as client:
        assert client.version()["service"] == "flydocs"
    # a head has 30 s: whoever is not through with it is hung up on
    deadline = time.monotonic() + PATIENCE
    for one in slow:
        one.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            while one.recv(4096):
                pass
        except ConnectionResetError:
            pass
        one.close()


@pytest.mark.parametrize(
    ("head", "statuses"),
    [
        (b"X-Big: " + b"a" * (1 << 20) + b"\r\n", {400, 431}),
        (b"".join(b"X-%d: a\r\n" % n for n in range(5000)), {400, 431}),
        (b"X-Correlation-Id: " + b"a" * 200 + b"\r\n", {400}),
        (b"X-Correlation-Id: \xff\xfe\r\n", {400}),
    ],
    ids=["huge", "many", "long-id", "no-text"],
)
def test_hostile_heads_are_refused(server: Processes, head: bytes, statuses: set[int]) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as caller:
        text = b"GET /api/v1/version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all-key\r\nConnection: close\r\n"
        answer = b""
        try:
            caller.sendall(text + head + b"\r\n")
            while piece := caller.recv(4096):
                answer += piece
        except (BrokenPipeError, ConnectionResetError):
            pass
        if answer:
            assert int(answer.split(b" ", 2)[1]) in statuses, answer[:200]
    with Flydocs(server.url, key="all-key") as client:
        assert client.version()["service"] == "flydocs"


def test_a_body_of_ten_thousand_parts_is_refused(server: Processes, request_body: dict[str, Any]) -> None:
    with Flydocs(server.url, key="all-key") as client:
        files = [File(f"{n}.pdf", b"x") for n in range(10_000)]
        with pytest.raises(Problem) as refused:
            client.submit(request_body, files, multipart=True)
        assert (refused.value.response.status_code, refused.value.code) == (413, "request_too_large")
        assert refused.value.extensions["setting"] == "FLYDOCS_MAX_FILES"

