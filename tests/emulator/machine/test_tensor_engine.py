import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.legality import Severity, check
from pipeline.emulator.operations import OPERATIONS, Call, Fidelity, Operand
from pipeline.emulator.targets import TARGETS
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, nki_dtype, run

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


E5M2, E4M3 = np.dtype(ml_dtypes.float8_e5m2), np.dtype(ml_dtypes.float8_e4m3)


def transposed_by(operation, data, destination, *, target="trn2"):
    """A transpose on the tensor engine into PSUM of a given type, copied out bit for bit."""
    rows, columns = data.shape
    builder = ProgramBuilder(target)
    tile = builder.load(builder.input(data.shape, nki_dtype(data)))
    turned = builder.tensor((columns, rows), destination, "psum")
    arrays = [data]
    if operation == "nc_transpose":
        builder.add("nc_transpose", "tensor", dst=turned, data=tile)
    else:
        arrays.append(np.eye(rows, dtype=data.dtype))
        identity = builder.load(builder.input((rows, rows), nki_dtype(data)))
        builder.add(
            "nc_matmul", dst=turned, stationary=tile, moving=identity, is_transpose=True, accumulate=False
        )
    out = builder.tensor((columns, rows), destination)
    builder.add("tensor_copy", dst=out, src=turned)
    builder.store(out)
    return run(builder, *arrays)[0]


@pytest.mark.parametrize("operation", ["nc_transpose", "nc_matmul"])
@pytest.mark.parametrize("storage", [E5M2, E4M3])
def test_eight_bit_elements_are_transposed_into_the_low_halves_of_16_bit_ones(operation, storage):
    # Trainium2 architecture guide: 16-bit elements with the upper 8 bits zero.
    data = np.arange(256, dtype=np.uint8).reshape(16, 16).view(storage)
    got = transposed_by(operation, data, "uint16")
    np.testing.assert_array_equal(got, data.view(np.uint8).T.astype(np.uint16))


@pytest.mark.parametrize("operation", ["nc_transpose", "nc_matmul"])
@pytest.mark.parametrize("storage", [BFLOAT16, np.dtype(np.float16), E5M2])
def test_every_pattern_survives_a_transpose_into_its_own_type(operation, storage):
    patterns = np.arange(1 << (8 * storage.itemsize), dtype=f"u{storage.itemsize}")
    data = patterns[:: max(1, len(patterns) // 1024)].reshape(32, -1).view(storage)
    got = transposed_by(operation, data, nki_dtype(data))
    np.testing.assert_array_equal(got.view(patterns.dtype), data.view(patterns.dtype).T)


def multiplied(left, right, *, target="trn2", dst=None, **flags):
    """One matmul of two arrays of any shapes and types."""
    builder = ProgramBuilder(target)
    tiles = [builder.load(builder.input(array.shape, nki_dtype(array))) for array in (left, right)]
    shape = dst or (left[0].size, right[0].size)
    sums = builder.tensor(shape, "float32", "psum")
    builder.add("nc_matmul", dst=sums, stationary=tiles[0], moving=tiles[1], accumulate=False, **flags)
    out = builder.tensor(shape)
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    assert [v for v in check(builder.program()) if v.severity is Severity.ERROR] == []
    return run(builder, left, right)[0]


@pytest.mark.parametrize(
    ("left", "right", "target"),
    [
        (BFLOAT16, np.float16, "trn2"),
        (E4M3, E5M2, "trn2"),
        (E5M2, BFLOAT16, "trn1"),
        (np.float16, ml_dtypes.float8_e4m3fn, "trn3"),
    ],
)
def test_narrow_types_mix(left, right, target):
    rng = np.random.default_rng(5)
    a, b = rng.integers(-8, 9, (7, 3)).astype(left), rng.integers(-8, 9, (7, 4)).astype(right)
    assert multiplied(a, b, target=target).tolist() == (a.astype(int).T @ b.astype(int)).tolist()


def test_free_dimensions_are_flattened_in_order():
    rng = np.random.default_rng(6)
    a, b = rng.integers(-4, 5, (6, 2, 3)).astype(F32), rng.integers(-4, 5, (6, 4, 5)).astype(F32)
    expected = np.einsum("kab,kcd->abcd", a, b)
    assert multiplied(a, b, dst=(6, 4, 5)).tolist() == expected.reshape(6, 4, 5).tolist()


def test_on_neuroncore_v4_a_destination_may_span_banks():
    a, b = np.ones((2, 3), F32), np.arange(2 * 1024, dtype=F32).reshape(2, 1024)
    np.testing.assert_array_equal(multiplied(a, b, target="trn3"), np.tile(b.sum(axis=0), (3, 1)))


@pytest.mark.parametrize(
    "flags",
    [
        {"is_stationary_onezero": True},
        {"is_moving_onezero": True},
        {"tile_position": (0, 0), "tile_size": (32, 64)},
    ],
)
def test_hints_and_tiles_change_no_value(flags):
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 2, (32, 8)).astype(F32), rng.integers(0, 2, (32, 9)).astype(F32)
    np.testing.assert_array_equal(multiplied(a, b, **flags), a.T @ b)


def test_fidelity_says_where_documents_are_silent_or_disagree():
    def of(operation, data, dst, *, target="trn2", **scalars):
        entry = OPERATIONS[operation]
        operands = tuple(
            Operand("psum" if name == "dst" else "sbuf", dst if name == "dst" else data, (2, 2), (2, 1))
            for name in entry.tensor_slots
        )
        values = tuple(scalars.get(name) for name in entry.scalar_slots)
        return entry.fidelity(Call(entry, "tensor", TARGETS[target], operands, values))

    assert of("nc_matmul", "bfloat16", "float32") is Fidelity.EXACT
    assert of("nc_matmul", "tfloat32", "float32") is Fidelity.APPROXIMATE
    assert of("nc_matmul", "float8_e5m2", "uint16", is_transpose=True) is Fidelity.EXACT
    assert of("nc_matmul", "float8_e5m2", "float8_e5m2", is_transpose=True) is Fidelity.UNMODELLED
    assert of("nc_matmul", "float8_e5m2", "float8_e5m2", is_transpose=True, target="trn1") is Fidelity.EXACT
    assert of("nc_transpose", "float8_e5m2", "float8_e5m2") is Fidelity.UNMODELLED
    assert of("nc_transpose", "float8_e5m2", "bfloat16") is Fidelity.EXACT


def test_transpose_mode_with_another_matrix_than_the_identity_is_a_product():
    swap = np.array([[0, 1], [1, 0]], F32)
    data = np.array([[1, 2, 3], [4, 5, 6]], F32)
    assert product(data, swap, is_transpose=True).tolist() == [[4, 1], [5, 2], [6, 3]]
