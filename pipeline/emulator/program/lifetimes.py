"""When a program's tensors come into being and when they can go.

Freeing at last use keeps a kernel that allocates gigabytes of tiles within a few megabytes
(facts/emulator_findings.md section 2). What a run-time loop touches lives as long as the loop: its body runs
again on the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.emulator.operations import OPERATIONS, Control
from pipeline.emulator.program.geometry import tensor_bytes
from pipeline.emulator.program.instructions import Program

__all__ = ["Lifetimes", "loop_spans", "patterns_used"]


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """First and last use of everything, as positions in the instruction stream.

    Tensors that exist from the start are never opened: inputs, constants, those that two cores share and
    those that their author placed. The last two are never closed either.

    Attributes:
        opened: By position, the tensors an instruction, or the outermost loop it begins, uses first.
        closed: By position, the tensors an instruction, or the outermost loop it ends, uses last; never
            outputs.
        views: By position, the static patterns used first, index tensors included.
        standing: Tensors that exist from the start, without those that no instruction uses.
    """

    opened: dict[int, list[int]]
    closed: dict[int, list[int]]
    views: dict[int, list[int]]
    standing: frozenset[int]

    @classmethod
    def of(cls, program: Program) -> Lifetimes:
        """Compute the lifetimes of a program."""
        tensor_of = [pattern.tensor for pattern in program.patterns]
        dynamic = [bool(pattern.offsets) for pattern in program.patterns]
        first = [-1] * len(program.tensors)
        last = [-1] * len(program.tensors)
        seen = bytearray(len(tensor_of))
        views: dict[int, list[int]] = {}
        spans = loop_spans(program)
        any_dynamic = any(dynamic)
        for position, instruction in enumerate(program.instructions):
            begin = end = position
            if spans and position in spans:
                begin, end = spans[position]
            used: Iterable[int] = instruction.tensors
            if any_dynamic:
                used = patterns_used(program, instruction.tensors)
            for pattern in used:
                if pattern < 0:
                    continue
                tensor = tensor_of[pattern]
                last[tensor] = end
                if not seen[pattern]:
                    seen[pattern] = 1
                    if not dynamic[pattern]:
                        views.setdefault(begin, []).append(pattern)
                    if first[tensor] < 0:
                        first[tensor] = begin
        given = {*program.inputs, *(constant.tensor for constant in program.constants)}
        fixed = {
            index
            for index, tensor in enumerate(program.tensors)
            if tensor.address is not None or (program.cores > 1 and tensor.core < 0)
        }
        used = frozenset(tensor for tensor in given | fixed if first[tensor] >= 0)
        return cls(
            _by_position(first, given | fixed),
            _by_position(last, fixed.union(program.outputs)),
            views,
            used.union(program.inputs),
        )

    def peak_bytes(self, program: Program) -> int:
        """Return the most bytes alive at one time, all that lasts included."""
        live = sum(tensor_bytes(program, tensor) for tensor in self.standing)
        peak = live
        for position in sorted(self.opened.keys() | self.closed.keys()):
            for tensor in self.opened.get(position, ()):
                live += tensor_bytes(program, tensor)
            peak = max(peak, live)
            for tensor in self.closed.get(position, ()):
                live -= tensor_bytes(program, tensor)
        return peak


def loop_spans(program: Program) -> dict[int, tuple[int, int]]:
    """Return, for each position within a run-time loop, where the outermost loop begins and ends."""
    marks = {
        index: OPERATIONS[name].control
        for index, name in enumerate(program.operations)
        if OPERATIONS[name].control is not None
    }
    if not marks:
        return {}
    spans: dict[int, tuple[int, int]] = {}
    open_loops: list[list[int]] = [[] for _ in range(program.cores)]
    members: list[list[int]] = [[] for _ in range(program.cores)]
    for position, instruction in enumerate(program.instructions):
        core = instruction.core
        control = marks.get(instruction.operation)
        begins = control in (Control.FOR_BEGIN, Control.WHILE_BEGIN)
        if begins:
            open_loops[core].append(position)
        if open_loops[core]:
            members[core].append(position)
        if control is not None and not begins:
            begin = open_loops[core].pop()
            if not open_loops[core]:
                spans.update(dict.fromkeys(members[core], (begin, position)))
                members[core] = []
    return spans


def patterns_used(program: Program, patterns: Iterable[int]) -> Iterator[int]:
    """Yield the patterns of an instruction and, before each, the index tensors of its address."""
    for pattern in patterns:
        if pattern >= 0:
            for offset in program.patterns[pattern].offsets:
                if offset.kind != "register":
                    yield offset.source
        yield pattern


def _by_position(positions: list[int], excluded: set[int]) -> dict[int, list[int]]:
    """Return the tensors at each position, without those never used and those excluded."""
    grouped: dict[int, list[int]] = {}
    for tensor, position in enumerate(positions):
        if position >= 0 and tensor not in excluded:
            grouped.setdefault(position, []).append(tensor)
    return grouped
