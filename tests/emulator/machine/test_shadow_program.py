"""Which tensors of a program become wide, and that nobody else can name their types."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.emulator.dtypes import DTYPES, dtype_named, wide_twin
from pipeline.emulator.machine.shadow import Shadow
from pipeline.emulator.machine.shadow_program import widen_program
from pipeline.emulator.program import ProgramError, validate
from tests.emulator.program_builder import ProgramBuilder


def dtypes(builder: ProgramBuilder) -> list[str]:
    return [tensor.dtype for tensor in widen_program(builder.program()).tensors]


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype.is_float])
def test_a_float_is_kept_as_float64(name):
    twin = DTYPES[wide_twin(name)]
    assert (twin.storage, twin.wide, twin.is_float) == (np.float64, True, True)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_an_integer_keeps_its_storage(name):
    twin = DTYPES[wide_twin(name)]
    assert (twin.storage, twin.kind, twin.wide) == (DTYPES[name].storage, DTYPES[name].kind, True)


@pytest.mark.parametrize("name", ["bool_", "float8_e4m3fn_x4", "float4_e2m1fn_x4"])
def test_flags_and_packed_types_have_no_twin(name):
    assert wide_twin(name) == name


def test_wide_types_belong_to_no_language():
    twin = wide_twin("float32")
    assert not twin.isidentifier()
    assert twin not in DTYPES
    assert twin not in list(DTYPES)
    with pytest.raises(KeyError, match="unknown NKI dtype"):
        dtype_named(twin)
    with pytest.raises(KeyError):
        DTYPES["wide wide float32"]


def test_a_program_that_names_a_wide_type_is_refused():
    builder = ProgramBuilder()
    builder.store(builder.load(builder.input((4, 8), wide_twin("float32"))))
    with pytest.raises(ProgramError):
        validate(builder.program())


def test_a_tensor_whose_bits_are_read_as_another_type_is_kept():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 8)))
    copy = builder.tensor((4, 8), "int32")
    builder.add("tensor_copy", dst=copy, src=builder.view(tile, dtype="int32"))
    assert dtypes(builder) == ["wide float32", "float32", "wide int32"]


def test_placed_tensors_that_take_turns_get_places_of_their_own():
    builder = ProgramBuilder()
    x = builder.input((64, 8), "bfloat16")
    tiles = []
    for row in (0, 64, 0, 64):
        tiles.append(builder.tensor((64, 8), "bfloat16", address=(row, 0)))
        builder.add("dma_copy", dst=tiles[-1], src=x)
        builder.store(tiles[-1])
    wide = widen_program(builder.program())
    placed = [wide.tensors[tile] for tile in tiles]
    assert {tensor.dtype for tensor in placed} == {"wide bfloat16"}
    # Accumulators lie on partitions, so those at 64 stay there.
    assert [tensor.address and tensor.address[0] for tensor in placed] == [None, 64, None, 64]
    values = np.arange(512).reshape(64, 8).astype(DTYPES["bfloat16"].storage)
    found = Shadow(builder.program()).attribute([values])
    assert all(np.array_equal(output, values.astype(float)) for output in found.outputs)


def test_placed_tensors_that_alias_are_kept():
    builder = ProgramBuilder()
    x = builder.input((4, 8))
    whole = builder.tensor((4, 8), address=(0, 0))
    half = builder.tensor((4, 4), address=(0, 0))
    builder.add("dma_copy", dst=whole, src=x)
    builder.store(half)  # reads what was written as the other
    values = np.arange(32, dtype=np.float32).reshape(4, 8)
    assert dtypes(builder)[1:3] == ["float32", "float32"]
    (output,) = Shadow(builder.program()).attribute([values]).outputs
    assert np.array_equal(output, values[:, :4])
