"""Labels as files: every format holds the same rows, and no cell of CSV is a formula."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import duckdb
import pytest

from pipeline.review.exports import COLUMNS, export_labels, write_labels
from pipeline.review.labels import Label, read_labels
from pipeline.store import Store, StoreError
from pipeline.store.parquet import write_parquet
from pipeline.types import Answer, Assessment, Committed
from tests.review.desk_examples import ANNA, HASH
from tests.review.labelled import Teller, add_review

FORMULA = '=HYPERLINK("http://example.org")'
HOSTILE = 'a,"b"\r\n<script>\u202e'


@pytest.fixture
def labels(store: Store) -> list[Label]:
    """Two labels: a level with hostile text, and one that cannot be judged."""
    add_review(store, "a", kind="audit", probability=0.25)
    answers = {"clarity": Answer(level=3, reason=HOSTILE), "safety": Answer(level=None, reason=FORMULA)}
    teller = Teller(store)
    teller.tell(ANNA, "a", Committed(assessment=Assessment(answers=answers), rubric=HASH, seconds=12.5))
    teller.keep()
    return read_labels(store)


def read_parquet(data: bytes, folder: Path) -> list[dict[str, object]]:
    path = folder / "read.parquet"
    path.write_bytes(data)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.read_parquet(str(path))
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def test_parquet_holds_every_field_with_its_type(labels: list[Label], tmp_path: Path) -> None:
    rows = read_parquet(export_labels(labels, "parquet"), tmp_path)
    expected = [label.model_dump() for label in labels]
    # DuckDB gives times in its own zone object: equal instants, compared below.
    for row, label in zip(rows, expected, strict=True):
        assert row.pop("at") == label.pop("at")
        assert row == label
    assert list(COLUMNS) == list(Label.model_fields)


def test_jsonl_holds_a_label_per_line(labels: list[Label]) -> None:
    lines = export_labels(labels, "jsonl").decode().split("\n")
    assert lines.pop() == ""
    assert [Label.model_validate_json(line) for line in lines] == labels
    assert json.loads(lines[1])["level"] is None


def test_csv_keeps_text_whole_and_runs_no_formula(labels: list[Label]) -> None:
    rows = list(csv.DictReader(io.StringIO(export_labels(labels, "csv").decode(), newline="")))
    assert [row["reason"] for row in rows] == [HOSTILE, "'" + FORMULA]
    assert [row["level"] for row in rows] == ["3", ""]
    assert [row["purpose"] for row in rows] == ["first", "first"]
    assert rows[0]["at"] == "2026-11-30T12:00:00+00:00"
    assert list(rows[0]) == list(COLUMNS)


def test_no_labels_make_a_file_with_columns_alone(tmp_path: Path) -> None:
    assert read_parquet(export_labels([], "parquet"), tmp_path) == []
    assert export_labels([], "jsonl") == b""
    assert export_labels([], "csv").decode().strip().split(",") == list(COLUMNS)


def test_a_file_that_cannot_be_written_is_one_sentence_and_leaves_nothing(
    labels: list[Label], tmp_path: Path
) -> None:
    with pytest.raises(StoreError):
        write_labels(labels, tmp_path / "missing" / "labels.parquet")
    assert list(tmp_path.glob("**/*.unfinished")) == []


def test_a_pipe_or_device_is_not_replaced_by_a_table(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StoreError, match="no regular file"):
        write_parquet(pipe, {"n": "BIGINT"}, [(1,)])
    assert pipe.is_fifo()


def test_more_rows_than_one_portion_all_arrive(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    assert (
        write_parquet(path, {"n": "BIGINT", "word": "VARCHAR"}, ((n, None) for n in range(25_001))) == 25_001
    )
    rows = read_parquet(path.read_bytes(), tmp_path)
    assert [row["n"] for row in rows] == list(range(25_001))


@pytest.mark.parametrize("columns", [{"n": "BIGINT); DROP TABLE x; --"}, {"a b": "BIGINT"}])
def test_columns_that_are_no_plain_words_are_refused(columns: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_parquet(tmp_path / "x.parquet", columns, [])
