"""Run a kernel from Python: the emulator as a function."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.execution import Arguments, execute_kernel
from pipeline.emulator.frontend.imports import explain_import
from pipeline.emulator.frontend.kernel import Kernel, jit
from pipeline.emulator.frontend.locating import locate, position_of
from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.script import ScriptSession
from pipeline.emulator.frontend.trace import DEFAULT_VERSION

__all__ = ["emulated", "run", "run_ranks"]


def run(
    kernel: Callable[..., Any] | str | Path,
    *arguments: Any,
    target: str | None = None,
    version: str = DEFAULT_VERSION,
    lnc: int = 1,
    **keywords: Any,
) -> Any:
    """Execute a kernel on arrays and return what it returns.

    Args:
        kernel: A function, with or without ``@nki.jit``, whose module was imported under `emulated` or
            imports `nki` inside the function; or the path of a file, as ``"kernels.py"`` where it holds one
            kernel and ``"kernels.py:softmax"`` where it holds several.
        *arguments: Its arguments: NumPy or PyTorch arrays, numbers, tuples. Arrays that the kernel writes
            are updated in place.
        target: ``"trn1"``, ``"trn2"`` or ``"trn3"``; by default what the environment asks for, else trn2.
        version: NKI version whose rules hold.
        lnc: Logical NeuronCores to launch on, 1 or 2.
        **keywords: More of its arguments.

    Returns:
        An array, or a tuple of arrays where the kernel returns several, of the kind that it was called with.

    Raises:
        KernelError: Whatever is wrong with the kernel, with its file and line.
        KeyError: If there is no such target or version.
    """
    session = ScriptSession(target, version)
    with installed_modules(session):
        try:
            found = _load(str(kernel)) if isinstance(kernel, str | Path) else jit(kernel)
            return found[lnc](*arguments, **keywords)
        except KernelError as error:
            raise locate(error, getattr(kernel, "function", None)) from None
        except ImportError as error:
            refused = explain_import(error, session)
            if refused is None:
                raise
            refused.file, refused.line = position_of(error)
            raise refused from None


def run_ranks(
    kernel: Callable[..., Any] | str | Path,
    arguments_by_rank: Sequence[Sequence[Any]],
    *,
    target: str | None = None,
    version: str = DEFAULT_VERSION,
    lnc: int = 1,
) -> list[Any]:
    """Execute a kernel with collectives on several ranks, which meet at them.

    Args:
        kernel: See `run`.
        arguments_by_rank: Per rank its positional arguments; the ranks may differ in the values of arrays
            only.
        target: See `run`.
        version: See `run`.
        lnc: Logical NeuronCores of each rank.

    Returns:
        What the kernel returns on each rank.

    Raises:
        KernelError: Whatever is wrong with the kernel, or ranks that wait for each other in vain.
        KeyError: If there is no such target or version.
    """
    session = ScriptSession(target, version)
    with installed_modules(session):
        found = _load(str(kernel)) if isinstance(kernel, str | Path) else jit(kernel)
        calls: list[Arguments] = [(tuple(arguments), {}) for arguments in arguments_by_rank]
        return execute_kernel(session, found[lnc].function, lnc, calls)


@contextmanager
def emulated(target: str | None = None, version: str = DEFAULT_VERSION) -> Iterator[None]:
    """Make ``import nki`` give the emulator inside the block; kernels called there execute on it.

    Args:
        target: As for `run`.
        version: As for `run`.

    Raises:
        KeyError: If there is no such target or version.
    """
    with installed_modules(ScriptSession(target, version)):
        yield


def _load(place: str) -> Kernel:
    """Import a file and return the kernel that ``path`` or ``path:name`` means."""
    path, name = place, ""
    if not Path(place).is_file():
        path, _, name = place.rpartition(":")
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path or place!r}")
    kernels = {key: value for key, value in vars(_import(Path(path))).items() if isinstance(value, Kernel)}
    if name in kernels:
        return kernels[name]
    if not name and len(kernels) == 1:
        return next(iter(kernels.values()))
    listed = f"it holds {', '.join(kernels)}" if kernels else "it holds no function with @nki.jit"
    asked = f"no kernel {name!r}" if name else "not exactly one kernel; say which, as in 'kernels.py:softmax'"
    raise KernelError(KernelErrorKind.COMPILE_ERROR, f"{path} holds {asked}; {listed}")


def _import(path: Path) -> ModuleType:
    """Execute a file as a module of its own; it finds its neighbours as a script would."""
    spec = importlib.util.spec_from_file_location(f"nki_kernels_{abs(hash(path.resolve())):x}", path)
    if spec is None or spec.loader is None:
        raise KernelError(KernelErrorKind.COMPILE_ERROR, f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    saved = sys.path
    sys.path = [str(path.resolve().parent), *saved]
    # Data classes look up the module that they are defined in.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path = saved
        del sys.modules[spec.name]
    return module
