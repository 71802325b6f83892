"""From stages and checks to one verdict."""

from typing import Any

import pytest

from pipeline.checks import Evidence, inspect_all, settle_verdict
from pipeline.types import Admission, Fault, Owner, Policy, Verdict
from tests.checks.evidence import (
    a_build,
    a_case,
    a_failed_build,
    a_program,
    a_run,
    a_submission,
    a_task,
    an_honest_answer,
)


def verdict_of(evidence: Evidence) -> Verdict:
    return settle_verdict(evidence, inspect_all(evidence))


def test_an_honest_answer_is_correct() -> None:
    assert verdict_of(an_honest_answer()) is Verdict.CORRECT


def test_a_refusal_at_admission_settles_the_verdict() -> None:
    fault = Fault(owner=Owner.SUBMISSION, code="size", message="too large")
    refused = a_submission(refusal=Admission(verdict=Verdict.TOO_LARGE, fault=fault))
    assert verdict_of(Evidence(task=a_task(), submission=refused)) is Verdict.TOO_LARGE


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.CORRECT])
def test_a_build_that_did_not_end_well_settles_the_verdict(verdict: Verdict) -> None:
    evidence = Evidence(task=a_task(), submission=a_submission(), build=a_failed_build(verdict))
    assert verdict_of(evidence) is verdict


@pytest.mark.parametrize("ran", [Verdict.CORRECT, Verdict.INCORRECT])
@pytest.mark.parametrize("change", [{"independent_outputs": ("out",)}, {"mutated_inputs": ("x",)}])
def test_a_witness_of_a_fake_is_suspect_whether_its_values_are_right_or_not(
    ran: Verdict, change: dict[str, Any]
) -> None:
    evidence = an_honest_answer(build=a_build(a_program(**change)), run=a_run(a_case("small", ran)))
    assert verdict_of(evidence) is Verdict.SUSPECT


def test_an_allowed_write_to_an_input_is_not_suspect() -> None:
    evidence = an_honest_answer(
        task=a_task(policy=Policy(mutates_inputs=True)), build=a_build(a_program(mutated_inputs=("x",)))
    )
    assert verdict_of(evidence) is Verdict.CORRECT


def test_a_program_without_instructions_is_no_device_work() -> None:
    evidence = an_honest_answer(build=a_build(a_program(instructions=0)))
    assert verdict_of(evidence) is Verdict.NO_DEVICE_WORK


def test_low_precision_within_tolerance_stays_correct_and_is_the_rubrics_to_refuse() -> None:
    evidence = an_honest_answer(build=a_build(a_program(compute_dtypes=("bfloat16",))))
    assert verdict_of(evidence) is Verdict.CORRECT


@pytest.mark.parametrize(
    ("fidelity", "expected"),
    [("exact", Verdict.INCORRECT), ("approximate", Verdict.INCORRECT), ("unmodelled", Verdict.UNSUPPORTED)],
)
def test_a_wrong_answer_of_undocumented_operations_is_our_gap(fidelity: str, expected: Verdict) -> None:
    evidence = an_honest_answer(
        build=a_build(a_program(fidelity=fidelity)), run=a_run(a_case("small", Verdict.INCORRECT))
    )
    assert verdict_of(evidence) is expected


@pytest.mark.parametrize("missing", ["build", "run"])
def test_a_stage_that_never_happened_is_ours(missing: str) -> None:
    evidence = an_honest_answer(**{missing: None})
    assert verdict_of(evidence) is Verdict.INFRASTRUCTURE
