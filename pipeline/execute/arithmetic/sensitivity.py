"""How much a reference answers to small changes of its inputs: what is known of any formula at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from pipeline.execute.arithmetic.formats import APPROXIMATION, unit_roundoff

__all__ = ["REPEATS", "responses"]

#: How often inputs are perturbed: in pairs of opposite signs, for one of both leaves each kink.
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

    Nothing is known of what happens between inputs and outputs, so that errors are taken to be as large as
    those of the functions that the scalar engine approximates: rather too much room than an honest kernel
    refused.

    Args:
        reference: Answers in float64, one array per output.
        inputs: Float64; integers are left alone.
        expected: What it answers to `inputs`.
        narrowest: The dtypes of operands and of intermediate results.
        rng: Draws the perturbations.

    Returns:
        Per output the root of the mean square response of each element, not less than an approximation of
        the value itself; and all perturbed answers.
    """
    rounding = max(unit_roundoff(name) for name in narrowest)
    size = max(_SIZE * rounding, APPROXIMATION)
    answers = []
    for _ in range(REPEATS // 2):
        errors = {
            name: size * rng.uniform(-1, 1, values.shape)
            for name, values in inputs.items()
            if values.dtype.kind == "f"
        }
        for sign in (1.0, -1.0):
            perturbed = {
                name: values * (1 + sign * errors[name]) if name in errors else values.copy()
                for name, values in inputs.items()
            }
            answers.append(reference(perturbed))
    spreads = []
    with np.errstate(all="ignore"):
        for index, wanted in enumerate(expected):
            square = np.mean([np.square(answer[index] - wanted) for answer in answers], axis=0)
            spread = np.maximum(np.sqrt(square), max(rounding, APPROXIMATION) * np.abs(wanted))
            spreads.append(np.where(np.isfinite(spread), spread, 0.0))
    return spreads, answers
