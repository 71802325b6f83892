"""Which tables rows are written to, and by which columns a row is found again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from operator import itemgetter

from pipeline.store.transport import Row

__all__ = ["TABLES", "Table"]


_KINDS: dict[str, type | tuple[type, ...]] = {
    "VARCHAR": str,
    "INTEGER": int,
    "BIGINT": int,
    "DOUBLE": (float, int),
    "BOOLEAN": bool,
    "BLOB": bytes,
    "TIMESTAMPTZ": datetime,
    "INTEGER[]": (list, tuple),
    "VARCHAR[]": (list, tuple),
}


@dataclass(frozen=True)
class Table:
    """One table as rows are written to it; ``created_at`` and ``seq`` are filled in by the database."""

    name: str
    columns: dict[str, str]
    """Name to DuckDB type, in the order of a row's values."""
    key: tuple[str, ...]
    looked_up_by: str
    """The column of the key that tells most rows apart; it has an index."""
    repeats: bool = False
    """Whether a key may have several rows, of which the newest counts."""
    cached: bool = False
    """Whether found rows stay in memory: they never change and the next stage reads them again."""
    sparse: bool = False
    """Whether most keys that are looked up are not there: the owner then knows which ones are."""
    by_content: bool = False
    """Whether the key is a hash of the row, so that many bring the very same rows."""

    @cached_property
    def key_of(self) -> Callable[[Row], tuple[object, ...]]:
        """What returns the key of a row; called for every row there is."""
        names = list(self.columns)
        first, *others = (names.index(name) for name in self.key)
        if others:
            return itemgetter(first, *others)
        return lambda row: (row[first],)

    def check(self, row: Row) -> None:
        """Refuse a row that DuckDB would refuse, while it can still be told apart from everybody else's.

        Raises:
            ValueError: If `row` has too few or too many values, or one of a wrong kind.
        """
        if not isinstance(row, list | tuple) or len(row) != len(self.columns):
            raise ValueError(
                f"a row of {self.name} has {len(self.columns)} values: {', '.join(self.columns)}"
            )
        if tuple(map(type, row)) in self._fitting:
            for value in row:
                kind = type(value)
                if kind is str and not value.isascii():
                    value.encode()
                elif kind is int and not -(2**31) <= value < 2**31:
                    break
            else:
                return
        self._check_values(row)
        self._fitting.add(tuple(map(type, row)))

    @cached_property
    def _fitting(self) -> set[tuple[type, ...]]:
        """Types of rows that were looked at value by value before; nearly every row has those of another."""
        return set()

    def _check_values(self, row: Row) -> None:
        for (name, kind), value in zip(self.columns.items(), row, strict=True):
            if value is None and name not in self.key:
                continue
            if not isinstance(value, _KINDS[kind]):
                raise ValueError(f"{self.name}.{name} is {kind}, not {type(value).__name__}")
            if kind == "INTEGER" and isinstance(value, int) and not -(2**31) <= value < 2**31:
                raise ValueError(f"{self.name}.{name} is {value}, more than 32 bits hold")
            if isinstance(value, str) and not value.isascii():
                value.encode()  # A lone surrogate is text to Python and to nobody else.

    # Names below are constants of this file: no text of a submission or a user gets near these statements.

    @cached_property
    def insert(self) -> str:
        """Statement that takes one list per column and ignores rows whose key is there."""
        verb = "INSERT" if self.repeats else "INSERT OR IGNORE"
        return f"{verb} {self._values}"

    @cached_property
    def replace(self) -> str:
        """Statement that takes one list per column and replaces rows whose key is there."""
        return f"INSERT OR REPLACE {self._values}"

    @cached_property
    def lookup(self) -> str:
        """Statement that takes the value of `looked_up_by` and returns every row with it, the newest first.

        One condition and no LIMIT: with more of either DuckDB scans the table instead of using an index.
        """
        newest = " ORDER BY seq DESC" if self.repeats else ""
        return f"SELECT {', '.join(self.columns)} FROM {self.name} WHERE {self.looked_up_by} = $1{newest}"  # noqa: S608

    @cached_property
    def list_keys(self) -> str:
        """Statement that returns the value that each row is looked up by."""
        return f"SELECT {self.looked_up_by} FROM {self.name}"  # noqa: S608

    @cached_property
    def _values(self) -> str:
        lists = ", ".join(
            f"unnest(${place}::{kind}[])" for place, kind in enumerate(self.columns.values(), 1)
        )
        return f"INTO {self.name} ({', '.join(self.columns)}) SELECT {lists}"


def _table(
    name: str,
    key: str,
    columns: str,
    *,
    by: str = "",
    repeats: bool = False,
    cached: bool = False,
    sparse: bool = False,
    by_content: bool = False,
) -> Table:
    pairs = [column.partition(":") for column in columns.split()]
    kinds = {column: kind.upper() or "VARCHAR" for column, _, kind in pairs}
    names = tuple(key.split())
    return Table(name, kinds, names, by or names[0], repeats, cached, sparse, by_content)


_OF_STAGE = "stage key position"

#: A column without a type is VARCHAR. The migrations say what each table holds.
_ALL = (
    _table("documents", "sha256 kind id version", "sha256 kind id version text", by_content=True),
    _table("submissions", "id", "id task_id refusal body", cached=True),
    _table("gradings", "id", "id submission_id fingerprint body", cached=True),
    _table("batches", "id", "id opened_at:timestamptz body"),
    _table(
        "batch_items",
        "batch_id position",
        "batch_id position:integer grading_id submission_id origin author",
    ),
    _table("rejections", "batch_id position", "batch_id position:integer origin owner code message"),
    _table(
        "stages",
        "stage key",
        "stage key output details seconds:double verdict overall:double passed:boolean confidence:double",
        by="key",
        cached=True,
        sparse=True,
    ),
    _table("stage_links", "grading_id stage", "grading_id stage key", repeats=True),
    _table(
        "facts",
        _OF_STAGE,
        "stage key position:integer fact value number:double unit provenance case_name label",
    ),
    _table("check_reports", _OF_STAGE, "stage key position:integer check_id status reason"),
    _table(
        "findings",
        _OF_STAGE,
        "stage key position:integer check_id severity owner message lines:integer[] facts:varchar[]",
    ),
    _table(
        "scores",
        _OF_STAGE,
        "stage key position:integer criterion level:integer source reason confidence:double",
    ),
    _table(
        "case_results",
        _OF_STAGE,
        "stage key position:integer case_name kind seed:integer verdict message worst_rel_l2:double",
    ),
    _table("artifacts", "sha256", "sha256 media_type size:bigint data:blob", by_content=True),
    _table("reviews", "id", "id grading_id reason opened_at:timestamptz kind body"),
    _table(
        "decisions",
        "review_id",
        "review_id reviewer passed:boolean levels comment decided_at:timestamptz body",
        sparse=True,
    ),
    _table("routes", "grading_id", "grading_id destination reason policy body", repeats=True, sparse=True),
    _table(
        "grades",
        "grading_id",
        "grading_id verdict overall:double passed:boolean scores feedback decided_by comment body",
        repeats=True,
        sparse=True,
    ),
    _table("journal_marks", "hash", "hash position:integer kind subject"),
    _table(
        "calls",
        "id",
        "id key grading_id submission_id criteria:varchar[] role provider model batch_id "
        "started_at:timestamptz estimated_cost:bigint body",
    ),
    _table(
        "call_ends",
        "call_id",
        "call_id outcome code message seconds:double input_tokens:bigint cache_read_tokens:bigint "
        "cache_write_tokens:bigint output_tokens:bigint cost:bigint",
    ),
    _table("answers", "key", "key provider model call_id body", sparse=True),
    _table("provider_batches", "id", "id provider model opened_at:timestamptz body"),
    _table("provider_batch_events", "id", "id batch_id event provider_id message", repeats=True),
    _table(
        "desk_events",
        "id",
        "id review_id slot:integer actor kind happened_at:timestamptz body",
        sparse=True,
    ),
    _table("desk_drafts", "place", "place revision:integer body", repeats=True, sparse=True),
    _table(
        "desk_activity",
        "id",
        "id account review_id started_at:timestamptz ended_at:timestamptz active_seconds:double body",
    ),
    _table("desk_records", "kind key", "kind key body", by="key", repeats=True, sparse=True),
    _table(
        "checkpoints",
        "thread_id namespace checkpoint_id",
        "thread_id namespace checkpoint_id parent_id run_id checkpoint_type checkpoint:blob "
        "metadata_type metadata:blob",
    ),
    _table(
        "checkpoint_writes",
        "thread_id namespace checkpoint_id task_id position",
        "thread_id namespace checkpoint_id task_id position:integer task_path channel value_type value:blob",
    ),
)

TABLES = {table.name: table for table in _ALL}
