"""One instruction with its names resolved: what legality, machine and timeline reason about.

A `Call` holds no tensor identity and no line, so that the thousands of equal instructions of an unrolled loop
share one: limits are checked and semantics bound once per distinct call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.randomness import RandomState
from pipeline.emulator.targets import Target
from pipeline.emulator.toolchain.versions import NEWEST

if TYPE_CHECKING:
    from pipeline.emulator.operations.table import Operation
    from pipeline.emulator.program import Scalar

__all__ = ["Call", "Kernel", "Observation", "Operand", "Participant", "Registers", "memory_of"]

_LANES: Final = 128
_FLOAT32: Final = np.dtype(np.float32)

#: Runs one instruction: takes the core's `Registers`, then one array per tensor slot of the operation, None
#: where the argument is absent or a number.
Kernel = Callable[..., None]


class Observation(NamedTuple):
    """Values that an instruction met outside the range in which its function is defined.

    Attributes:
        position: Of the instruction, in the program.
        function: Activation function.
        low: Least value of the documented range.
        high: Greatest value of the documented range.
        least: Least value met.
        greatest: Greatest value met.
    """

    position: int
    function: str
    low: float
    high: float
    least: float
    greatest: float


@dataclass(slots=True)
class Registers:
    """What one core keeps from one instruction to the next, beside its memories.

    Attributes:
        scalar: The scalar engine's ``reduce_regs``: float32, one per lane.
        vector: The vector engine's accumulators: float32, one per lane.
        virtual: Values of the virtual registers.
        random: State of the random number generators.
        rank: Which rank of a collective this is.
        core: Which logical NeuronCore of the rank this is.
        position: Of the instruction running; kept for operations that observe, only.
        observations: First observation of each instruction.
    """

    scalar: np.ndarray[Any, Any]
    vector: np.ndarray[Any, Any]
    virtual: list[int]
    random: RandomState
    rank: int = 0
    core: int = 0
    position: int = 0
    observations: dict[int, Observation] = field(default_factory=dict)

    @classmethod
    def fresh(
        cls,
        virtual: int = 0,
        *,
        seed: int = 0,
        rank: int = 0,
        core: int = 0,
        precision: np.dtype[Any] = _FLOAT32,
    ) -> Registers:
        """Return registers as a program finds them: accumulators undefined, generators seeded.

        Args:
            virtual: How many virtual registers.
            seed: Of the random number generators; equal seeds give equal numbers.
            rank: See `Registers`.
            core: See `Registers`.
            precision: Of the accumulators; float64 for a wide program.
        """
        undefined = np.full((2, _LANES), np.nan, precision)
        random = RandomState(seed, rank, core)
        return cls(undefined[0], undefined[1], [0] * virtual, random, rank, core)

    def observe(self, function: str, low: float, high: float, least: float, greatest: float) -> None:
        """Note that the instruction running met values outside [low, high]."""
        self.observations.setdefault(
            self.position, Observation(self.position, function, low, high, least, greatest)
        )


class Participant(NamedTuple):
    """One of those who meet at an instruction that waits for others.

    Attributes:
        call: Its own instruction.
        registers: Its registers, which say its rank and core.
        views: One array per tensor slot, None where absent.
    """

    call: Call
    registers: Registers
    views: Sequence[np.ndarray[Any, Any] | None]


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
        dynamic: Kinds of run-time offsets (`Offset.kind`), in order; empty for a static pattern.
        indices: Per run-time offset the index tensor that supplies it, None for a register.
    """

    memory: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0
    first_byte: int = 0
    last_byte: int = 0
    dynamic: tuple[str, ...] = ()
    indices: tuple[Operand | None, ...] = ()

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
        version: NKI version that the kernel is written for.
    """

    operation: Operation
    engine: str
    target: Target
    operands: tuple[Operand | None, ...]
    scalars: tuple[Scalar, ...]
    version: str = NEWEST

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

    @property
    def precision(self) -> np.dtype[Any]:
        """In what the engine computes: float32, or float64 if the operands are of wide types."""
        wide = any(operand is not None and DTYPES[operand.dtype].wide for operand in self.operands)
        return np.dtype(np.float64 if wide else np.float32)

    def scalar(self, name: str) -> Scalar:
        """Return the compile-time argument called `name`."""
        return self.scalars[self.operation.scalar_slots[name]]
