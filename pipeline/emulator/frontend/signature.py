"""Calling a kernel: arguments bound to parameters, tensors declared, the result checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.recorder import Recorder
from pipeline.emulator.frontend.session import Session
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import MemoryRegion, dtype_of
from pipeline.emulator.frontend.views import contiguous
from pipeline.emulator.program import Program
from pipeline.emulator.program.collection import paused_collection

__all__ = ["InputSpec", "TensorArgument", "bind_arguments", "bind_inputs", "record_kernel"]


class InputSpec(NamedTuple):
    """A tensor argument of a kernel.

    Attributes:
        name: What the task calls it.
        shape: Elements per dimension.
        dtype: NKI data type.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str


class TensorArgument(NamedTuple):
    """Stands for a tensor among the arguments of a kernel, at any depth.

    Attributes:
        name: Of the tensor.
    """

    name: str


class _Array(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...


def bind_arguments(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of an ordinary call by parameter name, defaults included.

    Raises:
        KernelError: If they do not fit the signature.
    """
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"{_shown(function, signature)} cannot be called like this: {error}",
        ) from None
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        if isinstance(value, list):
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                f"argument {name} is a list; lists are no kernel arguments since NKI 0.3: pass a tuple",
            )
    return dict(bound.arguments)


def bind_inputs(function: Callable[..., Any], inputs: Sequence[InputSpec]) -> dict[str, InputSpec]:
    """Assign each input to a parameter: those of the same name first, the others in order.

    Raises:
        KernelError: If inputs or required parameters are left over.
    """
    signature = inspect.signature(function)
    free = [parameter.name for parameter in signature.parameters.values()]
    required = {p.name for p in signature.parameters.values() if p.default is inspect.Parameter.empty}
    bound = {spec.name: spec for spec in inputs if spec.name in free}
    free = [name for name in free if name not in bound]
    # A tensor is never meant for an optional setting while a required parameter is missing.
    free.sort(key=lambda name: name not in required)
    unnamed = [spec for spec in inputs if spec.name not in bound]
    bound |= dict(zip(free, unnamed, strict=False))
    missing = [name for name in required if name not in bound]
    if missing or len(unnamed) > len(free):
        expected = ", ".join(f"{spec.name} {spec.shape} {spec.dtype}" for spec in inputs)
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"wrong signature: the task calls the kernel with {len(inputs)} tensors ({expected}), "
            f"found {_shown(function, signature)}",
            function.__code__.co_firstlineno if inspect.isfunction(function) else 0,
        )
    return bound


def record_kernel(
    session: Session,
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    tensors: Mapping[str, _Array | InputSpec],
    names: Mapping[int, str] | None = None,
    cores: int = 1,
) -> tuple[Program, bool]:
    """Call `function` with tensors in place of arrays and return what it recorded.

    Args:
        session: Whose recorder the calls of the kernel find; no other kernel may be recording.
        function: The undecorated kernel.
        arguments: Its arguments by parameter name; a `TensorArgument` stands for a tensor.
        tensors: The tensors by name, in the order of the program's inputs. Without `arguments`, each is the
            parameter of its name.
        names: See `Recorder`.
        cores: Logical NeuronCores that run the kernel: it is recorded once for each.

    Returns:
        The program, and whether the kernel returned several tensors.

    Raises:
        KernelError: If the kernel does what NKI refuses, or what it returns is not its output.
    """
    recorder = Recorder(session.target, session.version, session.instruction_limit, names, cores)
    declared = {name: _declare_input(recorder, name, spec) for name, spec in tensors.items()}
    session.recorder, session.cores = recorder, cores
    results: list[Any] = []
    try:
        for _ in range(cores):
            recorder.begin_core()
            with paused_collection():
                results.append(function(**_with_tensors(arguments, declared)))
            recorder.loops.require_ended()
    finally:
        session.recorder, session.cores = None, 1
    if recorder.failure is not None:
        raise recorder.failure
    outputs = [_outputs(recorder, result) for result in results]
    if any(other != outputs[0] for other in outputs):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            "the two cores return different tensors; both must return the same shared ones",
        )
    many = isinstance(results[0], tuple | list)
    return recorder.finish(tuple(range(len(declared))), outputs[0]), many


def _with_tensors(arguments: Mapping[str, Any], declared: Mapping[str, NkiTensor]) -> dict[str, Any]:
    """Return the arguments with the tensors in their places; fresh containers for every call."""
    if not arguments:
        return dict(declared)
    return {name: _substituted(value, declared) for name, value in arguments.items()}


def _substituted(value: Any, declared: Mapping[str, NkiTensor]) -> Any:
    if isinstance(value, TensorArgument):
        return declared[value.name]
    if type(value) is tuple or type(value) is list:
        return type(value)(_substituted(part, declared) for part in value)
    if type(value) is dict:
        return {key: _substituted(part, declared) for key, part in value.items()}
    return value


def _declare_input(recorder: Recorder, name: str, spec: _Array | InputSpec) -> NkiTensor:
    dtype = dtype_of(spec.dtype, narrow=True)
    shape = tuple(spec.shape)
    if not shape or any(size < 1 for size in shape):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"argument {name} has shape {shape}; tensors need a size of at least 1 per dimension",
        )
    region = MemoryRegion.shared_hbm if recorder.cores > 1 else MemoryRegion.private_hbm
    storage = recorder.declare(shape, str(dtype), region, name, is_input=True)
    return NkiTensor(storage, dtype, contiguous(shape))


def _outputs(recorder: Recorder, result: object) -> tuple[int, ...]:
    """Return the tensors that a kernel returned, as indices."""
    if not any(recorder.streams):
        raise KernelError(
            KernelErrorKind.NO_DEVICE_WORK,
            "the kernel recorded no instruction: it computes nothing on the device; use nki.isa or "
            "nki.language operations",
        )
    returned = list(result) if isinstance(result, tuple | list) else [result]
    indices: list[int] = []
    for value in returned:
        index = _output(recorder, value)
        if index in indices:
            raise KernelError(KernelErrorKind.COMPILE_ERROR, f"the kernel returns {value!r} twice")
        indices.append(index)
    if not indices:
        raise _bad_result("nothing")
    return tuple(indices)


def _output(recorder: Recorder, value: object) -> int:
    if not isinstance(value, NkiTensor):
        raise _bad_result("nothing" if value is None else f"a value of type {type(value).__name__}")
    storage = value._storage
    if storage.recorder is not recorder:
        raise _bad_result(f"{value!r}, which another kernel call created")
    if not storage.is_input and value.buffer is not MemoryRegion.shared_hbm:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"the kernel returns {value!r}; outputs must be allocated with buffer=nl.shared_hbm",
        )
    declared = recorder.tensors[storage.index]
    whole = value._view == contiguous(value.shape) and value.size == storage.size and not value._offsets
    if not whole or value.dtype != declared.dtype:
        raise KernelError(
            KernelErrorKind.UNSUPPORTED,
            f"the kernel returns a view {value!r} of {declared.name} {declared.shape}; return the whole "
            "tensor",
        )
    # Addresses in HBM count elements, so the shape in which it is handed back changes no instruction.
    recorder.reshape(storage.index, value.shape)
    return storage.index


def _bad_result(what: str) -> KernelError:
    return KernelError(
        KernelErrorKind.COMPILE_ERROR,
        f"the kernel returns {what}; it must return its output, a tensor allocated with "
        "buffer=nl.shared_hbm, or a "
        "tuple of those",
    )


def _shown(function: Callable[..., Any], signature: inspect.Signature) -> str:
    return f"{getattr(function, '__name__', 'kernel')}({', '.join(signature.parameters)})"
