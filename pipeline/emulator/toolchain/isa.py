"""`nki.isa`: every function with its parameters, every enum with its members."""

from __future__ import annotations

from functools import partial
from typing import Final

from pipeline.emulator.toolchain.names import V3, V4, Kind, Name, function, names, removed

__all__ = ["NAMES"]

_MODULE: Final = "nki.isa"
_function = partial(function, _MODULE)
_V3 = partial(function, _MODULE, targets=V3)
_V4 = partial(function, _MODULE, targets=V4)

_FUNCTIONS: Final = (
    _function("get_nc_version", ""),
    _function("get_nc_sub_version", "", since="0.5"),
    _function(
        "dma_copy",
        "dst, src, priority=None@0.4, oob_mode=error, dge_mode=unknown, engine=unknown, name=None",
    ),
    _function("tensor_copy", "dst, src, engine=unknown, name=None"),
    _function("memset", "dst, value, engine=unknown, name=None"),
    _function("tensor_copy_predicated", "dst, src, predicate, reverse_pred=False, name=None"),
    _function(
        "nc_matmul",
        "dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False, is_transpose=False, "
        "accumulate=None, tile_position=(), tile_size=(), perf_mode=none, name=None",
    ),
    _V4(
        "nc_matmul_mx",
        "dst, stationary, moving, stationary_scale, moving_scale, tile_position=None, tile_size=None, "
        "accumulate=None, name=None",
    ),
    _function("nc_transpose", "dst, data, engine=unknown, name=None"),
    _function(
        "dma_transpose",
        "dst, src, axes=None, priority=None@0.4, dge_mode=unknown, oob_mode=error, name=None",
    ),
    _function("tensor_tensor", "dst, data1, data2, op, engine=unknown, name=None"),
    _function(
        "tensor_scalar",
        "dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, engine=unknown, "
        "name=None",
    ),
    _function("tensor_reduce", "dst, op, data, axis, negate=False, keepdims=False, name=None"),
    _function("tensor_partition_reduce", "dst, op, data, name=None"),
    _function(
        "tensor_scalar_cumulative",
        "dst, src, op0, op1, imm0, imm1=None, reduce_cmd=reset_reduce, name=None",
    ),
    _function(
        "activation",
        "dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None, reduce_cmd=idle, name=None",
    ),
    _function("activation_reduce", "dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None"),
    _V4(
        "activate2",
        "dst, op, data, imm0, imm1, op0, op1, relu_param=0.0, reverse0=False, reverse1=False, "
        "reduce_op=None, reduce_res=None, reduce_cmd=idle, name=None",
        since="0.4",
    ),
    _function("iota", "dst, pattern, offset=0, channel_multiplier=0, name=None"),
    _function(
        "affine_select",
        "dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op=equal, offset=0, name=None",
    ),
    _function(
        "local_gather", "dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, name=None"
    ),
    _function("nc_n_gather", "dst, data, indices, name=None"),
    _function("bn_stats", "dst, data, name=None"),
    _function("bn_aggr", "dst, data, name=None"),
    _function(
        "tensor_tensor_scan",
        "dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False, name=None",
    ),
    _function("nc_stream_shuffle", "dst, src, shuffle_mask, name=None"),
    _function("rng", "dst, engine=unknown@<0.5, engine=vector@0.5, name=None"),
    _function("dropout", "dst, data, prob, name=None"),
    _function("set_rng_seed", "src_seeds, name=None"),
    _V3("rand_set_state", "src_seeds, engine=unknown@<0.5, engine=gpsimd@0.5, name=None"),
    _V3("rand_get_state", "dst, engine=unknown@<0.5, engine=gpsimd@0.5, name=None"),
    _V4("rand2", "dst, min, max, name=None"),
    _V4(
        "exponential",
        "dst, src, max_value=0.0, reduce_res=None, reduce_cmd=idle, reduce_init=0.0, name=None",
    ),
    _function("reciprocal", "dst, data, name=None"),
    _function("max8", "dst, src, name=None"),
    _function("sequence_bounds", "dst, segment_ids, name=None"),
    _function(
        "scalar_tensor_tensor",
        "dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, name=None",
    ),
    _function(
        "tensor_scalar_reduce",
        "dst, data, op0, operand0, reduce_op, reduce_res@<0.6, reduce_res=None@0.6, reverse0=False, "
        "reduce_cmd=reset_reduce@0.4, reduce_init=None@0.4, reduce_res_negate=False@0.6, name=None",
    ),
    _V3("core_barrier", "data, cores, engine=gpsimd, name=None"),
    _function(
        "dma_compute", "dst, srcs, reduce_op, scales=None, unique_indices=True, oob_mode=error@0.4, name=None"
    ),
    _V4("quantize_mx", "dst, src, dst_scale, name=None"),
    _V3(
        "range_select",
        "dst, on_true_tile, comp_op0, comp_op1, bound0, bound1, reduce_cmd=reset_reduce, reduce_res=None, "
        "reduce_op=maximum, range_start=0, on_false_value=-3.4028235e+38, name=None",
    ),
    _function(
        "select_reduce",
        "dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=idle, reduce_op=maximum, "
        "reverse_pred=False, name=None",
    ),
    _V3("sendrecv", "src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma, name=None"),
    _function("register_alloc", "x=None"),
    _function("register_move", "dst, src"),
    _function("register_load", "dst, src"),
    _function("register_store", "dst, src"),
    _function("nc_find_index8", "dst, data, vals, name=None"),
    _function("nc_match_replace8", "dst, data, vals, imm, dst_idx=None, name=None"),
    _V3("nonzero_with_count", "dst, src, index_offset=0, padding_val=-1, name=None"),
    _function("topk", "val_dst, idx_dst, src, n, name=None", since="0.6"),
)

_ENUMS: Final = {
    "engine": ("unknown", "tensor", "scalar", "gpsimd", "dma", "vector", "sync"),
    "reduce_cmd": ("idle", "reset", "reduce", "reset_reduce", "load_reduce"),
    "dge_mode": ("unknown", "swdge", "hwdge", "none"),
    "oob_mode": ("error", "skip"),
    "matmul_perf_mode": ("none", "double_row"),
    "nc_version": ("gen2", "gen3", "gen4"),
    "dma_engine": ("dma", "gpsimd_dma"),
}

_OFFSET: Final = ".ap(..., scalar_offset=)"

NAMES: Final[tuple[Name, ...]] = (
    *_FUNCTIONS,
    *names(_MODULE, Kind.ENUM, _ENUMS),
    *(name for enum, members in _ENUMS.items() for name in names(f"{_MODULE}.{enum}", Kind.MEMBER, members)),
    *names(_MODULE, Kind.CLASS, ("NkiValidationError", "VirtualRegister", "NKIObject", "NkiTensor")),
    # Instructions returned a handle before; the class has a name since 0.6.
    *names(_MODULE, Kind.CLASS, ("NkiInstruction",), since="0.6"),
    *names(
        _MODULE,
        Kind.CONSTANT,
        ("tensor_engine", "vector_engine", "scalar_engine", "gpsimd_engine", "unknown_engine"),
        deprecated="0.5",
        instead="write nisa.engine.<name>",
    ),
    # Their parameters are in no stub of a known version; nothing of AWS's that runs under 0.3 calls them.
    removed(_MODULE, "tensor_copy_dynamic_src", f"use nisa.tensor_copy with src{_OFFSET}", until="0.4"),
    removed(_MODULE, "tensor_copy_dynamic_dst", f"use nisa.tensor_copy with dst{_OFFSET}", until="0.4"),
    removed(_MODULE, "builtin_custom_op", "there is no replacement"),
)
