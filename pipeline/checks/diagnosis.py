"""What the pattern of right and wrong cases suggests, as an experienced reader of test results would say it.

A suggestion is a hint and never decides anything. Hidden cases take no part: their sizes are not to be told.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pipeline.types import CaseKind, CaseResult, Verdict

__all__ = ["suggest_cause"]

_PARTITIONS = 128

#: Relative L2 error of one rounding: a uniform error of half a step, 2**-7 / sqrt(12) for bfloat16, over a
#: root mean square mantissa of about 1.5 gives 1.5e-3; float16 has three bits more. The ranges admit four.
_ROUNDING = {"bfloat16": (1.2e-3, 3.5e-3), "float16": (1.5e-4, 4.4e-4)}


def suggest_cause(cases: Sequence[CaseResult]) -> str | None:
    """Return a sentence on the likely cause of the wrong cases, or None when nothing stands out."""
    known = [case for case in cases if case.kind is not CaseKind.HIDDEN]
    right = [case for case in known if case.verdict is Verdict.CORRECT]
    wrong = [case for case in known if case.verdict is Verdict.INCORRECT]
    if not wrong:
        return None
    return _suggest_tails(right, wrong) or _suggest_rounding(wrong) or _suggest_size(right, wrong)


def _suggest_tails(right: Sequence[CaseResult], wrong: Sequence[CaseResult]) -> str | None:
    if not right or any(map(_has_tail, right)) or not all(map(_has_tail, wrong)):
        return None
    return (
        "Exactly the shapes with a partial last tile fail (a size above 128 that is no multiple of it): give"
        " the last tile its own size."
    )


def _suggest_size(right: Sequence[CaseResult], wrong: Sequence[CaseResult]) -> str | None:
    """Name every axis whose size separates right from wrong beyond the first tile."""
    if not right:
        return None
    bounds: dict[str, tuple[int, int]] = {}
    for axis in wrong[0].axes:
        largest_right = max(case.axes[axis] for case in right)
        smallest_wrong = min(case.axes[axis] for case in wrong)
        if largest_right < smallest_wrong and smallest_wrong > _PARTITIONS:
            bounds[axis] = largest_right, smallest_wrong
    if not bounds:
        return None
    right_up_to = ", ".join(f"{axis} = {size}" for axis, (size, _) in bounds.items())
    wrong_from = ", ".join(f"{axis} = {size}" for axis, (_, size) in bounds.items())
    return (
        f"Cases are right up to {right_up_to} and wrong from {wrong_from} on: look at the loop over"
        f" {' and the loop over '.join(bounds)}, and at what one step leaves for the next."
    )


def _suggest_rounding(wrong: Sequence[CaseResult]) -> str | None:
    errors = [
        math.sqrt(max(error.rel_l2**2 - error.rounding_rel_l2**2, 0.0))
        for case in wrong
        for error in case.errors
        if math.isfinite(error.rel_l2)
    ]
    if not errors:
        return None
    typical = statistics.median(errors)
    for dtype, (least, most) in _ROUNDING.items():
        if least <= typical <= most:
            return (
                f"Errors of this size are what rounding to {dtype} costs: look for an intermediate value"
                f" that is stored in {dtype} before it is used again."
            )
    return None


def _has_tail(case: CaseResult) -> bool:
    return any(size > _PARTITIONS and size % _PARTITIONS for size in case.axes.values())
