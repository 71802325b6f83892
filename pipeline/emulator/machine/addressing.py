"""Addresses that only run time knows: one offset for a view, or gathered and scattered elements.

An offset from a register or from one element moves a view, which stays a view. Indices per partition or per
column gather the elements into an array of their own and, where the instruction writes, scatter them back.
Every address is checked before memory is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.machine.errors import MachineError
from pipeline.emulator.machine.memory import Array, Place, window_of
from pipeline.emulator.operations import Registers
from pipeline.emulator.operations.dynamic_access import indirection_group
from pipeline.emulator.program.geometry import first_partition, start_partitions
from pipeline.emulator.program.instructions import AccessPattern, Program

__all__ = ["Address", "Addresses", "OutOfBounds"]


class OutOfBounds(Exception):
    """An address outside its tensor, where not even a part of the instruction can run."""


class Address(NamedTuple):
    """Elements that an instruction touches, resolved.

    Attributes:
        view: The elements: a view of memory, or gathered.
        indices: Where gathered elements lie in the buffer, by row; None for a view.
        valid: Which rows lie within the tensor; None for all.
    """

    view: Array
    indices: Array | None = None
    valid: Array | None = None


class Addresses:
    """Resolves the dynamic patterns of a program against the buffers of one run."""

    def __init__(self, program: Program, places: Sequence[Place]) -> None:
        """Prepare for a program whose tensors lie at `places`."""
        self._program = program
        self._places = places

    def resolve(
        self,
        pattern: AccessPattern,
        buffers: Sequence[Array | None],
        sources: Sequence[Array | None],
        registers: Registers,
        engine: str,
        *,
        anywhere: bool = True,
    ) -> Address:
        """Return what a dynamic pattern addresses now.

        Args:
            pattern: It.
            buffers: All buffers of the run.
            sources: Views by pattern, those of the index tensors among them.
            registers: Of the core that runs the instruction.
            engine: That runs it.
            anywhere: Whether the view may start at any partition.

        Raises:
            OutOfBounds: If a whole view leaves its tensor, or starts where none may.
            MachineError: If an index tensor does not fit.
        """
        shift = 0
        spread: tuple[str, Array, int] | None = None
        for offset in pattern.offsets:
            if offset.kind == "register":
                shift += offset.stride * registers.virtual[offset.source]
                continue
            source = sources[offset.source]
            if source is None:
                raise MachineError("illegal", "an index tensor has no memory")
            if offset.kind == "scalar":
                index = int(source.reshape(-1)[0])
                if index < 0:
                    raise OutOfBounds(f"index {index} into {self._name(pattern)}")
                shift += offset.stride * index
            else:
                spread = (offset.kind, source, offset.stride)
        moved = AccessPattern(pattern.tensor, pattern.dtype, pattern.offset + shift, pattern.dims)
        if spread is None:
            if not anywhere:
                self._require_start(moved)
            return Address(self._moved_view(moved, buffers))
        return self._gathered(moved, buffers, spread, engine)

    def _require_start(self, pattern: AccessPattern) -> None:
        width, count = self._extent(pattern)[1], pattern.dims[0][1] if pattern.dims else 1
        if not width:
            return
        start = pattern.offset // width + first_partition(self._program.tensors[pattern.tensor])
        if start not in start_partitions(count):
            raise OutOfBounds(
                f"{count} partitions of {self._name(pattern)} start at {start}, must start at "
                f"{' or '.join(map(str, start_partitions(count)))}"
            )

    def _moved_view(self, pattern: AccessPattern, buffers: Sequence[Array | None]) -> Array:
        capacity, width = self._extent(pattern)
        low, high = _reach(pattern.offset, pattern.dims)
        if low < 0 or high >= capacity:
            raise OutOfBounds(f"elements {low} to {high} of {self._name(pattern)}, which holds {capacity}")
        if width:
            column = pattern.offset % width
            first, last = _reach(column, pattern.dims[1:])
            if first < 0 or last >= width:
                raise OutOfBounds(
                    f"columns {first} to {last} of {self._name(pattern)}, a partition of which holds {width}"
                )
        buffer, shape, dtype, offset, strides = window_of(pattern, self._places[pattern.tensor])
        return np.ndarray(shape, dtype, buffers[buffer], offset, strides)

    def _gathered(
        self,
        pattern: AccessPattern,
        buffers: Sequence[Array | None],
        spread: tuple[str, Array, int],
        engine: str,
    ) -> Address:
        kind, source, stride = spread
        dims = pattern.dims or ((1, 1),)
        rows, capacity = dims[0][1], self._extent(pattern)[0]
        # Indices count from the view's own offset: -1 is outside also where an element lies before that.
        counted = np.ones(rows, bool)
        if kind == "vector":
            # Down the partitions first: nki.isa.dma_transpose docstring, flat_indices.
            indices = source.reshape(len(source), -1).T.reshape(-1)[:rows]
            counted = indices >= 0
            steps = indices.astype(np.int64) * stride
            inner = _grid(dims[1:])
        else:
            steps = np.arange(rows, dtype=np.int64) * dims[0][0]
            inner = _columns(source, rows, dims, indirection_group(engine)) * stride
            width = self._extent(pattern)[1] or capacity
            if inner.min() < 0 or pattern.offset % width + inner.max() >= width:
                raise OutOfBounds(
                    f"columns {inner.min()} to {inner.max()} of {self._name(pattern)}, a partition of which "
                    f"holds {width}"
                )
        places = (pattern.offset + steps)[:, None] + inner
        good: Array = np.all((places >= 0) & (places < capacity), axis=1) & counted
        whole = bool(good.all())
        flat = self._flat(pattern, buffers)
        gathered = flat[places if whole else np.where(good[:, None], places, 0)]
        shape = tuple(count for _, count in dims)
        return Address(gathered.reshape(shape), places, None if whole else good)

    def scatter(self, pattern: AccessPattern, address: Address, buffers: Sequence[Array | None]) -> None:
        """Write gathered elements back to where they came from; rows outside the tensor are left out."""
        if address.indices is None:
            return
        flat = self._flat(pattern, buffers)
        values = address.view.reshape(address.indices.shape)
        if address.valid is None:
            flat[address.indices] = values
        else:
            flat[address.indices[address.valid]] = values[address.valid]

    def describe(self, pattern: AccessPattern, address: Address) -> str:
        """Return which rows of an address lie outside its tensor."""
        bad = np.flatnonzero(~address.valid) if address.valid is not None else np.empty(0, int)
        return (
            f"the index of row {int(bad[0]) if bad.size else 0} ({bad.size} of {address.view.shape[0]} rows) "
            f"points outside {self._name(pattern)}"
        )

    def _flat(self, pattern: AccessPattern, buffers: Sequence[Array | None]) -> Array:
        place = self._places[pattern.tensor]
        buffer = buffers[place.buffer]
        if buffer is None or place.width:
            raise MachineError("unsupported", "index tensors into a tensor with address= are not emulated")
        return buffer.view(DTYPES[pattern.dtype].storage)

    def _extent(self, pattern: AccessPattern) -> tuple[int, int]:
        """Return the elements of a pattern's tensor, and of one partition of it (0 in HBM)."""
        tensor = self._program.tensors[pattern.tensor]
        size = DTYPES[pattern.dtype].itemsize
        width = DTYPES[tensor.dtype].itemsize
        for extent in tensor.shape[1:]:
            width *= extent
        on_chip = tensor.buffer in ("sbuf", "psum")
        return width * tensor.shape[0] // size, width // size if on_chip else 0

    def _name(self, pattern: AccessPattern) -> str:
        return ascii(self._program.tensors[pattern.tensor].name)[1:-1][:60]


def _reach(offset: int, dims: Sequence[tuple[int, int]]) -> tuple[int, int]:
    low = high = offset
    for stride, count in dims:
        reach = stride * (count - 1)
        low, high = low + min(0, reach), high + max(0, reach)
    return low, high


def _grid(dims: Sequence[tuple[int, int]]) -> Array:
    """Return the offsets within a row, in row-major order."""
    offsets = np.zeros(1, np.int64)
    for stride, count in dims:
        offsets = (offsets[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
    return offsets


def _columns(source: Array, rows: int, dims: Sequence[tuple[int, int]], group: int) -> Array:
    """Return the column of each element: offset i of a group is ``index[i % group, i // group]`` of it."""
    if len(dims) != 2 or source.ndim < 2 or source.shape[0] < rows:
        raise MachineError(
            "operands", "tensor indirection takes a 2-D view and an index tensor with as many partitions"
        )
    table = source.reshape(source.shape[0], -1).astype(np.int64)
    count = dims[1][1]
    columns = np.empty((rows, count), np.int64)
    for start in range(0, rows, group):
        height = min(group, rows - start)
        if -(-count // height) > table.shape[1]:
            raise MachineError("operands", f"{count} positions need more indices than the index tensor holds")
        order = table[start : start + height].T.reshape(-1)
        columns[start : start + height] = order[:count]
    return columns
