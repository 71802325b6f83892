"""``nc_matmul(accumulate=None)``: the first write to a location since its allocation overwrites, later ones add."""

from __future__ import annotations

import pytest

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
