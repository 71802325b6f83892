"""Where in their code an exception arose: its file and line, and a traceback without frames of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from pipeline.emulator.frontend.errors import KernelError

__all__ = ["locate", "position_of", "their_traceback"]

_Error = TypeVar("_Error", bound=BaseException)

_OURS: Final = str(Path(__file__).resolve().parents[1]) + "/"
_INTERPRETER: Final = "<frozen "


def locate(error: _Error, function: Callable[..., Any] | None = None) -> _Error:
    """Say in an exception where their code raised it, and take our frames out of its traceback.

    Args:
        error: What a kernel raised while it was recorded, checked or executed.
        function: The kernel; its file is that of a line which no frame explains: an instruction that was
            recorded, and refused later.

    Returns:
        `error` itself.
    """
    theirs = their_traceback(error.__traceback__)
    if isinstance(error, KernelError) and not error.file:
        places = list(_places(theirs))
        if not error.line and places:
            error.file, error.line = places[-1]
        elif error.line:
            here = [file for file, line in reversed(places) if line == error.line]
            error.file = here[0] if here else _file_of(function)
    return error.with_traceback(theirs)


def position_of(error: BaseException) -> tuple[str, int]:
    """Return the innermost file and line of theirs, or an empty file and 0."""
    return next(reversed(list(_places(error.__traceback__))), ("", 0))


def their_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package and of the interpreter's own modules."""
    kept: list[TracebackType] = []
    while traceback is not None:
        if _is_theirs(traceback.tb_frame.f_code.co_filename):
            kept.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for frame in reversed(kept):
        result = TracebackType(result, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return result


def _places(traceback: TracebackType | None) -> Iterator[tuple[str, int]]:
    """Yield file and line of each frame of theirs, outermost first."""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if _is_theirs(file):
            yield file, traceback.tb_lineno
        traceback = traceback.tb_next


def _is_theirs(file: str) -> bool:
    return not file.startswith((_OURS, _INTERPRETER))


def _file_of(function: Callable[..., Any] | None) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else str(code.co_filename)
