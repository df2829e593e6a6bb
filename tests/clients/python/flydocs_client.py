"""A small client of flydocs, written from the wire contract alone: httpx and the standard library.

It shows what a client has to do, and the tests beside it hold the server to it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

PROBLEM_KEYS = {"type", "title", "status", "code", "detail", "instance", "extensions"}


class Problem(Exception):
    """An error answer: always a flat application/problem+json."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        kind = response.headers.get("content-type", "")
        if kind != "application/problem+json":
            raise AssertionError(f"{response.status_code} with {kind}: {response.text[:200]}")
        self.body: dict[str, Any] = response.json()
        assert set(self.body) == PROBLEM_KEYS, self.body
        assert self.body["status"] == response.status_code, self.body
        self.code: str = self.body["code"]
        assert self.body["type"] == f"https://flydocs.dev/problems/{self.code}", self.body
        self.extensions: dict[str, Any] = self.body["extensions"]
        super().__init__(f"{response.status_code} {self.code}: {self.body['detail']}")


@dataclass(frozen=True)
class File:
    """A document to read."""

    name: str
    content: bytes
    content_type: str | None = None
    expected_type: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "filename": self.name,
            "content_base64": base64.b64encode(self.content).decode(),
            "content_type": self.content_type,
            "expected_type": self.expected_type,
        }


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    id: str
    name: str
    data: dict[str, Any]


class Flydocs:
    """The routes, one method each."""

    def __init__(self, url: str, key: str | None = None, tenant: str | None = None) -> None:
        headers = {}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        if tenant is not None:
            headers["X-Tenant-Id"] = tenant
        self.http = httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False)

    def __enter__(self) -> Flydocs:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def call(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """One call; an error answer is raised as a Problem."""
        response = self.http.request(method, path, **arguments)
        if response.status_code >= 400:
            raise Problem(response)
        return response

    # -- requests -------------------------------------------------------------------------------

    @staticmethod
    def multipart(request: dict[str, Any], files: list[File]) -> list[tuple[str, Any]]:
        """The parts of a multipart body: `request`, then one part `files` a document."""
        body = {key: value for key, value in request.items() if key != "files"}
        options = {f.name: {"expected_type": f.expected_type} for f in files if f.expected_type}
        if options:
            body["file_options"] = options
        parts: list[tuple[str, Any]] = [("request", (None, json.dumps(body), "application/json"))]
        for file in files:
            kind = file.content_type or "application/octet-stream"
            parts.append(("files", (file.name, file.content, kind)))
        return parts

    def _post(
        self, path: str, request: dict[str, Any], files: list[File], multipart: bool, headers: dict[str, str]
    ) -> httpx.Response:
        if multipart:
            return self.call("POST", path, files=self.multipart(request, files), headers=headers)
        body = {**request, "files": [file.as_json() for file in files]}
        return self.call("POST", path, json=body, headers=headers)

    def extract(self, request: dict[str, Any], files: list[File], multipart: bool = False) -> dict[str, Any]:
        return self._post("/api/v1/extract", request, files, multipart, {}).json()

    def validate(self, request: dict[str, Any], files: list[File]) -> dict[str, Any]:
        return self._post("/api/v1/extract:validate", request, files, False, {}).json()

    def submit(
        self, request: dict[str, Any], files: list[File], multipart: bool = False, **headers: str
    ) -> httpx.Response:
        """Answers 202 (or 200 with Prefer: wait) and says where the extraction is."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = self._post("/api/v1/extractions", request, files, multipart, named)
        assert response.headers["location"] == f"/api/v1/extractions/{response.json()['id']}"
        return response

    # -- extractions ----------------------------------------------------------------------------

    def get(self, id: str) -> dict[str, Any]:
        return self.call("GET", f"/api/v1/extractions/{id}").json()

    def list(self, **filters: Any) -> dict[str, Any]:
        return self.call("GET", "/api/v1/extractions", params=filters).json()

    def result(self, id: str, **query: Any) -> dict[str, Any]:
        return self.call("GET", f"/api/v1/extractions/{id}/result", params=query).json()

    def delete(self, id: str) -> dict[str, Any]:
        return self.call("DELETE", f"/api/v1/extractions/{id}").json()

    def cancel(self, id: str) -> httpx.Response:
        return self.call("POST", f"/api/v1/extractions/{id}:cancel")

    def retry(self, id: str) -> httpx.Response:
        return self.call("POST", f"/api/v1/extractions/{id}:retry")

    def page(self, id: str, file: int, page: int, width: int | None = None) -> httpx.Response:
        query = {} if width is None else {"width": width}
        return self.call("GET", f"/api/v1/extractions/{id}/files/{file}/pages/{page}.png", params=query)

    def poll(self, id: str, seconds: float = 60) -> dict[str, Any]:
        """Asks until the status is a last one."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.get(id)
            if found["status"] in ("succeeded", "failed", "cancelled"):
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"{id} is {found['status']} after {seconds} s")
            time.sleep(0.05)

    def poll_result(self, id: str, seconds: float = 60) -> dict[str, Any]:
        """Asks for the result until it is there: 409 not_ready means later."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.result(id)
            except Problem as problem:
                if problem.code != "not_ready" or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def events(self, id: str, last_event_id: str | None = None) -> Iterator[Event]:
        """What happens to an extraction, until it settled."""
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        with self.http.stream("GET", f"/api/v1/extractions/{id}/events", headers=headers) as response:
            if response.status_code == 204:
                return
            if response.status_code != 200:
                response.read()
                raise Problem(response)
            fields: dict[str, str] = {}
            for line in response.iter_lines():
                if line == "":
                    if "data" in fields:
                        data = json.loads(fields["data"])
                        yield Event(fields.get("id", ""), fields.get("event", "message"), data)
                    fields = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(":")
                    fields[name] = value.removeprefix(" ")

    # -- webhooks -------------------------------------------------------------------------------

    def deliveries(self, id: str) -> list[dict[str, Any]]:
        return self.call("GET", f"/api/v1/extractions/{id}/deliveries").json()["items"]

    def redeliver(self, delivery: str) -> httpx.Response:
        return self.call("POST", f"/api/v1/deliveries/{delivery}:redeliver")

    # -- service --------------------------------------------------------------------------------

    def version(self) -> dict[str, Any]:
        return self.call("GET", "/api/v1/version").json()

    def health(self, probe: str = "") -> dict[str, Any]:
        return self.call("GET", f"/actuator/health{probe}").json()

    def metrics(self) -> str:
        return self.call("GET", "/actuator/metrics").text


def signed_own(secret: str, body: bytes, signature: str) -> bool:
    """Whether X-Flydocs-Signature fits the bytes that came."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"sha256={digest}", signature)


def signed_standard(
    secret: str, headers: dict[str, str], body: bytes, now: float, tolerance: float = 300
) -> bool:
    """Whether the headers of Standard Webhooks fit the bytes that came, and are fresh."""
    stamp = headers["webhook-timestamp"]
    if abs(now - int(stamp)) > tolerance:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else secret.encode()
    signed = b".".join([headers["webhook-id"].encode(), stamp.encode(), body])
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = [part.split(",", 1) for part in headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(value, expected) for version, value in given)
