"""The routes as a client of the reference uses them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import shapes
from conftest import Processes
from flydocs_client import File, Flydocs, Problem

NUMBER = "RE-2026-0042"


def value(result: dict[str, Any], name: str) -> Any:
    for group in result["documents"][0]["field_groups"]:
        for field in group["fields"]:
            if field["name"] == name:
                return field["value"]
    raise AssertionError(f"there is no field {name}")


@pytest.mark.parametrize("multipart", [False, True], ids=["json", "multipart"])
def test_a_document_is_read_at_once(
    client: Flydocs, request_body: dict[str, Any], invoice: File, multipart: bool
) -> None:
    result = client.extract(request_body, [invoice], multipart)
    shapes.result(result)
    assert result["status"] == "success"
    assert value(result, "invoice_number") == NUMBER
    assert value(result, "total") == 119.0
    assert result["files"][0]["media_type"] == "application/pdf", "octet-stream is a hint only"


@pytest.mark.parametrize("multipart", [False, True], ids=["json", "multipart"])
def test_a_submission_is_polled_to_its_result(
    client: Flydocs, request_body: dict[str, Any], invoice: File, multipart: bool
) -> None:
    answer = client.submit(request_body, [invoice], multipart, X_Correlation_Id="poll-1")
    assert answer.status_code == 202
    assert answer.headers["x-correlation-id"] == "poll-1"
    submitted = answer.json()
    shapes.extraction(submitted)
    settled = client.poll(submitted["id"])
    shapes.extraction(settled)
    assert settled["status"] == "succeeded" and settled["attempts"] == 1
    envelope = client.poll_result(submitted["id"])
    assert set(envelope) == {"id", "result"} and envelope["id"] == submitted["id"]
    shapes.result(envelope["result"])
    assert value(envelope["result"], "invoice_number") == NUMBER
    image = client.page(submitted["id"], 0, 1, width=200)
    assert image.headers["content-type"] == "image/png" and image.content.startswith(b"\x89PNG")


def test_null_is_accepted_for_every_optional_key(client: Flydocs, invoice: File) -> None:
    field: dict[str, Any] = {"name": "invoice_number"}
    for key in (
        "description", "type", "required", "pattern", "format", "enum", "minimum", "maximum", "items", "fields",
        "validators",
    ):  # fmt: skip
        field[key] = None
    stages = (
        "splitter", "classifier", "field_validation", "visual_authenticity", "content_authenticity", "judge",
        "judge_escalation", "bbox_refine", "transform", "rule_engine",
    )  # fmt: skip
    group = {"name": "g", "description": None, "fields": [field]}
    document_type = {
        "id": "t", "description": None, "country": None, "field_groups": [group], "visual_checks": None,
    }  # fmt: skip
    body = {
        "intention": None,
        "document_types": [document_type],
        "rules": None,
        "options": {
            "model": None, "language_hint": None, "return_bboxes": None, "declared_media_type": None,
            "stages": dict.fromkeys(stages), "escalation": None, "transformations": None,
        },
        "callback_url": None,
        "metadata": None,
    }  # fmt: skip
    for multipart in (False, True):
        settled = client.poll(client.submit(body, [invoice], multipart).json()["id"])
        assert settled["status"] == "succeeded"
    bare = {**body, "options": None}
    assert client.poll(client.submit(bare, [invoice]).json()["id"])["status"] == "succeeded"
    with_rule = copy.deepcopy(body)
    with_rule["rules"] = [{"id": "r", "predicate": "p", "parents": None, "output": None}]
    with_rule["document_types"][0]["visual_checks"] = [{"name": "seal", "description": "a seal"}]
    with_rule["document_types"][0]["field_groups"][0]["fields"][0]["validators"] = [
        {"name": "not_empty", "params": None, "severity": None}
    ]
    answer = client.validate(with_rule, [invoice])
    assert set(answer) == {"ok", "error_count", "warning_count", "errors", "warnings"}


def test_boxes_are_waited_for(client: Flydocs, request_body: dict[str, Any], invoice: File) -> None:
    body = {**request_body, "options": {"stages": {"bbox_refine": True}}}
    answer = client.submit(body, [invoice], Prefer="wait=60")
    assert answer.status_code == 200, "Prefer: wait answers 200 when it settled in time"
    id = answer.json()["id"]
    envelope = client.result(id, wait_for_bboxes="true", timeout=60)
    shapes.result(envelope["result"])
    assert client.get(id)["post_processing"]["bbox_refinement"]["status"] == "succeeded"
    box = envelope["result"]["documents"][0]["field_groups"][0]["fields"][0]["bbox"]
    assert box["source"] == "pdf_text"
    same = client.result(id, wait_for_post_processing="true", timeout=5)
    assert same == envelope


def test_events_tell_everything_and_resume(client: Flydocs, request_body: dict[str, Any], invoice: File) -> None:
    id = client.submit(request_body, [invoice]).json()["id"]
    told = list(client.events(id))
    states = [event.data["status"] for event in told if event.name == "state"]
    assert states == ["queued", "running", "succeeded"]
    assert told[-1].name == "settled"
    shapes.extraction(told[-1].data)
    first = next(event for event in told if event.name == "state")
    assert [event.name for event in client.events(id, first.id)] == ["state", "state", "settled"]
    assert list(client.events(id, told[-1].id)) == [], "204: do not come back"


def test_a_key_replays_and_another_body_is_a_mismatch(
    client: Flydocs, request_body: dict[str, Any], invoice: File
) -> None:
    first = client.submit(request_body, [invoice], Idempotency_Key="key-1")
    assert "idempotency-replayed" not in first.headers
    client.poll(first.json()["id"])
    again = client.submit(request_body, [invoice], multipart=True, Idempotency_Key="key-1")
    assert again.status_code == 202 and again.headers["idempotency-replayed"] == "true"
    assert again.json()["id"] == first.json()["id"] and again.json()["status"] == "succeeded"
    with pytest.raises(Problem) as refused:
        client.submit({**request_body, "intention": "other"}, [invoice], Idempotency_Key="key-1")
    assert (refused.value.response.status_code, refused.value.code) == (422, "idempotency_mismatch")
    assert refused.value.extensions["extraction_id"] == first.json()["id"]
    with pytest.raises(Problem) as refused:
        client.submit(request_body, [invoice], Idempotency_Key="x" * 129)
    assert refused.value.response.status_code == 400
    listed = client.list(idempotency_key="key-1")
    assert [item["id"] for item in listed["items"]] == [first.json()["id"]]


def test_what_is_settled_is_not_cancelled_and_what_was_cancelled_is_retried(
    client: Flydocs, request_body: dict[str, Any], invoice: File
) -> None:
    id = client.submit(request_body, [invoice], Prefer="wait=60").json()["id"]
    for call in (client.delete, client.cancel):
        with pytest.raises(Problem) as refused:
            call(id)
        assert (refused.value.response.status_code, refused.value.code) == (409, "not_cancellable")
        shapes.extraction(refused.value.extensions)
    with pytest.raises(Problem) as refused:
        client.retry(id)
    assert refused.value.response.status_code == 409
    broken = client.submit(request_body, [File("a.pdf", b"%PDF-1.7 nothing")], Prefer="wait=60").json()
    assert broken["status"] == "failed" and broken["error"]["code"] == "corrupt_pdf"
    with pytest.raises(Problem) as refused:
        client.result(broken["id"])
    assert refused.value.code == "not_ready"
    shapes.extraction(refused.value.extensions)
    again = client.retry(broken["id"])
    assert again.status_code == 202
    assert client.poll(broken["id"])["attempts"] == 1, "its attempts start anew"


def test_lists_are_filtered_and_paged(client: Flydocs, request_body: dict[str, Any], invoice: File) -> None:
    ids = [client.submit(request_body, [invoice]).json()["id"] for _ in range(3)]
    for id in ids:
        client.poll(id)
    listed = client.list(status="succeeded,failed", limit=2)
    assert set(listed) == {"items", "total", "limit", "offset"}
    assert (listed["limit"], listed["offset"], len(listed["items"])) == (2, 0, 2)
    assert [item["id"] for item in listed["items"]] == [ids[2], ids[1]], "newest first"
    for item in listed["items"]:
        shapes.extraction(item)
    newest = client.get(ids[2])["submitted_at"]
    assert client.list(created_after=newest, created_before=newest)["items"][0]["id"] == ids[2]
    assert client.list(post_processing_status="pending")["total"] == 0
    for bad in ({"status": "done"}, {"created_after": "yesterday"}, {"limit": 501}, {"offset": -1}):
        with pytest.raises(Problem) as refused:
            client.list(**bad)
        assert refused.value.response.status_code == 400
        assert refused.value.extensions["errors"][0]["path"] in bad


def test_refusals_have_their_codes(client: Flydocs, request_body: dict[str, Any], invoice: File) -> None:
    def code(body: dict[str, Any], files: list[File]) -> tuple[int, str, dict[str, Any]]:
        with pytest.raises(Problem) as refused:
            client.extract(body, files)
        return refused.value.response.status_code, refused.value.code, refused.value.extensions

    status, name, facts = code({**request_body, "colour": 1, "intention": 7}, [invoice])
    assert (status, name) == (400, "invalid_request")
    assert {error["path"] for error in facts["errors"]} == {"colour", "intention"}
    assert code({**request_body, "metadata": {"_mine": 1}}, [invoice])[:2] == (400, "invalid_request")
    status, name, facts = code(request_body, [File("a.bin", b"\x00\x01\x02" * 100)])
    assert (status, name, facts["filename"]) == (415, "unsupported_file", "a.bin")
    assert code(request_body, [File("a.pdf", b"%PDF-1.7 nothing")])[:2] == (422, "corrupt_pdf")
    assert code(request_body, [File("a.pdf", b"")])[:2] == (422, "empty_file")
    twice = copy.deepcopy(request_body)
    twice["document_types"].append(twice["document_types"][0])
    status, name, facts = code(twice, [invoice])
    assert (status, name) == (422, "validation_failed")
    assert facts["errors"][0]["code"] == "duplicate_document_type"
    with pytest.raises(Problem) as refused:
        client.call("POST", "/api/v1/extract", json={**request_body, "files": [{"filename": "a.pdf", "content_base64": "?"}]})
    assert (refused.value.response.status_code, refused.value.code) == (422, "invalid_base64")
    for method, path, status in [
        ("GET", "/api/v1/extractions/ext_00000000000000000000000000", 404),
        ("GET", "/nothing", 404),
        ("PUT", "/api/v1/extractions", 405),
    ]:
        with pytest.raises(Problem) as refused:
            client.call(method, path)
        assert refused.value.response.status_code == status


def test_a_key_is_asked_for_and_bounds_its_tenant(
    server: Processes, request_body: dict[str, Any], invoice: File
) -> None:
    with Flydocs(server.url) as nobody:
        assert nobody.health()["status"] == "UP"
        assert nobody.health("/liveness")["status"] == "UP"
        assert set(nobody.health("/readiness")["components"]) >= {"database", "eda"}
        assert nobody.call("GET", "/openapi.json").json()["openapi"].startswith("3.1")
        assert "flydocs_" in nobody.metrics()
        with pytest.raises(Problem) as refused:
            nobody.version()
        assert (refused.value.response.status_code, refused.value.code) == (401, "unauthorized")
    with Flydocs(server.url, key="acme-key") as acme, Flydocs(server.url, key="bolt-key") as bolt:
        assert set(acme.version()) == {"service", "version", "model", "fallback_model", "eda_adapter"}
        id = acme.submit(request_body, [invoice]).json()["id"]
        assert acme.poll(id)["status"] == "succeeded"
        assert bolt.list()["total"] == 0
        for call in (bolt.get, bolt.result, bolt.delete, bolt.cancel, bolt.retry, bolt.deliveries):
            with pytest.raises(Problem) as refused:
                call(id)
            assert refused.value.code == "not_found"
