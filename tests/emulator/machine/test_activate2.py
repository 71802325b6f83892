"""`activate2`: two tensor-scalar steps, an activation, a reduction."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.operations import OPERATIONS, Call, Fidelity, Operand
from pipeline.emulator.targets import TARGETS
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run, run_operation

F32 = np.float32
DATA = np.array([[1, -2, 3], [4, 5, -6]], F32)


def activate2(data=DATA, op="copy", dtype="float32", **arguments):
    defaults = {"imm0": 1.0, "imm1": 0.0, "op0": "bypass", "op1": "bypass"}
    (got,) = run_operation(
        "activate2",
        {"dst": (data.shape, dtype)},
        {"data": data, "op": op, **defaults, **arguments},
        target="trn3",
    )
    return got


@pytest.mark.parametrize(
    ("op0", "op1", "expected"),
    [
        ("multiply", "add", DATA * 2 + 3),
        ("multiply", "subtract", DATA * 2 - 3),
        ("multiply", "bypass", DATA * 2),
        ("add", "bypass", DATA + 2),
        ("subtract", "bypass", DATA - 2),
        ("bypass", "bypass", DATA),
    ],
)
def test_the_six_documented_pairs_of_operators(op0, op1, expected):
    assert activate2(op0=op0, imm0=2.0, op1=op1, imm1=3.0).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("reverse0", "reverse1", "op0", "op1", "expected"),
    [
        (True, False, "subtract", "bypass", 2 - DATA),
        (False, True, "multiply", "subtract", 3 - DATA * 2),
        (True, True, "multiply", "subtract", 3 - 2 * DATA),
        (True, True, "multiply", "add", DATA * 2 + 3),
    ],
)
def test_reversed_operators_take_the_immediate_first(reverse0, reverse1, op0, op1, expected):
    got = activate2(op0=op0, imm0=2.0, op1=op1, imm1=3.0, reverse0=reverse0, reverse1=reverse1)
    assert got.tolist() == expected.tolist()


def test_immediates_may_be_one_value_per_partition_of_any_type():
    scale, bias = np.array([[2], [10]], BFLOAT16), np.array([[1], [0.5]], BFLOAT16)
    got = activate2(op0="multiply", imm0=scale, op1="add", imm1=bias)
    assert got.tolist() == [[3, -3, 7], [40.5, 50.5, -59.5]]


def test_the_function_sees_the_float32_result_and_the_destination_rounds_once():
    data = np.array([[1 + 2**-8]], F32)
    got = activate2(data, op="square", op0="multiply", imm0=3.0, dtype="bfloat16").astype(F32)
    assert got.item() == 9.0625  # (3 + 3/256)**2 = 9.0704...; bfloat16 steps by 2**-4 there


@pytest.mark.parametrize(
    ("slope", "expected"), [(0.0, [[1, 0, 3], [4, 5, 0]]), (0.5, [[1, -1, 3], [4, 5, -3]])]
)
def test_prelu_takes_its_slope_from_relu_param(slope, expected):
    assert activate2(op="prelu", relu_param=slope).tolist() == expected
    tile = np.array([[slope], [slope]], F32)
    assert activate2(op="prelu", relu_param=tile).tolist() == expected


def folded(op, values):
    """The documented loop: the accumulator starts at the operator's identity and takes element by element."""
    state = {"add": 0.0, "maximum": -math.inf, "minimum": math.inf, "abs_max": 0.0, "abs_min": math.inf}[op]
    for value in values:
        if op == "add":
            state = float(F32(F32(state) + F32(value)))
        elif op == "maximum":
            state = max(state, value)
        elif op == "minimum":
            state = min(state, value)
        elif op == "abs_max":
            state = state if abs(state) > abs(value) else value
        else:
            state = state if abs(state) < abs(value) else value
    return state


ROWS = st.lists(st.floats(-64, 64, width=32), min_size=1, max_size=12)


@pytest.mark.parametrize("op", ["add", "maximum", "minimum", "abs_max", "abs_min"])
@settings(max_examples=25, deadline=None)
@given(ROWS, ROWS)
def test_a_reduction_goes_element_by_element_and_continues_across_instructions(op, first, second):
    builder = ProgramBuilder("trn3")
    tiles = [builder.load(builder.input((1, len(row)))) for row in (first, second)]
    totals = [builder.tensor((1, 1)) for _ in tiles]
    for tile, total, command in zip(tiles, totals, ("reset_reduce", "reduce"), strict=True):
        out = builder.tensor(builder.tensors[tile].shape)
        builder.add(
            "activate2", dst=out, op="copy", data=tile, imm0=0.0, imm1=0.0, op0="bypass", op1="bypass",
            reduce_op=op, reduce_cmd=command, reduce_res=total,
        )  # fmt: skip
    for total in totals:
        builder.store(total)
    got = run(builder, np.array([first], F32), np.array([second], F32))
    assert [value.item() for value in got] == [folded(op, first), folded(op, first + second)]


def test_the_registers_are_those_of_activation_and_idle_leaves_them_alone():
    builder = ProgramBuilder("trn3")
    tile = builder.load(builder.input((1, 2)))
    out, total = builder.tensor((1, 2)), builder.tensor((1, 1))
    builder.add("activation", dst=out, op="copy", data=tile, reduce_op="add", reduce_cmd="reset_reduce")
    plain = {
        "dst": out,
        "op": "copy",
        "data": tile,
        "imm0": 0.0,
        "imm1": 0.0,
        "op0": "bypass",
        "op1": "bypass",
    }
    builder.add("activate2", **plain)
    builder.add("activate2", **plain, reduce_op="add", reduce_cmd="reduce", reduce_res=total)
    builder.store(total)
    (got,) = run(builder, np.array([[1, 2]], F32))
    assert got.item() == 6


def test_reset_alone_leaves_the_identity_of_the_operator():
    _, total = run_operation(
        "activate2",
        {"dst": ((1, 2), "float32"), "reduce_res": ((1, 1), "float32")},
        {
            "data": np.ones((1, 2), F32), "op": "copy", "imm0": 0.0, "imm1": 0.0, "op0": "bypass",
            "op1": "bypass", "reduce_op": "minimum", "reduce_cmd": "reset",
        },
        target="trn3",
    )  # fmt: skip
    assert total.item() == math.inf


@pytest.mark.parametrize(
    ("operation", "op", "fidelity"),
    [
        ("activate2", "prelu", Fidelity.EXACT),
        ("activate2", "copy", Fidelity.EXACT),
        ("activate2", "gelu", Fidelity.APPROXIMATE),
        # No argument gives the slope, and no document says which one holds.
        ("activation", "prelu", Fidelity.UNMODELLED),
        ("activation", "copy", Fidelity.EXACT),
        ("activation_reduce", "exp", Fidelity.APPROXIMATE),
    ],
)
def test_fidelity_is_that_of_the_function(operation, op, fidelity):
    entry = OPERATIONS[operation]
    operands = tuple(Operand("sbuf", "float32", (1, 1), (1, 1)) for _ in entry.tensor_parameters)
    scalars = tuple(op if name == "op" else None for name in entry.scalar_slots)
    assert entry.fidelity(Call(entry, "scalar", TARGETS["trn3"], operands, scalars)) is fidelity
