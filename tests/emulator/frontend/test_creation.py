"""Allocating tensors, and tensors filled with constants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.frontend.execution import run
from tests.emulator.frontend.kernels import record_body, refusal

X = np.zeros((4, 4), dtype=np.float32)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("nl.zeros((3, 5), dtype=nl.float32)", np.zeros((3, 5))),
        ("nl.ones((3, 5), dtype=nl.int32)", np.ones((3, 5))),
        ("nl.full((3, 5), 2.5, dtype=nl.float16)", np.full((3, 5), 2.5)),
        ("nl.full((3, 5), fill_value=7, dtype=nl.bfloat16, name='seven')", np.full((3, 5), 7)),
        ("nl.full((3, 5), np.float32(0.5), dtype=nl.float32)", np.full((3, 5), 0.5)),
        ("nl.full((2, 2), True, dtype=nl.bool_)", np.full((2, 2), 1)),
        ("nl.full((2, 2), -3.0, dtype=nl.int8)", np.full((2, 2), -3)),
        ("nl.zeros_like(nl.load(x))", np.zeros((4, 4))),
        ("nl.zeros_like(x, dtype=nl.int32)", np.zeros((4, 4))),
        ("nl.zeros((4, 8), dtype=nl.float32, buffer=nl.psum)", np.zeros((4, 8))),
    ],
)
def test_filled_tensors_hold_their_constant(expression: str, expected: np.ndarray) -> None:
    assert np.array_equal(run(f"result = {expression}", x=X).astype(np.float64), expected)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.sampled_from([1, 300, 700]))
@settings(max_examples=12, deadline=None)
def test_a_filled_tensor_in_hbm_is_written_whole(sizes: list[int], last: int) -> None:
    shape = (*sizes, last)
    result = run(f"result = nl.full({shape}, 7.0, dtype=nl.float32, buffer=nl.private_hbm)", x=X)
    assert result.shape == shape
    assert np.all(result == 7)


def test_a_long_row_in_hbm_is_filled_in_pieces() -> None:
    assert np.all(run("result = nl.ones((600_001,), dtype=nl.int8, buffer=nl.shared_hbm)", x=X) == 1)


def test_zeros_like_lies_in_sbuf_and_empty_like_where_its_model_lies() -> None:
    record_body("assert nl.zeros_like(x).buffer == nl.sbuf\nassert nl.empty_like(x).buffer == nl.hbm")
    record_body("assert nl.empty_like(nl.load(x)).dtype == nl.float32")


def test_an_integer_tensor_is_not_filled_with_what_is_no_integer() -> None:
    for value in ("2.5", "float('inf')", "float('nan')"):
        assert "holds integers" in refusal(f"nl.full((4, 4), {value}, dtype=nl.int32)").message


def test_placed_tensors_share_the_bytes_they_overlap_in() -> None:
    body = """
whole = nl.ndarray((4, 8), dtype=nl.float32, address=(0, 64))
right = nl.ndarray((4, 4), dtype=nl.float32, address=(0, 64 + 16))
nisa.memset(whole, 1.0)
nisa.memset(right, 2.0)
result = nl.copy(whole)
"""
    assert np.array_equal(run(body, x=X), np.tile([1, 1, 1, 1, 2, 2, 2, 2], (4, 1)))


@pytest.mark.parametrize(
    ("statement", "kind", "fragments"),
    [
        ("nl.ndarray((256, 4), nl.float32)", "illegal_on_target", ["partition dimension 256", "128"]),
        ("nl.ndarray((128, 60000), nl.float32)", "illegal_on_target", ["240000 bytes", "229376"]),
        ("nl.ndarray((128, 5000), nl.float32, buffer=nl.psum)", "illegal_on_target", ["psum has 16384"]),
        ("nl.ndarray((128,), nl.float32)", "compile_error", ["one dimension", "(128, 1)"]),
        ("nl.ndarray((128, 0), nl.float32)", "compile_error", ["at least 1"]),
        ("nl.ndarray((128, 4.0), nl.float32)", "compile_error", ["tuple of integers"]),
        ("nl.ndarray((128, 4), nl.float32, buffer='sbuf')", "compile_error", ["use nl.sbuf"]),
        ("nl.ndarray((128, 4), np.float64)", "compile_error", ["float64"]),
        ("nl.ndarray((128, 4), nl.float32, address=7)", "compile_error", ["first byte"]),
        ("nl.ndarray((128, 4), nl.float32, address=(0, -4))", "compile_error", ["(0, -4)"]),
        (
            "nl.ndarray((128, 4), nl.float32, buffer=nl.shared_hbm, address=(0, 0))",
            "compile_error",
            ["shared_hbm", "SBUF and PSUM"],
        ),
        (
            "nl.ndarray((64, 4), nl.float32, address=(96, 0))",
            "illegal_on_target",
            ["ends at partition 160", "128 partitions"],
        ),
        (
            "nl.ndarray((64, 4), nl.float32, buffer=nl.psum, address=(0, 16380))",
            "illegal_on_target",
            ["byte 16396", "16384 bytes"],
        ),
        ("nl.ndarray((1 << 14, 1 << 15), nl.int8, buffer=nl.shared_hbm)", "too_large", ["536870912"]),
        ("nl.full((4, 4), 'a', dtype=nl.float32)", "compile_error", ["str 'a'", "must be a number"]),
        ("nl.full((4, 4), nl.load(x), dtype=nl.float32)", "compile_error", ["NkiTensor", "a number"]),
        ("nl.zeros_like(np.zeros(3))", "compile_error", ["nl.zeros_like takes a tensor, not ndarray"]),
        ("nl.zeros((4, 4), nl.float32, lazy_initialization=True)", "compile_error", ["lazy_initialization"]),
    ],
)
def test_what_cannot_be_allocated_is_refused(statement: str, kind: str, fragments: list[str]) -> None:
    error = refusal(statement)
    assert error.kind == kind
    for fragment in fragments:
        assert fragment in error.message
    assert "\n" not in error.message
