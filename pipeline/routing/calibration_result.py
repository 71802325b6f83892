"""What a calibration came to: one frozen value per scope, and the sentences that say it.

The command line, its JSON and the report read these, so that they cannot tell different stories.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

from pipeline.routing.truth import Figure, Truth
from pipeline.stats.agreement import Estimate, PairAgreement
from pipeline.stats.alternative_annotator import AnnotatorTest
from pipeline.stats.drift import Alarm
from pipeline.stats.label_budget import Outlook
from pipeline.stats.reliability import Reliability
from pipeline.types import GRADE, Calibrator, Certificate, Frozen, RoutingPolicy, Scope, Split

__all__ = [
    "NOT_EVIDENCE",
    "Findings",
    "PassTable",
    "Savings",
    "ScopeCalibration",
    "ScopeNames",
    "SplitCount",
]

#: Stands wherever figures rest on labels that a task's author made up.
NOT_EVIDENCE: Final = "constructed labels: not evidence of quality"


@dataclass(frozen=True, slots=True)
class ScopeNames:
    """A scope in words.

    Attributes:
        judge: Id of the judge.
        rubric: Id and version; of one that is lost the beginning of its hash.
        prompt: The same.
        runs_on: Executor, target and toolchain.
    """

    judge: str
    rubric: str
    prompt: str
    runs_on: str


@dataclass(frozen=True, slots=True)
class SplitCount:
    """How much a split holds.

    Attributes:
        submissions: Labelled ones that belong to it.
        labels: First labels of these, one per criterion.
    """

    submissions: int
    labels: int


@dataclass(frozen=True, slots=True)
class PassTable:
    """How the judge's pass or fail fits that of people.

    Attributes:
        sensitivity: Share of what people pass that the judge passes too.
        specificity: Share of what people fail that the judge fails too.
    """

    sensitivity: Estimate
    specificity: Estimate


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known of one criterion, or of the grade as a whole.

    Attributes:
        criterion: Its id, or `GRADE`.
        title: Its name.
        curve: How probabilities are made, or why there are none.
        reliability: Of these on the report's labels, which nothing was fitted on.
        judge: The judge beside first reviewers; levels, or of the grade fail and pass. Judge first.
        people: Second beside first reviewers: the most that a judge can be asked for.
        annotators: Whether the judge may stand in for a person.
        passes: Of the grade alone.
        certificate: What may stand alone, or why nothing may; None where this was not tested.
        outlooks: What more labels would buy; empty where it cannot be said.
        budget: The same in a sentence, or why it cannot be said.
    """

    criterion: str
    title: str
    curve: str
    reliability: Reliability
    judge: PairAgreement
    people: PairAgreement
    annotators: AnnotatorTest
    passes: PassTable | None
    certificate: Certificate | None
    outlooks: tuple[Outlook, ...]
    budget: str

    @property
    def is_grade(self) -> bool:
        """Whether it is the grade as a whole."""
        return self.criterion == GRADE

    @property
    def certified(self) -> Certificate | None:
        """The certificate, if anything may stand on it."""
        return self.certificate if self.certificate and self.certificate.threshold is not None else None


@dataclass(frozen=True, slots=True)
class Savings:
    """What accepted grades save and wrong ones cost, per 100 drafts of the scope.

    Attributes:
        accepted: Drafts of 100 that would stand alone.
        timed: Assessments whose time is known.
        minutes: Median active time of these; None where too few are known.
        saved: Expert hours' price of what nobody looks at; None without the time.
        wrong: Upper bound of wrong ones among the accepted.
        cost: What these cost.
        sentence: All of it in words.
    """

    accepted: float
    timed: int
    minutes: float | None
    saved: float | None
    wrong: float
    cost: float
    sentence: str


@dataclass(frozen=True, slots=True)
class ScopeCalibration:
    """All that one scope came to.

    Attributes:
        scope: Which drafts.
        names: The same in words.
        policy: Under which policy.
        constructed: Whether any label was constructed.
        dry_run: Whether nothing was put in force and nothing was tested on the labels that certify.
        drafts: Submissions with a draft in this scope, each once.
        labelled: Those of them with a first label.
        tasks: Tasks of the labelled ones.
        raters: People who gave first labels.
        unjudged: Labels that say it cannot be judged; in no figure.
        left_out: Drafts and labels that count for nothing, by the reason in words.
        splits: What each split holds.
        calibrator: What makes probabilities; None where labels support none.
        findings: The grade first, then criteria in the rubric's order.
        truth: How good grades truly are.
        alarm: Whether audits speak against the certificate.
        savings: None where nothing is certified.
        notes: What else a reader has to know.
        taken_back: Whether somebody took this very certificate back before.
        verdict: One line.
        summary: What to know beside it, in one paragraph.
    """

    scope: Scope
    names: ScopeNames
    policy: RoutingPolicy
    constructed: bool
    dry_run: bool
    drafts: int
    labelled: int
    tasks: int
    raters: int
    unjudged: int
    left_out: Mapping[str, int]
    splits: Mapping[Split, SplitCount]
    calibrator: Calibrator | None
    findings: tuple[Findings, ...]
    truth: Truth
    alarm: Alarm
    savings: Savings | None
    notes: tuple[str, ...]
    taken_back: bool
    verdict: str
    summary: str

    def to_data(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        data: dict[str, Any] = _to_data(self)
        return {
            **data,
            "scope_id": self.scope.content_hash(),
            "policy_id": self.policy.content_hash(),
            "certified": self.is_certified,
            "note": NOT_EVIDENCE if self.constructed else "",
        }

    @property
    def key(self) -> str:
        """Short name of the scope, the same every time."""
        return f"scope-{self.scope.content_hash()[:12]}"

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Every certificate and refusal that was issued, in the order of the findings."""
        return tuple(one.certificate for one in self.findings if one.certificate is not None)

    @property
    def is_certified(self) -> bool:
        """Whether anything may stand alone: the policy's own certificates are all there."""
        issued = self.certificates
        return bool(issued) and not self.taken_back and all(one.threshold is not None for one in issued)

    @property
    def share_accepted(self) -> float:
        """Share of drafts that may stand alone; of several certificates the least, as all have to hold."""
        shares = [one.coverage or 0.0 for one in self.certificates if one.threshold is not None]
        return min(shares, default=0.0) if self.is_certified else 0.0

    @property
    def truth_figures(self) -> tuple[Figure, ...]:
        """The figures of `truth`, in the order in which they are read."""
        truth = self.truth
        return (truth.quality, truth.passed, truth.accepted_quality, truth.accepted_wrong)

    @property
    def alarm_sentence(self) -> str:
        """What audits of accepted grades say of the certificate."""
        alarm = self.alarm
        if not alarm.n:
            return (
                "No grade that stands alone was audited by chance yet, so nothing speaks against the limit."
            )
        seen = f"{alarm.errors} of {alarm.n} audited grades that stand alone were wrong"
        if alarm.raised_at is not None:
            return (
                f"Alarm: {seen}; after {alarm.raised_at} the evidence that more than {alarm.alpha:.0%} are"
                " wrong was strong enough. Certify again before anything else stands alone."
            )
        return (
            f"{seen}: no alarm at {alarm.alpha:.0%} (evidence {alarm.evidence:.2f} of {1 / alarm.delta:.0f})."
        )


def _to_data(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _to_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Frozen):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _to_data(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_to_data(one) for one in value]
    return value
