"""What a rule of legality is, and what a program is to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import ALL_TARGETS, Severity
from pipeline.emulator.program.geometry import first_partition
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.lifetimes import Lifetimes, loop_spans, patterns_used
from pipeline.emulator.program.resolution import partition_elements, resolve

__all__ = ["Breach", "Geometry", "Rule", "Subject", "Violation"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach of a rule, as the author of the kernel reads it.

    Attributes:
        rule: Id of the rule.
        message: Operation or tensor, operand, shape, limit and remedy.
        severity: Whether it makes the program illegal.
        line: Line of the submission, 1-based; 0 where no line is to blame.
    """

    rule: str
    message: str
    severity: Severity
    line: int


class Geometry(NamedTuple):
    """How an instruction addresses a tensor.

    Attributes:
        memory: ``"hbm"``, ``"sbuf"`` or ``"psum"``.
        dtype: Of the elements touched.
        dims: (stride, count) per dimension; on chip the first is the partition dimension.
        start: First partition.
        column: First element within its partition.
        width: Elements of one partition of the tensor.
        partition_bytes: Bytes of one partition of the tensor.
        written: Whether the instruction writes it.
        anywhere: Whether it may start at any partition: DMA, and what the operation's own limits place.
        moves: Whether run time adds to `start` and `column`.
    """

    memory: str
    dtype: str
    dims: tuple[tuple[int, int], ...]
    start: int = 0
    column: int = 0
    width: int = 0
    partition_bytes: int = 0
    written: bool = False
    anywhere: bool = False
    moves: bool = False


class Subject:
    """A program under examination.

    Attributes:
        program: It.
        resolution: Its distinct calls.
    """

    def __init__(self, program: Program) -> None:
        """Resolve a validated program."""
        self.program = program
        self.resolution = resolve(program)

    @cached_property
    def uses(self) -> list[dict[int, int]]:
        """Per distinct call, the position of its first instruction on each line."""
        uses: list[dict[int, int]] = [{} for _ in self.resolution.calls]
        for position, index in enumerate(self.resolution.indices):
            uses[index].setdefault(self.program.instructions[position].line, position)
        return uses

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """When each tensor comes and goes."""
        return Lifetimes.of(self.program)

    @cached_property
    def spans(self) -> dict[int, tuple[int, int]]:
        """Positions of each tensor's first and last use; a loop that uses it counts whole."""
        program = self.program
        loops = loop_spans(program)
        spans: dict[int, tuple[int, int]] = {}
        for position, instruction in enumerate(program.instructions):
            begin, end = loops.get(position, (position, position))
            for pattern in patterns_used(program, instruction.tensors):
                if pattern >= 0:
                    tensor = program.patterns[pattern].tensor
                    spans[tensor] = (spans.get(tensor, (begin, end))[0], end)
        return spans

    @cached_property
    def geometries(self) -> dict[Geometry, dict[int, tuple[int, int]]]:
        """Per distinct geometry, the (instruction, tensor slot) that first uses it on each line."""
        program, calls = self.program, self.resolution.calls
        bases = [self._geometry(index) for index in range(len(program.patterns))]
        numbers: dict[Geometry, int] = {}
        number_of = [numbers.setdefault(base, len(numbers)) for base in bases]
        written = [
            [parameter.kind.written for parameter in call.operation.tensor_parameters] for call in calls
        ]
        anywhere = [
            [call.engine == "dma" or not parameter.aligned for parameter in call.operation.tensor_parameters]
            for call in calls
        ]
        found: dict[tuple[int, bool, bool], dict[int, tuple[int, int]]] = {}
        for position, (instruction, index) in enumerate(
            zip(program.instructions, self.resolution.indices, strict=True)
        ):
            for slot, pattern in enumerate(instruction.tensors):
                if pattern >= 0:
                    key = (number_of[pattern], written[index][slot], anywhere[index][slot])
                    found.setdefault(key, {}).setdefault(instruction.line, (position, slot))
        distinct = list(numbers)
        return {
            distinct[number]._replace(written=is_written, anywhere=is_anywhere): uses
            for (number, is_written, is_anywhere), uses in found.items()
        }

    def _geometry(self, index: int) -> Geometry:
        pattern = self.program.patterns[index]
        dims = pattern.dims or ((1, 1),)
        memory = self.resolution.operands[index].memory
        if memory == "hbm":
            return Geometry(memory, pattern.dtype, dims)
        tensor = self.program.tensors[pattern.tensor]
        partition_bytes = DTYPES[tensor.dtype].itemsize
        for size in tensor.shape[1:]:
            partition_bytes *= size
        width = partition_elements(self.program, index)
        start, column = divmod(pattern.offset, width)
        start += first_partition(tensor)
        return Geometry(
            memory, pattern.dtype, dims, start, column, width, partition_bytes, moves=bool(pattern.offsets)
        )

    def argument(self, position: int, slot: int) -> str:
        """Return how a message calls an argument: operation, parameter and tensor."""
        instruction = self.program.instructions[position]
        operation = self.resolution.calls[self.resolution.indices[position]].operation
        tensor = self.program.patterns[instruction.tensors[slot]].tensor
        return f"{operation.name}: {operation.tensor_parameters[slot].name} ({self.name(tensor)})"

    def name(self, tensor: int) -> str:
        """Return a tensor's name, printable and short whatever the program holds."""
        return ascii(self.program.tensors[tensor].name)[1:-1][:60] or f"tensor {tensor}"


@dataclass(frozen=True, slots=True)
class Breach:
    """Where and how a rule is broken; the rule itself adds id and severity.

    Attributes:
        message: See `Violation`.
        line: See `Violation`.
    """

    message: str
    line: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of legality.

    Attributes:
        id: Stable name.
        find: Yields the breaches in a program.
        source: Where it is documented.
        targets: Chips it holds on.
        severity: Whether a breach makes the program illegal.
    """

    id: str
    find: Callable[[Subject], Iterator[Breach]]
    source: str
    targets: frozenset[str] = ALL_TARGETS
    severity: Severity = Severity.ERROR
