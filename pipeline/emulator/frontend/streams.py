"""The instruction streams of two cores made one, and two records of one loop body compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.emulator.operations import OPERATIONS, Control
from pipeline.emulator.program.instructions import AccessPattern, Instruction, Scalar

__all__ = ["Likeness", "merge"]


class Likeness:
    """Compares two records of the same loop body, up to what each of them allocated anew."""

    def __init__(
        self, patterns: Sequence[AccessPattern], names: Sequence[str], tensors: int, registers: int
    ) -> None:
        """Prepare for one comparison.

        Args:
            patterns: Of the program.
            names: Of the operations.
            tensors: How many there were before the loop; later ones are the body's own.
            registers: The same of registers.
        """
        self._patterns = patterns
        self._names = names
        self._tensors = tensors
        self._registers = registers
        self._tensor_pairs: dict[int, int] = {}
        self._register_pairs: dict[int, int] = {}

    def holds(self, first: Sequence[Instruction], second: Sequence[Instruction]) -> bool:
        """Return whether the two records say the same."""
        return len(first) == len(second) and all(map(self._same, first, second))

    def _same(self, a: Instruction, b: Instruction) -> bool:
        if (a.operation, a.engine, a.line) != (b.operation, b.engine, b.line):
            return False
        operation = OPERATIONS[self._names[a.operation]]
        # What a matmul does to what it finds is decided once, by the first record: one flag per instruction.
        decided = operation.scalar_slots.get("accumulate", -1)
        return all(map(self._same_pattern, a.tensors, b.tensors)) and all(
            slot == decided or self._same_scalar(x, y)
            for slot, (x, y) in enumerate(zip(a.scalars, b.scalars, strict=True))
        )

    def _same_pattern(self, a: int, b: int) -> bool:
        if a < 0 or b < 0 or a == b:
            return a == b
        p, q = self._patterns[a], self._patterns[b]
        return (
            (p.dtype, p.offset, p.dims) == (q.dtype, q.offset, q.dims)
            and self._paired(self._tensor_pairs, p.tensor, q.tensor, self._tensors)
            and len(p.offsets) == len(q.offsets)
            and all(
                (x.kind, x.stride) == (y.kind, y.stride)
                and (
                    self._paired(self._register_pairs, x.source, y.source, self._registers)
                    if x.kind == "register"
                    else self._same_pattern(x.source, y.source)
                )
                for x, y in zip(p.offsets, q.offsets, strict=True)
            )
        )

    def _same_scalar(self, a: Scalar, b: Scalar) -> bool:
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) == 1 and a != b:
            return self._paired(self._register_pairs, a[0], b[0], self._registers)
        return a == b and type(a) is type(b)

    def _paired(self, pairs: dict[int, int], a: int, b: int, before: int) -> bool:
        if a < before or b < before:
            return a == b
        return pairs.setdefault(a, b) == b


def merge(streams: Sequence[Sequence[Instruction]], names: Sequence[str]) -> tuple[Instruction, ...]:
    """Return the streams of the cores as one: core by core between two points where they meet.

    Args:
        streams: Per core its instructions.
        names: Of the operations.
    """
    if len(streams) == 1:
        return tuple(streams[0])
    parts = [list(_parts(stream, names)) for stream in streams]
    merged: list[Instruction] = []
    for turn in range(max(len(own) for own in parts)):
        for own in parts:
            if turn < len(own):
                merged += own[turn]
    return tuple(merged)


def _parts(stream: Sequence[Instruction], names: Sequence[str]) -> Iterator[list[Instruction]]:
    """Yield a stream's parts: what runs alone, a meeting, what runs alone and so on.

    Where cores meet within a loop, each mark of the loop is a part of its own, as a meeting is.
    """
    points = _meeting_points(stream, names)
    part: list[Instruction] = []
    for position, instruction in enumerate(stream):
        if position in points:
            yield part
            yield [instruction]
            part = []
        else:
            part.append(instruction)
    yield part


def _meeting_points(stream: Sequence[Instruction], names: Sequence[str]) -> set[int]:
    """Return the positions of meetings, and of the marks of loops that hold one."""
    points: set[int] = set()
    loops: list[tuple[int, int]] = []  # where each began, and how many points there were
    for position, instruction in enumerate(stream):
        operation = OPERATIONS[names[instruction.operation]]
        if operation.control in (Control.FOR_BEGIN, Control.WHILE_BEGIN):
            loops.append((position, len(points)))
        elif operation.control is not None:
            began, before = loops.pop()
            if len(points) > before:
                points |= {began, position}
        elif operation.meeting is not None:
            points.add(position)
    return points
