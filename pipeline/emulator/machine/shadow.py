"""Where a program loses precision: its execution in float64, and what each source line's rounding does to it.

The method is to leave one in. The program runs in float64, where nothing is rounded; then once more for each
line, of which the instructions round as they really do. What that changes in the outputs is the line's
contribution, amplification by all that follows included. Contributions add up like independent errors, in
squares, as long as they are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.machine.errors import MachineError
from pipeline.emulator.machine.machine import Binding, Machine
from pipeline.emulator.machine.memory import Array
from pipeline.emulator.machine.shadow_kernels import (
    Rounding,
    bind_narrow,
    bind_rounding,
    can_widen,
    distance,
)
from pipeline.emulator.machine.shadow_program import widen_program
from pipeline.emulator.operations import Call, Kernel, Meeting, Registers
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.resolution import Resolution, resolve

__all__ = ["Attribution", "Contribution", "Shadow", "ShadowUnsupported", "distance"]

_MOST_LINES: Final = 32
_LEAST_LINES: Final = 3
#: Elements that all executions together may touch: some seconds.
_MOST_ELEMENTS: Final = 1 << 31
# What binding raises for arguments that have no meaning on wide types.
_BINDING_ERRORS: Final = (ValueError, TypeError, IndexError, KeyError, OverflowError, ZeroDivisionError)


class ShadowUnsupported(Exception):
    """A program that cannot be executed in float64; the message says why."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What the rounding of one source line alone does to the outputs.

    Attributes:
        line: Of the submission.
        operation: The one at this line that loses most of its own result.
        rel_l2: Relative L2 change of the output that changes most. Where rounding overflows, an element
            counts as lost.
        share: Its square, of the sum of the squares over all lines.
    """

    line: int
    operation: str
    rel_l2: float
    share: float


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where precision is lost.

    Attributes:
        outputs: Of the execution in float64, one per output of the program.
        lines: Those whose rounding reaches an output, largest contribution first.
        narrow: Lines with instructions that had to round in all executions, because they work on bits.
        untried: Lines that round and were left out, for they lose least of their own results.
    """

    outputs: tuple[Array, ...]
    lines: tuple[Contribution, ...]
    narrow: tuple[int, ...]
    untried: tuple[int, ...]


class Shadow:
    """A program, ready to run in float64.

    Run-time loops and addresses follow the float64 values, so a kernel that decides by values may go
    another way than it really does.
    """

    def __init__(self, program: Program) -> None:
        """Rewrite a program.

        Args:
            program: Validated by `pipeline.emulator.program.validate`, and legal.

        Raises:
            ShadowUnsupported: If it exchanges data with other ranks, or needs too much memory.
        """
        self._program = program
        self._wide = widen_program(program)
        self._stage = _Stage()
        self._narrow: set[int] = set()
        try:
            with np.errstate(all="ignore"):
                binding = self._bind()
            self._machine = Machine(self._wide, binding=binding)
        except MachineError as error:
            raise ShadowUnsupported(f"in float64: {error}") from None

    def attribute(self, inputs: Sequence[Array], *, lines: int = _MOST_LINES) -> Attribution:
        """Execute the program in float64, and once more per line that rounds.

        Args:
            inputs: One array per entry of ``program.inputs``, of exactly its shape and storage dtype.
            lines: Most lines to try; fewer if the program is long. Those that lose most of their own results
                are tried.

        Raises:
            ShadowUnsupported: If an instruction cannot run in float64.
            ValueError: If the inputs do not match the program's declarations.
        """
        if len(inputs) != len(self._program.inputs):
            raise ValueError(f"{len(inputs)} inputs given, the program takes {len(self._program.inputs)}")
        with np.errstate(all="ignore"):
            return self._attribute(inputs, lines)

    def _attribute(self, inputs: Sequence[Array], lines: int) -> Attribution:
        wide = [self._widen(array, index) for array, index in zip(inputs, self._program.inputs, strict=True)]
        losses = self._observe(wide)
        outputs = self._run(wide, None)
        ordered = sorted(losses, key=lambda line: (-max(losses[line].values()), line))
        tried = min(lines, max(_LEAST_LINES, _MOST_ELEMENTS // max(1, self._stage.work)))
        changes: dict[int, float] = {}
        for line in ordered[:tried]:
            others = self._run(wide, line)
            change = max(distance(one, other) for one, other in zip(outputs, others, strict=True))
            if change:
                changes[line] = change
        total = sum(change * change for change in changes.values())
        return Attribution(
            outputs=tuple(outputs),
            lines=tuple(
                Contribution(
                    line,
                    max(losses[line], key=lambda name: (losses[line][name], name)),
                    change,
                    change * change / total if total else 0.0,
                )
                for line, change in sorted(changes.items(), key=lambda item: (-item[1], item[0]))
            ),
            narrow=tuple(sorted(self._narrow)),
            untried=tuple(sorted(ordered[tried:])),
        )

    def _bind(self) -> Binding:
        """Give each kind of instruction at each line a kernel of its own."""
        program = self._program
        real, wide = resolve(program), resolve(self._wide)
        kinds: dict[tuple[int, int, int], int] = {}
        indices: list[int] = []
        firsts: list[int] = []
        for position, instruction in enumerate(program.instructions):
            key = (real.indices[position], wide.indices[position], instruction.line)
            index = kinds.setdefault(key, len(kinds))
            if index == len(firsts):
                firsts.append(position)
            indices.append(index)
        bound = {index: _bind_real(call) for index, call in enumerate(real.calls)}
        kernels = [
            self._kernel(real.calls[before], bound[before], wide.calls[after], line)
            for before, after, line in kinds
        ]
        calls = [wide.calls[after] for _, after, _ in kinds]
        resolution = Resolution(calls, indices, wide.operands, firsts)
        return Binding(resolution, kernels, np.dtype(np.float64))

    def _kernel(self, real: Call, kernel: Kernel, wide: Call, line: int) -> Kernel:
        operation = real.operation
        if operation.meeting is Meeting.RANKS:
            raise ShadowUnsupported(f"line {line}: {operation.name} exchanges data with other ranks")
        if operation.control is not None or operation.meeting is not None:
            return kernel
        writes = any(
            parameter.kind.written and operand is not None
            for parameter, operand in zip(operation.tensor_parameters, real.operands, strict=True)
        )
        computed = _bind_wide(real, wide)
        if computed is None:
            if any(operand is not None and DTYPES[operand.dtype].is_float for operand in real.operands):
                self._narrow.add(line)
            return bind_narrow(real, kernel)
        if not writes:
            return computed
        stage = self._stage
        rounds, observes = bind_rounding(Rounding(line, operation.name, real, kernel, computed), stage.report)
        work = max(operand.elements for operand in real.operands if operand is not None)

        def run(registers: Registers, *views: Array | None) -> None:
            if stage.observing:
                stage.work += work
                observes(registers, *views)
            elif stage.line == line:
                rounds(registers, *views)
            else:
                computed(registers, *views)

        return run

    def _widen(self, array: Array, index: int) -> Array:
        tensor = self._program.tensors[index]
        storage = DTYPES[tensor.dtype].storage
        if array.shape != tensor.shape or array.dtype != storage:
            raise ValueError(
                f"input {tensor.name}: {array.dtype}{list(array.shape)} given, "
                f"{storage}{list(tensor.shape)} declared"
            )
        return array.astype(DTYPES[self._wide.tensors[index].dtype].storage)

    def _observe(self, inputs: Sequence[Array]) -> dict[int, dict[str, float]]:
        """Return, by line and operation, the largest relative change of a result by its own rounding."""
        self._stage.losses.clear()
        self._stage.work = 0
        self._stage.observing = True
        try:
            self._run(inputs, None)
        finally:
            self._stage.observing = False
        return {line: dict(losses) for line, losses in self._stage.losses.items()}

    def _run(self, inputs: Sequence[Array], line: int | None) -> list[Array]:
        self._stage.line = line
        try:
            return self._machine.run(inputs)
        except MachineError as error:
            raise ShadowUnsupported(f"in float64: {error}") from None


class _Stage:
    """What the kernels of a shadow do in the execution under way.

    Attributes:
        line: The line that rounds, if any.
        observing: Whether to report what rounding would change, instead.
        losses: What was reported, by line and operation.
        work: Elements that the instructions which report touched.
    """

    def __init__(self) -> None:
        self.line: int | None = None
        self.observing = False
        self.losses: dict[int, dict[str, float]] = {}
        self.work = 0

    def report(self, rounding: Rounding, change: float) -> None:
        """Keep the largest change of each line and operation."""
        if change:
            losses = self.losses.setdefault(rounding.line, {})
            losses[rounding.operation] = max(change, losses.get(rounding.operation, 0.0))


def _bind_real(call: Call) -> Kernel:
    try:
        return call.operation.bind(call)
    except _BINDING_ERRORS:
        raise ShadowUnsupported(f"{call.operation.name}: these arguments have no meaning") from None


def _bind_wide(real: Call, wide: Call) -> Kernel | None:
    """Return the operation's kernel for wide types, None if it has none."""
    if not can_widen(real, wide):
        return None
    try:
        return wide.operation.bind(wide)
    except _BINDING_ERRORS:
        return None
