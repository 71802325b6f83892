"""The compile-time values of the language: data types, memories, enums, slices, tile sizes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind, MissingName
from pipeline.emulator.targets import Target
from pipeline.emulator.toolchain import NEWEST, available, find

__all__ = [
    "NAMES",
    "NL_DTYPES",
    "WIDTHS",
    "DType",
    "DynamicSlice",
    "MemoryRegion",
    "TileSize",
    "buffer_named",
    "dtype_of",
]

#: What frameworks convert silently when they hand arrays to a kernel.
_NARROWED: Final = {"float64": "float32", "int64": "int32", "uint64": "uint32", "bool": "bool_"}


class DType(str):
    """An NKI data type: a string, as documented, that also compares equal to its NumPy counterpart."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str.__eq__(self, other)
        return _numpy_name(other) == str(self)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingName(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.{self} has no attribute {name!r}: an NKI data type is a string, compare it or call str() on "
            "it",
        )


NL_DTYPES: Final[dict[str, DType]] = {name: DType(name) for name in DTYPES}
#: By type, what recording asks for with every instruction: found without comparing text.
NAMES: Final[dict[DType, str]] = {dtype: name for name, dtype in NL_DTYPES.items()}
WIDTHS: Final[dict[DType, int]] = {dtype: DTYPES[name].itemsize for name, dtype in NL_DTYPES.items()}


def _numpy_name(value: object) -> str | None:
    """Return the NKI name of a NumPy or `ml_dtypes` type, or None if `value` is no type."""
    if value is None or not isinstance(value, type | np.dtype):
        return None
    try:
        dtype = np.dtype(value)
        # A packed type comes from NumPy as a structure of one word that bears its name.
        name = dtype.names[0] if dtype.names is not None and len(dtype.names) == 1 else dtype.name
    except TypeError:
        return None
    return "bool_" if name == "bool" else name


def dtype_of(value: object, *, narrow: bool = False) -> DType:
    """Return the data type that `value` names.

    Args:
        value: An NKI type, its name, or a NumPy type.
        narrow: Whether 64-bit types become 32-bit ones, as for the arrays a kernel is called with.

    Raises:
        KernelError: If NKI has no such type.
    """
    if type(value) is DType:
        return value
    name = value if isinstance(value, str) else _numpy_name(value)
    if narrow and name is not None:
        name = _NARROWED.get(name, name)
    known = NL_DTYPES.get(name) if name is not None else None
    if known is None:
        shown = name or type(value).__name__
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"{shown!r} is no NKI data type; use one of nl.{', nl.'.join(NL_DTYPES)}",
        )
    return known


class MemoryRegion(Enum):
    """Where a tensor lies."""

    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingName(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.{self.name} has no attribute {name!r}: allocate with nl.ndarray(shape, dtype, "
            f"buffer=nl.{self.name}, address=...), and look at bytes as another type with tensor.view(dtype)",
        )


def buffer_named(value: object) -> MemoryRegion:
    """Return `value` if it is a memory.

    Raises:
        KernelError: If it is not; strings are refused since NKI 0.3.
    """
    if isinstance(value, MemoryRegion):
        return value
    remedy = (
        f"use nl.{value}"
        if value in ("sbuf", "psum", "hbm", "shared_hbm", "private_hbm")
        else ("use nl.sbuf, nl.psum, nl.shared_hbm or nl.private_hbm")
    )
    raise KernelError(
        KernelErrorKind.COMPILE_ERROR,
        f"buffer must be a memory of nki.language, not {type(value).__name__} {str(value)[:40]!r}; {remedy}",
    )


@dataclass(frozen=True, slots=True)
class DynamicSlice:
    """``nl.ds(start, size)``: `size` elements from `start`."""

    start: int
    size: int


class TileSize:
    """``nl.tile_size``: the limits of the target.

    Sources: `nki.language.tile_size` in the NKI 0.6 documentation for what each means; facts/nki.md section
    2.1 for most values; KLR/Trace.lean of the public repository leanprover/KLR, the front end's own
    constants, for the alignments and for what of a partition of SBUF is left to kernels.
    """

    def __init__(self, target: Target, version: str = NEWEST) -> None:
        usable = target.sbuf_bytes_per_partition - _RESERVED[target.name]
        banks = target.psum_bytes_per_partition // target.psum_bank_bytes
        # Transposes on the tensor engine then keep one bank to themselves.
        banks -= target.name != "trn1" and os.environ.get(_PE_TRANSPOSE, "").lower() == "true"
        sizes = {
            "pmax": target.partitions,
            "gemm_stationary_fmax": 128,
            "gemm_moving_fmax": 512,
            "bn_stats_fmax": 512,
            "psum_bank_fmax": target.psum_bank_bytes // 4,
            "psum_bank_fmax_bytes": target.psum_bank_bytes,
            "psum_fmax": target.psum_bank_bytes // 4,
            "psum_num_banks": banks,
            "psum_min_align": 4,
            "sbuf_min_align": 1,
            "sbuf_fmax": usable // 4,
            "sbuf_fmax_bytes": usable,
            "sbuf_size_bytes": target.partitions * target.sbuf_bytes_per_partition,
            "total_available_sbuf_size": usable,
        }
        vars(self).update({name: size for name, size in sizes.items() if available(_OWNER, name, version)})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = find(_OWNER, name)
        reason = (
            f"does not exist; there are {', '.join(vars(self))}"
            if known is None
            else f"exists since NKI {known.since}"
        )
        raise MissingName(KernelErrorKind.COMPILE_ERROR, f"nl.tile_size.{name} {reason}")


_OWNER: Final = "nki.language.tile_size"
#: Bytes of a partition of SBUF that the toolchain keeps. nki-library subtracts the same.
_RESERVED: Final = {"trn1": 16384, "trn2": 16384 + 8, "trn3": 16384 + 8}
_PE_TRANSPOSE: Final = "NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE"
