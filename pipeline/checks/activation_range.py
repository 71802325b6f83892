"""Does every instruction get values for which the device's result is documented?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_run, fail, leave_open, succeed
from pipeline.emulator.operations import ACTIVATIONS
from pipeline.types import CaseKind, CaseResult, CheckReport, Finding, Observation, Severity

__all__ = ["ActivationRange"]

#: Enough to see a pattern; more lines with the same fault teach nothing.
_SHOWN: Final = 8

#: What keeps values within the range, by function.
_REMEDIES: Final = {
    "sin": "Take the remainder of a division by 2 pi first; nl.sin does.",
    "arctan": "Use arctan(x) = pi/2 - arctan(1/x) for large x.",
    "log": "Clamp from below first, for example with a maximum of 2^-64.",
    "sqrt": "Clamp from below first, or add an epsilon.",
    "rsqrt": "Add an epsilon first, or clamp from below.",
    "reciprocal": "Add an epsilon to the divisor, or clamp its magnitude first.",
    "quantize_mx": "Clamp to finite values first; what becomes of a group that holds others is undefined.",
}
_GATHERING: Final = "Clamp the indices to the tensor first; what another index fetches is undefined."
_CLAMPING: Final = "Bring the values into that range first."


class ActivationRange:
    """Passed when no case showed values outside the range that a function is documented for.

    The emulator computes the function there all the same, so an answer that is right here may be wrong on the
    device. Values that the kernel discards afterwards are found too.
    """

    id = "activation_range"
    title = "Values within documented ranges"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from what was observed in running the cases."""
        missing = explain_missing_run(evidence)
        if missing is not None or evidence.run is None:
            return leave_open(self.id, missing or "the submission was not run")
        if evidence.run.executor.startswith("trainium"):
            return leave_open(self.id, "a device does not tell which values its engines met")
        cases = evidence.run.cases
        listed = _merge(case for case in cases if case.kind is not CaseKind.HIDDEN)
        hidden = _merge(case for case in cases if case.kind is CaseKind.HIDDEN)
        findings = [self._describe(observation, case) for observation, case in listed.values()]
        findings += [self._hint(observation) for key, (observation, _) in hidden.items() if key not in listed]
        if not findings:
            return succeed(self.id, "no instruction met values outside the range it is documented for")
        functions = ", ".join(sorted({function for _, function in (*listed, *hidden)}))
        reason = f"values outside the documented range reach {functions}"
        shown = [*findings[:_SHOWN], *self._count(len(findings) - _SHOWN)]
        return fail(self.id, reason, shown)

    def _describe(self, seen: Observation, case: str) -> Finding:
        activation = ACTIVATIONS.get(seen.function)
        what = "values" if activation is not None else "indices" if _gathers(seen.function) else "inputs"
        if activation is not None and activation.by_magnitude:
            what = "magnitudes"
        return self._finding(
            seen,
            f"{seen.function} gets {what} {_say_extent(seen)} in case {case}, and the device's result is"
            f" documented for {_number(seen.low)} to {_number(seen.high)} only.",
        )

    def _hint(self, seen: Observation) -> Finding:
        """Return what may be said of hidden inputs, whose sizes and values stay hidden."""
        return self._finding(
            seen,
            f"On a hidden shape or distribution {seen.function} gets values outside the range for which the"
            " device's result is documented.",
        )

    def _finding(self, seen: Observation, message: str) -> Finding:
        remedy = _REMEDIES.get(seen.function) or (_GATHERING if _gathers(seen.function) else _CLAMPING)
        return Finding(
            check=self.id,
            severity=Severity.ERROR,
            message=f"{message} {remedy}",
            lines=() if seen.line is None else (seen.line,),
        )

    def _count(self, more: int) -> list[Finding]:
        if more <= 0:
            return []
        message = f"{more} more line{' does' if more == 1 else 's do'} the same."
        return [Finding(check=self.id, severity=Severity.ERROR, message=message)]


def _merge(cases: Iterable[CaseResult]) -> dict[tuple[int | None, str], tuple[Observation, str]]:
    """Return by line and function the observation that left the range farthest, and the case it is of."""
    worst: dict[tuple[int | None, str], tuple[Observation, str]] = {}
    for case in cases:
        for seen in case.observations:
            key = (seen.line, seen.function)
            if key not in worst or _excess(seen) > _excess(worst[key][0]):
                worst[key] = seen, case.case
    return worst


def _excess(seen: Observation) -> float:
    beyond = max(seen.low - seen.least, seen.greatest - seen.high)
    return math.inf if math.isnan(beyond) else beyond


def _say_extent(seen: Observation) -> str:
    """Return which way values left the range, and how far."""
    if math.isnan(seen.least):
        return "that are no numbers"
    if seen.least < seen.low and seen.greatest > seen.high:
        return f"from {_number(seen.least)} to {_number(seen.greatest)}"
    if seen.least < seen.low:
        return f"down to {_number(seen.least)}"
    return f"up to {_number(seen.greatest)}"


def _gathers(function: str) -> bool:
    return "gather" in function


def _number(value: float) -> str:
    """Return a number as a reader takes it in: powers of two, in which ranges are documented, as such."""
    if math.isfinite(value) and value and not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = math.frexp(value)
        if abs(mantissa) == 0.5:
            return f"{'-' if mantissa < 0 else ''}2^{exponent - 1}"
    return f"{value:.6g}"
