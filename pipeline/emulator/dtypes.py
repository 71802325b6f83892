"""NKI data types: names, widths, their NumPy storage, and which chips and versions have them.

NKI names are strings (``"bfloat16"``), because kernels compare and print them as such. Storage is NumPy
with `ml_dtypes` for what NumPy lacks. ``tfloat32`` is stored as float32 and truncated on the tensor engine.
A packed type is stored as one unsigned word per four elements: element ``i`` in bits ``i * width`` and up, so
that the first lies at the lowest address (little-endian), as the CPU references of the MX guide pack them.
Wide twins belong to no language and no chip: with them a program runs in float64 (`machine.shadow`).
Source: facts/nki.md section 2.8; nki.language 0.6 docstrings of the types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import ml_dtypes
import numpy as np

__all__ = ["DTYPES", "PACKED", "DType", "dtype_named", "wide_twin"]

_ALL: Final = frozenset({"trn1", "trn2", "trn3"})
_V4: Final = frozenset({"trn3"})
_WIDE: Final = "wide "  # no identifier has a space, so no kernel can name such a type


@dataclass(frozen=True, slots=True)
class DType:
    """One NKI data type.

    Attributes:
        name: The Neuron documentation's name, without the ``nl.`` prefix.
        storage: NumPy dtype of one stored element; of a packed type, the word that holds four.
        kind: ``"float"``, ``"int"``, ``"uint"`` or ``"packed"``; ``bool_`` counts as ``"uint"``.
        mantissa_bits: Explicit mantissa bits of a float type (0 for integers); gives the unit roundoff
            ``2 ** -(mantissa_bits + 1)``. Of a packed type, those of its elements.
        targets: Chips that have it.
        since: First NKI version that has it.
        element: NumPy dtype of one of the four elements of a packed type, else None.
        largest_exponent: Unbiased exponent of the largest finite element of a packed type, which the OCP
            Microscaling specification calls ``emax``.
        wide: Whether it is a wide twin: a float kept as float64, or an integer that float64 computes with.
        source: Where targets and version come from.
    """

    name: str
    storage: np.dtype[np.generic]
    kind: str
    mantissa_bits: int = 0
    targets: frozenset[str] = _ALL
    since: str = "0.3"
    element: np.dtype[np.generic] | None = None
    largest_exponent: int = 0
    wide: bool = False
    source: str = "nki.api.shared.rst, Supported Data Types"

    @property
    def itemsize(self) -> int:
        """Bytes of one stored element."""
        return self.storage.itemsize

    @property
    def is_float(self) -> bool:
        """Whether values are floating point."""
        return self.kind == "float"

    @property
    def is_packed(self) -> bool:
        """Whether one stored element holds four values, which only the MX instructions see."""
        return self.kind == "packed"


def _float(name: str, storage: object, mantissa_bits: int) -> DType:
    return DType(name, np.dtype(storage), "float", mantissa_bits)  # type: ignore[call-overload]


def _packed(name: str, storage: object, element: object, mantissa_bits: int, largest_exponent: int) -> DType:
    return DType(
        name,
        np.dtype(storage),  # type: ignore[call-overload]
        "packed",
        mantissa_bits,
        _V4,
        element=np.dtype(element),  # type: ignore[call-overload]
        largest_exponent=largest_exponent,
        source="nki.language docstrings, NKI 0.6: for the MX instructions of NeuronCore-v4",
    )


def _integer(name: str, storage: object) -> DType:
    return DType(name, np.dtype(storage), name.rstrip("0123456789"))  # type: ignore[call-overload]


class _Types(dict[str, DType]):
    """Types by name; wide twins are found by theirs, but are neither contained nor listed."""

    def __missing__(self, name: str) -> DType:
        declared = self.get(name.removeprefix(_WIDE)) if name.startswith(_WIDE) else None
        if declared is None or not _has_twin(declared):
            raise KeyError(name)
        if declared.is_float:
            return DType(name, np.dtype(np.float64), "float", 52, wide=True)
        return DType(name, declared.storage, declared.kind, wide=True)


def _has_twin(dtype: DType) -> bool:
    return not dtype.is_packed and dtype.storage != np.bool_


#: Every type by name. Packed types stand before the integers of equal storage, so that a table made from
#: storage to name finds the integer.
DTYPES: Final[dict[str, DType]] = _Types(
    (dtype.name, dtype)
    for dtype in (
        _float("float32", np.float32, 23),
        _float("tfloat32", np.float32, 10),
        _float("bfloat16", ml_dtypes.bfloat16, 7),
        _float("float16", np.float16, 10),
        _float("float8_e4m3", ml_dtypes.float8_e4m3, 3),
        DType(
            "float8_e4m3fn",
            np.dtype(ml_dtypes.float8_e4m3fn),
            "float",
            3,
            _V4,
            source="neuronx-cc error EVRF051 (facts/nki.md section 1.6): not on trn1 and trn2",
        ),
        _float("float8_e5m2", ml_dtypes.float8_e5m2, 2),
        DType(
            "float8_e8m0fnu",
            np.dtype(ml_dtypes.float8_e8m0fnu),
            "float",
            0,
            _V4,
            since="0.5",
            source="NKI 0.5.0 release notes: scales of nc_matmul_mx and quantize_mx, hence NeuronCore-v4",
        ),
        _packed("float8_e4m3fn_x4", np.uint32, ml_dtypes.float8_e4m3fn, 3, 8),
        _packed("float8_e5m2_x4", np.uint32, ml_dtypes.float8_e5m2, 2, 15),
        _packed("float4_e2m1fn_x4", np.uint16, ml_dtypes.float4_e2m1fn, 1, 2),
        _integer("int8", np.int8),
        _integer("int16", np.int16),
        _integer("int32", np.int32),
        _integer("uint8", np.uint8),
        _integer("uint16", np.uint16),
        _integer("uint32", np.uint32),
        DType("bool_", np.dtype(np.bool_), "uint"),
    )
)

#: The packed types.
PACKED: Final = frozenset(name for name, dtype in DTYPES.items() if dtype.is_packed)


def dtype_named(name: str) -> DType:
    """Return the data type called `name`.

    Raises:
        KeyError: If NKI has no such type; the message lists those it has.
    """
    dtype = DTYPES.get(name)
    if dtype is None:
        raise KeyError(f"unknown NKI dtype {name!r}; known: {', '.join(DTYPES)}")
    return dtype


def wide_twin(name: str) -> str:
    """Return the name of a type's wide twin; of a type without one, its own."""
    return f"{_WIDE}{name}" if _has_twin(dtype_named(name)) else name
