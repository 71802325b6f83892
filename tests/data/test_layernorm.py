"""layernorm: the reference is the textbook's, and the limits tell stable formulas from unstable ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.oracle import Oracle
from pipeline.types import CaseKind
from tests.data.judging import answer, case_named, draw, load, passes

TASK = load("layernorm")
EPSILON = np.float32(1e-5)
OWN = [case for case in TASK.cases if case.kind is not CaseKind.BATTERY]
FAR = ["far from zero", "hidden size 2048, far from zero", "rows of different offset and scale"]

Formula = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def test_the_reference_has_the_mean_and_variance_of_exact_arithmetic() -> None:
    rng = np.random.default_rng(0)
    x = 1000.0 + rng.standard_normal((3, 16))
    gamma, beta = rng.uniform(0.5, 1.5, 16), rng.standard_normal(16)
    out = answer(TASK, {"x": x, "gamma": gamma, "beta": beta}, {"R": 3, "D": 16})
    for row, result in zip(x.tolist(), out.tolist(), strict=True):
        exact = [Fraction(value) for value in row]
        mean = sum(exact) / 16
        variance = sum((value - mean) ** 2 for value in exact) / 16
        scale = 1 / math.sqrt(float(variance + Fraction(1, 10**5)))
        wanted = [float(value - mean) * scale * g + b for value, g, b in zip(exact, gamma, beta, strict=True)]
        assert result == pytest.approx(wanted, rel=1e-10)


def test_rows_of_plus_and_minus_one_keep_their_values_but_for_the_epsilon() -> None:
    x = np.array([[1.0, -1.0] * 8])
    out = answer(TASK, {"x": x, "gamma": np.ones(16), "beta": np.zeros(16)}, {"R": 1, "D": 16})
    # Mean 0, variance 1: 1 / sqrt(1 + e) = 1 - e / 2 + 3 e**2 / 8 - ... with e = 1e-5.
    assert out[0, :2] == pytest.approx([0.9999950000375, -0.9999950000375], rel=1e-14)


def test_a_constant_row_gives_beta() -> None:
    beta = np.linspace(-1, 1, 16)
    out = answer(TASK, {"x": np.full((1, 16), 2.5), "gamma": np.ones(16), "beta": beta}, {"R": 1, "D": 16})
    assert out[0].tolist() == beta.tolist()


def test_shifting_a_row_changes_nothing() -> None:
    x = np.random.default_rng(1).integers(-8, 9, (2, 32)).astype(np.float64)
    gamma, beta, axes = np.ones(32), np.zeros(32), {"R": 2, "D": 32}
    near = answer(TASK, {"x": x, "gamma": gamma, "beta": beta}, axes)
    far = answer(TASK, {"x": x + 1024, "gamma": gamma, "beta": beta}, axes)
    assert far == pytest.approx(near, abs=1e-12)


# Formulas of float32 arrays, in NumPy's order of sums unless they say another.


def two_passes(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    variance = np.square(centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + EPSILON) * gamma + beta


def running_sums(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    columns = np.float32(x.shape[1])
    centred = x - np.cumsum(x, axis=1)[:, -1:] / columns
    variance = np.cumsum(np.square(centred), axis=1)[:, -1:] / columns
    return centred / np.sqrt(variance + EPSILON) * gamma + beta


def one_pass(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    mean = x.mean(axis=1, keepdims=True)
    variance = np.square(x).mean(axis=1, keepdims=True) - np.square(mean)
    return (x - mean) / np.sqrt(np.maximum(variance, 0) + EPSILON) * gamma + beta


def narrow_centred(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    centred = (x - x.mean(axis=1, keepdims=True)).astype(ml_dtypes.bfloat16).astype(np.float32)
    variance = np.square(centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + EPSILON) * gamma + beta


def epsilon_outside(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / (np.sqrt(np.square(centred).mean(axis=1, keepdims=True)) + EPSILON) * gamma + beta


def sample_variance(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt(x.var(axis=1, ddof=1, keepdims=True) + EPSILON) * gamma + beta


def judged(oracle: Oracle, name: str, formula: Formula) -> bool:
    case = case_named(TASK, name)
    drawn, inputs = draw(oracle, TASK, case)
    return passes(TASK, case, drawn, formula(**inputs))


@pytest.mark.parametrize("formula", [two_passes, running_sums])
@pytest.mark.parametrize("name", [case.name for case in OWN])
def test_stable_formulas_in_any_order_of_sums_are_right(
    shared_oracle: Oracle, name: str, formula: Formula
) -> None:
    assert judged(shared_oracle, name, formula)


@pytest.mark.parametrize("name", [*FAR, "battery: offset"])
def test_mean_of_squares_minus_square_of_mean_is_wrong_far_from_zero(
    shared_oracle: Oracle, name: str
) -> None:
    assert not judged(shared_oracle, name, one_pass)


@pytest.mark.parametrize("name", ["one tile", "tails on both axes", "hidden size 1024"])
@pytest.mark.parametrize("formula", [narrow_centred, sample_variance])
def test_narrow_intermediates_and_the_sample_variance_are_wrong(
    shared_oracle: Oracle, name: str, formula: Formula
) -> None:
    assert not judged(shared_oracle, name, formula)


@pytest.mark.parametrize("name", ["small deviations", "small deviations, one beyond the tile"])
def test_an_epsilon_outside_the_root_is_wrong_on_small_rows(shared_oracle: Oracle, name: str) -> None:
    assert not judged(shared_oracle, name, epsilon_outside)
