"""Expert labels from files: what is kept, what is refused and why, and that nobody counts twice."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import GraderError
from pipeline.review.exchange.expert_labels import ExpertImport, LabelFile, import_expert_labels
from pipeline.review.exports import Format, export_labels
from pipeline.review.labels import FileLabel, Label, Labels, read_labels
from pipeline.store import Document, Store
from pipeline.types import Purpose
from tests.review.desk_examples import (
    ANNA,
    BEN,
    CODE,
    HASH,
    NOON,
    RUBRIC,
    add_graded,
    copy_store,
)
from tests.review.labelled import Teller, add_review

LATER = NOON + timedelta(days=2)
ROW = {"submission": "s-first", "rater": "ada", "criterion": "clarity", "level": 3, "rubric": "small v1"}


@pytest.fixture(autouse=True)
def _graded(store: Store) -> None:
    for name in ("first", "other"):
        add_graded(store, name)
    store.flush()


def as_csv(*rows: dict[str, Any], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(
        out, list(dict.fromkeys(name for row in rows for name in row)), delimiter=delimiter
    )
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def as_jsonl(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def take_in(store: Store, data: bytes, folder: Path, name: str = "labels") -> ExpertImport:
    path = folder / name
    path.write_bytes(data)
    return import_expert_labels(store, path, data, imported_by="dora", now=LATER)


def said(store: Store) -> list[tuple[str, str, str, int | None]]:
    return sorted(
        (label.grading_id, label.rater, label.criterion, label.level)
        for label in read_labels(store)
        if label.source == "file"
    )


def refusal(result: ExpertImport) -> str:
    (row,) = result.bad
    assert result.labels == 0
    return row.reason


def test_a_row_becomes_a_label_with_where_it_came_from(store: Store, tmp_path: Path) -> None:
    data = as_csv({**ROW, "at": "2026-11-29T10:00:00Z", "probability": "0.25", "note": "on paper"})
    result = take_in(store, data, tmp_path)
    sha256 = hashlib.sha256(data).hexdigest()
    assert result == ExpertImport(file=sha256, labels=1, unchanged=0, bad=(), notes=())
    (label,) = read_labels(store)
    assert (label.grading_id, label.submission_id, label.rubric) == ("g-first", "s-first", HASH)
    assert (label.rater, label.criterion, label.level, label.state) == ("ada", "clarity", 3, "judged")
    assert (label.source, label.purpose, label.probability) == ("file", None, 0.25)
    assert label.at == datetime(2026, 11, 29, 10, tzinfo=UTC)
    (kept,) = store.desk.list_records("file_label", FileLabel)
    assert (kept.file, kept.imported_by, kept.imported_at, kept.note) == (sha256, "dora", LATER, "on paper")
    (file,) = store.desk.list_records("label_file", LabelFile)
    assert (file.sha256, file.labels, file.refused, file.imported_by) == (sha256, 1, 0, "dora")


def test_several_experts_may_label_one_submission(store: Store, tmp_path: Path) -> None:
    take_in(store, as_csv(ROW, {**ROW, "rater": "ben", "level": 1}), tmp_path)
    assert said(store) == [("g-first", "ada", "clarity", 3), ("g-first", "ben", "clarity", 1)]


def test_what_cannot_be_judged_is_kept_with_its_reason(store: Store, tmp_path: Path) -> None:
    result = take_in(store, as_csv({**ROW, "level": "cannot judge", "reason": "no facts"}), tmp_path)
    assert result.labels == 1
    (label,) = read_labels(store)
    assert (label.state, label.level, label.reason) == ("cannot_judge", None, "no facts")


@pytest.mark.parametrize(
    "named",
    [
        {"submission": "s-first"},
        {"submission": "s-fir"},
        {"submission": "first/kernel.py"},
        {"grading": "g-first"},
        {"grading_id": "g-first", "review_id": "r-elsewhere"},
        {"submission": "s-first", "grading": "g-first"},
    ],
    ids=str,
)
def test_a_submission_is_named_by_id_beginning_path_or_grading(
    store: Store, tmp_path: Path, named: dict[str, str]
) -> None:
    row = {name: value for name, value in ROW.items() if name != "submission"} | named
    if named.get("submission") == "s-fir":
        row["submission"] = "s-firs"
    assert take_in(store, as_csv(row), tmp_path).bad == ()
    assert said(store) == [("g-first", "ada", "clarity", 3)]


def test_the_hash_of_the_code_names_a_submission_unless_two_hold_the_same(
    store: Store, tmp_path: Path
) -> None:
    sha256 = hashlib.sha256(CODE.encode()).hexdigest()
    reason = refusal(take_in(store, as_csv({**ROW, "submission": sha256}), tmp_path))
    assert "is 2 submissions; give an id: s-first, s-other" in reason


@pytest.mark.parametrize("named", ["r-seen-1", "r-seen"])
def test_a_review_is_named_by_its_id_or_its_beginning(store: Store, tmp_path: Path, named: str) -> None:
    add_review(store, "seen-1", clarity=1)
    row = {**{name: value for name, value in ROW.items() if name != "submission"}, "review": named}
    assert take_in(store, as_csv(row), tmp_path).labels == 1
    (label,) = read_labels(store)
    assert (label.review_id, label.grading_id) == ("r-seen-1", "g-seen-1")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"submission": "s-nowhere"}, "no submission here has the id, path or code 's-nowhere'"),
    ({"submission": "s-f"}, "no submission here has the id, path or code 's-f'"),
    ({"submission": ""}, "it names no submission"),
    ({"grading": "g-other"}, "belongs to different submissions"),
    ({"rater": " "}, "a rater's name has 1 to 200 characters"),
    ({"rater": "a" * 201}, "a rater's name has 1 to 200 characters"),
    ({"criterion": "beauty"}, "no criterion 'beauty'; choose from correct, clarity, safety"),
    ({"criterion": "correct"}, "settled by a check"),
    ({"level": 5}, "has no level"),
    ({"level": -1}, "has no level"),
    ({"level": "2.5"}, "has no level"),
    ({"level": "nan"}, "has no level"),
    ({"level": ""}, "it has no level; write cannot_judge"),
    ({"rubric": ""}, "it names no rubric"),
    ({"rubric": "small"}, "is no rubric"),
    ({"rubric": "small v9"}, "no rubric small v9 was published here"),
    ({"rubric": "0" * 64}, "no rubric with the hash 000000000000 is in this database"),
    ({"at": "yesterday"}, "is no time"),
    ({"probability": "0"}, "is no probability"),
    ({"probability": "1.5"}, "is no probability"),
    ({"probability": "nan"}, "is no probability"),
    ({"probability": "half"}, "is no probability"),
    ({"note": "x" * 1_000_000}, "'note' has 1,000,000 characters; at most 20,000 are read"),
    ({"reason": "x" * 2001}, "its reason has 2,001 characters; at most 2,000 are kept"),
    ({"source": "constructed"}, "it is no expert's"),
    ({"purpose": "adjudication"}, "an adjudicator knew what others said"),
    ({"purpose": "gold"}, "a gold item is planted"),
    ({"purpose": "norming"}, "is talked about"),
]


def test_a_row_that_cannot_be_taken_is_listed_and_the_others_are_kept(store: Store, tmp_path: Path) -> None:
    rows = [{**ROW, "rater": "ben"}, *({**ROW, **changed} for changed, _ in REFUSED)]
    result = take_in(store, as_csv(*rows), tmp_path)
    assert [bad.where for bad in result.bad] == [f"row {number}" for number in range(3, len(REFUSED) + 3)]
    for bad, (changed, reason) in zip(result.bad, REFUSED, strict=True):
        assert reason in bad.reason, str(changed)[:80]
    assert said(store) == [("g-first", "ben", "clarity", 3)]


def test_of_rows_that_contradict_each_other_neither_is_taken(store: Store, tmp_path: Path) -> None:
    result = take_in(store, as_csv(ROW, {**ROW, "criterion": "safety"}, {**ROW, "level": 1}), tmp_path)
    assert [(row.where, row.reason) for row in result.bad] == [
        ("row 2", "ada says 3 here and 1 in row 4: neither is taken"),
        ("row 4", "ada says 1 here and 3 in row 2: neither is taken"),
    ]
    assert said(store) == [("g-first", "ada", "safety", 3)]


def test_the_same_row_twice_is_one_label(store: Store, tmp_path: Path) -> None:
    result = take_in(store, as_csv(ROW, {**ROW, "submission": "first/kernel.py"}), tmp_path)
    assert (result.labels, result.unchanged, result.bad) == (1, 1, ())


def test_the_same_file_again_changes_nothing(store: Store, tmp_path: Path) -> None:
    data = as_csv(ROW, {**ROW, "criterion": "safety"})
    take_in(store, data, tmp_path)
    before = store.desk.list_records("file_label", FileLabel)
    again = import_expert_labels(
        store, tmp_path / "x", data, imported_by="eve", now=LATER + timedelta(days=1)
    )
    assert (again.labels, again.unchanged, again.bad) == (0, 2, ())
    assert store.desk.list_records("file_label", FileLabel) == before
    (file,) = store.desk.list_records("label_file", LabelFile)
    assert file.imported_by == "dora"


def test_what_a_person_said_before_stays(store: Store, tmp_path: Path) -> None:
    take_in(store, as_csv(ROW), tmp_path)
    result = take_in(store, as_csv({**ROW, "level": 4}), tmp_path)
    assert refusal(result) == "ada said 3 of 'clarity' before, and what was said blind stays"
    assert said(store) == [("g-first", "ada", "clarity", 3)]


def test_a_label_under_an_older_rubric_is_kept_under_its_hash_and_said(store: Store, tmp_path: Path) -> None:
    old = RUBRIC.model_copy(update={"version": "v0"})
    store.save_documents(
        [
            Document(
                kind="rubric", id="small", version="v0", sha256=old.content_hash(), text=old.model_dump_json()
            )
        ]
    )
    result = take_in(store, as_csv({**ROW, "rubric": old.content_hash()}), tmp_path)
    assert result.notes == (
        "1 labels were given under small v0, by which their submissions are not judged now",
    )
    (label,) = read_labels(store)
    assert (label.grading_id, label.rubric) == ("g-first", old.content_hash())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"s-first,ada,clarity,3,small v1\n", "its header has no column rater, criterion, level, rubric"),
        (as_csv(ROW)[:-1] + b"\xff\n", "is no UTF-8 text"),
        (as_csv(ROW).decode().encode("utf-16"), "is no UTF-8 text"),
        (b"rater,rater,criterion,level,rubric\n", "names rater twice"),
        (b"submission,rater,criterion,level,rubric\n", "it holds no labels"),
        (b"{no json", "neither JSON"),
        (b"PAR1 and nothing else", "no Parquet file"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_file_that_cannot_be_read_as_a_whole_is_one_sentence(
    store: Store, tmp_path: Path, data: bytes, message: str
) -> None:
    with pytest.raises(GraderError, match=message) as caught:
        take_in(store, data, tmp_path)
    assert "\n" not in caught.value.fault.message
    assert said(store) == []


def test_csv_may_have_semicolons_a_byte_order_mark_and_empty_lines(store: Store, tmp_path: Path) -> None:
    data = (
        b"\xef\xbb\xbf" + as_csv(ROW, {**ROW, "level": "2.0", "rater": "ben"}, delimiter=";") + b"\r\n;;\r\n"
    )
    assert take_in(store, data, tmp_path).bad == ()
    assert [level for *_, level in said(store)] == [3, 2]


def test_broken_json_lines_are_listed(store: Store, tmp_path: Path) -> None:
    data = as_jsonl(ROW) + b"{broken\n" + as_jsonl([1], {**ROW, "level": [3]}, {**ROW, "note": "\ud800"})
    result = take_in(store, data, tmp_path)
    assert [(row.where, row.reason) for row in result.bad] == [
        ("record 2", "line 2 is no JSON"),
        ("record 3", "it is no JSON object"),
        ("record 4", "'level' is neither text nor a number"),
        ("record 5", "'note' holds half a surrogate pair, which is no text"),
    ]
    assert len(said(store)) == 1


def told(store: Store) -> list[Label]:
    """Return what the desk holds once Anna and Ben have labelled one review."""
    add_review(store, "seen", clarity=1, safety=1)
    teller = Teller(store)
    teller.commit(ANNA, "seen", clarity=3, safety=None)
    teller.open(ANNA, "seen", 1, Purpose.SECOND, 0.15)
    teller.commit(BEN, "seen", slot=1, clarity=2, safety=4)
    teller.keep()
    return read_labels(store)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_exported_labels_come_back_elsewhere_as_they_were(
    store: Store, tmp_path: Path, empty_database: Path, form: Format
) -> None:
    labels = told(store)
    data = export_labels(labels, form)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with copy_store(empty_database, folder) as elsewhere:
        add_graded(elsewhere, "seen")
        elsewhere.flush()
        result = take_in(elsewhere, data, folder, f"labels[1]*.{form}")
        assert (result.labels, result.bad, result.notes) == (4, (), ())
        back = read_labels(elsewhere)

    def essence(label: Label) -> tuple[object, ...]:
        return (
            label.grading_id,
            label.rater,
            label.criterion,
            label.level,
            label.reason,
            label.rubric,
            label.at,
        )

    assert sorted(map(essence, back), key=str) == sorted(map(essence, labels), key=str)
    # A second place is drawn among reviews: with 0.15 nobody drew the submission.
    assert {label.probability for label in back} == {None}


@pytest.mark.parametrize("pseudonyms", [False, True])
def test_exported_labels_come_back_into_their_own_store_as_nothing_new(
    store: Store, tmp_path: Path, pseudonyms: bool
) -> None:
    labels = told(store)
    reader = Labels(store)
    shown = [reader.hide_rater(label) for label in labels] if pseudonyms else labels
    result = take_in(store, export_labels(shown, "jsonl"), tmp_path)
    assert (result.labels, result.unchanged, result.bad) == (0, 4, ())
    assert read_labels(store) == labels


def test_text_that_a_spreadsheet_would_run_comes_back_as_it_was(store: Store, tmp_path: Path) -> None:
    take_in(store, as_jsonl({**ROW, "reason": "=1+1", "rater": "@ada"}), tmp_path)
    exported = export_labels(read_labels(store), "csv")
    assert b"'=1+1" in exported
    result = take_in(store, exported, tmp_path)
    assert (result.unchanged, result.bad) == (1, ())


CELL = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))


@given(
    rows=st.lists(
        st.dictionaries(
            st.sampled_from([*ROW, "at", "probability", "note", "state", "purpose", "grading", "review"]),
            CELL,
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_rows_hold_each_is_kept_or_listed(
    store: Store, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    result = take_in(store, as_jsonl(*({**ROW, **row} for row in rows)), tmp_path)
    assert result.labels + result.unchanged + len(result.bad) == len(rows)


@given(data=st.binary(max_size=200))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_file_holds_it_is_refused_or_listed(store: Store, tmp_path: Path, data: bytes) -> None:
    with contextlib.suppress(GraderError):
        assert take_in(store, data, tmp_path).labels == 0
