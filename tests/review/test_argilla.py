"""Argilla: records with their settings go out, responses come back in both of its shapes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from pipeline.review.exchange import ImportResult, collect_items, gather_criteria, import_answers
from pipeline.review.exchange.argilla import export_records, export_settings, read_responses
from pipeline.review.labels import read_labels
from pipeline.store import Store
from tests.review.desk_examples import HASH, NOON, TASK
from tests.review.labelled import add_review

ADA, BOB = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"
METADATA = {"review_id": "r-a", "rubric": HASH, "task": TASK.id}


@pytest.fixture(autouse=True)
def review(store: Store) -> str:
    return add_review(store, "a", clarity=1, safety=1)


def by_question(**questions: Any) -> dict[str, Any]:
    """Return a record as the SDK writes it: the answers of every user stand by question."""
    return {"id": "r-a", "fields": {}, "metadata": METADATA, "responses": questions, "_server_id": None}


def by_user(*responses: dict[str, Any]) -> dict[str, Any]:
    """Return a record as the HTTP API gives it."""
    return {"id": "0", "external_id": "r-a", "metadata": METADATA, "responses": list(responses)}


def response(status: str = "submitted", user: str = ADA, **values: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "user_id": user,
        "status": status,
        "values": {name: {"value": value} for name, value in values.items()},
        "inserted_at": "2026-11-30T12:00:00",
        "updated_at": "2026-11-30T13:00:00.5",
    }


def take_in(store: Store, records: Any, raters: dict[str, str] | None = None) -> ImportResult:
    data = json.dumps(records).encode()
    return import_answers(store, "argilla", read_responses(data, raters), imported_by="dora", now=NOON)


def test_a_record_holds_the_code_and_the_facts_and_nothing_that_leads(store: Store) -> None:
    items, _ = collect_items(store)
    text = export_records(items)
    (record,) = json.loads(text)
    assert record["id"] == "r-a"
    assert record["metadata"] == METADATA
    assert set(record["fields"]) == {"statement", "code", "evidence"}
    assert record["fields"]["code"] == "first\nsecond\nthird\n"
    assert record["suggestions"] == record["responses"] == record["vectors"] == {}
    for secret in ("it reads so", "It runs.", "certificate", "kernel.py", "draft"):
        assert secret not in text


def test_the_settings_have_a_question_with_its_levels_per_criterion_asked(store: Store) -> None:
    items, _ = collect_items(store)
    settings = json.loads(export_settings(gather_criteria(items)))
    assert [field["name"] for field in settings["fields"]] == ["statement", "code", "evidence"]
    names = [question["name"] for question in settings["questions"]]
    assert names == ["clarity", "clarity__reason", "safety", "safety__reason"]
    assert all(re.fullmatch(r"[a-z0-9_-]+", name) for name in names)
    clarity = settings["questions"][0]
    assert clarity["settings"]["type"] == "label_selection"
    assert [option["value"] for option in clarity["settings"]["options"]] == [*"01234", "cannot_judge"]
    assert clarity["settings"]["options"][3]["text"] == "3: anchor 3"


def test_responses_by_question_come_back_per_user(store: Store) -> None:
    record = by_question(
        clarity=[{"value": "3", "user_id": ADA}, {"value": "1", "user_id": BOB}],
        safety=[{"value": "cannot_judge", "user_id": ADA}],
        safety__reason=[{"value": "No tail is shown.", "user_id": ADA}],
    )
    result = take_in(store, [record], {ADA: "ada"})
    assert (result.assessments, result.labels, result.bad) == (2, 3, ())
    labels = {(label.rater, label.criterion): label for label in read_labels(store)}
    assert labels["ada", "clarity"].level == 3
    assert labels["ada", "safety"].reason == "No tail is shown."
    assert labels[BOB, "clarity"].level == 1
    assert {label.source for label in labels.values()} == {"argilla"}
    # The SDK writes no times: the import's stands for them.
    assert labels["ada", "clarity"].at == NOON


def test_responses_by_user_come_back_with_their_time(store: Store) -> None:
    result = take_in(store, {"items": [by_user(response(clarity="3", safety="2"))], "total": 1})
    assert (result.assessments, result.labels) == (1, 2)
    label = read_labels(store)[0]
    assert (label.rater, label.level, label.seconds) == (ADA, 3, None)
    assert label.at == datetime(2026, 11, 30, 13, 0, 0, 500_000, tzinfo=UTC)


def test_drafts_and_discarded_responses_are_skipped(store: Store) -> None:
    record = by_user(
        response("draft", clarity="3"), response("discarded", BOB), response(user="c", clarity="2")
    )
    result = take_in(store, [record])
    assert (result.assessments, result.skipped, result.bad) == (1, 2, ())
    assert [label.rater for label in read_labels(store)] == ["c"]


def test_the_round_trip_brings_back_what_was_chosen_on_the_exported_form(store: Store) -> None:
    items, _ = collect_items(store)
    (record,) = json.loads(export_records(items))
    questions = json.loads(export_settings(gather_criteria(items)))["questions"]
    record["responses"] = {
        question["name"]: [{"value": question["settings"]["options"][2]["value"], "user_id": ADA}]
        for question in questions
        if question["settings"]["type"] == "label_selection"
    }
    take_in(store, [record])
    assert [(label.criterion, label.level) for label in read_labels(store)] == [("clarity", 2), ("safety", 2)]


BAD = [
    ({**by_question(clarity=[{"value": "3", "user_id": ADA}]), "metadata": {}}, "no review_id and rubric"),
    (
        {**by_question(clarity=[{"value": "3", "user_id": ADA}]), "metadata": {**METADATA, "rubric": "x"}},
        "another version of the rubric",
    ),
    (by_question(clarity=[{"value": "9", "user_id": ADA}]), "has no level '9'"),
    (by_question(clarity=[{"value": 2.5, "user_id": ADA}]), "has no level 2.5"),
    (by_question(clarity=[{"value": True, "user_id": ADA}]), "has no level True"),
    (by_question(speed=[{"value": "3", "user_id": ADA}]), "no criterion 'speed'"),
    (by_question(clarity=[{"value": "3"}]), "names no user"),
    (by_question(clarity="3"), "are no list"),
    (by_question(clarity=[{"value": "3", "user_id": ADA}] * 2), "answered twice by one user"),
    (by_user({"values": {}}), "no user_id and values"),
    (by_user(response()), "answers no criterion"),
    ({**by_user(), "responses": 7}, "neither by question nor a list"),
    ("text", "text"),
]


@pytest.mark.parametrize(("bad", "reason"), BAD, ids=[str(number) for number in range(len(BAD))])
def test_a_bad_record_is_listed_with_its_reason_and_the_rest_goes_on(
    store: Store, bad: Any, reason: str
) -> None:
    result = take_in(store, [bad, by_user(response(user="c", clarity="2"))])
    (row,) = result.bad
    assert row.where.startswith("record 1")
    assert reason in row.reason
    assert [label.rater for label in read_labels(store)] == ["c"]
