"""Let every check speak and put what they said into one inspection."""

from __future__ import annotations

from pipeline.checks import collect_facts, inspect_all, settle_verdict
from pipeline.checks.check import Evidence
from pipeline.types import Fault, Inspection

__all__ = ["inspect_submission"]


def inspect_submission(evidence: Evidence) -> Inspection:
    """Return verdict, facts and reports of one submission; a fact that a check established comes last."""
    reports = inspect_all(evidence)
    collected = collect_facts(evidence)
    known = {fact.id for fact in collected}
    established = tuple(fact for report in reports for fact in report.facts if fact.id not in known)
    programs = evidence.build.programs if evidence.build else ()
    approximated = sorted({name for program in programs for name in program.approximated})
    return Inspection(
        verdict=settle_verdict(evidence, reports),
        fault=_find_fault(evidence),
        facts=collected + established,
        reports=reports,
        sandbox=evidence.build.sandbox if evidence.build else "none",
        approximated=tuple(approximated),
    )


def _find_fault(evidence: Evidence) -> Fault | None:
    if evidence.submission.refusal is not None:
        return evidence.submission.refusal.fault
    stages = (evidence.build, evidence.run, evidence.profile)
    return next((stage.fault for stage in stages if stage is not None and stage.fault is not None), None)
