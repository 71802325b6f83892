"""What labels have earned the drafts of one scope, read from the register."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.routing.certificates import Kept, Register
from pipeline.routing.grounds import Assurance
from pipeline.types import Calibrator, Inspection, Judgment, Rubric, Scope

__all__ = ["estimate_draft", "read_assurance"]


def read_assurance(
    register: Register, scope: Scope, policy: str, family_of: Callable[[str], str]
) -> Assurance:
    """Return what is in force for drafts of `scope`.

    Args:
        register: Where certificates are kept.
        scope: Of the drafts.
        policy: Content hash of the policy.
        family_of: Gives the id of a rubric by its content hash, empty where it is lost: a certificate of
            another rubric is not void here, it never spoke of these drafts.
    """
    ours = [kept for kept in register.list_all() if kept.certificate.policy == policy]
    refusals: dict[str, str] = {}
    void = ""
    for kept in ours:
        certificate = kept.certificate
        change = register.explain_void(certificate, scope)
        if change is None:
            refusals.setdefault(certificate.criterion, _say(kept))
        elif (
            not void
            and certificate.threshold is not None
            and kept.revoked_at is None
            and family_of(certificate.scope.rubric) == family_of(scope.rubric)
        ):
            void = change
    in_force = register.in_force(scope, policy)
    return Assurance(
        # Without a certificate nothing follows from probabilities, and gradings stay what they were.
        calibrator=register.calibrator_for(scope, policy) if in_force else None,
        certificates=in_force,
        refusals={name: why for name, why in refusals.items() if name not in in_force},
        void=void,
    )


def estimate_draft(
    calibrator: Calibrator | None, inspection: Inspection, draft: Judgment, rubric: Rubric, task: str
) -> dict[str, float]:
    """Return how probable it is that a draft is right, by criterion and under `GRADE`.

    Empty without a calibrator.
    """
    if calibrator is None:
        return {}
    # Most runs need none of it, and it takes a while to import.
    from pipeline.routing.fitting import estimate, history_of

    return estimate(calibrator, inspection, draft, rubric, history_of(calibrator, task))


def _say(kept: Kept) -> str:
    """Return why a certificate or refusal of the very scope covers nothing."""
    if kept.revoked_at is not None:
        return f"{kept.revoked_by} took it back: {kept.revoked_because}"
    if kept.certificate.threshold is None:
        return kept.certificate.reason
    return "a later calibration replaced it"
