"""The numerics study: its facts, and what the check on precision makes of them."""

from __future__ import annotations

import math

import pytest

from pipeline.checks import CHECKS, Evidence, collect_facts
from pipeline.types import CheckReport, CheckStatus, Fact, OutputError, Provenance, Severity, Study, Verdict
from tests.checks.evidence import a_case, a_run, a_study, an_error, an_honest_answer


def studied(study: Study | None, error: OutputError | None = None) -> Evidence:
    case = a_case("small", errors=(error or an_error(),))
    return an_honest_answer(run=a_run(case, study=study))


def facts_of(study: Study | None) -> dict[str, Fact]:
    facts = collect_facts(studied(study))
    return {fact.id: fact for fact in facts if fact.id.startswith("numerics.")}


def report_on(study: Study | None, error: OutputError | None = None) -> CheckReport:
    return CHECKS["precision_loss"].inspect(studied(study, error))


def test_without_a_study_there_is_neither_fact_nor_answer() -> None:
    assert facts_of(None) == {}
    assert report_on(None).status is CheckStatus.UNKNOWN


def test_the_error_stands_beside_those_of_other_arithmetics_as_emulated_facts() -> None:
    facts = facts_of(a_study())
    assert {name: fact.value for name, fact in facts.items()} == {
        "numerics.rel_l2": 1e-5,
        "numerics.r_ratio_float32": pytest.approx(2.0),
        "numerics.r_ratio_bfloat16": pytest.approx(0.0025),
        "numerics.gpu_rel_l2": 2e-4,
        "numerics.exact_rel_l2": 1e-9,
        "numerics.target_distance.trn1": 0.0,
        "numerics.target_distance.trn3": 1e-7,
        "numerics.lost_at.1": "line 6, tensor_reduce: 83%",
        "numerics.lost_at.2": "line 5, activation: 16%",
        "numerics.lost_at.3": "line 7, dma_copy: under 1%",
    }
    assert {fact.provenance for fact in facts.values()} == {Provenance.EMULATED}
    assert {fact.case for fact in facts.values()} == {"small"}


@pytest.mark.parametrize(
    ("own", "other", "ratio"),
    [
        (0.0, 0.0, None),
        (1e-6, 0.0, math.inf),
        (0.0, 1e-6, 0.0),
        (1e-6, math.nan, None),
        (math.inf, 1e-6, math.inf),
    ],
)
def test_a_ratio_to_no_error_is_infinite_or_absent(own: float, other: float, ratio: float | None) -> None:
    facts = facts_of(a_study(rel_l2=own, float32_rel_l2=other))
    found = facts.get("numerics.r_ratio_float32")
    assert (found and found.value) == ratio


def test_what_was_not_measured_is_absent() -> None:
    facts = facts_of(a_study(exact_rel_l2=None, gpu_rel_l2=math.nan, targets={}, lines=()))
    assert set(facts) == {"numerics.rel_l2", "numerics.r_ratio_float32", "numerics.r_ratio_bfloat16"}


# The tolerance is 1e-4.


def test_a_precise_kernel_passes_and_the_lines_are_told_all_the_same() -> None:
    report = report_on(a_study())
    assert report.status is CheckStatus.PASSED
    (finding,) = report.findings
    assert finding.severity is Severity.INFO
    assert finding.message == (
        "The error that rounding makes arises at line 6, tensor_reduce: 83%; line 5, activation: 16%."
    )
    assert finding.lines == (6, 5)


@pytest.mark.parametrize(
    ("rel_l2", "severity"), [(6e-5, Severity.WARNING), (1.2e-4, Severity.ERROR), (math.nan, Severity.ERROR)]
)
def test_lines_that_cost_much_are_named_the_worst_first(rel_l2: float, severity: Severity) -> None:
    report = report_on(a_study(), an_error(rel_l2))
    assert report.status is CheckStatus.FAILED
    assert report.reason.endswith("most of it at line 6")
    (finding,) = report.findings
    assert finding.severity is severity
    assert finding.facts == ("numerics.lost_at.1", "numerics.lost_at.2")
    assert "in float32" in finding.message


def test_an_element_beyond_its_limit_is_an_error_though_norms_are_small() -> None:
    report = report_on(a_study(), an_error(1e-6).model_copy(update={"beyond": 1}))
    assert [finding.severity for finding in report.findings] == [Severity.ERROR]


@pytest.mark.parametrize("exact", [1.1e-4, 0.5, math.inf, math.nan])
def test_what_is_wrong_in_exact_arithmetic_is_the_method_and_no_line_is_blamed(exact: float) -> None:
    report = report_on(a_study(exact_rel_l2=exact), an_error(0.5))
    assert report.status is CheckStatus.FAILED
    (finding,) = report.findings
    assert finding.message.startswith("Wrong even in exact arithmetic")
    assert "not in rounding" in finding.message
    assert finding.lines == ()


def test_where_no_line_was_found_nobody_is_blamed() -> None:
    assert report_on(a_study(lines=(), exact_rel_l2=None), an_error(0.5)).status is CheckStatus.UNKNOWN
    assert report_on(a_study(lines=())).status is CheckStatus.PASSED


def test_records_without_a_tolerance_leave_the_check_open() -> None:
    assert report_on(a_study(), an_error(tolerance=None)).status is CheckStatus.UNKNOWN
    assert report_on(a_study(case="another")).status is CheckStatus.UNKNOWN


def test_of_several_draws_the_studied_one_counts() -> None:
    draws = (
        a_case("small", errors=(an_error(rel_l2),), seed=seed) for seed, rel_l2 in enumerate((1e-6, 2e-4))
    )
    run = a_run(*draws, study=a_study(rel_l2=2e-4))
    assert CHECKS["precision_loss"].inspect(an_honest_answer(run=run)).status is CheckStatus.FAILED


def test_a_right_case_says_nothing_of_wrong_ones_that_could_not_be_studied() -> None:
    study = a_study()
    wrong = a_case("hard", Verdict.INCORRECT)
    run = a_run(a_case(study.case, errors=(an_error(),)), wrong, verdict=Verdict.INCORRECT, study=study)
    report = CHECKS["precision_loss"].inspect(an_honest_answer(run=run))
    assert report.status is CheckStatus.UNKNOWN
    assert report.reason == "no case that is wrong could be studied: each is hidden or has no finite output"
