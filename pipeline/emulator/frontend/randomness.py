"""`nki.language`: random tensors, their seed, and dropout. Source: docstrings of NKI 0.6.

On trn3 `nl.rand` is `nisa.rand2`, before it is built from the bits of `nisa.rng` (NKI 0.4.0 release notes,
known issues). How the bits become numbers is not documented; here the upper 24 of 32 are a fraction of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.emulator.frontend.creation import ndarray, new_tile, rows_of
from pipeline.emulator.frontend.elementwise import require_tile
from pipeline.emulator.frontend.emission import copied, scaled
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.functions import named
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.session import active_recorder
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import MemoryRegion

__all__ = ["dropout", "rand", "random_seed"]


def rand(shape: Sequence[int], dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    """Allocate a tensor of random numbers, uniform between 0 and 1.

    Args:
        shape: Elements per dimension.
        dtype: Data type.
        buffer: Memory.
        name: What messages call it.
    """
    tensor = ndarray(shape, dtype, buffer, name)
    if tensor._on_chip:
        _randomise(tensor)
        return tensor
    # Engines cannot write HBM.
    for rows in rows_of(tensor):
        tile = new_tile(rows.shape, tensor.dtype)
        _randomise(tile)
        INSTRUCTIONS["dma_copy"](rows, tile)
    return tensor


def random_seed(seed: Any) -> None:
    """Seed the generator of the vector engine with a [1, 1] tile of a 32-bit type."""
    if isinstance(seed, bool | int | float):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.random_seed({seed!r}): the seed is a [1, 1] tile, not a number; pass "
            "nl.full((1, 1), seed, dtype=nl.int32)",
        )
    tile = require_tile(seed, "random_seed")
    if tile.size != 1:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"nl.random_seed of {tile!r}: the seed is a [1, 1] tile"
        )
    INSTRUCTIONS["set_rng_seed"](tile)


def dropout(x: Any, rate: Any, dtype: Any = None) -> NkiTensor:
    """Return a tile whose elements are zero with probability `rate`; the others are not rescaled.

    Args:
        x: Tile.
        rate: A number, or a (P, 1) tile with the probability of each partition.
        dtype: Of the result; that of `x` by default.
    """
    tile = require_tile(x, "dropout")
    result = new_tile(tile.shape, tile.dtype)
    INSTRUCTIONS["dropout"](result, tile, rate)
    return result if dtype is None or dtype == tile.dtype else copied(result, dtype)


def _randomise(tile: NkiTensor) -> None:
    if active_recorder().target.name == "trn3":
        INSTRUCTIONS["rand2"](tile, 0.0, 1.0)
        return
    bits = new_tile(tile.shape, "uint32")
    INSTRUCTIONS["rng"](bits)
    upper = scaled(bits, "right_shift", 8)
    INSTRUCTIONS["tensor_scalar"](tile, upper, op0=named("multiply"), operand0=2.0**-24)
