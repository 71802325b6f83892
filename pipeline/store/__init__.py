"""The store: one DuckDB file, its journal and its owner. The only place with SQL."""

from pipeline.store.desk import DeskRecords
from pipeline.store.drafts import DraftPlace, Drafts
from pipeline.store.errors import StoreError
from pipeline.store.ledger import CostGroup, Ledger
from pipeline.store.opening import open_store
from pipeline.store.records import (
    BatchEvent,
    BatchSummary,
    CostLine,
    DeskItem,
    Document,
    DoubtfulCall,
    DraftLevel,
    GradingState,
    GradingSummary,
    ProviderBatchEvent,
    ProviderBatchState,
    ReviewState,
    StageRecord,
)
from pipeline.store.settling import Settling
from pipeline.store.store import Store

__all__ = [
    "BatchEvent",
    "BatchSummary",
    "CostGroup",
    "CostLine",
    "DeskItem",
    "DeskRecords",
    "Document",
    "DoubtfulCall",
    "DraftLevel",
    "DraftPlace",
    "Drafts",
    "GradingState",
    "GradingSummary",
    "Ledger",
    "ProviderBatchEvent",
    "ProviderBatchState",
    "ReviewState",
    "Settling",
    "StageRecord",
    "Store",
    "StoreError",
    "open_store",
]
