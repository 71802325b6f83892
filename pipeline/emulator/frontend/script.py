"""Run any script or module with `nki` resolved to the emulator."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from pipeline.emulator.frontend.errors import KernelError
from pipeline.emulator.frontend.imports import explain_import
from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.recorder import Session
from pipeline.emulator.frontend.trace import DEFAULT_VERSION
from pipeline.emulator.program import DEFAULT_LIMITS
from pipeline.emulator.targets import target_named

__all__ = ["run_script"]

DEFAULT_TARGET: Final = "trn2"


def run_script(
    path: str,
    argv: Sequence[str] = (),
    *,
    module: bool = False,
    target: str = DEFAULT_TARGET,
    version: str = DEFAULT_VERSION,
) -> int:
    """Run a Python file or a module as ``python`` would; kernels it calls execute on the emulator.

    Args:
        path: File, or dotted name of the module.
        argv: Its command line arguments.
        module: Whether `path` names a module, as after ``python -m``.
        target: ``"trn1"``, ``"trn2"`` or ``"trn3"``.
        version: NKI version.

    Returns:
        The exit code the script ends with; 1 if it raises, after printing what and where.
    """
    session = Session(target_named(target), version, DEFAULT_LIMITS.instructions)
    saved_argv, saved_path = sys.argv, sys.path
    sys.argv = [path, *argv]
    sys.path = [str(Path.cwd()) if module else str(Path(path).resolve().parent), *saved_path]
    try:
        with installed_modules(session):
            if module:
                runpy.run_module(path, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(path, run_name="__main__")
        return 0
    except SystemExit as error:
        return _exit_code(error.code)
    except KernelError as error:
        print(f"{path}: {_position(error, path)}{error.kind.value}: {error.message}", file=sys.stderr)
        return 1
    except ImportError as error:
        refused = explain_import(error, session)
        if refused is None:
            _print_traceback(error)
        else:
            print(
                f"{path}: {_position_of(error, path)}{refused.kind.value}: {refused.message}", file=sys.stderr
            )
        return 1
    except Exception as error:
        _print_traceback(error)
        return 1
    finally:
        sys.argv, sys.path = saved_argv, saved_path


def _exit_code(code: object) -> int:
    """Return what the shell would see."""
    if code is None:
        return os.EX_OK
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _position(error: KernelError, path: str) -> str:
    """Return the line that a kernel error names, else the innermost one outside this package."""
    return f"line {error.line}: " if error.line else _position_of(error, path)


def _position_of(error: Exception, path: str) -> str:
    """Return the innermost line outside this package, as ``line N: ``."""
    frames = _their_frames(traceback.extract_tb(error.__traceback__))
    if not frames:
        return ""
    last = frames[-1]
    where = "" if Path(last.filename).name == Path(path).name else f"{last.filename} "
    return f"{where}line {last.lineno}: "


def _print_traceback(error: Exception) -> None:
    """Print what Python would, without the frames of this package."""
    summary = traceback.TracebackException.from_exception(error)
    summary.stack = traceback.StackSummary.from_list(_their_frames(summary.stack))
    print("".join(summary.format()), end="", file=sys.stderr)


def _their_frames(frames: Iterable[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    package = str(Path(__file__).parent)
    return [f for f in frames if not f.filename.startswith(package) and f.filename != "<frozen runpy>"]
