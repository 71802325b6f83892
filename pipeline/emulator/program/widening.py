"""Rewrite a program so that every narrow float is kept as float32: what `NKI_PRECISE_FP=0` asks for.

Only for looking at a kernel's arithmetic without its rounding; legality and grading use the program as it is.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.instructions import Constant, Program, Tensor

__all__ = ["widen"]

_NARROW: Final = ("bfloat16", "float16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")
_WIDE: Final = "float32"


def widen(program: Program) -> Program:
    """Return the program with its narrow floats stored as float32.

    A tensor that some instruction reads as another data type keeps its own: its bits mean something. Placed
    tensors move apart so that each has room; those that alias another one on purpose, at a place of their own
    within it, no longer do.

    Args:
        program: A validated, legal program.
    """
    reinterpreted = {p.tensor for p in program.patterns if p.dtype != program.tensors[p.tensor].dtype}
    widened = {
        index
        for index, tensor in enumerate(program.tensors)
        if tensor.dtype in _NARROW and index not in reinterpreted
    }
    placed = [program.tensors[index] for index in widened if program.tensors[index].address is not None]
    factor = max((4 // DTYPES[tensor.dtype].itemsize for tensor in placed), default=1)
    return msgspec.structs.replace(
        program,
        tensors=tuple(
            _moved(tensor, _WIDE if index in widened else tensor.dtype, factor)
            for index, tensor in enumerate(program.tensors)
        ),
        patterns=tuple(
            msgspec.structs.replace(pattern, dtype=_WIDE) if pattern.tensor in widened else pattern
            for pattern in program.patterns
        ),
        constants=tuple(
            _converted(constant, program.tensors[constant.tensor].dtype)
            if constant.tensor in widened
            else constant
            for constant in program.constants
        ),
    )


def _moved(tensor: Tensor, dtype: str, factor: int) -> Tensor:
    address = tensor.address
    if address is not None:
        address = (address[0], address[1] * factor)
    return msgspec.structs.replace(tensor, dtype=dtype, address=address)


def _converted(constant: Constant, dtype: str) -> Constant:
    values = np.frombuffer(constant.data, DTYPES[dtype].storage).astype(np.float32)
    return msgspec.structs.replace(constant, data=values.tobytes())
