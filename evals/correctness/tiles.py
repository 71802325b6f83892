"""Tiles gone wrong: too narrow a data type, or one buffer for two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from evals.correctness.editing import Mutation, Site
from pipeline.emulator.program import Program, Tensor

__all__ = ["TILES"]


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """Tiles of one line kept in a narrower data type."""

    name: str
    buffer: str
    dtype: str
    narrow: str
    harmless: bool = False

    def find_sites(self, program: Program) -> Iterator[Site]:
        for tensor in program.tensors:
            if self._applies(tensor):
                yield Site(tensor.line, tensor.dtype, 0)

    def apply(self, program: Program, site: Site) -> Program:
        chosen = {
            index
            for index, tensor in enumerate(program.tensors)
            if self._applies(tensor) and tensor.line == site.line
        }
        if not chosen:
            return program
        return msgspec.structs.replace(
            program,
            tensors=tuple(
                msgspec.structs.replace(tensor, dtype=self.narrow) if index in chosen else tensor
                for index, tensor in enumerate(program.tensors)
            ),
            patterns=tuple(
                msgspec.structs.replace(view, dtype=self.narrow)
                if view.tensor in chosen and view.dtype == self.dtype
                else view
                for view in program.patterns
            ),
        )

    def _applies(self, tensor: Tensor) -> bool:
        return (tensor.buffer, tensor.dtype) == (self.buffer, self.dtype)


@dataclass(frozen=True, slots=True)
class _Shared:
    """A tile that lies where the one allocated before it lies, which is still in use."""

    name: str = "one buffer for two tiles"
    harmless: bool = False

    def find_sites(self, program: Program) -> Iterator[Site]:
        for index, tensor in enumerate(program.tensors):
            if _earlier_twin(program.tensors, index) is not None:
                yield Site(tensor.line, tensor.dtype, 0)

    def apply(self, program: Program, site: Site) -> Program:
        twins: dict[int, int] = {}
        for index, tensor in enumerate(program.tensors):
            twin = _earlier_twin(program.tensors, index) if tensor.line == site.line else None
            if twin is not None:
                twins[index] = twin
        if not twins:
            return program
        return msgspec.structs.replace(
            program,
            patterns=tuple(
                msgspec.structs.replace(view, tensor=twins[view.tensor]) if view.tensor in twins else view
                for view in program.patterns
            ),
        )


def _earlier_twin(tensors: Sequence[Tensor], index: int) -> int | None:
    """Return the latest earlier tile of another line that could hold the same."""
    tensor = tensors[index]
    if tensor.buffer not in ("sbuf", "psum"):
        return None
    for earlier in range(index - 1, -1, -1):
        other = tensors[earlier]
        same = (other.buffer, other.shape, other.dtype, other.core)
        if other.line != tensor.line and same == (tensor.buffer, tensor.shape, tensor.dtype, tensor.core):
            return earlier
    return None


TILES: Final[tuple[Mutation, ...]] = (
    _Narrowed("tile in bfloat16", "sbuf", "float32", "bfloat16"),
    _Narrowed("tile in float16", "sbuf", "float32", "float16"),
    _Narrowed("tile in float8", "sbuf", "bfloat16", "float8_e4m3"),
    _Narrowed("accumulator in bfloat16", "psum", "float32", "bfloat16"),
    _Shared(),
)
