"""One run of a program: its memory, and the cores that walk through it.

A core is a generator: it runs until it meets others, hands out its arrival and goes on when the meeting is
over. `drive` lets the cores of all ranks take turns in a fixed order, so that a run is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.emulator.machine.addressing import Address, Addresses, OutOfBounds
from pipeline.emulator.machine.errors import MachineError
from pipeline.emulator.machine.memory import Array, Store, Window
from pipeline.emulator.machine.nodes import INSTRUCTION_WORK, Lone, Loop, Node, Segment
from pipeline.emulator.operations import OPERATIONS, Control, Meeting, Participant, Registers
from pipeline.emulator.operations.errors import MeetingError
from pipeline.emulator.operations.registers import register_number, value_of
from pipeline.emulator.program.instructions import Program

__all__ = ["Arrival", "Decoded", "Execution"]

# What NumPy raises for operands that do not fit. Only a program that skipped legality gets here.
_NUMPY_ERRORS: Final = (ValueError, TypeError, IndexError, KeyError, OverflowError, ZeroDivisionError)


class Arrival(NamedTuple):
    """A core that waits for others.

    Attributes:
        meeting: For whom.
        node: At which instruction.
        participant: What it brings along.
    """

    meeting: Meeting
    node: Lone
    participant: Participant


@dataclass(frozen=True, slots=True)
class Decoded:
    """A program in the form in which it is executed.

    Attributes:
        program: It.
        cores: What each core executes.
        windows: Where each static pattern lies; of a dynamic one None.
        stores: What each buffer needs of memory: one per tensor, then one per arena.
        arenas: Indices of the arenas among the buffers.
        standing: Tensors that exist throughout and are neither inputs nor constants.
        addresses: Resolves dynamic patterns.
        budget: Most elements that instructions may touch, every iteration counted.
        precision: Of the accumulators.
    """

    program: Program
    cores: list[list[Node]]
    windows: list[Window | None]
    stores: list[Store]
    arenas: range
    standing: tuple[int, ...]
    addresses: Addresses
    budget: int
    precision: np.dtype[Any]


class Execution:
    """One rank's run."""

    def __init__(
        self,
        decoded: Decoded,
        buffers: dict[int, Array],
        *,
        poison: int = 0,
        seed: int = 0,
        rank: int = 0,
    ) -> None:
        """Prepare a run.

        Args:
            decoded: The program.
            buffers: Contents of inputs and constants, by tensor; one-dimensional, and written to where the
                program writes.
            poison: 0 or 1: what uninitialised memory holds.
            seed: Of the random number generators.
            rank: Which rank of a collective this is.
        """
        self._decoded = decoded
        self._poison = poison
        self._buffers: list[Array | None] = [None] * len(decoded.stores)
        for index, buffer in buffers.items():
            self._buffers[index] = buffer
        for index in (*decoded.arenas, *decoded.standing):
            self._buffers[index] = decoded.stores[index].allocate(poison)
        # The last entry is what pattern index -1, an absent tensor, finds.
        self._views: list[Array | None] = [None] * (len(decoded.windows) + 1)
        self._spent = 0
        program = decoded.program
        self.registers = [
            Registers.fresh(program.registers, seed=seed, rank=rank, core=core, precision=decoded.precision)
            for core in range(program.cores)
        ]

    def cores(self) -> list[Iterator[Arrival]]:
        """Return the cores, ready to run."""
        return [
            self._follow(nodes, registers)
            for nodes, registers in zip(self._decoded.cores, self.registers, strict=True)
        ]

    def output(self, index: int) -> Array:
        """Return a tensor's contents at the end, in its shape."""
        buffer = self._buffers[index]
        if buffer is None:
            buffer = self._decoded.stores[index].allocate(self._poison)
        return buffer.reshape(self._decoded.program.tensors[index].shape)

    def _follow(self, nodes: Sequence[Node], registers: Registers) -> Iterator[Arrival]:
        for node in nodes:
            if isinstance(node, Segment):
                self._spend(node.work, node.positions[0])
                self._run(node, registers)
            elif isinstance(node, Loop):
                yield from self._repeat(node, registers)
            else:
                self._spend(node.work, node.position)
                if node.call.operation.meeting is None:
                    self._run_addressed(node, registers)
                else:
                    yield self._arrive(node, registers)
                    self._close(node)

    def _run(self, segment: Segment, registers: Registers) -> None:
        views = self._views
        at = 0
        try:
            for at, step in enumerate(segment.steps):  # noqa: B007 - the handlers read it
                kernel, patterns, opened, fresh, closed, stale = step
                if opened or fresh:
                    self._open(opened, fresh)
                kernel(registers, *[views[pattern] for pattern in patterns])
                if closed:
                    self._end(closed, stale)
        except MemoryError:
            raise self._out_of_memory(segment.positions[at]) from None
        except MeetingError as error:
            raise self._unmet(segment.positions[at], error) from None
        except _NUMPY_ERRORS as error:
            raise self._misfit(segment.positions[at]) from error

    def _repeat(self, loop: Loop, registers: Registers) -> Iterator[Arrival]:
        self._open(*loop.opening)
        begin = loop.begin
        if begin.operation.control is Control.FOR_BEGIN:
            induction = register_number(begin.scalar("induction"))
            step = begin.scalar("step")
            assert isinstance(step, int)
            lower, upper = (value_of(begin.scalar(name), registers) for name in ("lower", "upper"))
            for value in range(lower, upper, step):
                registers.virtual[induction] = value
                self._spend(INSTRUCTION_WORK, loop.position)
                yield from self._follow(loop.body, registers)
        else:
            condition = begin.scalar("condition")
            while value_of(condition, registers):
                self._spend(INSTRUCTION_WORK, loop.position)
                yield from self._follow(loop.body, registers)
        self._end(*loop.closing)

    def _run_addressed(self, node: Lone, registers: Registers) -> None:
        """Run an instruction some of whose operands lie where only run time knows."""
        self._open(node.step[2], node.step[3])
        program, call = self._decoded.program, node.call
        skips = "oob_mode" in call.operation.scalar_slots and call.scalar("oob_mode") == "skip"
        try:
            resolved = self._resolve(node, registers, skips)
            if resolved is not None:
                views, moved, valid = resolved
                written = [
                    (slot, view.copy())
                    for slot, view in enumerate(views)
                    if valid is not None
                    and view is not None
                    and call.operation.tensor_parameters[slot].kind.written
                ]
                node.step[0](registers, *views)
                for slot, before in written:
                    _restore(views[slot], before, valid, across=call.operation.name == "dma_transpose")
                for pattern, address in moved:
                    self._decoded.addresses.scatter(program.patterns[pattern], address, self._buffers)
        except MemoryError:
            raise self._out_of_memory(node.position) from None
        except _NUMPY_ERRORS as error:
            raise self._misfit(node.position) from error
        self._close(node)

    def _resolve(
        self, node: Lone, registers: Registers, skips: bool
    ) -> tuple[list[Array | None], list[tuple[int, Address]], Array | None] | None:
        """Return the views, what is to be scattered, and which rows lie inside; None if nothing runs.

        Raises:
            MachineError: If an address lies outside its tensor and the instruction does not skip those.
        """
        program, addresses = self._decoded.program, self._decoded.addresses
        operation = node.call.operation
        views: list[Array | None] = []
        moved: list[tuple[int, Address]] = []
        valid: Array | None = None
        for parameter, index in zip(operation.tensor_parameters, node.step[1], strict=True):
            pattern = program.patterns[index] if index >= 0 else None
            if pattern is None or not pattern.offsets:
                views.append(self._views[index])
                continue
            engine = node.call.engine
            anywhere = engine == "dma" or not parameter.aligned
            try:
                address = addresses.resolve(
                    pattern, self._buffers, self._views, registers, engine, anywhere=anywhere
                )
            except OutOfBounds as error:
                if skips:
                    return None
                raise self._out_of_bounds(node, f"{parameter.name}: {error}") from None
            except MachineError as error:
                name = f"{operation.name}: {parameter.name}"
                line = error.line or self._line(node.position)
                raise MachineError(error.rule, f"{name}: {error.message}", line) from None
            if address.valid is not None:
                if not skips:
                    raise self._out_of_bounds(
                        node, f"{parameter.name}: {addresses.describe(pattern, address)}"
                    )
                valid = address.valid if valid is None else valid & address.valid
            if address.indices is not None and parameter.kind.written:
                moved.append((index, address))
            views.append(address.view)
        return views, moved, valid

    def _arrive(self, node: Lone, registers: Registers) -> Arrival:
        self._open(node.step[2], node.step[3])
        meeting = node.call.operation.meeting
        assert meeting is not None
        resolved = self._resolve(node, registers, skips=False)
        assert resolved is not None
        views, moved, _ = resolved
        if moved:
            raise MachineError(
                "unsupported",
                f"{node.call.operation.name} into rows that an index tensor names is not emulated",
                self._line(node.position),
            )
        return Arrival(meeting, node, Participant(node.call, registers, views))

    def _open(self, tensors: Sequence[int], patterns: Sequence[int]) -> None:
        for tensor in tensors:
            self._buffers[tensor] = self._decoded.stores[tensor].allocate(self._poison)
        for pattern in patterns:
            window = self._decoded.windows[pattern]
            assert window is not None
            buffer, shape, dtype, offset, strides = window
            self._views[pattern] = np.ndarray(shape, dtype, self._buffers[buffer], offset, strides)

    def _close(self, node: Lone) -> None:
        self._end(node.step[4], node.step[5])

    def _end(self, tensors: Sequence[int], patterns: Sequence[int]) -> None:
        for pattern in patterns:
            self._views[pattern] = None
        for tensor in tensors:
            self._buffers[tensor] = None

    def _spend(self, work: int, position: int) -> None:
        self._spent += work
        if self._spent > self._decoded.budget:
            raise MachineError(
                "budget",
                f"touches more than {self._decoded.budget} elements by this instruction",
                self._line(position),
            )

    def _line(self, position: int) -> int:
        return self._decoded.program.instructions[position].line

    def _unmet(self, position: int, error: MeetingError) -> MachineError:
        return MachineError("meeting", str(error), self._line(position))

    def _out_of_memory(self, position: int) -> MachineError:
        return MachineError("memory", "not enough memory for this instruction", self._line(position))

    def _out_of_bounds(self, node: Lone, message: str) -> MachineError:
        return MachineError(
            "out_of_bounds", f"{node.call.operation.name}: {message}", self._line(node.position)
        )

    def _misfit(self, position: int) -> MachineError:
        program = self._decoded.program
        instruction = program.instructions[position]
        operation = OPERATIONS[program.operations[instruction.operation]]
        operands = [
            f"{parameter.name} {view.dtype}{list(view.shape)}"
            for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True)
            if (view := self._views[pattern]) is not None
        ]
        return MachineError(
            "operands", f"{operation.name} cannot run on {', '.join(operands)}", instruction.line
        )


def _restore(view: Array | None, before: Array, valid: Array | None, *, across: bool) -> None:
    """Put back the rows of a destination whose addresses lie outside.

    Args:
        view: The destination; None where the argument is absent.
        before: What it held.
        valid: Which rows to leave as they are; None for all.
        across: Whether rows lie along the last dimension, as a transpose leaves them.
    """
    if view is None or valid is None:
        return
    after = view.copy()
    if across:
        after[..., ~valid] = before[..., ~valid]
    else:
        after.reshape(len(valid), -1)[~valid] = before.reshape(len(valid), -1)[~valid]
    view[...] = after
