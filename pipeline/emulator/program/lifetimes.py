"""When a program's tensors come into being and when they can go.

Freeing at last use keeps a kernel that allocates gigabytes of tiles within a few megabytes
(facts/emulator_findings.md section 2).
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.emulator.program.geometry import tensor_bytes
from pipeline.emulator.program.instructions import Program

__all__ = ["Lifetimes"]


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """First and last use of everything, as positions in the instruction stream.

    Attributes:
        opened: By position, the tensors an instruction uses first; never inputs.
        closed: By position, the tensors an instruction uses last; never outputs.
        views: By position, the patterns an instruction uses first.
    """

    opened: dict[int, list[int]]
    closed: dict[int, list[int]]
    views: dict[int, list[int]]

    @classmethod
    def of(cls, program: Program) -> Lifetimes:
        """Compute the lifetimes of a program."""
        tensor_of = [pattern.tensor for pattern in program.patterns]
        first = [-1] * len(program.tensors)
        last = [-1] * len(program.tensors)
        seen = bytearray(len(tensor_of))
        views: dict[int, list[int]] = {}
        for position, instruction in enumerate(program.instructions):
            for pattern in instruction.tensors:
                if pattern < 0:
                    continue
                tensor = tensor_of[pattern]
                last[tensor] = position
                if not seen[pattern]:
                    seen[pattern] = 1
                    views.setdefault(position, []).append(pattern)
                    if first[tensor] < 0:
                        first[tensor] = position
        opened = _by_position(first, excluded=set(program.inputs))
        return cls(opened, _by_position(last, excluded=set(program.outputs)), views)

    def peak_bytes(self, program: Program) -> int:
        """Return the most bytes alive at one time, inputs and outputs included."""
        live = sum(tensor_bytes(program, tensor) for tensor in program.inputs)
        peak = live
        for position in sorted(self.opened.keys() | self.closed.keys()):
            for tensor in self.opened.get(position, ()):
                live += tensor_bytes(program, tensor)
            peak = max(peak, live)
            for tensor in self.closed.get(position, ()):
                live -= tensor_bytes(program, tensor)
        return peak


def _by_position(positions: list[int], excluded: set[int]) -> dict[int, list[int]]:
    """Return the tensors at each position, without those never used and those excluded."""
    grouped: dict[int, list[int]] = {}
    for tensor, position in enumerate(positions):
        if position >= 0 and tensor not in excluded:
            grouped.setdefault(position, []).append(tensor)
    return grouped
