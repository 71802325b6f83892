"""Patterns of arithmetic that lose precision, each with its name, its remedy and a source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.operators import OPERATORS
from pipeline.emulator.precision.meanings import Meaning
from pipeline.emulator.precision.steps import Argument, Step, walk
from pipeline.emulator.program.instructions import Program

__all__ = ["HAZARDS", "Hazard", "Sighting", "recognise_hazards"]


class Sighting(NamedTuple):
    """A hazard at a line."""

    hazard: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Hazard:
    """A way to lose precision.

    Attributes:
        id: Stable.
        title: What a list calls it.
        find: Yields the line and what to say about it.
        source: Where it is documented.
    """

    id: str
    title: str
    find: Callable[[Sequence[Step]], Iterator[tuple[int, str]]]
    source: str


def recognise_hazards(program: Program) -> list[Sighting]:
    """Return the hazards of a validated program, each once per line, by line."""
    steps = list(walk(program))
    found = {
        (hazard.id, line): Sighting(hazard.id, line, message)
        for hazard in HAZARDS.values()
        for line, message in hazard.find(steps)
    }
    return sorted(found.values(), key=lambda sighting: (sighting.line, sighting.hazard))


_FULL_BITS: Final = DTYPES["float32"].mantissa_bits
_REDUCTIONS: Final = {
    "tensor_reduce": "data",
    "tensor_partition_reduce": "data",
    "activation_reduce": "data",
    "bn_stats": "data",
    "tensor_tensor_scan": "data1",
    "tensor_scalar_cumulative": "src",
}
_WIDE_INTEGERS: Final = frozenset({"int32", "uint32"})
_ARITHMETIC_ON_INTEGERS: Final = frozenset({"add", "subtract", "multiply"})
#: Largest finite values, facts/nki.md section 7.3.
_EIGHT_BIT_LIMITS: Final = {"float8_e4m3": 240, "float8_e4m3fn": 448, "float8_e5m2": 57344}


def _is_narrow(dtype: str) -> bool:
    kind = DTYPES[dtype]
    return kind.is_float and kind.mantissa_bits < _FULL_BITS and dtype != "tfloat32"


def _adds_to_itself(step: Step) -> Argument | None:
    """Return the destination of a step that adds to what it held."""
    destination = step.destinations.get("dst")
    if destination is None:
        return None
    if step.operation in ("nc_matmul", "nc_matmul_mx"):
        return destination if step.adds else None
    if "add" not in (step.scalars.get("op"), step.scalars.get("op0"), step.scalars.get("op1")):
        return None
    holds = any(source.pattern == destination.pattern for source in step.sources.values())
    return destination if holds else None


def _narrow_running_sums(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    sums = [(step, total) for step in steps if (total := _adds_to_itself(step)) and _is_narrow(total.dtype)]
    times = Counter(total.pattern for _, total in sums)
    for step, total in sums:
        if times[total.pattern] > 1:
            bits = DTYPES[total.dtype].mantissa_bits + 1
            yield (
                step.line,
                f"{step.operation} adds {times[total.pattern]} times to a {total.dtype} sum, which stops "
                f"growing after some {1 << bits} equal terms: keep it in float32 and cast once, at the end",
            )


def _downcasts_before_reductions(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    for step in steps:
        name = _REDUCTIONS.get(step.operation)
        source = step.sources.get(name) if name else None
        reduces = step.scalars.get("op", "add") == "add" or step.operation != "tensor_reduce"
        if source is not None and source.narrowed and reduces and _is_narrow(source.dtype):
            yield (
                step.line,
                f"{step.operation} sums values that were cast to {source.dtype} before: reduce the float32 "
                "values and cast the result",
            )


def _differences_of_squares(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    for step in steps:
        if any(value.meaning is Meaning.SQUARES_DIFFERENCE for value in step.results.values()):
            yield (
                step.line,
                "the variance is a mean of squares less a squared mean, which cancels where the spread is "
                "small beside the mean: subtract the mean first, or use nisa.bn_stats and nisa.bn_aggr",
            )


def _unbounded_exponentials(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    lines = {
        argument.tensor: step.line
        for step in steps
        for name, argument in step.destinations.items()
        if (result := step.results.get(name)) and result.meaning is Meaning.EXPONENTIAL
    }
    for step in steps:
        if not any(value.meaning is Meaning.SUM_OF_EXPONENTIALS for value in step.results.values()):
            continue
        read = [lines[source.tensor] for source in step.sources.values() if source.tensor in lines]
        yield (
            read[0] if read and step.operation == "tensor_reduce" else step.line,
            "exponentials of values that nothing bounds are summed: float32 overflows above exp(88.7); "
            "subtract each row's maximum first (bias=-maximum costs nothing)",
        )


def _unclipped_eight_bits(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    for step in steps:
        for name, argument in step.destinations.items():
            limit = _EIGHT_BIT_LIMITS.get(argument.dtype)
            wider = any(
                DTYPES[s.dtype].is_float and s.dtype not in _EIGHT_BIT_LIMITS for s in step.sources.values()
            )
            if limit is None or not wider:
                continue
            result = step.results.get(name)
            if result is None or result.meaning is not Meaning.CLIPPED:
                yield (
                    step.line,
                    f"{step.operation} writes {argument.dtype} without a clip: beyond {limit} the value is "
                    f"lost; scale it, and clip with op=nl.minimum at {limit} (and nl.maximum at -{limit})",
                )


def _large_integers(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    for step in steps:
        integers = [a for a in step.sources.values() if a.dtype in _WIDE_INTEGERS]
        operators = {step.scalars.get(name) for name in ("op", "op0", "op1")}
        arithmetic = any(
            operator in _ARITHMETIC_ON_INTEGERS and str(operator) in OPERATORS for operator in operators
        )
        if integers and arithmetic and step.engine in ("vector", "scalar") and step.operation != "iota":
            yield (
                step.line,
                f"{step.operation} computes {integers[0].dtype} on the {step.engine} engine, through "
                "float32: integers above 2^24 (16777216) are rounded; keep them smaller, or use gpsimd",
            )


def _stochastic_rounding(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    for step in steps:
        for name, argument in step.destinations.items():
            dithered = step.results.get(name)
            if dithered is not None and dithered.meaning is Meaning.DITHERED and _is_narrow(argument.dtype):
                yield (
                    step.line,
                    f"random numbers are added before the value is rounded to {argument.dtype}: stochastic "
                    "rounding gives another result on every run, so no comparison bit for bit can hold",
                )


_ALL: Final = (
    Hazard(
        "narrow-running-sum",
        "A running sum in a narrow dtype",
        _narrow_running_sums,
        "facts/nki.md section 7",
    ),
    Hazard(
        "downcast-before-reduction",
        "Values are cast down before they are summed",
        _downcasts_before_reductions,
        "facts/nki.md section 7",
    ),
    Hazard(
        "difference-of-squares",
        "Variance as E[x^2] - E[x]^2",
        _differences_of_squares,
        "Chan, Golub and LeVeque 1983: the textbook one-pass algorithm is unstable",
    ),
    Hazard(
        "unbounded-exponential",
        "A softmax without its maximum subtracted",
        _unbounded_exponentials,
        "Blanchard, Higham and Higham 2021, on the shifted softmax",
    ),
    Hazard(
        "unclipped-float8", "float8 written without a clip", _unclipped_eight_bits, "facts/nki.md section 7.3"
    ),
    Hazard(
        "large-integer",
        "32-bit integers computed through float32",
        _large_integers,
        "facts/nki.md section 7.3",
    ),
    Hazard(
        "stochastic-rounding",
        "Random numbers added before rounding",
        _stochastic_rounding,
        "facts/nki.md section 7.3",
    ),
)

#: Every hazard by id.
HAZARDS: Final = {hazard.id: hazard for hazard in _ALL}
