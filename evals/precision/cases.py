"""Kernels with one planted loss of precision each, and the line at which it happens.

Written before the attribution that they test. Every kernel is right but for the line marked ``# planted``:
its rounding alone should contribute more to the error of the outputs than that of any other line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import ml_dtypes
import numpy as np

from pipeline.emulator.frontend import InputSpec, trace
from pipeline.emulator.program import Program

__all__ = ["CASES", "Planted"]

_KERNELS: Final = Path(__file__).parent / "kernels"
_MARK: Final = "# planted"
_NAMES: Final = {
    np.dtype(np.float32): "float32",
    np.dtype(ml_dtypes.bfloat16): "bfloat16",
    np.dtype(np.int32): "int32",
}


@dataclass(frozen=True)
class Planted:
    """One kernel.

    Attributes:
        name: Of its file.
        draw: Draws its inputs.
        target: Chip it is traced for.
    """

    name: str
    draw: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    target: str = "trn2"

    @property
    def source(self) -> str:
        """Text of the kernel."""
        return (_KERNELS / f"{self.name}.py").read_text()

    @property
    def line(self) -> int:
        """Where precision is lost, 1-based."""
        (line,) = (number for number, text in enumerate(self.source.splitlines(), 1) if _MARK in text)
        return line

    def inputs(self, seed: int = 0) -> tuple[np.ndarray, ...]:
        """Draw the inputs."""
        return self.draw(np.random.default_rng(seed))

    def program(self) -> Program:
        """Trace the kernel for its inputs."""
        arrays = self.inputs()
        names = "abcdefgh"[: len(arrays)]
        specs = [
            InputSpec(name, array.shape, _NAMES[array.dtype])
            for name, array in zip(names, arrays, strict=True)
        ]
        return trace(self.source, f"{self.name}.py", "kernel", specs, target=self.target)


def _normal(
    *shapes: tuple[int, ...], mean: float = 0, scale: float = 1
) -> Callable[..., tuple[np.ndarray, ...]]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return tuple((mean + scale * rng.standard_normal(shape)).astype(np.float32) for shape in shapes)

    return draw


def _bfloat16(draw: Callable[..., tuple[np.ndarray, ...]]) -> Callable[..., tuple[np.ndarray, ...]]:
    return lambda rng: tuple(array.astype(ml_dtypes.bfloat16) for array in draw(rng))


def _large_integers(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return tuple(rng.integers(1 << 27, 1 << 29, (128, 64), dtype=np.int32) for _ in range(2))


def _bias(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    (x,), (bias,) = _normal((128, 64))(rng), _normal((128, 64), mean=30)(rng)
    return x, bias


def _angles(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    (x,) = _normal((128, 128))(rng)
    angles = np.arange(128)[:, None] * 10000.0 ** -(np.arange(64) / 64)
    return x, np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _nearly_equal(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    (a, difference) = _normal((128, 64), (128, 64))(rng)
    return a + np.float32(10), a + np.float32(10) + np.float32(0.01) * difference


_SLABS: Final = _normal((16, 128, 64))
_ROWS: Final = _normal((128, 256))
_PRODUCT: Final = _normal((128, 128), (128, 64))

CASES: Final = (
    Planted("bf16_bias", _bias),
    Planted("bf16_carry", _normal((128, 512))),
    Planted("bf16_cosines", _angles),
    Planted("bf16_denominator", _ROWS),
    Planted("bf16_exponent", _normal((128, 256), scale=4)),
    Planted("bf16_mean", _normal((128, 256), mean=3)),
    Planted("bf16_partial_products", _normal((4, 128, 128), (4, 128, 64))),
    Planted("bf16_positions", _normal((128, 512))),
    Planted("bf16_psum", _normal((8, 128, 128), (8, 128, 64)), "trn3"),
    Planted("bf16_reciprocal", _ROWS),
    Planted("bf16_rescaling", _normal((128, 256), scale=3)),
    Planted("bf16_rsqrt", _ROWS),
    Planted("bf16_running_sum", _SLABS),
    Planted("bf16_squares", _ROWS),
    Planted("bf16_variance", _ROWS),
    Planted("cancellation", _nearly_equal),
    Planted("cast_before_maximum", _normal((128, 256), mean=40, scale=4)),
    Planted("difference_of_squares", _bfloat16(_normal((128, 256), mean=100))),
    Planted("double_rounding", _normal((128, 64), (128, 64))),
    Planted("downcast_before_reduction", _normal((128, 512), mean=1)),
    Planted("downcast_on_load", _PRODUCT),
    Planted("fp16_logarithm", _ROWS),
    Planted("fp16_running_sum", _SLABS),
    Planted("fp8_intermediate", _bfloat16(_PRODUCT)),
    Planted("fp8_overflow", _normal((128, 64), mean=4)),
    Planted("fp8_scale", _ROWS),
    Planted("int32_on_vector_engine", _large_integers),
    Planted("softmax_without_maximum", _normal((128, 256), mean=80, scale=8)),
    Planted("tfloat32_operand", _PRODUCT),
)
