"""The machine: decodes a program once and runs it any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.machine.errors import MachineError
from pipeline.emulator.machine.memory import Array, Window, store_of, window_of
from pipeline.emulator.operations import OPERATIONS, Call, Kernel, ParameterKind, Registers, Severity
from pipeline.emulator.program.geometry import covers
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.lifetimes import Lifetimes
from pipeline.emulator.program.limits import DEFAULT_LIMITS
from pipeline.emulator.program.resolution import resolve

__all__ = ["Machine"]

_LANES: Final = 128
_MEMORY_BYTES: Final = 4 << 30
# What NumPy raises for operands that do not fit. Only a program that skipped legality gets here.
_NUMPY_ERRORS: Final = (ValueError, TypeError, IndexError, KeyError, OverflowError, ZeroDivisionError)


#: One instruction, decoded: kernel, patterns, tensors it opens, patterns it uses first, tensors it closes,
#: and the patterns that die with them.
_Step = tuple[Kernel, tuple[int, ...], Sequence[int], Sequence[int], Sequence[int], Sequence[int]]
_NONE: Final[tuple[int, ...]] = ()


class Machine:
    """A program, ready to run.

    Engines compute in float32 and round once when they write. Matrix products are BLAS products: run with one
    BLAS thread (``OPENBLAS_NUM_THREADS=1`` before NumPy is imported), for speed and for equal results.

    Attributes:
        program: What it runs.
        peak_bytes: Most bytes of tensors alive at one time.
        mutated_inputs: Positions in ``program.inputs`` of inputs that the program writes. The arrays given to
            `run` are copied first and never change.
    """

    def __init__(
        self,
        program: Program,
        *,
        budget: int = DEFAULT_LIMITS.executed_elements,
        memory_bytes: int = _MEMORY_BYTES,
    ) -> None:
        """Decode a program.

        Args:
            program: Validated by `pipeline.emulator.program.validate`, and legal.
            budget: Most elements all instructions together may touch.
            memory_bytes: Most bytes of tensors alive at one time.

        Raises:
            MachineError: If the program exceeds `budget` or `memory_bytes`, or an instruction breaks a limit
                of its operation.
        """
        self.program = program
        resolution = resolve(program)
        self._check_budget(resolution.calls, resolution.indices, budget)
        lifetimes = Lifetimes.of(program)
        self.peak_bytes = lifetimes.peak_bytes(program)
        if self.peak_bytes > memory_bytes:
            message = f"{self.peak_bytes} bytes of tensors alive at once, limit {memory_bytes}"
            raise MachineError("memory", message)
        first_lines = _first_lines(program, resolution.indices, len(resolution.calls))
        with np.errstate(all="ignore"):
            kernels = [_bind(call, line) for call, line in zip(resolution.calls, first_lines, strict=True)]
        self._windows: list[Window] = [window_of(pattern) for pattern in program.patterns]
        overwritten = _overwritten_first(program, lifetimes)
        self._stores = [
            store_of(tensor, exposed=index not in overwritten) for index, tensor in enumerate(program.tensors)
        ]
        self._steps = _steps(program, lifetimes, [kernels[index] for index in resolution.indices])
        self.mutated_inputs = _mutated_inputs(program, resolution.calls, resolution.indices)

    def run(self, inputs: Sequence[Array], *, poison: int = 0) -> list[Array]:
        """Execute the program.

        Args:
            inputs: One array per entry of ``program.inputs``, of exactly its shape and storage dtype.
            poison: 0 or 1: what uninitialised memory holds. Outputs that differ between the two depend on it.

        Returns:
            One new array per entry of ``program.outputs``, of its shape and storage dtype.

        Raises:
            ValueError: If the inputs do not match the program's declarations.
            MachineError: If an instruction fails; names its line.
        """
        program, windows, stores = self.program, self._windows, self._stores
        buffers: list[Array | None] = self._load(inputs)
        # The last entry is what pattern index -1, an absent tensor, finds.
        views: list[Array | None] = [None] * (len(windows) + 1)
        registers = Registers.fresh()
        position = -1
        try:
            with np.errstate(all="ignore"):
                for position, step in enumerate(self._steps):  # noqa: B007 - the handlers read it
                    kernel, patterns, opened, fresh, closed, stale = step
                    for tensor in opened:
                        buffers[tensor] = stores[tensor].allocate(poison)
                    for pattern in fresh:
                        tensor, shape, dtype, offset, strides = windows[pattern]
                        views[pattern] = np.ndarray(shape, dtype, buffers[tensor], offset, strides)
                    kernel(registers, *[views[pattern] for pattern in patterns])
                    for pattern in stale:
                        views[pattern] = None
                    for tensor in closed:
                        buffers[tensor] = None
        except MemoryError:
            raise MachineError(
                "memory", "not enough memory for this instruction", self._line(position)
            ) from None
        except _NUMPY_ERRORS as error:
            raise MachineError("operands", self._describe(position, views), self._line(position)) from error
        return [self._output(index, buffers, poison) for index in program.outputs]

    def _line(self, position: int) -> int:
        return self.program.instructions[position].line

    def _describe(self, position: int, views: list[Array | None]) -> str:
        instruction = self.program.instructions[position]
        operation = OPERATIONS[self.program.operations[instruction.operation]]
        operands = [
            f"{parameter.name} {view.dtype}{list(view.shape)}"
            for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True)
            if (view := views[pattern]) is not None
        ]
        return f"{operation.name} cannot run on {', '.join(operands)}"

    def _load(self, inputs: Sequence[Array]) -> list[Array | None]:
        program = self.program
        if len(inputs) != len(program.inputs):
            raise ValueError(f"{len(inputs)} inputs given, the program takes {len(program.inputs)}")
        buffers: list[Array | None] = [None] * len(program.tensors)
        for index, array in zip(program.inputs, inputs, strict=True):
            tensor = program.tensors[index]
            storage = DTYPES[tensor.dtype].storage
            if array.shape != tensor.shape or array.dtype != storage:
                raise ValueError(
                    f"input {tensor.name}: {array.dtype}{list(array.shape)} given, "
                    f"{storage}{list(tensor.shape)} declared"
                )
            buffers[index] = np.array(array, order="C").reshape(-1)
        return buffers

    def _output(self, index: int, buffers: list[Array | None], poison: int) -> Array:
        buffer = buffers[index]
        if buffer is None:
            buffer = self._stores[index].allocate(poison)
        return buffer.reshape(self.program.tensors[index].shape)

    def _check_budget(self, calls: list[Call], indices: list[int], budget: int) -> None:
        costs = [_work(call) for call in calls]
        total = 0
        for position, index in enumerate(indices):
            total += costs[index]
            if total > budget:
                raise MachineError(
                    "budget", f"touches more than {budget} elements by this instruction", self._line(position)
                )


def _work(call: Call) -> int:
    """Return the elements an instruction touches; a scan's steps count at full width each."""
    largest = max((operand.elements for operand in call.operands if operand is not None), default=0)
    if call.operation.name == "tensor_tensor_scan":
        return call.tensor("data0").free_elements * _LANES
    return largest


def _bind(call: Call, line: int) -> Kernel:
    name = call.operation.name
    for limit in call.operation.limits:
        if limit.severity is Severity.ERROR and call.target.name in limit.targets:
            for message in limit.check(call):
                raise MachineError("illegal", f"{name}: {message}", line)
    for parameter, value in zip(call.operation.scalar_parameters, call.scalars, strict=True):
        if isinstance(value, str) and parameter.choices and value not in parameter.choices:
            raise MachineError("illegal", f"{name}: {parameter.name}={value} is not among its choices", line)
    try:
        return call.operation.bind(call)
    except _NUMPY_ERRORS as error:
        raise MachineError("illegal", f"{name}: these arguments have no meaning", line) from error


def _first_lines(program: Program, indices: list[int], calls: int) -> list[int]:
    lines = [0] * calls
    for instruction, index in zip(reversed(program.instructions), reversed(indices), strict=True):
        lines[index] = instruction.line
    return lines


def _steps(program: Program, lifetimes: Lifetimes, kernels: list[Kernel]) -> list[_Step]:
    tensor_of = [pattern.tensor for pattern in program.patterns]
    used: dict[int, list[int]] = {tensor: [] for group in lifetimes.closed.values() for tensor in group}
    for group in lifetimes.views.values():
        for pattern in group:
            if tensor_of[pattern] in used:
                used[tensor_of[pattern]].append(pattern)
    steps: list[_Step] = []
    for position, (instruction, kernel) in enumerate(zip(program.instructions, kernels, strict=True)):
        closed = lifetimes.closed.get(position, _NONE)
        stale = [pattern for tensor in closed for pattern in used[tensor]] if closed else _NONE
        opened, fresh = lifetimes.opened.get(position, _NONE), lifetimes.views.get(position, _NONE)
        steps.append((kernel, instruction.tensors, opened, fresh, closed, stale))
    return steps


def _overwritten_first(program: Program, lifetimes: Lifetimes) -> set[int]:
    """Return the tensors of which nothing can be seen that their first instruction did not write."""
    overwritten: set[int] = set()
    for position, tensors in lifetimes.opened.items():
        instruction = program.instructions[position]
        operation = OPERATIONS[program.operations[instruction.operation]]
        tensors_used = [program.patterns[p].tensor if p >= 0 else -1 for p in instruction.tensors]
        for tensor in tensors:
            slot = tensors_used.index(tensor)
            accumulates = (
                operation.tensor_parameters[slot].kind is ParameterKind.ACCUMULATOR
                and instruction.scalars[operation.scalar_slots["accumulate"]]
            )
            if (
                tensors_used.count(tensor) == 1
                and operation.tensor_parameters[slot].kind.written
                and not accumulates
                and covers(program, program.patterns[instruction.tensors[slot]])
            ):
                overwritten.add(tensor)
    return overwritten


def _mutated_inputs(program: Program, calls: list[Call], indices: list[int]) -> tuple[int, ...]:
    written_slots = [
        [slot for slot, parameter in enumerate(call.operation.tensor_parameters) if parameter.kind.written]
        for call in calls
    ]
    written: set[int] = set()
    for instruction, index in zip(program.instructions, indices, strict=True):
        for slot in written_slots[index]:
            if instruction.tensors[slot] >= 0:
                written.add(program.patterns[instruction.tensors[slot]].tensor)
    return tuple(position for position, tensor in enumerate(program.inputs) if tensor in written)
