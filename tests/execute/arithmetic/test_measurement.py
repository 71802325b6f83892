"""What is measured of a reference: spread, noise, the fallback where it cannot be run, and other machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pipeline.execute.arithmetic.measurement import Formula, Measurement, find_obstacle, measure

U = 2.0**-24
#: Relative error of a function that the scalar engine approximates.
A = 2.0**-16
ROWS = np.random.default_rng(0).standard_normal((64, 512)).astype(np.float32).astype(np.float64)


def measured(
    reference: Callable[[Any], Any],
    x: np.ndarray = ROWS,
    *,
    compute: str = "float32",
    storage: str = "float32",
    output: str = "float32",
    study: bool = False,
) -> Measurement:
    formula = Formula(
        lambda inputs, axes: {"out": reference(inputs["x"])}, {"np": np}, {"x": x}, {}, (("out", output),)
    )
    expected = np.asarray(reference(x), np.float64)
    return measure(
        formula, [expected], compute_dtype=compute, storage_dtype=storage, study=study, seed=(1, 2)
    )


def relative_spread(measurement: Measurement, expected: np.ndarray) -> float:
    return float(np.linalg.norm(measurement.spread[0]) / np.linalg.norm(expected))


def test_noise_of_a_long_sum_is_within_what_the_analysis_says() -> None:
    found = measured(lambda x: x.sum(axis=1))
    bound = relative_spread(found, ROWS.sum(axis=1))
    assert 0.02 * bound < max(found.noise[0]) <= bound


def test_spread_is_float32_of_the_output_s_shape() -> None:
    found = measured(lambda x: x.T * 3.0)
    assert found.spread[0].shape == (512, 64)
    assert found.spread[0].dtype == np.float32


def test_what_only_moves_has_neither_spread_nor_noise() -> None:
    found = measured(lambda x: np.concatenate([x.T, -x.T]))
    assert not found.spread[0].any()
    assert set(found.noise[0]) == {0.0}


def test_the_storage_dtype_counts_where_results_are_read_again() -> None:
    once = measured(lambda x: x * 3.0, storage="bfloat16")
    twice = measured(lambda x: x * 3.0 * 3.0, storage="bfloat16")
    assert max(once.noise[0]) < U
    assert 2.0**-11 < max(twice.noise[0]) < 2.0**-8


def test_few_elements_are_seen_in_many_executions() -> None:
    assert len(measured(lambda x: x.sum()[None]).noise[0]) == 16
    assert len(measured(lambda x: x * 2.0).noise[0]) == 2


def test_measuring_twice_gives_the_same() -> None:
    first, second = (measured(lambda x: np.exp(x).sum(axis=1)) for _ in range(2))
    assert first.noise == second.noise
    np.testing.assert_array_equal(first.spread[0], second.spread[0])


UNKNOWN = {
    "a library of its own": lambda x: np.array([[float(number) * 2.0 for number in row] for row in x]),
    "a function that is not known": lambda x: np.fft.irfft(np.fft.rfft(x)),
    "a reduction with an initial value": lambda x: np.sum(x, axis=1, initial=1.0),
    "Python's own functions": lambda x: np.full(3, max(0.0, float(x[0, 0]))),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_a_reference_that_uses(what: str) -> None:
    found = measured(UNKNOWN[what])
    assert "random perturbations" in found.derivation[0]
    expected = np.asarray(UNKNOWN[what](ROWS))
    assert (found.spread[0] >= A * np.abs(expected) * (1 - 1e-6)).all()
    assert relative_spread(found, expected) * (1 - 1e-6) <= max(found.noise[0]) < 4 * A


def test_sensitivity_sees_cancellation() -> None:
    # x - (x - 1e-3) loses 10 bits; float() keeps the analysis out.
    def cancel(x: Any) -> Any:
        return np.vectorize(lambda a, b: a - b, excluded=[])(x[:, 0], x[:, 1]) + float(0 * x[0, 0])

    x = np.stack([np.linspace(1, 2, 50), np.linspace(1, 2, 50) - 1e-3], axis=1)
    assert max(measured(cancel, x).noise[0]) > 100 * A


def test_sensitivity_sees_a_kink_that_half_of_all_perturbations_leave_flat() -> None:
    def rectify(x: Any) -> Any:
        # On rows of one value the answer is 0 and stays there on one side; float() keeps the analysis out.
        return np.maximum(x - x.mean(axis=1, keepdims=True), 0.0) + 0 * float(x[0, 0])

    assert (measured(rectify, np.full((16, 32), 3.0)).spread[0] > 0).all()


def test_the_obstacle_is_what_the_analysis_met() -> None:
    found = measured(lambda x: np.nan_to_num(x) + 1.0)
    assert find_obstacle(found.derivation) == "nan_to_num() is not known here"
    assert find_obstacle(measured(lambda x: x + 1.0).derivation) is None


def test_noise_on_nothing_but_zeros_is_measured_against_the_spread() -> None:
    x = np.full((8, 64), np.float64(np.float32(0.1)))  # 64 equal terms: float64 adds them up exactly
    found = measured(lambda x: np.maximum(x - x.mean(axis=1, keepdims=True), 0.0), x)
    assert (found.spread[0] > 0).all()
    assert max(found.noise[0]) > 0


def test_an_integer_answer_rounds_nowhere() -> None:
    found = measured(lambda x: np.argmax(x, axis=1), output="int32")
    assert not found.spread[0].any()
    assert set(found.noise[0]) == {0.0}


def test_constants_and_vectors_of_constants_are_exact() -> None:
    found = measured(lambda x: np.maximum(x, np.linspace(0.1, 0.2, 512)))
    assert not found.spread[0].any()


def test_a_float32_output_of_ideal_machines() -> None:
    found = measured(lambda x: x[:, :256] @ x[:, 256:].T, study=True)
    float32, bfloat16, gpu = (found.arithmetic[name][0] for name in ("float32", "bfloat16", "gpu"))
    # Operands lose 8, 16 and 13 bits of 24: each narrower machine is a few hundred, or a few, times worse.
    assert float32 < 1e-6
    assert 2.0**-12 < gpu < 2.0**-9
    assert 2.0**-10 < bfloat16 < 2.0**-7
    assert gpu < bfloat16


def test_the_output_s_own_rounding_is_part_of_a_machine_s_error() -> None:
    found = measured(lambda x: x * 3.0, output="bfloat16", study=True)
    assert 2.0**-10 < found.arithmetic["float32"][0] < 2.0**-8


def test_no_study_no_machines() -> None:
    assert measured(lambda x: x * 3.0).arithmetic == {}
