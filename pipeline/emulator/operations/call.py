"""One instruction with its names resolved: what legality, machine and timeline reason about.

A `Call` holds no tensor identity and no line, so that the thousands of equal instructions of an unrolled loop
share one: limits are checked and semantics bound once per distinct call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.emulator.targets import Target

if TYPE_CHECKING:
    from pipeline.emulator.operations.table import Operation
    from pipeline.emulator.program import Scalar

__all__ = ["Call", "Kernel", "Operand", "Registers", "memory_of"]

#: Runs one instruction: takes the core's `Registers`, then one array per tensor slot of the operation, None
#: where the argument is absent or a number.
Kernel = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Registers:
    """Accumulator registers that survive from one instruction to the next.

    Attributes:
        scalar: The scalar engine's ``reduce_regs``: float32, one per lane.
        vector: The vector engine's accumulators: float32, one per lane.
    """

    scalar: np.ndarray[Any, Any]
    vector: np.ndarray[Any, Any]


def memory_of(buffer: str) -> str:
    """Return the memory a buffer lies in: ``hbm`` for every HBM buffer, else the buffer itself."""
    return "hbm" if buffer.endswith("hbm") else buffer


class Operand(NamedTuple):
    """A tensor argument, as an access pattern.

    Attributes:
        memory: ``"hbm"``, ``"sbuf"`` or ``"psum"``.
        dtype: NKI dtype of the elements touched.
        shape: Elements per dimension; on chip the first is the partition dimension.
        strides: Elements per step of each dimension.
        start: First partition, 0 in HBM.
        first_byte: Lowest byte touched within a partition; kept for PSUM only, where it decides the bank.
        last_byte: Highest byte touched within a partition; kept for PSUM only.
    """

    memory: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0
    first_byte: int = 0
    last_byte: int = 0

    @property
    def partitions(self) -> int:
        """Elements of the first dimension."""
        return self.shape[0] if self.shape else 1

    @property
    def free_elements(self) -> int:
        """Elements per partition."""
        return prod(self.shape[1:])

    @property
    def elements(self) -> int:
        """Elements in all."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Call:
    """One instruction, resolved.

    Attributes:
        operation: Its table entry.
        engine: Name of the engine that runs it.
        target: The chip.
        operands: One per tensor slot of the operation, None where absent or a number.
        scalars: One per scalar slot.
    """

    operation: Operation
    engine: str
    target: Target
    operands: tuple[Operand | None, ...]
    scalars: tuple[Scalar, ...]

    def operand(self, name: str) -> Operand | None:
        """Return the tensor argument called `name`, or None."""
        return self.operands[self.operation.tensor_slots[name]]

    def tensor(self, name: str) -> Operand:
        """Return the tensor argument called `name`.

        Raises:
            KeyError: If it is absent; a validated program never omits a required tensor.
        """
        operand = self.operand(name)
        if operand is None:
            raise KeyError(name)
        return operand

    def scalar(self, name: str) -> Scalar:
        """Return the compile-time argument called `name`."""
        return self.scalars[self.operation.scalar_slots[name]]
