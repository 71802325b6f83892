"""A kernel called with arrays, outside any other: recorded, judged and executed for them.

Arrays that the kernel writes are updated in place, as `nki.simulate` documents.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec
import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.arrays import as_array, like
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.language import Finding, check_source
from pipeline.emulator.frontend.locating import locate
from pipeline.emulator.frontend.session import Session, noted_files
from pipeline.emulator.frontend.signature import InputSpec, TensorArgument, bind_arguments, record_kernel
from pipeline.emulator.frontend.values import dtype_of
from pipeline.emulator.operations import Observation, Severity
from pipeline.emulator.program import ProgramError, validate
from pipeline.emulator.program.instructions import Program

__all__ = ["Arguments", "execute_kernel"]

Array = np.ndarray[Any, Any]
#: Positional and keyword arguments of one call.
Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]

#: Verdict of what the machine refuses; anything else is the kernel's own run-time error.
_VERDICTS: Final = {"memory": KernelErrorKind.TOO_LARGE, "unsupported": KernelErrorKind.UNSUPPORTED}


@dataclass(frozen=True, slots=True)
class _Given:
    """An array argument.

    Attributes:
        value: As the caller passed it.
        array: The same memory as a NumPy array.
        stored: In the data type in which the kernel sees it.
        spec: What the kernel is told of it.
    """

    value: Any
    array: Array
    stored: Array
    spec: InputSpec


def execute_kernel(
    session: Session,
    function: Callable[..., Any],
    cores: int,
    ranks: Sequence[Arguments],
) -> list[Any]:
    """Run a kernel on arrays.

    Args:
        session: Whose target and version hold.
        function: The undecorated kernel.
        cores: Logical NeuronCores to run it on.
        ranks: Per rank its positional and its keyword arguments: arrays of NumPy or torch, and compile-time
            values. The kernel is recorded for the first rank, so they may differ in the values of arrays
            only.

    Returns:
        What the kernel returns on each rank, as the caller's kind of array: one, or a tuple.

    Raises:
        KernelError: Whatever is wrong with the kernel, with file and line.
    """
    _check_language(session, function)
    # For pytest, as in `Kernel.__call__`.
    __tracebackhide__ = True
    with noted_files() as files:
        try:
            return _execute(session, function, cores, ranks)
        except Exception as error:
            if isinstance(error, KernelError) and not error.file:
                named = files.get(error.line, set())
                error.file = next(iter(named)) if len(named) == 1 else ""
            locate(error, function)
            raise


def _check_language(session: Session, function: Callable[..., Any]) -> None:
    """Refuse what the compiler's front end refuses in the text of a kernel's module.

    Raises:
        KernelError: For the first such construct, with file and line.
    """
    path = inspect.getsourcefile(inspect.unwrap(function)) if inspect.isfunction(function) else None
    text = "".join(linecache.getlines(path)) if path is not None else ""
    for finding in _language_findings(text, function.__name__, session.version) if text else ():
        if finding.severity is Severity.ERROR:
            error = KernelError(KernelErrorKind.COMPILE_ERROR, finding.message, finding.line)
            error.file = path or ""
            raise error
        session.notice(finding.message, finding.line, function)


@lru_cache(maxsize=256)
def _language_findings(text: str, entry: str, version: str) -> tuple[Finding, ...]:
    return tuple(check_source(text, entry, version))


def _execute(
    session: Session, function: Callable[..., Any], cores: int, ranks: Sequence[Arguments]
) -> list[Any]:
    # Executing is for interactive use; a child that only records must not load the machine.
    from pipeline.emulator.legality import check, mutated_inputs, unwritten
    from pipeline.emulator.machine import Machine, MachineError
    from pipeline.emulator.program.widening import widen

    taken = [_take_all(bind_arguments(function, args, kwargs)) for args, kwargs in ranks]
    arguments, given = taken[0]
    for place, (other, arrays) in enumerate(taken):
        if other != arguments or [e.spec for e in arrays.values()] != [e.spec for e in given.values()]:
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                f"rank {place} is called with other shapes, data types or compile-time values than rank 0: "
                "one program runs on all ranks",
            )
    program, many = record_kernel(
        session, function, arguments, {name: entry.spec for name, entry in given.items()}, cores=cores
    )
    returned = len(program.outputs)
    try:
        validate(program)
    except ProgramError as error:
        raise KernelError(KernelErrorKind.UNSUPPORTED, f"the program is not well formed: {error}") from None
    for violation in check(program):
        if violation.severity is Severity.ERROR:
            raise KernelError(KernelErrorKind.ILLEGAL_ON_TARGET, violation.message, violation.line)
        session.notice(violation.message, violation.line, function)
    for place, region in unwritten(program).items():
        tensor = program.tensors[program.outputs[place]]
        session.notice(
            f"{tensor.name} is returned, but {region.count} of its elements are never written, the first at "
            f"{list(region.first_index)}",
            tensor.line,
            function,
        )
    written = [program.inputs[place] for place in mutated_inputs(program)]
    outputs = tuple(dict.fromkeys((*program.outputs, *written)))
    program = msgspec.structs.replace(program, outputs=outputs)
    if session.keeps_float32:
        program = widen(program)
    try:
        runs = Machine(program).execute([_inputs(program, arrays) for _, arrays in taken])
    except MachineError as error:
        kind = _VERDICTS.get(error.rule, KernelErrorKind.RUNTIME_ERROR)
        raise KernelError(kind, error.message, error.line) from None
    handed: list[Any] = []
    for (_, arrays), run in zip(taken, runs, strict=True):
        for observation in run.observations:
            session.notice(_observed(observation), program.instructions[observation.position].line, function)
        for index, entry in zip(program.inputs, arrays.values(), strict=True):
            if index in written:
                result = run.outputs[outputs.index(index)]
                entry.array[...] = result.view(entry.array.dtype) if entry.array.dtype.names else result
        example = next((entry.value for entry in arrays.values()), None)
        results = [like(result, example) for result in run.outputs[:returned]]
        handed.append(tuple(results) if many else results[0])
    return handed


def _observed(observation: Observation) -> str:
    return (
        f"{observation.function} met values from {observation.least:g} to {observation.greatest:g}, outside "
        f"[{observation.low:g}, {observation.high:g}], for which it is defined"
    )


def _take_all(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, _Given]]:
    """Return the arguments of one rank, and the arrays among them by name."""
    given: dict[str, _Given] = {}
    return {name: _take(name, value, given) for name, value in arguments.items()}, given


def _take(name: str, value: Any, given: dict[str, _Given]) -> Any:
    """Return an argument with what stands for its arrays in their place; an array passed twice is one tensor.

    Args:
        name: What messages call it.
        value: As passed; arrays may lie within tuples, lists and dictionaries.
        given: The arrays found, by name; extended.
    """
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(_take(f"{name}[{place}]", part, given) for place, part in enumerate(value))
    if type(value) is list:
        return [_take(f"{name}[{place}]", part, given) for place, part in enumerate(value)]
    if type(value) is dict:
        return {key: _take(f"{name}[{key!r}]", part, given) for key, part in value.items()}
    array = as_array(value)
    if array is None:
        return value
    known = next((other for other, entry in given.items() if entry.value is value), None)
    if known is None:
        spec = InputSpec(name, array.shape, dtype_of(array.dtype, narrow=True))
        known, given[name] = name, _Given(value, array, _as_stored(array), spec)
    return TensorArgument(known)


def _inputs(program: Program, given: Mapping[str, _Given]) -> list[Array]:
    return [
        np.asarray(entry.stored, DTYPES[program.tensors[index].dtype].storage)
        for index, entry in zip(program.inputs, given.values(), strict=True)
    ]


def _as_stored(array: Array) -> Array:
    """Return an argument in the data type a kernel sees it in: 64-bit types arrive as 32-bit ones."""
    storage = DTYPES[dtype_of(array.dtype, narrow=True)].storage
    # Packed types come as structures of one word, named after the type.
    return np.ascontiguousarray(array).view(storage) if array.dtype.names else np.asarray(array, storage)
