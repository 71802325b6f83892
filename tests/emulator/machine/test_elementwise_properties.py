"""Element by element, any types in and out: against float64 rounded as documented, and Python integers."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.emulator.machine.references import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    SHAPES,
    STORAGE,
    engine,
    is_within,
    stored,
    target_for,
    tile,
    values,
    wrapped,
)
from tests.emulator.running import run_operation

FEW = settings(max_examples=25, deadline=None)
ANY = FLOATS + INTEGERS
NEW = {"abs_max", "abs_min", "square", "relu"}  # operators of NeuronCore-v4 alone

#: nki.api.shared.rst, Supported Math Operators; NaN as in IEEE 754, of maximum and minimum as in NumPy.
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: ~(a == b),
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "logical_and": lambda a, b: (a != 0) & (b != 0),
    "logical_or": lambda a, b: (a != 0) | (b != 0),
    "logical_xor": lambda a, b: (a != 0) ^ (b != 0),
    "abs_max": lambda a, b: np.where(abs(a) > abs(b), a, b),
    "abs_min": lambda a, b: np.where(abs(a) < abs(b), a, b),
}
UNARY = {"abs": np.abs, "square": np.square, "relu": lambda a: np.maximum(a, 0)}
OPERATORS = st.sampled_from(sorted(BINARY))


def applied(op, left, right, reverse=False):
    """One operator of an engine on float32 values, one rounding."""
    if op in UNARY:
        return engine(UNARY[op](left))
    return engine(BINARY[op](right, left) if reverse else BINARY[op](left, right))


def target_of(draw, operators, *dtypes):
    return "trn3" if NEW & set(operators) else draw(target_for(*dtypes))


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_tensor_tensor_reads_any_two_types_and_rounds_once_into_any(data):
    shape, op = data.draw(SHAPES), data.draw(OPERATORS)
    first, second, dst = (data.draw(st.sampled_from(ANY)) for _ in range(3))
    a, b = data.draw(tile(first, shape)), data.draw(tile(second, shape))
    target = target_of(data.draw, [op], first, second, dst)
    arguments = {"data1": a, "data2": b, "op": op}
    (got,) = run_operation("tensor_tensor", {"dst": (shape, dst)}, arguments, target=target)
    np.testing.assert_array_equal(got.astype(float), stored(applied(op, values(a), values(b)), dst))


@FEW
@given(st.data())
def test_gpsimd_computes_with_32_bit_integers_as_python_does(data):
    shape = data.draw(SHAPES)
    op = data.draw(st.sampled_from(sorted(set(BINARY) - NEW)))
    first, second, dst = (data.draw(st.sampled_from(["int32", "uint32"])) for _ in range(3))
    a, b = data.draw(tile(first, shape)), data.draw(tile(second, shape))
    arguments = {"data1": a, "data2": b, "op": op}
    (got,) = run_operation("tensor_tensor", {"dst": (shape, dst)}, arguments, engine="gpsimd")
    exact = BINARY[op](a.astype(object), b.astype(object))
    assert got.tolist() == [[wrapped(int(value), dst) for value in row] for row in exact]


BITWISE = {
    "bitwise_and": lambda a, b, _: a & b,
    "bitwise_or": lambda a, b, _: a | b,
    "bitwise_xor": lambda a, b, _: a ^ b,
    "left_shift": lambda a, b, _: a << b,
    # Logical: the pattern is one of a natural number.
    "right_shift": lambda a, b, width: (a % (1 << width)) >> b,
}


@st.composite
def patterns(draw, dtype, shape, op=""):
    """Integers of a type; as the second operand of a shift, fewer than the type has bits."""
    if "shift" not in op:
        return draw(tile(dtype, shape))
    return draw(
        arrays.arrays(STORAGE[dtype], shape, elements=st.integers(0, 8 * STORAGE[dtype].itemsize - 1))
    )


@FEW
@given(st.data())
def test_bitwise_operators_work_on_the_patterns_of_every_integer_type(data):
    shape, dtype = data.draw(SHAPES), data.draw(st.sampled_from(INTEGERS))
    op = data.draw(st.sampled_from(sorted(BITWISE)))
    a, b = data.draw(tile(dtype, shape)), data.draw(patterns(dtype, shape, op))
    (got,) = run_operation("tensor_tensor", {"dst": (shape, dtype)}, {"data1": a, "data2": b, "op": op})
    width = 8 * a.itemsize
    for place in np.ndindex(shape):
        assert got[place] == wrapped(BITWISE[op](int(a[place]), int(b[place]), width), dtype)


@FEW
@given(st.data())
def test_tensor_scalar_chains_two_bitwise_operators(data):
    shape, dtype = data.draw(SHAPES), data.draw(st.sampled_from(INTEGERS))
    op0, op1 = (data.draw(st.sampled_from([*sorted(BITWISE), "invert"])) for _ in range(2))
    tile0 = data.draw(patterns(dtype, (shape[0], 1), op0))
    number1 = int(data.draw(patterns(dtype, (1,), op1))[0])
    source = data.draw(tile(dtype, shape))
    arguments = {
        "data": source, "op0": op0, "operand0": None if op0 == "invert" else tile0,
        "op1": op1, "operand1": None if op1 == "invert" else number1,
    }  # fmt: skip
    (got,) = run_operation("tensor_scalar", {"dst": (shape, dtype)}, arguments)
    width = 8 * source.itemsize

    def step(op, value, other):
        return wrapped(~value if op == "invert" else BITWISE[op](value, other, width), dtype)

    for place in np.ndindex(shape):
        first = step(op0, int(source[place]), int(tile0[place[0], 0]))
        assert got[place] == step(op1, first, number1)


@st.composite
def operands(draw, op, rows):
    """A number or a float32 column, and as float64 what an engine makes of it."""
    if op in UNARY:
        return None, np.zeros((1, 1))
    if draw(st.booleans()):
        column = draw(tile("float32", (rows, 1)))
        return column, values(column)
    number = draw(NUMBERS)
    return number, np.full((1, 1), number)


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_tensor_scalar_applies_one_or_two_operators_in_float32(data):
    shape = data.draw(SHAPES)
    op0, op1 = (data.draw(st.sampled_from([*sorted(BINARY), *sorted(UNARY)])) for _ in range(2))
    first, dst = (data.draw(st.sampled_from(ANY)) for _ in range(2))
    source, two, reverse0 = data.draw(tile(first, shape)), data.draw(st.booleans()), data.draw(st.booleans())
    operand0, known0 = data.draw(operands(op0, shape[0]))
    operand1, known1 = data.draw(operands(op1, shape[0]))
    arguments = {"data": source, "op0": op0, "operand0": operand0, "reverse0": reverse0}
    expected = applied(op0, values(source), known0, reverse0)
    if two:
        arguments |= {"op1": op1, "operand1": operand1, "reverse1": True}
        expected = applied(op1, expected, known1, True)
    target = target_of(data.draw, [op0, op1], first, dst)
    (got,) = run_operation("tensor_scalar", {"dst": (shape, dst)}, arguments, target=target)
    np.testing.assert_array_equal(got.astype(float), stored(expected, dst))


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_tensor_scalar_on_the_scalar_engine_scales_and_shifts(data):
    shape, dtypes = data.draw(SHAPES), [data.draw(st.sampled_from(ANY)) for _ in range(2)]
    op0, op1 = data.draw(st.sampled_from([("multiply", "add"), ("multiply", None), ("add", None)]))
    source, column = data.draw(tile(dtypes[0], shape)), data.draw(tile("float32", (shape[0], 1)))
    number = data.draw(NUMBERS)
    arguments = {"data": source, "op0": op0, "operand0": column, "op1": op1}
    expected = applied(op0, values(source), values(column))
    if op1:
        arguments["operand1"] = number
        expected = applied(op1, expected, np.float64(number))
    results, target = {"dst": (shape, dtypes[1])}, data.draw(target_for(*dtypes))
    (got,) = run_operation("tensor_scalar", results, arguments, engine="scalar", target=target)
    np.testing.assert_array_equal(got.astype(float), stored(expected, dtypes[1]))


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_scalar_tensor_tensor_rounds_to_float32_between_its_operators(data):
    shape, op0, op1 = data.draw(SHAPES), data.draw(OPERATORS), data.draw(OPERATORS)
    first, second, dst = (data.draw(st.sampled_from(ANY)) for _ in range(3))
    source, other = data.draw(tile(first, shape)), data.draw(tile(second, shape))
    operand0, known0 = data.draw(operands(op0, shape[0]))
    reverse = data.draw(st.tuples(st.booleans(), st.booleans()))
    arguments = {
        "data": source, "op0": op0, "operand0": operand0, "op1": op1, "operand1": other,
        "reverse0": reverse[0], "reverse1": reverse[1],
    }  # fmt: skip
    expected = applied(op0, values(source), known0, reverse[0])
    expected = applied(op1, expected, values(other), reverse[1])
    target = target_of(data.draw, [op0, op1], first, second, dst)
    (got,) = run_operation("scalar_tensor_tensor", {"dst": (shape, dst)}, arguments, target=target)
    np.testing.assert_array_equal(got.astype(float), stored(expected, dst))


def near(exact):
    """Two units in the last place of float32: nothing is said of how well a device approximates."""
    return np.nan_to_num(np.abs(exact) * 2.0**-22 + 2.0**-149, nan=0, posinf=0)


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_reciprocals_and_roots_are_those_of_the_float32_value(data):
    shape, first, dst = data.draw(SHAPES), data.draw(st.sampled_from(ANY)), data.draw(st.sampled_from(FLOATS))
    source, target = data.draw(tile(first, shape)), data.draw(target_for(first, dst))
    results = {"dst": (shape, dst)}
    exact = 1 / values(source)
    (got,) = run_operation("reciprocal", results, {"data": source}, target=target)
    assert is_within(got, exact, near(exact), dst)
    (got,) = run_operation(
        "tensor_scalar", results, {"data": source, "op0": "reciprocal", "operand0": None}, target=target
    )
    assert is_within(got, exact, near(exact), dst)
    exact = 1 / np.sqrt(values(source))
    root = {"data": source, "op0": "rsqrt", "operand0": 0.0}
    (got,) = run_operation("tensor_scalar", results, root, engine="gpsimd", target=target)
    assert is_within(got, exact, near(exact), dst)


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_power_is_that_of_the_float32_values(data):
    shape = data.draw(SHAPES)
    exponents = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 10.0, math.inf, math.nan])
    base, exponent = data.draw(tile("float32", shape)), data.draw(tile("float32", shape, exponents))
    arguments = {"data1": base, "data2": exponent, "op": "power"}
    (got,) = run_operation("tensor_tensor", {"dst": (shape, "float32")}, arguments, engine="gpsimd")
    exact = np.power(values(base), values(exponent))
    assert is_within(got, exact, near(exact), "float32")
