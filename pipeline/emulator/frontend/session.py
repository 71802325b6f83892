"""The session that the calls of a submission find: chip, version, and the kernel being recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.targets import Target
from pipeline.emulator.toolchain import VERSIONS

if TYPE_CHECKING:
    from pipeline.emulator.frontend.loops import Loops
    from pipeline.emulator.frontend.recorder import Recorder

__all__ = [
    "Session",
    "active_recorder",
    "active_session",
    "calling_line",
    "is_recording",
    "note_failure",
    "noted_files",
    "open_session",
]

_OUR_CODE: Final = str(Path(__file__).parent) + "/"


class _Ours(dict[str, bool]):
    """Whether a file is ours; remembered, as every instruction recorded asks."""

    def __missing__(self, file: str) -> bool:
        self[file] = file.startswith(_OUR_CODE)
        return self[file]


_OURS: Final = _Ours()


@dataclass(slots=True)
class Session:
    """What the functions of `nki` need to know about the outside.

    Attributes:
        target: The chip.
        version: NKI version.
        instruction_limit: Of every kernel recorded.
        recorder: Of the kernel being recorded, None between kernels.
        cores: Logical NeuronCores that run the kernel being recorded.
        keeps_float32: Whether kernels executed on arrays keep narrow floats as float32 (NKI_PRECISE_FP=0).
        missing: The last name a module of ours was asked for in vain.
    """

    target: Target
    version: str
    instruction_limit: int
    recorder: Recorder | None = None
    cores: int = 1
    keeps_float32: bool = False
    missing: KernelError | None = None

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise KeyError(f"unknown NKI version {self.version!r}; known: {', '.join(VERSIONS)}")

    def notice(self, message: str, line: int, function: Callable[..., Any]) -> None:
        """Hear a warning about a kernel executed on arrays; nobody listens here."""

    @property
    def loops(self) -> Loops:
        """The run-time loops of the core being recorded."""
        return active_recorder().loops


_ACTIVE: ContextVar[Session | None] = ContextVar("nki_session", default=None)
#: Where a kernel spreads over several modules: the files that called us, by line.
_FILES: ContextVar[dict[int, set[str]] | None] = ContextVar("nki_files", default=None)
#: Sessions open in any thread: a thread that a script starts begins with an empty context.
_OPEN: Final[list[Session]] = []


@contextmanager
def open_session(session: Session) -> Iterator[Session]:
    """Make `session` the one that calls of `nki` find."""
    token = _ACTIVE.set(session)
    _OPEN.append(session)
    try:
        yield session
    finally:
        _OPEN.remove(session)
        _ACTIVE.reset(token)


def _current() -> Session | None:
    return _ACTIVE.get() or (_OPEN[-1] if _OPEN else None)


def active_session() -> Session:
    """Return the current session.

    Raises:
        KernelError: If there is none: `nki` was used outside `trace` and `run_script`.
    """
    session = _current()
    if session is None:
        raise KernelError(KernelErrorKind.RUNTIME_ERROR, "nki was called with no emulator session open")
    return session


def active_recorder() -> Recorder:
    """Return the recorder of the kernel being traced.

    Raises:
        KernelError: If no kernel is being traced.
    """
    session = _ACTIVE.get() or _current()
    if session is None or session.recorder is None:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            "an NKI function was called outside a kernel; call it from a function decorated with @nki.jit",
        )
    return session.recorder


def is_recording() -> bool:
    """Whether a kernel is being traced."""
    session = _current()
    return session is not None and session.recorder is not None


@contextmanager
def noted_files() -> Iterator[dict[int, set[str]]]:
    """Note in which files the lines are that call us."""
    files: dict[int, set[str]] = {}
    token = _FILES.set(files)
    try:
        yield files
    finally:
        _FILES.reset(token)


def note_failure(error: KernelError) -> None:
    """Remember the first refusal of the kernel being recorded.

    The compiler stops there; a kernel that catches our exception in a helper function must not get further.
    """
    session = _current()
    if session is not None and session.recorder is not None and session.recorder.failure is None:
        error.line = error.line or calling_line()
        session.recorder.failure = error


def calling_line() -> int:
    """Return the line at which the submission called us, the innermost frame that is not ours."""
    frame = sys._getframe(2)
    while _OURS[frame.f_code.co_filename]:
        if frame.f_back is None:
            return 0
        frame = frame.f_back
    files = _FILES.get()
    if files is not None:
        files.setdefault(frame.f_lineno, set()).add(frame.f_code.co_filename)
    return frame.f_lineno
