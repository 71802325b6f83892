"""Study the arithmetic of a program: trusted code on hostile data, confined because the data is hostile."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from pipeline.emulator import legality
from pipeline.emulator.machine import Machine, MachineError
from pipeline.emulator.machine.shadow import Shadow, ShadowUnsupported, distance
from pipeline.emulator.program import Program, ProgramError, validate
from pipeline.emulator.program import decode as decode_program
from pipeline.emulator.targets import TARGETS
from pipeline.execute.frames import decode, encode
from pipeline.execute.study_frames import LineLoss, StudyReply, StudyRequest

__all__ = ["run"]


def run(payload: bytes) -> bytes:
    """Answer a `StudyRequest` with a `StudyReply`."""
    request = decode(payload, StudyRequest)
    try:
        program = decode_program(request.program)
        validate(program)
    except ProgramError as error:
        return encode(StudyReply(absent=error.message))
    inputs = [array.numpy() for array in request.inputs]
    expected = [array.numpy() for array in request.expected]
    reply = _attribute(program, inputs, expected)
    return encode(msgspec.structs.replace(reply, targets=_compare(program, inputs)))


def _attribute(program: Program, inputs: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> StudyReply:
    try:
        found = Shadow(program).attribute(inputs)
    except ShadowUnsupported as error:
        return StudyReply(absent=str(error))
    except MemoryError:
        return StudyReply(absent="in float64 the program needs more memory than a worker has")
    return StudyReply(
        lines=tuple(LineLoss(c.line, c.operation, c.rel_l2, c.share) for c in found.lines),
        exact_rel_l2=tuple(
            distance(answer, output) for answer, output in zip(expected, found.outputs, strict=True)
        ),
        narrow=found.narrow,
        untried=found.untried,
    )


def _compare(program: Program, inputs: Sequence[np.ndarray]) -> dict[str, float]:
    """Return how far the outputs on every other chip are from those on the program's own."""
    own = _outputs(program, inputs)
    distances: dict[str, float] = {}
    for target in sorted(TARGETS.keys() - {program.target}):
        others = _outputs(msgspec.structs.replace(program, target=target), inputs)
        if own is not None and others is not None:
            distances[target] = max(
                (distance(one, other) for one, other in zip(own, others, strict=True)), default=0.0
            )
    return distances


def _outputs(program: Program, inputs: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """Return a program's outputs; None where its chip refuses it."""
    try:
        validate(program)
        if any(violation.severity is legality.Severity.ERROR for violation in legality.check(program)):
            return None
        return Machine(program).run(inputs)
    except (ProgramError, MachineError):
        return None
