"""Executions of a formula as an honest kernel would compute it: every result rounded, sums in some order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from pipeline.execute.arithmetic.arithmetic import Arithmetic, Cost, Function, Operand, Parts
from pipeline.execute.arithmetic.formats import APPROXIMATION, UNIT, largest, round_to, unit_roundoff

__all__ = ["Execution", "Order"]


@dataclass(frozen=True, slots=True)
class Order:
    """In which order the terms of a sum are added.

    Attributes:
        block: Terms are added one after the other in blocks of this length, then so are the blocks' sums;
            None for one block. Matrices are multiplied in blocks of at most 128, as on the tensor engine.
        backwards: Whether the last term comes first.
    """

    block: int | None
    backwards: bool = False

    def __str__(self) -> str:
        length = "one after the other" if self.block is None else f"in blocks of {self.block}"
        return f"{length}, last first" if self.backwards else length


class Execution(Arithmetic):
    """Float32 engines: results are rounded to float32, and to the storage dtype when they are read again.

    The one part of a value is held in float32; constants stay float64. Functions are evaluated in float64
    and then rounded, so that results depend on no vector library.

    Args:
        compute_dtype: Operands of products are rounded to it.
        storage_dtype: Results are rounded to it when another operation reads them.
        order: Of the terms of sums.
        rng: Draws the errors of approximated functions; None if they are exact.
    """

    def __init__(
        self, compute_dtype: str, storage_dtype: str, order: Order, rng: np.random.Generator | None
    ) -> None:
        self._compute_dtype: Final = compute_dtype
        self._storage_dtype: Final = storage_dtype
        self._stores_narrow: Final = unit_roundoff(storage_dtype) > UNIT
        self._largest: Final = largest(storage_dtype)
        self._order: Final = order
        self._rng: Final = rng

    def represent(self, values: np.ndarray) -> Parts:
        """Return `values` as they are."""
        return (values,)

    def apply(self, function: Function, cost: Cost, operands: tuple[Operand, ...]) -> Parts:
        """Apply the function to what is stored, and round."""
        with np.errstate(all="ignore"):
            result = np.asarray(function(*(self._read(operand).astype(np.float64) for operand in operands)))
            if cost is Cost.APPROXIMATED and self._rng is not None:
                result = result * (1 + self._rng.uniform(-APPROXIMATION, APPROXIMATION, result.shape))
            return (result.astype(np.float32),)

    def sum(self, operand: Operand) -> Parts:
        """Add in float32, in this execution's order."""
        terms = self._ordered(self._read(operand))
        block = self._order.block or terms.shape[-1]
        with np.errstate(all="ignore"):
            while terms.shape[-1] > 1:
                terms = _sum_blocks(terms, max(block, 2))
        return (terms[..., 0] if terms.shape[-1] else np.zeros(terms.shape[:-1], np.float32),)

    def accumulate(self, operand: Operand) -> Parts:
        """Add in float32: within blocks, and then the sum of all blocks before."""
        terms = self._read(operand).astype(np.float32)
        length = terms.shape[-1]
        block = self._order.block or max(length, 1)
        with np.errstate(all="ignore"):
            parts = [np.add.accumulate(terms[..., i : i + block], axis=-1) for i in range(0, length, block)]
            for before, part in pairwise(parts):
                part += before[..., -1:]
        return (np.concatenate(parts, axis=-1) if parts else terms,)

    def multiply_matrices(self, left: Operand, right: Operand) -> Parts:
        """Multiply blocks of the contraction in float32 and add their products up one after the other."""
        a, b = (round_to(self._read(operand), self._compute_dtype) for operand in (left, right))
        length = a.shape[-1]
        block = min(self._order.block or _TILE, _TILE)
        starts = range(0, length, block)
        with np.errstate(all="ignore"):
            products = (
                a[..., start : start + block] @ b[..., start : start + block, :]
                for start in (reversed(starts) if self._order.backwards else starts)
            )
            total = next(products, None)
            if total is None:
                total = a @ b
            for product in products:
                total += product
        return (total,)

    def cast(self, operand: Operand, dtype: np.dtype[np.generic]) -> Parts:
        """Round as the formula asks."""
        with np.errstate(all="ignore"):
            return (operand.parts[0].astype(dtype).astype(np.float32),)

    def _read(self, operand: Operand) -> np.ndarray:
        values = operand.parts[0]
        if not (operand.derived and self._stores_narrow):
            return values
        stored = round_to(values, self._storage_dtype)
        # A kernel that sums squares for a mean in float16 scales them before it stores them.
        fits = np.abs(values) <= self._largest
        return stored if fits.all() else np.where(fits, stored, values)

    def _ordered(self, terms: np.ndarray) -> np.ndarray:
        ordered = terms[..., ::-1] if self._order.backwards else terms
        return np.asarray(ordered.astype(np.float32))


#: Rows of the tensor engine: the longest contraction of one product.
_TILE: Final = 128


def _sum_blocks(terms: np.ndarray, block: int) -> np.ndarray:
    """Return the sums of successive blocks along the last axis, each added up one term after the other."""
    length = terms.shape[-1]
    whole = length // block * block
    blocks = terms[..., :whole].reshape(*terms.shape[:-1], -1, block)
    sums = np.add.accumulate(blocks, axis=-1)[..., -1]
    if whole == length:
        return np.asarray(sums)
    tail = np.add.accumulate(terms[..., whole:], axis=-1)[..., -1:]
    return np.concatenate((sums, tail), axis=-1)
