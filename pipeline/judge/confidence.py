"""How far a draft can be trusted, before any calibration.

The number ranks drafts and promises nothing: only a certificate turns a rank into a guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from pipeline.types import Confidence, Inspection, Judgment, Owner, Severity

__all__ = ["VERSION", "state_confidence"]

#: Raised whenever the same draft can be given another confidence; part of every fingerprint.
VERSION: Final = "draft 1"

#: Nothing that was not settled by a gate ranks with what was.
_CEILING: Final = 0.9
#: Operations that the device evaluates otherwise than the emulator leave room for another outcome there.
_APPROXIMATED: Final = 0.8
#: A judge that cites what is not there once may have imagined more; one that contradicts a fact surely has.
_STRUCK: Final = 0.9
_CONTRADICTED: Final = 0.7


def state_confidence(
    inspection: Inspection,
    judgment: Judgment,
    probabilities: Mapping[str, float] | None = None,
    calibrator: str = "",
) -> Confidence:
    """Return a rank in 0..1 and its reason, or none where nothing supports a number.

    A grade that closed gates settle is certain: 1. Otherwise the share of weight that was scored, at most
    0.9; times 0.8 when the program uses operations that the emulator does not reproduce exactly; times the
    mean confidence of the levels that a model drafted (which holds how far the panel agreed); times 0.9 for
    each statement that was struck and 0.7 for each contradiction of a fact.

    Args:
        inspection: What facts say.
        judgment: The draft.
        probabilities: By criterion and under `GRADE`, how probable it is that the draft is right, as labels
            teach; they are kept beside the rank and change nothing of it.
        calibrator: Content hash of the calibrator that gave them.
    """
    rank = _rank(inspection, judgment)
    if not calibrator:
        return rank
    return rank.model_copy(update={"probabilities": dict(probabilities or {}), "calibrator": calibrator})


def _rank(inspection: Inspection, judgment: Judgment) -> Confidence:
    if judgment.fault is not None:
        whose = "" if judgment.fault.owner is Owner.JUDGE else f" ({judgment.fault.owner.value})"
        return Confidence(value=None, reason=f"the judge failed{whose}: {judgment.fault.message}")
    overall = judgment.overall
    if overall.closed_gates:
        return Confidence(value=1.0, reason=f"facts closed gate {overall.closed_gates[0]}")
    if overall.value is None:
        return Confidence(
            value=None, reason=f"there is no overall grade to be confident in: {overall.reason}"
        )
    value = min(overall.scored_weight, _CEILING)
    reasons = [f"{overall.scored_weight:.2f} of the weight is scored"]
    if inspection.approximated:
        value *= _APPROXIMATED
        reasons.append(f"the emulator only approximates {', '.join(inspection.approximated)}")
    drafted = [score for score in judgment.scores if score.source == "judge" and score.confidence is not None]
    if drafted:
        sure = math.fsum(score.confidence or 0.0 for score in drafted) / len(drafted)
        value *= sure
        reasons.append(f"the judge is {sure:.2f} sure of its levels on average")
    if judgment.struck:
        value *= _STRUCK ** len(judgment.struck)
        reasons.append(f"{len(judgment.struck)} of its statements did not hold")
    contradictions = [finding for finding in judgment.findings if finding.severity is Severity.WARNING]
    if contradictions:
        value *= _CONTRADICTED ** len(contradictions)
        reasons.append(f"it contradicts {len(contradictions)} facts")
    return Confidence(value=round(value, 4), reason=", ".join(reasons))
