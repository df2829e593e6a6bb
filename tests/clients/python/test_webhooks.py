"""Webhooks as a receiver gets them."""

from __future__ import annotations

import json
import time
from typing import Any

import shapes
from conftest import SECRET, Receiver
from flydocs_client import File, Flydocs, signed_own, signed_standard


def test_webhooks_are_signed_in_both_forms_and_repeat_their_bytes(
    client: Flydocs, request_body: dict[str, Any], invoice: File
) -> None:
    receiver = Receiver(500)
    try:
        body = {
            **request_body,
            "callback_url": receiver.url,
            "metadata": {"zeta": [1, None], "alpha": "ö"},
            "options": {"stages": {"bbox_refine": True}},
        }
        headers = {"X_Correlation_Id": "hook-1", "X_Tenant_Id": "acme"}
        id = client.submit(body, [invoice], **headers).json()["id"]
        posted = [receiver.next() for _ in range(3)]
        by_event: dict[str, list[Any]] = {}
        for one in posted:
            assert one.headers["content-type"] == "application/json"
            assert one.headers["user-agent"].startswith("flydocs/")
            assert one.headers["x-correlation-id"] == "hook-1"
            assert signed_own(SECRET, one.body, one.headers["x-flydocs-signature"])
            assert signed_standard(SECRET, one.headers, one.body, time.time())
            assert not signed_standard(SECRET, one.headers, one.body + b" ", time.time())
            assert not signed_standard(SECRET, one.headers, one.body, time.time() + 3600)
            envelope = json.loads(one.body)
            shapes.envelope(envelope)
            assert one.headers["webhook-id"] == envelope["event_id"]
            assert list(envelope["metadata"].items()) == [("zeta", [1, None]), ("alpha", "ö")]
            assert (envelope["correlation_id"], envelope["tenant_id"]) == ("hook-1", "acme")
            assert envelope["extraction"]["id"] == id
            assert one.body == json.dumps(envelope, ensure_ascii=False, separators=(",", ":")).encode()
            by_event.setdefault(envelope["event_id"], []).append((envelope["event_type"], one.body))
        assert sorted(kind for events in by_event.values() for kind in {kind for kind, _ in events}) == [
            "extraction.completed",
            "extraction.post_processing.completed",
        ]
        repeated = next(events for events in by_event.values() if len(events) == 2)
        assert repeated[0] == repeated[1], "the same bytes each time"

        log = client.deliveries(id)
        assert len(log) == 2
        redelivered = client.redeliver(log[0]["id"])
        assert redelivered.status_code == 202
        again = receiver.next()
        assert again.headers["webhook-id"] == log[0]["id"]
        assert again.body == by_event[log[0]["id"]][0][1]
    finally:
        receiver.close()
