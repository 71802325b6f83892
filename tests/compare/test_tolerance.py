"""Derived limits tell right from wrong: 216 settings of operation, length, dtype and distribution.

In each an honest execution, written here in plain NumPy, is inside. The same with half the mantissa in every
rounding is outside, and so is one that drops a term of an additive operation: of up to 4096 Gaussian terms,
256 where they are float8, and of any number where the term dominates. Inside means all elements, all rows and
the whole.

Three things cannot be told apart, whatever the limits. A reference that half the mantissa holds nearly as
well (ties, a softmax of one column) is no worse for it. The largest and the smallest normal number of float8
are only 2**14 apart, so its settings scale their inputs to what the results need, and leave out patterns that
overflow or vanish. And rounding to 2 bits instead of 4 is 4 times as coarse, which it takes some 256 elements
to tell from bad luck.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.tolerance import Limits, derive_tolerance
from pipeline.emulator.dtypes import DTYPES
from pipeline.execute.arithmetic.measurement import Formula, measure
from pipeline.execute.patterns import apply_pattern
from pipeline.types import Numerics, TensorSpec

#: Bits of the significand, the leading one included.
BITS: Final = {"float32": 24, "bfloat16": 8, "float16": 11, "float8_e4m3": 4}
FLOAT8: Final = "float8_e4m3"
#: Per pair of operation and dtype.
SETTINGS: Final = 6


def chop(values: np.ndarray, bits: int) -> np.ndarray:
    """Round to nearest with `bits` bits of significand and any exponent."""
    mantissas, exponents = np.frexp(values)
    return np.ldexp(np.rint(mantissas * 2.0**bits) / 2.0**bits, exponents)


class Machine:
    """What an honest kernel computes with: `round` after each step in float32, `store` between steps."""

    def __init__(self, dtype: str, rng: np.random.Generator, *, halved: bool, approximates: bool) -> None:
        self.dtype, self.rng, self.halved, self.approximates = dtype, rng, halved, approximates

    def round(self, values: np.ndarray) -> np.ndarray:
        return chop(values, 12) if self.halved else values.astype(np.float32).astype(np.float64)

    def store(self, values: np.ndarray) -> np.ndarray:
        values = self.round(values)
        if self.halved:
            return chop(values, BITS[self.dtype] // 2)
        return values.astype(np.float32).astype(DTYPES[self.dtype].storage).astype(np.float64)

    def approximate(self, values: np.ndarray) -> np.ndarray:
        return values * (1 + self.approximates * self.rng.uniform(-(2.0**-16), 2.0**-16, values.shape))

    def sum(self, terms: np.ndarray) -> np.ndarray:
        """Add every 64th term first, then the 64 sums: another order than any of the grader's."""
        lanes = np.zeros((*terms.shape[:-1], 64))
        for start in range(0, terms.shape[-1], 64):
            block = terms[..., start : start + 64]
            lanes[..., : block.shape[-1]] = self.round(lanes[..., : block.shape[-1]] + block)
        total = np.zeros(terms.shape[:-1])
        for lane in range(min(64, terms.shape[-1])):
            total = self.round(total + lanes[..., lane])
        return total


def grouped(sums: np.ndarray) -> np.ndarray:
    return sums.reshape(16, -1)


def run_sum(on: Machine, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return grouped(on.sum(x))


def run_mean(on: Machine, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    total = on.sum(x)
    # A kernel scales what its dtype does not hold before it stores it.
    fits = np.abs(total) <= float(ml_dtypes.finfo(DTYPES[on.dtype].storage).max)
    stored = np.where(fits, on.store(np.where(fits, total, 0.0)), total)
    return grouped(on.round(stored / x.shape[-1]))


def run_matmul(on: Machine, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return on.sum(on.round(x[:, None, :] * y.T[None, :, :]))


def run_softmax(on: Machine, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    exponentials = on.store(on.approximate(np.exp(on.store(x - x.max(axis=1, keepdims=True)))))
    return on.round(on.approximate(exponentials / on.store(on.sum(exponentials))[:, None]))


def run_rmsnorm(on: Machine, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    mean = on.store(on.sum(on.store(np.square(x))) / x.shape[-1])[:, None]
    return on.round(on.approximate(x / on.store(on.approximate(np.sqrt(on.store(mean + 1e-3))))))


def run_exp(on: Machine, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return on.round(on.approximate(np.exp(x)))


def run_product(on: Machine, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return on.round(x * y)


def run_cumsum(on: Machine, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    sums, total = np.empty(x.shape), np.zeros(len(x))
    for column in range(x.shape[1]):
        total = sums[:, column] = on.round(total + x[:, column])
    return sums


def run_chain(on: Machine, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return on.round(on.store(on.store(on.store(x * y) + x) * 0.7) - y)


def refer(formula: Callable[[np.ndarray, np.ndarray], Any]) -> Callable[..., dict[str, Any]]:
    return lambda inputs, axes: {"out": formula(inputs["x"], inputs["y"])}


def softmax(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    exponentials = np.exp(x - x.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def rmsnorm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.mean(np.square(x), axis=1, keepdims=True) + 1e-3)


#: Name, reference and honest execution.
OPERATIONS: Final = {
    "sum": (refer(lambda x, y: grouped(np.sum(x, axis=1))), run_sum),
    "mean": (refer(lambda x, y: grouped(np.mean(x, axis=1))), run_mean),
    "matmul": (refer(lambda x, y: x @ y), run_matmul),
    "softmax": (refer(softmax), run_softmax),
    "rmsnorm": (refer(rmsnorm), run_rmsnorm),
    "exp": (refer(lambda x, y: np.exp(x)), run_exp),
    "product": (refer(lambda x, y: x * y), run_product),
    "cumsum": (refer(lambda x, y: np.cumsum(x, axis=1)), run_cumsum),
    "chain": (refer(lambda x, y: (x * y + x) * 0.7 - y), run_chain),
}
ADDITIVE: Final = ("sum", "mean", "matmul", "cumsum")
PATTERNS: Final = (
    "drawn",
    "small",
    "large",
    "signed",
    "offset",
    "constant_rows",
    "ties",
    "sorted",
    "impulse",
)


@dataclass(frozen=True)
class Setting:
    operation: str
    dtype: str
    length: int
    pattern: str
    seed: int

    def draw(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs in float64, rounded to the dtype; float8 ones scaled so that it holds the results."""
        rng = np.random.default_rng([self.seed, 1])
        rows = 256 if self.dtype == FLOAT8 else 64 if self.operation in ("sum", "mean") else 32
        rows = 16 if self.operation == "matmul" else rows
        scale = 1.0
        if self.dtype == FLOAT8:
            root = np.sqrt(self.length)
            scale = {"mean": root / 2, "sum": 30 / root, "cumsum": 30 / root, "matmul": 3 / root**0.5}.get(
                self.operation, 0.7
            )
        shapes = (
            (rows, self.length),
            (self.length, 32) if self.operation == "matmul" else (rows, self.length),
        )
        x, y = (
            apply_pattern(self.pattern, scale * rng.standard_normal(shape), rng, self.dtype)
            .astype(DTYPES[self.dtype].storage)
            .astype(np.float64)
            for shape in shapes
        )
        return x, y

    def execute(self, x: np.ndarray, y: np.ndarray, *, halved: bool = False) -> np.ndarray:
        rng = np.random.default_rng([self.seed, 2])
        machine = Machine(self.dtype, rng, halved=halved, approximates=self.seed % 2 == 0)
        with np.errstate(all="ignore"):
            return machine.store(OPERATIONS[self.operation][1](machine, x, y))

    def refer(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return OPERATIONS[self.operation][0]({"x": x, "y": y}, {})["out"]

    def limits(self, x: np.ndarray, y: np.ndarray, expected: np.ndarray) -> Limits:
        formula = Formula(
            OPERATIONS[self.operation][0], globals(), {"x": x, "y": y}, {}, (("out", self.dtype),)
        )
        measured = measure(
            formula,
            [expected],
            compute_dtype=self.dtype,
            storage_dtype=self.dtype,
            study=False,
            seed=(self.seed,),
        )
        assert "running error analysis" in measured.derivation[0]
        numerics = Numerics(compute_dtype=self.dtype, storage_dtype=self.dtype)
        spec = TensorSpec(name="out", shape=expected.shape, dtype=self.dtype)
        return derive_tolerance(spec, expected, measured.spread[0], measured.noise[0], numerics)

    def halving_tells(self, expected: np.ndarray) -> bool:
        """Whether the reference itself suffers from half the mantissa."""
        whole, half = (
            float(np.linalg.norm(rounded - expected))
            for rounded in (
                expected.astype(DTYPES[self.dtype].storage).astype(np.float64),
                chop(expected, BITS[self.dtype] // 2),
            )
        )
        return half > 2 * whole and self.pattern not in ("ties", "constant_rows")

    def drop(self, x: np.ndarray) -> np.ndarray | None:
        """The left operand without one term: for all rows, or for one row the term that dominates it."""
        without = x.copy()
        if self.operation in ADDITIVE and self.length > 1:
            if self.pattern == "impulse":
                without[0, np.argmax(np.abs(x[0]))] = 0
                return without
            if self.pattern == "drawn" and self.length <= (256 if self.dtype == FLOAT8 else 4096):
                without[:, np.random.default_rng([self.seed, 3]).integers(self.length)] = 0
                return without
        return None


def settings(operation: str, dtype: str) -> list[Setting]:
    number = list(OPERATIONS).index(operation) * 100 + list(BITS).index(dtype)
    rng = np.random.default_rng(number)
    longest = 32 if dtype == FLOAT8 and operation in ("softmax", "rmsnorm") else 4096
    if operation in ("cumsum", "exp", "product", "chain"):
        longest = 512  # for time: no order of sums is at stake, or only one
    patterns = [pattern for pattern in PATTERNS if suits(pattern, operation, dtype)]
    found = []
    for index in range(SETTINGS):
        pattern = "drawn" if index % 2 == 0 else patterns[(number + index) % len(patterns)]
        length = longest if index == 0 else int(2 ** rng.uniform(0, np.log2(longest)))
        if dtype == FLOAT8 and operation in ADDITIVE:
            length = min(length, 256)
        if dtype == FLOAT8 and operation == "rmsnorm":
            length = max(length, 8)  # the square of a single small number vanishes
        found.append(Setting(operation, dtype, length, pattern, 1000 * number + index))
    return found


def suits(pattern: str, operation: str, dtype: str) -> bool:
    """Whether nothing overflows or vanishes in the dtype under this pattern."""
    if dtype == FLOAT8:
        return pattern == "drawn" or (
            pattern in ("ties", "constant_rows") and operation in ("product", "chain")
        )
    if operation == "exp":
        return pattern not in ("large", "impulse", "offset")
    return not (dtype == "float16" and pattern in ("small", "large", "offset", "impulse"))


def shares(got: np.ndarray, expected: np.ndarray, limits: Limits) -> tuple[float, float, float]:
    """Largest error over its limit: of an element, of a row, of the whole."""
    errors = np.abs(got - expected)
    rows = np.linalg.norm(errors, axis=-1), np.linalg.norm(expected, axis=-1) * limits.row_rel_l2
    whole = float(np.linalg.norm(errors)), float(np.linalg.norm(expected)) * limits.rel_l2
    with np.errstate(all="ignore"):
        ratios = (
            np.where(error > 0, error / limit, 0.0)
            for error, limit in ((errors, limits.elementwise), rows, whole)
        )
        element, row, total = (float(np.max(ratio)) for ratio in ratios)
    return element, row, total


@dataclass(frozen=True)
class NarrowImpulse(Setting):
    """A term that dominates its row, where the type's range leaves room for one impulse, not for two."""

    def draw(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([self.seed, 4])
        scale = 0.1 if self.dtype == FLOAT8 else 1.0
        shape = (self.length, 32) if self.operation == "matmul" else (64, self.length)
        x = apply_pattern("impulse", scale * rng.standard_normal((64, self.length)), rng, self.dtype)
        y = 0.4 * rng.standard_normal(shape)
        storage = DTYPES[self.dtype].storage
        return x.astype(storage).astype(np.float64), y.astype(storage).astype(np.float64)


@pytest.mark.parametrize("length", [2, 33, 700, 4096])
@pytest.mark.parametrize("dtype", ["float16", FLOAT8])
@pytest.mark.parametrize("operation", ADDITIVE)
def test_a_dominating_term_is_missed_in_narrow_types_at_any_length(
    operation: str, dtype: str, length: int
) -> None:
    setting = NarrowImpulse(operation, dtype, length, "impulse", length)
    x, y = setting.draw()
    expected = setting.refer(x, y)
    assert np.abs(expected).max() < float(ml_dtypes.finfo(DTYPES[dtype].storage).max)
    limits = setting.limits(x, y, expected)
    honest = shares(setting.execute(x, y), expected, limits)
    assert all(share <= 1 for share in honest), honest
    without = setting.drop(x)
    assert without is not None
    incomplete = shares(setting.execute(without, y), expected, limits)
    assert max(incomplete) > 1, incomplete


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_honest_is_inside_and_imprecise_or_incomplete_is_outside(operation: str, dtype: str) -> None:
    for setting in settings(operation, dtype):
        x, y = setting.draw()
        expected = setting.refer(x, y)
        limits = setting.limits(x, y, expected)
        honest = shares(setting.execute(x, y), expected, limits)
        assert all(share <= 1 for share in honest), (setting, honest)
        if setting.halving_tells(expected):
            halved = shares(setting.execute(x, y, halved=True), expected, limits)
            assert max(halved) > 1, (setting, halved)
        if (without := setting.drop(x)) is not None:
            incomplete = shares(setting.execute(without, y), expected, limits)
            assert max(incomplete) > 1, (setting, incomplete)
