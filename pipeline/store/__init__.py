"""The store: one DuckDB file, its journal and its owner. The only place with SQL."""

from pipeline.store.errors import StoreError
from pipeline.store.opening import open_store
from pipeline.store.records import (
    BatchSummary,
    Document,
    GradingState,
    GradingSummary,
    ReviewState,
    StageRecord,
)
from pipeline.store.store import Store

__all__ = [
    "BatchSummary",
    "Document",
    "GradingState",
    "GradingSummary",
    "ReviewState",
    "StageRecord",
    "Store",
    "StoreError",
    "open_store",
]
