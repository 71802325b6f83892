"""The enums of `nki.isa`, with their documented values."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final

__all__ = ["ENUMS", "Engine", "NcVersion"]


class Engine(Enum):
    """``nisa.engine``."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class ReduceCommand(Enum):
    """``nisa.reduce_cmd``: what an instruction does with the accumulator registers."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class DgeMode(Enum):
    """``nisa.dge_mode``: who generates DMA descriptors."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class OobMode(Enum):
    """``nisa.oob_mode``: what an access out of bounds does."""

    error = 0
    skip = 1


class MatmulPerfMode(Enum):
    """``nisa.matmul_perf_mode``."""

    none = "none"
    double_row = "double_row"


class NcVersion(IntEnum):
    """``nisa.nc_version``: trn1, trn2 and trn3; ordered, as public kernels compare generations."""

    gen2 = 2
    gen3 = 3
    gen4 = 4

    __str__ = Enum.__str__


class DmaEngine(Enum):
    """``nisa.dma_engine``."""

    dma = 1
    gpsimd_dma = 2


#: By the name a kernel knows them under.
ENUMS: Final[dict[str, type[Enum]]] = {
    "engine": Engine,
    "reduce_cmd": ReduceCommand,
    "dge_mode": DgeMode,
    "oob_mode": OobMode,
    "matmul_perf_mode": MatmulPerfMode,
    "nc_version": NcVersion,
    "dma_engine": DmaEngine,
}

for _name, _enum in ENUMS.items():
    # What a kernel prints is what it wrote.
    _enum.__name__ = _enum.__qualname__ = _name
