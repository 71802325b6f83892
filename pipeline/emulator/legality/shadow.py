"""Which parts of each tensor have been written, without running anything.

Static access patterns say it, so one pass over the instructions knows. Doing this while executing would cost
more than the execution (facts/emulator_findings.md section 2). Where an address is known at run time only, a
write may have been anywhere: then the whole tensor counts as touched, and nothing is said of it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.geometry import covers, tensor_bytes
from pipeline.emulator.program.instructions import AccessPattern, Program

__all__ = ["Shadow"]

_PARTITIONS: Final = 128


class Shadow:
    """One mark per element of every tensor; whole tensors and repeated patterns cost no memory.

    Tensors that their author placed share the marks of their memory, byte by byte, because they may overlap.
    """

    def __init__(self, program: Program) -> None:
        """Start with nothing marked."""
        self._program = program
        self._whole: set[int] = set()
        self._patterns: dict[int, set[int]] = {}
        self._marks: dict[int, np.ndarray[Any, Any]] = {}
        #: Index of the area of each placed tensor, from the number of tensors on, and bytes per partition.
        self._areas: dict[int, int] = {}
        self._pitches: dict[int, int] = {}
        self._find_areas()
        # Views may reinterpret a tensor: marks have the width of the narrowest element seen.
        self._units: dict[int, int] = {}
        for pattern in program.patterns:
            area = self._area(pattern.tensor)
            size = 1 if area in self._pitches else DTYPES[pattern.dtype].itemsize
            self._units[area] = min(size, self._units.get(area, size))

    def mark_tensor(self, tensor: int) -> None:
        """Mark a whole tensor that its author did not place."""
        self._whole.add(tensor)
        self._marks.pop(tensor, None)

    def mark(self, index: int) -> None:
        """Mark the elements of a pattern; of one whose address is not known, the whole tensor."""
        pattern = self._program.patterns[index]
        tensor = pattern.tensor
        if tensor in self._whole:
            return
        if pattern.offsets:
            self._mark_anywhere(tensor)
            return
        if tensor not in self._areas and covers(self._program, pattern):
            self.mark_tensor(tensor)
            return
        known = self._patterns.setdefault(self._area(tensor), set())
        if index not in known:
            known.add(index)
            view, full = self._view(pattern)
            view[...] = full

    def clear(self, index: int) -> None:
        """Take the marks off the elements of a pattern."""
        pattern = self._program.patterns[index]
        tensor = pattern.tensor
        area = self._area(tensor)
        if pattern.offsets or (tensor not in self._whole and area not in self._marks):
            return
        self._patterns.pop(area, None)
        view, _ = self._view(pattern)
        view[...] = 0
        self._whole.discard(tensor)

    def is_marked(self, index: int) -> bool:
        """Return whether every element of a pattern is marked, or may be: its address is not known."""
        pattern = self._program.patterns[index]
        tensor = pattern.tensor
        area = self._area(tensor)
        if tensor in self._whole or index in self._patterns.get(area, ()):
            return True
        if pattern.offsets:
            return area in self._marks
        if area not in self._marks:
            return False
        view, full = self._view(pattern)
        marked = bool((view == full).all())
        if marked:  # remembered, so that a pattern read again and again is looked through once
            self._patterns.setdefault(area, set()).add(index)
        return marked

    def unmarked(self, tensor: int) -> np.ndarray[Any, Any]:
        """Return the flat indices of a tensor's elements that are not entirely marked, ascending."""
        declared = self._program.tensors[tensor]
        size = DTYPES[declared.dtype].itemsize
        if tensor in self._whole:
            return np.empty(0, np.int64)
        if tensor not in self._marks:
            return np.arange(tensor_bytes(self._program, tensor) // size)
        marks = self._marks[tensor].reshape(-1, size // self._units[tensor])
        return np.flatnonzero(~marks.all(axis=1))

    def _mark_anywhere(self, tensor: int) -> None:
        if tensor not in self._areas:
            self.mark_tensor(tensor)
            return
        whole = self._whole_pattern(tensor)
        view, full = self._view(whole)
        view[...] = full

    def _whole_pattern(self, tensor: int) -> AccessPattern:
        declared = self._program.tensors[tensor]
        width = 1
        for size in declared.shape[1:]:
            width *= size
        return AccessPattern(tensor, declared.dtype, 0, ((width, declared.shape[0]), (1, width)))

    def _view(self, pattern: AccessPattern) -> tuple[np.ndarray[Any, Any], int]:
        """Return a pattern's marks, one integer per element, and the integer that means marked."""
        area = self._area(pattern.tensor)
        unit = self._units[area]
        marks = self._marks.get(area)
        if marks is None:
            marks = np.zeros(self._size(area) // unit, np.uint8)
            if pattern.tensor in self._whole:
                marks.fill(1)
            self._marks[area] = marks
        width = DTYPES[pattern.dtype].itemsize // unit
        shape = pattern.shape or (1,)
        strides = tuple([stride * width for stride, _ in pattern.dims]) or (width,)
        offset = pattern.offset * width
        if area in self._pitches:
            offset, strides = self._placed(pattern, offset, strides)
        view: np.ndarray[Any, Any] = np.ndarray(shape, f"u{width}", marks, offset, strides)
        return view, int.from_bytes(b"\x01" * width, "little")

    def _placed(
        self, pattern: AccessPattern, offset: int, strides: tuple[int, ...]
    ) -> tuple[int, tuple[int, ...]]:
        """Return byte offset and strides within the area of a placed tensor."""
        tensor = self._program.tensors[pattern.tensor]
        assert tensor.address is not None
        width = tensor_bytes(self._program, pattern.tensor) // tensor.shape[0]
        row, column = divmod(offset, width)
        pitch = self._pitches[self._area(pattern.tensor)]
        start = (tensor.address[0] + row) * pitch + tensor.address[1] + column
        return start, (strides[0] // width * pitch, *strides[1:])

    def _area(self, tensor: int) -> int:
        return self._areas.get(tensor, tensor)

    def _size(self, area: int) -> int:
        pitch = self._pitches.get(area)
        # Beyond the last partition lies what an address out of range reaches; a rule of its own refuses it.
        return tensor_bytes(self._program, area) if pitch is None else 2 * _PARTITIONS * pitch

    def _find_areas(self) -> None:
        numbers: dict[tuple[int, str], int] = {}
        for index, tensor in enumerate(self._program.tensors):
            if tensor.address is None:
                continue
            key = (tensor.core, tensor.buffer)
            area = self._areas[index] = numbers.setdefault(key, len(self._program.tensors) + len(numbers))
            end = tensor.address[1] + tensor_bytes(self._program, index) // tensor.shape[0]
            self._pitches[area] = max(self._pitches.get(area, 0), end)
