"""Small, valid calls to models, and what became of them."""

from __future__ import annotations

from typing import Any

import duckdb

from pipeline.store import Store
from pipeline.types import Call, CallEnd, Completion, ProviderBatch, Usage
from tests.store.examples import NOON

USAGE = Usage(input_tokens=100, cache_read_tokens=40, cache_write_tokens=20, output_tokens=10)


def call(name: str, **others: Any) -> Call:
    """Return a call that was estimated to cost 900 micro-dollars."""
    values: dict[str, Any] = {
        "id": f"c-{name}",
        "key": f"k-{name}",
        "grading_id": "g-a",
        "submission_id": "s-a",
        "criteria": ("clarity", "tiling"),
        "role": "judge",
        "provider": "anthropic",
        "model": "claude",
        "started_at": NOON,
        "estimated_cost": 900,
    }
    return Call(**(values | others))


def answer(text: str = "level 3") -> Completion:
    return Completion(text=text, stop="complete", model="claude-1", request_id="req-1", usage=USAGE)


def answered(name: str, cost: int = 500) -> CallEnd:
    return CallEnd(call_id=f"c-{name}", outcome="answered", seconds=1.5, usage=USAGE, cost=cost)


def failed(name: str) -> CallEnd:
    return CallEnd(
        call_id=f"c-{name}", outcome="failed", code="overloaded", message="HTTP 529", seconds=0.1, cost=0
    )


def lost(name: str, cost: int = 900) -> CallEnd:
    return CallEnd(
        call_id=f"c-{name}", outcome="lost", code="timeout", message="no answer", seconds=60.0, cost=cost
    )


def provider_batch(name: str, *members: str) -> tuple[ProviderBatch, list[Call]]:
    """Return a provider batch of one call per member, and the calls."""
    calls = [call(member, batch_id=f"pb-{name}") for member in members]
    keys = tuple(each.key for each in calls)
    return (
        ProviderBatch(id=f"pb-{name}", provider="anthropic", model="claude", keys=keys, created_at=NOON),
        calls,
    )


def ask_snapshot(store: Store, sql: str) -> list[tuple[Any, ...]]:
    """Return what an analyst would find."""
    with duckdb.connect(str(store.snapshot()), read_only=True) as reader:
        return reader.execute(sql).fetchall()
