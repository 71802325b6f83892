"""What an access pattern covers of its tensor."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.instructions import AccessPattern, Program, Tensor

__all__ = ["covers", "first_partition", "may_overlap", "start_partitions", "tensor_bytes"]


def first_partition(tensor: Tensor) -> int:
    """Return the partition on which an on-chip tensor begins, as far as its author placed it."""
    return tensor.address[0] if tensor.address is not None else 0


def start_partitions(count: int) -> tuple[int, ...]:
    """Return where an engine's access to `count` partitions may start: NKI architecture guides."""
    return (0,) if count > 64 else (0, 64) if count > 32 else (0, 32, 64, 96)


def tensor_bytes(program: Program, index: int) -> int:
    """Return the bytes of one tensor."""
    tensor = program.tensors[index]
    size = DTYPES[tensor.dtype].itemsize
    for extent in tensor.shape:
        size *= extent
    return size


def may_overlap(dims: Iterable[tuple[int, int]]) -> bool:
    """Return whether two index tuples of a pattern may meet on one element.

    False only if each stride clears the extent of all smaller ones, which proves that none do.
    """
    extent = 0
    for stride, count in sorted((abs(stride), count) for stride, count in dims if count > 1):
        if stride <= extent:
            return True
        extent += stride * (count - 1)
    return False


def covers(program: Program, pattern: AccessPattern) -> bool:
    """Return whether a pattern that lies within its tensor touches every byte of it.

    Never for a pattern whose address only run time knows.
    """
    if pattern.offsets:
        return False
    size = DTYPES[pattern.dtype].itemsize
    for _, count in pattern.dims:
        size *= count
    return size == tensor_bytes(program, pattern.tensor) and not may_overlap(pattern.dims)
