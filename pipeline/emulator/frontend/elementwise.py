"""`nki.language`: element-wise functions on tiles, one instruction each. Source: docstrings of NKI 0.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.functions import LanguageFunction
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.recorder import active_recorder
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import DType, MemoryRegion
from pipeline.emulator.operations.inventory import VERSIONS
from pipeline.emulator.operations.operators import OPERATORS

__all__ = ["FUNCTIONS", "require_tile"]

_BINARY: Final = [
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "abs_max",
    "abs_min",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "logical_and",
    "logical_or",
    "logical_xor",
]
_ACTIVATED: Final = [
    "exp",
    "log",
    "sqrt",
    "tanh",
    "sigmoid",
    "relu",
    "gelu",
    "gelu_apprx_sigmoid",
    "gelu_apprx_tanh",
    "gelu_dx",
    "gelu_apprx_sigmoid_dx",
    "silu",
    "silu_dx",
    "softplus",
    "mish",
    "erf",
    "erf_dx",
    "abs",
    "square",
    "sign",
    "arctan",
]
#: Functions the simulator has and the hardware does not. Source: NKI 0.6 release notes, known issues.
_REFUSED: Final = ("divide", "mod", "fmod")


def require_tile(value: object, function: str) -> NkiTensor:
    """Return `value` if it is a tensor on chip.

    Raises:
        KernelError: If it is not.
    """
    if not isinstance(value, NkiTensor):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.{function} takes a tile, not {type(value).__name__} {str(value)[:40]!r}",
        )
    if not value._on_chip:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.{function} takes a tile in SBUF or PSUM, {value!r} is not on chip; load it first with "
            "nl.load or nisa.dma_copy",
        )
    return value


def _binary(name: str, x: Any, y: Any, dtype: Any) -> NkiTensor:
    operator = FUNCTIONS[name]
    if not isinstance(x, NkiTensor) and not isinstance(y, NkiTensor):
        require_tile(x, name)
    if isinstance(x, NkiTensor) and isinstance(y, NkiTensor):
        require_tile(x, name)
        require_tile(y, name)
        if x.shape != y.shape:
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                f"nl.{name} of {x!r} and {y!r}: shapes must be equal, tiles are not broadcast; use "
                "nl.broadcast_to, or "
                f"nisa.tensor_scalar for a (P, 1) operand",
            )
        result = new_tile(x.shape, _wider(x.dtype, y.dtype) if dtype is None else dtype)
        INSTRUCTIONS["tensor_tensor"](result, x, y, op=operator)
        return result
    tile = require_tile(x if isinstance(x, NkiTensor) else y, name)
    result = new_tile(tile.shape, tile.dtype if dtype is None else dtype)
    number = y if tile is x else x
    INSTRUCTIONS["tensor_scalar"](result, tile, op0=operator, operand0=number, reverse0=tile is not x)
    return result


def _wider(first: DType, second: DType) -> DType:
    """Return the type that holds both: the float one, then the longer one."""
    return max(first, second, key=lambda name: (DTYPES[name].is_float, DTYPES[name].itemsize))


def _activated(name: str, x: Any, dtype: Any) -> NkiTensor:
    tile = require_tile(x, name)
    result = new_tile(tile.shape, tile.dtype if dtype is None else dtype)
    INSTRUCTIONS["activation"](result, op=FUNCTIONS[name], data=tile)
    return result


def _make_binary(name: str) -> Callable[..., NkiTensor]:
    def call(x: Any, y: Any, dtype: Any = None) -> NkiTensor:
        return _binary(name, x, y, dtype)

    return call


def _make_activated(name: str) -> Callable[..., NkiTensor]:
    def call(x: Any, dtype: Any = None) -> NkiTensor:
        return _activated(name, x, dtype)

    return call


def _make_refused(name: str) -> Callable[..., NkiTensor]:
    def call(x: Any, y: Any, dtype: Any = None) -> NkiTensor:
        raise KernelError(
            KernelErrorKind.ILLEGAL_ON_TARGET,
            f"nl.{name} runs in the simulator only, no engine has it; {OPERATORS[name].remedy}",
        )

    return call


def reciprocal(x: Any, dtype: Any = None) -> NkiTensor:
    """Return ``1 / x``, computed on the vector engine."""
    tile = require_tile(x, "reciprocal")
    result = new_tile(tile.shape, tile.dtype if dtype is None else dtype)
    INSTRUCTIONS["reciprocal"](result, tile)
    return result


def rsqrt(x: Any, dtype: Any = None) -> NkiTensor:
    """Return ``1 / sqrt(x)``, since NKI 0.5 on the gpsimd engine, which does not reach PSUM."""
    recorder = active_recorder()
    if VERSIONS.index(recorder.version) < VERSIONS.index("0.5"):
        return _activated("rsqrt", x, dtype)
    tile = require_tile(x, "rsqrt")
    if tile.buffer is MemoryRegion.psum:
        raise KernelError(
            KernelErrorKind.ILLEGAL_ON_TARGET,
            f"nl.rsqrt of {tile!r}: it runs on the gpsimd engine, which cannot reach PSUM; use "
            "nisa.activation(op=nl.rsqrt)",
        )
    result = new_tile(tile.shape, tile.dtype if dtype is None else dtype)
    INSTRUCTIONS["tensor_scalar"](result, tile, op0=FUNCTIONS["rsqrt"], operand0=0.0)
    return result


def power(x: Any, y: Any, dtype: Any = None) -> NkiTensor:
    """Return `x` raised to `y`; both must be tiles."""
    if not isinstance(x, NkiTensor) or not isinstance(y, NkiTensor):
        raise KernelError(
            KernelErrorKind.ILLEGAL_ON_TARGET,
            "nl.power takes two tiles, a number is not supported; fill a tile with nl.full, or use "
            "nl.square, nl.sqrt, nl.rsqrt or nl.reciprocal",
        )
    return _binary("power", x, y, dtype)


def negative(x: Any, dtype: Any = None) -> NkiTensor:
    """Return ``-x``."""
    return _binary("multiply", require_tile(x, "negative"), -1.0, dtype)


def logical_not(x: Any, dtype: Any = None) -> NkiTensor:
    """Return 1 where `x` is 0, else 0: an exclusive or with 1, as documented."""
    return _binary("logical_xor", require_tile(x, "logical_not"), 1.0, dtype)


def invert(x: Any, dtype: Any = None) -> NkiTensor:
    """Return the bitwise complement: an exclusive or with all ones."""
    tile = require_tile(x, "invert")
    return _binary("bitwise_xor", tile, -1 if DTYPES[tile.dtype].kind == "int" else _all_ones(tile), dtype)


def copy(x: Any, dtype: Any = None) -> NkiTensor:
    """Return a copy of a tile in SBUF."""
    tile = require_tile(x, "copy")
    result = new_tile(tile.shape, tile.dtype if dtype is None else dtype)
    INSTRUCTIONS["tensor_copy"](result, tile)
    return result


def _all_ones(tile: NkiTensor) -> int:
    return int((1 << (8 * DTYPES[tile.dtype].itemsize)) - 1)


#: Every element-wise name of `nki.language`; those without a call can only be passed as ``op=``.
FUNCTIONS: Final[dict[str, LanguageFunction]] = {
    **{name: LanguageFunction(name, _make_binary(name)) for name in _BINARY},
    **{name: LanguageFunction(name, _make_activated(name)) for name in _ACTIVATED},
    **{name: LanguageFunction(name, _make_refused(name)) for name in _REFUSED},
    **{name: LanguageFunction(name, None) for name in ("bypass", "prelu", "sin")},
    "average": LanguageFunction("average", None, operator="average"),
    **{
        function.__name__: LanguageFunction(function.__name__, function)
        for function in (reciprocal, rsqrt, power, negative, logical_not, invert, copy)
    },
}
