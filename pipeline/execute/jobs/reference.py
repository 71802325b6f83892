"""Run a task's reference: strangers' code when tasks are imported, so it is confined like a submission."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.random  # NumPy loads it on first use, which would be in every forked job anew.

from pipeline.emulator.dtypes import dtype_named
from pipeline.execute.frames import Array, Note, ReferenceReply, ReferenceRequest, Tensor, decode, encode

__all__ = ["run"]


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
    except Exception as error:  # whatever a stranger's code raises is its task's fault, told by type and text
        message = f"reference.py raised {type(error).__name__}: {error}"
        return encode(ReferenceReply(error=Note(kind="raised", message=message)))


def _draw(request: ReferenceRequest) -> ReferenceReply:
    module = types.ModuleType("reference")
    exec(compile(request.source, "reference.py", "exec"), module.__dict__)
    make_inputs = _function(module, "make_inputs")
    reference = _function(module, "reference")
    rng = np.random.default_rng(list(request.seed))
    drawn = make_inputs(rng, dict(request.axes), dict(request.case))
    stored = {spec.name: _stored(drawn, spec) for spec in request.inputs}
    wide = {
        name: values.astype(np.float64) if values.dtype.kind not in "iub" else values.copy()
        for name, values in stored.items()
    }
    answers = reference(wide, dict(request.axes))
    return ReferenceReply(
        inputs=tuple(Array.of(stored[spec.name], spec.dtype) for spec in request.inputs),
        expected=tuple(Array.of(_answer(answers, spec), "float64") for spec in request.outputs),
    )


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


def _stored(drawn: object, spec: Tensor) -> np.ndarray:
    return _lookup(drawn, spec, "make_inputs()").astype(dtype_named(spec.dtype).storage)


def _answer(answers: object, spec: Tensor) -> np.ndarray:
    return _lookup(answers, spec, "reference()").astype(np.float64)
