"""Patterns of right and wrong cases, and what they suggest."""

import pytest

from pipeline.checks.diagnosis import suggest_cause
from pipeline.types import CaseKind, CaseResult, Verdict
from tests.checks.evidence import an_error


def ran(
    verdict: Verdict,
    *,
    rel_l2: float = 0.5,
    rounding: float = 0.0,
    kind: CaseKind = CaseKind.CHECK,
    **axes: int,
) -> CaseResult:
    name = "-".join(str(size) for size in axes.values())
    errors = (an_error(rel_l2, rounding=rounding),)
    return CaseResult(case=name, kind=kind, axes=axes, seed=0, verdict=verdict, message="", errors=errors)


def right(**axes: int) -> CaseResult:
    return ran(Verdict.CORRECT, rel_l2=0.0, **axes)


def wrong(rel_l2: float = 0.5, rounding: float = 0.0, **axes: int) -> CaseResult:
    return ran(Verdict.INCORRECT, rel_l2=rel_l2, rounding=rounding, **axes)


def test_nothing_is_suggested_where_nothing_is_wrong() -> None:
    assert suggest_cause([right(M=128), ran(Verdict.TIMEOUT, M=256)]) is None


def test_failing_tails_are_recognised() -> None:
    cases = [right(M=128, N=512), right(M=80, N=64), right(M=256, N=512), wrong(M=200, N=512)]
    assert "partial last tile" in str(suggest_cause(cases))


def test_a_right_tail_refutes_it() -> None:
    cases = [right(M=128, N=512), right(M=200, N=512), wrong(M=300, N=512), wrong(M=130, N=512)]
    assert suggest_cause(cases) is None


def test_a_size_that_separates_right_from_wrong_names_its_loop() -> None:
    cases = [right(M=512, K=128), right(M=128, K=300), wrong(M=128, K=512), wrong(M=512, K=1024)]
    said = str(suggest_cause(cases))
    assert "right up to K = 300 and wrong from K = 512 on" in said
    assert "loop over K" in said


def test_all_axes_that_separate_are_named() -> None:
    said = str(suggest_cause([right(M=128, K=128), wrong(M=256, K=512)]))
    assert "right up to M = 128, K = 128 and wrong from M = 256, K = 512 on" in said
    assert "the loop over M and the loop over K" in said


def test_sizes_within_one_tile_separate_nothing() -> None:
    assert suggest_cause([right(M=7), wrong(M=64), wrong(M=256)]) is None


def test_a_telling_error_outranks_a_telling_size() -> None:
    assert "bfloat16" in str(suggest_cause([right(M=128), wrong(1.7e-3, M=256)]))


@pytest.mark.parametrize(
    ("errors", "dtype"),
    [
        ([1.66e-3, 2.4e-3, 1.7e-3], "bfloat16"),
        ([2.1e-4, 2.2e-4], "float16"),
        ([1.66e-3, 1.7e-3, 5e-5], "bfloat16"),
        ([1.15e-4, 1.2e-4], None),
        ([0.5, 0.6], None),
        ([float("inf")], None),
        ([float("nan")], None),
    ],
)
def test_errors_of_the_size_of_a_rounding_name_the_dtype(errors: list[float], dtype: str | None) -> None:
    said = suggest_cause([wrong(error, M=128) for error in errors])
    assert (said is None) == (dtype is None)
    if dtype is not None:
        assert f"rounding to {dtype} costs" in str(said)


def test_rounding_twice_is_seen_behind_the_outputs_own_rounding() -> None:
    # Two roundings to bfloat16 of 1.66e-3 each: together sqrt(2) times as much.
    assert "bfloat16" in str(suggest_cause([wrong(2.35e-3, rounding=1.66e-3, M=128)]))


def test_hidden_cases_take_no_part() -> None:
    hidden = ran(Verdict.INCORRECT, kind=CaseKind.HIDDEN, M=777)
    assert suggest_cause([right(M=128), hidden]) is None
    assert "512" in str(suggest_cause([right(M=128), wrong(M=512), hidden]))
    assert "777" not in str(suggest_cause([right(M=128), wrong(M=512), hidden]))


def test_a_pattern_that_fails_says_nothing_of_its_shape() -> None:
    battery = [ran(Verdict.CORRECT, rel_l2=0.0, kind=CaseKind.BATTERY, M=160)]
    failing = ran(Verdict.INCORRECT, kind=CaseKind.BATTERY, M=160)
    assert suggest_cause([right(M=128), *battery, failing]) is None
