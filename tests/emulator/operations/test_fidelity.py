"""What no document says, or two say differently, is not called exact."""

import numpy as np
import pytest

from pipeline.emulator.legality import fidelity
from pipeline.emulator.operations import Fidelity
from tests.emulator.operations.meetings import call_of
from tests.emulator.program_builder import ProgramBuilder


def tile(dtype="float32", columns=2):
    return np.zeros((1, columns), dtype)


def level_of(name, target="trn3", **arguments):
    call = call_of(name, arguments, target, memory="sbuf")
    declared = call.operation.fidelity
    return declared if isinstance(declared, Fidelity) else declared(call)


ACTIVATION = {"dst": tile(), "data": tile(), "op": "copy"}
STAGES = {**ACTIVATION, "imm0": 0.0, "imm1": 0.0, "op0": "bypass", "op1": "bypass"}
EXACT, APPROXIMATE, UNMODELLED = Fidelity


@pytest.mark.parametrize(
    ("name", "arguments", "level"),
    [
        # In which order the scalar engine adds up is not documented.
        ("activation", ACTIVATION, EXACT),
        ("activation", {**ACTIVATION, "reduce_op": "add", "reduce_cmd": "reduce"}, APPROXIMATE),
        ("activation", {**ACTIVATION, "reduce_op": "add", "reduce_cmd": "reset"}, EXACT),
        ("activation_reduce", {**ACTIVATION, "reduce_op": "add", "reduce_res": tile(columns=1)}, APPROXIMATE),
        ("activate2", {**STAGES, "reduce_op": "add", "reduce_cmd": "reset_reduce"}, APPROXIMATE),
        ("activate2", {**STAGES, "reduce_op": "maximum", "reduce_cmd": "reset_reduce"}, EXACT),
        # Nor in which a DMA adds: of two it does not matter.
        ("dma_compute", {"dst": tile(), "srcs[0]": tile(), "srcs[1]": tile()}, EXACT),
        ("dma_compute", {"dst": tile(), **{f"srcs[{n}]": tile() for n in range(3)}}, APPROXIMATE),
    ],
)
def test_a_sum_of_undocumented_order_is_approximate(name, arguments, level):
    if name == "dma_compute":
        arguments = {**arguments, "reduce_op": "add"}
    assert level_of(name, **arguments) is level


@pytest.mark.parametrize(("dtype", "level"), [("float32", EXACT), ("float16", APPROXIMATE)])
def test_a_scan_whose_documents_disagree_on_its_state_is_approximate(dtype, level):
    steps = {"initial": 0.0, "op0": "multiply", "op1": "add"}
    assert level_of("tensor_tensor_scan", dst=tile(), data0=tile(dtype), data1=tile(), **steps) is level


@pytest.mark.parametrize(("dtype", "level"), [("int32", EXACT), ("uint32", EXACT), ("uint8", UNMODELLED)])
def test_bit_patterns_of_different_widths_are_not_modelled(dtype, level):
    tiles = {"dst": tile("int32"), "data1": tile("int32"), "data2": tile(dtype)}
    assert level_of("tensor_tensor", op="bitwise_and", **tiles) is level
    column = {"dst": tile("int32", 1), "data": tile(dtype)}
    assert level_of("tensor_reduce", op="bitwise_or", axis=1, **column) is level


@pytest.mark.parametrize(("dtype", "level"), [("int32", EXACT), ("int8", EXACT), ("float32", UNMODELLED)])
def test_a_float_in_a_register_is_not_modelled(dtype, level):
    word = tile(dtype, 1)
    assert level_of("register_load", dst=(0,), src=word) is level
    assert level_of("register_store", dst=word, src=(0,)) is level


@pytest.mark.parametrize(
    ("source", "dst", "level"),
    [
        ("float32", "bfloat16", EXACT),
        ("float32", "tfloat32", APPROXIMATE),
        ("tfloat32", "tfloat32", EXACT),
        ("float32", "float8_e8m0fnu", UNMODELLED),
        ("float8_e8m0fnu", "float8_e8m0fnu", EXACT),
        ("float8_e8m0fnu", "float32", EXACT),
    ],
)
def test_rounding_into_a_type_is_exact_where_it_is_documented(source, dst, level):
    builder = ProgramBuilder("trn3")
    data = builder.load(builder.input((4, 2), source))
    builder.add("tensor_copy", dst=builder.tensor((4, 2), dst), src=data)
    assert fidelity(builder.program())["tensor_copy"] is level


def test_scales_of_quantisation_are_documented():
    builder = ProgramBuilder("trn3")
    data = builder.load(builder.input((32, 4), "bfloat16"))
    words, scales = builder.tensor((32, 1), "float8_e5m2_x4"), builder.tensor((4, 1), "float8_e8m0fnu")
    builder.add("quantize_mx", dst=words, src=data, dst_scale=scales)
    assert fidelity(builder.program())["quantize_mx"] is EXACT
