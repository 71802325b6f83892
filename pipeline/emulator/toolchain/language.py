"""`nki.language`: functions, data types, memories, `NkiTensor`'s methods, `tile_size`'s attributes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from pipeline.emulator.toolchain.names import EVERYWHERE, V4, Kind, Name, function, names, removed
from pipeline.emulator.toolchain.versions import OLDEST

__all__ = ["NAMES"]

_MODULE: Final = "nki.language"
_TENSOR: Final = f"{_MODULE}.NkiTensor"
_TILE_SIZE: Final = f"{_MODULE}.tile_size"
_function = partial(function, _MODULE)


def _alike(
    signature: str, listed: Iterable[str], since: str = OLDEST, targets: frozenset[str] = EVERYWHERE
) -> tuple[Name, ...]:
    return tuple(_function(name, signature, since=since, targets=targets) for name in listed)


_DTYPES: Final = (
    "bool_",
    "int8",
    "int16",
    "int32",
    "uint8",
    "uint16",
    "uint32",
    "float16",
    "bfloat16",
    "tfloat32",
    "float32",
    "float8_e4m3",
    "float8_e5m2",
)
#: The first for error EVRF051 of neuronx-cc, which has it on trn3 only; the packed ones for their docstrings.
_V4_DTYPES: Final = ("float8_e4m3fn", "float8_e5m2_x4", "float8_e4m3fn_x4", "float4_e2m1fn_x4")
_BINARY: Final = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "power",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "logical_and",
    "logical_or",
    "logical_xor",
    "fmod",
    "mod",
)
_UNARY: Final = (
    "abs",
    "square",
    "invert",
    "logical_not",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "tanh",
    "sigmoid",
    "relu",
    "gelu",
    "gelu_apprx_sigmoid",
    "gelu_apprx_tanh",
    "gelu_dx",
    "gelu_apprx_sigmoid_dx",
    "silu",
    "silu_dx",
    "softplus",
    "mish",
    "erf",
    "erf_dx",
    "reciprocal",
    "copy",
    "sin",
    "cos",
    "tan",
    "arctan",
    "ceil",
    "floor",
    "trunc",
    "negative",
    "sign",
)

_FUNCTIONS: Final = (
    _function("ndarray", "shape, dtype, buffer=sbuf, name='', address=None"),
    *_alike("shape, dtype, buffer=sbuf, name=''", ("zeros", "ones", "rand")),
    _function("full", "shape, fill_value, dtype, buffer=sbuf, name=''"),
    *_alike("x, dtype=None, buffer=None, name=''", ("zeros_like", "empty_like")),
    _function("random_seed", "seed"),
    _function("shared_constant", "constant"),
    _function("shared_identity_matrix", "n, dtype=uint8, dst=None"),
    *_alike("src, dtype=None", ("load", "load_transpose2d")),
    _function("store", "dst, value"),
    _function("transpose", "x, dtype=None"),
    _function("matmul", "x, y, transpose_x=False"),
    _function("broadcast_to", "x, shape, dtype=None"),
    _function("expand_dims", "x, axis"),
    _function("gather_flattened", "data, indices, axis=0, dtype=None"),
    _function("where", "condition, x, y, dtype=None"),
    _function("ds", "start, size"),
    *_alike("x, y, dtype=None", _BINARY),
    *_alike("x, y, dtype=None", ("abs_max", "abs_min"), "0.4", V4),
    *_alike("x, dtype=None", _UNARY),
    _function("dropout", "x, rate, dtype=None"),
    *_alike("x, axis, dtype=None, keepdims=False", ("sum", "max", "min", "mean", "prod", "var")),
    _function("all", "x, axis, dtype=None"),
    _function("softmax", "x, axis=-1, dtype=None"),
    _function("rms_norm", "x, w, axis, n, epsilon=1e-06, dtype=None, compute_dtype=None"),
    *(
        _function(name, "start, stop=None, step=1", deprecated=since, instead="write range")
        for name, since in (("affine_range", "0.3"), ("sequential_range", "0.3"), ("static_range", "0.6"))
    ),
    _function("dynamic_range", "start, stop=None, step=1", deprecated="0.6", instead="write nl.fori_loop"),
    _function("fori_loop", "lower, upper, body_fun, step=1", since="0.6"),
    _function("while_loop", "init, body_fun", since="0.6"),
    _function("no_reorder", ""),
    _function("program_id", "axis=0"),
    _function("num_programs", "axes=0"),
    _function("program_ndim", ""),
    _function("device_print", "print_prefix, tensor"),
    *_alike("buffer", ("is_hbm", "is_on_chip", "is_psum", "is_sbuf")),
)

_method = partial(function, _TENSOR)

_TENSOR_MEMBERS: Final = (
    *names(
        _TENSOR,
        Kind.MEMBER,
        ("shape", "strides", "offset", "name", "dtype", "buffer", "ndim", "size"),
    ),
    _method("reshape", "new_shape=None@<0.5, shape=None@<0.5, shape@0.5"),
    _method("view", "dtype"),
    _method(
        "ap",
        "pattern, offset=0@<0.5, offset=None@0.5, scalar_offset=None, vector_offset=None, indirect_dim=0, "
        "dtype=None",
    ),
    _method("get_pattern", ""),
    *(
        _method(name, signature, since="0.5")
        for name, signature in (
            ("is_contiguous", ""),
            ("is_indirect", ""),
            ("permute", "dims"),
            ("broadcast", "dim, size"),
            ("expand_dim", "dim"),
            ("squeeze_dim", "dim"),
            ("reshape_dim", "dim, shape"),
            ("flatten_dims", "start_dim, end_dim"),
            ("rearrange", "src_pattern, dst_pattern, fixed_sizes=None"),
            ("slice", "dim, start, end, step=1"),
            ("select", "dim, index"),
            ("vector_select", "dim, vector_offset"),
            ("reinterpret_cast", "dtype"),
        )
    ),
    _method("indirect", "index, num_elem=None", since="0.5", targets=V4),
)

_TILE_SIZES: Final = (
    *names(
        _TILE_SIZE,
        Kind.MEMBER,
        (
            "pmax",
            "gemm_stationary_fmax",
            "gemm_moving_fmax",
            "bn_stats_fmax",
            "psum_min_align",
            "sbuf_min_align",
        ),
    ),
    *names(_TILE_SIZE, Kind.MEMBER, ("psum_fmax",), deprecated="0.4", instead="write psum_bank_fmax"),
    *names(
        _TILE_SIZE,
        Kind.MEMBER,
        ("total_available_sbuf_size",),
        deprecated="0.4",
        instead="write sbuf_fmax_bytes for one partition, sbuf_size_bytes for all",
    ),
    *names(
        _TILE_SIZE,
        Kind.MEMBER,
        ("psum_bank_fmax", "psum_bank_fmax_bytes", "sbuf_size_bytes", "sbuf_fmax", "sbuf_fmax_bytes"),
        since="0.4",
    ),
    *names(_TILE_SIZE, Kind.MEMBER, ("psum_num_banks",), since="0.5"),
)

_SLICE: Final = (
    "index with integer slices t[a:b, c:d], nl.ds(start, size), or t.ap(pattern=[[stride, count], ...])"
)
_LAUNCH: Final = "launch with kernel[lnc](...)"

_REMOVED: Final = tuple(
    removed(_MODULE, name, instead)
    for name, instead in (
        ("arange", _SLICE),
        ("mgrid", _SLICE),
        (
            "par_dim",
            "the first dimension of an on-chip tensor is the partition: write a plain integer",
        ),
        ("spmd_dim", _LAUNCH),
        ("nc", _LAUNCH),
        ("loop_reduce", "accumulate with nisa.tensor_tensor, or in PSUM"),
        ("atomic_rmw", "use nisa.dma_compute"),
        ("all_reduce", "use nki.collectives.all_reduce"),
        ("static_cast", "copy into a tile of the other dtype with nisa.tensor_copy"),
        ("finfo", "write the constant"),
        ("fp32", "use nl.float32"),
    )
)

NAMES: Final[tuple[Name, ...]] = (
    *names(_MODULE, Kind.DTYPE, _DTYPES),
    *names(_MODULE, Kind.DTYPE, _V4_DTYPES, targets=V4),
    *names(_MODULE, Kind.DTYPE, ("float8_e8m0fnu",), since="0.5", targets=V4),
    *names(_MODULE, Kind.MEMORY, ("sbuf", "psum", "hbm", "private_hbm", "shared_hbm")),
    *names(_MODULE, Kind.ENUM, ("MemoryRegion",)),
    *names(f"{_MODULE}.MemoryRegion", Kind.MEMBER, ("sbuf", "psum", "private_hbm", "shared_hbm")),
    *names(_MODULE, Kind.CLASS, ("NKIObject", "NkiTensor")),
    *names(_MODULE, Kind.CLASS, ("DType",), since="0.6"),
    *names(_MODULE, Kind.CONSTANT, ("tile_size",)),
    *names(_MODULE, Kind.OPERATOR, ("bypass", "prelu"), since="0.4"),
    *names(_MODULE, Kind.OPERATOR, ("average",), since="0.5"),
    *_FUNCTIONS,
    *_TENSOR_MEMBERS,
    *_TILE_SIZES,
    *_REMOVED,
)
