"""`nki.jit` and `nki.simulate`: a kernel is inlined inside another, and executed on NumPy arrays outside."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.execution import execute_kernel
from pipeline.emulator.frontend.session import active_session

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
        cores: Logical NeuronCores it is launched on.
    """

    def __init__(self, function: Callable[..., Any], cores: int = 1) -> None:
        self.function = function
        self.cores = cores
        functools.update_wrapper(self, function)

    def __getitem__(self, lnc: Any) -> Kernel:
        """Return the kernel as it is launched on `lnc` logical NeuronCores.

        Raises:
            KernelError: If the grid is not 1 or 2, or the target has no two cores to join.
        """
        cores = lnc[0] if isinstance(lnc, tuple) and len(lnc) == 1 else lnc
        if cores not in (1, 2) or isinstance(cores, bool):
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR, f"kernel[{lnc!r}]: the launch grid is lnc, which is 1 or 2"
            )
        target = active_session().target
        if cores == 2 and target.name == "trn1":
            raise KernelError(
                KernelErrorKind.ILLEGAL_ON_TARGET,
                "kernel[2]: trn1 has no logical NeuronCores of two; launch with kernel[1]",
            )
        return Kernel(self.function, int(cores))

    def with_schedule(self, edges: Sequence[tuple[str, str | Sequence[str]]]) -> Kernel:
        """Return the kernel with edges for the compiler's scheduler, which change no value.

        Args:
            edges: Pairs of an instruction's name and the names of those it must wait for.

        Raises:
            KernelError: If they are something else.
        """
        for edge in edges:
            if not _is_edge(edge):
                raise KernelError(
                    KernelErrorKind.COMPILE_ERROR,
                    f"with_schedule takes pairs (name, name or list of names), not {str(edge)[:60]}",
                )
        return Kernel(self.function, self.cores)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run inline inside another kernel; on NumPy arrays or torch tensors outside.

        Raises:
            KernelError: Whatever is wrong with the kernel.
        """
        if active_session().recorder is not None:
            return self.function(*args, **kwargs)
        # For pytest: what a kernel raises points at the kernel.
        __tracebackhide__ = True
        return execute_kernel(active_session(), self.function, self.cores, [(args, kwargs)])[0]


def _is_edge(edge: object) -> bool:
    """Return whether something is a pair of a name, and a name or a list of names."""
    if not isinstance(edge, tuple | list) or len(edge) != 2 or not isinstance(edge[0], str):
        return False
    waited = edge[1]
    return isinstance(waited, str) or (
        isinstance(waited, tuple | list) and all(isinstance(name, str) for name in waited)
    )


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
