"""`nki.language`: element-wise functions on tiles, one instruction each. Source: docstrings of NKI 0.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.emission import activated, combined, copied, scaled
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.session import active_recorder
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import DType, MemoryRegion
from pipeline.emulator.operations.operators import OPERATORS
from pipeline.emulator.toolchain import holds

__all__ = ["ELEMENTWISE", "require_tile"]

_BINARY: Final = (
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
)
_ACTIVATED: Final = (
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
)
#: Functions the simulator has and the hardware does not. Source: NKI 0.4 release notes, known issues.
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
    if not isinstance(x, NkiTensor) and not isinstance(y, NkiTensor):
        require_tile(x, name)
    if isinstance(x, NkiTensor) and isinstance(y, NkiTensor):
        require_tile(x, name)
        require_tile(y, name)
        if x.shape != y.shape:
            remedy = "use nl.broadcast_to, or give a (P, 1) operand to nisa.tensor_scalar as operand0"
            if x.ndim != y.ndim:
                # aws-neuron-sdk issue 1138: right in the simulator, repeated rows on the device.
                remedy = "loop over the outer dimension, the device is known to miscompile such a broadcast"
            raise KernelError(
                KernelErrorKind.COMPILE_ERROR,
                f"nl.{name} of {x!r} and {y!r}: shapes must be equal, tiles are not broadcast; {remedy}",
            )
        return combined(x, name, y, _wider(x.dtype, y.dtype) if dtype is None else dtype)
    tile = require_tile(x if isinstance(x, NkiTensor) else y, name)
    return scaled(tile, name, y if tile is x else x, reverse=tile is not x, dtype=dtype)


def _wider(first: DType, second: DType) -> DType:
    """Return the type that holds both: the float one, then the longer one."""
    return max(first, second, key=lambda name: (DTYPES[name].is_float, DTYPES[name].itemsize))


def _make_binary(name: str) -> Callable[..., NkiTensor]:
    def call(x: Any, y: Any, dtype: Any = None) -> NkiTensor:
        return _binary(name, x, y, dtype)

    return call


def _make_activated(name: str) -> Callable[..., NkiTensor]:
    def call(x: Any, dtype: Any = None) -> NkiTensor:
        return activated(require_tile(x, name), name, dtype)

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
    tile = require_tile(x, "rsqrt")
    if not _holds("rsqrt-sbuf"):
        return activated(tile, "rsqrt", dtype)
    if tile.buffer is MemoryRegion.psum:
        raise KernelError(
            KernelErrorKind.ILLEGAL_ON_TARGET,
            f"nl.rsqrt of {tile!r}: it runs on the gpsimd engine, which cannot reach PSUM; use "
            "nisa.activation(op=nl.rsqrt)",
        )
    return scaled(tile, "rsqrt", 0.0, dtype=dtype)


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
    return scaled(require_tile(x, "negative"), "multiply", -1.0, dtype=dtype)


def logical_not(x: Any, dtype: Any = None) -> NkiTensor:
    """Return 1 where `x` is 0, else 0: an exclusive or with 1, as documented."""
    return scaled(require_tile(x, "logical_not"), "logical_xor", 1.0, dtype=dtype)


def invert(x: Any, dtype: Any = None) -> NkiTensor:
    """Return the bitwise complement: an exclusive or with all ones."""
    tile = require_tile(x, "invert")
    kind = DTYPES[tile.dtype]
    ones = -1 if kind.kind == "int" else (1 << (8 * kind.itemsize)) - 1
    return scaled(tile, "bitwise_xor", ones, dtype=dtype)


def copy(x: Any, dtype: Any = None) -> NkiTensor:
    """Return a copy of a tile in SBUF, bit for bit where the data type stays.

    Before NKI 0.6 the scalar engine makes it, through float32 as an activation does, and from SBUF only (NKI
    0.4.0 release notes, known issues).
    """
    tile = require_tile(x, "copy")
    if _holds("copy-on-vector-engine"):
        return copied(tile, dtype)
    if tile.buffer is MemoryRegion.psum:
        raise KernelError(
            KernelErrorKind.ILLEGAL_ON_TARGET,
            f"nl.copy of {tile!r}: until NKI 0.6 it copies within SBUF only, this kernel is compiled for "
            f"{active_recorder().version}; use nisa.tensor_copy",
        )
    return activated(tile, "copy", dtype)


def _holds(change: str) -> bool:
    recorder = active_recorder()
    return holds(change, recorder.version, recorder.target.name)


#: Every element-wise function of one instruction, by name.
ELEMENTWISE: Final[dict[str, Callable[..., NkiTensor]]] = {
    **{name: _make_binary(name) for name in _BINARY},
    **{name: _make_activated(name) for name in _ACTIVATED},
    **{name: _make_refused(name) for name in _REFUSED},
    "reciprocal": reciprocal,
    "rsqrt": rsqrt,
    "power": power,
    "negative": negative,
    "logical_not": logical_not,
    "invert": invert,
    "copy": copy,
}
