"""Tensors that their author places: those that overlap alias, as bytes in one memory do."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.emulator.legality import check, memory_peaks
from tests.emulator.frontend.kernels import refusal
from tests.emulator.frontend.submissions import execute, program_of

X = np.arange(64 * 8, dtype=np.float32).reshape(64, 8)


def test_two_tensors_on_the_same_bytes_are_one_memory():
    source = """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.shared_hbm)
            whole = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf, address=(0, 64))
            right = nl.ndarray((64, 4), dtype=nl.float32, buffer=nl.sbuf, address=(0, 80))
            nisa.dma_copy(whole, x)
            nisa.tensor_scalar(right, right, op0=nl.multiply, operand0=-1.0)
            nisa.dma_copy(out, whole)
            return out
    """
    (out,) = execute(source, x=X)
    assert np.array_equal(out, np.concatenate([X[:, :4], -X[:, 4:]], axis=1))


def test_a_tensor_on_later_partitions_aliases_those_rows():
    source = """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.shared_hbm)
            whole = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))
            lower = nl.ndarray((32, 8), dtype=nl.float32, buffer=nl.sbuf, address=(32, 0))
            nisa.dma_copy(whole, x)
            nisa.memset(lower, 0.0)
            nisa.dma_copy(out, whole)
            return out
    """
    (out,) = execute(source, x=X)
    assert np.array_equal(out[:32], X[:32])
    assert not out[32:].any()


def test_a_placed_tensor_can_be_reinterpreted_and_sliced_as_any_other():
    source = """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((64, 2), dtype=nl.int32, buffer=nl.shared_hbm)
            tile = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf, address=(0, 256))
            nisa.dma_copy(tile, x)
            bits = tile.view(nl.int32)
            nisa.dma_copy(out, bits[:, 2:8:4])
            return out
    """
    (out,) = execute(source, x=X)
    assert np.array_equal(out, X.view(np.int32)[:, 2:8:4])


PLACED_TWICE = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        first = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))
        nisa.dma_copy(first, x)
        {between}
        second = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))
        nisa.memset(second, 0.0)
        nisa.dma_copy(out, {returned})
        return out
"""


def test_reuse_of_the_same_bytes_after_the_last_use_is_no_overlap():
    program = program_of(
        PLACED_TWICE.format(between="nisa.dma_copy(out, first)", returned="second"), {"x": X}
    )
    assert [violation.rule for violation in check(program)] == []


def test_a_tensor_placed_over_one_that_is_still_used_is_warned_of():
    program = program_of(PLACED_TWICE.format(between="", returned="first"), {"x": X})
    (violation,) = [v for v in check(program) if v.rule == "address-overlap"]
    assert "second" in violation.message
    assert "first" in violation.message


def test_the_peak_of_placed_tensors_is_how_far_they_reach():
    program = program_of(PLACED_TWICE.format(between="", returned="second"), {"x": X})
    assert memory_peaks(program).sbuf_bytes == 8 * 4


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ("buffer=nl.shared_hbm, address=(0, 0)", "SBUF and PSUM"),
        ("buffer=nl.sbuf, address=(0,)", "first partition"),
        ("buffer=nl.sbuf, address=0", "first partition"),
        ("buffer=nl.sbuf, address=(0, -4)", "(0, 0)"),
    ],
)
def test_a_wrong_address_is_refused_by_name(arguments, fragment):
    error = refusal(f"nl.ndarray((64, 8), dtype=nl.float32, {arguments})")
    assert error.kind == "compile_error"
    assert fragment in error.message
