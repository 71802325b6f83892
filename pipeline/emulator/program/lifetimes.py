"""When a program's tensors come into being and when they can go.

Freeing at last use keeps a kernel that allocates gigabytes of tiles within a few megabytes
(facts/emulator_findings.md section 2).
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.instructions import Program

__all__ = ["Lifetimes", "tensor_bytes"]


def tensor_bytes(program: Program, index: int) -> int:
    """Return the bytes of one tensor."""
    tensor = program.tensors[index]
    elements = 1
    for size in tensor.shape:
        elements *= size
    return elements * DTYPES[tensor.dtype].itemsize


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """First and last use of everything, as positions in the instruction stream.

    Attributes:
        opened: Per instruction, the tensors it uses first.
        closed: Per instruction, the tensors it uses last; never outputs.
        views: Per instruction, the patterns it uses first.
        peak_bytes: Most bytes alive at one time, inputs and outputs included.
    """

    opened: dict[int, list[int]]
    closed: dict[int, list[int]]
    views: dict[int, list[int]]
    peak_bytes: int

    @classmethod
    def of(cls, program: Program) -> Lifetimes:
        """Compute the lifetimes of a program."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        views: dict[int, list[int]] = {}
        seen = bytearray(len(program.patterns))
        patterns = program.patterns
        for position, instruction in enumerate(program.instructions):
            for pattern in instruction.tensors:
                if pattern < 0:
                    continue
                tensor = patterns[pattern].tensor
                if tensor not in first:
                    first[tensor] = position
                last[tensor] = position
                if not seen[pattern]:
                    seen[pattern] = 1
                    views.setdefault(position, []).append(pattern)
        given = set(program.inputs)
        kept = set(program.outputs)
        opened: dict[int, list[int]] = {}
        closed: dict[int, list[int]] = {}
        for tensor, position in first.items():
            if tensor not in given:
                opened.setdefault(position, []).append(tensor)
        for tensor, position in last.items():
            if tensor not in kept:
                closed.setdefault(position, []).append(tensor)
        return cls(opened, closed, views, _peak(program, opened, closed))


def _peak(program: Program, opened: dict[int, list[int]], closed: dict[int, list[int]]) -> int:
    live = sum(tensor_bytes(program, tensor) for tensor in program.inputs)
    peak = live
    for position in sorted(opened.keys() | closed.keys()):
        live += sum(tensor_bytes(program, tensor) for tensor in opened.get(position, ()))
        peak = max(peak, live)
        live -= sum(tensor_bytes(program, tensor) for tensor in closed.get(position, ()))
    return peak
