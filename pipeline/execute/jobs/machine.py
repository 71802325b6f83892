"""Judge and execute programs: trusted code on hostile data, confined because the data is hostile."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from pipeline.emulator import legality, timeline
from pipeline.emulator.frontend.errors import KernelError
from pipeline.emulator.frontend.language import check_source, distill, parse
from pipeline.emulator.machine import Machine, MachineError
from pipeline.emulator.operations import Fidelity
from pipeline.emulator.precision import recognise_hazards
from pipeline.emulator.program import DEFAULT_LIMITS, Program, ProgramError, validate
from pipeline.emulator.program import decode as decode_program
from pipeline.emulator.targets import ENGINES, target_named
from pipeline.emulator.timeline import Counts
from pipeline.execute.frames import (
    Array,
    Candidate,
    ExecuteReply,
    ExecuteRequest,
    InspectReply,
    InspectRequest,
    Note,
    ProgramOutcome,
    ProgramReading,
    ProgramRun,
    Sighting,
    bounded,
    decode,
    encode,
)
from pipeline.execute.observations import summarize_observations

__all__ = ["execute", "inspect"]


def inspect(payload: bytes) -> bytes:
    """Answer an `InspectRequest` with an `InspectReply`."""
    request = decode(payload, InspectRequest)
    readings: list[ProgramReading] = []
    for candidate in request.candidates:
        reading = _read(candidate, request)
        readings.append(reading)
        if reading.refusal or any(note.severity == "error" for note in reading.violations):
            break
    return encode(
        InspectReply(
            readings=tuple(readings), language=_read_text(request), essence=_distill_text(request.source)
        )
    )


def execute(payload: bytes) -> bytes:
    """Answer an `ExecuteRequest` with an `ExecuteReply`."""
    request = decode(payload, ExecuteRequest)
    return encode(ExecuteReply(outcomes=tuple(_execute(run) for run in request.runs)))


def _read_text(request: InspectRequest) -> tuple[Note, ...]:
    """Hold the text itself to the language: the child that traced it may have patched the rules away."""
    return tuple(
        Note(
            kind=finding.rule,
            message=bounded(finding.message),
            line=finding.line or None,
            severity=finding.severity.value,
        )
        for finding in check_source(request.source, request.entry, request.version, defines=True)
    )


def _distill_text(source: str) -> str:
    try:
        distilled = distill(parse(source, "submission.py"), source)
    except (KernelError, RecursionError):
        return ""  # no text that could be traced
    return "" if distilled == source else distilled


def _execute(run: ProgramRun) -> ProgramOutcome:
    results: list[tuple[Array, ...]] = []
    sightings: list[tuple[Sighting, ...]] = []
    try:
        program = decode_program(run.program)
        validate(program)
        machine = Machine(program)
        dtypes = [program.tensors[index].dtype for index in program.outputs]
        for inputs in run.inputs:
            arrays = [array.numpy() for array in inputs]
            (ran,) = machine.execute([arrays])
            if not results:
                _refuse_garbage(machine, arrays, ran.outputs)
            results.append(tuple(Array.of(o, d) for o, d in zip(ran.outputs, dtypes, strict=True)))
            sightings.append(summarize_observations(program, ran.observations))
    except ProgramError as error:
        return ProgramOutcome(outputs=(), error=Note(kind=error.rule, message=error.message))
    except MachineError as error:
        note = Note(kind=error.rule, message=error.message, line=error.line or None)
        return ProgramOutcome(tuple(results), note, tuple(sightings))
    return ProgramOutcome(tuple(results), observations=tuple(sightings))


def _refuse_garbage(machine: Machine, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
    """Refuse a program whose outputs change with what lies in memory that it never wrote.

    Raises:
        MachineError: If they do; an output that is right by the luck of one filling is wrong by another.
    """
    program = machine.program
    reads = legality.uninitialised_reads(program, limit=1)
    if not reads and legality.is_static(program):
        return
    others = machine.run(inputs, poison=1)
    if all(one.tobytes() == other.tobytes() for one, other in zip(outputs, others, strict=True)):
        return
    if reads:
        raise MachineError(
            "uninitialised",
            f"the result depends on memory that nothing wrote: {reads[0].operation} is the first to read "
            f"some, as {reads[0].parameter}; write all of a tile before it is read",
            reads[0].line,
        )
    raise MachineError(
        "uninitialised",
        "the result depends on memory that nothing wrote: with these inputs a run-time loop or address "
        "leaves a part of it out; write all of a tensor first, for example with zeros",
    )


def _read(candidate: Candidate, request: InspectRequest) -> ProgramReading:
    limits = replace(DEFAULT_LIMITS, instructions=request.instruction_limit)
    try:
        program = decode_program(candidate.program, limits)
        validate(program, limits)
        _expect_platform(program, request)
        _expect_interface(program, candidate)
    except ProgramError as error:
        return ProgramReading(refusal=Note(kind=error.rule, message=error.message))
    return _summarize(_rename(program, candidate), candidate)


def _expect_platform(program: Program, request: InspectRequest) -> None:
    """Hold the program to the chip and version it was traced for: others have other limits."""
    for rule, found, wanted in (
        ("target", program.target, request.target),
        ("version", program.version, request.version),
        ("cores", str(program.cores), str(request.cores)),
    ):
        if found != wanted:
            raise ProgramError(rule, f"its {rule} is {found}, it was traced for {wanted}")


def _expect_interface(program: Program, candidate: Candidate) -> None:
    """Hold the program to the task's shapes and dtypes: the child that declared them is not trusted."""
    for role, indices, expected in (
        ("input", program.inputs, candidate.inputs),
        ("output", program.outputs, candidate.outputs),
    ):
        declared = [program.tensors[index] for index in indices]
        if len(declared) != len(expected):
            raise ProgramError("interface", f"{len(declared)} {role}s, the task has {len(expected)}")
        for tensor, wanted in zip(declared, expected, strict=True):
            if (tensor.shape, tensor.dtype) != (wanted.shape, wanted.dtype):
                raise ProgramError(
                    "interface",
                    f"{role} {wanted.name!r} is {tensor.dtype}{list(tensor.shape)}, "
                    f"the task wants {wanted.dtype}{list(wanted.shape)}",
                )


def _rename(program: Program, candidate: Candidate) -> Program:
    """Return the program with the task's names for its inputs and outputs: its own are any text at all."""
    tensors = list(program.tensors)
    for indices, wanted in ((program.inputs, candidate.inputs), (program.outputs, candidate.outputs)):
        for index, tensor in zip(indices, wanted, strict=True):
            tensors[index] = msgspec.structs.replace(tensors[index], name=tensor.name)
    return msgspec.structs.replace(program, tensors=tuple(tensors))


def _summarize(program: Program, candidate: Candidate) -> ProgramReading:
    per_engine = dict.fromkeys(ENGINES, 0)
    operations = dict.fromkeys(program.operations, 0)
    for instruction in program.instructions:
        per_engine[ENGINES[instruction.engine]] += 1
        operations[program.operations[instruction.operation]] += 1
    peaks = legality.memory_peaks(program)
    counts = timeline.count(program)
    fidelities = legality.fidelity(program)
    names = [program.tensors[index].name for index in program.outputs]
    return ProgramReading(
        violations=tuple(
            Note(kind=v.rule, message=v.message, line=v.line or None, severity=v.severity.value)
            for v in legality.check(program)
        ),
        hazards=tuple(
            Note(kind=s.hazard, message=bounded(s.message), line=s.line or None, severity="warning")
            for s in recognise_hazards(program)
        ),
        instructions=len(program.instructions),
        instructions_per_engine={engine: count for engine, count in per_engine.items() if count},
        operations=operations,
        compute_dtypes=timeline.compute_dtypes(program, counts.computations),
        stored_dtypes=timeline.stored_dtypes(program),
        sbuf_peak_bytes=peaks.sbuf_bytes,
        psum_peak_bytes=peaks.psum_bytes,
        unwritten={names[i]: region.count for i, region in legality.unwritten(program).items()},
        # An input that is returned bears the name of the output: only its place tells which input it is.
        mutated_inputs=tuple(candidate.inputs[i].name for i in legality.mutated_inputs(program)),
        independent_outputs=tuple(names[i] for i in legality.independent_outputs(program)),
        fidelity=max(fidelities.values(), key=list(Fidelity).index, default=Fidelity.EXACT).value,
        approximated=tuple(sorted(name for name, level in fidelities.items() if level != Fidelity.EXACT)),
        counts=_flatten(program, counts),
    )


def _flatten(program: Program, counts: Counts) -> dict[str, float]:
    """Return what `pipeline.execute.counts` turns into facts; absent where nothing was counted.

    Nothing is where a register bounds a loop: what one iteration does is not what the kernel does.
    """
    if not counts.known:
        return {}
    bounds = timeline.roofline(counts, target_named(program.target))
    flops = sum(counts.tensor_flops.values())
    quantities: dict[str, float] = {
        "hbm_read_bytes": counts.hbm_read_bytes,
        "hbm_write_bytes": counts.hbm_write_bytes,
        "dma_transfers": counts.dma_transfers,
        "dma_average_bytes": counts.dma_average_bytes,
        "dma_descriptor_bytes": counts.descriptor_average_bytes,
        "tensor_flops": flops,
        "transpose_flops": sum(counts.transpose_flops.values()),
        "roofline_seconds": bounds.seconds,
        "hbm_bound_seconds": bounds.hbm_seconds,
        "tensor_bound_seconds": bounds.tensor_seconds,
    }
    for engine in ("vector", "scalar", "gpsimd"):
        quantities[f"{engine}_elements"] = counts.elements.get(engine, 0)
    sizes = timeline.mean_sizes(program)
    for name, mean in (
        ("matmul_mean_moving", sizes.matmul_moving),
        ("matmul_mean_stationary", sizes.matmul_stationary),
        ("mean_free_size", sizes.free_elements),
        ("dma_bytes_per_partition", sizes.dma_partition_bytes),
    ):
        if mean is not None:
            quantities[name] = mean
    if flops:
        quantities["fp32_matmul_share"] = counts.tensor_flops.get("fp32", 0) / flops
    return quantities
