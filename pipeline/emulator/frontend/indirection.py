"""Views whose address only run time knows: offsets made of registers and of index tensors.

Source: the view methods of `NkiTensor` in the NKI 0.6 documentation; nki-aps.rst, Dynamic Access.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.registers import RegisterExpression
from pipeline.emulator.frontend.values import DynamicSlice, MemoryRegion
from pipeline.emulator.frontend.views import View, ViewError, complete_key
from pipeline.emulator.program.instructions import Offset

if TYPE_CHECKING:
    from pipeline.emulator.frontend.tensor import NkiTensor

__all__ = [
    "has_register",
    "offset_by",
    "offsets_per_column",
    "offsets_per_row",
    "require_free_dimension",
    "require_unspread",
    "select_by_register",
]

#: Offsets that take over a dimension, which no view may change any more.
_SPREAD: Final = {"vector": "its first dimension", "indirect": "its dimensions"}


def has_register(key: Any) -> bool:
    """Return whether an index names a register."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(_start(part), RegisterExpression) for part in parts)


def select_by_register(tensor: NkiTensor, key: Any) -> tuple[View, tuple[Offset, ...]]:
    """Return the view that a key with registers selects, and the offsets that run time adds.

    Raises:
        ViewError: If a part that is known lies outside.
    """
    parts = complete_key(key if isinstance(key, tuple) else (key,), tensor.ndim)
    substituted: list[Any] = []
    offsets: list[Offset] = []
    constant = 0
    for axis, ((stride, _), part) in enumerate(zip(tensor._view.dims, parts, strict=True)):
        start = _start(part)
        if isinstance(start, RegisterExpression):
            if tensor._on_chip and not axis:
                raise ViewError(
                    "a register on dimension 0, the partition dimension: which partitions an instruction "
                    "works on is fixed when it is compiled; address a free dimension, or copy from HBM"
                )
            constant += start.constant * stride
            offsets += [Offset("register", number, factor * stride) for number, factor in start.terms.items()]
            part = DynamicSlice(0, part.size) if isinstance(part, DynamicSlice) else 0
        substituted.append(part)
    view = tensor._view.select(tuple(substituted), tensor._on_chip)
    return View(view.offset + constant, view.dims), (*tensor._offsets, *offsets)


def offset_by(tensor: NkiTensor, index: Any, stride: int, method: str) -> tuple[Offset, ...]:
    """Return the offsets that move a view by `index` times `stride` elements.

    Args:
        tensor: The view.
        index: A register, or one element of an integer tensor in SBUF.
        stride: Elements of the view's dtype.
        method: For messages.

    Raises:
        KernelError: If `index` is neither.
    """
    if isinstance(index, RegisterExpression):
        if index.constant:
            raise _refuse(tensor, f"{method}: a register plus a constant; put the constant into offset=")
        return tuple(Offset("register", number, factor * stride) for number, factor in index.terms.items())
    _require_indices(tensor, index, method)
    if prod(index.shape) != 1:
        raise _refuse(
            tensor, f"{method}: the index {index!r} has {prod(index.shape)} elements, it must have one"
        )
    return (Offset("scalar", index._storage.recorder.pattern_of(index), stride),)


def offsets_per_row(tensor: NkiTensor, index: Any, rows: int, stride: int, method: str) -> tuple[Offset, ...]:
    """Return the offsets that give each of `rows` rows an index of its own.

    Raises:
        KernelError: If there are fewer indices, or they do not lie in SBUF.
    """
    _require_indices(tensor, index, method)
    if prod(index.shape) < rows:
        raise _refuse(
            tensor, f"{method}: the index tensor {index!r} has {prod(index.shape)} elements for {rows} rows"
        )
    return (Offset("vector", index._storage.recorder.pattern_of(index), stride),)


def offsets_per_column(tensor: NkiTensor, index: Any, method: str) -> tuple[Offset, ...]:
    """Return the offsets that give each column an index of its own (tensor indirection).

    Raises:
        KernelError: If the index tensor has another partition count than the tensor.
    """
    _require_indices(tensor, index, method)
    if index.shape[0] != tensor.shape[0]:
        raise _refuse(
            tensor,
            f"{method}: the index tensor {index!r} has {index.shape[0]} partitions, the tensor "
            f"{tensor.shape[0]}: they must be equal",
        )
    return (Offset("indirect", index._storage.recorder.pattern_of(index), tensor._view.dims[-1][0]),)


def require_unspread(tensor: NkiTensor, method: str) -> None:
    """Refuse a second index tensor on a view that has one.

    Raises:
        KernelError: If it has.
    """
    if any(offset.kind != "register" for offset in tensor._offsets):
        raise _refuse(tensor, f"{method} of a view that an index tensor addresses already: one per view")


def require_free_dimension(tensor: NkiTensor, key: Any) -> None:
    """Refuse an index into a dimension that an index tensor has taken over.

    Raises:
        KernelError: If it does more than take that dimension whole.
    """
    for offset in tensor._offsets:
        taken = _SPREAD.get(offset.kind)
        if taken is None:
            continue
        parts: Sequence[Any] = complete_key(key if isinstance(key, tuple) else (key,), tensor.ndim)
        taking = parts if offset.kind == "indirect" else parts[:1]
        whole = [isinstance(part, slice) and part == slice(None) for part in taking]
        if not all(whole):
            raise _refuse(tensor, f"an index tensor addresses {taken}, which cannot be sliced or selected")


def _require_indices(tensor: NkiTensor, index: Any, method: str) -> None:
    from pipeline.emulator.frontend.tensor import NkiTensor

    if not isinstance(index, NkiTensor):
        raise _refuse(
            tensor,
            f"{method}: the index must be a register or an integer tensor in SBUF, not "
            f"{type(index).__name__}",
        )
    if index.buffer is not MemoryRegion.sbuf or DTYPES[index.dtype].is_float or index._offsets:
        raise _refuse(
            tensor,
            f"{method}: the index {index!r} must be an integer tensor in SBUF with a static address; copy it "
            "there first",
        )


def _start(part: Any) -> Any:
    return part.start if isinstance(part, DynamicSlice) else part


def _refuse(tensor: NkiTensor, message: str) -> KernelError:
    return KernelError(KernelErrorKind.COMPILE_ERROR, f"tensor {tensor!r}: {message}")
