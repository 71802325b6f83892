import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run, run_operation

F32 = np.float32
SHAPES = st.tuples(st.integers(1, 128), st.integers(1, 40))
FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=False)

REFERENCES = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "logical_and": lambda a, b: (a != 0) & (b != 0),
    "logical_or": lambda a, b: (a != 0) | (b != 0),
    "logical_xor": lambda a, b: (a != 0) ^ (b != 0),
    # The signed input, the second on a tie (nki.language.abs_max docstring).
    "abs_max": lambda a, b: np.where(abs(a) > abs(b), a, b),
    "abs_min": lambda a, b: np.where(abs(a) < abs(b), a, b),
}


def in_float64(op, a, b):
    """One operation on the exact values, rounded once to float32."""
    with np.errstate(all="ignore"):
        return REFERENCES[op](a.astype(np.float64), b.astype(np.float64)).astype(np.float32)


@st.composite
def two_tiles(draw):
    shape = draw(SHAPES)
    tile = arrays.arrays(np.float32, shape, elements=FLOATS)
    return draw(tile), draw(tile)


@settings(max_examples=60, deadline=None)
@given(two_tiles(), st.sampled_from(sorted(REFERENCES)))
def test_tensor_tensor_rounds_the_exact_result_once(tiles, op):
    # float64 represents every sum and product of two float32 closely enough that rounding it is rounding the
    # exact value, except for products and sums that double-round: none, as 53 >= 2 * 24 + 2.
    a, b = tiles
    (got,) = run_operation("tensor_tensor", {"dst": (a.shape, "float32")}, {"data1": a, "data2": b, "op": op})
    np.testing.assert_array_equal(got, in_float64(op, a, b))


@settings(max_examples=30, deadline=None)
@given(two_tiles(), st.sampled_from(["add", "multiply", "maximum"]))
def test_bfloat16_tiles_compute_in_float32_and_round_once_to_nearest_even(tiles, op):
    a, b = (tile.astype(BFLOAT16) for tile in tiles)
    (got,) = run_operation(
        "tensor_tensor", {"dst": (a.shape, "bfloat16")}, {"data1": a, "data2": b, "op": op}
    )
    with np.errstate(all="ignore"):
        expected = in_float64(op, a.astype(F32), b.astype(F32)).astype(BFLOAT16)
    np.testing.assert_array_equal(got.astype(F32), expected.astype(F32))


def test_a_tie_between_two_bfloat16_rounds_to_the_even_one():
    # 1 + 2**-8 lies halfway between 1 and 1 + 2**-7; 1 + 3 * 2**-8 halfway between 1 + 2**-7 and 1 + 2**-6.
    a = np.full((1, 2), 1, F32)
    b = np.array([[2**-8, 3 * 2**-8]], F32)
    (got,) = run_operation(
        "tensor_tensor", {"dst": ((1, 2), "bfloat16")}, {"data1": a, "data2": b, "op": "add"}
    )
    assert got.astype(F32).tolist() == [[1.0, 1 + 2**-6]]


def test_operands_of_different_shape_meet_by_their_flattened_order():
    a = np.arange(12, dtype=F32).reshape(2, 2, 3)
    b = np.arange(12, dtype=F32).reshape(2, 6) * 10
    (got,) = run_operation(
        "tensor_tensor", {"dst": ((2, 3, 2), "float32")}, {"data1": a, "data2": b, "op": "add"}
    )
    assert got.reshape(-1).tolist() == [11 * i for i in range(12)]


def test_int32_on_the_vector_engine_passes_through_float32():
    # 2**24 + 1 is not a float32; it becomes 2**24 on the way in.
    a = np.array([[2**24 + 1]], np.int32)
    zero = np.zeros((1, 1), np.int32)
    (got,) = run_operation(
        "tensor_tensor", {"dst": ((1, 1), "int32")}, {"data1": a, "data2": zero, "op": "add"}
    )
    assert got.item() == 2**24


def test_int32_on_the_gpsimd_engine_is_exact_and_wraps():
    a = np.array([[2**24 + 1, 2**31 - 1]], np.int32)
    one = np.ones((1, 2), np.int32)
    (got,) = run_operation(
        "tensor_tensor", {"dst": ((1, 2), "int32")}, {"data1": a, "data2": one, "op": "add"}, engine="gpsimd"
    )
    assert got.tolist() == [[2**24 + 2, -(2**31)]]


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        ("int8", [0.5, 1.5, 2.5, -0.5, 127.6, -1e9, math.inf, math.nan], [0, 2, 2, 0, 127, -128, 127, 0]),
        ("uint8", [-3.0, 255.4, 256.0, 3.5], [0, 255, 255, 4]),
        ("int32", [2147483520.0, 3e9, -3e9, 16777217.0], [2147483520, 2**31 - 1, -(2**31), 16777216]),
        ("uint32", [4294967040.0, 5e9, -1.0], [4294967040, 2**32 - 1, 0]),
        ("bool_", [0.0, 0.25, -1.0, -0.0], [False, True, True, False]),
    ],
)
def test_float_to_integer_rounds_to_nearest_even_and_saturates(dtype, values, expected):
    data = np.array([values], F32)
    (got,) = run_operation("tensor_copy", {"dst": (data.shape, dtype)}, {"src": data})
    assert got[0].tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "largest", "beyond"),
    [
        ("float8_e4m3", 240.0, 256.0),
        ("float8_e5m2", 57344.0, 65536.0),
        ("float16", 65504.0, 65536.0),
    ],
)
def test_float_overflow_becomes_infinity(dtype, largest, beyond):
    data = np.array([[largest, beyond, -beyond]], F32)
    (got,) = run_operation("tensor_copy", {"dst": ((1, 3), dtype)}, {"src": data})
    assert got.astype(F32).tolist() == [[largest, math.inf, -math.inf]]


def test_bitwise_operators_see_bit_patterns():
    a = np.array([[0b1100, -1, 7]], np.int32)
    b = np.array([[0b1010, 1, 2]], np.int32)
    expected = {
        "bitwise_and": [[0b1000, 1, 2]],
        "bitwise_or": [[0b1110, -1, 7]],
        "bitwise_xor": [[0b0110, -2, 5]],
        "left_shift": [[0b1100 << 10, -2, 28]],
        # The right shift is logical: -1 >> 1 is 0x7fffffff.
        "right_shift": [[0, 0x7FFFFFFF, 1]],
    }
    for op, values in expected.items():
        (got,) = run_operation(
            "tensor_tensor", {"dst": ((1, 3), "int32")}, {"data1": a, "data2": b, "op": op}
        )
        assert got.tolist() == values, op


def test_tensor_scalar_applies_two_operators_with_numbers_and_columns():
    data = np.array([[1, 2], [3, 4]], F32)
    column = np.array([[10], [100]], F32)
    (got,) = run_operation(
        "tensor_scalar",
        {"dst": ((2, 2), "float32")},
        {"data": data, "op0": "multiply", "operand0": column, "op1": "add", "operand1": 1},
    )
    assert got.tolist() == [[11, 21], [301, 401]]


def test_tensor_scalar_reverses_its_operands_on_request():
    data = np.array([[1, 2]], F32)
    (got,) = run_operation(
        "tensor_scalar",
        {"dst": ((1, 2), "float32")},
        {
            "data": data,
            "op0": "subtract",
            "operand0": 10.0,
            "reverse0": True,  # 10 - x
            "op1": "subtract",
            "operand1": 3.0,  # (10 - x) - 3
        },
    )
    assert got.tolist() == [[6, 5]]


def test_a_comparison_feeds_one_or_zero_into_the_second_operator():
    data = np.array([[1, 5, 9]], F32)
    (got,) = run_operation(
        "tensor_scalar",
        {"dst": ((1, 3), "float32")},
        {"data": data, "op0": "greater", "operand0": 4.0, "op1": "add", "operand1": 0.5},
    )
    assert got.tolist() == [[0.5, 1.5, 1.5]]


def test_tensor_scalar_masks_and_shifts_bits():
    data = np.array([[0xFF, 0x1234]], np.int32)
    (got,) = run_operation(
        "tensor_scalar",
        {"dst": ((1, 2), "int32")},
        {"data": data, "op0": "bitwise_and", "operand0": 0xF0, "op1": "right_shift", "operand1": 4},
    )
    assert got.tolist() == [[0xF, 0x3]]


def test_rsqrt_is_within_half_a_unit_in_the_last_place():
    data = np.geomspace(1e-30, 1e30, 64, dtype=F32)[None]
    (got,) = run_operation(
        "tensor_scalar",
        {"dst": (data.shape, "float32")},
        {"data": data, "op0": "rsqrt", "operand0": 0.0},
        engine="gpsimd",
    )
    expected = (1 / np.sqrt(data.astype(np.float64))).astype(F32)
    np.testing.assert_array_equal(got, expected)


def test_scalar_tensor_tensor_combines_a_column_and_a_tile():
    data = np.array([[1, 2], [3, 4]], F32)
    column = np.array([[2], [3]], F32)
    other = np.array([[10, 20], [30, 40]], F32)
    (got,) = run_operation(
        "scalar_tensor_tensor",
        {"dst": ((2, 2), "float32")},
        {
            "data": data,
            "op0": "multiply",
            "operand0": column,
            "op1": "subtract",
            "operand1": other,
            "reverse1": True,
        },
    )
    assert got.tolist() == [[8, 16], [21, 28]]


def sequential_sum(row):
    total = np.float32(0)
    for value in row:
        total = np.float32(total + value)
    return total


@settings(max_examples=30, deadline=None)
@given(SHAPES, st.integers(0, 2**32 - 1))
def test_a_sum_is_strictly_sequential_in_float32(shape, seed):
    data = np.random.default_rng(seed).standard_normal(shape, dtype=F32)
    (got,) = run_operation(
        "tensor_reduce", {"dst": ((shape[0], 1), "float32")}, {"data": data, "op": "add", "axis": 1}
    )
    assert got[:, 0].tolist() == [sequential_sum(row) for row in data]


def test_a_sequential_sum_differs_from_a_pairwise_one():
    # 2**24 swallows ones added one at a time; a pairwise sum would collect them first.
    data = np.ones((1, 129), F32)
    data[0, 0] = 2**24
    (got,) = run_operation(
        "tensor_reduce", {"dst": ((1, 1), "float32")}, {"data": data, "op": "add", "axis": (1,)}
    )
    assert got.item() == 2**24


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("add", [[6.0], [9.0]]),
        ("subtract", [[-4.0], [1.0]]),
        ("multiply", [[6.0], [0.0]]),
        ("maximum", [[3.0], [5.0]]),
        ("minimum", [[1.0], [0.0]]),
        ("logical_and", [[1.0], [0.0]]),
        ("logical_or", [[1.0], [1.0]]),
        ("logical_xor", [[1.0], [0.0]]),
    ],
)
def test_reductions_of_a_row(op, expected):
    data = np.array([[1, 2, 3], [5, 4, 0]], F32)
    (got,) = run_operation(
        "tensor_reduce", {"dst": ((2, 1), "float32")}, {"data": data, "op": op, "axis": -1}
    )
    assert got.tolist() == expected


def test_a_reduction_over_the_last_axes_keeps_the_others_and_negates():
    data = np.arange(24, dtype=F32).reshape(2, 3, 2, 2)
    (got,) = run_operation(
        "tensor_reduce",
        {"dst": ((2, 3), "float32")},
        {"data": data, "op": "maximum", "axis": (2, 3), "negate": True},
    )
    assert got.tolist() == [[-3, -7, -11], [-15, -19, -23]]


def test_tensor_scalar_reduce_continues_its_accumulator():

    builder = ProgramBuilder()
    tile = builder.load(builder.input((2, 3)))
    out, total = builder.tensor((2, 3)), builder.tensor((2, 1))
    first = {"dst": out, "data": tile, "op0": "multiply", "operand0": 2.0, "reduce_op": "add"}
    builder.add("tensor_scalar_reduce", **first)
    builder.add("tensor_scalar_reduce", **first, reduce_cmd="reduce", reduce_res=total)
    builder.store(total)
    data = np.array([[1, 2, 3], [4, 5, 6]], F32)
    (got,) = run(builder, data)
    assert got.tolist() == [[24], [60]]  # twice 2 * (1 + 2 + 3), twice 2 * (4 + 5 + 6)


def test_tensor_scalar_reduce_loads_and_negates():
    data = np.array([[1, 7, 3]], F32)
    out, got = run_operation(
        "tensor_scalar_reduce",
        {"dst": ((1, 3), "float32"), "reduce_res": ((1, 1), "float32")},
        {
            "data": data,
            "op0": "add",
            "operand0": 1.0,
            "reduce_op": "maximum",
            "reduce_cmd": "load_reduce",
            "reduce_init": 20.0,
            "reduce_res_negate": True,
        },
    )
    assert out.tolist() == [[2, 8, 4]]
    assert got.item() == -20


def test_a_scan_is_a_first_order_recurrence_with_a_float32_state():
    decay = np.array([[0.5, 0.5, 0.5]], F32)
    step = np.array([[1, 2, 3]], F32)
    (got,) = run_operation(
        "tensor_tensor_scan",
        {"dst": ((1, 3), "float32")},
        {"data0": decay, "data1": step, "initial": 4.0, "op0": "multiply", "op1": "add"},
    )
    assert got.tolist() == [[3.0, 3.5, 4.75]]  # 4/2+1, 3/2+2, 3.5/2+3


def test_a_scan_into_bfloat16_rounds_only_what_it_writes():
    # Each step adds 2**-9: a bfloat16 state of 1 would swallow every one, the float32 state keeps them.
    ones = np.ones((1, 8), F32)
    (got,) = run_operation(
        "tensor_tensor_scan",
        {"dst": ((1, 8), "bfloat16")},
        {"data0": ones, "data1": ones * F32(2**-9), "initial": 1.0, "op0": "multiply", "op1": "add"},
    )
    assert got.astype(F32)[0, -1] == 1 + 2**-6


def test_reciprocal_divides_one_in_float32():
    data = np.array([[3, -0.0, np.inf, 1e-3]], F32)
    (got,) = run_operation("reciprocal", {"dst": ((1, 4), "float32")}, {"data": data})
    expected = [np.float32(1 / 3), -np.inf, 0.0, np.float32(1 / np.float64(F32(1e-3)))]
    assert got[0].tolist() == [float(x) for x in expected]


def test_power_runs_on_gpsimd():
    a, b = np.array([[2, 9]], F32), np.array([[10, 0.5]], F32)
    (got,) = run_operation(
        "tensor_tensor",
        {"dst": ((1, 2), "float32")},
        {"data1": a, "data2": b, "op": "power"},
        engine="gpsimd",
    )
    assert got.tolist() == [[1024, 3]]


@pytest.mark.parametrize(
    ("op", "expected"),
    [("abs_max", [-5.0, -1.0, 7.0]), ("abs_min", [3.0, -1.0, -2.0])],
)
def test_magnitude_operators_keep_the_sign_and_take_the_second_operand_on_a_tie(op, expected):
    # The examples of the docstrings of nki.language.abs_max and abs_min, and one of mixed signs.
    a, b = np.array([[-5, 1, 7]], F32), np.array([[3, -1, -2]], F32)
    (got,) = run_operation(
        "tensor_tensor", {"dst": ((1, 3), "float32")}, {"data1": a, "data2": b, "op": op}, target="trn3"
    )
    assert got.tolist() == [expected]


def test_a_bit_pattern_keeps_its_width_between_two_operators():
    # int32 -1 xor uint32 0 is 0xFFFFFFFF; shifted right by one, logically, 0x7FFFFFFF.
    data, tile = np.array([[-1]], np.int32), np.array([[0]], np.uint32)
    (got,) = run_operation(
        "tensor_scalar",
        {"dst": ((1, 1), "int32")},
        {"data": data, "op0": "bitwise_xor", "operand0": tile, "op1": "right_shift", "operand1": 1},
    )
    assert got.item() == 0x7FFFFFFF


HALVES = st.integers(-8, 8).map(lambda n: n / 2)


@st.composite
def two_operator_calls(draw):
    """Two tiles, a column, two operators, and which of them take their inputs in reverse."""
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    tiles = [draw(arrays.arrays(np.float32, (rows, columns), elements=HALVES)) for _ in range(2)]
    column = draw(arrays.arrays(np.float32, (rows, 1), elements=HALVES))
    operators = draw(st.tuples(*[st.sampled_from(sorted(REFERENCES))] * 2))
    return *tiles, column, operators, draw(st.tuples(st.booleans(), st.booleans()))


def applied(op, left, right, swapped):
    left, right = (right, left) if swapped else (left, right)
    return in_float64(op, left, right)


def on_trn3(name, shape, **arguments):
    """The result of an operation on the chip that has every operator."""
    return run_operation(name, {"dst": (shape, "float32")}, arguments, target="trn3")[0].tolist()


@settings(max_examples=60, deadline=None)
@given(two_operator_calls())
def test_two_operators_apply_in_turn_each_in_its_own_order(call):
    data, tile, column, (op0, op1), (reverse0, reverse1) = call
    flags = {"op0": op0, "op1": op1, "reverse0": reverse0, "reverse1": reverse1}
    first = applied(op0, data, column, reverse0)
    half = np.full(data.shape, 0.5)
    got = on_trn3("tensor_scalar", data.shape, data=data, operand0=column, operand1=0.5, **flags)
    assert got == applied(op1, first, half, reverse1).tolist()
    got = on_trn3("scalar_tensor_tensor", data.shape, data=data, operand0=column, operand1=tile, **flags)
    assert got == applied(op1, first, tile, reverse1).tolist()


@settings(max_examples=40, deadline=None)
@given(two_operator_calls())
def test_a_scan_feeds_each_result_into_the_next_element(call):
    data0, data1, column, (op0, op1), (reverse0, reverse1) = call
    state, expected = column[:, 0], []
    for left, right in zip(data0.T, data1.T, strict=True):
        state = applied(op1, applied(op0, left, state, reverse0), right, reverse1)
        expected.append(state)
    flags = {"op0": op0, "op1": op1, "reverse0": reverse0, "reverse1": reverse1}
    got = on_trn3("tensor_tensor_scan", data0.shape, data0=data0, data1=data1, initial=column, **flags)
    assert got == np.array(expected).T.tolist()
