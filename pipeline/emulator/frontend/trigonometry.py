"""`nki.language`: sine, cosine and tangent, accurate beyond the scalar engine's [-pi, pi].

The engine evaluates sine without range reduction, so the argument is first brought into its range on the
vector engine. The documentation says that `nl.sin` does so, not how; this is the usual reduction in three
steps (Cody and Waite): for arguments up to about 50,000 it loses no more than a few units of 2**-24.
Sources: nki.api.shared.rst, activation functions; docstrings of NKI 0.6.
"""

from __future__ import annotations

import math
from typing import Any, Final

from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.elementwise import require_tile
from pipeline.emulator.frontend.emission import activated, combined, scaled
from pipeline.emulator.frontend.functions import named
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.tensor import NkiTensor

__all__ = ["cos", "sin", "tan"]

#: A turn in three parts. The first two have 8 and 11 significant bits, so that their products with a whole
#: number of turns are exact in float32 up to 2**13 turns.
_TURN: Final = (6.28125, 2029 * 2.0**-20, 2 * math.pi - 6.28125 - 2029 * 2.0**-20)
#: The greatest float32 below pi; float32's own pi is above it, outside the engine's range.
_LIMIT: Final = 3.1415925


def sin(x: Any, dtype: Any = None) -> NkiTensor:
    """Return the sine of a tile."""
    tile = require_tile(x, "sin")
    return _sine(tile, 0.0, tile.dtype if dtype is None else dtype)


def cos(x: Any, dtype: Any = None) -> NkiTensor:
    """Return the cosine of a tile: the sine a quarter of a turn later."""
    tile = require_tile(x, "cos")
    return _sine(tile, 0.25, tile.dtype if dtype is None else dtype)


def tan(x: Any, dtype: Any = None) -> NkiTensor:
    """Return the tangent of a tile: sine times the reciprocal of cosine."""
    tile = require_tile(x, "tan")
    cosine = _sine(tile, 0.25, "float32")
    inverse = new_tile(tile.shape, "float32")
    INSTRUCTIONS["reciprocal"](inverse, cosine)
    return combined(_sine(tile, 0.0, "float32"), "multiply", inverse, tile.dtype if dtype is None else dtype)


def _sine(tile: NkiTensor, turns: float, dtype: Any) -> NkiTensor:
    """Return the sine of `tile` plus so many turns."""
    # Writing an int32 tile rounds to the nearest whole number of turns.
    whole = scaled(tile, "multiply", 1 / (2 * math.pi), "add", turns, dtype="int32")
    rest = tile
    for part in _TURN:
        left = new_tile(tile.shape, "float32")
        INSTRUCTIONS["scalar_tensor_tensor"](
            left, whole, op0=named("multiply"), operand0=-part, op1=named("add"), operand1=rest
        )
        rest = left
    if turns:
        rest = scaled(rest, "add", turns * 2 * math.pi)
    return activated(scaled(rest, "minimum", _LIMIT, "maximum", -_LIMIT), "sin", dtype)
