"""What an access pattern covers of its tensor."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.instructions import AccessPattern, Program

__all__ = ["covers", "may_overlap", "tensor_bytes"]


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
