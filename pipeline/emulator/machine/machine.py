"""The machine: decodes a program once and runs it any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.machine.addressing import Addresses
from pipeline.emulator.machine.errors import MachineError
from pipeline.emulator.machine.execution import Decoded, Execution
from pipeline.emulator.machine.meetings import drive
from pipeline.emulator.machine.memory import (
    Array,
    arena_pitches,
    arena_store,
    place_of,
    store_of,
    window_of,
)
from pipeline.emulator.machine.nodes import cut
from pipeline.emulator.operations import (
    OPERATIONS,
    Call,
    Kernel,
    Observation,
    Operation,
    Severity,
)
from pipeline.emulator.program.collection import paused_collection
from pipeline.emulator.program.geometry import covers
from pipeline.emulator.program.instructions import Instruction, Program
from pipeline.emulator.program.lifetimes import Lifetimes, patterns_used
from pipeline.emulator.program.limits import DEFAULT_LIMITS
from pipeline.emulator.program.resolution import Resolution, resolve
from pipeline.emulator.toolchain.versions import holds_in

__all__ = ["Binding", "Machine", "Run"]

_LANES: Final = 128
_MEMORY_BYTES: Final = 4 << 30
#: Operations that go column by column, and the argument whose columns those are.
_STEPWISE: Final = {"tensor_tensor_scan": "data0", "rng": "dst", "rand2": "dst", "dropout": "data"}
# What binding raises for arguments that do not fit. Only a program that skipped legality gets here.
_BINDING_ERRORS: Final = (ValueError, TypeError, IndexError, KeyError, OverflowError, ZeroDivisionError)


class Binding(NamedTuple):
    """What the instructions of a program do.

    Attributes:
        resolution: Their calls.
        kernels: One per call.
        precision: Of the accumulators.
    """

    resolution: Resolution
    kernels: Sequence[Kernel]
    precision: np.dtype[Any] = np.dtype(np.float32)


@dataclass(frozen=True, slots=True)
class Run:
    """What a run yields.

    Attributes:
        outputs: One new array per entry of ``program.outputs``, of its shape and storage dtype.
        observations: Instructions that met values outside the range in which their function is defined.
    """

    outputs: list[Array]
    observations: tuple[Observation, ...]


class Machine:
    """A program, ready to run.

    Engines compute in float32 and round once when they write. Matrix products are BLAS products: run with one
    BLAS thread (``OPENBLAS_NUM_THREADS=1`` before NumPy is imported), for speed and for equal results.

    Attributes:
        program: What it runs.
        peak_bytes: Most bytes of tensors alive at one time.
        mutated_inputs: Positions in ``program.inputs`` of inputs that the program writes. The arrays given to
            `run` never change: those that it would write, or return, are copied first.
    """

    def __init__(
        self,
        program: Program,
        *,
        budget: int = DEFAULT_LIMITS.executed_elements,
        memory_bytes: int = _MEMORY_BYTES,
        binding: Binding | None = None,
    ) -> None:
        """Decode a program.

        Args:
            program: Validated by `pipeline.emulator.program.validate`, and legal.
            budget: Most elements all instructions together may touch, every iteration of a loop counted.
            memory_bytes: Most bytes of tensors alive at one time, on all ranks together.
            binding: What its instructions do, where that is not what their operations say.

        Raises:
            MachineError: If the program exceeds `budget` or `memory_bytes`, or an instruction breaks a limit
                of its operation.
        """
        self.program = program
        self._memory_bytes = memory_bytes
        resolution = binding.resolution if binding is not None else resolve(program)
        works = [_work(call) for call in resolution.calls]
        _check_budget(program, resolution, works, budget)
        lifetimes = Lifetimes.of(program)
        pitches = arena_pitches(program.tensors)
        self.peak_bytes = lifetimes.peak_bytes(program) + _LANES * sum(pitches.values())
        if self.peak_bytes > memory_bytes:
            message = f"{self.peak_bytes} bytes of tensors alive at once, limit {memory_bytes}"
            raise MachineError("memory", message)
        if binding is None:
            binding = _bind_all(program, resolution)
        with paused_collection():
            self._decoded = _decode(program, binding, lifetimes, pitches, works, budget)
        self.mutated_inputs = _mutated_inputs(program, resolution)

    def run(self, inputs: Sequence[Array], *, poison: int = 0, seed: int = 0) -> list[Array]:
        """Execute the program and return its outputs: `execute` for one rank.

        Args:
            inputs: One array per entry of ``program.inputs``, of exactly its shape and storage dtype.
            poison: See `execute`.
            seed: See `execute`.
        """
        return self.execute([inputs], poison=poison, seed=seed)[0].outputs

    def execute(
        self, inputs_by_rank: Sequence[Sequence[Array]], *, poison: int = 0, seed: int = 0
    ) -> list[Run]:
        """Execute the program, on as many ranks as there are lists of inputs.

        Args:
            inputs_by_rank: Per rank, one array per entry of ``program.inputs``, of exactly its shape and
                storage dtype.
            poison: 0 or 1: what uninitialised memory holds. Outputs that differ between the two depend on it.
            seed: Of the device's random number generators; equal seeds give equal numbers.

        Returns:
            What each rank yields.

        Raises:
            ValueError: If the inputs do not match the program's declarations.
            MachineError: If an instruction fails, an address lies outside its tensor, or cores wait for each
                other in vain; names the line.
        """
        if self.peak_bytes * len(inputs_by_rank) > self._memory_bytes:
            raise MachineError(
                "memory",
                f"{self.peak_bytes} bytes of tensors alive at once on each of {len(inputs_by_rank)} ranks, "
                f"limit {self._memory_bytes}",
            )
        executions = [
            Execution(self._decoded, self._load(inputs), poison=poison, seed=seed, rank=rank)
            for rank, inputs in enumerate(inputs_by_rank)
        ]
        with np.errstate(all="ignore"):
            drive(self.program, [execution.cores() for execution in executions])
        return [
            Run(
                [execution.output(index) for index in self.program.outputs],
                tuple(
                    observation
                    for registers in execution.registers
                    for observation in registers.observations.values()
                ),
            )
            for execution in executions
        ]

    def _load(self, inputs: Sequence[Array]) -> dict[int, Array]:
        program = self.program
        if len(inputs) != len(program.inputs):
            raise ValueError(f"{len(inputs)} inputs given, the program takes {len(program.inputs)}")
        buffers: dict[int, Array] = {}
        written = {program.inputs[position] for position in self.mutated_inputs}
        for index, array in zip(program.inputs, inputs, strict=True):
            tensor = program.tensors[index]
            storage = DTYPES[tensor.dtype].storage
            if array.shape != tensor.shape or array.dtype != storage:
                raise ValueError(
                    f"input {tensor.name}: {array.dtype}{list(array.shape)} given, "
                    f"{storage}{list(tensor.shape)} declared"
                )
            if index in written or index in program.outputs:
                buffers[index] = np.array(array, order="C").reshape(-1)
            else:
                buffers[index] = np.asarray(array, order="C").reshape(-1)
                buffers[index].flags.writeable = False
        for constant in program.constants:
            storage = DTYPES[program.tensors[constant.tensor].dtype].storage
            buffers[constant.tensor] = np.frombuffer(constant.data, storage).copy()
        return buffers


def _decode(
    program: Program,
    binding: Binding,
    lifetimes: Lifetimes,
    pitches: dict[tuple[int, str], int],
    works: Sequence[int],
    budget: int,
) -> Decoded:
    arenas = {key: len(program.tensors) + number for number, key in enumerate(pitches)}
    places = [
        place_of(index, tensor, arenas, pitches.get((tensor.core, tensor.buffer), 0))
        for index, tensor in enumerate(program.tensors)
    ]
    overwritten = _overwritten_first(program, lifetimes)
    stores = [
        store_of(tensor, exposed=index not in overwritten) for index, tensor in enumerate(program.tensors)
    ]
    given = {*program.inputs, *(constant.tensor for constant in program.constants)}
    return Decoded(
        program=program,
        cores=cut(program, binding.resolution, lifetimes, binding.kernels, works),
        windows=[
            None if pattern.offsets else window_of(pattern, places[pattern.tensor])
            for pattern in program.patterns
        ],
        stores=[*stores, *map(arena_store, pitches.values())],
        arenas=range(len(stores), len(stores) + len(pitches)),
        standing=tuple(
            tensor for tensor in lifetimes.standing - given if program.tensors[tensor].address is None
        ),
        addresses=Addresses(program, places),
        budget=budget,
        precision=binding.precision,
    )


def _check_budget(program: Program, resolution: Resolution, works: Sequence[int], budget: int) -> None:
    """Refuse a program that is too much work even if every loop runs once."""
    if sum(map(works.__getitem__, resolution.indices)) <= budget:
        return
    total = 0
    for position, index in enumerate(resolution.indices):
        total += works[index]
        if total > budget:
            raise MachineError(
                "budget",
                f"touches more than {budget} elements by this instruction",
                program.instructions[position].line,
            )


def _work(call: Call) -> int:
    """Return the elements an instruction touches; where columns follow each other, at full width each."""
    stepwise = _STEPWISE.get(call.operation.name)
    if stepwise is not None:
        return call.tensor(stepwise).free_elements * _LANES
    return max((operand.elements for operand in call.operands if operand is not None), default=0)


def _bind_all(program: Program, resolution: Resolution) -> Binding:
    with np.errstate(all="ignore"):
        kernels = [
            _bind(call, program.version, program.instructions[position].line)
            for call, position in zip(resolution.calls, resolution.firsts, strict=True)
        ]
    return Binding(resolution, kernels)


def _bind(call: Call, version: str, line: int) -> Kernel:
    name = call.operation.name
    for limit in call.operation.limits:
        held = call.target.name in limit.targets and holds_in(version, limit.since, limit.until)
        if held and limit.severity is Severity.ERROR:
            for message in limit.check(call):
                raise MachineError("illegal", f"{name}: {message}", line)
    for parameter, value in zip(call.operation.scalar_parameters, call.scalars, strict=True):
        if isinstance(value, str) and parameter.choices and value not in parameter.choices:
            raise MachineError("illegal", f"{name}: {parameter.name}={value} is not among its choices", line)
    try:
        return call.operation.bind(call)
    except _BINDING_ERRORS as error:
        raise MachineError("illegal", f"{name}: these arguments have no meaning", line) from error


def _overwritten_first(program: Program, lifetimes: Lifetimes) -> set[int]:
    """Return the tensors of which nothing can be seen that their first instruction did not write."""
    overwritten: set[int] = set()
    for position, tensors in lifetimes.opened.items():
        instruction = program.instructions[position]
        operation = OPERATIONS[program.operations[instruction.operation]]
        arguments = [program.patterns[p].tensor if p >= 0 else -1 for p in instruction.tensors]
        used = [program.patterns[p].tensor for p in patterns_used(program, instruction.tensors) if p >= 0]
        for tensor in tensors:
            # The first instruction of a loop opens what others use, and one that gathers its indices.
            if used.count(tensor) != 1 or tensor not in arguments:
                continue
            if _overwrites(program, operation, instruction, arguments.index(tensor)):
                overwritten.add(tensor)
    return overwritten


def _overwrites(program: Program, operation: Operation, instruction: Instruction, slot: int) -> bool:
    parameter = operation.tensor_parameters[slot]
    if not parameter.kind.written or operation.keeps(parameter, instruction.scalars):
        return False
    return covers(program, program.patterns[instruction.tensors[slot]])


def _mutated_inputs(program: Program, resolution: Resolution) -> tuple[int, ...]:
    written_slots = [
        [slot for slot, parameter in enumerate(call.operation.tensor_parameters) if parameter.kind.written]
        for call in resolution.calls
    ]
    written = {
        instruction.tensors[slot]
        for instruction, index in zip(program.instructions, resolution.indices, strict=True)
        for slot in written_slots[index]
    }
    tensors = {program.patterns[pattern].tensor for pattern in written if pattern >= 0}
    return tuple(position for position, tensor in enumerate(program.inputs) if tensor in tensors)
