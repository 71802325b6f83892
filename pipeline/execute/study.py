"""Study one program in a confined worker: where it loses precision, and what other chips would return."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.execute.frames import Array, decode, encode
from pipeline.execute.sandbox import Limits, SandboxPool, Status
from pipeline.execute.study_frames import StudyReply, StudyRequest
from pipeline.types import Task

__all__ = ["study_program"]

_JOB: Final = "pipeline.execute.jobs.study:run"
_REPLY_BYTES: Final = 4 << 20
_LIMITS_MET: Final = {
    Status.TIMEOUT: "it took longer than the task allows one draw",
    Status.MEMORY: "it needed more memory than the task allows",
}


def study_program(
    pool: SandboxPool,
    task: Task,
    program: bytes,
    inputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
) -> StudyReply:
    """Run the study of one draw.

    A study decides nothing: whatever goes wrong, the reply says why it is absent.

    Args:
        pool: Workers for trusted computation.
        task: What the program was built for.
        program: Encoded.
        inputs: In the order of the task's inputs.
        expected: float64 answers, in the order of its outputs.
    """
    request = StudyRequest(
        program=program,
        inputs=tuple(Array.of(values, spec.dtype) for values, spec in zip(inputs, task.inputs, strict=True)),
        expected=tuple(Array.of(values, "float64") for values in expected),
    )
    limits = Limits(
        wall_seconds=task.limits.run_seconds,
        cpu_seconds=math.ceil(task.limits.run_seconds),
        memory_bytes=task.limits.memory_bytes,
        reply_bytes=_REPLY_BYTES,
    )
    outcome = pool.run(_JOB, encode(request), limits)
    if outcome.reply is not None:
        return decode(outcome.reply, StudyReply)
    return StudyReply(absent=_LIMITS_MET.get(outcome.status, outcome.message))
