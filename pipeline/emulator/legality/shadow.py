"""Which parts of each tensor have been written, without running anything.

Access patterns are static, so one pass over the instructions knows. Doing this while executing would cost
more than the execution (facts/emulator_findings.md section 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.geometry import covers, tensor_bytes
from pipeline.emulator.program.instructions import AccessPattern, Program

__all__ = ["Shadow"]


class Shadow:
    """One mark per element of every tensor; whole tensors and repeated patterns cost no memory."""

    def __init__(self, program: Program) -> None:
        """Start with nothing marked."""
        self._program = program
        self._whole: set[int] = set()
        self._patterns: dict[int, set[int]] = {}
        self._marks: dict[int, np.ndarray[Any, Any]] = {}
        # Views may reinterpret a tensor: marks have the width of the narrowest element seen.
        self._units: dict[int, int] = {}
        for pattern in program.patterns:
            size = DTYPES[pattern.dtype].itemsize
            self._units[pattern.tensor] = min(size, self._units.get(pattern.tensor, size))

    def mark_tensor(self, tensor: int) -> None:
        """Mark a whole tensor."""
        self._whole.add(tensor)
        self._marks.pop(tensor, None)

    def mark(self, index: int) -> None:
        """Mark the elements of a pattern."""
        pattern = self._program.patterns[index]
        tensor = pattern.tensor
        if tensor in self._whole:
            return
        if covers(self._program, pattern):
            self.mark_tensor(tensor)
            return
        known = self._patterns.setdefault(tensor, set())
        if index not in known:
            known.add(index)
            view, full = self._view(pattern)
            view[...] = full

    def clear(self, index: int) -> None:
        """Take the marks off the elements of a pattern."""
        pattern = self._program.patterns[index]
        tensor = pattern.tensor
        if tensor not in self._whole and tensor not in self._marks:
            return
        self._patterns.pop(tensor, None)
        view, _ = self._view(pattern)
        view[...] = 0
        self._whole.discard(tensor)

    def is_marked(self, index: int) -> bool:
        """Return whether every element of a pattern is marked."""
        pattern = self._program.patterns[index]
        tensor = pattern.tensor
        if tensor in self._whole or index in self._patterns.get(tensor, ()):
            return True
        if tensor not in self._marks:
            return False
        view, full = self._view(pattern)
        marked = bool((view == full).all())
        if marked:  # remembered, so that a pattern read again and again is looked through once
            self._patterns.setdefault(tensor, set()).add(index)
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

    def _view(self, pattern: AccessPattern) -> tuple[np.ndarray[Any, Any], int]:
        """Return a pattern's marks, one integer per element, and the integer that means marked."""
        tensor = pattern.tensor
        unit = self._units[tensor]
        marks = self._marks.get(tensor)
        if marks is None:
            marks = np.zeros(tensor_bytes(self._program, tensor) // unit, np.uint8)
            if tensor in self._whole:
                marks.fill(1)
            self._marks[tensor] = marks
        width = DTYPES[pattern.dtype].itemsize // unit
        shape = pattern.shape or (1,)
        strides = tuple([stride * width for stride, _ in pattern.dims]) or (width,)
        view: np.ndarray[Any, Any] = np.ndarray(shape, f"u{width}", marks, pattern.offset * width, strides)
        return view, int.from_bytes(b"\x01" * width, "little")
