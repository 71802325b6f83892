"""Every operation that computes, in float64, held to NumPy; inputs and results are declared bfloat16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pipeline.emulator.machine.shadow import Shadow
from pipeline.emulator.program import decode, encode, validate
from tests.emulator.program_builder import ProgramBuilder

RNG = np.random.default_rng(3)
X, Y = (RNG.uniform(0.5, 2, (32, 16)).astype(ml_dtypes.bfloat16) for _ in range(2))
COLUMN = RNG.uniform(0.5, 2, (32, 1)).astype(np.float32)
MASK = RNG.integers(0, 2, (32, 16)).astype(np.uint8)
x, y, column = (array.astype(np.float64) for array in (X, Y, COLUMN))
mask = MASK != 0
half = (32, 16)
Formula = Callable[[], np.ndarray]

#: Operation, arguments, shape of the destination, formula; "dst" may be called otherwise.
CASES: dict[str, tuple[str, dict[str, Any], tuple[int, ...], Formula]] = {
    "copy": ("tensor_copy", {"src": X}, half, lambda: x),
    "sum": ("tensor_tensor", {"data1": X, "data2": Y, "op": "add"}, half, lambda: x + y),
    "minimum": ("tensor_tensor", {"data1": X, "data2": Y, "op": "minimum"}, half, lambda: np.minimum(x, y)),
    "two steps": (
        "tensor_scalar",
        {
            "data": X,
            "op0": "subtract",
            "operand0": 0.1,
            "op1": "multiply",
            "operand1": COLUMN,
            "reverse0": True,
        },
        half,
        lambda: (0.1 - x) * column,
    ),
    "comparison": (
        "tensor_scalar",
        {"data": X, "op0": "greater", "operand0": 1.0, "op1": "multiply", "operand1": 0.1},
        half,
        lambda: (x > 1) * 0.1,
    ),
    "fused": (
        "scalar_tensor_tensor",
        {"data": X, "op0": "multiply", "operand0": 1 / 3, "op1": "subtract", "operand1": Y},
        half,
        lambda: x / 3 - y,
    ),
    "reciprocal": ("reciprocal", {"data": X}, half, lambda: 1 / x),
    "tanh": (
        "activation",
        {"op": "tanh", "data": X, "scale": 0.3, "bias": COLUMN},
        half,
        lambda: np.tanh(x * 0.3 + column),
    ),
    "rsqrt": ("activation", {"op": "rsqrt", "data": X}, half, lambda: x**-0.5),
    "silu": ("activation", {"op": "silu", "data": X}, half, lambda: x / (1 + np.exp(-x))),
    "activate2": (
        "activate2",
        {"op": "exp", "data": X, "imm0": 0.1, "imm1": COLUMN, "op0": "multiply", "op1": "subtract"},
        half,
        lambda: np.exp(x * 0.1 - column),
    ),
    "exponential": ("exponential", {"src": X, "max_value": COLUMN}, half, lambda: np.exp(x - column)),
    "row sums": (
        "tensor_reduce",
        {"op": "add", "data": X, "axis": 1, "negate": True},
        (32, 1),
        lambda: -x.sum(axis=1, keepdims=True),
    ),
    "row products": (
        "tensor_reduce",
        {"op": "multiply", "data": X, "axis": 1},
        (32, 1),
        lambda: x.prod(axis=1, keepdims=True),
    ),
    "scan": (
        "tensor_tensor_scan",
        {"data0": np.ones_like(X), "data1": X, "initial": 0.1, "op0": "multiply", "op1": "add"},
        half,
        lambda: np.cumsum(x, axis=1) + 0.1,
    ),
    "cumulative": (
        "tensor_scalar_cumulative",
        {"src": X, "op0": "multiply", "op1": "add", "imm0": 0.1, "imm1": 0.2, "reduce_cmd": "load_reduce"},
        half,
        lambda: np.cumsum(x * 0.1, axis=1) + 0.2,
    ),
    "partition sum": (
        "tensor_partition_reduce",
        {"op": "average", "data": X},
        (1, 16),
        lambda: x.mean(axis=0, keepdims=True),
    ),
    "fill": (
        "affine_select",
        {
            "pattern": (1, 16),
            "channel_multiplier": -1,
            "on_true_tile": X,
            "on_false_value": 0.1,
            "cmp_op": "less_equal",
        },
        half,
        lambda: np.where(np.arange(16) <= np.arange(32)[:, None], x, 0.1),
    ),
    "select": (
        "select_reduce",
        {"predicate": MASK, "on_true": X, "on_false": 0.1},
        half,
        lambda: np.where(mask, x, 0.1),
    ),
    "transpose": ("nc_transpose", {"data": X}, (16, 32), lambda: x.T),
    "eight largest": ("max8", {"src": X}, (32, 8), lambda: -np.sort(-x, axis=1)[:, :8]),
    "shuffle": (
        "nc_stream_shuffle",
        {"src": X, "shuffle_mask": tuple(reversed(range(32)))},
        half,
        lambda: x[::-1],
    ),
}
NAMES: dict[np.dtype, str] = {
    np.dtype(ml_dtypes.bfloat16): "bfloat16",
    np.dtype(np.float32): "float32",
    np.dtype(np.uint8): "uint8",
}


def in_float64(operation: str, arguments: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    builder = ProgramBuilder("trn3")
    given = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    sources = {name: builder.input(array.shape, NAMES[array.dtype]) for name, array in given.items()}
    tiles = {name: builder.view(builder.load(source)) for name, source in sources.items()}
    result = builder.tensor(shape, "bfloat16")
    builder.add(operation, **{**arguments, **tiles}, dst=builder.view(result))
    builder.store(result)
    program = decode(encode(builder.program()))
    validate(program)
    found = Shadow(program).attribute(list(given.values()))
    assert found.narrow == ()
    return found.outputs[0]


@pytest.mark.parametrize("name", CASES)
def test_an_operation_computes_in_float64(name):
    operation, arguments, shape, formula = CASES[name]
    np.testing.assert_allclose(in_float64(operation, arguments, shape), formula(), rtol=1e-13)


def test_moments_are_those_of_float64():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((32, 16), "bfloat16"))
    parts, moments = builder.tensor((32, 6), "bfloat16"), builder.tensor((32, 2), "bfloat16")
    builder.add("bn_stats", dst=parts, data=tile)
    builder.add("bn_aggr", dst=moments, data=parts)
    builder.store(moments)
    (found,) = Shadow(builder.program()).attribute([X]).outputs
    np.testing.assert_allclose(found, np.stack((x.mean(axis=1), x.var(axis=1)), axis=1), rtol=1e-13)


def test_integers_saturate_exactly():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 3), "int32"))
    builder.add("tensor_scalar", dst=tile, data=tile, op0="add", operand0=1.0)
    builder.store(tile)
    largest = np.iinfo(np.int32).max
    (found,) = Shadow(builder.program()).attribute([np.array([[largest, largest - 1, -5]], np.int32)]).outputs
    assert found.tolist() == [[largest, largest, -4]]


def test_words_of_gpsimd_still_wrap():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 1), "int32"))
    builder.add("tensor_tensor", "gpsimd", dst=tile, data1=tile, data2=tile, op="add")
    builder.store(tile)
    (found,) = Shadow(builder.program()).attribute([np.array([[1 << 30]], np.int32)]).outputs
    assert found.tolist() == [[-(1 << 31)]]
