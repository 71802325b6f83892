"""Facts of the build and the run."""

import math

import pytest

from pipeline.checks import Evidence, collect_facts
from pipeline.types import Fact, OutputError, Provenance, Tolerance, Verdict
from tests.checks.evidence import (
    a_build,
    a_case,
    a_program,
    a_run,
    a_submission,
    a_task,
    an_error,
    an_honest_answer,
)


def facts_of(evidence: Evidence) -> dict[str, Fact]:
    return {fact.id: fact for fact in collect_facts(evidence)}


def test_what_no_stage_established_is_absent() -> None:
    assert collect_facts(Evidence(task=a_task(), submission=a_submission())) == ()


def test_build_facts_are_of_the_worst_shape() -> None:
    build = a_build(
        a_program(instructions=3, compute_dtypes=("float32",), fidelity="approximate"),
        a_program(instructions=40, compute_dtypes=("bfloat16", "float32"), unwritten={"out": 2, "rest": 3}),
        a_program(stored_dtypes={"float32": (4,), "bfloat16": (5,)}),
    )
    facts = facts_of(an_honest_answer(build=build))
    assert facts["build.shapes"].value == 3
    assert facts["build.instructions"].value == 40
    assert facts["build.compute_dtypes"].value == "bfloat16, float32"
    assert facts["build.least_precise_dtype"].value == "bfloat16"
    assert facts["build.stored_dtypes"].value == "bfloat16, float32"
    assert facts["build.unwritten_outputs"].value == "out, rest"
    assert facts["build.fidelity"].value == "approximate"
    assert facts["build.instructions"].provenance is Provenance.COUNTED


def test_run_facts_count_cases_and_find_the_worst_error_with_its_case() -> None:
    run = a_run(
        a_case("small", errors=(an_error(1e-6), an_error(3e-5))),
        a_case("big", Verdict.INCORRECT, errors=(an_error(2e-3),)),
    )
    facts = facts_of(an_honest_answer(run=run))
    assert (facts["run.cases"].value, facts["run.cases_passed"].value) == (2, 1)
    assert (facts["run.worst_rel_l2"].value, facts["run.worst_rel_l2"].case) == (2e-3, "big")
    assert facts["run.error_over_tolerance"].value == pytest.approx(20.0)


def test_the_name_of_a_hidden_case_is_not_told() -> None:
    run = a_run(a_case("small"), a_case("secret", errors=(an_error(2e-3),)))
    assert facts_of(an_honest_answer(run=run))["run.worst_rel_l2"].case is None


def test_an_error_that_is_not_a_number_is_the_worst_there_is() -> None:
    run = a_run(a_case("small", errors=(an_error(math.nan),)), a_case("big", errors=(an_error(5.0),)))
    assert facts_of(an_honest_answer(run=run))["run.worst_rel_l2"].value == math.inf


# `evidence.HELD`: tolerances are 1e-4, 2e-4 and 1e-3.
@pytest.mark.parametrize(
    ("error", "ratio"),
    [
        (an_error(5e-5, 1e-5, 1e-5), 0.5),
        (an_error(1e-5, 1.6e-4, 1e-5), 0.8),
        (an_error(1e-5, 1e-5, 1.5e-3), 1.5),
    ],
)
def test_the_worst_of_the_three_errors_over_its_own_tolerance_counts(
    error: OutputError, ratio: float
) -> None:
    facts = facts_of(an_honest_answer(run=a_run(a_case("small", errors=(error,)))))
    assert facts["run.error_over_tolerance"].value == pytest.approx(ratio)


def test_a_tolerance_of_zero_admits_equality_and_nothing_else() -> None:
    exact = Tolerance(rel_l2=0, row_rel_l2=0, elementwise=0)
    same = a_run(a_case("small", errors=(an_error(0.0, 0.0, 0.0, tolerance=exact),)))
    other = a_run(a_case("small", errors=(an_error(1e-30, 0.0, 0.0, tolerance=exact),)))
    assert facts_of(an_honest_answer(run=same))["run.error_over_tolerance"].value == 0
    assert facts_of(an_honest_answer(run=other))["run.error_over_tolerance"].value == math.inf


def test_each_error_is_measured_by_the_tolerance_that_it_was_held_to() -> None:
    loose = Tolerance(rel_l2=1.0, row_rel_l2=1.0, elementwise=1.0)
    run = a_run(
        a_case("small", errors=(an_error(8e-5),)), a_case("big", errors=(an_error(0.5, tolerance=loose),))
    )
    facts = facts_of(an_honest_answer(run=run))
    assert facts["run.worst_rel_l2"].case == "big"
    assert (facts["run.error_over_tolerance"].value, facts["run.error_over_tolerance"].case) == (
        pytest.approx(0.8),
        "small",
    )


def test_records_without_a_tolerance_have_errors_and_no_ratios() -> None:
    run = a_run(a_case("small", errors=(an_error(8e-5, tolerance=None),)))
    facts = facts_of(an_honest_answer(run=run))
    assert facts["run.worst_rel_l2"].value == 8e-5
    assert not {"run.error_over_tolerance", "run.own_error_over_tolerance"} & facts.keys()


@pytest.mark.parametrize(
    ("executor", "provenance"),
    [
        ("emulator 1", Provenance.EMULATED),
        ("simulator 3", Provenance.EMULATED),
        ("trainium 2", Provenance.MEASURED),
    ],
)
def test_only_a_device_measures(executor: str, provenance: Provenance) -> None:
    facts = facts_of(an_honest_answer(run=a_run(a_case("small"), executor=executor)))
    assert facts["run.worst_rel_l2"].provenance is provenance


@pytest.mark.parametrize(
    ("value", "unit", "digits", "text"),
    [
        (4096, "bytes", "4096", "4096 bytes"),
        (1.23456, "ratio", "1.235", "1.235"),
        (0.00012345, "s", "0.0001234", "0.0001234 s"),
        (True, "", "yes", "yes"),
        ("bfloat16", "", "bfloat16", "bfloat16"),
    ],
)
def test_a_fact_prints_whole_integers_and_four_digits_of_a_float(
    value: float | bool | str, unit: str, digits: str, text: str
) -> None:
    fact = Fact(id="x", value=value, unit=unit, provenance=Provenance.COUNTED)
    assert (fact.digits, fact.text) == (digits, text)
