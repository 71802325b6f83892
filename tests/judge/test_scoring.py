"""From checks to levels, and from levels to one number; docs/grading.md, recomputed."""

import math
from pathlib import Path
from typing import Literal

import pytest

from pipeline.checks import CHECKS
from pipeline.judge.scoring import grade_overall, score_checks
from pipeline.library.rubrics import list_rubrics, load_rubric
from pipeline.types import (
    CheckReport,
    CheckStatus,
    Criterion,
    Fact,
    Level,
    Overall,
    OverallGrade,
    Provenance,
    Rubric,
    Scale,
    Score,
)

PASSED, FAILED, UNKNOWN = CheckStatus.PASSED, CheckStatus.FAILED, CheckStatus.UNKNOWN
LEVELS = tuple(Level(level=level, anchor=f"anchor {level}") for level in range(5))


def a_criterion(id: str, weight: float = 1, source: str = "judge", scale: Scale | None = None) -> Criterion:
    return Criterion(
        id=id,
        title=id,
        question="?",
        weight=weight,
        source=source,
        evidence=("code",),
        levels=LEVELS,
        scale=scale,
    )


def a_rubric(
    *criteria: Criterion, gates: tuple[str, ...] = (), minimum: float = 0.5, mark: float = 0.5
) -> Rubric:
    overall = Overall(gates=gates, pass_mark=mark, minimum_scored_weight=minimum)
    return Rubric(id="r", version="v1", title="R", purpose="p", criteria=criteria, overall=overall)


def a_report(check: str, status: CheckStatus) -> CheckReport:
    return CheckReport(check=check, status=status, reason=f"{check} {status.value}")


def a_fact(id: str, value: float | bool | str) -> Fact:
    return Fact(id=id, value=value, provenance=Provenance.COUNTED)


def levels(rubric: Rubric, *given: int | None) -> list[Score]:
    return [
        Score(criterion=criterion.id, level=level, source=criterion.source, reason="because")
        for criterion, level in zip(rubric.criteria, given, strict=True)
    ]


def test_the_worked_example_of_the_documentation_comes_out_as_printed() -> None:
    rubric = load_rubric("performance_quality", "v1")
    reports = [a_report(check, UNKNOWN if check == "speed_of_light" else PASSED) for check in CHECKS]
    facts = [
        a_fact("profile.hbm_traffic_ratio", 1.5),
        a_fact("profile.dma_bytes_per_partition", 2048),
        a_fact("tensor_engine_use.rate", 0.95),
        a_fact("profile.mean_free_size", 512),
    ]
    scores = score_checks(rubric, reports, facts)
    assert {score.criterion: score.level for score in scores} == {
        "speed_of_light": None,
        "hbm_traffic": 2,
        "dma_quality": 3,
        "tensor_engine": 4,
        "instruction_size": 4,
        "on_chip_memory": 4,
    }
    grade = grade_overall(rubric, scores, reports)
    # (20*2 + 15*3 + 15*4 + 10*4 + 5*4) / 4 = 51.25 of 65.
    assert grade.value == pytest.approx(51.25 / 65, abs=1e-6)
    assert (grade.passed, grade.scored_weight) == (True, 0.65)
    assert "**0.788462**" in Path("docs/grading.md").read_text(encoding="utf-8")

    without_matmul = [score for score in scores if score.criterion != "tensor_engine"]
    assert grade_overall(rubric, without_matmul, reports).value is None

    wrong = [a_report("correct", FAILED) if report.check == "correct" else report for report in reports]
    closed = grade_overall(rubric, scores, wrong)
    assert (closed.value, closed.passed, closed.closed_gates) == (0.0, False, ("correct",))


@pytest.mark.parametrize("id", list_rubrics())
def test_a_perfect_and_a_worthless_kernel_are_one_and_zero_under_every_rubric(id: str) -> None:
    rubric = load_rubric(id)
    reports = [a_report(check, PASSED) for check in CHECKS]
    count = len(rubric.criteria)
    perfect = grade_overall(rubric, levels(rubric, *[4] * count), reports)
    worthless = grade_overall(rubric, levels(rubric, *[0] * count), reports)
    assert (perfect.value, perfect.passed, perfect.scored_weight) == (1.0, True, 1.0)
    assert (worthless.value, worthless.passed, worthless.closed_gates) == (0.0, False, ())


@pytest.mark.parametrize("id", list_rubrics())
def test_every_gate_of_every_rubric_closes_the_grade_alone(id: str) -> None:
    rubric = load_rubric(id)
    scores = levels(rubric, *[4] * len(rubric.criteria))
    for gate in rubric.overall.gates:
        reports = [a_report(check, FAILED if check == gate else PASSED) for check in CHECKS]
        grade = grade_overall(rubric, scores, reports)
        assert (grade.value, grade.passed, grade.closed_gates) == (0.0, False, (gate,))


@pytest.mark.parametrize(
    ("direction", "value", "level"),
    [
        ("at_most", 1.0, 4),
        ("at_most", 1.0001, 3),
        ("at_most", 2.0, 3),
        ("at_most", 2.5, 0),
        ("at_most", math.inf, 0),
        ("at_least", 2.0, 4),
        ("at_least", 1.9, 3),
        ("at_least", 0.9, 0),
    ],
)
def test_a_scale_gives_the_best_level_whose_bound_holds(
    direction: Literal["at_most", "at_least"], value: float, level: int
) -> None:
    steps = {4: 1.0, 3: 2.0} if direction == "at_most" else {4: 2.0, 3: 1.0}
    scale = Scale(fact="f", direction=direction, steps=steps)
    rubric = a_rubric(a_criterion("c", source="check:k", scale=scale))
    (score,) = score_checks(rubric, [a_report("k", PASSED)], [a_fact("f", value)])
    assert score.level == level
    assert [citation.fact for citation in score.citations] == ["f"]


@pytest.mark.parametrize("value", [math.nan, True, "fast"])
def test_a_fact_that_is_no_number_leaves_the_criterion_unscored(value: float | bool | str) -> None:
    scale = Scale(fact="f", direction="at_most", steps={4: 1.0})
    rubric = a_rubric(a_criterion("c", source="check:k", scale=scale))
    (score,) = score_checks(rubric, [a_report("k", PASSED)], [a_fact("f", value)])
    assert (score.level, score.confidence) == (None, None)
    assert "f" in score.reason


@pytest.mark.parametrize(("status", "level"), [(PASSED, 4), (FAILED, 0), (UNKNOWN, None)])
def test_without_a_scale_a_check_gives_all_or_nothing(status: CheckStatus, level: int | None) -> None:
    rubric = a_rubric(a_criterion("c", source="check:k"))
    (score,) = score_checks(rubric, [a_report("k", status)], [])
    assert score.level == level
    assert score.reason == f"k {status.value}"


def test_a_check_that_this_release_lacks_leaves_its_criterion_unscored() -> None:
    (score,) = score_checks(a_rubric(a_criterion("c", source="check:gone")), [], [])
    assert score.level is None
    assert "gone" in score.reason


def grade(
    *given: int | None, minimum: float = 0.5, mark: float = 0.5, gate: CheckStatus = PASSED
) -> OverallGrade:
    rubric = a_rubric(a_criterion("a", 3), a_criterion("b", 1), gates=("g",), minimum=minimum, mark=mark)
    return grade_overall(rubric, levels(rubric, *given), [a_report("g", gate)])


def test_weights_count_by_their_ratio() -> None:
    assert grade(4, 0).value == 0.75
    assert grade(0, 4).value == 0.25


def test_unscored_criteria_neither_help_nor_hurt() -> None:
    assert (grade(2, None).value, grade(2, None).scored_weight) == (0.5, 0.75)


def test_a_grade_at_the_pass_mark_passes() -> None:
    assert grade(2, 2, mark=0.5).passed is True
    assert grade(2, 1, mark=0.5).passed is False


def test_too_little_scored_weight_means_no_number() -> None:
    assert grade(None, 4, minimum=0.25).value == 1.0
    unscored = grade(None, 4, minimum=0.26)
    assert (unscored.value, unscored.passed) == (None, None)
    assert "0.25" in unscored.reason


def test_an_undecided_gate_means_no_number_and_no_pass() -> None:
    undecided = grade(4, 4, gate=UNKNOWN)
    assert (undecided.value, undecided.passed, undecided.closed_gates) == (None, None, ())


def test_a_gate_that_nobody_looked_through_is_undecided() -> None:
    rubric = a_rubric(a_criterion("a"), gates=("g",))
    assert grade_overall(rubric, levels(rubric, 4), []).passed is None


def test_a_closed_gate_outranks_an_undecided_one() -> None:
    rubric = a_rubric(a_criterion("a"), gates=("g", "h"))
    reports = [a_report("g", UNKNOWN), a_report("h", FAILED)]
    assert grade_overall(rubric, levels(rubric, 4), reports).passed is False
