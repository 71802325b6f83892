"""Draw inputs and reference answers in a confined worker."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np

from pipeline.execute.frames import (
    MESSAGE_CHARACTERS,
    Array,
    ReferenceReply,
    ReferenceRequest,
    Tensor,
    decode,
    encode,
)
from pipeline.execute.sandbox import Limits, Outcome, SandboxPool, Status
from pipeline.execute.shapes import tensors_at
from pipeline.library.battery import patterned_inputs
from pipeline.types import Case, Fault, Owner, Pattern, Task, hash_text

__all__ = ["Draw", "draw_reference"]

_JOB: Final = "pipeline.execute.jobs.reference:run"
_REPLY_BYTES: Final = 512 << 20


@dataclass(frozen=True, slots=True)
class Draw:
    """Inputs of one case and seed, and what they should give.

    Attributes:
        inputs: One array per task input, in its storage dtype.
        expected: One float64 array per task output.
        spread: Per output, float32 of its shape: the rounding error to expect before the output's rounding.
        noise: Per output, the relative L2 errors of the honest executions, before the output's rounding.
        derivation: How `spread` and `noise` came about, one sentence per step.
        arithmetic: For a study: relative L2 error per output of other arithmetics, by their names.
    """

    inputs: tuple[np.ndarray, ...]
    expected: tuple[np.ndarray, ...]
    spread: tuple[np.ndarray, ...] = ()
    noise: tuple[tuple[float, ...], ...] = ()
    derivation: tuple[str, ...] = ()
    arithmetic: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for array in (*self.inputs, *self.expected, *self.spread))


def draw_reference(
    workers: SandboxPool, task: Task, case: Case, seed: int, secret: str = "", *, study: bool = False
) -> Draw | Fault:
    """Run the task's reference on draw number `seed` of `case`.

    The generator is seeded from `secret`, the task, the case and `seed`: whoever knows them all can repeat a
    grading bit for bit, and nobody who does not know `secret` can tell what will be drawn.

    Args:
        workers: Where the reference runs.
        task: The task.
        case: One of its cases.
        seed: Number of the draw.
        secret: The grader's secret seed.
        study: Whether `Draw.arithmetic` is wanted, which takes three more executions.

    Returns:
        The draw, or the task's fault when its reference fails, hangs or breaks its contract.
    """
    entropy = hash_text("draw", secret, task.id, case.name, seed)
    request = ReferenceRequest(
        source=task.reference,
        axes=case.axes,
        case={"name": case.name, "kind": case.kind.value, "distribution": case.distribution},
        seed=tuple(int(entropy[i : i + 8], 16) for i in range(0, 64, 8)),
        inputs=tensors_at(task.inputs, case.axes),
        outputs=tensors_at(task.outputs, case.axes),
        pattern=case.pattern.value,
        patterned=() if case.pattern is Pattern.DRAWN else patterned_inputs(task),
        compute_dtype=task.numerics.compute_dtype,
        storage_dtype=task.numerics.storage_dtype,
        study=study,
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
        inputs = _arrays(reply.inputs, request.inputs)
        expected, spread = (
            _arrays(answered, tuple(Tensor(spec.name, spec.shape, dtype) for spec in request.outputs))
            for answered, dtype in ((reply.expected, "float64"), (reply.spread, "float32"))
        )
        _refuse_absurd(reply, spread)
    except (msgspec.DecodeError, ValueError):
        return _fault(task, case, "reference.py answered with malformed data")
    draw = Draw(inputs, expected, spread, reply.noise, reply.derivation, reply.arithmetic)
    return _refuse_undefined(task, case, draw)


def _arrays(answered: tuple[Array, ...], wanted: tuple[Tensor, ...]) -> tuple[np.ndarray, ...]:
    """Return the values of `answered`: strangers' code shares the process that says what they are.

    Raises:
        ValueError: If they do not have the shapes and dtypes of `wanted`.
    """
    if [(array.shape, array.dtype) for array in answered] != [(spec.shape, spec.dtype) for spec in wanted]:
        raise ValueError("other arrays than the task declares")
    return tuple(array.numpy() for array in answered)


def _refuse_absurd(reply: ReferenceReply, spread: tuple[np.ndarray, ...]) -> None:
    """Refuse measurements that no measurement gives.

    Raises:
        ValueError: If there are any.
    """
    distances = [*reply.noise, *reply.arithmetic.values()]
    if (
        len(reply.noise) != len(spread)
        or not all(np.isfinite(errors).all() and (errors >= 0).all() for errors in spread)
        or not all(math.isfinite(error) and error >= 0 for errors in distances for error in errors)
        or any(len(errors) != len(spread) for errors in reply.arithmetic.values())
        or sum(map(len, reply.derivation)) > MESSAGE_CHARACTERS
    ):
        raise ValueError("measurements that make no sense")


def _refuse_undefined(task: Task, case: Case, draw: Draw) -> Draw | Fault:
    """Refuse NaN as the answer to finite inputs: no kernel could be held to it."""
    if all(_is_finite(values) for values in draw.inputs):
        for spec, values in zip(task.outputs, draw.expected, strict=True):
            if np.isnan(values).any():
                return _fault(task, case, f"reference() answers finite inputs with NaN in {spec.name!r}")
    return draw


def _is_finite(values: np.ndarray) -> bool:
    return bool(np.isfinite(values.astype(np.float64)).all())


def _explain(outcome: Outcome, task: Task) -> str:
    match outcome.status:
        case Status.TIMEOUT:
            return f"reference.py did not finish within {task.limits.run_seconds:g} s"
        case Status.MEMORY:
            return f"reference.py needs more than {task.limits.memory_bytes >> 20} MiB"
        case Status.OVERSIZED:
            return f"reference.py {outcome.message}"
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
