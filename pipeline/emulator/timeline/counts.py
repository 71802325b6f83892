"""Count a program's traffic and work: exact, unless a loop waits for run time to say how often it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pipeline.emulator.operations import Call
from pipeline.emulator.program.geometry import tensor_bytes
from pipeline.emulator.program.instructions import Instruction, Program
from pipeline.emulator.program.repetitions import Repetitions
from pipeline.emulator.program.resolution import Resolution, resolve
from pipeline.emulator.timeline.constants import exact_constants
from pipeline.emulator.timeline.work import (
    engine_transpose,
    is_collective,
    is_transfer,
    matrix_product,
    touched,
    traffic,
)

__all__ = ["Computation", "Counts", "count", "repeated_uses"]


#: Collectives that a tensor tells how much to move.
_VARYING: Final = frozenset({"all_gather_v", "all_to_all_v"})


@dataclass(frozen=True, slots=True)
class Computation:
    """In which types a kind of instruction computes, for judging precision by what runs, not by the source.

    Attributes:
        engine: Engine that runs it.
        operation: Name in `nki.isa`.
        inputs: Dtype of each tensor read, in signature order, but for those that hold exact constants.
        output: Dtype written, empty where that is an exact constant. Engines compute in float32 and round to
            this once per instruction; PSUM accumulates in it.
        instructions: How many.
        elements: Elements written by all of them.
        lines: Lines of the submission, ascending, at most 20.
    """

    engine: str
    operation: str
    inputs: tuple[str, ...]
    output: str
    instructions: int
    elements: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a program does, in bytes, flops, elements and instructions.

    Attributes:
        instructions: Per engine; collectives, which no engine of the kernel's runs, are not among them.
        hbm_read_bytes: Read from HBM by DMA and collectives.
        hbm_write_bytes: Written to HBM by DMA and collectives.
        minimum_bytes: Every input read once and every output written once.
        dma_transfers: DMA instructions, exchanges between two cores by DMA included.
        dma_bytes: Bytes moved by them.
        dma_descriptors: Contiguous runs they consist of; the shorter run of the two sides governs.
        tensor_flops: Two per multiply-add of matmuls, by rate class: ``bf16`` (all narrow types and
            tfloat32), ``fp32`` (a quarter of the rate), ``fp8`` (double_row, twice the rate) or ``mx``
            (microscaling, four times the rate).
        transpose_flops: The same for transposes on the tensor engine, which are no useful work.
        elements: Elements per engine and instruction, summed: of the largest operand.
        cycles: Engine-busy cycles per engine after the published costs, without overheads and waiting.
        uncosted: Instructions per operation that have no published cost.
        computations: In which types it computes.
        collectives: Operations between ranks.
        collective_bytes: Bytes that this rank brings to them or takes from them, whichever is more.
        cores: NeuronCores among which all of this divides.
        known: Whether the program says how often everything runs and how much it moves. If not, an iteration
            counts once, and a collective of varying size as if it filled its tensors.
    """

    instructions: dict[str, int]
    hbm_read_bytes: int
    hbm_write_bytes: int
    minimum_bytes: int
    dma_transfers: int
    dma_bytes: int
    dma_descriptors: int
    tensor_flops: dict[str, int]
    transpose_flops: dict[str, int]
    elements: dict[str, int]
    cycles: dict[str, float]
    uncosted: dict[str, int]
    computations: tuple[Computation, ...]
    collectives: int = 0
    collective_bytes: int = 0
    cores: int = 1
    known: bool = True

    @property
    def dma_average_bytes(self) -> float:
        """Bytes per DMA instruction; 0.0 without DMA."""
        return self.dma_bytes / self.dma_transfers if self.dma_transfers else 0.0

    @property
    def descriptor_average_bytes(self) -> float:
        """Bytes per contiguous run; 0.0 without DMA. DMA wants 2 KiB or more (facts/nki.md section 2.9)."""
        return self.dma_bytes / self.dma_descriptors if self.dma_descriptors else 0.0


def count(program: Program) -> Counts:
    """Count what a program does.

    Args:
        program: A validated program; of an illegal one the counts say what it asks for.
    """
    resolution = resolve(program)
    repetitions = Repetitions.of(program)
    uses = repeated_uses(resolution, repetitions)
    instructions: Counter[str] = Counter()
    elements: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    exchanged: Counter[str] = Counter()
    tensor: Counter[str] = Counter()
    transposes: Counter[str] = Counter()
    cycles: dict[str, float] = {}
    uncosted: Counter[str] = Counter()
    for index, call in enumerate(resolution.calls):
        if call.operation.control is not None:
            continue
        times = uses[index]
        if is_collective(call):
            exchanged["operations"] += times
            exchanged.update({name: times * amount for name, amount in _totals(call).items()})
            continue
        instructions[call.engine] += times
        elements[call.engine] += times * max((operand.elements for operand in touched(call)), default=0)
        if is_transfer(call):
            moved.update({name: times * amount for name, amount in _totals(call).items()})
        elif call.operation.cycles is None:
            uncosted[call.operation.name] += times
        else:
            cycles[call.engine] = cycles.get(call.engine, 0.0) + times * call.operation.cycles(call)
        if (turned := engine_transpose(call)) is not None:
            transposes[turned[0]] += times * turned[1]
        elif (product := matrix_product(call)) is not None:
            tensor[product[0]] += times * product[1]
    return Counts(
        instructions=dict(instructions),
        hbm_read_bytes=moved["read"] + exchanged["read"],
        hbm_write_bytes=moved["write"] + exchanged["write"],
        minimum_bytes=sum(tensor_bytes(program, index) for index in (*program.inputs, *program.outputs)),
        dma_transfers=instructions["dma"],
        dma_bytes=moved["bytes"],
        dma_descriptors=moved["descriptors"],
        tensor_flops=dict(tensor),
        transpose_flops=dict(transposes),
        elements=dict(elements),
        cycles=cycles,
        uncosted=dict(uncosted),
        computations=tuple(_computations(program, resolution, repetitions)),
        collectives=exchanged["operations"],
        collective_bytes=exchanged["bytes"],
        cores=program.cores,
        known=repetitions.known and _VARYING.isdisjoint(program.operations),
    )


def _totals(call: Call) -> Counter[str]:
    totals: Counter[str] = Counter()
    for name, amount in traffic(call):
        totals[name] += amount
    return totals


def repeated_uses(resolution: Resolution, repetitions: Repetitions) -> Counter[int]:
    """Return how often each distinct call runs."""
    uses = Counter(resolution.indices)
    for position, times in repetitions.times.items():
        uses[resolution.indices[position]] += times - 1
    return uses


def _computations(
    program: Program, resolution: Resolution, repetitions: Repetitions
) -> Iterator[Computation]:
    calls = resolution.calls
    keys: list[tuple[str, str, tuple[str, ...], str]] = []
    for call in calls:
        inputs, output = [], ""
        for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
            if operand is None:
                continue
            if parameter.kind.written:
                output = output or operand.dtype
            else:
                inputs.append(operand.dtype)
        keys.append((call.engine, call.operation.name, tuple(inputs), output))
    instructions: Counter[tuple[str, str, tuple[str, ...], str]] = Counter()
    elements: Counter[tuple[str, str, tuple[str, ...], str]] = Counter()
    lines: dict[tuple[str, str, tuple[str, ...], str], set[int]] = {}
    written = [_written_elements(call) for call in calls]
    constants = exact_constants(program)
    for position, (instruction, index) in enumerate(
        zip(program.instructions, resolution.indices, strict=True)
    ):
        if calls[index].operation.control is not None or not touched(calls[index]):
            continue
        key = keys[index]
        if constants and any(program.patterns[p].tensor in constants for p in instruction.tensors if p >= 0):
            key = (key[0], key[1], *_varying_dtypes(program, instruction, calls[index], constants))
        times = repetitions.times.get(position, 1)
        instructions[key] += times
        elements[key] += times * written[index]
        lines.setdefault(key, set()).add(instruction.line)
    for key in instructions:
        yield Computation(*key, instructions[key], elements[key], tuple(sorted(lines[key])[:20]))


def _varying_dtypes(
    program: Program, instruction: Instruction, call: Call, constants: frozenset[int]
) -> tuple[tuple[str, ...], str]:
    """Return the dtypes that an instruction reads, and writes first, but for those of exact constants."""
    inputs: list[str] = []
    output = ""
    for parameter, pattern in zip(call.operation.tensor_parameters, instruction.tensors, strict=True):
        if pattern < 0 or program.patterns[pattern].tensor in constants:
            continue
        dtype = program.patterns[pattern].dtype
        if parameter.kind.written:
            output = output or dtype
        else:
            inputs.append(dtype)
    return tuple(inputs), output


def _written_elements(call: Call) -> int:
    return next(
        (
            operand.elements
            for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True)
            if operand is not None and parameter.kind.written
        ),
        0,
    )
