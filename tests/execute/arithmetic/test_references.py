"""Formulas as tasks write them run in every arithmetic, and the bounds explain what they answer there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pipeline.execute.arithmetic.arithmetic import Arithmetic
from pipeline.execute.arithmetic.bounds import RunningError
from pipeline.execute.arithmetic.executions import Execution, Order
from pipeline.execute.arithmetic.measurement import Formula
from tests.execute.arithmetic import references

X = np.random.default_rng(5).standard_normal((24, 40)).astype(np.float32).astype(np.float64)

Reference = Callable[[Any], Any]


def run(reference: Reference, arithmetic: Arithmetic, x: np.ndarray = X) -> tuple[np.ndarray, ...]:
    formula = Formula(
        lambda inputs, axes: {"out": reference(inputs["x"])},
        vars(references),
        {"x": x},
        {},
        (("out", "float32"),),
    )
    return formula.run(arithmetic)[0]


@pytest.mark.parametrize("reference", references.REFERENCES, ids=lambda reference: reference.__name__)
def test_values_are_those_of_plain_numpy(reference: Reference) -> None:
    values, bounds = run(reference, RunningError("float32", "float32"))
    np.testing.assert_allclose(values, reference(X), rtol=1e-12, atol=1e-12)
    assert bounds.shape == values.shape
    assert np.isfinite(bounds).all()


@pytest.mark.parametrize("storage", ["float32", "bfloat16"])
@pytest.mark.parametrize("reference", references.REFERENCES, ids=lambda reference: reference.__name__)
def test_an_honest_execution_stays_within_a_few_bounds(reference: Reference, storage: str) -> None:
    values, bounds = run(reference, RunningError("float32", storage))
    for order in (Order(None), Order(8, backwards=True)):
        rng = np.random.default_rng(order.block)
        (got,) = run(reference, Execution("float32", storage, order, rng))
        errors = np.abs(got - values)
        # Bounds hold with high probability, not always, and ulps at steps are all or nothing.
        assert np.sqrt(np.mean(np.square(errors))) <= 1.5 * np.sqrt(np.mean(np.square(bounds)))
        assert (errors <= 6 * bounds + 1e-30).all()


@pytest.mark.parametrize("reference", references.REFERENCES, ids=lambda reference: reference.__name__)
def test_names_mean_numpy_again_afterwards(reference: Reference) -> None:
    run(reference, RunningError("float32", "float32"))
    assert references.np is np
    assert isinstance(references.error_function, np.vectorize)
