"""Builds programs by hand, so that tests of the trusted side need no frontend."""

from __future__ import annotations

from math import prod
from typing import Any

from pipeline.emulator.operations import OPERATIONS, REQUIRED, ParameterKind
from pipeline.emulator.program import FORMAT_VERSION, AccessPattern, Instruction, Program, Tensor
from pipeline.emulator.targets import ENGINES


class ProgramBuilder:
    """Collects tensors and instructions; every line number is the instruction's position plus 10."""

    def __init__(self, target: str = "trn2", version: str = "0.6", cores: int = 1) -> None:
        self.target, self.version, self.cores = target, version, cores
        self.tensors: list[Tensor] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.patterns: dict[AccessPattern, int] = {}
        self.operations: dict[str, int] = {}
        self.instructions: list[Instruction] = []
        self.registers = 0

    def tensor(
        self,
        shape: tuple[int, ...],
        dtype: str = "float32",
        buffer: str = "sbuf",
        core: int = 0,
        address: tuple[int, int] | None = None,
    ) -> int:
        owner = -1 if self.cores > 1 and buffer in ("hbm", "shared_hbm") else core
        self.tensors.append(Tensor(f"t{len(self.tensors)}", shape, dtype, buffer, 1, address, owner))
        return len(self.tensors) - 1

    def input(self, shape: tuple[int, ...], dtype: str = "float32") -> int:
        self.inputs.append(self.tensor(shape, dtype, "hbm"))
        return self.inputs[-1]

    def output(self, shape: tuple[int, ...], dtype: str = "float32", buffer: str = "shared_hbm") -> int:
        self.outputs.append(self.tensor(shape, dtype, buffer))
        return self.outputs[-1]

    def view(
        self, tensor: int, *dims: tuple[int, int], offset: int = 0, dtype: str | None = None
    ) -> AccessPattern:
        """The pattern with the given (stride, count) pairs; without any, the whole tensor."""
        declared = self.tensors[tensor]
        if not dims:
            strides = [prod(declared.shape[axis + 1 :]) for axis in range(len(declared.shape))]
            dims = tuple(zip(strides, declared.shape, strict=True))
        return AccessPattern(tensor, dtype or declared.dtype, offset, tuple(dims))

    def block(self, tensor: int, rows: slice, columns: slice) -> AccessPattern:
        """A rectangle of a two-dimensional tensor."""
        height, width = self.tensors[tensor].shape
        (r0, r1, _), (c0, c1, cs) = rows.indices(height), columns.indices(width)
        count = len(range(c0, c1, cs))
        return self.view(tensor, (width, r1 - r0), (cs, count), offset=r0 * width + c0)

    def add(self, name: str, engine: str | None = None, core: int = 0, **arguments: Any) -> None:
        """Append an instruction of a core; a tensor argument is a tensor index or a view."""
        operation = OPERATIONS[name]
        tensors: list[int] = []
        scalars: list[Any] = []
        for parameter in operation.parameters:
            if parameter.count > 1:
                parts = zip(parameter.spread(), arguments.pop(parameter.name, None) or (), strict=False)
                arguments.update((part.name, value) for part, value in parts)
        for parameter in (part for listed in operation.parameters for part in listed.spread()):
            if parameter.kind is ParameterKind.ENGINE:
                continue
            value = arguments.pop(parameter.name, parameter.default)
            assert value is not REQUIRED, parameter.name
            is_view = isinstance(value, AccessPattern)
            is_index = isinstance(value, int) and not parameter.kind.in_scalars
            if parameter.kind.in_tensors:
                pattern = value if is_view else self.view(value) if is_index else None
                tensors.append(
                    -1 if pattern is None else self.patterns.setdefault(pattern, len(self.patterns))
                )
            if parameter.kind.in_scalars:
                scalars.append(None if is_view else value)
        assert not arguments, arguments
        index = self.operations.setdefault(name, len(self.operations))
        self.instructions.append(
            Instruction(
                index,
                ENGINES.index(engine or operation.engines[0]),
                tuple(tensors),
                tuple(scalars),
                len(self.instructions) + 10,
                core,
            )
        )

    def load(self, tensor: int) -> int:
        """An SBUF tile that a DMA filled from a two-dimensional HBM tensor."""
        declared = self.tensors[tensor]
        tile = self.tensor(declared.shape, declared.dtype)
        self.add("dma_copy", dst=tile, src=tensor)
        return tile

    def store(self, tile: int) -> int:
        """An output that a DMA filled from a tile."""
        declared = self.tensors[tile]
        result = self.output(declared.shape, declared.dtype)
        self.add("dma_copy", dst=result, src=tile)
        return result

    def program(self) -> Program:
        return Program(
            FORMAT_VERSION,
            "nki",
            self.version,
            self.target,
            tuple(self.operations),
            tuple(self.tensors),
            tuple(self.inputs),
            tuple(self.outputs),
            tuple(self.patterns),
            tuple(self.instructions),
            registers=self.registers,
            cores=self.cores,
        )
