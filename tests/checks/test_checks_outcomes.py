"""What makes each check pass, fail or stay open."""

import math
from typing import Any

import pytest

from pipeline.checks import CHECKS, Evidence, collect_facts
from pipeline.types import (
    Admission,
    Case,
    CaseKind,
    CaseResult,
    CheckStatus,
    Fault,
    Finding,
    Numerics,
    OutputError,
    Owner,
    Policy,
    Severity,
    Verdict,
)
from tests.checks.evidence import (
    a_build,
    a_case,
    a_failed_build,
    a_profile,
    a_program,
    a_run,
    a_submission,
    a_task,
    an_error,
    an_honest_answer,
)

PASSED, FAILED, UNKNOWN = CheckStatus.PASSED, CheckStatus.FAILED, CheckStatus.UNKNOWN


def status(check: str, evidence: Evidence) -> CheckStatus:
    return CHECKS[check].inspect(evidence).status


def built(verdict: Verdict, **fault: Any) -> Evidence:
    return Evidence(task=a_task(), submission=a_submission(), build=a_failed_build(verdict, **fault))


def with_program(**changes: Any) -> Evidence:
    return an_honest_answer(build=a_build(a_program(**changes)))


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict.COMPILE_ERROR, FAILED),
        (Verdict.RUNTIME_ERROR, FAILED),
        (Verdict.TIMEOUT, FAILED),
        (Verdict.TOO_LARGE, FAILED),
        (Verdict.ILLEGAL_ON_TARGET, PASSED),
        (Verdict.NO_DEVICE_WORK, PASSED),
        (Verdict.UNSUPPORTED, UNKNOWN),
        (Verdict.INFRASTRUCTURE, UNKNOWN),
    ],
)
def test_compiling_is_about_the_language_alone(verdict: Verdict, expected: CheckStatus) -> None:
    assert status("compiles", built(verdict)) is expected


def test_a_compile_error_names_line_message_and_remedy() -> None:
    report = CHECKS["compiles"].inspect(
        built(Verdict.COMPILE_ERROR, message="nl.arange is gone", remedy="slice with nl.ds", line=6)
    )
    assert report.findings[0].lines == (6,)
    assert "nl.arange is gone" in report.findings[0].message
    assert "slice with nl.ds" in report.findings[0].message


def test_what_was_refused_before_it_was_read_is_not_blamed_on_the_language() -> None:
    fault = Fault(owner=Owner.SUBMISSION, code="no_block", message="the response holds no code block")
    refused = a_submission(refusal=Admission(verdict=Verdict.COMPILE_ERROR, fault=fault))
    report = CHECKS["compiles"].inspect(Evidence(task=a_task(), submission=refused))
    assert report.reason == "no kernel can be taken from it: the response holds no code block"


def test_a_compile_error_that_is_the_tasks_fault_is_not_held_against_the_author() -> None:
    assert status("compiles", built(Verdict.COMPILE_ERROR, owner=Owner.TASK)) is UNKNOWN


def test_legality_errors_close_the_gate_and_keep_their_lines() -> None:
    finding = Finding(check="legal", severity=Severity.ERROR, message="partition 200 exceeds 128", lines=(6,))
    build = a_failed_build(Verdict.ILLEGAL_ON_TARGET).model_copy(update={"findings": (finding,)})
    report = CHECKS["legal"].inspect(an_honest_answer(build=build))
    assert report.status is FAILED
    assert report.findings == (finding,)


def test_a_legality_warning_is_told_and_costs_nothing() -> None:
    warning = Finding(check="legal", severity=Severity.WARNING, message="tight")
    report = CHECKS["legal"].inspect(an_honest_answer(build=a_build(findings=(warning,))))
    assert report.status is PASSED
    assert report.findings == (warning,)


def test_legality_is_open_when_the_program_never_got_so_far() -> None:
    assert status("legal", built(Verdict.COMPILE_ERROR)) is UNKNOWN


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("output_written", {"unwritten": {"out": 3}}),
        ("input_dependence", {"independent_outputs": ("out",)}),
        ("inputs_preserved", {"mutated_inputs": ("x",)}),
        ("device_work", {"instructions": 0}),
        ("compute_precision", {"compute_dtypes": ("bfloat16", "float32")}),
        ("compute_precision", {"stored_dtypes": {"float16": (7,)}}),
    ],
)
def test_a_fault_in_any_shapes_program_fails_the_check(check: str, change: dict[str, Any]) -> None:
    evidence = an_honest_answer(build=a_build(a_program(), a_program(axes={"M": 512}, **change)))
    assert status(check, evidence) is FAILED
    assert status(check, an_honest_answer()) is PASSED


def test_an_output_that_is_constant_only_where_an_axis_has_one_element_is_an_honest_mistake() -> None:
    degenerate = a_program(axes={"M": 1}, independent_outputs=("out",))
    assert status("input_dependence", an_honest_answer(build=a_build(a_program(), degenerate))) is PASSED
    assert status("input_dependence", an_honest_answer(build=a_build(degenerate))) is FAILED


def test_writing_to_inputs_passes_where_the_task_allows_it() -> None:
    evidence = an_honest_answer(
        task=a_task(policy=Policy(mutates_inputs=True)), build=a_build(a_program(mutated_inputs=("x",)))
    )
    assert status("inputs_preserved", evidence) is PASSED


@pytest.mark.parametrize(
    ("used", "asked", "expected"),
    [
        (("float32",), "float32", PASSED),
        (("tfloat32",), "float32", FAILED),
        (("float16",), "float32", FAILED),
        (("bfloat16",), "bfloat16", PASSED),
        (("float16", "float32"), "bfloat16", PASSED),
        (("float8_e4m3",), "bfloat16", FAILED),
        (("bfloat16",), "float16", FAILED),
        ((), "float32", PASSED),
    ],
)
def test_precision_is_compared_by_mantissa_bits(
    used: tuple[str, ...], asked: str, expected: CheckStatus
) -> None:
    numerics = Numerics(compute_dtype=asked, rel_l2=1, row_rel_l2=1, elementwise=1, reason="any")
    evidence = an_honest_answer(task=a_task(numerics=numerics), build=a_build(a_program(compute_dtypes=used)))
    assert status("compute_precision", evidence) is expected


@pytest.mark.parametrize(
    ("kept", "expected"), [("float16", FAILED), ("bfloat16", PASSED), ("float32", PASSED)]
)
def test_what_is_kept_between_steps_is_held_to_the_storage_dtype(kept: str, expected: CheckStatus) -> None:
    asked = {"float16": "float32", "bfloat16": "bfloat16", "float32": "float32"}[kept]
    task = a_task(numerics=Numerics(compute_dtype="bfloat16", storage_dtype=asked))
    evidence = an_honest_answer(task=task, build=a_build(a_program(stored_dtypes={kept: (7, 9)})))
    report = CHECKS["compute_precision"].inspect(evidence)
    assert report.status is expected
    assert [finding.lines for finding in report.findings if finding.lines] == [(7, 9)] * (expected is FAILED)


def test_one_wrong_case_is_a_wrong_kernel() -> None:
    run = a_run(a_case("small"), a_case("big", Verdict.INCORRECT, "output 'out' differs at [3]"))
    report = CHECKS["correct"].inspect(an_honest_answer(run=run))
    assert report.status is FAILED
    messages = [finding.message for finding in report.findings]
    assert "1 of 2 case runs pass." in messages
    assert "Case big (M = 512): output 'out' differs at [3]" in messages


def test_outputs_of_the_wrong_interface_are_a_wrong_kernel() -> None:
    assert status("correct", built(Verdict.INCORRECT, message="returns 2 outputs, expected 1")) is FAILED


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.INFRASTRUCTURE])
def test_a_case_that_nobody_could_run_leaves_correctness_open(verdict: Verdict) -> None:
    assert status("correct", an_honest_answer(run=a_run(a_case("small"), a_case("big", verdict)))) is UNKNOWN


@pytest.mark.parametrize(
    ("fidelity", "expected"), [("exact", FAILED), ("approximate", FAILED), ("unmodelled", UNKNOWN)]
)
def test_a_wrong_answer_of_undocumented_operations_proves_nothing(
    fidelity: str, expected: CheckStatus
) -> None:
    evidence = an_honest_answer(
        build=a_build(a_program(fidelity=fidelity)), run=a_run(a_case("small", Verdict.INCORRECT))
    )
    assert status("correct", evidence) is expected


def test_a_crash_counts_whatever_the_operations_are() -> None:
    evidence = an_honest_answer(
        build=a_build(a_program(fidelity="unmodelled")), run=a_run(a_case("small", Verdict.RUNTIME_ERROR))
    )
    assert status("correct", evidence) is FAILED


@pytest.mark.parametrize(
    ("check", "fact", "good", "bad"),
    [
        ("hbm_traffic", "hbm_traffic_ratio", 1.25, 1.26),
        ("dma_size", "dma_bytes_per_partition", 2048, 2047),
        ("free_size", "mean_free_size", 128, 127),
        ("speed_of_light", "speed_of_light_share", 0.6, 0.59),
        ("tensor_engine_use", "matmul_mean_moving", 384, 383),
        ("tensor_engine_use", "matmul_mean_stationary", 96, 95),
        ("on_chip_memory", "sbuf_peak_bytes", 0.92 * 229376, 0.93 * 229376),
        ("on_chip_memory", "psum_peak_bytes", 16384, 16385),
    ],
)
def test_profile_checks_change_their_mind_at_the_documented_bound(
    check: str, fact: str, good: float, bad: float
) -> None:
    assert status(check, an_honest_answer(profile=a_profile(**{fact: good}))) is PASSED
    assert status(check, an_honest_answer(profile=a_profile(**{fact: bad}))) is FAILED


@pytest.mark.parametrize(
    ("check", "fact"),
    [
        ("hbm_traffic", "hbm_traffic_ratio"),
        ("dma_size", "dma_bytes_per_partition"),
        ("free_size", "mean_free_size"),
        ("speed_of_light", "speed_of_light_share"),
        ("tensor_engine_use", "matmul_mean_moving"),
        ("on_chip_memory", "sbuf_peak_bytes"),
    ],
)
def test_an_absent_fact_leaves_the_check_open(check: str, fact: str) -> None:
    assert status(check, an_honest_answer(profile=a_profile(**{fact: None}))) is UNKNOWN
    assert status(check, an_honest_answer(profile=None)) is UNKNOWN


def test_less_traffic_than_possible_is_not_praised() -> None:
    assert status("hbm_traffic", an_honest_answer(profile=a_profile(hbm_traffic_ratio=0.5))) is UNKNOWN


@pytest.mark.parametrize(
    ("asked", "share", "rate"), [("bfloat16", 0.0, 1.0), ("bfloat16", 1.0, 0.25), ("float32", 1.0, 1.0)]
)
def test_float32_matmuls_cost_four_passes_unless_the_task_asks_for_them(
    asked: str, share: float, rate: float
) -> None:
    numerics = Numerics(compute_dtype=asked, rel_l2=1, row_rel_l2=1, elementwise=1, reason="any")
    evidence = an_honest_answer(task=a_task(numerics=numerics), profile=a_profile(fp32_matmul_share=share))
    (fact,) = CHECKS["tensor_engine_use"].inspect(evidence).facts
    assert fact.value == pytest.approx(rate)


# The tolerance is 1e-4. Rounding of 6e-5 leaves sqrt(10**2 - 6**2) = 8 (in 1e-5) for the kernel's own error.
@pytest.mark.parametrize(
    ("error", "ratio"),
    [
        (an_error(4e-5), 0.4),
        (an_error(6e-5), 0.6),
        (an_error(6e-5, rounding=6e-5), 0.0),
        (an_error(5e-5, rounding=6e-5), 0.0),
        (an_error(1e-4, rounding=6e-5), 1.0),
        (an_error(math.sqrt(6**2 + 3.2**2) * 1e-5, rounding=6e-5), 0.4),
        (an_error(2e-4, rounding=2e-4), 0.0),
        (an_error(3e-4, rounding=2e-4), math.inf),
        (an_error(math.nan), math.inf),
        (an_error(math.inf), math.inf),
    ],
)
def test_the_error_margin_is_the_kernels_own_error_over_what_the_tolerance_leaves(
    error: OutputError, ratio: float
) -> None:
    evidence = an_honest_answer(run=a_run(a_case("small", errors=(error,))))
    facts = {fact.id: fact.value for fact in collect_facts(evidence)}
    assert facts["run.own_error_over_tolerance"] == pytest.approx(ratio)
    assert status("error_margin", evidence) is (PASSED if ratio <= 0.5 else FAILED)


def of_cases(*cases: CaseResult) -> Evidence:
    return an_honest_answer(run=a_run(*cases))


@pytest.mark.parametrize(
    ("ordinary", "special", "expected"),
    [
        (Verdict.CORRECT, Verdict.CORRECT, PASSED),
        (Verdict.INCORRECT, Verdict.CORRECT, PASSED),
        (Verdict.CORRECT, Verdict.INCORRECT, FAILED),
        (Verdict.INCORRECT, Verdict.INCORRECT, UNKNOWN),
        (Verdict.CORRECT, Verdict.UNSUPPORTED, UNKNOWN),
    ],
)
def test_special_values_fail_where_extraordinary_distributions_alone_do(
    ordinary: Verdict, special: Verdict, expected: CheckStatus
) -> None:
    assert status("special_values", of_cases(a_case("small", ordinary), a_case("hard", special))) is expected


@pytest.mark.parametrize(
    ("listed", "hidden", "expected"),
    [
        (Verdict.CORRECT, Verdict.CORRECT, PASSED),
        (Verdict.INCORRECT, Verdict.CORRECT, PASSED),
        (Verdict.CORRECT, Verdict.INCORRECT, FAILED),
        (Verdict.INCORRECT, Verdict.INCORRECT, UNKNOWN),
        (Verdict.CORRECT, Verdict.UNSUPPORTED, UNKNOWN),
    ],
)
def test_generality_fails_where_hidden_shapes_alone_do(
    listed: Verdict, hidden: Verdict, expected: CheckStatus
) -> None:
    assert status("generality", of_cases(a_case("small", listed), a_case("secret", hidden))) is expected


def test_without_such_cases_both_stay_open() -> None:
    assert status("special_values", of_cases(a_case("small"))) is UNKNOWN
    assert status("generality", of_cases(a_case("small"))) is UNKNOWN


def test_draws_of_one_case_are_told_once() -> None:
    report = CHECKS["correct"].inspect(
        of_cases(
            a_case("small", Verdict.INCORRECT, "first", seed=0),
            a_case("small", Verdict.INCORRECT, "second", seed=1),
        )
    )
    told = [finding.message for finding in report.findings if finding.message.startswith("Case ")]
    assert told == ["Case small (M = 128): first"]


def test_cases_that_fail_in_the_same_words_are_told_by_the_first_of_them() -> None:
    message = "line 3: the result depends on memory that nothing wrote"
    names = ("a", "b", "c", "d", "e", "f")
    report = CHECKS["correct"].inspect(
        of_cases(
            *(a_case("small", Verdict.RUNTIME_ERROR, message).model_copy(update={"case": n}) for n in names),
            a_case("big", Verdict.INCORRECT, "out differs at [3]"),
        )
    )
    told = [finding.message for finding in report.findings if finding.severity is Severity.ERROR]
    assert told[:2] == [
        f"Case a (M = 128) and 5 more: {message}",
        "Case big (M = 512): out differs at [3]",
    ]
    assert not any("more cases fail" in text for text in told)


def test_a_wrong_pattern_of_the_battery_is_told_with_its_shape_after_the_tasks_own_cases() -> None:
    report = CHECKS["correct"].inspect(
        of_cases(
            a_case("battery: impulse", Verdict.INCORRECT, "out differs at [5]"),
            a_case("big", Verdict.INCORRECT, "out differs at [3]"),
        )
    )
    told = [finding.message for finding in report.findings if finding.message.startswith("Case ")]
    assert told == [
        "Case big (M = 512): out differs at [3]",
        "Case battery impulse (M = 160): out differs at [5]",
    ]


@pytest.mark.parametrize(
    ("name", "where", "cause"),
    [
        ("battery: impulse", "the pattern impulse", "a term that is dropped"),
        ("hard", "inputs of distribution large", "a maximum is subtracted"),
    ],
)
def test_what_unusual_values_usually_reveal_is_said(name: str, where: str, cause: str) -> None:
    report = CHECKS["special_values"].inspect(of_cases(a_case("small"), a_case(name, Verdict.INCORRECT)))
    assert report.status is FAILED
    (finding,) = report.findings
    assert finding.message.startswith(f"Wrong with {where}. Look for ")
    assert cause in finding.message


def test_the_smallest_shape_with_ordinary_values_is_no_special_value() -> None:
    smallest = Case(name="battery: smallest", kind=CaseKind.BATTERY, axes={"M": 1})
    wrong = a_case("small", Verdict.INCORRECT).model_copy(update={"case": "battery: smallest"})
    evidence = an_honest_answer(task=a_task(cases=(smallest,)), run=a_run(wrong))
    assert status("special_values", evidence) is UNKNOWN
