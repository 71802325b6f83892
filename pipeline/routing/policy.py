"""The routing policy: what may stand without a person.

Hard rules come first: what facts settled by closing a gate is accepted, that reason would stand in front of
the author, and what nobody may accept unseen goes to people. All else stands only where a certificate covers
it; without one it goes to review. Every rule has a name, and the first that applies decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.routing.certificate_rules import CERTIFICATE_RULES
from pipeline.routing.grounds import Assurance, Grounds
from pipeline.routing.hard_rules import HARD_RULES, closed_gates
from pipeline.types import Confidence, Inspection, Judgment, Route, RoutingPolicy, Rubric, hash_text

__all__ = [
    "RULES",
    "VERSION",
    "Assurance",
    "RuleText",
    "closed_gates",
    "decide_route",
    "is_settled",
    "name_policy",
    "stamp_policy",
]

#: Raised whenever the rules can decide differently; part of every fingerprint.
VERSION: Final = "gates 2"

_HASH_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class RuleText:
    """What documentation says of a rule."""

    name: str
    meaning: str
    is_hard: bool


#: In the order in which they are asked.
RULES: Final = tuple(
    RuleText(rule.__name__, (rule.__doc__ or "").strip(), rule in HARD_RULES)
    for rule in (*HARD_RULES, *CERTIFICATE_RULES)
)

_HARD: Final = frozenset(rule.name for rule in RULES if rule.is_hard)


def decide_route(
    inspection: Inspection,
    rubric: Rubric,
    draft: Judgment | None = None,
    *,
    confidence: Confidence | None = None,
    policy: RoutingPolicy | None = None,
    assurance: Assurance | None = None,
    task: str = "",
    task_version: str = "",
    author: str = "",
) -> Route:
    """Return where the grade goes, why, and by which rule.

    Args:
        inspection: What facts say.
        rubric: Names the gates.
        draft: What the judge says; None where it was not asked. It opens no gate and closes none.
        confidence: How probable it is that the draft is right.
        policy: What may stand alone; without one nothing may but what facts settled.
        assurance: What is in force for drafts like this one.
        task: Id of the task.
        task_version: Its content hash.
        author: Pseudonym of the author.
    """
    grounds = Grounds(
        inspection=inspection,
        rubric=rubric,
        draft=draft,
        confidence=confidence,
        policy=policy,
        assurance=assurance if assurance is not None and policy is not None else Assurance(),
        task=task,
        task_version=task_version,
        author=author,
    )
    for rule in (*HARD_RULES, *CERTIFICATE_RULES):
        outcome = rule(grounds)
        if outcome is not None:
            return Route(
                destination=outcome.destination,
                reason=outcome.reason,
                policy=name_policy(policy),
                rule=rule.__name__,
            )
    raise AssertionError("the last rule always applies")


def is_settled(route: Route) -> bool:
    """Whether a hard rule decided it: then it is no draft that labels could teach anything about."""
    return route.rule in _HARD


def name_policy(policy: RoutingPolicy | None) -> str:
    """Return what routes call the rules and the policy, such as ``gates 2 + standard v1``."""
    return VERSION if policy is None else f"{VERSION} + {policy.id} {policy.version}"


def stamp_policy(policy: RoutingPolicy, assurance: Assurance) -> str:
    """Return what a fingerprint says of the policy: its name, its hash, and that of certificates in force."""
    stamp = f"{name_policy(policy)} {policy.content_hash()[:_HASH_DIGITS]}"
    held = sorted(certificate.content_hash() for certificate in assurance.certificates.values())
    return f"{stamp} + certificates {hash_text(*held)[:_HASH_DIGITS]}" if held else stamp
