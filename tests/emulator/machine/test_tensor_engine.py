import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run

F32 = np.float32


def product(stationary, moving, *, dtype="float32", target="trn2", **flags):
    """One matmul into PSUM, copied out."""
    builder = ProgramBuilder(target)
    names = {np.dtype(F32): "float32", BFLOAT16: "bfloat16", np.dtype(ml_dtypes.float8_e5m2): "float8_e5m2"}
    left = builder.load(builder.input(stationary.shape, flags.pop("types", names[stationary.dtype])))
    right = builder.load(builder.input(moving.shape, builder.tensors[left].dtype))
    shape = (stationary.shape[-1], moving.shape[-1])
    sums = builder.tensor(shape, dtype, "psum")
    builder.add("nc_matmul", dst=sums, stationary=left, moving=right, **{"accumulate": False, **flags})
    out = builder.tensor(shape, dtype)
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    (result,) = run(builder, stationary, moving)
    return result


SIZES = st.tuples(st.integers(1, 128), st.integers(1, 128), st.integers(1, 512))


@settings(max_examples=25, deadline=None)
@given(SIZES, st.integers(0, 2**32 - 1))
def test_matmul_is_stationary_transposed_times_moving(sizes, seed):
    k, m, n = sizes
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((k, m), dtype=F32), rng.standard_normal((k, n), dtype=F32)
    got = product(a, b)
    exact = a.astype(np.float64).T @ b.astype(np.float64)
    # Any order of K additions in float32: Higham, Accuracy and Stability, (3.5).
    bound = k * 2**-24 / (1 - k * 2**-24) * (abs(a).astype(np.float64).T @ abs(b).astype(np.float64))
    assert (abs(got - exact) <= bound * 1.01 + 1e-30).all()


def test_bfloat16_products_are_exact_and_summed_in_float32():
    a = np.array([[1 + 2**-7], [2**-7]], BFLOAT16)
    b = np.array([[1 + 2**-7], [2**-7]], BFLOAT16)
    # (1 + 2**-7)**2 + 2**-14: needs 15 bits, more than bfloat16 has.
    assert product(a, b).item() == 1 + 2**-6 + 2**-13


def test_tfloat32_operands_lose_their_13_low_mantissa_bits():
    a = np.array([[1 + 2**-10 + 2**-11]], F32)
    b = np.array([[1.0]], F32)
    assert product(a, b).item() == a.item()
    assert product(a, b, types="tfloat32").item() == 1 + 2**-10


def test_a_bfloat16_destination_rounds_once_per_matmul():
    a, b = np.full((1, 1), 257, F32), np.ones((1, 1), F32)
    assert product(a, b, dtype="bfloat16", target="trn3").astype(F32).item() == 256


def test_accumulation_adds_to_what_the_location_holds():
    builder = ProgramBuilder()
    left, right = builder.load(builder.input((4, 2))), builder.load(builder.input((4, 3)))
    sums = builder.tensor((2, 3), "float32", "psum")
    builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=False)
    builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=True)
    builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=True)
    out = builder.tensor((2, 3))
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    a, b = np.arange(8, dtype=F32).reshape(4, 2), np.ones((4, 3), F32)
    (got,) = run(builder, a, b)
    assert got.tolist() == [[36, 36, 36], [48, 48, 48]]  # 3 * (0+2+4+6), 3 * (1+3+5+7)


def test_a_bfloat16_accumulation_upcasts_adds_and_rounds():
    builder = ProgramBuilder("trn3")
    left, right = builder.load(builder.input((1, 1))), builder.load(builder.input((1, 1)))
    sums = builder.tensor((1, 1), "bfloat16", "psum")
    builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=False)
    builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=True)
    out = builder.tensor((1, 1))
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    (got,) = run(builder, np.array([[257]], F32), np.ones((1, 1), F32))
    assert got.item() == 512  # 257 rounds to 256; 256 + 257 = 513 rounds to 512


def test_a_matmul_writes_into_part_of_a_tile():
    builder = ProgramBuilder()
    left, right = builder.load(builder.input((2, 2))), builder.load(builder.input((2, 2)))
    sums = builder.tensor((2, 6), "float32", "psum")
    builder.add("memset", dst=sums, value=7.0)
    part = builder.block(sums, slice(0, 2), slice(2, 4))
    builder.add("nc_matmul", dst=part, stationary=left, moving=right, accumulate=False)
    out = builder.tensor((2, 6))
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    (got,) = run(builder, np.eye(2, dtype=F32), np.array([[1, 2], [3, 4]], F32))
    assert got.tolist() == [[7, 7, 1, 2, 7, 7], [7, 7, 3, 4, 7, 7]]


def test_double_row_contracts_over_partitions_and_the_first_free_dimension():
    rng = np.random.default_rng(0)
    e5m2 = ml_dtypes.float8_e5m2
    a = rng.integers(-3, 4, (128, 2, 5)).astype(e5m2)
    b = rng.integers(-3, 4, (128, 2, 7)).astype(e5m2)
    got = product(a, b, perf_mode="double_row")
    expected = np.einsum("kjm,kjn->mn", a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("engine", ["tensor", "vector"])
def test_a_transpose_swaps_partitions_and_flattened_free_elements_bit_for_bit(engine):
    builder = ProgramBuilder()
    data = builder.load(builder.input((3, 2, 4)))
    out = builder.tensor((8, 3), "float32", "psum" if engine == "tensor" else "sbuf")
    builder.add("nc_transpose", engine, dst=out, data=data)
    copy = builder.tensor((8, 3))
    builder.add("tensor_copy", dst=copy, src=out)
    builder.store(copy)
    values = np.arange(24, dtype=F32).reshape(3, 2, 4)
    values[0, 0, 0], values[2, 1, 3] = np.nan, np.inf
    (got,) = run(builder, values)
    np.testing.assert_array_equal(got, values.reshape(3, 8).T)


SPECIAL = np.array([[np.nan, 1, -0.0], [2, np.inf, 3]], F32)


def transposed(target):
    """The transpose on the tensor engine, copied out."""
    builder = ProgramBuilder(target)
    tile = builder.load(builder.input(SPECIAL.shape))
    turned = builder.tensor((3, 2), "float32", "psum")
    builder.add("nc_transpose", "tensor", dst=turned, data=tile)
    out = builder.tensor((3, 2))
    builder.add("tensor_copy", dst=out, src=turned)
    builder.store(out)
    return run(builder, SPECIAL)[0]


def bits(array):
    return np.ascontiguousarray(array).view(np.uint32).tolist()


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_from_neuroncore_v3_on_a_transpose_is_bit_accurate(target):
    assert bits(transposed(target)) == bits(SPECIAL.T)
    identity = np.eye(2, dtype=F32)
    assert bits(product(SPECIAL, identity, is_transpose=True, target=target)) == bits(SPECIAL.T)


def test_on_neuroncore_v2_a_transpose_is_a_product_that_spreads_nan_and_infinity():
    # A row of the result sums one column of the data times ones and zeros: 0 * NaN and 0 * inf are NaN.
    expected = [[np.nan, np.nan], [np.nan, np.inf], [0, 3]]
    np.testing.assert_array_equal(transposed("trn1"), expected)
    identity = np.eye(2, dtype=F32)
    np.testing.assert_array_equal(product(SPECIAL, identity, is_transpose=True, target="trn1"), expected)


def test_transpose_mode_with_another_matrix_than_the_identity_is_a_product():
    swap = np.array([[0, 1], [1, 0]], F32)
    data = np.array([[1, 2, 3], [4, 5, 6]], F32)
    assert product(data, swap, is_transpose=True).tolist() == [[4, 1], [5, 2], [6, 3]]
