"""`nl.shared_constant` and `nl.shared_identity_matrix`."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulator.frontend.execution import run
from tests.emulator.frontend.kernels import record_body, refusal

X = np.zeros((4, 4), dtype=np.float32)


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "int32", "uint16", "int8", "float8_e5m2"]
)
def test_a_constant_holds_its_array(dtype: str) -> None:
    body = (
        "import ml_dtypes\n"
        f"result = nl.load(nl.shared_constant((np.arange(12).reshape(3, 4) - 2).astype(np.dtype('{dtype}'))))"
    )
    expected = (np.arange(12).reshape(3, 4) - 2).astype(np.dtype(dtype))
    result = run(body, x=X)
    assert result.dtype == expected.dtype
    assert np.array_equal(result.astype(np.float64), expected.astype(np.float64))


def test_a_constant_lies_in_shared_hbm() -> None:
    record_body("assert nl.shared_constant(np.eye(3, dtype=np.float32)).buffer == nl.shared_hbm")


def test_a_constant_of_another_order_is_stored_row_by_row() -> None:
    body = "result = nl.load(nl.shared_constant(np.arange(6, dtype=np.float32).reshape(2, 3).T))"
    assert run(body, x=X).tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)])
def test_a_constant_may_be_the_path_of_a_file(tmp_path: Path, dtype: np.dtype) -> None:
    # NumPy keeps the bits of bfloat16 in a file, not its name.
    array = np.arange(6).reshape(2, 3).astype(dtype)
    path = tmp_path / "rotation.npy"
    np.save(path, array)
    result = run(f"result = nl.load(nl.shared_constant({str(path)!r}))", x=X)
    assert result.dtype == dtype
    assert np.array_equal(result, array)


@pytest.mark.parametrize(
    ("argument", "fragments"),
    [
        ("np.eye(4)", ["float64 array", ".astype"]),
        ("np.array(1.0, np.float32)", ["shape ()", "at least one element"]),
        ("np.zeros((0, 4), np.float32)", ["shape (0, 4)"]),
        ("[[1.0, 2.0]]", ["a NumPy array or the path of a .npy file, not list"]),
        ("'/nowhere/missing.npy'", ["cannot read '/nowhere/missing.npy'"]),
        ("np.array([b'ab'])", ["constants are bfloat16"]),
        ("np.eye(4, dtype=np.int8), dtype=nl.bfloat16", ["no keyword 'dtype'", ".astype"]),
    ],
)
def test_what_is_no_constant_is_refused(argument: str, fragments: list[str]) -> None:
    error = refusal(f"nl.shared_constant({argument})")
    assert error.kind == "compile_error"
    for fragment in fragments:
        assert fragment in error.message
    assert "\n" not in error.message


def test_a_file_that_is_no_array_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.npy"
    broken.write_bytes(b"\x93NUMPY\x01\x00garbage")
    assert "as a .npy file" in refusal(f"nl.shared_constant({str(broken)!r})").message
    # A header that promises more than the file holds costs no memory.
    short = tmp_path / "short.npy"
    with short.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (4_000_000_000_000,)}
        np.lib.format.write_array_header_1_0(file, header)
    assert "as a .npy file" in refusal(f"nl.shared_constant({str(short)!r})").message
    archive = tmp_path / "many.npz"
    np.savez(archive, a=np.zeros(2, np.float32))
    assert "as a .npy file" in refusal(f"nl.shared_constant({str(archive)!r})").message


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8", "float8_e4m3"])
def test_the_identity_matrix_is_one_on_the_diagonal(dtype: str) -> None:
    body = f"i = nl.shared_identity_matrix(24, dtype=nl.{dtype})\nassert i.buffer == nl.sbuf\n"
    result = run(f"{body}result = nl.copy(i, dtype=nl.float32)", x=X)
    assert np.array_equal(result, np.eye(24))


def test_the_identity_matrix_is_uint8_by_default_and_may_go_into_a_tile_of_ours() -> None:
    record_body("assert nl.shared_identity_matrix(n=8).dtype == nl.uint8")
    body = """
t = nl.ndarray((5, 5), dtype=nl.int32)
result = nl.shared_identity_matrix(5, dst=t)
assert result == t
"""
    assert np.array_equal(run(body, x=X), np.eye(5, dtype=np.int32))


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        ("nl.shared_identity_matrix(200)", "partition dimension 200"),
        ("nl.shared_identity_matrix(4, dst=nl.ndarray((4, 5), nl.uint8))", "shape (4, 4)"),
        ("nl.shared_identity_matrix(4, dst=nl.ndarray((4, 4), nl.uint8, buffer=nl.psum))", "SBUF tile"),
        ("nl.shared_identity_matrix(4, dst=3)", "dst=int"),
    ],
)
def test_what_is_no_identity_is_refused(call: str, fragment: str) -> None:
    assert fragment in refusal(call).message
