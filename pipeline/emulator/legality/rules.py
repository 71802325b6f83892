"""What a rule of legality is, and what a program is to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pipeline.emulator.operations import ALL_TARGETS, Severity
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.resolution import resolve

__all__ = ["Breach", "Rule", "Subject", "Violation"]


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
