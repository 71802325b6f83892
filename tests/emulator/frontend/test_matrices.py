"""`nl.matmul` and `nl.transpose`."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.emulator.frontend.execution import run
from tests.emulator.frontend.kernels import record_body, refusal

RNG = np.random.default_rng(3)
A = RNG.normal(size=(16, 24)).astype(np.float32)
B = RNG.normal(size=(16, 40)).astype(np.float32)


def test_matmul_contracts_over_partitions() -> None:
    body = "result = nl.matmul(x=nl.load(x), y=nl.load(y), transpose_x=True)"
    np.testing.assert_allclose(run(body, x=A, y=B), A.astype(np.float64).T @ B.astype(np.float64), 1e-4, 1e-5)


def test_matmul_of_bfloat16_accumulates_in_float32() -> None:
    left, right = A.astype(ml_dtypes.bfloat16), B.astype(ml_dtypes.bfloat16)
    result = run("result = nl.matmul(nl.load(x), nl.load(y), transpose_x=True)", x=left, y=right)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, left.astype(np.float64).T @ right.astype(np.float64), 1e-5, 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
def test_transpose_swaps_partition_and_free_dimension(dtype: type) -> None:
    array = A.astype(np.dtype(dtype))
    assert np.array_equal(run("result = nl.transpose(nl.load(x))", x=array), array.T)


def test_transpose_converts_with_a_copy_of_its_own() -> None:
    array = A.astype(ml_dtypes.bfloat16)
    result = run("result = nl.transpose(nl.load(x), dtype=nl.float32)", x=array)
    assert np.array_equal(result, array.T.astype(np.float32))


def test_results_lie_in_psum() -> None:
    record_body(
        "t = nl.load(x[:, 0:128])\n"
        "assert nl.transpose(t).buffer == nl.psum\n"
        "assert nl.transpose(t, dtype=nl.bfloat16).buffer == nl.psum\n"
        "assert nl.matmul(t, t, transpose_x=True).buffer == nl.psum\n"
    )


@pytest.mark.parametrize(
    ("statement", "fragment"),
    [
        ("nl.matmul(t, t)", "transpose_x=True"),
        ("nl.matmul(t, t[0:64], transpose_x=True)", "same partition"),
        ("nl.matmul(t.reshape((128, 2, 4)), t, transpose_x=True)", "two dimensions"),
        ("nl.transpose(t.reshape((128, 2, 4)))", "two dimensions"),
        ("nl.transpose(x)", "not on chip"),
    ],
)
def test_what_is_refused(statement: str, fragment: str) -> None:
    error = refusal(f"t = nl.zeros((128, 8), dtype=nl.float32)\n{statement}")
    assert error.kind == "compile_error"
    assert fragment in error.message
