"""Which versions and chips have an operation."""

from __future__ import annotations

from pipeline.emulator.operations.table import Operation
from pipeline.emulator.toolchain import Name, find

__all__ = ["availability"]


def availability(operation: Operation) -> Name | Operation:
    """Return what says which versions and chips have an operation.

    That is the toolchain matrix for an operation that kernels call by name, and its own entry for the marks
    that only the frontend records.
    """
    return find(operation.module, operation.name) or operation
