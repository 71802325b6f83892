"""What a run observed, as little of it as an author needs: inputs are hidden, and a program may be long."""

from __future__ import annotations

import decimal
from collections.abc import Iterable
from typing import Final

import numpy as np

from pipeline.emulator.operations import Observation
from pipeline.emulator.program import Program
from pipeline.execute.frames import Sighting

__all__ = ["summarize_observations"]

#: More lines than this say nothing new.
_SIGHTINGS: Final = 20
#: Enough to see by how much a range was left, and too little to tell an input's value.
_DIGITS: Final = 3
_DOWN: Final = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_FLOOR)
_UP: Final = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_CEILING)


def summarize_observations(program: Program, observations: Iterable[Observation]) -> tuple[Sighting, ...]:
    """Return one sighting per line and function, 20 in all, the first met first.

    Args:
        program: The program that was run.
        observations: What the machine observed.

    Returns:
        Sightings whose values are rounded outwards to three significant digits, so that a value that left its
        range by little is not rounded back into it.
    """
    found: dict[tuple[int, str, float, float], tuple[float, float]] = {}
    for observation in observations:
        line = program.instructions[observation.position].line
        key = (line, observation.function, observation.low, observation.high)
        met = (observation.least, observation.greatest)
        before = found.get(key, met)
        # NaN says nothing where another instruction met a number.
        found[key] = (float(np.fmin(before[0], met[0])), float(np.fmax(before[1], met[1])))
    return tuple(
        Sighting(line or None, function, low, high, _round(least, _DOWN), _round(greatest, _UP))
        for (line, function, low, high), (least, greatest) in list(found.items())[:_SIGHTINGS]
    )


def _round(value: float, context: decimal.Context) -> float:
    return float(context.create_decimal_from_float(value))
