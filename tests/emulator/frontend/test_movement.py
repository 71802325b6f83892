"""Loading, storing, transposing on the way, broadcasting, printing."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.frontend.execution import run
from tests.emulator.frontend.kernels import record_body, refusal, resolved

RNG = np.random.default_rng(5)
A = RNG.normal(size=(16, 24)).astype(np.float32)


@given(st.tuples(st.integers(1, 20), st.integers(1, 20)), st.data())
@settings(max_examples=15, deadline=None)
def test_loading_a_slice_moves_what_numpy_selects(shape: tuple[int, int], data: st.DataObject) -> None:
    bounds = [
        sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True))) for n in shape
    ]
    (top, bottom), (left, right) = bounds
    step = data.draw(st.integers(1, 3))
    array = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    result = run(f"result = nl.load(x[{top}:{bottom}, {left}:{right}:{step}])", x=array)
    assert np.array_equal(result, array[top:bottom, left:right:step])


def test_an_on_chip_view_is_read_as_numpy_reads_it() -> None:
    body = """
t = nl.load(x)
result = nl.ndarray((16, 6, 4), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=result, src=t.reshape_dim(1, (4, 6)).permute((0, 2, 1)))
"""
    assert np.array_equal(run(body, x=A), A.reshape(16, 4, 6).transpose(0, 2, 1))


def test_loading_converts() -> None:
    assert np.array_equal(run("result = nl.load(x, dtype=nl.bfloat16)", x=A), A.astype(ml_dtypes.bfloat16))


def test_arrays_that_a_kernel_stores_into_are_updated_in_place() -> None:
    array = A.copy()
    result = run("tile = nl.load(x)\nnl.store(x, value=nl.add(tile, 1.0))\nresult = tile", x=array)
    assert np.array_equal(result, A)
    assert np.array_equal(array, A + np.float32(1))


@pytest.mark.parametrize("dtype", [np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16), np.dtype(np.float32)])
def test_transposing_while_loading(dtype: np.dtype) -> None:
    array = A.astype(dtype)
    assert np.array_equal(run("result = nl.load_transpose2d(x)", x=array), array.T)


def test_transposing_while_loading_converts_afterwards() -> None:
    result = run("result = nl.load_transpose2d(x[0:8], dtype=nl.float32)", x=A.astype(np.float16))
    assert np.array_equal(result, A[:8].astype(np.float16).T.astype(np.float32))


@pytest.mark.parametrize("partitions", [2, 32, 33, 100, 128])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, ml_dtypes.bfloat16])
def test_a_row_is_repeated_over_partitions_bit_for_bit(partitions: int, dtype: type) -> None:
    row = (RNG.normal(size=(1, 700)) * 100).astype(np.dtype(dtype))
    result = run(f"result = nl.broadcast_to(nl.load(x), ({partitions}, 700))", x=row)
    assert np.array_equal(result, np.repeat(row, partitions, 0))


def test_a_row_of_special_values_is_repeated_as_it_is() -> None:
    row = np.array([[np.nan, np.inf, -np.inf, 1e-45, -0.0]], dtype=np.float32)
    result = run("result = nl.broadcast_to(nl.load(x), (4, 5))", x=row)
    assert np.array_equal(result.view(np.uint32), np.repeat(row, 4, 0).view(np.uint32))


def test_a_column_is_repeated_without_an_instruction() -> None:
    program = record_body("c = nl.load(x[:, 0:1])\nassert nl.broadcast_to(c, (128, 64)).strides == (1, 0)")
    assert [entry.operation for entry in resolved(program)[:-2]] == ["dma_copy"]


def test_broadcasting_converts_and_repeats_in_all_dimensions() -> None:
    body = "t = nl.load(x).reshape((1, 4, 1))\nresult = nl.broadcast_to(t, (40, 4, 3), dtype=nl.float16)"
    row = A[:1, :4]
    assert np.array_equal(
        run(body, x=row), np.broadcast_to(row.reshape(1, 4, 1), (40, 4, 3)).astype(np.float16)
    )


def test_broadcasting_to_the_same_shape_is_the_tile_itself() -> None:
    body = "t = nl.load(x)\nassert nl.broadcast_to(t, (128, 512)) == t"
    record_body(body)


@pytest.mark.parametrize(("axis", "shape"), [(1, (128, 1, 512)), (2, (128, 512, 1)), (-1, (128, 512, 1))])
def test_expanding_is_a_view(axis: int, shape: tuple[int, ...]) -> None:
    record_body(f"t = nl.load(x)\nassert nl.expand_dims(t, {axis}).shape == {shape}")


def test_printing_is_accepted_and_recorded_as_nothing() -> None:
    program = record_body("t = nl.load(x)\nnl.device_print('my tile', t)\nnl.device_print('x', tensor=x)")
    assert [entry.operation for entry in resolved(program)[:-2]] == ["dma_copy"]


@pytest.mark.parametrize(
    ("statement", "kind", "fragment"),
    [
        ("nl.load(t)", "compile_error", "must lie in HBM"),
        ("nl.load(np.zeros(3))", "compile_error", "src must be a tensor, not ndarray"),
        ("nl.load(x, mask=1)", "compile_error", "nl.load has no keyword 'mask'"),
        ("nl.store(t, t)", "compile_error", "must lie in HBM"),
        ("nl.store(x, p)", "illegal_on_target", "DMA cannot read PSUM"),
        ("nl.load_transpose2d(t)", "compile_error", "must lie in HBM"),
        ("nl.load_transpose2d(x.reshape((128, 2, 256)))", "compile_error", "two dimensions"),
        ("nl.load_transpose2d(x)", "illegal_on_target", "partition dimension 512"),
        ("nl.broadcast_to(t, (128, 16))", "compile_error", "each equal or repeated from size 1"),
        ("nl.broadcast_to(t, (128, 8, 1))", "compile_error", "same number of dimensions"),
        ("nl.expand_dims(t, 0)", "compile_error", "expand_dim(0)"),
        ("nl.expand_dims(t, 'a')", "compile_error", "axis must be an integer"),
        ("nl.device_print(t, 'a')", "compile_error", "print_prefix must be a string"),
        ("nl.device_print('a', 3)", "compile_error", "prints tensors, not int"),
        ("nl.device_print('a', p)", "compile_error", "SBUF and HBM"),
        ("nl.device_print('a', t, mask=1)", "compile_error", "mask"),
    ],
)
def test_what_is_refused(statement: str, kind: str, fragment: str) -> None:
    setup = (
        "t = nl.zeros((128, 8), dtype=nl.float32)\np = nl.zeros((128, 8), dtype=nl.float32, buffer=nl.psum)\n"
    )
    error = refusal(setup + statement)
    assert error.kind == kind
    assert fragment in error.message
