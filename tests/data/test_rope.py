"""rope: the reference turns planes that lie half a head apart, and one rounding is told from two."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.oracle import Oracle
from pipeline.types import CaseKind
from tests.data.judging import answer, case_named, draw, load, passes

TASK = load("rope")
OWN = [case.name for case in TASK.cases if case.kind is not CaseKind.BATTERY]
WIDE = [name for name in OWN if case_named(TASK, name).axes["D"] > 2]


def test_the_reference_multiplies_complex_numbers_whose_parts_lie_half_a_head_apart() -> None:
    rng = np.random.default_rng(0)
    x, angles = rng.standard_normal((2, 3, 8)), rng.uniform(-4, 4, (2, 4))
    out = answer(TASK, {"x": x, "cos": np.cos(angles), "sin": np.sin(angles)}, {"T": 2, "H": 3, "D": 8})
    for t in range(2):
        for h in range(3):
            for i in range(4):
                turned = complex(x[t, h, i], x[t, h, i + 4]) * complex(
                    math.cos(angles[t, i]), math.sin(angles[t, i])
                )
                assert out[t, h, i] == pytest.approx(turned.real, rel=1e-12, abs=1e-12)
                assert out[t, h, i + 4] == pytest.approx(turned.imag, rel=1e-12, abs=1e-12)


def test_a_quarter_turn_moves_the_first_half_to_the_second_and_the_second_back_with_its_sign() -> None:
    x = np.array([[[1.0, 2.0, 3.0, 4.0]]])
    out = answer(TASK, {"x": x, "cos": np.zeros((1, 2)), "sin": np.ones((1, 2))}, {"T": 1, "H": 1, "D": 4})
    assert out.tolist() == [[[-3.0, -4.0, 1.0, 2.0]]]


def test_all_heads_of_a_token_turn_by_the_same_angles_and_tokens_by_their_own() -> None:
    x = np.ones((2, 3, 2))
    cos, sin = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    out = answer(TASK, {"x": x, "cos": cos, "sin": sin}, {"T": 2, "H": 3, "D": 2})
    assert out.tolist() == [[[1.0, 1.0]] * 3, [[-1.0, 1.0]] * 3]


@pytest.mark.parametrize("name", OWN)
def test_the_drawn_tables_are_cosines_and_sines(shared_oracle: Oracle, name: str) -> None:
    _, inputs = draw(shared_oracle, TASK, case_named(TASK, name))
    squares = np.square(inputs["cos"].astype(np.float64)) + np.square(inputs["sin"].astype(np.float64))
    assert squares == pytest.approx(np.ones_like(squares), abs=3e-7)


def halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    half = values.shape[2] // 2
    return values[:, :, :half], values[:, :, half:]


def rotate(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, intermediate: type) -> np.ndarray:
    """In float32, the products stored as `intermediate`."""
    first, second = halves(x.astype(np.float32))
    products = [
        (half * table[:, None, :]).astype(intermediate).astype(np.float32)
        for half in (first, second)
        for table in (cos, sin)
    ]
    return np.concatenate((products[0] - products[3], products[2] + products[1]), axis=2)


@pytest.mark.parametrize("name", OWN)
def test_float32_products_rounded_once_are_right(shared_oracle: Oracle, name: str) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    assert passes(TASK, case, drawn, rotate(**inputs, intermediate=np.float32))


@pytest.mark.parametrize("name", WIDE)
def test_bfloat16_products_and_bfloat16_tables_are_wrong(shared_oracle: Oracle, name: str) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    assert not passes(TASK, case, drawn, rotate(**inputs, intermediate=ml_dtypes.bfloat16))
    narrow = {table: inputs[table].astype(ml_dtypes.bfloat16).astype(np.float32) for table in ("cos", "sin")}
    assert not passes(TASK, case, drawn, rotate(inputs["x"], **narrow, intermediate=np.float32))


@pytest.mark.parametrize("name", WIDE)
def test_neighbouring_pairs_and_the_other_direction_are_wrong(shared_oracle: Oracle, name: str) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    x = inputs["x"]
    paired = np.concatenate((x[:, :, ::2], x[:, :, 1::2]), axis=2)
    turned = halves(rotate(paired, inputs["cos"], inputs["sin"], np.float32))
    interleaved = np.stack(turned, axis=3).reshape(x.shape)
    assert not passes(TASK, case, drawn, interleaved)
    assert not passes(TASK, case, drawn, rotate(x, inputs["cos"], -inputs["sin"], np.float32))
