"""Measure how exactly a reference can be computed: the spread, the noise, and other machines' errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from pipeline.execute.arithmetic.arithmetic import Arithmetic, Unsupported
from pipeline.execute.arithmetic.bounds import RunningError
from pipeline.execute.arithmetic.executions import Execution, Order
from pipeline.execute.arithmetic.formats import APPROXIMATION, round_to
from pipeline.execute.arithmetic.namespace import substituted
from pipeline.execute.arithmetic.sensitivity import REPEATS, responses
from pipeline.execute.arithmetic.value import Value

__all__ = ["Formula", "Measurement", "Reference", "find_obstacle", "measure"]

#: What a reference is called with, and what it answers: arrays by name.
Reference: TypeAlias = Callable[[dict[str, Any], dict[str, int]], Mapping[str, Any]]

#: In turn, the orders of honest executions.
_ORDERS: Final = (
    Order(128),
    Order(None),
    Order(32, backwards=True),
    Order(8),
    Order(None, backwards=True),
    Order(64, backwards=True),
    Order(2),
    Order(16),
)
_FEWEST: Final = 2
_MOST: Final = 16
#: Together the executions should see so many output elements, or their noise would be luck.
_ELEMENTS: Final = 1 << 14
#: Beyond so many input elements only the fewest executions are made.
_COSTLY: Final = 1 << 22

#: Other machines, by name: dtypes of operands and of intermediate results, and how sums are cut.
_MACHINES: Final = {
    "float32": ("float32", "float32", Order(128)),
    "bfloat16": ("bfloat16", "bfloat16", Order(128)),
    "gpu": ("tfloat32", "float32", Order(32)),
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured; see `ReferenceReply` for the fields."""

    spread: list[np.ndarray]
    noise: list[tuple[float, ...]]
    derivation: tuple[str, ...]
    arithmetic: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Formula:
    """A reference with the inputs it is measured on.

    Attributes:
        reference: The function.
        namespace: Globals of its module.
        inputs: Float64, or integers.
        axes: The task's axes.
        outputs: Names and NKI dtypes of what it answers.
    """

    reference: Reference
    namespace: dict[str, Any]
    inputs: Mapping[str, np.ndarray]
    axes: Mapping[str, int]
    outputs: tuple[tuple[str, str], ...]

    def run(self, arithmetic: Arithmetic) -> list[tuple[np.ndarray, ...]]:
        """Return the parts of each output in another arithmetic.

        Raises:
            Unsupported: If the formula does what is not known there.
        """
        inputs = {
            name: Value(arithmetic, arithmetic.represent(values.copy()), derived=False)
            if values.dtype.kind == "f"
            else values.copy()
            for name, values in self.inputs.items()
        }
        with substituted(self.namespace, arithmetic):
            answers = self.reference(inputs, dict(self.axes))
        return [self._parts(arithmetic, answers[name]) for name, _ in self.outputs]

    def run_plainly(self, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return each output in float64, for other inputs."""
        answers = self.reference(dict(inputs), dict(self.axes))
        return [np.asarray(answers[name], np.float64) for name, _ in self.outputs]

    @staticmethod
    def _parts(arithmetic: Arithmetic, answer: Any) -> tuple[np.ndarray, ...]:
        if isinstance(answer, Value):
            return answer.parts
        return arithmetic.represent(np.asarray(answer).astype(np.float64))


def measure(
    formula: Formula,
    expected: list[np.ndarray],
    *,
    compute_dtype: str,
    storage_dtype: str,
    study: bool,
    seed: tuple[int, ...],
) -> Measurement:
    """Run the formula in other arithmetics and compare with its float64 answers.

    Args:
        formula: What is measured.
        expected: Its answers in float64.
        compute_dtype: The least precise dtype of products' operands.
        storage_dtype: The least precise dtype of intermediate results.
        study: Whether to run other machines' arithmetics as well.
        seed: Of the errors of approximated functions.
    """
    try:
        bounds = formula.run(RunningError(compute_dtype, storage_dtype))
        if any(part[0].shape != wanted.shape for part, wanted in zip(bounds, expected, strict=True)):
            raise Unsupported("the reference answers in another shape")
        spread = [part[1] for part in bounds]
        noise, sentence = _execute(formula, expected, spread, compute_dtype, storage_dtype, seed)
        arithmetic = _study(formula, expected) if study else {}
    except _SEEN as error:
        return _measure_sensitivity(formula, expected, compute_dtype, storage_dtype, seed, str(error))
    return Measurement(
        spread=[_narrow(values) for values in spread],
        noise=noise,
        derivation=(
            "a running error analysis of the reference bounds the rounding of each element: float32 "
            f"engines, sqrt(K) for sums of K terms, {compute_dtype} operands of products, {storage_dtype} "
            f"intermediates, {APPROXIMATION:.1e} for functions that the scalar engine approximates",
            sentence,
        ),
        arithmetic=arithmetic,
    )


#: How the derivation starts where the analysis cannot follow; the obstacle is told up to a semicolon.
_UNFOLLOWED: Final = "the error analysis cannot follow the reference: "

#: What a reference that is fine in float64 may raise when it is given values instead of arrays.
_SEEN: Final = (TypeError, ValueError, AttributeError, IndexError, KeyError, NotImplementedError)


def find_obstacle(derivation: tuple[str, ...]) -> str | None:
    """Return what kept the error analysis from following a reference, of a `Measurement`'s derivation."""
    for step in derivation:
        if step.startswith(_UNFOLLOWED):
            return step.removeprefix(_UNFOLLOWED).partition("; ")[0]
    return None


def _execute(
    formula: Formula,
    expected: list[np.ndarray],
    spread: list[np.ndarray],
    compute_dtype: str,
    storage_dtype: str,
    seed: tuple[int, ...],
) -> tuple[list[tuple[float, ...]], str]:
    orders = [_ORDERS[i % len(_ORDERS)] for i in range(_executions(formula, expected))]
    errors = []
    for index, order in enumerate(orders):
        rng = np.random.default_rng([*seed, index])
        results = formula.run(Execution(compute_dtype, storage_dtype, order, rng))
        errors.append(
            [
                _distance(parts[0], wanted, bound)
                for parts, wanted, bound in zip(results, expected, spread, strict=True)
            ]
        )
    tried = " and ".join(str(order) for order in orders[:_FEWEST])
    others = " and in other orders" if len(orders) > _FEWEST else ""
    sentence = f"{len(orders)} honest executions add up {tried}{others}, and err at random in approximations"
    return [tuple(values) for values in zip(*errors, strict=True)], sentence


def _executions(formula: Formula, expected: list[np.ndarray]) -> int:
    """Return how many executions it takes to see enough elements of every output."""
    if sum(values.size for values in formula.inputs.values()) > _COSTLY:
        return _FEWEST
    fewest_elements = min((values.size for values in expected), default=1)
    return min(max(_ELEMENTS // max(fewest_elements, 1), _FEWEST), _MOST)


def _study(formula: Formula, expected: list[np.ndarray]) -> dict[str, tuple[float, ...]]:
    errors = {}
    for name, (compute_dtype, storage_dtype, order) in _MACHINES.items():
        results = formula.run(Execution(compute_dtype, storage_dtype, order, None))
        errors[name] = _rounded_distances(formula, [parts[0] for parts in results], expected)
    return errors


def _rounded_distances(
    formula: Formula, results: list[np.ndarray], expected: list[np.ndarray]
) -> tuple[float, ...]:
    return tuple(
        _distance(_round_output(values, dtype), wanted)
        for values, wanted, (_, dtype) in zip(results, expected, formula.outputs, strict=True)
    )


def _round_output(values: np.ndarray, dtype: str) -> np.ndarray:
    try:
        return round_to(values, dtype)
    except ValueError:
        return values  # integers: what is compared must be equal anyway


def _measure_sensitivity(
    formula: Formula,
    expected: list[np.ndarray],
    compute_dtype: str,
    storage_dtype: str,
    seed: tuple[int, ...],
    reason: str,
) -> Measurement:
    rng = np.random.default_rng(list(seed))
    spread, answers = responses(
        formula.run_plainly, formula.inputs, expected, (compute_dtype, storage_dtype), rng
    )
    # The spread is noise as well: an approximation at the very end is in no answer to other inputs.
    noise = [
        tuple(_distance(values, wanted, bound) for values in (*(a[i] for a in answers), wanted + bound))
        for i, (wanted, bound) in enumerate(zip(expected, spread, strict=True))
    ]
    return Measurement(
        spread=[_narrow(values) for values in spread],
        noise=noise,
        derivation=(
            f"{_UNFOLLOWED}{_one_line(reason)}; its response to {REPEATS} random perturbations of its inputs "
            f"stands in, by {APPROXIMATION:.1e} or a few roundings where those are more, and no element is "
            "taken to be more exact than that: the limits are coarse",
        ),
    )


def _one_line(reason: str) -> str:
    return " ".join(reason.replace(";", ",").split())[:200]


def _distance(values: np.ndarray, wanted: np.ndarray, spread: np.ndarray | None = None) -> float:
    """Return the relative L2 error over the elements that both have finite.

    Against nothing but zeros it is relative to the spread, and 0 where there is none either.
    """
    finite = np.isfinite(values) & np.isfinite(wanted)
    with np.errstate(all="ignore"):
        error = np.where(finite, values - wanted, 0.0)
        reference = np.where(finite, wanted, 0.0)
        scale = float(np.abs(reference).max(initial=0.0))
        if scale == 0 and spread is not None:
            reference = np.where(finite, spread, 0.0)
            scale = float(reference.max(initial=0.0))
        if scale == 0:
            return 0.0
        return float(np.sqrt(np.square(error / scale).sum() / np.square(reference / scale).sum()))


def _narrow(values: np.ndarray) -> np.ndarray:
    largest = float(np.finfo(np.float32).max)
    return np.asarray(np.minimum(values, largest).astype(np.float32))
