import numpy as np
import pytest

from pipeline.emulator.machine import Machine, MachineError
from tests.emulator.program_builder import ProgramBuilder

F32 = np.float32


def doubling(shape=(2, 3)):
    builder = ProgramBuilder()
    tile = builder.load(builder.input(shape))
    builder.add("tensor_scalar", dst=tile, data=tile, op0="multiply", operand0=2.0)
    builder.store(tile)
    return builder


def test_a_machine_runs_again_and_again_with_equal_results():
    machine = Machine(doubling().program())
    first, second = np.ones((2, 3), F32), np.arange(6, dtype=F32).reshape(2, 3)
    assert machine.run([first])[0].tolist() == [[2] * 3] * 2
    assert machine.run([second])[0].tolist() == [[0, 2, 4], [6, 8, 10]]
    assert machine.run([first])[0].tolist() == [[2] * 3] * 2


def test_inputs_are_never_changed_and_writes_to_them_are_reported():
    builder = ProgramBuilder()
    other, target = builder.input((1, 2)), builder.input((1, 2))
    builder.add("dma_copy", dst=target, src=other)
    builder.outputs.append(target)
    machine = Machine(builder.program())
    given = np.array([[1, 2]], F32), np.array([[7, 7]], F32)
    (got,) = machine.run(given)
    assert got.tolist() == [[1, 2]]
    assert given[1].tolist() == [[7, 7]]
    assert machine.mutated_inputs == (1,)


def test_an_input_that_is_returned_unchanged_is_a_new_array():
    builder = ProgramBuilder()
    given = builder.input((1, 2))
    builder.store(builder.load(given))
    builder.outputs.append(given)
    array = np.array([[1, 2]], F32)
    copied, returned = Machine(builder.program()).run([array])
    returned[...] = copied[...] = 7
    assert array.tolist() == [[1, 2]]


def test_an_array_that_cannot_be_written_is_a_good_input():
    array = np.arange(6, dtype=F32).reshape(2, 3)
    array.flags.writeable = False
    np.testing.assert_array_equal(Machine(doubling().program()).run([array])[0], 2 * array)


def test_inputs_may_have_any_memory_layout():
    machine = Machine(doubling().program())
    data = np.arange(6, dtype=F32).reshape(3, 2).T
    np.testing.assert_array_equal(machine.run([data])[0], 2 * data)


@pytest.mark.parametrize(
    "inputs",
    [[], [np.ones((2, 3), F32)] * 2, [np.ones((3, 2), F32)], [np.ones((2, 3), np.float64)]],
    ids=["none", "too many", "shape", "dtype"],
)
def test_inputs_that_do_not_match_are_refused(inputs):
    with pytest.raises(ValueError, match="input"):
        Machine(doubling().program()).run(inputs)


def partly_written(dtype="float32"):
    builder = ProgramBuilder()
    tile = builder.tensor((1, 2), dtype)
    builder.add("memset", dst=builder.block(tile, slice(0, 1), slice(0, 1)), value=1)
    builder.store(tile)
    return Machine(builder.program())


def test_uninitialised_memory_differs_between_the_two_poisons():
    machine = partly_written()
    first, second = (machine.run([], poison=poison)[0] for poison in (0, 1))
    assert first[0, 0] == second[0, 0] == 1
    assert np.isnan(first[0, 1])
    assert second[0, 1] == -1.5


def test_a_tile_that_its_first_instruction_also_reads_is_poisoned():
    builder = ProgramBuilder()
    tile = builder.tensor((1, 2))
    builder.add("tensor_scalar", dst=tile, data=tile, op0="add", operand0=1.0)
    builder.store(tile)
    machine = Machine(builder.program())
    assert np.isnan(machine.run([], poison=0)[0]).all()
    assert machine.run([], poison=1)[0].tolist() == [[-0.5, -0.5]]


def test_a_matmul_that_accumulates_onto_nothing_yields_poison():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((2, 2)))
    sums, out = builder.tensor((2, 2), buffer="psum"), builder.tensor((2, 2))
    builder.add("nc_matmul", dst=sums, stationary=tile, moving=tile, accumulate=True)
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    assert np.isnan(Machine(builder.program()).run([np.eye(2, dtype=F32)])[0]).all()


@pytest.mark.parametrize("dtype", ["int8", "uint32", "bool_", "float8_e4m3", "bfloat16"])
def test_every_dtype_has_two_poisons(dtype):
    machine = partly_written(dtype)
    first, second = (machine.run([], poison=poison)[0][0, 1] for poison in (0, 1))
    assert first != second


def test_an_output_that_nothing_touches_is_poison():
    builder = ProgramBuilder()
    builder.output((2, 2))
    (got,) = Machine(builder.program()).run([])
    assert np.isnan(got).all()


def chain(tiles):
    builder = ProgramBuilder()
    previous = builder.load(builder.input((128, 64)))
    for _ in range(tiles):
        following = builder.tensor((128, 64))
        builder.add("tensor_copy", dst=following, src=previous)
        previous = following
    builder.store(previous)
    return builder.program()


def test_tensors_are_freed_at_their_last_use():
    tile = 128 * 64 * 4
    # What an instruction reads and what it writes: two at a time, however long the chain.
    assert Machine(chain(50)).peak_bytes == 2 * tile


def test_more_live_memory_than_allowed_is_refused_before_running():
    with pytest.raises(MachineError) as caught:
        Machine(chain(3), memory_bytes=128 * 64 * 4)
    assert caught.value.rule == "memory"


def test_more_work_than_the_budget_is_refused_with_the_line_that_exceeds_it():
    # Each instruction touches 128 * 64 elements; the third one exceeds two such.
    with pytest.raises(MachineError) as caught:
        Machine(chain(5), budget=2 * 128 * 64)
    assert (caught.value.rule, caught.value.line) == ("budget", 12)


def test_a_scan_counts_at_full_width():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 100)))
    builder.add(
        "tensor_tensor_scan", dst=tile, data0=tile, data1=tile, initial=0.0, op0="multiply", op1="add"
    )
    with pytest.raises(MachineError, match="elements"):
        Machine(builder.program(), budget=12_000)
    Machine(builder.program(), budget=12_900)


def test_an_illegal_instruction_is_refused_with_its_line_before_running():
    builder = ProgramBuilder()
    a, b = builder.load(builder.input((2, 3))), builder.load(builder.input((2, 4)))
    builder.add("tensor_tensor", dst=a, data1=a, data2=b, op="add")
    with pytest.raises(MachineError) as caught:
        Machine(builder.program())
    assert (caught.value.rule, caught.value.line) == ("illegal", 12)
    assert "data2" in caught.value.message


def test_a_failing_instruction_names_line_and_operands_and_no_numpy_message():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((200, 3)))  # more lanes than the engine has registers
    total = builder.tensor((200, 1))
    builder.add("activation_reduce", dst=tile, op="copy", data=tile, reduce_op="add", reduce_res=total)
    with pytest.raises(MachineError) as caught:
        Machine(builder.program()).run([np.ones((200, 3), F32)])
    assert caught.value.line == 11
    assert caught.value.message.startswith("activation_reduce cannot run on dst float32[200, 3]")


def test_no_warning_escapes_from_overflow_or_invalid_values():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 4)))
    out = builder.tensor((1, 4), "float16")
    builder.add("activation", dst=tile, op="log", data=tile)
    builder.add("tensor_scalar", dst=out, data=tile, op0="multiply", operand0=1e300)
    builder.store(out)
    (got,) = Machine(builder.program()).run([np.array([[-1, 0, 1, np.inf]], F32)])
    assert np.isnan(got[0, 0])
    assert got[0, 1] == -np.inf
