"""What deterministic stages established about a submission, sorted into the tabs of a page.

It is made of the build, the run and the inspection alone: nothing that a judge said, and nothing of the way
to the queue, can get onto a page through it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pipeline.report.collect import Detail
from pipeline.report.precision import Precision, find_precision
from pipeline.types import (
    BuildResult,
    CaseKind,
    CaseResult,
    CheckReport,
    Fact,
    Fault,
    Finding,
    OutputError,
    RunResult,
    Severity,
)

__all__ = ["CaseRow", "Evidence", "Tab", "collect_evidence", "fact_anchor", "make_row"]

#: Tabs by the first part of a fact's id, in the order of the page.
_TABS: Final = {
    "compile": ("Compile", ("build",)),
    "correctness": ("Correctness", ("run", "special_values")),
    "numerics": ("Numerics", ("numerics", "precision")),
    "performance": ("Performance", ("profile", "on_chip_memory", "timeline")),
}
_SEVERITIES: Final = (Severity.ERROR, Severity.WARNING, Severity.INFO)


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab of the evidence; there is none without anything in it.

    Attributes:
        id: What a template and an address know it by.
        title: What its button says.
        facts: The facts that belong to it.
    """

    id: str
    title: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One draw of one case.

    Attributes:
        result: What it came to.
        hidden: Whether its shape is kept from authors, and so from whoever writes to them.
        use: Largest error over its limit; None where nothing was compared.
    """

    result: CaseResult
    hidden: bool
    use: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All the evidence on one submission.

    Attributes:
        tabs: Those that have anything to show.
        faults: What went wrong, each once.
        build: Outcome of tracing.
        run: Outcome of the cases.
        cases: The draws, those that failed first.
        reports: What the checks say: failures first.
        findings: Every finding once, errors first; the page numbers them from 1.
        precision: The errors of one output that may be shown.
        bound: What bounds the scored shape by the roofline: ``HBM`` or ``tensor engine``; empty if unknown.
    """

    tabs: tuple[Tab, ...]
    faults: tuple[Fault, ...]
    build: BuildResult | None
    run: RunResult | None
    cases: tuple[CaseRow, ...]
    reports: tuple[CheckReport, ...]
    findings: tuple[Finding, ...]
    precision: Precision | None
    bound: str

    def report_of(self, check: str) -> CheckReport | None:
        """Return what a check says."""
        return next((report for report in self.reports if report.check == check), None)


def fact_anchor(fact_id: str) -> str:
    """Return the id of a fact in the page."""
    return f"fact-{fact_id}"


def collect_evidence(detail: Detail) -> Evidence:
    """Return what stages and checks established about the grading of `detail`."""
    found = [finding for report in detail.reports for finding in report.findings]
    found += detail.build.findings if detail.build else ()
    findings = sorted(dict.fromkeys(found), key=lambda finding: _SEVERITIES.index(finding.severity))
    rows = [make_row(result) for result in detail.run.cases] if detail.run else []
    rows.sort(key=lambda row: row.result.verdict.value == "correct")
    results = (detail.submission.refusal, detail.build, detail.run, detail.inspection)
    faults = (result.fault for result in results if result is not None)
    evidence = Evidence(
        tabs=(),
        faults=tuple(dict.fromkeys(fault for fault in faults if fault is not None)),
        build=detail.build,
        run=detail.run,
        cases=tuple(rows),
        reports=detail.reports,
        findings=tuple(findings),
        precision=find_precision(detail.run),
        bound=_name_bound(detail.facts),
    )
    return _with_tabs(evidence, detail.facts)


def _with_tabs(evidence: Evidence, facts: tuple[Fact, ...]) -> Evidence:
    told = {
        "compile": evidence.build is not None or bool(evidence.faults),
        "correctness": bool(evidence.cases),
        "numerics": evidence.run is not None and evidence.run.study is not None,
    }
    tabs = []
    for name, (title, kinds) in _TABS.items():
        own = tuple(fact for fact in facts if fact.id.partition(".")[0] in kinds)
        if own or told.get(name):
            tabs.append(Tab(name, title, own))
    if evidence.reports:
        tabs.append(Tab("findings", "Findings"))
    placed = {fact.id for tab in tabs for fact in tab.facts}
    # Facts of stages that are yet to come find their way onto the page before they have a tab of their own.
    if rest := tuple(fact for fact in facts if fact.id not in placed):
        tabs.append(Tab("facts", "More facts", rest))
    return replace(evidence, tabs=tuple(tabs))


def make_row(result: CaseResult) -> CaseRow:
    """Return the row of one draw of one case."""
    uses = [use for error in result.errors for use in _list_uses(error)]
    return CaseRow(result, result.kind is CaseKind.HIDDEN, max(uses, default=None))


def _list_uses(error: OutputError) -> Iterator[float]:
    limits = error.tolerance
    if limits is None:
        return
    pairs = (
        (error.rel_l2, limits.rel_l2),
        (error.worst_row_rel_l2, limits.row_rel_l2),
        (error.worst_elementwise, limits.elementwise),
    )
    yield from (found / limit for found, limit in pairs if limit > 0)


def _name_bound(facts: tuple[Fact, ...]) -> str:
    values = {fact.id: fact.value for fact in facts}
    hbm, tensor = values.get("profile.hbm_bound_seconds"), values.get("profile.tensor_bound_seconds")
    if not isinstance(hbm, int | float) or not isinstance(tensor, int | float) or hbm == tensor:
        return ""
    return "HBM" if hbm > tensor else "tensor engine"
