"""Refusing, before it is queued, what no database takes: queued rows are committed with everybody else's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pipeline.store.errors import StoreError
from pipeline.store.tables import TABLES
from pipeline.store.transport import Command, Insert, Row
from pipeline.types import Frozen

__all__ = ["checked", "require_zone", "to_json"]


def to_json(model: Frozen) -> str:
    """Return `model` as JSON.

    Raises:
        StoreError: If it holds a text that no database takes.
    """
    try:
        return model.model_dump_json()
    except ValueError as error:
        raise _unstorable(type(model).__name__.lower(), error) from error


def checked(table: str, rows: Sequence[Row]) -> list[Command]:
    """Return what stores `rows`, none of which the database will refuse.

    Raises:
        StoreError: If it would refuse one.
    """
    # Here and not only by the writer: a client keeps what it sent, to send it again to the next owner.
    for row in rows:
        try:
            TABLES[table].check(row)
        except ValueError as error:
            raise _unstorable(table, error) from error
    return [Insert(table, list(rows))] if rows else []


def require_zone(moment: datetime, what: str) -> None:
    """Refuse a time that is another one on another machine; `what` says which.

    Raises:
        StoreError: If `moment` has no time zone.
    """
    if moment.tzinfo is None:
        raise StoreError("no_time_zone", f"{what} has no time zone")


def _unstorable(what: str, error: ValueError) -> StoreError:
    if "surrogate" in str(error):
        return StoreError("bad_text", f"{what}: the text holds a lone surrogate, which no database takes")
    return StoreError("bad_rows", f"{what}: {' '.join(str(error).split())}")
