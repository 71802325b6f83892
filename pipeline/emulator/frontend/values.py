"""The compile-time values of the language: data types, memories, enums, slices, tile sizes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind, MissingName
from pipeline.emulator.targets import Target

__all__ = [
    "NL_DTYPES",
    "DType",
    "DynamicSlice",
    "MemoryRegion",
    "NKIObject",
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


NL_DTYPES: Final[dict[str, DType]] = {name: DType(name) for name in DTYPES}


def _numpy_name(value: object) -> str | None:
    """Return the NKI name of a NumPy or `ml_dtypes` type, or None if `value` is no type."""
    if value is None or not isinstance(value, type | np.dtype):
        return None
    try:
        name = np.dtype(value).name
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


class NKIObject:
    """Base of the classes a kernel may use; initialises annotated fields where ``@dataclass`` does not."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        fields: list[str] = []
        for base in reversed(type(self).__mro__):
            fields += [name for name in inspect.get_annotations(base) if name not in fields]
        if len(args) > len(fields):
            raise TypeError(
                f"{type(self).__name__}() takes {len(fields)} arguments but {len(args)} were given"
            )
        given = dict(zip(fields, args, strict=False)) | kwargs
        for name in fields:
            setattr(self, name, given.pop(name, getattr(type(self), name, None)))
        for name, value in given.items():
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {name!r}")
            setattr(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Run after initialisation; for subclasses."""


class TileSize:
    """``nl.tile_size``: the limits of the target. Source: facts/nki.md section 2.1."""

    def __init__(self, target: Target) -> None:
        self.pmax = target.partitions
        self.psum_bank_fmax = self.psum_fmax = target.psum_bank_bytes // 4
        self.psum_bank_fmax_bytes = target.psum_bank_bytes
        self.psum_num_banks = target.psum_bytes_per_partition // target.psum_bank_bytes
        self.gemm_stationary_fmax = 128
        self.gemm_moving_fmax = 512
        self.bn_stats_fmax = 512
        self.sbuf_fmax_bytes = self.total_available_sbuf_size = target.sbuf_bytes_per_partition
        self.sbuf_fmax = target.sbuf_bytes_per_partition // 4
        self.sbuf_size_bytes = target.partitions * target.sbuf_bytes_per_partition

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("sbuf_min_align", "psum_min_align"):
            raise MissingName(
                KernelErrorKind.UNSUPPORTED,
                f"nl.tile_size.{name} is not published, so the emulator has no value for it",
            )
        raise MissingName(
            KernelErrorKind.COMPILE_ERROR, f"nl.tile_size has no {name!r}; it has {', '.join(vars(self))}"
        )
