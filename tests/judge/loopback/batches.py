"""Batches of both providers: accepted, worked off line by line, ended, read."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.judge.loopback.steps import Step
from tests.judge.loopback.wires import Answerer, answer_call

__all__ = ["Batch", "BatchDesk"]


@dataclass(slots=True)
class Batch:
    """One batch, as the provider holds it."""

    id: str
    wire: str
    lines: list[tuple[str, dict[str, Any], Step]]
    created: float
    metadata: dict[str, str] = field(default_factory=dict)
    file: str = ""
    ended: bool = False
    canceled: bool = False
    expired: bool = False


class BatchDesk:
    """Takes files and batches, and answers what is asked about them."""

    def __init__(self, *, seconds: float | None = None) -> None:
        self.seconds = seconds
        """How long a batch takes; None: until `end` is called."""
        self.lines: deque[Step] = deque()
        self.batches: dict[str, Batch] = {}
        self._files: dict[str, str] = {}

    def end(self, *, expired: bool = False) -> None:
        """Let every batch end, as worked off or because its time is over."""
        for batch in self.batches.values():
            if not batch.ended:
                batch.ended, batch.expired = True, expired

    def serve(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Any,
        address: str,
        answerer: Answerer | None,
    ) -> tuple[int, Any] | None:
        """Return status and body, a text for lines of JSON; None if the path is no matter of batches."""
        for batch in self.batches.values():
            if self.seconds is not None and time.time() - batch.created >= self.seconds:
                batch.ended = True
        parts = path.strip("/").split("/")[1:]
        match (method, *parts):
            case ("POST", "files"):
                return 200, self._keep_file(str(body))
            case ("GET", "files", name, "content"):
                return self._read_file(name, answerer)
            case ("POST", "batches"):
                return self._create_openai(body)
            case ("GET", "batches"):
                return 200, self._list("openai", query, "after", address)
            case ("GET", "batches", name):
                return self._show(name, address)
            case ("POST", "batches", name, "cancel"):
                return self._cancel(name, address)
            case ("POST", "messages", "batches"):
                return self._create_anthropic(body, address)
            case ("GET", "messages", "batches"):
                return 200, self._list("anthropic", query, "after_id", address)
            case ("GET", "messages", "batches", name):
                return self._show(name, address)
            case ("POST", "messages", "batches", name, "cancel"):
                return self._cancel(name, address)
            case ("GET", "messages", "batches", name, "results"):
                return 200, self._write_anthropic_results(self.batches[name], answerer)
        return None

    def _next_line(self) -> Step:
        return self.lines.popleft() if self.lines else Step("ok")

    def _keep_file(self, upload: str) -> dict[str, Any]:
        name = f"file-{len(self._files) + 1}"
        # The lines of the one file in the form; every other part of it is a word.
        self._files[name] = "\n".join(re.findall(r"^\{.*\}\r?$", upload, re.MULTILINE))
        size = len(self._files[name])
        return {
            "id": name,
            "object": "file",
            "bytes": size,
            "created_at": int(time.time()),
            "filename": "batch.jsonl",
            "purpose": "batch",
            "status": "processed",
        }

    def _create_openai(self, body: dict[str, Any]) -> tuple[int, Any]:
        lines = [json.loads(line) for line in self._files[body["input_file_id"]].splitlines()]
        batch = Batch(
            id=f"batch_{len(self.batches) + 1}",
            wire="openai",
            lines=[(line["custom_id"], line["body"], self._next_line()) for line in lines],
            created=time.time(),
            metadata=body.get("metadata") or {},
            file=body["input_file_id"],
        )
        self.batches[batch.id] = batch
        return 200, self._write_openai(batch)

    def _create_anthropic(self, body: dict[str, Any], address: str) -> tuple[int, Any]:
        batch = Batch(
            id=f"msgbatch_{len(self.batches) + 1}",
            wire="anthropic",
            lines=[(line["custom_id"], line["params"], self._next_line()) for line in body["requests"]],
            created=time.time(),
        )
        self.batches[batch.id] = batch
        return 200, self._write_anthropic(batch, address)

    def _list(self, wire: str, query: dict[str, str], cursor: str, address: str) -> dict[str, Any]:
        batches = [batch for batch in reversed(self.batches.values()) if batch.wire == wire]
        names = [batch.id for batch in batches]
        start = names.index(query[cursor]) + 1 if query.get(cursor) in names else 0
        # Pages of two, so that every test of a list walks through several.
        page = batches[start : start + min(int(query.get("limit", 20)), 2)]
        return {
            "object": "list",
            "data": [self._write(batch, address) for batch in page],
            "first_id": page[0].id if page else None,
            "last_id": page[-1].id if page else None,
            "has_more": start + len(page) < len(batches),
        }

    def _show(self, name: str, address: str) -> tuple[int, Any]:
        batch = self.batches.get(name)
        if batch is None:
            return 404, {"error": {"type": "not_found_error", "message": f"no batch {name}"}}
        return 200, self._write(batch, address)

    def _cancel(self, name: str, address: str) -> tuple[int, Any]:
        self.batches[name].canceled = self.batches[name].ended = True
        return 200, self._write(self.batches[name], address)

    def _write(self, batch: Batch, address: str) -> dict[str, Any]:
        return self._write_openai(batch) if batch.wire == "openai" else self._write_anthropic(batch, address)

    def _write_anthropic(self, batch: Batch, address: str) -> dict[str, Any]:
        created = datetime.fromtimestamp(batch.created, UTC)
        kinds = [self._read_fate(batch, step) for *_, step in batch.lines] if batch.ended else []
        counts = {kind: kinds.count(kind) for kind in ("succeeded", "errored", "canceled", "expired")}
        results = f"{address}/v1/messages/batches/{batch.id}/results"
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if batch.ended else "in_progress",
            "request_counts": counts | {"processing": len(batch.lines) - len(kinds)},
            "created_at": created.isoformat().replace("+00:00", "Z"),
            "expires_at": (created + timedelta(days=1)).isoformat().replace("+00:00", "Z"),
            "ended_at": created.isoformat().replace("+00:00", "Z") if batch.ended else None,
            "cancel_initiated_at": None,
            "archived_at": None,
            "results_url": results if batch.ended else None,
        }

    def _read_fate(self, batch: Batch, step: Step) -> str:
        if batch.expired or step.kind == "expired":
            return "expired"
        if batch.canceled or step.kind == "canceled":
            return "canceled"
        return "errored" if step.kind in ("status", "too-long", "declined") else "succeeded"

    def _write_anthropic_results(self, batch: Batch, answerer: Answerer | None) -> str:
        lines = []
        for name, request, step in batch.lines:
            if step.kind == "gone":
                continue
            fate = self._read_fate(batch, step)
            result: dict[str, Any] = {"type": fate}
            if fate in ("succeeded", "errored"):
                _, body = answer_call("anthropic", request, step, answerer)
                result |= {"message": body} if fate == "succeeded" else {"error": body}
            line = json.dumps({"custom_id": name, "result": result})
            lines.append(line[: len(line) // 2] if step.kind == "malformed" else line)
        # A provider owes no order.
        return "".join(f"{line}\n" for line in reversed(lines))

    def _write_openai(self, batch: Batch) -> dict[str, Any]:
        fates = [self._read_fate(batch, step) for *_, step in batch.lines]
        done = fates.count("succeeded")
        status = "in_progress"
        if batch.ended:
            status = "expired" if batch.expired else "cancelled" if batch.canceled else "completed"
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/responses",
            "completion_window": "24h",
            "created_at": int(batch.created),
            "input_file_id": batch.file,
            "status": status,
            "metadata": batch.metadata,
            "request_counts": {
                "total": len(batch.lines),
                "completed": done if batch.ended else 0,
                "failed": len(fates) - done if batch.ended else 0,
            },
            "output_file_id": f"out-{batch.id}" if batch.ended and done else None,
            "error_file_id": f"err-{batch.id}" if batch.ended and done < len(fates) else None,
        }

    def _read_file(self, name: str, answerer: Answerer | None) -> tuple[int, Any]:
        kind, _, batch_id = name.partition("-")
        batch = self.batches[batch_id]
        lines = []
        for custom_id, request, step in batch.lines:
            fate = self._read_fate(batch, step)
            if step.kind == "gone" or (fate == "succeeded") != (kind == "out"):
                continue
            response, error = None, None
            if fate in ("expired", "canceled"):
                code = "batch_expired" if fate == "expired" else "batch_cancelled"
                error = {"code": code, "message": "This request could not be executed."}
            else:
                status, body = answer_call("openai", request, step, answerer)
                response = {"status_code": status, "request_id": "req_line", "body": body}
            line = json.dumps({"id": "l", "custom_id": custom_id, "response": response, "error": error})
            lines.append(line[: len(line) // 2] if step.kind == "malformed" else line)
        return 200, "".join(f"{line}\n" for line in reversed(lines))
