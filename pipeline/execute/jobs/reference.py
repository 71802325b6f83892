"""Run a task's reference: strangers' code when tasks are imported, so it is confined like a submission."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.random  # NumPy loads it on first use, which would be in every forked job anew.

from pipeline.emulator.dtypes import dtype_named
from pipeline.execute.arithmetic.measurement import Formula, measure
from pipeline.execute.frames import Array, Note, ReferenceReply, ReferenceRequest, Tensor, decode, encode
from pipeline.execute.patterns import apply_pattern

__all__ = ["run"]


#: Characters of a message about what a stranger's code raised.
_LONGEST = 300


class _BadReference(Exception):
    pass


def run(payload: bytes) -> bytes:
    """Answer a `ReferenceRequest` with a `ReferenceReply`.

    The answers are computed in float64 from the inputs as they are after rounding to their declared dtype,
    because those are the inputs that the kernel sees.
    """
    request = decode(payload, ReferenceRequest)
    try:
        return encode(_draw(request))
    except _BadReference as error:
        return encode(ReferenceReply(error=Note(kind="contract", message=str(error))))
    except MemoryError:
        message = "reference.py needs more memory than the task's limit allows, to answer and to be measured"
        return encode(ReferenceReply(error=Note(kind="memory", message=message)))
    except Exception as error:  # whatever a stranger's code raises is its task's fault, told by type and text
        message = f"reference.py raised {type(error).__name__}: {' '.join(str(error).split())}"
        message = message if len(message) <= _LONGEST else f"{message[: _LONGEST - 3]}..."
        return encode(ReferenceReply(error=Note(kind="raised", message=message)))


def _draw(request: ReferenceRequest) -> ReferenceReply:
    module = types.ModuleType("reference")
    exec(compile(request.source, "reference.py", "exec"), module.__dict__)
    make_inputs = _function(module, "make_inputs")
    reference = _function(module, "reference")
    rng = np.random.default_rng(list(request.seed))
    drawn = make_inputs(rng, dict(request.axes), dict(request.case))
    stored = {spec.name: _stored(drawn, spec, request) for spec in request.inputs}
    wide = {
        name: values.astype(np.float64) if values.dtype.kind not in "iub" else values.copy()
        for name, values in stored.items()
    }
    expected = _answer_twice(reference, wide, request)
    formula = Formula(
        reference=reference,
        namespace=module.__dict__,
        inputs=wide,
        axes=dict(request.axes),
        outputs=tuple((spec.name, spec.dtype) for spec in request.outputs),
    )
    measured = measure(
        formula,
        expected,
        compute_dtype=request.compute_dtype,
        storage_dtype=request.storage_dtype,
        study=request.study,
        seed=request.seed,
    )
    return ReferenceReply(
        inputs=tuple(Array.of(stored[spec.name], spec.dtype) for spec in request.inputs),
        expected=tuple(Array.of(values, "float64") for values in expected),
        spread=tuple(Array.of(values, "float32") for values in measured.spread),
        noise=tuple(measured.noise),
        derivation=measured.derivation,
        arithmetic=measured.arithmetic,
    )


def _answer_twice(
    reference: Any, inputs: dict[str, np.ndarray], request: ReferenceRequest
) -> list[np.ndarray]:
    """Return the answers, if a second run on the same inputs gives the same and leaves them as they are."""
    first, second = (
        [_answer(answers, spec) for spec in request.outputs]
        for answers in (_answer_once(reference, inputs, request) for _ in range(2))
    )
    for spec, one, other in zip(request.outputs, first, second, strict=True):
        if not np.array_equal(one, other, equal_nan=True):
            raise _BadReference(f"reference() is not deterministic: {spec.name!r} differs between two runs")
    return first


def _answer_once(reference: Any, inputs: dict[str, np.ndarray], request: ReferenceRequest) -> Any:
    given = {name: values.copy() for name, values in inputs.items()}
    answers = reference(dict(given), dict(request.axes))
    for name, values in inputs.items():
        if not np.array_equal(given[name], values, equal_nan=values.dtype.kind == "f"):
            raise _BadReference(f"reference() changes its input {name!r}; let it work on a copy")
    if isinstance(answers, Mapping):
        # An answer that is a view of an input, or of the reference's own memory, must outlive the next run.
        return {name: np.array(values) for name, values in answers.items()}
    return answers


def _function(module: types.ModuleType, name: str) -> Any:
    function = getattr(module, name, None)
    if not callable(function):
        raise _BadReference(f"reference.py defines no function {name}()")
    return function


def _lookup(values: object, spec: Tensor, producer: str) -> np.ndarray:
    if not isinstance(values, Mapping) or spec.name not in values:
        raise _BadReference(f"{producer} returned no array {spec.name!r}")
    array = np.asarray(values[spec.name])
    if array.shape != spec.shape:
        raise _BadReference(f"{producer}: {spec.name!r} has shape {array.shape}, task.toml says {spec.shape}")
    return array


def _stored(drawn: object, spec: Tensor, request: ReferenceRequest) -> np.ndarray:
    values = _lookup(drawn, spec, "make_inputs()")
    if spec.name in request.patterned:
        # A generator of its own: how much make_inputs() drew must not matter.
        rng = np.random.default_rng([*request.seed, *spec.name.encode()])
        values = apply_pattern(request.pattern, values, rng, spec.dtype)
    return values.astype(dtype_named(spec.dtype).storage)


def _answer(answers: object, spec: Tensor) -> np.ndarray:
    found = _lookup(answers, spec, "reference()")
    if found.dtype.kind not in "fiubV":
        raise _BadReference(f"reference(): {spec.name!r} has dtype {found.dtype}, not real numbers")
    values = found.astype(np.float64)
    if not dtype_named(spec.dtype).is_float and not np.array_equal(values, np.rint(values)):
        raise _BadReference(f"reference(): {spec.name!r} has fractions, task.toml says {spec.dtype}")
    return values
