"""Run-time loops while they are recorded: marks in the stream, and bodies that must not change Python values.

The body of a run-time loop is recorded once and executed many times, so a Python value that it changes would
silently keep its first value. Every body is therefore recorded twice and the two compared; the second record
is dropped (facts/emulator_findings.md section 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import proxy

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.operations import Control
from pipeline.emulator.program.instructions import Scalar
from pipeline.emulator.targets import ENGINES

if TYPE_CHECKING:
    from pipeline.emulator.frontend.recorder import Recorder
    from pipeline.emulator.frontend.registers import VirtualRegister

__all__ = ["Loops"]

_SYNC: Final = ENGINES.index("sync")


@dataclass(slots=True)
class _Open:
    """A loop that has begun.

    Attributes:
        kind: How it ends.
        line: Where it began.
        start: Position of its first instruction.
        tensors: Tensors declared before it.
        registers: Registers allocated before it.
        condition: Of a ``while``, the register; else None.
        recorded: Position after its body, once that was recorded.
        twice: Whether its body is recorded twice. Not within the second record of an outer loop, which is
            dropped anyway: nested loops would take exponentially long.
    """

    kind: Control
    line: int
    start: int
    tensors: int
    registers: int
    condition: int | None = None
    recorded: int | None = None
    twice: bool = True


class Loops:
    """The loops of one core that have begun and not ended."""

    def __init__(self, recorder: Recorder) -> None:
        # It owns us; without a cycle a finished record goes at once, whoever collects garbage when.
        self._recorder = proxy(recorder)
        self._open: list[_Open] = []
        #: How many ``with nl.no_reorder():`` blocks are open.
        self.unreordered = 0

    def begin(
        self, kind: Control, scalars: tuple[Scalar, ...], line: int, condition: int | None = None
    ) -> None:
        """Record the beginning of a loop.

        Raises:
            KernelError: Within ``nl.no_reorder()``, which has no run-time loops.
        """
        if self.unreordered:
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                "a run-time loop within nl.no_reorder() is not supported: put the no_reorder block into the "
                "loop's body",
                line,
            )
        self._mark(kind, scalars, line)
        ends = Control.FOR_END if kind is Control.FOR_BEGIN else Control.WHILE_END
        recorder = self._recorder
        self._open.append(
            _Open(
                ends,
                line,
                len(recorder.stream),
                len(recorder.tensors),
                recorder.registers,
                condition,
                twice=all(outer.recorded is None for outer in self._open),
            )
        )

    @property
    def any_open(self) -> bool:
        """Whether a loop is being recorded."""
        return bool(self._open)

    def passes(self) -> range:
        """Return how often the body of the innermost loop is recorded."""
        return range(2 if self._open[-1].twice else 1)

    def turn(self) -> None:
        """Note that the body has been recorded."""
        if self._open[-1].recorded is None:
            self._open[-1].recorded = len(self._recorder.stream)

    def end(self) -> None:
        """Drop the second record of the body and record the end of the loop.

        Raises:
            KernelError: If the two records differ.
        """
        loop = self._open.pop()
        self._recorder.close_tensors(loop.tensors)
        stream = self._recorder.stream
        assert loop.recorded is not None
        first, second = stream[loop.start : loop.recorded], stream[loop.recorded :]
        if loop.twice and not self._recorder.are_equal(first, second, loop.tensors, loop.registers):
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                "the body of this run-time loop changes a Python value (a counter, a list, a variable from "
                "outside), but is compiled once: keep what changes in a register or a tensor",
                loop.line,
            )
        del stream[loop.recorded :]
        self._mark(loop.kind, (), loop.line)

    def ask(self, register: VirtualRegister) -> bool:
        """Answer a register that is the condition of a Python ``while``.

        Asked first, the loop begins; asked again, the body has been recorded; asked a third time, it ends.
        """
        loop = self._open[-1] if self._open else None
        if loop is None or loop.condition != register.number:
            line = self._recorder.calling_line()
            self.begin(Control.WHILE_BEGIN, ((register.number,),), line, register.number)
            return True
        if loop.recorded is None:
            self.turn()
            if loop.twice:
                return True
        self.end()
        return False

    def require_ended(self) -> None:
        """Refuse a kernel that leaves a loop before it ends.

        Raises:
            KernelError: If one is open.
        """
        if self._open:
            loop = self._open[-1]
            what = (
                "a register is the condition of a loop only, not of an if; a loop is left at its end only"
                if loop.condition is not None
                else "break and return cannot leave a run-time loop"
            )
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR, f"this run-time loop does not end: {what}", loop.line
            )

    def _mark(self, kind: Control, scalars: tuple[Scalar, ...], line: int) -> None:
        recorder = self._recorder
        recorder.record(recorder.operation(kind.value), _SYNC, (), scalars, line)
