"""What is wrong with a kernel, in one line that its author can act on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath

__all__ = ["KernelError", "KernelErrorKind", "MissingName", "NkiValidationError"]


class KernelErrorKind(StrEnum):
    """Why a kernel could not be recorded."""

    COMPILE_ERROR = "compile_error"  # the NKI compiler would refuse the source
    ILLEGAL_ON_TARGET = "illegal_on_target"  # the chip cannot do it
    RUNTIME_ERROR = "runtime_error"  # the submission's own Python code raised
    UNSUPPORTED = "unsupported"  # correct NKI, but this emulator does not know it
    TOO_LARGE = "too_large"  # beyond the emulator's limits
    NO_DEVICE_WORK = "no_device_work"  # nothing was recorded


class KernelError(Exception):
    """A kernel that cannot be recorded.

    Attributes:
        kind: Which verdict it amounts to.
        message: What, where, which limit, what to do; one line.
        line: Line of the submission, 1-based; 0 where none applies.
        file: That the line is of; empty where a kernel is one file, as a submission is.
    """

    def __init__(self, kind: KernelErrorKind | str, message: str, line: int = 0) -> None:
        super().__init__(kind, message, line)
        self.kind = KernelErrorKind(kind)
        self.message = message
        self.line = line
        self.file = ""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        file = f"{PurePath(self.file).name}, " if where and self.file else ""
        return f"{file}{where}{self.message}"


class MissingName(KernelError, AttributeError):
    """A name that a module or a tensor does not have.

    Also an `AttributeError`, so that ``hasattr`` and ``getattr`` with a default work as everywhere.
    """


class NkiValidationError(Exception):
    """What `nki.isa` exports under this name; kernels raise it for limits of their own."""
