import inspect
import re

import pytest

from pipeline.emulator.operations import (
    ISA_FUNCTIONS,
    OPERATIONS,
    OPERATORS,
    REQUIRED,
    Operand,
    ParameterKind,
)
from pipeline.emulator.operations.operators import operators_where
from pipeline.emulator.targets import ENGINES, TARGETS

#: Parameters after `name`-less signatures of NKI 0.6 (nki/api/nki/isa/__init__.py), with their defaults.
SIGNATURES = {
    "core_barrier": "data, cores, engine=gpsimd",
    "sendrecv": "src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma",
    "register_move": "dst, src",
    "register_load": "dst, src",
    "register_store": "dst, src",
    "dma_transpose": "dst, src, axes=None, priority=None, dge_mode=unknown, oob_mode=error",
    "dma_compute": "dst, srcs, reduce_op, scales=None, unique_indices=True, oob_mode=error",
    "local_gather": "dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None",
    "nc_n_gather": "dst, data, indices",
    "nonzero_with_count": "dst, src, index_offset=0, padding_val=-1",
    "topk": "val_dst, idx_dst, src, n",
    "sequence_bounds": "dst, segment_ids",
    "rng": "dst, engine=vector",
    "rand2": "dst, min, max",
    "dropout": "dst, data, prob",
    "set_rng_seed": "src_seeds",
    "rand_set_state": "src_seeds, engine=gpsimd",
    "rand_get_state": "dst, engine=gpsimd",
    "dma_copy": "dst, src, priority=None, oob_mode=error, dge_mode=unknown, engine=unknown",
    "tensor_copy": "dst, src, engine=unknown",
    "memset": "dst, value, engine=unknown",
    "nc_matmul": "dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False, "
    "is_transpose=False, accumulate=None, tile_position=(), tile_size=(), perf_mode=none",
    "nc_matmul_mx": "dst, stationary, moving, stationary_scale, moving_scale, tile_position=None, "
    "tile_size=None, accumulate=None",
    "quantize_mx": "dst, src, dst_scale",
    "activate2": "dst, op, data, imm0, imm1, op0, op1, relu_param=0.0, reverse0=False, reverse1=False, "
    "reduce_op=None, reduce_res=None, reduce_cmd=idle",
    "nc_transpose": "dst, data, engine=unknown",
    "tensor_tensor": "dst, data1, data2, op, engine=unknown",
    "tensor_scalar": "dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, "
    "engine=unknown",
    "tensor_reduce": "dst, op, data, axis, negate=False, keepdims=False",
    "tensor_partition_reduce": "dst, op, data",
    "activation": "dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None, reduce_cmd=idle",
    "activation_reduce": "dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0",
    "iota": "dst, pattern, offset=0, channel_multiplier=0",
    "affine_select": "dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op=equal, offset=0",
    "tensor_tensor_scan": "dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False",
    "reciprocal": "dst, data",
    "scalar_tensor_tensor": "dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False",
    "tensor_copy_predicated": "dst, src, predicate, reverse_pred=False",
    "select_reduce": "dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=idle, "
    "reduce_op=maximum, reverse_pred=False",
    # The default of on_false_value as NKI 0.3 prints it; 0.6 prints an ellipsis.
    "range_select": "dst, on_true_tile, comp_op0, comp_op1, bound0, bound1, reduce_cmd=reset_reduce, "
    "reduce_res=None, reduce_op=maximum, range_start=0, on_false_value=-3.4028235e+38",
    "max8": "dst, src",
    "nc_find_index8": "dst, data, vals",
    "nc_match_replace8": "dst, data, vals, imm, dst_idx=None",
    "bn_stats": "dst, data",
    "bn_aggr": "dst, data",
    "tensor_scalar_cumulative": "dst, src, op0, op1, imm0, imm1=None, reduce_cmd=reset_reduce",
    "nc_stream_shuffle": "dst, src, shuffle_mask",
    "exponential": "dst, src, max_value=0.0, reduce_res=None, reduce_cmd=idle, reduce_init=0.0",
    "tensor_scalar_reduce": "dst, data, op0, operand0, reduce_op, reduce_res=None, reverse0=False, "
    "reduce_cmd=reset_reduce, reduce_init=None, reduce_res_negate=False",
}


def shown(parameter):
    if parameter.default is REQUIRED:
        return parameter.name
    return f"{parameter.name}={parameter.default}"


#: Loop marks have no signature, and the frontend lowers the lists of collectives to single pairs.
ISA_OPERATIONS = sorted(name for name, operation in OPERATIONS.items() if operation.module == "nki.isa")


@pytest.mark.parametrize("name", ISA_OPERATIONS)
def test_signature_is_the_documented_one(name):
    assert ", ".join(map(shown, OPERATIONS[name].parameters)) == SIGNATURES[name]


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_entry_is_complete(name):
    operation = OPERATIONS[name]
    assert operation.source
    assert set(operation.engines) <= set(ENGINES)
    assert (operation.module, operation.control is None) in (
        ("nki.isa", True),
        ("nki.collectives", True),
        ("", False),
    )
    assert (name in ISA_FUNCTIONS) is (operation.module == "nki.isa")
    for parameter in operation.parameters:
        if parameter.kind in (ParameterKind.CHOICE, ParameterKind.OPERATOR, ParameterKind.ACTIVATION):
            assert parameter.choices, parameter.name
            assert parameter.default in (REQUIRED, None) or parameter.default in parameter.choices
        if parameter.kind.in_tensors:
            assert parameter.buffers <= {"hbm", "sbuf", "psum"}


def test_the_inventory_has_the_52_functions_of_nki_0_6():
    assert len(ISA_FUNCTIONS) == 52
    assert all(function.targets <= set(TARGETS) for function in ISA_FUNCTIONS.values())


def test_slots_count_tensors_and_scalars_apart():
    operation = OPERATIONS["tensor_scalar"]
    assert operation.tensor_slots == {"dst": 0, "data": 1, "operand0": 2, "operand1": 3}
    assert operation.scalar_slots == {
        "op0": 0, "operand0": 1, "reverse0": 2, "op1": 3, "operand1": 4, "reverse1": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dtypes", "memories", "op", "engine"),
    [
        (["int32"] * 3, ["sbuf"] * 3, "add", "gpsimd"),
        (["int32", "int32", "uint32"], ["sbuf"] * 3, "maximum", "gpsimd"),
        (["int32"] * 3, ["sbuf", "psum", "sbuf"], "add", "vector"),
        (["int32"] * 3, ["sbuf"] * 3, "bitwise_and", "vector"),
        (["int32", "float32", "int32"], ["sbuf"] * 3, "add", "vector"),
        (["float32"] * 3, ["sbuf"] * 3, "power", "gpsimd"),
        (["float32"] * 3, ["sbuf"] * 3, "add", "vector"),
    ],
)
def test_tensor_tensor_chooses_its_engine_as_documented(dtypes, memories, op, engine):
    assert OPERATIONS["tensor_tensor"].choose_engine(dtypes, memories, (op,)) == engine


def test_a_transpose_into_psum_runs_on_the_tensor_engine():
    choose = OPERATIONS["nc_transpose"].choose_engine
    assert choose(["float32"] * 2, ["psum", "sbuf"], ()) == "tensor"
    assert choose(["float32"] * 2, ["sbuf", "sbuf"], ()) == "vector"


def test_operators_are_those_of_the_documentation():
    assert operators_where("arithmetic", "bitvec", reducible=True) == {
        "bitwise_and", "bitwise_or", "bitwise_xor", "add", "subtract", "multiply", "maximum", "minimum",
        "logical_and", "logical_or", "logical_xor",
    }  # fmt: skip
    assert operators_where("refused") == {"divide", "mod", "fmod"}
    assert all(OPERATORS[name].remedy for name in operators_where("refused"))


def test_an_operand_knows_partitions_and_free_elements():
    operand = Operand("sbuf", "float32", (4, 2, 3), (6, 3, 1))
    assert (operand.partitions, operand.free_elements, operand.elements) == (4, 6, 24)


def test_sources_name_a_document():
    pattern = re.compile(r"nki|facts|NKI")
    assert all(pattern.search(operation.source) for operation in OPERATIONS.values())
    assert all(inspect.cleandoc(limit.source) for op in OPERATIONS.values() for limit in op.limits)
