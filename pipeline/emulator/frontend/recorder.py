"""The program under construction: tensors, access patterns and the instructions of each core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.loops import Loops
from pipeline.emulator.frontend.psum import WrittenRegions
from pipeline.emulator.frontend.session import calling_line
from pipeline.emulator.frontend.streams import Likeness, merge
from pipeline.emulator.frontend.values import NAMES, MemoryRegion
from pipeline.emulator.operations import memory_of
from pipeline.emulator.program import (
    DEFAULT_LIMITS,
    FORMAT_VERSION,
    AccessPattern,
    Constant,
    Instruction,
    Offset,
    Program,
    Scalar,
    Tensor,
)
from pipeline.emulator.targets import Target

if TYPE_CHECKING:
    from pipeline.emulator.frontend.tensor import NkiTensor

__all__ = ["DIALECT", "Recorder", "Storage"]

DIALECT: Final = "nki"
_MAX_NAME: Final = 200
_MAX_RANK: Final = 16  # what `pipeline.emulator.program.validate` takes
_MAX_REACH: Final = 1 << 40  # the same, in elements
#: By where a tensor lies, the same as a program has it, and the memory.
_PLACES: Final = {region: (region.value, memory_of(region.value)) for region in MemoryRegion}


class Storage(msgspec.Struct, eq=False):
    """One allocation, which any number of views share.

    Attributes:
        recorder: Whose program it belongs to.
        index: Into the program's tensors.
        name: What the author calls it.
        buffer: Where it lies.
        size: Elements, in the declared data type.
        on_chip: Whether it lies in SBUF or PSUM.
        memory: The memory that `buffer` is in: ``hbm``, ``sbuf`` or ``psum``.
        is_input: Whether it is a parameter of the kernel.
        written: What matrix multiplications have written; None outside PSUM.
        ended: Whether the run-time loop within which it was allocated has ended.
    """

    recorder: Recorder
    index: int
    name: str
    buffer: MemoryRegion
    size: int
    on_chip: bool
    memory: str
    is_input: bool
    written: WrittenRegions | None
    ended: bool = False


class Recorder:
    """Collects tensors, access patterns and instructions; interns whatever repeats."""

    def __init__(
        self,
        target: Target,
        version: str,
        instruction_limit: int,
        names: Mapping[int, str] | None = None,
        cores: int = 1,
    ) -> None:
        """Start an empty program.

        Args:
            target: The chip.
            version: NKI version.
            instruction_limit: Instructions after which recording stops.
            names: Variable assigned to at each line of the submission, to call tensors as their author does.
            cores: Logical NeuronCores that run the kernel; the record of each begins with `begin_core`.
        """
        self.target = target
        self.version = version
        self.cores = cores
        self.core = -1
        self.instruction_limit = min(instruction_limit, DEFAULT_LIMITS.instructions)
        self.tensors: list[Tensor] = []
        self.patterns: list[AccessPattern] = []
        self.streams: list[list[Instruction]] = []
        self.operations: dict[str, int] = {}
        self.constants: list[Constant] = []
        self.failure: KernelError | None = None
        self.registers = 0
        self._most_registers = 0
        self._hbm_bytes = 0
        self._names = names or {}
        self._pattern_indices: dict[AccessPattern, int] = {}
        #: Tensors that the cores share, in the order in which core 0 allocated them, and how many of them
        #: this core has come by.
        self._shared: list[Storage] = []
        self._met = 0
        #: Tensors that open run-time loops have allocated.
        self._within: list[Storage] = []

    def begin_core(self) -> None:
        """Record for the next core from here on."""
        self.core += 1
        self.streams.append([])
        self.stream = self.streams[-1]
        self.loops = Loops(self)
        self._most_registers = max(self._most_registers, self.registers)
        self.registers = 0
        self._met = 0

    def declare(
        self,
        shape: tuple[int, ...],
        dtype: str,
        buffer: MemoryRegion,
        name: str,
        *,
        is_input: bool = False,
        address: tuple[int, int] | None = None,
    ) -> Storage:
        """Add a tensor.

        Args:
            shape: Elements per dimension.
            dtype: NKI data type.
            buffer: Where it lies.
            name: What the author calls it; empty for the variable it is assigned to.
            is_input: Whether it is a parameter of the kernel.
            address: Of an on-chip tensor: first partition and first byte within a partition.

        Raises:
            KernelError: If it, or the number of tensors, is beyond what the emulator takes.
        """
        index = len(self.tensors)
        line = 0 if is_input else calling_line()
        name = str(name or self._names.get(line) or f"tensor{index}")[:_MAX_NAME]
        if not name.isascii():
            # It may spell half a surrogate pair, which no encoding takes.
            name = name.encode(errors="replace").decode()
        if len(shape) > _MAX_RANK:
            raise _too_many_dimensions(name, len(shape))
        size = prod(shape)
        if size > DEFAULT_LIMITS.tensor_elements:
            raise KernelError(
                KernelErrorKind.TOO_LARGE,
                f"{name} {shape} has {size} elements; the emulator takes {DEFAULT_LIMITS.tensor_elements} "
                "per tensor",
            )
        where, memory = _PLACES[buffer]
        on_chip = memory != "hbm"
        shared = self.cores > 1 and buffer is MemoryRegion.shared_hbm and not is_input
        if shared and self.core > 0:
            return self._shared_with_core_0(name, shape, dtype)
        if not on_chip:
            self._hbm_bytes += size * DTYPES[dtype].itemsize
            if self._hbm_bytes > DEFAULT_LIMITS.total_bytes:
                raise KernelError(
                    KernelErrorKind.TOO_LARGE,
                    f"{name} {shape}: HBM tensors need {self._hbm_bytes} bytes together; the emulator takes "
                    f"{DEFAULT_LIMITS.total_bytes}",
                )
        if index >= DEFAULT_LIMITS.tensors:
            raise KernelError(
                KernelErrorKind.TOO_LARGE,
                f"more than {DEFAULT_LIMITS.tensors} tensors; allocate fewer, larger tiles",
            )
        core = -1 if self.cores > 1 and (shared or is_input) else max(self.core, 0)
        where = "hbm" if is_input else where
        self.tensors.append(Tensor(name, shape, dtype, where, line, address, core))
        written = WrittenRegions() if memory == "psum" else None
        storage = Storage(self, index, name, buffer, size, on_chip, memory, is_input, written)
        if shared:
            self._shared.append(storage)
        elif self.streams and self.loops.any_open:
            self._within.append(storage)
        return storage

    def close_tensors(self, first: int) -> None:
        """End the life of the tensors, from index `first` on, that a run-time loop allocated."""
        while self._within and self._within[-1].index >= first:
            self._within.pop().ended = True

    def _shared_with_core_0(self, name: str, shape: tuple[int, ...], dtype: str) -> Storage:
        """Return what core 0 allocated in the same place: one tensor that both cores see."""
        position, self._met = self._met, self._met + 1
        declared = self.tensors[self._shared[position].index] if position < len(self._shared) else None
        if declared is None or (declared.shape, declared.dtype) != (shape, dtype):
            found = "nothing" if declared is None else f"{declared.name} {declared.shape} {declared.dtype}"
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                f"core 1 allocates {name} {shape} {dtype} in shared HBM where core 0 allocates {found}: both "
                "cores must allocate the same shared tensors in the same order",
            )
        return self._shared[position]

    def reshape(self, index: int, shape: tuple[int, ...]) -> None:
        """Declare an HBM tensor in another shape of as many elements."""
        self.tensors[index] = msgspec.structs.replace(self.tensors[index], shape=shape)

    def add_constant(self, storage: Storage, array: np.ndarray[Any, Any]) -> None:
        """Say what a tensor holds before the program starts.

        Args:
            storage: An HBM tensor.
            array: Of its shape and storage dtype.
        """
        if all(constant.tensor != storage.index for constant in self.constants):
            self.constants.append(Constant(storage.index, np.ascontiguousarray(array).tobytes()))

    def add_register(self) -> int:
        """Return the number of a new register of this core.

        Raises:
            KernelError: If there are too many.
        """
        if self.registers >= DEFAULT_LIMITS.registers:
            raise KernelError(
                KernelErrorKind.TOO_LARGE, f"more than {DEFAULT_LIMITS.registers} registers: allocate fewer"
            )
        self.registers += 1
        return self.registers - 1

    def pattern_of(self, tensor: NkiTensor) -> int:
        """Return the index of the tensor's access pattern.

        Raises:
            KernelError: If there are too many, or the tensor belongs to another kernel call.
        """
        storage, dtype, view, offsets = tensor._parts
        if storage.ended:
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                f"tensor {tensor!r} was allocated within a run-time loop and ends with it: allocate it "
                "before the loop",
            )
        if storage.recorder is not self:
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                f"tensor {tensor!r} was created by another kernel call; a kernel must not keep tensors in "
                "globals",
            )
        index = tensor._pattern
        if index >= 0:
            return index
        count = len(self.patterns)
        pattern = AccessPattern(storage.index, NAMES[dtype], view.offset, view.dims, offsets)
        index = self._pattern_indices.setdefault(pattern, count)
        if index == count:
            if count >= DEFAULT_LIMITS.patterns:
                raise KernelError(
                    KernelErrorKind.TOO_LARGE, f"more than {DEFAULT_LIMITS.patterns} distinct views"
                )
            if len(view.dims) > _MAX_RANK:
                raise _too_many_dimensions(f"a view of {storage.name}", len(view.dims))
            if offsets:
                _check_reach(storage.name, view.offset, offsets)
            self.patterns.append(pattern)
        tensor._pattern = index
        return index

    def record(
        self, operation: int, engine: int, tensors: tuple[int, ...], scalars: tuple[Scalar, ...], line: int
    ) -> int:
        """Append an instruction and return its position.

        Raises:
            KernelError: If there are too many.
        """
        position = len(self.stream)
        if position >= self.instruction_limit:
            raise KernelError(
                KernelErrorKind.TOO_LARGE,
                f"more than {self.instruction_limit} instructions; loops are unrolled, so use larger tiles",
                line,
            )
        self.stream.append(Instruction(operation, engine, tensors, scalars, line, self.core))
        return position

    def operation(self, name: str) -> int:
        """Return the index of an operation's name in the program."""
        return self.operations.setdefault(name, len(self.operations))

    def are_equal(
        self, first: Sequence[Instruction], second: Sequence[Instruction], tensors: int, registers: int
    ) -> bool:
        """Return whether two records of a loop body say the same; see `Likeness`."""
        return Likeness(self.patterns, list(self.operations), tensors, registers).holds(first, second)

    def calling_line(self) -> int:
        """Return the line at which the submission called us."""
        return calling_line()

    def finish(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Program:
        """Return the program recorded so far."""
        return Program(
            format_version=FORMAT_VERSION,
            dialect=DIALECT,
            version=self.version,
            target=self.target.name,
            operations=tuple(self.operations),
            tensors=tuple(self.tensors),
            inputs=inputs,
            outputs=outputs,
            patterns=tuple(self.patterns),
            instructions=merge(self.streams, list(self.operations)),
            registers=max(self._most_registers, self.registers),
            cores=self.cores,
            constants=tuple(self.constants),
        )


def _check_reach(name: str, start: int, offsets: Sequence[Offset]) -> None:
    """Refuse run-time addresses that no memory has; of a static view the bounds are known."""
    if max(abs(start), *(abs(offset.stride) for offset in offsets)) > _MAX_REACH:
        raise KernelError(
            KernelErrorKind.TOO_LARGE,
            f"a view of {name} moves by more than {_MAX_REACH} elements per unit of its run-time index",
        )


def _too_many_dimensions(what: str, rank: int) -> KernelError:
    return KernelError(
        KernelErrorKind.TOO_LARGE,
        f"{what} has {rank} dimensions; the emulator takes {_MAX_RANK}: leave out those of size 1",
    )
