"""fp8_matmul: the reference undoes the quantisation; the limits know exact products from rounded ones."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.oracle import Oracle
from pipeline.types import CaseKind
from tests.data.judging import answer, case_named, draw, load, passes

TASK = load("fp8_matmul")
OWN = [case.name for case in TASK.cases if case.kind is not CaseKind.BATTERY]
NARROW = ml_dtypes.float8_e4m3


def test_each_element_is_a_scaled_sum_of_products() -> None:
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.integers(-240, 241, shape).astype(NARROW).astype(float) for shape in ((34, 5), (34, 7)))
    inputs = {"lhsT": lhs, "rhs": rhs, "lhs_scale": np.array([[0.125]]), "rhs_scale": np.array([[0.75]])}
    out = answer(TASK, inputs, {"M": 5, "K": 34, "N": 7})
    for m in range(5):
        for n in range(7):
            products = math.fsum(lhs[k, m] * rhs[k, n] for k in range(34))
            assert out[m, n] == pytest.approx(0.125 * 0.75 * products, rel=1e-13)


def test_a_product_by_hand() -> None:
    inputs = {
        "lhsT": np.array([[2.0], [-240.0]]),
        "rhs": np.array([[8.0, 0.5], [1.0, -0.25]]),
        "lhs_scale": np.array([[0.5]]),
        "rhs_scale": np.array([[4.0]]),
    }
    # 0.5 * 4 * (2 * 8 - 240) and 0.5 * 4 * (2 * 0.5 + 240 * 0.25)
    assert answer(TASK, inputs, {"M": 1, "K": 2, "N": 2}).tolist() == [[-448.0, 122.0]]


@pytest.mark.sandbox
@pytest.mark.parametrize("name", OWN)
def test_operands_fill_the_range_of_their_dtype_and_scales_are_positive(
    name: str, shared_oracle: Oracle
) -> None:
    _, inputs = draw(shared_oracle, TASK, case_named(TASK, name))
    for operand in ("lhsT", "rhs"):
        assert np.abs(inputs[operand].astype(float)).max() == 240.0  # the largest float8_e4m3
    assert inputs["lhs_scale"] > 0
    assert inputs["rhs_scale"] > 0


@pytest.mark.sandbox
def test_scales_differ_between_operands_and_cases(shared_oracle: Oracle) -> None:
    drawn = [draw(shared_oracle, TASK, case_named(TASK, name))[1] for name in ("square", "wide")]
    assert len({float(inputs[name][0, 0]) for inputs in drawn for name in ("lhs_scale", "rhs_scale")}) == 4


def test_every_shape_has_whole_pairs_of_rows_and_some_a_shorter_last_tile() -> None:
    assert all(case.axes["K"] % 2 == 0 for case in TASK.cases)
    assert any(case.axes["K"] > 256 and case.axes["K"] % 256 for case in TASK.cases)


def product(inputs: dict[str, np.ndarray], step: int, total_dtype: type) -> np.ndarray:
    """The product with the sum over K kept in `total_dtype` between `step` terms, scaled at the end."""
    lhs, rhs = inputs["lhsT"].astype(np.float32), inputs["rhs"].astype(np.float32)
    total = np.zeros((lhs.shape[1], rhs.shape[1]), total_dtype)
    for k in range(0, len(lhs), step):
        total = (total.astype(np.float32) + lhs[k : k + step].T @ rhs[k : k + step]).astype(total_dtype)
    return total.astype(np.float32) * inputs["lhs_scale"] * inputs["rhs_scale"]


@pytest.mark.sandbox
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("step", [32, 256])
def test_float32_sums_in_any_tiles_are_inside(name: str, step: int, shared_oracle: Oracle) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    assert passes(TASK, case, drawn, product(inputs, step, np.float32))


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["one tile", "tails on every axis", "no cancellation", "square", "wide"])
def test_sums_in_bfloat16_are_outside(name: str, shared_oracle: Oracle) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    assert not passes(TASK, case, drawn, product(inputs, 256, ml_dtypes.bfloat16))


@pytest.mark.sandbox
@pytest.mark.parametrize("name", OWN)
def test_one_pair_of_rows_less_is_outside(name: str, shared_oracle: Oracle) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    shorter = {**inputs, "lhsT": inputs["lhsT"].copy()}
    shorter["lhsT"][-2:] = 0
    assert not passes(TASK, case, drawn, product(shorter, 256, np.float32))
