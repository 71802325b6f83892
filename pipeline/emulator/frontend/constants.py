"""`nki.language`: tensors that a kernel brings along. Source: their docstrings, NKI 0.6."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.creation import ndarray
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.functions import named
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.session import active_recorder
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import MemoryRegion, dtype_of
from pipeline.emulator.frontend.views import contiguous

__all__ = ["shared_constant", "shared_identity_matrix"]

Array = np.ndarray[Any, Any]

#: Element types of a constant, as the docstring lists them.
_ELEMENTS: Final = frozenset(
    {
        "float32",
        "float16",
        "bfloat16",
        "int32",
        "int16",
        "int8",
        "uint32",
        "uint16",
        "uint8",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e8m0fnu",
    }
)


def shared_constant(constant: Any) -> NkiTensor:
    """Return a tensor in shared HBM that holds an array known at compile time.

    Args:
        constant: A NumPy array, or the path of a ``.npy`` file.
    """
    recorder = active_recorder()
    array = constant if isinstance(constant, np.ndarray) else _read(constant)
    if array.dtype == np.dtype("V2"):
        # What NumPy makes of bfloat16 in a file, as it has no name for it.
        array = array.view(ml_dtypes.bfloat16)
    if not array.ndim or not array.size:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.shared_constant of an array of shape {array.shape}: it needs at least one element and one "
            "dimension",
        )
    if array.dtype.name not in _ELEMENTS:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.shared_constant of a {array.dtype} array: constants are {', '.join(sorted(_ELEMENTS))}; "
            "convert it with .astype",
        )
    kind = dtype_of(array.dtype)
    storage = recorder.declare(array.shape, str(kind), MemoryRegion.shared_hbm, "")
    recorder.add_constant(storage, np.ascontiguousarray(array, DTYPES[kind].storage))
    return NkiTensor(storage, kind, contiguous(array.shape))


def shared_identity_matrix(n: int, dtype: Any = "uint8", dst: NkiTensor | None = None) -> NkiTensor:
    """Return the identity matrix of order `n` in SBUF: one where partition and column agree.

    Args:
        n: Rows and columns, at most the partitions.
        dtype: Data type; that of `dst` where one is given.
        dst: (n, n) SBUF tile to write; a new one by default.
    """
    difference = ndarray((n, n), "int32")
    result = ndarray((n, n), dtype) if dst is None else _identity_destination(dst, n)
    INSTRUCTIONS["iota"](difference, pattern=[[-1, n]], offset=0, channel_multiplier=1)
    INSTRUCTIONS["tensor_scalar"](result, difference, op0=named("equal"), operand0=0.0)
    return result


def _identity_destination(dst: Any, n: int) -> NkiTensor:
    if isinstance(dst, NkiTensor) and dst.buffer is MemoryRegion.sbuf and dst.shape == (n, n):
        return dst
    shown = repr(dst) if isinstance(dst, NkiTensor) else type(dst).__name__
    raise KernelError(
        KernelErrorKind.COMPILE_ERROR,
        f"nl.shared_identity_matrix({n}, dst={shown}): dst must be an SBUF tile of shape ({n}, {n})",
    )


def _read(path: Any) -> Array:
    """Return the array of a ``.npy`` file, mapped rather than read: its size is checked first."""
    if not isinstance(path, str | Path):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.shared_constant takes a NumPy array or the path of a .npy file, not {type(path).__name__}",
        )
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.shared_constant cannot read {str(path)[:80]!r} as a .npy file: "
            f"{' '.join(str(error).split())[:120]}",
        ) from None
