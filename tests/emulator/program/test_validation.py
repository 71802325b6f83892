import msgspec
import pytest

from pipeline.emulator.program import (
    AccessPattern,
    Instruction,
    ProgramError,
    ProgramLimits,
    Tensor,
    validate,
)
from tests.emulator.program_builder import ProgramBuilder


def sound():
    """Input and output in HBM, two tiles, a DMA, an operand tile and a number."""
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 6)))
    column = builder.tensor((4, 1))
    builder.add("tensor_reduce", dst=column, op="add", data=tile, axis=1)
    builder.add(
        "tensor_scalar", dst=tile, data=tile, op0="add", operand0=builder.view(column), op1="add", operand1=1
    )
    builder.store(tile)
    return builder.program()


def with_changes(program, **changes):
    return msgspec.structs.replace(program, **changes)


def with_tensor(**changes):
    program = sound()
    first = msgspec.structs.replace(program.tensors[1], **changes)
    return with_changes(program, tensors=(program.tensors[0], first, *program.tensors[2:]))


def with_pattern(**changes):
    program = sound()
    first = msgspec.structs.replace(program.patterns[0], **changes)
    return with_changes(program, patterns=(first, *program.patterns[1:]))


def with_instruction(index=2, **changes):
    program = sound()
    instructions = list(program.instructions)
    instructions[index] = msgspec.structs.replace(instructions[index], **changes)
    return with_changes(program, instructions=tuple(instructions))


def with_scalar(slot, value):
    scalars = list(sound().instructions[2].scalars)
    scalars[slot] = value
    return with_instruction(scalars=tuple(scalars))


def with_slot(slot, value):
    tensors = list(sound().instructions[2].tensors)
    tensors[slot] = value
    return with_instruction(tensors=tuple(tensors))


def test_a_sound_program_passes():
    validate(sound())


def test_an_empty_program_passes():
    validate(ProgramBuilder().program())


HUGE = 1 << 200

UNSOUND = {
    "dialect": with_changes(sound(), dialect="neuronxcc"),
    "version": with_changes(sound(), version="9.9"),
    "target": with_changes(sound(), target="h100"),
    "operation": with_changes(sound(), operations=("dma_copy", "tensor_reduce", "rm_rf")),
    "tensor_name": with_tensor(name="x" * 1025),
    "tensor_dtype": with_tensor(dtype="float64"),
    "tensor_buffer": with_tensor(buffer="dram"),
    "tensor_shape": with_tensor(shape=(4, 0)),
    "tensor_shape negative": with_tensor(shape=(-4, -6)),
    "tensor_shape empty": with_tensor(shape=()),
    "tensor_shape rank": with_tensor(shape=(1,) * 17),
    "tensor_elements": with_tensor(shape=(1 << 14, 1 << 15)),
    "tensor_elements huge": with_tensor(shape=(HUGE, HUGE)),
    "line": with_tensor(line=-1),
    "line instruction": with_instruction(line=HUGE),
    "inputs": with_changes(sound(), inputs=(99,)),
    "inputs negative": with_changes(sound(), inputs=(-1,)),
    "inputs twice": with_changes(sound(), inputs=(0, 0)),
    "inputs on chip": with_changes(sound(), inputs=(1,)),
    "outputs": with_changes(sound(), outputs=(99,)),
    "outputs twice": with_changes(sound(), outputs=(3, 3)),
    "pattern_tensor": with_pattern(tensor=99),
    "pattern_tensor negative": with_pattern(tensor=-1),
    "pattern_dtype": with_pattern(dtype="object"),
    "pattern_rank": with_pattern(dims=((0, 1),) * 17),
    "pattern_count": with_pattern(dims=((1, 0),)),
    "pattern_elements": with_pattern(dims=((0, 1 << 14), (0, 1 << 15))),
    "pattern_bounds": with_pattern(offset=1),
    "pattern_bounds below": with_pattern(offset=-1),
    "pattern_bounds negative stride": with_pattern(dims=((-1, 2),), offset=0),
    "pattern_bounds wide dtype": with_pattern(dims=((1, 24),), dtype="float32", offset=1),
    "pattern_bounds large stride": with_pattern(dims=((1 << 40, 2),)),
    "pattern_stride": with_pattern(dims=((HUGE, 1),)),
    "pattern_stride negative": with_pattern(dims=((-HUGE, 1),)),
    "pattern_bounds huge offset": with_pattern(offset=HUGE),
    "engine": with_instruction(engine=6),
    "engine negative": with_instruction(engine=-1),
    "operation index": with_instruction(operation=3),
    "operation negative": with_instruction(operation=-1),
    "tensor_count": with_instruction(tensors=(0, 1)),
    "scalar_count": with_instruction(scalars=()),
    "tensor_index": with_slot(0, 99),
    "tensor_index negative": with_slot(0, -2),
    "tensor_missing": with_slot(1, -1),
    "operand_twice": with_scalar(1, 2.0),
    "scalar_value operator": with_scalar(0, "__import__"),
    "scalar_value operator type": with_scalar(0, 3),
    "scalar_value missing operator": with_scalar(0, None),
    "scalar_value operand": with_scalar(4, "1.0"),
    "scalar_value operand flag": with_scalar(4, True),
    "scalar_value operand huge": with_scalar(4, HUGE),
    "scalar_value flag": with_scalar(2, 1),
    "scalar_value missing flag": with_scalar(2, None),
    "scalar_value integers": with_instruction(1, scalars=("add", (1,) * 513, False, False)),
    "scalar_value integers type": with_instruction(1, scalars=("add", "1", False, False)),
    "scalar_value choice": with_instruction(0, scalars=(None, "explode", "unknown", "unknown")),
}


@pytest.mark.parametrize("name", sorted(UNSOUND))
def test_an_unsound_program_is_refused_by_rule(name):
    with pytest.raises(ProgramError) as caught:
        validate(UNSOUND[name])
    assert caught.value.rule == name.split()[0]
    assert caught.value.message


@pytest.mark.parametrize(
    ("limits", "rule"),
    [
        (ProgramLimits(instructions=3), "instructions"),
        (ProgramLimits(tensors=3), "tensors"),
        (ProgramLimits(patterns=3), "patterns"),
        (ProgramLimits(tensor_elements=23), "tensor_elements"),
        (ProgramLimits(total_bytes=191), "total_bytes"),
        (ProgramLimits(executed_elements=95), "executed_elements"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sizes_are_limited(limits, rule):
    # Four instructions of 24 elements, four tensors, two of 96 bytes in HBM.
    with pytest.raises(ProgramError) as caught:
        validate(sound(), limits)
    assert caught.value.rule == rule
    validate(sound(), ProgramLimits(instructions=4, tensors=4, total_bytes=192, executed_elements=96))


def test_on_chip_tensors_do_not_count_as_hbm():
    builder = ProgramBuilder()
    builder.tensor((128, 100))
    validate(builder.program(), ProgramLimits(total_bytes=0))


def test_a_matmul_must_say_whether_it_accumulates():
    builder = ProgramBuilder()
    tile, sums = builder.tensor((4, 4)), builder.tensor((4, 4), buffer="psum")
    builder.add("nc_matmul", dst=sums, stationary=tile, moving=tile, accumulate=None)
    with pytest.raises(ProgramError, match="accumulate"):
        validate(builder.program())


def test_hostile_text_is_shown_printable_and_short():
    program = with_changes(sound(), target="\x1b[31m" + "A" * 10_000)
    with pytest.raises(ProgramError) as caught:
        validate(program)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 200


def test_a_zero_dimensional_pattern_touches_one_element():
    program = ProgramBuilder().program()
    tensors = (Tensor("x", (3,), "float32", "hbm"), Tensor("y", (1,), "float32", "shared_hbm"))
    patterns = (AccessPattern(0, "float32", 2, ()), AccessPattern(1, "float32", 0, ()))
    copy = Instruction(0, 5, (1, 0), (None, "error", "unknown", "unknown"), 1)
    validate(
        with_changes(
            program,
            tensors=tensors,
            patterns=patterns,
            operations=("dma_copy",),
            instructions=(copy,),
            inputs=(0,),
            outputs=(1,),
        )
    )
