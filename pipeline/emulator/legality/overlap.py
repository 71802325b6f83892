"""Which elements of a tensor do two sets of access patterns share?

Every element is looked at, so interleaved patterns (even rows and odd rows) are told apart where their bounds
are not. Costs as much as executing the patterns once, and only where bounds meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.instructions import AccessPattern, Program

__all__ = ["shared_pair"]

_MARK: Final = b"\x01"


class _Hull(NamedTuple):
    """The bytes of a tensor from a pattern's lowest to its highest.

    Attributes:
        pattern: Its index.
        low: Its first byte.
        high: The byte after its last.
    """

    pattern: int
    low: int
    high: int


def shared_pair(program: Program, first: Iterable[int], second: Iterable[int]) -> tuple[int, int] | None:
    """Return two patterns that touch a common byte of their tensor, one of each set; None if none do.

    Args:
        program: A validated program.
        first: Indices of static patterns, all of one tensor.
        second: The same, of the same tensor.
    """
    ours = [_hull(program, index) for index in first]
    theirs = _meeting([_hull(program, index) for index in second], ours)
    ours = _meeting(ours, theirs)
    if not ours or not theirs:
        return None
    marks = _Marks(program, [*ours, *theirs])
    for hull in ours:
        marks.put(hull.pattern)
    for hull in theirs:
        place = marks.first_marked(hull.pattern)
        if place is not None:
            return marks.who_marks(place, [other.pattern for other in ours]), hull.pattern
    return None


def _hull(program: Program, index: int) -> _Hull:
    pattern = program.patterns[index]
    size = DTYPES[pattern.dtype].itemsize
    low = high = pattern.offset
    for stride, count in pattern.dims:
        reach = stride * (count - 1)
        low, high = low + min(0, reach), high + max(0, reach)
    return _Hull(index, low * size, (high + 1) * size)


def _meeting(hulls: Sequence[_Hull], others: Sequence[_Hull]) -> list[_Hull]:
    """Return the hulls that meet the span of all others."""
    low = min((other.low for other in others), default=0)
    high = max((other.high for other in others), default=0)
    return [hull for hull in hulls if hull.low < high and low < hull.high]


class _Marks:
    """One mark per unit of the part of a tensor that some patterns span."""

    def __init__(self, program: Program, hulls: Sequence[_Hull]) -> None:
        self._patterns = program.patterns
        # Views may reinterpret the tensor: a unit is the narrowest element.
        self._unit = min(DTYPES[program.patterns[hull.pattern].dtype].itemsize for hull in hulls)
        self._base = min(hull.low for hull in hulls)
        span = max(hull.high for hull in hulls) - self._base
        self._marks = np.zeros(-(-span // self._unit), np.uint8)

    def put(self, index: int) -> None:
        view, width = self._view(self._patterns[index])
        view[...] = int.from_bytes(_MARK * width, "little")

    def first_marked(self, index: int) -> int | None:
        """Return a marked unit that a pattern touches, None if it touches none."""
        pattern = self._patterns[index]
        view, width = self._view(pattern)
        if not view.any():
            return None
        where = np.unravel_index(int(np.argmax(view != 0)), view.shape)
        place = self._offset(pattern)
        for axis, (stride, _) in enumerate(pattern.dims):
            place += int(where[axis]) * stride * width
        return place + int(np.argmax(self._marks[place : place + width]))

    def who_marks(self, place: int, indices: Sequence[int]) -> int:
        """Return which of the patterns touches a unit."""
        self._marks.fill(0)
        for index in indices[:-1]:
            self.put(index)
            if self._marks[place]:
                return index
        return indices[-1]

    def _offset(self, pattern: AccessPattern) -> int:
        return (pattern.offset * DTYPES[pattern.dtype].itemsize - self._base) // self._unit

    def _view(self, pattern: AccessPattern) -> tuple[np.ndarray[Any, Any], int]:
        width = DTYPES[pattern.dtype].itemsize // self._unit
        shape = pattern.shape or (1,)
        strides = tuple([stride * width for stride, _ in pattern.dims]) or (width,)
        offset = self._offset(pattern)
        return np.ndarray(shape, f"u{width}", self._marks, offset, strides), width
