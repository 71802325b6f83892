"""Trivial candidates: answers that take no work, which a task's cases must not let pass.

Public graders have let pass zeros for small outputs, a copy of the input for a normalisation whose rows have
unit size already, and one mean for all of a softmax (facts/grading.md section 2, rows 17 to 19 and 33).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.compare.ulps import measure_ulps
from pipeline.emulator.dtypes import DTYPES
from pipeline.execute.references import Draw
from pipeline.types import Task, TensorSpec

__all__ = ["Trivial", "is_right", "make_trivial"]

#: A value this close to the reference is the answer, whoever gives it: one rounding apart.
_RIGHT_ULPS: Final = 1.0
#: So is one this close in absolute terms: a few times what the engines flush to zero, the smallest normal
#: float32, since a kernel may do so at every step.
_RIGHT_ABSOLUTE: Final = 8 * 2.0**-126
#: An answer that was rounded on its way is as good as those of honest executions up to this many times their
#: error: limits are derived from it with factors of about ten (`pipeline.compare.tolerance`).
_HONEST: Final = 16.0


@dataclass(frozen=True, slots=True, eq=False)
class Trivial:
    """One answer that takes no work.

    Attributes:
        name: What it is, e.g. ``zeros`` or ``copy of x``.
        output: Name of the output that it replaces; the others are the reference's.
        outputs: All of a kernel's outputs.
        right: Whether it is the answer nevertheless: zeros, for rows of zeros. A rounded answer is, too,
            where honest executions in the task's own arithmetic are hardly closer.
    """

    name: str
    output: str
    outputs: tuple[np.ndarray, ...]
    right: bool


def make_trivial(task: Task, draw: Draw, other: Draw) -> Iterator[Trivial]:
    """Yield every trivial candidate for one draw; one output is replaced at a time.

    Args:
        task: Names and data types.
        draw: Inputs and references.
        other: Another draw of the same case.
    """
    expected = draw.expected
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = [
            values.astype(DTYPES[spec.dtype].storage)
            for spec, values in zip(task.outputs, expected, strict=True)
        ]
        for place, spec in enumerate(task.outputs):
            noise = max(draw.noise[place], default=0.0) if draw.noise else 0.0
            answer = expected[place]
            candidates = {
                **_fill(spec, answer),
                **_copy_inputs(task, spec, draw.inputs, answer.shape),
                **_summarise(spec, answer, other.expected[place]),
                **_retype(spec, answer),
            }
            for name, values in candidates.items():
                right = is_right(spec, values, answer)
                yield Trivial(name, spec.name, (*rounded[:place], values, *rounded[place + 1 :]), right)
            for name, values in _round(spec, answer).items():
                right = is_right(spec, values, answer) or _distance(values, answer) <= _HONEST * noise
                yield Trivial(name, spec.name, (*rounded[:place], values, *rounded[place + 1 :]), right)


def is_right(spec: TensorSpec, values: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether `values` are the reference, rounded to the output's data type in one way or another."""
    dtype = DTYPES[spec.dtype]
    if values.shape != expected.shape or values.dtype != dtype.storage:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        got, wanted = values.astype(np.float64), expected.astype(dtype.storage).astype(np.float64)
    finite = np.isfinite(wanted)
    if (
        not np.array_equal(got[~finite], wanted[~finite], equal_nan=True)
        or not np.isfinite(got[finite]).all()
    ):
        return False
    close = np.abs(got[finite] - wanted[finite]) <= _RIGHT_ABSOLUTE
    return bool((close | (measure_ulps(got[finite], wanted[finite], dtype) <= _RIGHT_ULPS)).all())


def _fill(spec: TensorSpec, expected: np.ndarray) -> dict[str, np.ndarray]:
    storage = DTYPES[spec.dtype].storage
    fills = {"zeros": 0.0, "ones": 1.0}
    if DTYPES[spec.dtype].is_float:
        fills["NaN everywhere"] = np.nan
    return {name: np.full(expected.shape, value).astype(storage) for name, value in fills.items()}


def _copy_inputs(
    task: Task, spec: TensorSpec, inputs: Sequence[np.ndarray], shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Return each input as an output, where its elements can be made to fit."""
    storage = DTYPES[spec.dtype].storage
    copies: dict[str, np.ndarray] = {}
    for source, values in zip(task.inputs, inputs, strict=True):
        if values.size == np.prod(shape):
            copies[f"copy of {source.name}"] = values.reshape(shape).astype(storage)
        elif _broadcasts(values.shape, shape):
            copies[f"copy of {source.name}"] = np.broadcast_to(values, shape).astype(storage)
    return copies


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _summarise(spec: TensorSpec, expected: np.ndarray, other: np.ndarray) -> dict[str, np.ndarray]:
    """Return answers that know something of the reference, but not each element."""
    storage = DTYPES[spec.dtype].storage
    row_means = expected.mean(axis=-1, keepdims=True)
    known = {
        "mean": np.full(expected.shape, expected.mean()),
        "mean of each row": np.broadcast_to(row_means, expected.shape),
        "first row for all rows": np.broadcast_to(expected[:1], expected.shape),
        "answer to another draw": other,
    }
    if DTYPES[spec.dtype].kind != "uint":
        known["answer negated"] = -expected
    return {name: values.astype(storage) for name, values in known.items()}


def _retype(spec: TensorSpec, expected: np.ndarray) -> dict[str, np.ndarray]:
    """Return the answer in another data type."""
    other = "float64" if spec.dtype == "float32" else "float32"
    return {f"answer in {other}": expected.astype(other)}


def _round(spec: TensorSpec, expected: np.ndarray) -> dict[str, np.ndarray]:
    """Return the answer, rounded to a narrower data type on its way."""
    if spec.dtype != "float32":
        return {}
    return {
        f"answer rounded to {narrow}": expected.astype(DTYPES[narrow].storage).astype(np.float32)
        for narrow in ("bfloat16", "float16")
    }


def _distance(values: np.ndarray, expected: np.ndarray) -> float:
    """Return the relative L2 error; infinite where an infinity or NaN is not where it should be."""
    got = values.astype(np.float64)
    finite = np.isfinite(got) & np.isfinite(expected)
    if not np.array_equal(got[~finite], expected[~finite], equal_nan=True):
        return np.inf
    scale = np.abs(expected[finite]).max(initial=0.0)
    if scale == 0:
        return np.inf
    error = np.linalg.norm((got[finite] - expected[finite]) / scale)
    return float(error / np.linalg.norm(expected[finite] / scale))
