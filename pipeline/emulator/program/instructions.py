"""The structures of a program: tensors, access patterns, instructions.

They are `msgspec` structs encoded as arrays: compact on the wire, and plain attribute access in the machine's
hot loop. Everything repeated is interned: instructions hold indices into the program's tables. They hold no
references that could form a cycle, so the garbage collector is spared the million of them (``gc=False``).
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = [
    "FORMAT_VERSION",
    "AccessPattern",
    "Constant",
    "Instruction",
    "Offset",
    "Program",
    "Scalar",
    "Tensor",
]

#: Raised whenever the meaning of an encoded program changes; a decoder refuses every other version.
FORMAT_VERSION: Final = 2

#: A compile-time argument of an instruction: a number, a flag, the name of an operator, dtype or enum member,
#: or a list of integers (``iota``'s ``[step, count]`` pairs, flattened). A virtual register is a list of one
#: integer, its number, so that a register is never mistaken for a number.
Scalar = None | bool | int | float | str | tuple[int, ...]


class Tensor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A tensor declaration.

    Attributes:
        name: What the kernel's author calls it (parameter name, variable name or ``name=``).
        shape: Elements per dimension. The first dimension of an on-chip tensor is the partition.
        dtype: A name in `pipeline.emulator.dtypes.DTYPES`.
        buffer: ``"hbm"``, ``"shared_hbm"``, ``"private_hbm"``, ``"sbuf"`` or ``"psum"``.
        line: Line of the submission that created it, 1-based; 0 for inputs.
        address: ``(first partition, first byte within a partition)`` of an on-chip tensor that its author
            placed; None where the compiler places it. Placed tensors of one memory may overlap.
        core: Which logical NeuronCore owns it; -1 where two share it (inputs, shared HBM).
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    buffer: str
    line: int = 0
    address: tuple[int, int] | None = None
    core: int = 0


class Constant(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a tensor holds before the program starts.

    Attributes:
        tensor: Index into `Program.tensors`; an HBM tensor that is no input.
        data: Its elements in row-major order, in the storage type of its dtype, little-endian.
    """

    tensor: int
    data: bytes


class Offset(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A part of an address that only run time knows.

    Attributes:
        kind: ``"register"``: a virtual register; ``"scalar"``: the one element of a pattern; ``"vector"``:
            one element of a pattern per position of the first dimension, which they replace; ``"indirect"``:
            one element per position of the last dimension, which they replace (tensor indirection).
        source: Number of the register, or index into `Program.patterns` of a static pattern.
        stride: Elements of the addressed tensor per unit of the value.
    """

    kind: str
    source: int
    stride: int


class AccessPattern(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which elements of a tensor an instruction touches, in which order.

    Element ``(i0, i1, ...)`` lies at ``offset + sum(i_k * stride_k)``, in elements of `dtype`, counted from
    the tensor's first element as if it were stored contiguously in row-major order. For on-chip tensors the
    first dimension is the partition dimension, and its stride is the tensor's elements per partition.

    Attributes:
        tensor: Index into `Program.tensors`.
        dtype: Element type of this view; differs from the tensor's only after ``.view(dtype)``.
        offset: First element.
        dims: ``(stride, count)`` per dimension, outermost first.
        offsets: What run time adds. Where there are none the pattern is static.
    """

    tensor: int
    dtype: str
    offset: int
    dims: tuple[tuple[int, int], ...]
    offsets: tuple[Offset, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements per dimension."""
        return tuple(count for _, count in self.dims)


class Instruction(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One instruction.

    The operation's table entry names the parameters; values are split so that an integer constant can never
    be mistaken for the index of an access pattern.

    Attributes:
        operation: Index into `Program.operations`.
        engine: ``"tensor"``, ``"vector"``, ``"scalar"``, ``"gpsimd"``, ``"sync"`` or ``"dma"``, as an index
            into `pipeline.emulator.targets.ENGINES`.
        tensors: One entry per tensor-valued parameter of the operation, in signature order: an index into
            `Program.patterns`, or -1 where the argument is absent or a number.
        scalars: One entry per other parameter, in signature order. A parameter that takes a number or a tile
            has an entry in both: None here when the tile is given.
        line: Line of the submission, 1-based.
        core: Which of two logical NeuronCores runs it.
    """

    operation: int
    engine: int
    tensors: tuple[int, ...]
    scalars: tuple[Scalar, ...]
    line: int
    core: int = 0


class Program(msgspec.Struct, frozen=True, array_like=True):
    """A traced kernel, specialised for one set of shapes.

    Attributes:
        format_version: See `FORMAT_VERSION`.
        dialect: ``"nki"``.
        version: NKI version whose rules the kernel was traced under, e.g. ``"0.6"``.
        target: ``"trn1"``, ``"trn2"`` or ``"trn3"``.
        operations: Operation names used, interned.
        tensors: Every tensor, inputs first in parameter order.
        inputs: Indices into `tensors` of the kernel's tensor parameters, in order.
        outputs: Indices into `tensors` of what the kernel returned, in order.
        patterns: Access patterns used, interned.
        instructions: In program order. Those of two cores stand core by core between two points where they
            meet (a barrier, an exchange, a collective); each core meets at instructions of its own.
        registers: How many virtual registers each core has.
        cores: Logical NeuronCores that run it, 1 or 2.
        constants: Contents of tensors that the kernel brought along.
    """

    format_version: int
    dialect: str
    version: str
    target: str
    operations: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    patterns: tuple[AccessPattern, ...]
    instructions: tuple[Instruction, ...]
    registers: int = 0
    cores: int = 1
    constants: tuple[Constant, ...] = ()
