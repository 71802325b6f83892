"""NKI data types: names, widths and their NumPy storage.

NKI names are strings (``"bfloat16"``), because kernels compare and print them as such. Storage is NumPy
with `ml_dtypes` for what NumPy lacks. ``tfloat32`` is stored as float32 and truncated on the tensor engine.
Source: facts/nki.md section 2.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import ml_dtypes
import numpy as np

__all__ = ["DTYPES", "DType", "dtype_named"]


@dataclass(frozen=True, slots=True)
class DType:
    """One NKI data type.

    Attributes:
        name: The Neuron documentation's name, without the ``nl.`` prefix.
        storage: NumPy dtype of one stored element.
        kind: ``"float"``, ``"int"`` or ``"uint"``; ``bool_`` counts as ``"uint"``.
        mantissa_bits: Explicit mantissa bits of a float type (0 for integers); gives the unit roundoff
            ``2 ** -(mantissa_bits + 1)``.
    """

    name: str
    storage: np.dtype[np.generic]
    kind: str
    mantissa_bits: int = 0

    @property
    def itemsize(self) -> int:
        """Bytes of one stored element."""
        return self.storage.itemsize

    @property
    def is_float(self) -> bool:
        """Whether values are floating point."""
        return self.kind == "float"


def _entry(name: str, storage: object, kind: str, mantissa_bits: int = 0) -> tuple[str, DType]:
    return name, DType(name, np.dtype(storage), kind, mantissa_bits)  # type: ignore[call-overload]


DTYPES: Final[dict[str, DType]] = dict(
    [
        _entry("float32", np.float32, "float", 23),
        _entry("tfloat32", np.float32, "float", 10),
        _entry("bfloat16", ml_dtypes.bfloat16, "float", 7),
        _entry("float16", np.float16, "float", 10),
        _entry("float8_e4m3", ml_dtypes.float8_e4m3, "float", 3),
        _entry("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "float", 3),
        _entry("float8_e5m2", ml_dtypes.float8_e5m2, "float", 2),
        _entry("int8", np.int8, "int"),
        _entry("int16", np.int16, "int"),
        _entry("int32", np.int32, "int"),
        _entry("uint8", np.uint8, "uint"),
        _entry("uint16", np.uint16, "uint"),
        _entry("uint32", np.uint32, "uint"),
        _entry("bool_", np.bool_, "uint"),
    ]
)


def dtype_named(name: str) -> DType:
    """Return the data type called `name`.

    Raises:
        KeyError: If NKI has no such type; the message lists those it has.
    """
    try:
        return DTYPES[name]
    except KeyError:
        raise KeyError(f"unknown NKI dtype {name!r}; known: {', '.join(DTYPES)}") from None
