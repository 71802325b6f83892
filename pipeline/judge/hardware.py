"""Numbers that belong to the chip: a statement may use them without citing a fact of the submission.

The list is short on purpose, and each number counts only beside a word that says what it is a number of: 128
stands for partitions or for the stationary tile, never for a count of anything else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pipeline.emulator.targets import TARGETS, Target
from pipeline.judge.quantities import Quantity

__all__ = ["Constant", "is_of_hardware", "list_constants"]

#: Smallest run per partition that the NKI guides recommend for a DMA transfer, and where it saturates.
_DMA_BYTES: Final = (2 << 10, 4 << 10)
#: Columns of the stationary operand of one matmul (`nl.tile_size.gemm_stationary_fmax`).
_STATIONARY: Final = 128
_FLOAT32_BYTES: Final = 4
#: Widths of data types, in bits and in bytes.
_BITS: Final = (4, 8, 16, 32, 64)
_BYTES: Final = (1, 2, 4)
#: Characters around a number within which a word belongs to it.
_NEAR: Final = 14


@dataclass(frozen=True, slots=True)
class Constant:
    """One number of a chip.

    Attributes:
        value: In bytes, hertz, and so on.
        dimension: Unit, as `Quantity.dimension`; empty for a plain number.
        beside: What the sentence has to speak of; empty for nothing.
        apart: What must not stand beside the number, where a part of the same memory has another size.
    """

    value: float
    dimension: str
    beside: str
    apart: str = ""


@lru_cache(maxsize=8)
def list_constants(targets: tuple[str, ...]) -> tuple[Constant, ...]:
    """Return the constants of the chips called `targets`; names that are unknown add none."""
    widths = (
        *(Constant(bits, "bits", "") for bits in _BITS),
        *(Constant(size, "bytes", r"elements?|b?float\d+|dtypes?|values?") for size in _BYTES),
    )
    transfers = tuple(Constant(size, "bytes", r"transfers?|DMA|dma_copy|descriptors?") for size in _DMA_BYTES)
    chips = (constant for name in targets if name in TARGETS for constant in _read(TARGETS[name]))
    return tuple(dict.fromkeys((*widths, *transfers, *chips)))


def is_of_hardware(quantity: Quantity, sentence: str, constants: Sequence[Constant]) -> bool:
    """Whether `quantity` is one of `constants` and `sentence` speaks of what that is a number of."""
    near = sentence[max(0, quantity.start - _NEAR) : quantity.end + _NEAR]
    return any(
        _fits(quantity.dimension, constant.dimension)
        and quantity.equals(constant.value)
        and (not constant.beside or _mentions(sentence, constant.beside))
        and not (constant.apart and _mentions(near, constant.apart))
        for constant in constants
    )


def _mentions(sentence: str, words: str) -> bool:
    return re.search(rf"\b(?:{words})\b", sentence, re.IGNORECASE) is not None


def _fits(said: str, is_: str) -> bool:
    return said == is_ or (said == "elements" and is_ == "")


def _read(target: Target) -> tuple[Constant, ...]:
    banks = target.psum_bytes_per_partition // target.psum_bank_bytes
    return (
        Constant(target.partitions, "", r"partitions?|rows?|lanes?|tile"),
        Constant(_STATIONARY, "", r"stationary"),
        Constant(target.matmul_moving_max, "", r"moving"),
        Constant(target.psum_bank_bytes // _FLOAT32_BYTES, "", r"banks?|moving|PSUM"),
        Constant(target.psum_bank_bytes, "bytes", r"banks?|PSUM"),
        Constant(banks, "", r"banks"),
        Constant(target.psum_bytes_per_partition, "bytes", r"PSUM", r"banks?"),
        Constant(
            target.psum_bytes_per_partition * target.partitions, "bytes", r"PSUM", r"banks?|per partition"
        ),
        Constant(target.sbuf_bytes_per_partition, "bytes", r"SBUF"),
        Constant(target.sbuf_bytes_per_partition * target.partitions, "bytes", r"SBUF", r"per partition"),
        Constant(target.hbm_bytes_per_second, "bytes/s", r"HBM|DMA"),
        *(Constant(clock, "Hz", f"{engine}|engines?|clock") for engine, clock in target.clock_hz.items()),
        *(Constant(peak, "flop/s", r"tensor|matmuls?|peak") for peak in target.tensor_flops.values()),
    )
