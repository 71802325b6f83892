"""Count a program's traffic and work: exact, unless a loop waits for run time to say how often it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import Call, Operand
from pipeline.emulator.program.geometry import tensor_bytes
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.repetitions import Repetitions
from pipeline.emulator.program.resolution import Resolution, resolve

__all__ = ["Computation", "Counts", "count"]


@dataclass(frozen=True, slots=True)
class Computation:
    """In which types a kind of instruction computes, for judging precision by what runs, not by the source.

    Attributes:
        engine: Engine that runs it.
        operation: Name in `nki.isa`.
        inputs: Dtype of each tensor read, in signature order.
        output: Dtype written. Engines compute in float32 and round to this once per instruction; PSUM
            accumulates in it.
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
        instructions: Per engine.
        hbm_read_bytes: Read from HBM by DMA.
        hbm_write_bytes: Written to HBM by DMA.
        minimum_bytes: Every input read once and every output written once.
        dma_transfers: DMA instructions.
        dma_bytes: Bytes moved by them.
        dma_descriptors: Contiguous runs they consist of; the shorter run of the two sides governs.
        tensor_flops: Two per multiply-add of matmuls, by rate class: ``bf16`` (all narrow types and tfloat32)
            or ``fp32`` (a quarter of the rate).
        transpose_flops: The same for transposes on the tensor engine, which are no useful work.
        elements: Elements per engine and instruction, summed: of the largest operand.
        cycles: Engine-busy cycles per engine after the published costs, without overheads and waiting.
        uncosted: Instructions per operation that have no published cost.
        computations: In which types it computes.
        known: Whether the program says how often everything runs. If not, an iteration counts once.
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
    uses = _uses(resolution, repetitions)
    instructions: Counter[str] = Counter()
    elements: Counter[str] = Counter()
    traffic: Counter[str] = Counter()
    tensor: Counter[str] = Counter()
    transposes: Counter[str] = Counter()
    cycles: dict[str, float] = {}
    uncosted: Counter[str] = Counter()
    for index, call in enumerate(resolution.calls):
        if call.operation.control is not None:
            continue
        times = uses[index]
        instructions[call.engine] += times
        elements[call.engine] += times * max(
            (operand.elements for operand in call.operands if operand), default=0
        )
        if call.operation.engines == ("dma",):
            for name, amount in _transfer(call):
                traffic[name] += times * amount
        else:
            if call.operation.cycles is None:
                uncosted[call.operation.name] += times
            else:
                cycles[call.engine] = cycles.get(call.engine, 0.0) + times * call.operation.cycles(call)
        if call.operation.name == "nc_matmul":
            rates = transposes if call.scalar("is_transpose") else tensor
            rates[_matmul_rate(call)] += times * _matmul_flops(call)
        elif call.operation.name == "nc_transpose" and call.engine == "tensor":
            transposes[_rate(call.tensor("data").dtype)] += times * _transpose_flops(call)
    return Counts(
        instructions=dict(instructions),
        hbm_read_bytes=traffic["read"],
        hbm_write_bytes=traffic["write"],
        minimum_bytes=sum(tensor_bytes(program, index) for index in (*program.inputs, *program.outputs)),
        dma_transfers=instructions["dma"],
        dma_bytes=traffic["bytes"],
        dma_descriptors=traffic["descriptors"],
        tensor_flops=dict(tensor),
        transpose_flops=dict(transposes),
        elements=dict(elements),
        cycles=cycles,
        uncosted=dict(uncosted),
        computations=tuple(_computations(program, resolution, repetitions)),
        known=repetitions.known,
    )


def _uses(resolution: Resolution, repetitions: Repetitions) -> Counter[int]:
    """Return how often each call runs."""
    uses = Counter(resolution.indices)
    for position, times in repetitions.times.items():
        uses[resolution.indices[position]] += times - 1
    return uses


def _transfer(call: Call) -> Iterator[tuple[str, int]]:
    sources: list[Operand] = []
    results: list[Operand] = []
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is not None:
            (results if parameter.kind.written else sources).append(operand)
    yield "read", sum(_bytes(source) for source in sources if source.memory == "hbm")
    yield "write", sum(_bytes(result) for result in results if result.memory == "hbm")
    yield "bytes", max(sum(map(_bytes, sources)), sum(map(_bytes, results)))
    narrowest = min(map(_run, results), default=1)
    for source in sources:
        yield "descriptors", source.elements // min(_run(source), narrowest, source.elements)


def _bytes(operand: Operand) -> int:
    return operand.elements * DTYPES[operand.dtype].itemsize


def _run(operand: Operand) -> int:
    """Return the elements that lie contiguously; on chip a run ends with its partition."""
    run = 1
    first = 0 if operand.memory == "hbm" else 1
    for stride, size in reversed(list(zip(operand.strides[first:], operand.shape[first:], strict=True))):
        if size > 1 and stride != run:
            break
        run *= size
    return run


def _matmul_flops(call: Call) -> int:
    """Return ``2 K M N`` for [K, M] and [K, N]."""
    stationary, moving = call.tensor("stationary"), call.tensor("moving")
    contraction = stationary.partitions * (2 if call.scalar("perf_mode") == "double_row" else 1)
    return 2 * stationary.elements * (moving.elements // contraction)


def _matmul_rate(call: Call) -> str:
    return _rate(call.tensor("stationary").dtype, call.tensor("moving").dtype)


def _transpose_flops(call: Call) -> int:
    """Return ``2 P P F`` for [P, F]: the matmul with a P x P identity."""
    data = call.tensor("data")
    return 2 * data.partitions * data.elements


def _rate(*dtypes: str) -> str:
    return "fp32" if "float32" in dtypes else "bf16"


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
    for position, (instruction, index) in enumerate(
        zip(program.instructions, resolution.indices, strict=True)
    ):
        if calls[index].operation.control is not None:
            continue
        key = keys[index]
        times = repetitions.times.get(position, 1)
        instructions[key] += times
        elements[key] += times * written[index]
        lines.setdefault(key, set()).add(instruction.line)
    for key in instructions:
        yield Computation(*key, instructions[key], elements[key], tuple(sorted(lines[key])[:20]))


def _written_elements(call: Call) -> int:
    return next(
        (
            operand.elements
            for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True)
            if operand is not None and parameter.kind.written
        ),
        0,
    )
