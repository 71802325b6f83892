"""Run any script or module with `nki` resolved to the emulator."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pipeline.emulator.frontend.environment import (
    PRECISION_VARIABLE,
    SIMULATOR_VARIABLE,
    TARGET_VARIABLE,
    keeps_float32,
    target_of,
)
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.imports import explain_import
from pipeline.emulator.frontend.locating import locate, position_of, their_traceback
from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.session import Session
from pipeline.emulator.frontend.trace import DEFAULT_VERSION
from pipeline.emulator.program import DEFAULT_LIMITS
from pipeline.emulator.targets import Target, target_named

__all__ = ["DEFAULT_TARGET", "VERSION_VARIABLE", "ScriptSession", "run_script"]

#: AWS's simulator defaults to trn3; a kernel that is legal on trn2 is nearly always legal on trn3 too, and
#: not the other way round.
DEFAULT_TARGET: Final = "trn2"
#: Tells the processes that a test run starts which NKI version it is for.
VERSION_VARIABLE: Final = "NKI_GRADER_EMULATED_VERSION"
_PLUGINS_VARIABLE: Final = "PYTEST_PLUGINS"
_PLUGIN: Final = "pipeline.emulator.frontend.pytest_plugin"


class ScriptSession(Session):
    """A session whose chip and precision may come from the environment, also from one that a script sets.

    AWS's own examples set ``NEURON_PLATFORM_TARGET_OVERRIDE`` after importing `nki`, so the environment is
    read whenever a kernel is called.
    """

    __slots__ = ("_fixed", "_noticed")

    def __init__(self, target: str | None, version: str) -> None:
        """Open a session.

        Args:
            target: The chip, whatever the environment says; None to follow the environment.
            version: NKI version.
        """
        self._fixed = None if target is None else target_named(target)
        self._noticed: set[tuple[str, int, str]] = set()
        super().__init__(target_named(target or DEFAULT_TARGET), version, DEFAULT_LIMITS.instructions)

    @property
    def target(self) -> Target:
        """The chip.

        Raises:
            KernelError: If the environment names one that there is not.
        """
        if self._fixed is not None:
            return self._fixed
        try:
            return target_named(target_of(os.environ) or DEFAULT_TARGET)
        except ValueError as error:
            raise KernelError(KernelErrorKind.COMPILE_ERROR, str(error)) from None

    @target.setter
    def target(self, target: Target) -> None:
        """Do nothing: what `Session` is opened with is what this property finds out."""

    @property
    def keeps_float32(self) -> bool:
        """Whether the environment asks for narrow floats to be kept as float32."""
        try:
            return keeps_float32(os.environ)
        except ValueError as error:
            raise KernelError(KernelErrorKind.COMPILE_ERROR, str(error)) from None

    @keeps_float32.setter
    def keeps_float32(self, kept: bool) -> None:
        """Do nothing, as for `target`."""

    def notice(self, message: str, line: int, function: Callable[..., Any]) -> None:
        """Print a warning about a kernel, once however often it is called."""
        file = function.__code__.co_filename
        if (file, line, message) not in self._noticed:
            self._noticed.add((file, line, message))
            print(_said(file, line, f"warning: {message}"), file=sys.stderr)


def run_script(
    path: str,
    argv: Sequence[str] = (),
    *,
    module: bool = False,
    target: str | None = None,
    version: str = DEFAULT_VERSION,
) -> int:
    """Run a Python file or a module as ``python`` would; kernels it calls execute on the emulator.

    Args:
        path: File, or dotted name of the module.
        argv: Its command line arguments.
        module: Whether `path` names a module, as after ``python -m``.
        target: ``"trn1"``, ``"trn2"`` or ``"trn3"``; by default what the environment asks for, else trn2.
        version: NKI version.

    Returns:
        The exit code the script ends with; 1 if it raises, after printing what and where.
    """
    session = ScriptSession(target, version)
    variables = {SIMULATOR_VARIABLE: "1", VERSION_VARIABLE: version}
    if target is not None:
        variables[TARGET_VARIABLE] = target
    if module and path == "pytest":
        named = os.environ.get(_PLUGINS_VARIABLE)
        variables[_PLUGINS_VARIABLE] = f"{named},{_PLUGIN}" if named else _PLUGIN
    saved_argv, saved_path = sys.argv, sys.path
    sys.argv = [path, *argv]
    sys.path = [str(Path.cwd()) if module else str(Path(path).resolve().parent), *saved_path]
    try:
        with installed_modules(session), _environment(variables):
            if module:
                runpy.run_module(path, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(path, run_name="__main__")
        return 0
    except SystemExit as error:
        return _exit_code(error.code)
    except KernelError as error:
        _print_refusal(locate(error))
        return 1
    except ImportError as error:
        refused = explain_import(error, session)
        if refused is None:
            _print_traceback(error)
        else:
            refused.file, refused.line = position_of(error)
            _print_refusal(refused)
        return 1
    except Exception as error:
        _print_traceback(error)
        return 1
    finally:
        sys.argv, sys.path = saved_argv, saved_path


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for the script; afterwards they, and those of NKI, are as they were."""
    names = {SIMULATOR_VARIABLE, TARGET_VARIABLE, PRECISION_VARIABLE, *variables}
    saved = {name: os.environ.get(name) for name in names}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _exit_code(code: object) -> int:
    """Return what the shell would see."""
    if code is None:
        return os.EX_OK
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _print_refusal(error: KernelError) -> None:
    """Print one line: file, line, what is wrong."""
    print(_said(error.file, error.line, f"{error.kind.value}: {error.message}"), file=sys.stderr)


def _said(file: str, line: int, text: str) -> str:
    shown = _shown(file)
    return f"{shown + ': ' if shown else ''}{f'line {line}: ' if line else ''}{text}"


def _shown(file: str) -> str:
    """Return a path from here where it lies below, else as it is."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def _print_traceback(error: Exception) -> None:
    """Print what Python would, without the frames of this package."""
    theirs = error.with_traceback(their_traceback(error.__traceback__))
    print("".join(traceback.format_exception(theirs)), end="", file=sys.stderr)
