"""Rubrics: the published ones as a contract, and how a broken one is refused."""

import tomllib
from typing import Any

import pytest

from pipeline.checks import CHECKS
from pipeline.library.errors import LibraryError
from pipeline.library.rubrics import list_rubrics, load_rubric, parse_rubric
from pipeline.types import Family, Rubric

every_rubric = pytest.mark.parametrize(
    "rubric", [load_rubric(id) for id in list_rubrics()], ids=lambda r: r.id
)

TEXT = """
id = "r"
version = "v1"
title = "R"
purpose = "To test."

[overall]
gates = ["correct"]
pass_mark = 0.5
minimum_scored_weight = 0.5

[[criteria]]
id = "speed"
title = "Speed"
question = "How fast?"
weight = 2
source = "check:hbm_traffic"
evidence = ["profile.hbm_traffic_ratio"]

[criteria.levels]
4 = "four"
3 = "three"
2 = "two"
1 = "one"
0 = "zero"

[criteria.scale]
fact = "profile.hbm_traffic_ratio"
direction = "at_most"
steps = { 4 = 1, 3 = 2, 2 = 3, 1 = 4 }

[[criteria]]
id = "taste"
title = "Taste"
question = "How good?"
weight = 1
source = "judge"
evidence = ["code"]

[criteria.levels]
4 = '''four,
       on two lines'''
3 = "three"
2 = "two"
1 = "one"
0 = "zero"
"""


def parse(text: str) -> Rubric:
    return parse_rubric(text, id="r", version="v1", where="rubrics/r/v1.toml")


def test_the_three_families_have_their_rubrics() -> None:
    assert list_rubrics() == ["migration_fidelity", "numerical_correctness", "performance_quality"]
    assert len(list_rubrics()) == len(Family)


@every_rubric
def test_a_rubric_asks_five_to_eight_questions_each_once(rubric: Rubric) -> None:
    assert 5 <= len(rubric.criteria) <= 8
    assert len({criterion.id for criterion in rubric.criteria}) == len(rubric.criteria)
    assert all(criterion.question.endswith("?") for criterion in rubric.criteria)


@every_rubric
def test_every_level_says_what_one_sees(rubric: Rubric) -> None:
    for criterion in rubric.criteria:
        assert [level.level for level in criterion.levels] == [0, 1, 2, 3, 4]
        assert len({level.anchor for level in criterion.levels}) == 5
        assert all(len(level.anchor) > 20 for level in criterion.levels)


@every_rubric
def test_every_check_it_names_exists(rubric: Rubric) -> None:
    named = {*rubric.overall.gates, *(criterion.check for criterion in rubric.criteria if criterion.check)}
    assert named <= set(CHECKS)


@every_rubric
def test_what_makes_an_answer_worthless_closes_a_gate(rubric: Rubric) -> None:
    assert {"compiles", "legal", "correct", "output_written", "device_work", "authentic"} <= set(
        rubric.overall.gates
    )


@every_rubric
def test_the_anchors_of_a_scale_state_its_bounds(rubric: Rubric) -> None:
    words = {0.3: "three tenths", 0.5: "a half", 0.75: "three quarters", 1.0: "within tolerance"}
    for criterion in rubric.criteria:
        if criterion.scale is None:
            continue
        anchors = {level.level: level.anchor for level in criterion.levels}
        for level, bound in criterion.scale.steps.items():
            spellings = {
                f"{bound:g}",
                f"{bound * 100:g} %",
                f"{bound / 1024:g} KiB",
                words.get(bound, f"{bound:g}"),
            }
            assert any(
                spelling in anchors[level].lower() or spelling in anchors[level] for spelling in spellings
            ), (
                criterion.id,
                level,
            )


def test_a_rubric_is_read_with_its_levels_worst_first_and_prose_on_one_line() -> None:
    rubric = parse(TEXT)
    assert [level.anchor for level in rubric.criteria[1].levels] == [
        "zero",
        "one",
        "two",
        "three",
        "four, on two lines",
    ]
    assert rubric.criteria[0].scale is not None
    assert rubric.criteria[0].scale.steps == {4: 1.0, 3: 2.0, 2: 3.0, 1: 4.0}
    assert (rubric.criteria[0].check, rubric.criteria[1].check) == ("hbm_traffic", None)


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ('id = "r"', 'id = "q"', "id", "differs from its folder"),
        ('version = "v1"', 'version = "v2"', "version", "differs from its file"),
        ('title = "R"', "", "title", "field required"),
        ('purpose = "To test."', 'purpose = "To test."\nmood = 1', "mood", "not permitted"),
        ('id = "taste"', 'id = "speed"', "criteria.speed", "two criteria have this id"),
        ("weight = 2", "weight = 0", "criteria.speed.weight", "is not above 0"),
        ("weight = 2", "weight = nan", "criteria.speed.weight", "is not above 0"),
        ('source = "judge"', 'source = "nobody"', "criteria.taste.source", "neither judge nor check"),
        ('evidence = ["code"]', "evidence = []", "criteria.taste.evidence", "is empty"),
        ('3 = "three"\n2 = "two"\n1 = "one"\n0 = "zero"\n\n', '3 = "three"\n2 = "two"\n1 = "one"\n\n',
         "criteria.speed.levels.0", "is missing"),
        ('4 = "four"', '4 = "four"\n5 = "five"', "criteria.speed.levels.5", "no such level"),
        ('4 = "four"', '4 = " "', "criteria.speed.levels.4", "has no anchor"),
        ('4 = "four"', '4 = "three"', "criteria.speed.levels", "share the anchor"),
        ('4 = "four"', 'best = "four"', "criteria.0.levels.4.level", "valid integer"),
        ('source = "check:hbm_traffic"', 'source = "judge"', "criteria.speed.scale", "a judge scores this"),
        ('evidence = ["profile.hbm_traffic_ratio"]', 'evidence = ["code"]', "criteria.speed.scale.fact",
         "not among the evidence"),
        ("4 = 1, 3 = 2", "4 = 2, 3 = 1", "criteria.speed.scale.steps", "stricter bound"),
        ("4 = 1, 3 = 2", "4 = 2, 3 = 2", "criteria.speed.scale.steps", "stricter bound"),
        ("2 = 3, 1 = 4 }", "2 = 3, 0 = 4 }", "criteria.speed.scale.steps.0", "no level above 0"),
        ("steps = { 4 = 1, 3 = 2, 2 = 3, 1 = 4 }", "steps = {}", "criteria.speed.scale.steps", "is empty"),
        ('direction = "at_most"', 'direction = "down"', "criteria.0.scale.direction", "at_most"),
        ("pass_mark = 0.5", "pass_mark = 0", "overall.pass_mark", "not in (0, 1]"),
        ("pass_mark = 0.5", "pass_mark = nan", "overall.pass_mark", "not in (0, 1]"),
        ("minimum_scored_weight = 0.5", "minimum_scored_weight = 1.5", "overall.minimum_scored_weight",
         "not in (0, 1]"),
        ('gates = ["correct"]', 'gates = ["correct", "correct"]', "overall.gates", "named twice"),
    ],
)  # fmt: skip
def test_a_broken_rubric_is_refused_with_file_key_and_remedy(old: str, new: str, key: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(LibraryError) as refusal:
        parse(TEXT.replace(old, new, 1))
    fault = refusal.value.fault
    assert fault.where == f"rubrics/r/v1.toml: {key}"
    assert said in fault.message.lower()
    assert fault.remedy
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", ["", "criteria = 1", "criteria = [1]", "criteria = []", "not toml at all"])
def test_what_is_no_rubric_at_all_is_refused(text: str) -> None:
    with pytest.raises(LibraryError, match=r"rubrics/r/v1\.toml"):
        parse(text)


def test_the_text_of_the_tests_is_toml() -> None:
    content: dict[str, Any] = tomllib.loads(TEXT)
    assert len(content["criteria"]) == 2
