"""Every route with curl, as docs/http-api.md shows it. FLYDOCS_TEST_UPDATE=1 writes the page anew.

What changes from run to run (ids, times, durations, scores) is replaced before it is shown and compared.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx

from conftest import PATIENCE, Receiver, await_health, environment, free_port, pdf, start

PAGE = Path(__file__).parents[3] / "docs" / "http-api.md"
BEGIN, END = "<!-- transcript: made by tests/clients/python/test_transcript.py -->", "<!-- end of transcript -->"
SHOWN_HEADERS = ("location", "content-type", "idempotency-replayed", "preference-applied", "retry-after", "allow")
LONGEST = 36
TYPES = {
    "document_types": [
        {
            "id": "invoice",
            "field_groups": [{"name": "head", "fields": [{"name": "invoice_number", "description": "Invoice number"}]}],
        }
    ],
    "options": {"stages": {"bbox_refine": True}},
}


class Transcript:
    """Runs curl and writes down what was sent and what came."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.parts: list[str] = []
        self.seen: dict[str, str] = {}
        self.routes: set[tuple[str, str]] = set()

    def curl(self, title: str, route: tuple[str, str], path: str, *arguments: str, shown: int = LONGEST) -> Any:
        """One call; `route` is its method and path as the OpenAPI document names them."""
        self.routes.add(route)
        words = ["curl", "-s", "-H", "Authorization: Bearer $KEY", *arguments, f"$URL{path}"]
        real = [word.replace("$KEY", "all-key").replace("$URL", self.url) for word in words]
        answer = subprocess.run(
            [*real, "-D", "head.txt", "-o", "body.bin", "--max-time", "60", "--noproxy", "*"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
        )
        assert answer.returncode == 0, (real, answer)
        head = (self.folder / "head.txt").read_text().replace("\r", "").strip().split("\n\n")[-1].splitlines()
        body = (self.folder / "body.bin").read_bytes() if (self.folder / "body.bin").exists() else b""
        (self.folder / "body.bin").unlink(missing_ok=True)
        lines = [head[0], *(line for line in head[1:] if line.split(":")[0].lower() in SHOWN_HEADERS)]
        kind = next((line.split(": ", 1)[1] for line in head if line.lower().startswith("content-type: ")), "")
        value = json.loads(body) if "json" in kind else None
        if value is not None:
            text = json.dumps(self.still(value), indent=2, ensure_ascii=False)
        elif kind.startswith("image/"):
            text = "<bytes of the image>"
        elif kind.startswith("text/event-stream"):
            # progress comes as often as it comes
            told = [block for block in body.decode().split("\n\n") if "event: progress" not in block and ":" != block[:1]]
            text = "\n\n".join(told)
        elif path.endswith("/metrics"):
            text = "\n".join(sorted(line for line in body.decode().splitlines() if "TYPE flydocs_api_request" in line))
        else:
            text = body.decode()
        cut = text.splitlines()
        if len(cut) > shown:
            cut = [*cut[:shown], "…"]
        command = " ".join(self.quoted(word) for word in words)
        shown_text = "\n".join([f"$ {command}", *lines, "", *cut]).rstrip()
        self.parts.append(f"{title}\n\n```console\n{self.still_text(shown_text)}\n```\n")
        return value if value is not None else body.decode(errors="replace")

    @staticmethod
    def quoted(word: str) -> str:
        if re.fullmatch(r"[\w@%+=:,./$-]+", word):
            return word
        return f'"{word}"' if "$" in word else f"'{word}'"

    def still(self, value: Any, key: str = "") -> Any:
        """A value without what changes from run to run."""
        if isinstance(value, dict):
            return {name: self.still(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [self.still(one, key) for one in value]
        if isinstance(value, float) and not isinstance(value, bool):
            return 0.5
        if key in ("duration_ms", "bytes") and isinstance(value, int):
            return 1000
        return value

    def still_text(self, text: str) -> str:
        def named(kind: str, form: str) -> Any:
            def replace(match: re.Match[str]) -> str:
                found = match.group(0)
                if found not in self.seen:
                    count = sum(1 for one in self.seen.values() if one.startswith(kind))
                    self.seen[found] = form.format(count + 1)
                return self.seen[found]

            return replace

        text = text.replace(self.url, "$URL")
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:9000", text)
        text = re.sub(r"ext_[0-9A-HJKMNP-TV-Z]{26}", named("ext_", "ext_01KBAEXAMPLE{:014d}"), text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "2026-02-01T12:00:00.000Z", text)
        uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
        text = re.sub(uuid, named("00000000", "00000000-0000-4000-8000-{:012d}"), text)
        return re.sub(r"(?m)^((?!#)[\w{}=\",.:-]+) [\d.e+-]+$", r"\1 1", text)


def write(transcript: Transcript) -> None:
    """The calls, in the order a reader wants them."""
    curl = transcript.curl
    json_type = ("-H", "Content-Type: application/json")
    submitted = "/api/v1/extractions"
    one = submitted + "/{id}"
    curl("What runs there:", ("get", "/api/v1/version"), "/api/v1/version")
    curl(
        "A document in, its fields out, at once:",
        ("post", "/api/v1/extract"),
        "/api/v1/extract",
        "-F", "request=@types.json;type=application/json",
        "-F", "files=@invoice.pdf",
        shown=60,
    )  # fmt: skip
    curl(
        "What is wrong with a request, without doing it:",
        ("post", "/api/v1/extract:validate"),
        "/api/v1/extract:validate",
        *json_type, "-d", "@wrong.json",
    )  # fmt: skip
    curl("A body that does not fit:", ("post", submitted), submitted, *json_type, "-d", '{"files": [], "colour": 1}')
    form = ("-F", "request=@callback.json;type=application/json", "-F", "files=@invoice.pdf")
    first = curl("Accepted now, done later:", ("post", submitted), submitted, "-H", "Idempotency-Key: order-7", *form)
    id = first["id"]
    at = f"{submitted}/{id}"
    settled = curl("Its events, while it is worked on:", ("get", f"{one}/events"), f"{at}/events")
    assert "event: settled" in settled
    curl("The same key and body again:", ("post", submitted), submitted, "-H", "Idempotency-Key: order-7", *form)
    curl("As it stands:", ("get", one), at)
    curl(
        "Its result, held until the boxes are settled:",
        ("get", f"{one}/result"),
        f"{at}/result?wait_for_bboxes=true&timeout=60",
        shown=60,
    )
    curl("Its first page as an image:", ("get", f"{one}/files/{{file}}/pages/{{page}}.png"), f"{at}/files/0/pages/1.png?width=800")
    curl("The list:", ("get", submitted), f"{submitted}?status=succeeded&limit=1")
    deadline = time.monotonic() + PATIENCE
    path = f"{transcript.url}{at}/deliveries"
    while True:
        headers = {"Authorization": "Bearer all-key"}
        log = httpx.get(path, headers=headers, trust_env=False).json()["items"]
        if len(log) == 2 and all(delivery["status"] == "delivered" for delivery in log):
            break
        assert time.monotonic() < deadline, log
        time.sleep(0.05)
    log = curl("What its caller was told, and how that went:", ("get", f"{one}/deliveries"), f"{at}/deliveries")
    delivery = log["items"][0]["id"]
    curl(
        "Once more:",
        ("post", "/api/v1/deliveries/{id}:redeliver"),
        f"/api/v1/deliveries/{delivery}:redeliver",
        "-X", "POST",
        shown=8,
    )  # fmt: skip
    curl("What is settled cannot be stopped:", ("post", f"{one}:cancel"), f"{at}:cancel", "-X", "POST", shown=10)
    curl("Nor deleted:", ("delete", one), at, "-X", "DELETE", shown=10)
    broken = curl(
        "A file that cannot be read, waited for:",
        ("post", submitted),
        submitted,
        "-H", "Prefer: wait=60",
        "-F", "request=@types.json;type=application/json",
        "-F", "files=@broken.pdf",
    )  # fmt: skip
    curl("Once more from the start:", ("post", f"{one}:retry"), f"{submitted}/{broken['id']}:retry", "-X", "POST")
    for probe in ("", "/liveness", "/readiness"):
        path = f"/actuator/health{probe}"
        curl(f"`{path}`:", ("get", path), path, shown=14)
    curl("Metrics:", ("get", "/actuator/metrics"), "/actuator/metrics", shown=6)


def test_the_page_shows_every_route_as_it_answers(tmp_path: Path) -> None:
    receiver = Receiver()
    port = free_port()
    settings = environment(f"sqlite://{tmp_path}/flydocs.db", port)
    (tmp_path / "invoice.pdf").write_bytes(pdf(["INVOICE", "Invoice number: RE-2026-0042"]))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    (tmp_path / "types.json").write_text(json.dumps(TYPES))
    (tmp_path / "callback.json").write_text(json.dumps({**TYPES, "callback_url": receiver.url, "metadata": {"order": 7}}))
    twice = {**TYPES, "document_types": TYPES["document_types"] * 2}
    (tmp_path / "wrong.json").write_text(
        json.dumps({**twice, "files": [{"filename": "a.pdf", "content_base64": "JVBERg=="}]})
    )
    roles = [start(role, settings) for role in ("serve", "worker", "bbox-worker")]
    try:
        await_health(f"http://127.0.0.1:{port}")
        transcript = Transcript(f"http://127.0.0.1:{port}", tmp_path)
        write(transcript)
        document = httpx.get(f"{transcript.url}/openapi.json", trust_env=False).json()
    finally:
        for role in roles:
            role.kill()
        receiver.close()
    documented = {(method, path) for path, item in document["paths"].items() for method in item}
    assert transcript.routes == documented, documented ^ transcript.routes
    made = "\n".join(transcript.parts)
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    kept, _, after = rest.partition(END)
    if os.environ.get("FLYDOCS_TEST_UPDATE"):
        PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n{END}{after}")
        return
    assert kept.strip() == made.strip(), "docs/http-api.md drifted: FLYDOCS_TEST_UPDATE=1 cargo xtask clients -k transcript"
