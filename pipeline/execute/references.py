"""Draw inputs and reference answers in a confined worker."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from pipeline.execute.frames import ReferenceReply, ReferenceRequest, decode, encode
from pipeline.execute.sandbox import Limits, Outcome, SandboxPool, Status
from pipeline.execute.shapes import tensors_at
from pipeline.types import Case, Fault, Owner, Task, hash_text

__all__ = ["Draw", "draw_reference"]

_JOB: Final = "pipeline.execute.jobs.reference:run"
_REPLY_BYTES: Final = 512 << 20


@dataclass(frozen=True, slots=True)
class Draw:
    """Inputs of one case and seed, and what they should give.

    Attributes:
        inputs: One array per task input, in its storage dtype.
        expected: One float64 array per task output.
    """

    inputs: tuple[np.ndarray, ...]
    expected: tuple[np.ndarray, ...]

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for array in (*self.inputs, *self.expected))


def draw_reference(workers: SandboxPool, task: Task, case: Case, seed: int) -> Draw | Fault:
    """Run the task's reference on draw number `seed` of `case`.

    The generator is seeded from the task, the case and `seed`, so a grading can be repeated bit for bit.

    Returns:
        The draw, or the task's fault when its reference fails, hangs or breaks its contract.
    """
    entropy = hash_text("draw", task.id, case.name, seed)
    request = ReferenceRequest(
        source=task.reference,
        axes=case.axes,
        case={"name": case.name, "kind": case.kind.value, "distribution": case.distribution},
        seed=tuple(int(entropy[i : i + 8], 16) for i in range(0, 64, 8)),
        inputs=tensors_at(task.inputs, case.axes),
        outputs=tensors_at(task.outputs, case.axes),
    )
    limits = Limits(
        wall_seconds=task.limits.run_seconds,
        cpu_seconds=math.ceil(task.limits.run_seconds),
        memory_bytes=task.limits.memory_bytes,
        reply_bytes=_REPLY_BYTES,
    )
    outcome = workers.run(_JOB, encode(request), limits)
    if outcome.reply is None:
        return _fault(task, case, _explain(outcome, task))
    try:
        reply = decode(outcome.reply, ReferenceReply)
        if reply.error is not None:
            return _fault(task, case, reply.error.message)
        return Draw(
            tuple(array.numpy() for array in reply.inputs), tuple(array.numpy() for array in reply.expected)
        )
    except (msgspec.DecodeError, ValueError, KeyError):
        return _fault(task, case, "reference.py answered with malformed data")


def _explain(outcome: Outcome, task: Task) -> str:
    match outcome.status:
        case Status.TIMEOUT:
            return f"reference.py did not finish within {task.limits.run_seconds:g} s"
        case Status.MEMORY | Status.OVERSIZED:
            return f"reference.py needs more than {task.limits.memory_bytes >> 20} MiB"
        case _:
            return f"reference.py gave no answer: {outcome.message}"


def _fault(task: Task, case: Case, message: str) -> Fault:
    return Fault(
        owner=Owner.TASK,
        code="reference",
        message=message,
        where=f"{task.id}/reference.py, case {case.name!r}",
        remedy=f"repair the task and run `nki-grader tasks check {task.id}`",
    )
