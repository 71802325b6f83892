"""What the table says of the vector engine beside values: engines, trust, cost, history."""

import pytest

from pipeline.emulator.operations import OPERATIONS, Call, Fidelity, Operand
from pipeline.emulator.targets import TARGETS


def call(name, *operands, target="trn2", **scalars):
    """An instruction on the given operands, in the order of its tensor slots."""
    operation = OPERATIONS[name]
    padded = (*operands, *[None] * (len(operation.tensor_parameters) - len(operands)))
    values = tuple(
        scalars.get(parameter.name, parameter.default) for parameter in operation.scalar_parameters
    )
    return Call(operation, operation.engines[0], TARGETS[target], padded, values)


def tile(columns, dtype="float32", memory="sbuf"):
    return Operand(memory, dtype, (128, columns), (columns, 1))


def fidelity(instruction):
    declared = instruction.operation.fidelity
    return declared if isinstance(declared, Fidelity) else declared(instruction)


@pytest.mark.parametrize(
    ("op", "columns", "dtype", "target", "level"),
    [
        # The record: float32 sums of 128 on trn1, bit for bit in element order.
        ("add", 128, "float32", "trn1", Fidelity.EXACT),
        ("add", 129, "float32", "trn1", Fidelity.APPROXIMATE),
        ("add", 128, "bfloat16", "trn1", Fidelity.APPROXIMATE),
        ("add", 128, "float32", "trn2", Fidelity.APPROXIMATE),
        ("multiply", 8, "float32", "trn1", Fidelity.APPROXIMATE),
        # No order of the elements gives another result.
        ("maximum", 512, "float32", "trn3", Fidelity.EXACT),
        ("bitwise_or", 512, "int32", "trn2", Fidelity.EXACT),
        ("logical_xor", 512, "float32", "trn2", Fidelity.EXACT),
    ],
)
def test_a_reduction_is_exact_where_order_is_known_or_cannot_matter(op, columns, dtype, target, level):
    assert (
        fidelity(call("tensor_reduce", tile(1), tile(columns, dtype), op=op, axis=1, target=target)) is level
    )


@pytest.mark.parametrize(
    ("op0", "reduce_op", "level"),
    [
        ("multiply", "maximum", Fidelity.EXACT),
        ("multiply", "add", Fidelity.APPROXIMATE),
        ("rsqrt", "maximum", Fidelity.APPROXIMATE),
    ],
)
def test_an_accumulated_sum_is_approximate(op0, reduce_op, level):
    instruction = call("tensor_scalar_reduce", tile(8), tile(8), op0=op0, reduce_op=reduce_op)
    assert fidelity(instruction) is level


@pytest.mark.parametrize(
    ("command", "level"),
    [
        ("idle", Fidelity.UNMODELLED),
        ("reduce", Fidelity.EXACT),
        ("reset_reduce", Fidelity.EXACT),
    ],
)
def test_a_result_read_while_idle_is_not_modelled(command, level):
    operands = (tile(8), tile(8, "uint8"), tile(8), None, tile(1))
    assert fidelity(call("select_reduce", *operands, on_false=0.0, reduce_cmd=command)) is level


BF16 = "bfloat16"
PSUM = tile(512, memory="psum")


@pytest.mark.parametrize(
    ("instruction", "cycles"),
    [
        (call("tensor_reduce", tile(1), tile(512), op="add"), 512),
        (call("tensor_reduce", tile(1, BF16), tile(512, BF16), op="add"), 256),
        (call("tensor_reduce", tile(1, BF16), tile(512, BF16), op="minimum"), 512),
        (call("tensor_scalar_reduce", tile(512), tile(512)), 512 + 64),
        (call("tensor_scalar_reduce", tile(8), tile(8)), 64 + 64),
        (call("tensor_tensor_scan", tile(512), tile(512), tile(512)), 1024),
        (call("scalar_tensor_tensor", tile(512), tile(512), None, tile(512), op0="add", op1="add"), 1024),
        (
            call(
                "scalar_tensor_tensor",
                tile(512),
                tile(512, BF16),
                None,
                tile(512, BF16),
                op0="subtract",
                op1="multiply",
            ),
            512,
        ),
        (call("reciprocal", tile(512), tile(512)), 4096),
        (call("tensor_copy_predicated", tile(512), tile(512), tile(512, "uint8")), 1024),
        (call("tensor_copy_predicated", tile(512), PSUM, tile(512, "uint8")), 512),
        (call("range_select", tile(512), PSUM, tile(1), tile(1)), 512),
        (call("max8", tile(8), tile(512)), 512),
        (call("nc_find_index8", tile(8, "uint32"), tile(512), tile(8)), 512),
        (call("nc_match_replace8", tile(512), tile(512), tile(8)), 512),
        (call("nc_match_replace8", tile(8), tile(8), tile(8)), 64),
        (call("bn_stats", tile(6), tile(512)), 512),
        (call("bn_aggr", tile(2), tile(48)), 208),
        (call("nc_stream_shuffle", tile(512), tile(512)), 512),
        (call("exponential", tile(512), tile(512), target="trn3"), 128),
    ],
    ids=lambda value: value.operation.name if isinstance(value, Call) else str(value),
)
def test_cost_is_the_published_one(instruction, cycles):
    assert instruction.operation.cycles(instruction) == cycles


@pytest.mark.parametrize("name", ["select_reduce", "tensor_scalar_cumulative"])
def test_a_cost_that_is_not_published_is_not_made_up(name):
    assert OPERATIONS[name].cycles is None


@pytest.mark.parametrize(
    ("name", "keyword", "since"),
    [
        ("tensor_scalar_reduce", "reduce_cmd", "0.4"),
        ("tensor_scalar_reduce", "reduce_init", "0.4"),
        ("tensor_scalar_reduce", "reduce_res_negate", "0.6"),
        ("tensor_scalar_reduce", "reduce_res", "0.3"),
        ("nc_match_replace8", "dst_idx", "0.3"),
    ],
)
def test_a_keyword_knows_the_version_that_brought_it(name, keyword, since):
    assert [p.since for p in OPERATIONS[name].parameters if p.name == keyword] == [since]


@pytest.mark.parametrize(
    ("op0", "op1", "engine"),
    [
        ("rsqrt", None, "gpsimd"),
        ("add", "rsqrt", "gpsimd"),
        ("power", None, "vector"),
        ("add", "multiply", "vector"),
    ],
)
def test_tensor_scalar_runs_rsqrt_on_gpsimd(op0, op1, engine):
    scalars = (op0, 1.0, False, op1, None, False)
    assert OPERATIONS["tensor_scalar"].choose_engine(["float32"] * 2, ["sbuf"] * 2, scalars) == engine
