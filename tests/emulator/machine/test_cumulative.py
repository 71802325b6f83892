import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run, run_operation

F32 = np.float32
STEPS = {
    "add": lambda element, state: F32(element + state),
    "subtract": lambda element, state: F32(element - state),
    "multiply": lambda element, state: F32(element * state),
    "maximum": lambda element, state: max(element, state),
    "minimum": lambda element, state: min(element, state),
}
STARTS = {"add": 0, "subtract": 0, "multiply": 1, "maximum": -np.inf, "minimum": np.inf}
VALUES = st.floats(-(2.0**12), 2.0**12, width=32)


@st.composite
def cumulatives(draw):
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 17)))
    data = draw(arrays.arrays(F32, shape, elements=VALUES))
    column = arrays.arrays(F32, (shape[0], 1), elements=VALUES)
    return data, draw(column), draw(st.one_of(st.none(), column)), draw(st.sampled_from(sorted(STEPS)))


@settings(max_examples=50, deadline=None)
@given(cumulatives())
def test_each_element_is_combined_with_the_state_before_it_in_float32(call):
    data, offset, start, op = call
    command = {} if start is None else {"imm1": start, "reduce_cmd": "load_reduce"}
    (got,) = run_operation(
        "tensor_scalar_cumulative",
        {"dst": (data.shape, "float32")},
        {"src": data, "op0": "add", "imm0": offset, "op1": op, **command},
    )
    for row, values in enumerate(data):
        state = F32(STARTS[op] if start is None else start[row, 0])
        expected = []
        with np.errstate(over="ignore", invalid="ignore"):
            for value in values:
                state = STEPS[op](F32(value + offset[row, 0]), state)
                expected.append(float(state))
        np.testing.assert_array_equal(got[row], expected)


def test_a_second_call_continues_where_the_first_ended():
    # Ones, twice: the first call ends at 3.
    builder = ProgramBuilder()
    tile = builder.load(builder.input((2, 3)))
    out = builder.tensor((2, 3))
    call = {"dst": out, "src": tile, "op0": "add", "imm0": 0.0, "op1": "add"}
    builder.add("tensor_scalar_cumulative", **call)
    builder.add("tensor_scalar_cumulative", **call, reduce_cmd="reduce")
    builder.store(out)
    assert run(builder, np.ones((2, 3), F32))[0].tolist() == [[4, 5, 6]] * 2


def test_the_state_is_float32_and_only_what_is_written_is_rounded():
    # A bfloat16 state of 256 would swallow every one that is added.
    data = np.array([[256, 1, 1, 1, 1]], BFLOAT16)
    (got,) = run_operation(
        "tensor_scalar_cumulative",
        {"dst": ((1, 5), "bfloat16")},
        {"src": data, "op0": "multiply", "imm0": 1.0, "op1": "add"},
    )
    assert got.astype(F32).tolist() == [[256, 256, 258, 260, 260]]  # 257 and 259 are ties, to even


@pytest.mark.parametrize(("dtype", "expected"), [("int8", [100, 127, 127]), ("uint8", [100, 200, 255])])
def test_integers_saturate_as_they_are_written(dtype, expected):
    data = np.full((1, 3), 100, dtype)
    (got,) = run_operation(
        "tensor_scalar_cumulative",
        {"dst": ((1, 3), dtype)},
        {"src": data, "op0": "multiply", "imm0": 1.0, "op1": "add"},
    )
    assert got[0].tolist() == expected


def test_the_free_dimensions_are_one_row():
    data = np.arange(1, 7, dtype=F32).reshape(1, 2, 3)
    (got,) = run_operation(
        "tensor_scalar_cumulative",
        {"dst": ((1, 6), "float32")},
        {"src": data, "op0": "multiply", "imm0": 2.0, "op1": "maximum"},
    )
    assert got.tolist() == [[2, 4, 6, 8, 10, 12]]
