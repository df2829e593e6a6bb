"""The closed objects of the contract: every key a response must have, and no other."""

from __future__ import annotations

import re
from typing import Any

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
ID = re.compile(r"^ext_[0-9A-HJKMNP-TV-Z]{26}$")

EXTRACTION = {
    "id", "status", "submitted_at", "started_at", "finished_at", "attempts", "error", "post_processing",
}  # fmt: skip
LEG = {"status", "started_at", "finished_at", "attempts", "error"}
RESULT = {
    "id", "status", "files", "documents", "discovered_documents", "rule_results",
    "request_transformations", "pipeline",
}  # fmt: skip
FILE = {"filename", "media_type", "page_count", "bytes", "matched_type", "classification"}
CLASSIFICATION = {"document_type", "matched", "confidence", "description", "notes"}
DOCUMENT = {
    "type", "source_file", "missing", "pages", "confidence", "description", "notes", "field_groups",
    "authenticity",
}  # fmt: skip
FIELD = {"name", "value", "pages", "confidence", "bbox", "validation", "judge", "notes"}
BOX = {"xmin", "ymin", "xmax", "ymax", "source", "quality", "quality_score", "refinement_confidence"}
JUDGE = {"status", "confidence", "evidence", "notes", "flag_for_review"}
PIPELINE = {"model", "latency_ms", "trace", "errors", "escalation", "usage"}
TRACE = {"node", "started_at", "completed_at", "latency_ms", "status"}
ENVELOPE = [
    "event_id", "event_type", "version", "occurred_at", "correlation_id", "tenant_id", "extraction",
    "result", "metadata",
]  # fmt: skip


def keys(value: dict[str, Any], expected: set[str], where: str) -> None:
    assert set(value) == expected, f"{where}: {sorted(set(value) ^ expected)}"


def time(value: Any, where: str, optional: bool = True) -> None:
    assert (optional and value is None) or TIME.match(value), f"{where}: {value!r} is no time"


def extraction(value: dict[str, Any]) -> None:
    keys(value, EXTRACTION, "Extraction")
    assert ID.match(value["id"]), value["id"]
    assert value["status"] in ("queued", "running", "succeeded", "failed", "cancelled")
    time(value["submitted_at"], "submitted_at", optional=False)
    time(value["started_at"], "started_at")
    time(value["finished_at"], "finished_at")
    assert (value["finished_at"] is not None) == (value["status"] in ("succeeded", "failed", "cancelled"))
    assert isinstance(value["attempts"], int)
    if value["error"] is not None:
        keys(value["error"], {"code", "message"}, "error")
    if value["post_processing"] is not None:
        keys(value["post_processing"], {"bbox_refinement"}, "post_processing")
        leg = value["post_processing"]["bbox_refinement"]
        keys(leg, LEG, "bbox_refinement")
        assert leg["status"] in ("pending", "running", "succeeded", "failed")


def field(value: dict[str, Any], where: str) -> None:
    keys(value, FIELD, where)
    assert 0 <= value["confidence"] <= 1, where
    if value["bbox"] is not None:
        keys(value["bbox"], BOX, f"{where}.bbox")
        for edge in ("xmin", "ymin", "xmax", "ymax"):
            assert 0 <= value["bbox"][edge] <= 1, where
        assert value["bbox"]["source"] in ("llm", "pdf_text", "ocr")
        assert value["bbox"]["quality"] in ("good", "poor", "suspicious", "invalid")
    keys(value["validation"], {"valid", "errors"}, where)
    for error in value["validation"]["errors"]:
        keys(error, {"rule", "message"}, where)
    keys(value["judge"], JUDGE, where)
    if isinstance(value["value"], list):
        for i, member in enumerate(value["value"]):
            field(member, f"{where}[{i}]")


def result(value: dict[str, Any]) -> None:
    keys(value, RESULT, "ExtractionResult")
    assert ID.match(value["id"]), value["id"]
    assert value["status"] in ("success", "partial")
    for file in value["files"]:
        keys(file, FILE, "FileSummary")
        if file["classification"] is not None:
            keys(file["classification"], CLASSIFICATION, "classification")
    for document in value["documents"] + value["discovered_documents"]:
        keys(document, DOCUMENT, "Document")
        keys(document["authenticity"], {"visual", "content"}, "authenticity")
        for group in document["field_groups"]:
            keys(group, {"name", "fields"}, "ExtractedFieldGroup")
            for one in group["fields"]:
                field(one, one["name"])
    keys(value["pipeline"], PIPELINE, "pipeline")
    for step in value["pipeline"]["trace"]:
        keys(step, TRACE, "trace")
        assert step["status"] in ("success", "failed", "skipped")
        time(step["started_at"], "trace", optional=False)
        time(step["completed_at"], "trace", optional=False)
    for error in value["pipeline"]["errors"]:
        keys(error, {"node", "code", "message"}, "pipeline.errors")


def envelope(value: dict[str, Any]) -> None:
    assert list(value) == ENVELOPE, "the keys of an envelope have an order"
    assert value["version"] == "1.0.0"
    time(value["occurred_at"], "occurred_at", optional=False)
    extraction(value["extraction"])
    if value["result"] is not None:
        result(value["result"])
