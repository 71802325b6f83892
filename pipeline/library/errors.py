"""What the library raises: a fault with its owner, one clear line."""

from __future__ import annotations

from pipeline.errors import GraderError
from pipeline.types import Fault, Owner

__all__ = ["LibraryError", "TaskError"]


class LibraryError(GraderError):
    """Something asked of the library does not exist or cannot be trusted."""


class TaskError(LibraryError):
    """A task folder that cannot be graded against; the task's author has to act."""

    @classmethod
    def at(cls, where: str, message: str, remedy: str, code: str = "invalid_task") -> TaskError:
        """Return the error for `where` (file, then key) of a task folder."""
        return cls(Fault(owner=Owner.TASK, code=code, message=message, where=where, remedy=remedy))
