"""`widen`: the same program with its narrow floats kept as float32."""

from __future__ import annotations

import ml_dtypes
import msgspec
import numpy as np
import pytest

from pipeline.emulator.machine import Machine
from pipeline.emulator.program import Constant, Program
from pipeline.emulator.program.widening import widen
from tests.emulator.program_builder import ProgramBuilder

NARROW = ("bfloat16", "float16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")


def tripled_thirds(dtype: str) -> Program:
    """Divide by three and multiply by three again, in `dtype`: its rounding shows in the result."""
    builder = ProgramBuilder()
    tile = builder.load(builder.input((2, 4), dtype))
    builder.add("tensor_scalar", dst=tile, data=tile, op0="multiply", operand0=1 / 3)
    builder.add("tensor_scalar", dst=tile, data=tile, op0="multiply", operand0=3.0)
    builder.store(tile)
    return builder.program()


@pytest.mark.parametrize("dtype", NARROW)
def test_nothing_is_rounded_to_a_narrow_type(dtype: str) -> None:
    values = np.array([[1, 2, 3, 5], [7, 11, 13, 14]], np.float32)
    program = widen(tripled_thirds(dtype))
    (result,) = Machine(program).run([values])
    expected = values * np.float32(1 / 3) * np.float32(3)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, expected)
    (rounded,) = Machine(tripled_thirds(dtype)).run([values.astype(dtype)])
    assert (rounded.astype(np.float32) != expected).any()


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool_"])
def test_other_types_stay_as_they_are(dtype: str) -> None:
    builder = ProgramBuilder()
    builder.store(builder.load(builder.input((2, 4), dtype)))
    assert widen(builder.program()) == builder.program()


def test_a_tensor_whose_bits_are_read_as_another_type_keeps_its_own() -> None:
    builder = ProgramBuilder()
    tile = builder.load(builder.input((2, 4), "bfloat16"))
    copy = builder.tensor((2, 4), "uint16")
    builder.add("tensor_copy", dst=copy, src=builder.view(tile, (4, 2), (1, 4), dtype="uint16"))
    builder.store(copy)
    program = widen(builder.program())
    assert [tensor.dtype for tensor in program.tensors] == ["float32", "bfloat16", "uint16", "uint16"]
    (result,) = Machine(program).run([np.ones((2, 4), np.float32)])
    np.testing.assert_array_equal(result, np.full((2, 4), 0x3F80))


def test_placed_tensors_move_apart_so_that_each_has_room() -> None:
    builder = ProgramBuilder()
    sources = [builder.input((2, 4), "bfloat16"), builder.input((2, 4), "bfloat16")]
    tiles = [builder.load(source) for source in sources]
    for place, tile in enumerate(tiles):
        builder.tensors[tile] = msgspec.structs.replace(builder.tensors[tile], address=(0, 8 * place))
    for tile in tiles:
        builder.store(tile)
    program = widen(builder.program())
    assert [program.tensors[tile].address for tile in tiles] == [(0, 0), (0, 16)]
    arrays = [np.full((2, 4), value, np.float32) for value in (1.001, 2.002)]
    for result, array in zip(Machine(program).run(arrays), arrays, strict=True):
        np.testing.assert_array_equal(result, array)


def test_constants_are_converted() -> None:
    builder = ProgramBuilder()
    constant = builder.tensor((2, 2), "bfloat16", "hbm")
    builder.store(builder.load(constant))
    values = np.array([[1, -2], [0.5, 3]], ml_dtypes.bfloat16)
    program = msgspec.structs.replace(builder.program(), constants=(Constant(constant, values.tobytes()),))
    (result,) = Machine(widen(program)).run([])
    np.testing.assert_array_equal(result, values.astype(np.float32))
