"""What a route is decided on: everything that the rules may look at, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.types import (
    Calibrator,
    Certificate,
    Confidence,
    Destination,
    Inspection,
    Judgment,
    RoutingPolicy,
    Rubric,
)

__all__ = ["Assurance", "Grounds", "Outcome"]


@dataclass(frozen=True, slots=True)
class Assurance:
    """What labels have earned the drafts of one scope under one policy; by default nothing.

    Attributes:
        calibrator: Gives their probabilities.
        certificates: By criterion, those that are in force.
        refusals: By criterion, why the scope has none although it was tested, in words.
        void: Why a certificate that earlier drafts had says nothing of these, in words; empty if none had.
    """

    calibrator: Calibrator | None = None
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    refusals: Mapping[str, str] = field(default_factory=dict)
    void: str = ""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What is known of one grading.

    Attributes:
        inspection: What facts say.
        rubric: Names the gates.
        draft: What the judge says; None where it was not asked. It opens no gate and closes none.
        confidence: How probable it is that the draft is right; None where nobody said.
        policy: What may stand alone; without one nothing may but what facts settled.
        assurance: What is in force for drafts like this one.
        task: Id of the task.
        task_version: Its content hash.
        author: Pseudonym of the author.
    """

    inspection: Inspection
    rubric: Rubric
    draft: Judgment | None = None
    confidence: Confidence | None = None
    policy: RoutingPolicy | None = None
    assurance: Assurance = field(default_factory=Assurance)
    task: str = ""
    task_version: str = ""
    author: str = ""


class Outcome(NamedTuple):
    """What a rule that applies comes to."""

    destination: Destination
    reason: str
