"""Rules of what is left: a draft stands alone where a certificate covers it and it is sure enough.

Each function is a rule of its own name and returns None where it does not apply. The first that does decides;
the last always does.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from pipeline.routing.grounds import Grounds, Outcome
from pipeline.routing.hard_rules import Rule
from pipeline.types import GRADE, Certificate, Destination

__all__ = ["CERTIFICATE_RULES"]

_NONE_YET: Final = "no certificate covers this judge yet, so a person decides"


class _Needed(NamedTuple):
    """Something that a certificate must cover, and what is known of it."""

    criterion: str
    certificate: Certificate | None
    probability: float | None

    @property
    def name(self) -> str:
        """What a sentence calls it."""
        return "the grade" if self.criterion == GRADE else f"the level of {self.criterion}"

    @property
    def threshold(self) -> float:
        """Smallest probability that stands alone; more than any where there is no certificate."""
        found = self.certificate.threshold if self.certificate is not None else None
        return math.inf if found is None else found

    @property
    def margin(self) -> float:
        """How far the probability lies above the threshold."""
        return -math.inf if self.probability is None else self.probability - self.threshold


def no_certificate(grounds: Grounds) -> Outcome | None:
    """No certificate covers drafts that were made like this one."""
    needed = _list_needed(grounds)
    missing = [one.criterion for one in needed if one.certificate is None]
    if not missing:
        return None
    refusal = grounds.assurance.refusals.get(missing[0])
    if refusal is not None:
        return Outcome(Destination.REVIEW, f"no certificate covers this judge: {refusal}")
    if grounds.assurance.void:
        return None
    if len(missing) == len(needed):
        return Outcome(Destination.REVIEW, _NONE_YET)
    return Outcome(Destination.REVIEW, f"no certificate covers {', '.join(missing)} yet, so a person decides")


def void_certificate(grounds: Grounds) -> Outcome | None:
    """A certificate was earned, and something that it was earned with has changed since."""
    needed = _list_needed(grounds)
    if any(one.certificate is None for one in needed):
        return Outcome(Destination.REVIEW, f"its certificate is {grounds.assurance.void}")
    used = grounds.confidence.calibrator if grounds.confidence is not None else ""
    if all(certificate.calibrator == used for certificate in _certificates(grounds)):
        return None
    return Outcome(Destination.REVIEW, "its certificate is void: the calibrator changed since it was issued")


def constructed_labels(grounds: Grounds) -> Outcome | None:
    """The certificate rests on labels that a task's author made up, which prove nothing."""
    if not any(certificate.constructed for certificate in _certificates(grounds)):
        return None
    return Outcome(
        Destination.REVIEW,
        "its certificate rests on constructed labels, which are not evidence of quality, so a person decides",
    )


def uncovered_task(grounds: Grounds) -> Outcome | None:
    """The labels that its calibrator was fitted on hold too few submissions to this task."""
    certificates = _certificates(grounds)
    if not all(grounds.task in certificate.tasks for certificate in certificates):
        return Outcome(
            Destination.REVIEW, f"no certificate covers the task {grounds.task} yet: too few labels"
        )
    if all(grounds.task_version in certificate.task_versions for certificate in certificates):
        return None
    return Outcome(
        Destination.REVIEW,
        f"no certificate covers the task {grounds.task} as it is now: too few labels since it changed",
    )


def uncovered_author(grounds: Grounds) -> Outcome | None:
    """The labels that its calibrator was fitted on hold nothing by this author."""
    if all(grounds.author in certificate.authors for certificate in _certificates(grounds)):
        return None
    return Outcome(
        Destination.REVIEW, "no certificate covers work of its author yet: there is no label of it"
    )


def below_threshold(grounds: Grounds) -> Outcome | None:
    """The draft is less sure than its certificate demands; of what is very unsure two people decide."""
    draft = grounds.draft
    if draft is None or draft.overall.value is None:
        why = draft.overall.reason if draft is not None else "nothing was drafted"
        return Outcome(Destination.REVIEW, f"there is no overall grade to be sure of: {why}")
    least = _least_sure(grounds)
    if least.margin >= 0:
        return None
    if least.probability is None:
        return Outcome(Destination.REVIEW, f"nothing says how probable it is that {least.name} is right")
    # Cut, not rounded: what is below a threshold must not read as if it reached it.
    shown = math.floor(least.probability * 1000) / 1000
    reason = (
        f"{least.name} is right with probability {shown:.3f}, below the {least.threshold:.3f}"
        " that its certificate demands"
    )
    is_split = grounds.policy is not None and least.probability < grounds.policy.second_review_below
    if is_split:
        return Outcome(Destination.SECOND_REVIEW, f"{reason}, and so low that two people decide")
    return Outcome(Destination.REVIEW, reason)


def certified(grounds: Grounds) -> Outcome:
    """A certificate covers the draft, and it is as sure as that demands: its grade stands."""
    least = _least_sure(grounds)
    assert least.certificate is not None
    if least.criterion == GRADE:
        return Outcome(Destination.ACCEPT, least.certificate.reason)
    return Outcome(
        Destination.ACCEPT,
        f"every level is certified, {least.criterion} least of all: {least.certificate.reason}",
    )


#: In the order in which they are asked.
CERTIFICATE_RULES: Final[tuple[Rule, ...]] = (
    no_certificate,
    void_certificate,
    constructed_labels,
    uncovered_task,
    uncovered_author,
    below_threshold,
    certified,
)


def _list_needed(grounds: Grounds) -> list[_Needed]:
    """Return what must be covered: the grade, or each level from a judge; something in any case."""
    names = [GRADE]
    if grounds.policy is not None and grounds.policy.by == "criteria" and grounds.draft is not None:
        drafted = [
            score for score in grounds.draft.scores if score.source == "judge" and score.level is not None
        ]
        names = [score.criterion for score in drafted] or names
    certificates = grounds.assurance.certificates
    probabilities = grounds.confidence.probabilities if grounds.confidence is not None else {}
    return [_Needed(name, certificates.get(name), probabilities.get(name)) for name in names]


def _certificates(grounds: Grounds) -> list[Certificate]:
    return [one.certificate for one in _list_needed(grounds) if one.certificate is not None]


def _least_sure(grounds: Grounds) -> _Needed:
    return min(_list_needed(grounds), key=lambda one: one.margin)
