"""The scalar engine and the exponential, any types in and out, against the math module in float64."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.machine.references import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    SHAPES,
    engine,
    is_within,
    stored,
    target_for,
    tile,
    values,
)
from tests.emulator.operations.activation_references import REFERENCES
from tests.emulator.running import run_operation

FEW = settings(max_examples=25, deadline=None)
ANY = FLOATS + INTEGERS
#: Functions that a piecewise polynomial represents, so that the device's results are theirs.
REPRESENTABLE = {
    "copy": lambda x: x,
    "square": np.square,
    "relu": lambda x: np.maximum(x, 0),
    "abs": np.abs,
    "sign": np.sign,
}
#: Where the others are asked: within their valid range, and where double precision does not overflow.
SPANS = {
    "log": (2.0**-60, 2.0**60),
    "sqrt": (2.0**-100, 2.0**100),
    "rsqrt": (2.0**-80, 2.0**80),
    "reciprocal": (2.0**-40, 2.0**40),
    "sin": (-3.14, 3.14),
    "arctan": (-1.57, 1.57),
}
APPROXIMATED = sorted(set(REFERENCES) - set(REPRESENTABLE) - {"prelu"})


@st.composite
def columns(draw, rows, dtype="float32", elements=NUMBERS):
    """A number or one number per partition, and as float64 what an engine reads."""
    if draw(st.booleans()):
        column = draw(tile(dtype, (rows, 1), elements))
        return column, values(column)
    number = draw(elements)
    return number, np.full((1, 1), number)


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_activation_scales_shifts_and_rounds_once_from_any_type_into_any(data):
    shape, op = data.draw(SHAPES), data.draw(st.sampled_from(sorted(REPRESENTABLE)))
    first, dst = data.draw(st.sampled_from(ANY)), data.draw(st.sampled_from(ANY))
    source = data.draw(tile(first, shape))
    scale, scaled = data.draw(columns(shape[0]))
    bias, biased = data.draw(columns(shape[0], data.draw(st.sampled_from(["float32", "bfloat16", "int8"]))))
    target = "trn3" if "float8_e4m3fn" in (first, dst) else data.draw(st.sampled_from(["trn2", "trn3"]))
    arguments = {"data": source, "op": op, "scale": scale, "bias": bias}
    (got,) = run_operation("activation", {"dst": (shape, dst)}, arguments, target=target)
    expected = engine(REPRESENTABLE[op](engine(engine(values(source) * scaled) + biased)))
    np.testing.assert_array_equal(got.astype(float), stored(expected, dst))


def exact(op, inputs):
    return np.array([REFERENCES[op](float(x)) for x in inputs.ravel()]).reshape(inputs.shape)


def close(results):
    """What float32 may lose where terms cancel; how a device approximates is not documented."""
    return 2.0**-19 * np.maximum(np.abs(results), 2.0**-3)


@st.composite
def inside(draw, op, dtype, shape):
    """A tile within the function's range."""
    low, high = SPANS.get(op, (-20.0, 20.0))
    if dtype in INTEGERS:
        return (
            draw(tile(dtype, shape)) % 2 + 1
            if op in SPANS and op != "arctan"
            else draw(tile(dtype, shape)) % 2
        )
    source = draw(tile(dtype, shape, st.floats(low, high).map(lambda x: float(np.float32(x)))))
    kept = np.isfinite(source.astype(float)) & (source.astype(float) >= low) & (source.astype(float) <= high)
    return np.where(kept, source, np.ones((), source.dtype))


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_activation_functions_are_those_of_mathematics_within_their_range(data):
    shape, op = data.draw(SHAPES), data.draw(st.sampled_from(APPROXIMATED))
    first, dst = data.draw(st.sampled_from(ANY)), data.draw(st.sampled_from(ANY))
    source = data.draw(inside(op, first, shape))
    target = data.draw(target_for(first, dst))
    (got,) = run_operation("activation", {"dst": (shape, dst)}, {"data": source, "op": op}, target=target)
    results = exact(op, values(source))
    assert is_within(got, results, close(results), dst)


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_activation_reduce_sums_what_it_activated_before_rounding(data):
    shape, op = data.draw(SHAPES), data.draw(st.sampled_from(sorted(REPRESENTABLE)))
    first, dst = data.draw(st.sampled_from(ANY)), data.draw(st.sampled_from(ANY))
    elements = st.integers(-9, 9).map(lambda n: n / 4) | st.sampled_from([math.inf, -math.inf, math.nan])
    source = data.draw(tile(first, shape, elements))
    if first in INTEGERS:
        source %= 7
    results = {"dst": (shape, dst), "reduce_res": ((shape[0], 1), "float32")}
    arguments, target = {"data": source, "op": op, "reduce_op": "add"}, data.draw(target_for(first, dst))
    got, sums = run_operation("activation_reduce", results, arguments, target=target)
    activated = REPRESENTABLE[op](values(source))
    np.testing.assert_array_equal(got.astype(float), stored(activated, dst))
    # Quarters below 16 squared: every order of adding them is exact.
    np.testing.assert_array_equal(sums[:, 0].astype(float), activated.sum(axis=1))


STEPS = {"multiply": np.multiply, "add": np.add, "subtract": np.subtract, "bypass": lambda a, b: a}
PAIRS = [
    *(("multiply", "add"), ("multiply", "subtract"), ("multiply", "bypass")),
    *(("add", "bypass"), ("subtract", "bypass"), ("bypass", "bypass")),
]


def step(op, value, other, reverse):
    return engine(STEPS[op](other, value) if reverse else STEPS[op](value, other))


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_activate2_takes_any_types_through_its_three_stages(data):
    shape, (op0, op1) = data.draw(SHAPES), data.draw(st.sampled_from(PAIRS))
    first, dst, kind = (data.draw(st.sampled_from(choices)) for choices in (ANY, ANY, FLOATS))
    source, op = data.draw(tile(first, shape)), data.draw(st.sampled_from([*sorted(REPRESENTABLE), "prelu"]))
    imm0, known0 = data.draw(columns(shape[0], kind))
    imm1, known1 = data.draw(columns(shape[0], kind))
    slope, known_slope = data.draw(columns(shape[0]))
    reverse0, reverse1 = (name != "bypass" and data.draw(st.booleans()) for name in (op0, op1))
    reduce_op = data.draw(st.sampled_from(["maximum", "minimum"]))
    arguments = {
        "data": source, "op": op, "imm0": imm0, "imm1": imm1, "op0": op0, "op1": op1, "relu_param": slope,
        "reverse0": reverse0, "reverse1": reverse1, "reduce_op": reduce_op, "reduce_cmd": "reset_reduce",
    }  # fmt: skip
    results = {"dst": (shape, dst), "reduce_res": ((shape[0], 1), "float32")}
    got, reduced = run_operation("activate2", results, arguments, target="trn3")
    value = step(op1, step(op0, values(source), known0, reverse0), known1, reverse1)
    sloped = np.where(value < 0, value * known_slope, value)
    value = engine(sloped if op == "prelu" else REPRESENTABLE[op](value))
    np.testing.assert_array_equal(got.astype(float), stored(value, dst))
    extreme = value.max(axis=1) if reduce_op == "maximum" else value.min(axis=1)
    np.testing.assert_array_equal(reduced[:, 0].astype(float), extreme)


RESULTS = [*(name for name in FLOATS if name != "float8_e4m3fn"), "int8", "int16", "int32", "uint8", "uint16"]


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_exponential_of_any_documented_type_into_any(data):
    shape = data.draw(SHAPES)
    first, dst = data.draw(st.sampled_from([*RESULTS, "uint32"])), data.draw(st.sampled_from(RESULTS))
    limits = st.floats(-88, 88, width=32) | st.sampled_from(
        [math.inf, -math.inf, math.nan, -100.0, 2.0**-149]
    )
    source, greatest = (
        data.draw(tile(first, shape, limits)),
        data.draw(tile("float32", (shape[0], 1), limits)),
    )
    if first in INTEGERS:
        source %= 50
    arguments, results = {"src": source, "max_value": greatest}, {"dst": (shape, dst)}
    (got,) = run_operation("exponential", results, arguments, target="trn3")
    difference = engine(values(source) - values(greatest))
    results = np.exp(difference)
    assert is_within(got, results, np.nan_to_num(2.0**-21 * results + 2.0**-149, posinf=0, nan=0), dst)
