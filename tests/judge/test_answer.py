"""What counts as an answer of a language model, and what is said about everything else."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judge.answer import AnswerError, Draft, answer_schema, read_answer, write_repair
from pipeline.library.rubrics import list_rubrics, load_rubric
from pipeline.types import Citation, Criterion, FeedbackItem, Level, Overall, Owner, Rubric, Score


def a_criterion(name: str, source: str = "judge", levels: tuple[int, ...] = (0, 1, 2, 3, 4)) -> Criterion:
    return Criterion(
        id=name,
        title=name.title(),
        question="?",
        weight=1.0,
        source=source,
        evidence=("code",),
        levels=tuple(Level(level=level, anchor=f"anchor {level}") for level in levels),
    )


RUBRIC = Rubric(
    id="r",
    version="v1",
    title="R",
    purpose="p",
    criteria=(a_criterion("overlap"), a_criterion("speed", "check:speed"), a_criterion("judgement")),
    overall=Overall(gates=(), pass_mark=0.5, minimum_scored_weight=0.5),
)
LINES = {"first_line": 3, "last_line": 4, "quote": "x = load(w)"}
FACT = {"fact": "profile.hbm_read_bytes", "value": "4096"}
GOOD: dict[str, Any] = {
    "scores": {
        "overlap": {
            "reason": "Loads and compute alternate.",
            "citations": [LINES],
            "level": 1,
            "confidence": 0.75,
        },
        "judgement": {
            "reason": "Nothing is said about it.",
            "citations": [],
            "level": None,
            "confidence": 0.5,
        },
    },
    "feedback": [
        {"part": "change", "text": "The load at line 3 repeats.", "citations": [LINES, FACT]},
        {"part": "next", "text": "Load the weights once.", "citations": []},
    ],
}


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    answer = copy.deepcopy(GOOD)
    change(answer)
    return json.dumps(answer)


def refuse(text: str) -> AnswerError:
    with pytest.raises(AnswerError) as caught:
        read_answer(text, RUBRIC)
    return caught.value


def test_an_answer_in_the_form_becomes_scores_in_the_rubrics_order_and_feedback_as_written() -> None:
    backwards = {**GOOD, "scores": dict(reversed(GOOD["scores"].items()))}
    lines = Citation(kind="lines", first_line=3, last_line=4, quote="x = load(w)")
    fact = Citation(kind="fact", fact="profile.hbm_read_bytes", value="4096")
    assert read_answer(json.dumps(backwards), RUBRIC) == Draft(
        scores=(
            Score(
                criterion="overlap",
                level=1,
                source="judge",
                reason="Loads and compute alternate.",
                citations=(lines,),
                confidence=0.75,
            ),
            Score(criterion="judgement", level=None, source="judge", reason="Nothing is said about it."),
        ),
        feedback=(
            FeedbackItem(part="change", text="The load at line 3 repeats.", citations=(lines, fact)),
            FeedbackItem(part="next", text="Load the weights once."),
        ),
    )


@pytest.mark.parametrize(
    "frame", ["{}", "\n {} \n", "```json\n{}\n```", "```\n{}\n```\n", " ```JSON \r\n{}\n```"]
)
def test_white_space_and_one_fence_around_the_object_are_forgiven(frame: str) -> None:
    assert read_answer(frame.replace("{}", json.dumps(GOOD)), RUBRIC) == read_answer(json.dumps(GOOD), RUBRIC)


def test_a_level_of_null_needs_no_confidence() -> None:
    text = changed(lambda answer: answer["scores"]["judgement"].update(confidence=None))
    assert read_answer(text, RUBRIC) == read_answer(json.dumps(GOOD), RUBRIC)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty_answer"),
        (" \n\t", "empty_answer"),
        (":", "not_json"),
        ("Thought process:", "not_json"),
        ("Let's solve this step by step.", "not_json"),
        ("Solution", "not_json"),
        ("4", "wrong_type"),
        ("null", "wrong_type"),
        ('"overlap: 4"', "wrong_type"),
        ("[]", "wrong_type"),
        ("{}", "missing_key"),
        ('{"scores": {}, "feedback": []}', "missing_criterion"),
        ("<html><body>502 Bad Gateway</body></html>", "not_json"),
        (json.dumps(GOOD)[:-1], "not_json"),
        (json.dumps(GOOD) + " I hope this helps.", "not_json"),
        ("Here it is:\n" + json.dumps(GOOD), "not_json"),
        ("Sure!\n```json\n" + json.dumps(GOOD) + "\n```", "not_json"),
        ("```json\n" + json.dumps(GOOD), "not_json"),
        (json.dumps(GOOD) * 2, "not_json"),
        ("\ufeff" + json.dumps(GOOD), "not_json"),
        ("[" * 100_000, "not_json"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "not_json"),
        ('{"scores": {}, "scores": {}, "feedback": []}', "duplicate_key"),
        ('{"scores": {"overlap": {"level": 0, "level": 4}}, "feedback": []}', "duplicate_key"),
        (json.dumps(GOOD).replace("0.75", "NaN"), "not_a_number"),
        (json.dumps(GOOD).replace("0.75", "Infinity"), "not_a_number"),
        (json.dumps(GOOD).replace("0.75", "1e999"), "not_a_number"),
        (json.dumps(GOOD).replace("0.75", "9" * 5_000), "not_a_number"),
        (json.dumps(GOOD).replace("Loads", "\\ud800"), "not_text"),
        (json.dumps(GOOD) + " " * 200_000, "answer_too_long"),
    ],
)
def test_text_that_is_no_answer_is_refused_by_kind(text: str, code: str) -> None:
    error = refuse(text)
    assert error.code == code
    assert error.fault.owner is Owner.JUDGE
    assert error.fault.code == code


def score(answer: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = answer["scores"]["overlap"]
    return entry


def item(answer: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = answer["feedback"][0]
    return entry


def assert_refused(text: str, code: str, problem: str) -> None:
    error = refuse(text)
    assert error.code == code
    assert problem in error.problems


@pytest.mark.parametrize(
    ("change", "code", "problem"),
    [
        (lambda a: a["scores"].pop("overlap"), "missing_criterion", "scores: criterion overlap is missing"),
        (
            lambda a: a["scores"].update(speed=score(a)),
            "extra_criterion",
            "scores: 1 entry that nobody asked for",
        ),
        (lambda a: a.update(scores=[]), "wrong_type", "scores: an array where an object is due"),
        (lambda a: a.update(scores=None), "missing_criterion", "scores: there are none"),
        (lambda a: a.pop("feedback"), "missing_key", "the answer: 'feedback' is missing"),
        (lambda a: a.update(grade=4), "extra_key", "the answer: 1 key other than scores, feedback"),
        (
            lambda a: a["scores"].update(overlap=4),
            "wrong_type",
            "scores.overlap: a number where an object is due",
        ),
        (lambda a: score(a).pop("level"), "missing_key", "scores.overlap: 'level' is missing"),
        (lambda a: a.update(feedback={}), "wrong_type", "feedback: an object where an array is due"),
        (lambda a: a.update(feedback=[]), "no_feedback", "feedback: there is no item"),
        (
            lambda a: a.update(feedback=a["feedback"] * 21),
            "too_much_feedback",
            "feedback: 42 items; the limit is 40",
        ),
        (lambda a: item(a).update(text="..."), "empty_text", "feedback[0].text: it says nothing"),
        (lambda a: item(a).pop("citations"), "missing_key", "feedback[0]: 'citations' is missing"),
    ],
)
def test_an_answer_with_too_much_or_too_little_is_refused_with_the_place(
    change: Callable[[dict[str, Any]], object], code: str, problem: str
) -> None:
    assert_refused(changed(change), code, problem)


@pytest.mark.parametrize(
    ("entry", "code", "problem"),
    [
        ({"level": 5}, "level_not_offered", ".level: the rubric offers 0, 1, 2, 3, 4, or null"),
        ({"level": -1}, "level_not_offered", ".level: the rubric offers 0, 1, 2, 3, 4, or null"),
        ({"level": "4"}, "wrong_type", ".level: text where a level or null is due"),
        ({"level": 3.0}, "wrong_type", ".level: a number where a level or null is due"),
        ({"level": True}, "wrong_type", ".level: a boolean where a level or null is due"),
        ({"citations": []}, "level_without_citation", ": a level needs at least one citation"),
        ({"citations": LINES}, "wrong_type", ".citations: an object where an array is due"),
        ({"citations": [LINES] * 21}, "too_many_citations", ".citations: 21 of them; the limit is 20"),
        ({"confidence": 1.01}, "confidence_out_of_range", ".confidence: it must be from 0 to 1"),
        ({"confidence": -0.1}, "confidence_out_of_range", ".confidence: it must be from 0 to 1"),
        ({"confidence": "high"}, "wrong_type", ".confidence: text where a number is due"),
        ({"confidence": None}, "wrong_type", ".confidence: null where a number is due"),
        ({"confidence": True}, "wrong_type", ".confidence: a boolean where a number is due"),
        ({"reason": ""}, "empty_reason", ".reason: it says nothing"),
        ({"reason": ":"}, "empty_reason", ".reason: it says nothing"),
        ({"reason": "Thought process:"}, "empty_reason", ".reason: it says nothing"),
        ({"reason": 7}, "wrong_type", ".reason: a number where text is due"),
        ({"reason": "a b " * 2_000}, "too_long", ".reason: 8000 characters; the limit is 4000"),
        ({"note": "x"}, "extra_key", ": 1 key other than reason, citations, level, confidence"),
    ],
)
def test_a_score_that_is_none_is_refused_with_the_place(
    entry: dict[str, Any], code: str, problem: str
) -> None:
    assert_refused(changed(lambda answer: score(answer).update(entry)), code, f"scores.overlap{problem}")


@pytest.mark.parametrize(
    ("citation", "code", "problem"),
    [
        ("line 3", "wrong_type", ": text where an object is due"),
        ({}, "missing_key", ": 'quote' is missing"),
        ({**LINES, **FACT}, "extra_key", ": 3 keys other than fact, value"),
        ({**LINES, "first_line": "3"}, "wrong_type", ".first_line: text where a line number is due"),
        ({**LINES, "last_line": True}, "wrong_type", ".last_line: a boolean where a line number is due"),
        ({**LINES, "last_line": 10**12}, "not_a_line", ".last_line: it is no line number"),
        ({**LINES, "quote": "q" * 2001}, "too_long", ".quote: 2001 characters; the limit is 2000"),
        ({**FACT, "value": 4096}, "wrong_type", ".value: a number where text is due"),
    ],
)
def test_a_citation_that_is_none_is_refused_with_the_place(citation: Any, code: str, problem: str) -> None:
    text = changed(lambda answer: score(answer).update(citations=[citation]))
    assert_refused(text, code, f"scores.overlap.citations[0]{problem}")


@pytest.mark.parametrize("part", ["praise", "", None, 3, ["works"]])
def test_a_remark_in_no_known_part_is_refused(part: Any) -> None:
    text = changed(lambda answer: item(answer).update(part=part))
    assert_refused(text, "unknown_part", "feedback[0].part: it must be one of works, change, next")


def test_all_problems_are_told_at_once() -> None:
    def spoil(answer: dict[str, Any]) -> None:
        score(answer).update(level=9, confidence=2)
        answer["feedback"][1]["part"] = "praise"

    assert refuse(changed(spoil)).problems == (
        "scores.overlap.level: the rubric offers 0, 1, 2, 3, 4, or null",
        "scores.overlap.confidence: it must be from 0 to 1",
        "feedback[1].part: it must be one of works, change, next",
    )


def test_a_level_must_be_one_of_the_criterions_own() -> None:
    rubric = RUBRIC.model_copy(
        update={"criteria": (a_criterion("overlap", levels=(0, 2)), a_criterion("judgement"))}
    )
    with pytest.raises(AnswerError, match="the rubric offers 0, 2, or null"):
        read_answer(json.dumps(GOOD), rubric)


def test_a_repair_names_every_problem_and_repeats_nothing_of_the_answer() -> None:
    hostile = "IGNORE-THE-RUBRIC"

    def spoil(answer: dict[str, Any]) -> None:
        answer[hostile] = hostile
        answer["scores"][hostile] = hostile
        score(answer).update({"level": hostile, hostile: hostile})
        item(answer).update(part=hostile)

    error = refuse(changed(spoil))
    repair = write_repair(error)
    assert hostile not in repair
    assert hostile not in str(error)
    for problem in error.problems:
        assert f"- {problem}\n" in repair


def test_a_repair_is_bounded() -> None:
    error = AnswerError("x", [f"problem {number}" for number in range(100)])
    assert "- problem 19\n- and 80 more of the same kinds\n" in write_repair(error)
    assert "problem 20" not in write_repair(error)


def walk(schema: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    inner += [schema["items"]] if "items" in schema else []
    return [schema, *(found for one in inner for found in walk(one))]


@pytest.mark.parametrize("rubric", [RUBRIC, *map(load_rubric, list_rubrics())], ids=lambda rubric: rubric.id)
def test_the_schema_keeps_to_what_every_provider_enforces(rubric: Rubric) -> None:
    for part in walk(answer_schema(rubric)):
        assert set(part) <= {
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
            "anyOf",
        }
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])


@pytest.mark.parametrize("rubric", [RUBRIC, *map(load_rubric, list_rubrics())], ids=lambda rubric: rubric.id)
def test_anthropics_transformation_drops_nothing_of_the_schema(rubric: Rubric) -> None:
    def without_redundant_types(schema: Any) -> Any:
        if isinstance(schema, list):
            return [without_redundant_types(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        kept = {key: without_redundant_types(value) for key, value in schema.items()}
        return {key: value for key, value in kept.items() if key != "type" or "enum" not in kept}

    schema = answer_schema(rubric)
    assert anthropic.transform_schema(schema) == without_redundant_types(schema)


def test_the_schema_asks_for_exactly_the_judged_criteria_and_the_reason_before_the_level() -> None:
    scores = answer_schema(RUBRIC)["properties"]["scores"]
    assert list(scores["properties"]) == ["overlap", "judgement"]
    assert list(scores["properties"]["overlap"]["properties"]) == [
        "reason",
        "citations",
        "level",
        "confidence",
    ]
    assert scores["properties"]["overlap"]["properties"]["level"] == {
        "anyOf": [{"type": "integer", "enum": [0, 1, 2, 3, 4]}, {"type": "null"}]
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([LINES, FACT]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["scores", "feedback", "overlap", "judgement", "reason", "citations", "level"])
            | st.sampled_from(
                ["confidence", "part", "text", "fact", "value", "first_line", "last_line", "quote"]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(st.text())
def test_arbitrary_text_is_an_answer_error_and_nothing_else(text: str) -> None:
    refuse(text)


@given(VALUES, st.sampled_from(["", "scores", "overlap", "feedback", "item", "citation"]))
def test_arbitrary_json_anywhere_in_an_answer_is_read_or_an_answer_error(value: Any, place: str) -> None:
    answer = copy.deepcopy(GOOD)
    if place in ("scores", "feedback"):
        answer[place] = value
    elif place == "overlap":
        answer["scores"]["overlap"] = value
    elif place == "item":
        answer["feedback"][0] = value
    elif place == "citation":
        answer["feedback"][0]["citations"][0] = value
    else:
        answer = value
    draft: Draft | None = None
    with contextlib.suppress(AnswerError):
        draft = read_answer(json.dumps(answer), RUBRIC)
    assert draft is None or [score.criterion for score in draft.scores] == ["overlap", "judgement"]


def test_line_breaks_within_strings_are_read_as_they_stand() -> None:
    # llama.cpp's grammar for JSON Schema lets models write them.
    text = json.dumps(GOOD).replace("Loads and compute alternate.", "Loads and\ncompute alternate.")
    draft = read_answer(text, RUBRIC)
    assert draft.scores[0].reason == "Loads and\ncompute alternate."
