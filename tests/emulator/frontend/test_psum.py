"""``nc_matmul(accumulate=None)``: the first write since the allocation overwrites, later ones add."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.emulator.frontend import KernelError
from pipeline.emulator.frontend.psum import WrittenRegions
from pipeline.emulator.frontend.views import View, contiguous
from pipeline.emulator.legality import check
from tests.emulator.frontend.kernels import record_body, refusal, resolved

SETUP = """
a = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
b = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)
nisa.memset(dst=a, value=1.0)
nisa.memset(dst=b, value=1.0)
"""


def accumulates(body: str) -> list[object]:
    program = record_body(SETUP + body)
    return [entry.scalars["accumulate"] for entry in resolved(program) if entry.operation == "nc_matmul"]


def test_the_first_matmul_overwrites_and_later_ones_add() -> None:
    body = """
p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
for k in range(3):
    nisa.nc_matmul(dst=p, stationary=a, moving=b)
"""
    assert accumulates(body) == [False, True, True]


def test_a_destination_outside_psum_is_left_to_legality() -> None:
    body = "p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\nnisa.nc_matmul(p, a, b)\n"
    assert accumulates(body) == [False]
    (refused,) = [v for v in check(record_body(SETUP + body)) if v.rule == "operand-memory"]
    assert "dst lies in SBUF, must lie in PSUM" in refused.message


def test_a_tensor_allocated_in_the_loop_starts_afresh() -> None:
    body = """
for k in range(2):
    p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=p, stationary=a, moving=b)
    nisa.nc_matmul(dst=p, stationary=a, moving=b)
"""
    assert accumulates(body) == [False, True, False, True]


def test_reading_the_result_does_not_start_afresh() -> None:
    body = """
p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
s = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
for k in range(2):
    nisa.nc_matmul(dst=p, stationary=a, moving=b)
    nisa.tensor_copy(dst=s, src=p)
"""
    assert accumulates(body) == [False, True]


def test_locations_of_one_tensor_are_told_apart() -> None:
    body = """
p = nl.ndarray((128, 4, 128), dtype=nl.float32, buffer=nl.psum)
for i in range(2):
    for k in range(2):
        nisa.nc_matmul(dst=p[:, i, :], stationary=a, moving=a)
"""
    assert accumulates(body) == [False, True, False, True]


def test_partitions_of_one_tensor_are_told_apart() -> None:
    body = """
p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=p[0:64], stationary=a[:, 0:64], moving=b)
nisa.nc_matmul(dst=p[64:128], stationary=a[:, 0:64], moving=b)
nisa.nc_matmul(dst=p, stationary=a, moving=b)
"""
    assert accumulates(body) == [False, False, True]


def test_one_location_under_two_shapes_is_one_location() -> None:
    body = """
p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=p.reshape((128, 2, 256)), stationary=a, moving=b)
nisa.nc_matmul(dst=p, stationary=a, moving=b)
"""
    assert accumulates(body) == [False, True]


def test_explicit_flags_are_kept_and_count_as_writes() -> None:
    body = """
p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=p, stationary=a, moving=b, accumulate=False)
nisa.nc_matmul(dst=p, stationary=a, moving=b)
nisa.nc_matmul(dst=p, stationary=a, moving=b, accumulate=False)
nisa.nc_matmul(dst=p, stationary=a, moving=b, accumulate=True)
"""
    assert accumulates(body) == [False, True, False, True]


def test_a_memset_is_no_matmul_write() -> None:
    body = """
p = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=p, stationary=a, moving=b)
"""
    assert accumulates(body) == [False]


@pytest.mark.parametrize("second", ["p[:, 256:512]", "p[:, 0:512:2]"])
def test_a_write_that_is_partly_fresh_is_refused_by_name(second: str) -> None:
    error = refusal(f"""{SETUP}
p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(dst=p[:, 0:384], stationary=a, moving=b[:, 0:384])
nisa.nc_matmul(dst={second}, stationary=a, moving=b[:, 0:256])
""")
    assert error.kind == "unsupported"
    assert "accumulate" in error.message
    assert "p (128, 256)" in error.message


@st.composite
def regions(draw: st.DrawFn) -> View:
    """A view of a tensor with 4 partitions of 12 elements."""
    partitions = draw(st.integers(0, 3))
    start = draw(st.integers(0, 11))
    rows = slice(partitions, draw(st.integers(partitions + 1, 4)))
    columns = slice(start, draw(st.integers(start + 1, 12)), draw(st.integers(1, 3)))
    return contiguous((4, 12)).select((rows, columns), on_chip=True)


@given(st.lists(regions(), min_size=1, max_size=8), st.sampled_from([2, 4]))
def test_the_rule_agrees_with_a_bitmap_of_written_elements(views: list[View], width: int) -> None:
    written = np.zeros((4, 12), dtype=bool)
    regions_written = WrittenRegions()
    places = np.arange(48)
    for view in views:
        (row_stride, rows), (column_stride, columns) = view.dims
        touched = view.offset + np.arange(rows)[:, None] * row_stride + np.arange(columns) * column_stride
        before = written.reshape(-1)[places[touched]]
        if before.all() or not before.any():
            assert regions_written.accumulates(view, width, "p") == before.all()
        else:
            with pytest.raises(KernelError, match="accumulate=None"):
                regions_written.accumulates(view, width, "p")
        regions_written.mark(view, width)
        written.reshape(-1)[touched] = True
