"""`nki.language`: floor, ceiling and truncation, composed of conversions to integers.

No engine has them. A write to an int32 tile rounds to nearest, from which one comparison with the argument
leads to the neighbour wanted. From 2**23 on every float32 is a whole number, and stays as it is.
Source: docstrings of NKI 0.6, which say what is computed but not how; facts/nki.md section 7.3.
"""

from __future__ import annotations

from typing import Any, Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.elementwise import require_tile
from pipeline.emulator.frontend.emission import activated, combined, copied, scaled
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.tensor import NkiTensor

__all__ = ["ceil", "floor", "trunc"]

#: The least magnitude at which float32 has no fraction.
_WHOLE: Final = 2.0**23


def floor(x: Any, dtype: Any = None) -> NkiTensor:
    """Return the greatest whole numbers not above those of a tile."""
    return _round("floor", x, dtype)


def ceil(x: Any, dtype: Any = None) -> NkiTensor:
    """Return the least whole numbers not below those of a tile."""
    return _round("ceil", x, dtype)


def trunc(x: Any, dtype: Any = None) -> NkiTensor:
    """Return the numbers of a tile without their fraction."""
    return _round("trunc", x, dtype)


def _round(name: str, x: Any, dtype: Any) -> NkiTensor:
    tile = require_tile(x, name)
    kind = tile.dtype if dtype is None else dtype
    if not DTYPES[tile.dtype].is_float:
        return copied(tile, kind)
    if name == "trunc":
        magnitude = _neighbour(scaled(tile, "abs", None, dtype="float32"), down=True)
        rounded = combined(magnitude, "multiply", activated(tile, "sign", "float32"), kind)
    else:
        rounded = copied(_neighbour(tile, down=name == "floor"), kind)
    fractional = scaled(tile, "abs", None, "less", _WHOLE, dtype="uint8")
    result = copied(tile, kind)
    INSTRUCTIONS["tensor_copy_predicated"](result, rounded, fractional)
    return result


def _neighbour(tile: NkiTensor, *, down: bool) -> NkiTensor:
    """Return the whole number next to each element, for magnitudes that int32 holds."""
    nearest = copied(tile, "int32")
    passed = combined(nearest, "greater" if down else "less", tile, "float32")
    return combined(nearest, "subtract" if down else "add", passed, "float32")
