"""How much a reference answers to small changes of its inputs: what is known of any formula at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from pipeline.execute.arithmetic.formats import UNIT, unit_roundoff

__all__ = ["REPEATS", "responses"]

#: How often inputs are perturbed.
REPEATS: Final = 4
#: Relative size of a perturbation in unit roundoffs: of the several roundings between input and output.
_SIZE: Final = 4.0

Outputs = list[np.ndarray]


def responses(
    reference: Callable[[Mapping[str, np.ndarray]], Outputs],
    inputs: Mapping[str, np.ndarray],
    expected: Outputs,
    narrowest: tuple[str, str],
    rng: np.random.Generator,
) -> tuple[list[np.ndarray], list[Outputs]]:
    """Perturb every float input by random relative errors, and see what comes of it.

    Args:
        reference: Answers in float64, one array per output.
        inputs: Float64; integers are left alone.
        expected: What it answers to `inputs`.
        narrowest: The dtypes of operands and of intermediate results.
        rng: Draws the perturbations.

    Returns:
        Per output the root of the mean square response of each element, not less than a rounding of the
        value itself; and all perturbed answers.
    """
    rounding = max(unit_roundoff(name) for name in narrowest)
    answers = []
    for _ in range(REPEATS):
        perturbed = {
            name: values * (1 + _SIZE * rounding * rng.uniform(-1, 1, values.shape))
            if values.dtype.kind == "f"
            else values.copy()
            for name, values in inputs.items()
        }
        answers.append(reference(perturbed))
    spreads = []
    with np.errstate(all="ignore"):
        for index, wanted in enumerate(expected):
            square = np.mean([np.square(answer[index] - wanted) for answer in answers], axis=0)
            spread = np.maximum(np.sqrt(square), max(rounding, UNIT) * np.abs(wanted))
            spreads.append(np.where(np.isfinite(spread), spread, 0.0))
    return spreads, answers
