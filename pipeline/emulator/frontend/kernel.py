"""`nki.jit` and `nki.simulate`: a kernel is inlined inside another, and executed on NumPy arrays outside."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import msgspec
import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.recorder import active_session
from pipeline.emulator.frontend.signature import bind_arguments, record_kernel
from pipeline.emulator.frontend.values import dtype_of
from pipeline.emulator.program import validate

__all__ = ["Kernel", "jit", "simulate"]

#: Keywords of ``@nki.jit`` that are accepted and change nothing here. Source: facts/nki.md section 1.3 and
#: emulator_findings.md, finding 16.
_ACCEPTED: Final = frozenset(
    {"mode", "debug_kernel", "show_compiler_tb", "experimental_flags", "additional_compile_opt"}
)
_REFUSED: Final = {
    "platform_target": "set NEURON_PLATFORM_TARGET_OVERRIDE instead",
    "kernel_return": "kernels return their outputs; leave it out",
}


class Kernel:
    """A function decorated with ``@nki.jit``.

    Attributes:
        function: The undecorated function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __getitem__(self, lnc: Any) -> Kernel:
        if lnc in (1, (1,)):
            return self
        if lnc in (2, (2,)):
            raise KernelError(
                KernelErrorKind.UNSUPPORTED,
                "kernel[2]: two logical NeuronCores are not emulated yet; launch with kernel[1]",
            )
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"kernel[{lnc!r}]: the launch grid is lnc, which is 1 or 2"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run inline inside another kernel; on NumPy arrays outside.

        Raises:
            KernelError: Whatever is wrong with the kernel.
        """
        if active_session().recorder is not None:
            return self.function(*args, **kwargs)
        return _execute(self.function, args, kwargs)


def jit(fn: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """Make a kernel of a function; usable with and without arguments.

    Raises:
        KernelError: For keywords that NKI refuses or does not have.
    """
    for keyword in kwargs:
        if keyword in _REFUSED:
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR, f"nki.jit({keyword}=) was removed; {_REFUSED[keyword]}"
            )
        if keyword not in _ACCEPTED:
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR, f"nki.jit got an unexpected keyword argument {keyword!r}"
            )
    if fn is None:
        return jit
    if isinstance(fn, Kernel):
        return fn
    if not callable(fn):
        raise KernelError(KernelErrorKind.COMPILE_ERROR, f"nki.jit takes a function, not {type(fn).__name__}")
    return Kernel(fn)


def simulate(kernel: Callable[..., Any]) -> Any:
    """Return a callable that executes `kernel` on NumPy arrays."""
    return jit(kernel)


def _execute(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record `function` for these arguments, run the program, and return what the kernel returned.

    Arrays that the kernel writes are updated in place, as `nki.simulate` documents.
    """
    # Executing is for interactive use; a child that only records must not load the machine.
    from pipeline.emulator.legality import Severity, check, mutated_inputs
    from pipeline.emulator.machine import Machine, MachineError

    arguments = bind_arguments(function, args, kwargs)
    arrays = {name: _as_stored(value) for name, value in arguments.items() if isinstance(value, np.ndarray)}
    program, many = record_kernel(active_session(), function, arguments, arrays)
    validate(program)
    for violation in check(program):
        if violation.severity is Severity.ERROR:
            raise KernelError(KernelErrorKind.ILLEGAL_ON_TARGET, violation.message, violation.line)
    written = [program.inputs[place] for place in mutated_inputs(program)]
    outputs = tuple(dict.fromkeys((*program.outputs, *written)))
    try:
        results = Machine(msgspec.structs.replace(program, outputs=outputs)).run(list(arrays.values()))
    except MachineError as error:
        raise KernelError(KernelErrorKind.RUNTIME_ERROR, error.message, error.line) from None
    for index, name in zip(program.inputs, arrays, strict=True):
        if index in written:
            arguments[name][...] = results[outputs.index(index)]
    return tuple(results[: len(program.outputs)]) if many else results[0]


def _as_stored(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an argument in the data type a kernel sees it in: 64-bit types arrive as 32-bit ones."""
    return np.asarray(array, DTYPES[dtype_of(array.dtype, narrow=True)].storage)
