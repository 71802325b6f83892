"""Label Studio: what goes out leads nobody, and what comes back is held to the rubric row by row."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import GraderError
from pipeline.review.exchange import ImportResult, collect_items, gather_criteria, import_answers
from pipeline.review.exchange.label_studio import export_configuration, export_tasks, read_annotations
from pipeline.review.labels import read_labels
from pipeline.store import Store
from pipeline.types import CheckStatus, Decision, Submission
from tests.review.desk_examples import HASH, NOON, TASK, add_waiting
from tests.review.labelled import add_review

DATA = {"review_id": "r-a", "rubric": HASH}


@pytest.fixture(autouse=True)
def review(store: Store) -> str:
    return add_review(store, "a", clarity=1, safety=1)


def choice(criterion: str, value: str) -> dict[str, Any]:
    return {
        "id": "Dx",
        "from_name": criterion,
        "to_name": "code",
        "type": "choices",
        "value": {"choices": [value]},
        "origin": "manual",
    }


def annotation(*results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": 7,
        "completed_by": {"id": 3, "email": "ada@example.org", "first_name": "Ada"},
        "result": list(results),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-11-30T13:00:00.000000Z",
        "updated_at": "2026-11-30T13:05:00.123456Z",
        "lead_time": 61.5,
        **more,
    }


def task(*annotations: dict[str, Any], **data: Any) -> dict[str, Any]:
    return {"id": 1, "project": 83, "data": {**DATA, **data}, "annotations": list(annotations)}


def take_in(store: Store, tasks: Any, **raters: str) -> ImportResult:
    data = tasks if isinstance(tasks, bytes) else json.dumps(tasks).encode()
    return import_answers(store, "label_studio", read_annotations(data, raters), imported_by="dora", now=NOON)


def test_a_task_holds_the_code_and_the_facts_and_nothing_that_leads(store: Store) -> None:
    items, left_out = collect_items(store)
    assert left_out == []
    text = export_tasks(items)
    (exported,) = json.loads(text)
    assert exported["data"]["review_id"] == "r-a"
    assert exported["data"]["rubric"] == HASH
    assert exported["data"]["code"] == "first\nsecond\nthird\n"
    assert exported["data"]["statement"] == TASK.statement
    assert exported["data"]["evidence"] == "Verdict: correct\nCheck correct: passed: all cases agree"
    for secret in ("it reads so", "It runs.", "certificate", "chance", "kernel.py", "0.4", "draft"):
        assert secret not in text


def test_the_form_asks_what_no_check_settled_and_stores_bare_levels(store: Store) -> None:
    items, _ = collect_items(store)
    view = ElementTree.fromstring(export_configuration(gather_criteria(items)))
    assert {text.get("value") for text in view.iter("Text")} == {"$statement", "$code", "$evidence"}
    questions = {choices.get("name"): choices for choices in view.iter("Choices")}
    assert list(questions) == ["clarity", "safety"]
    offered = [(one.get("alias"), one.get("value")) for one in questions["clarity"]]
    assert offered[:2] == [("0", "0: anchor 0"), ("1", "1: anchor 1")]
    assert offered[-1][0] == "cannot_judge"
    assert {box.get("name") for box in view.iter("TextArea")} == {"clarity__reason", "safety__reason"}


def test_a_criterion_that_its_check_left_open_is_asked(store: Store) -> None:
    add_waiting(store, "open", correct=CheckStatus.UNKNOWN)
    items, _ = collect_items(store)
    assert {item.review_id: item.asked for item in items} == {
        "r-a": ("clarity", "safety"),
        "r-open": ("correct", "clarity", "safety"),
    }
    assert [criterion.id for criterion in gather_criteria(items)] == ["correct", "clarity", "safety"]


def test_decided_reviews_go_out_only_when_asked_for(store: Store) -> None:
    store.decide(Decision(review_id="r-a", reviewer="ada", levels={}, decided_at=NOON))
    assert collect_items(store) == ([], [])
    assert len(collect_items(store, decided_too=True)[0]) == 1
    with pytest.raises(GraderError) as refused:
        gather_criteria([])
    assert "no review" in refused.value.fault.message


def test_only_what_the_named_rubric_judges_goes_out(store: Store) -> None:
    assert len(collect_items(store, rubric="small")[0]) == 1
    assert collect_items(store, rubric="large") == ([], [])


def test_hidden_characters_of_a_submission_go_out_as_signs(store: Store) -> None:
    add_review(store, "b")
    code = "a\u202e = '\x1b[31m<script>'\n"
    store.save_submissions([Submission(id="s-hostile", task_id=TASK.id, code=code)])
    grading = store.load_grading("g-b").model_copy(update={"id": "g-c", "submission_id": "s-hostile"})
    store.save_gradings([grading])
    store.open_review(store.load_review("r-b").review.model_copy(update={"id": "r-c", "grading_id": "g-c"}))
    items, _ = collect_items(store)
    (hostile,) = (item for item in items if item.review_id == "r-c")
    assert hostile.code == "a⟦U+202E⟧ = '␛[31m<script>'\n"
    assert hostile.evidence == ""


def test_answers_come_back_as_labels_of_who_gave_them(store: Store) -> None:
    reason = {
        "from_name": "safety__reason",
        "to_name": "code",
        "type": "textarea",
        "value": {"text": ["The tail is not shown."]},
    }
    result = take_in(
        store, [task(annotation(choice("clarity", "3"), choice("safety", "cannot_judge"), reason))]
    )
    assert (result.assessments, result.labels, result.skipped, result.bad) == (1, 2, 0, ())
    clarity, safety = read_labels(store)
    assert (clarity.rater, clarity.source, clarity.level) == ("ada@example.org", "label_studio", 3)
    assert (clarity.seconds, clarity.rubric) == (61.5, HASH)
    assert clarity.at == datetime(2026, 11, 30, 13, 5, 0, 123456, tzinfo=UTC)
    assert (safety.state, safety.level, safety.reason) == ("cannot_judge", None, "The tail is not shown.")


def test_the_round_trip_brings_back_what_was_chosen_on_the_exported_form(store: Store) -> None:
    items, _ = collect_items(store)
    (exported,) = json.loads(export_tasks(items))
    form = ElementTree.fromstring(export_configuration(gather_criteria(items)))
    picked = [choice(str(one.get("name")), str(one[4].get("alias"))) for one in form.iter("Choices")]
    take_in(store, [{**exported, "annotations": [annotation(*picked)]}])
    assert [(label.criterion, label.level) for label in read_labels(store)] == [("clarity", 4), ("safety", 4)]


@pytest.mark.parametrize(
    ("completed_by", "rater"), [(3, "user 3"), ("bob", "bob"), ({"id": 3}, "user 3"), (12, "ada")]
)
def test_a_user_is_named_as_well_as_the_file_can(store: Store, completed_by: Any, rater: str) -> None:
    take_in(store, [task(annotation(choice("clarity", "3"), completed_by=completed_by))], **{"12": "ada"})
    assert [label.rater for label in read_labels(store)] == [rater]


@pytest.mark.parametrize("value", ["3", "3: anchor 3", " 3 "])
def test_a_level_may_come_in_the_words_of_the_choice(store: Store, value: str) -> None:
    take_in(store, [task(annotation(choice("clarity", value)))])
    assert [label.level for label in read_labels(store)] == [3]


def test_a_rating_is_a_level_too(store: Store) -> None:
    rating = {"from_name": "clarity", "to_name": "code", "type": "rating", "value": {"rating": 2}}
    take_in(store, [task(annotation(rating))])
    assert [label.level for label in read_labels(store)] == [2]


BAD = [
    (task(annotation(choice("clarity", "3")), review_id="r-nowhere"), "no review is called 'r-nowhere'"),
    (task(annotation(choice("clarity", "3")), rubric="other"), "another version of the rubric"),
    (task(annotation(choice("clarity", "3")), review_id=None), "no review_id"),
    (task(annotation(choice("clarity", "7"))), "has no level '7'; choose from 0, 1, 2, 3, 4 or cannot_judge"),
    (task(annotation(choice("clarity", "good"))), "has no level 'good'"),
    (task(annotation(choice("speed", "3"))), "no criterion 'speed'; choose from clarity, safety"),
    (task(annotation(choice("correct", "3"))), "settled by a check"),
    (task(annotation(choice("clarity", "3"), choice("clarity", "2"))), "answered twice"),
    (task(annotation()), "answers no criterion"),
    (task(annotation(choice("clarity", "3"), completed_by=None)), "nobody is named"),
    (task(annotation(choice("clarity", "3"), completed_by="x" * 201)), "1 to 200 characters"),
    (task(annotation(choice("clarity", "3"), completed_by=" ")), "1 to 200 characters"),
    (task(annotation(choice("clarity", "3"), updated_at="yesterday")), "'yesterday' is no time"),
    (task(annotation({"from_name": "clarity"})), "no from_name, type and value"),
    (task(annotation({**choice("clarity", "3"), "value": {"choices": ["1", "2"]}})), "not one choice"),
    (task({"was_cancelled": False}), "no list of results"),
    ({**DATA, "annotations": [annotation(choice("clarity", "3"))]}, "the task has no data"),
    ({"data": DATA, "annotations": "many"}, "not JSON-MIN"),
    (7, "no JSON object"),
]


@pytest.mark.parametrize(("bad", "reason"), BAD, ids=[str(number) for number in range(len(BAD))])
def test_a_bad_row_is_listed_with_its_reason_and_the_rest_goes_on(
    store: Store, bad: Any, reason: str
) -> None:
    result = take_in(store, [bad, task(annotation(choice("clarity", "3"), completed_by="bob"))])
    (row,) = result.bad
    assert row.where.startswith("task 1")
    assert reason in row.reason
    assert result.assessments == 1
    assert [label.rater for label in read_labels(store)] == ["bob"]


def test_a_cancelled_annotation_is_skipped(store: Store) -> None:
    result = take_in(store, [task(annotation(choice("clarity", "3"), was_cancelled=True)), task()])
    assert (result.assessments, result.skipped, result.bad) == (0, 1, ())
    assert read_labels(store) == []


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_answers_of_one_person_the_later_counts_and_the_other_is_listed(
    store: Store, order: int
) -> None:
    early = annotation(choice("clarity", "1"), updated_at="2026-11-30T10:00:00Z")
    late = annotation(choice("clarity", "4"), updated_at="2026-11-30T11:00:00Z")
    result = take_in(store, [task(*[early, late][::order])])
    assert [label.level for label in read_labels(store)] == [4]
    (row,) = result.bad
    assert row.where == f"task 1, annotation {1 if order == 1 else 2}"
    assert "answered this review again" in row.reason


def test_the_same_file_again_changes_nothing(store: Store) -> None:
    tasks = [task(annotation(choice("clarity", "3")))]
    take_in(store, tasks)
    before = read_labels(store)
    take_in(store, tasks)
    assert read_labels(store) == before


def test_names_that_would_steer_a_terminal_are_kept_as_signs(store: Store) -> None:
    take_in(store, [task(annotation(choice("clarity", "3"), completed_by="a\u202eb\x1b[31m\ud800"))])
    assert [label.rater for label in read_labels(store)] == ["a⟦U+202E⟧b␛[31m⟦U+D800⟧"]


def test_lines_of_json_are_read_too_and_a_broken_one_is_named(store: Store) -> None:
    good = json.dumps(task(annotation(choice("clarity", "3"))))
    result = take_in(store, f"{good}\n\n{{broken\n".encode())
    assert result.assessments == 1
    assert [row.reason for row in result.bad] == ["line 3 is no JSON"]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"7", b"not json", b"[" * 100_000])
def test_a_file_that_is_none_is_refused_in_one_sentence(store: Store, data: bytes) -> None:
    with pytest.raises(GraderError) as refused:
        take_in(store, data)
    assert refused.value.fault.code == "bad_import"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["data", "annotations", "result", "value", "choices", "from_name", "type", "completed_by",
             "review_id", "rubric", "lead_time", "updated_at"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(json_values, max_size=4))
def test_whatever_json_a_file_holds_there_is_an_answer_for_every_row(store: Store, tasks: list[Any]) -> None:
    result = take_in(store, tasks)
    assert result.assessments == 0
    assert len(result.bad) >= sum(not isinstance(one, dict) for one in tasks)
