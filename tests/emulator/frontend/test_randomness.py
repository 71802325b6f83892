"""`nl.rand`, `nl.random_seed`, `nl.dropout`: our own values, with the documented properties."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.frontend.execution import run
from tests.emulator.frontend.kernels import record_body, refusal, resolved

ONES = np.ones((128, 200), dtype=np.float32)
TARGETS = ("trn1", "trn2", "trn3")


@pytest.mark.parametrize("target", TARGETS)
def test_random_numbers_lie_between_zero_and_one(target: str) -> None:
    result = run("result = nl.rand((128, 200), dtype=nl.float32)", target=target, x=ONES)
    assert result.min() >= 0
    assert result.max() <= 1
    # 25,600 uniform numbers: the mean's standard deviation is 0.0018.
    assert result.mean() == pytest.approx(0.5, abs=0.01)
    assert len(np.unique(result)) > 20_000


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_seed_gives_the_same_numbers(target: str) -> None:
    body = """
seed = nl.full((1, 1), 42, dtype=nl.int32)
nl.random_seed(seed)
first = nl.rand((16, 8), dtype=nl.float32)
other = nl.rand((16, 8), dtype=nl.float32)
nl.random_seed(seed)
again = nl.rand((16, 8), dtype=nl.float32)
result = nl.ndarray((16, 3, 8), dtype=nl.float32)
nisa.tensor_copy(result[:, 0], first)
nisa.tensor_copy(result[:, 1], other)
nisa.tensor_copy(result[:, 2], again)
"""
    first, other, again = run(body, target=target, x=ONES).transpose(1, 0, 2)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_numbers_come_from_rand2_on_trn3_and_from_bits_before() -> None:
    def operations(target: str) -> list[str]:
        program = record_body("nl.rand((128, 4), dtype=nl.float32)", target=target)
        return [entry.operation for entry in resolved(program)[:-2]]

    assert operations("trn3") == ["rand2"]
    assert operations("trn2") == ["rng", "tensor_scalar", "tensor_scalar"]


def test_random_tensors_may_lie_anywhere() -> None:
    body = "h = nl.rand((3, 100, 5), dtype=nl.bfloat16, buffer=nl.shared_hbm)\nresult = nl.load(h[2])"
    assert run(body, x=ONES).astype(np.float32).min() >= 0
    record_body("assert nl.rand((8, 8), dtype=nl.float32, buffer=nl.psum).buffer == nl.psum")


@pytest.mark.parametrize(("rate", "survivors"), [(0.0, 1.0), (1.0, 0.0), (0.25, 0.75)])
def test_dropout_zeroes_a_share_of_the_elements_and_scales_none(rate: float, survivors: float) -> None:
    result = run(f"result = nl.dropout(nl.load(x), {rate})", x=ONES)
    assert set(np.unique(result)) <= {0.0, 1.0}
    assert result.mean() == pytest.approx(survivors, abs=0.02)


def test_dropout_takes_a_rate_per_partition() -> None:
    body = "result = nl.dropout(nl.load(x), nl.load(r))"
    rates = np.repeat([[0.0], [1.0]], 64, 0).astype(np.float32)
    result = run(body, x=ONES, r=rates)
    assert np.array_equal(result, np.repeat([[1.0], [0.0]], 64, 0) * ONES)


@pytest.mark.parametrize(
    ("statement", "fragment"),
    [
        ("nl.random_seed(42)", "nl.full((1, 1), seed, dtype=nl.int32)"),
        ("nl.random_seed(nl.full((2, 1), 42, dtype=nl.int32))", "[1, 1] tile"),
        ("nl.rand((128, 4))", "missing 1 required positional argument: 'dtype'"),
        ("nl.dropout(x, 0.5)", "not on chip"),
    ],
)
def test_what_is_refused(statement: str, fragment: str) -> None:
    assert fragment in refusal(statement).message
