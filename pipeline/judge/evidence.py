"""Facts and findings as a judge is shown them: one line each, in bounded number, in a stated order."""

from __future__ import annotations

from typing import Final

from pipeline.judge.privacy import redact
from pipeline.judge.protocol import JudgeRequest
from pipeline.types import CheckReport, Fact, Finding, Rubric, Severity
from pipeline.types.visible import show_controls

__all__ = ["show_facts", "show_findings"]

#: About 6,000 tokens. A task with twenty cases has some eighty facts; nobody reads more than twice that.
_FACT_ROWS: Final = 160
_FACT_CHARACTERS: Final = 20_000
_FINDINGS_PER_CHECK: Final = 20

_HEADER: Final = ("| id | value | unit | provenance | case | label |", "|---|---|---|---|---|---|")


def show_facts(request: JudgeRequest) -> str:
    """Return the facts as a Markdown table, in their own order.

    Where there are more than 160, or more text than 20,000 characters, facts are kept in this order: those
    that judge-scored criteria name as evidence; those that findings rest on; those of the build and of the
    run, which the verdict comes from; the rest as they come; and last, values of an id that was shown
    already. How many were left out is said below the table.
    """
    rows = [_show_fact(fact) for fact in request.facts]
    kept: set[int] = set()
    characters = 0
    for place in _rank(request):
        characters += len(rows[place]) + 1
        if len(kept) == _FACT_ROWS or characters > _FACT_CHARACTERS:
            break
        kept.add(place)
    if not rows:
        return "None."
    table = [*_HEADER, *(row for place, row in enumerate(rows) if place in kept)]
    left_out = len(rows) - len(kept)
    if left_out:
        table += ["", f"{left_out} of {len(rows)} facts are left out here; they may not be cited."]
    return show_controls("\n".join(table))


def show_findings(request: JudgeRequest) -> str:
    """Return what checks said: the answer of each that the rubric asks about or that found an error.

    Other checks speak to reviewers or to nobody, and would only colour the judge's view.
    """
    asked = _asked_checks(request.rubric)
    shown = [
        line
        for report in request.reports
        if report.check in asked or any(f.severity is Severity.ERROR for f in report.findings)
        for line in _show_report(report)
    ]
    return redact(show_controls("\n".join(shown))) or "None."


def _rank(request: JudgeRequest) -> list[int]:
    """Return the places of the facts, those to keep first."""
    evidence = {
        name
        for criterion in request.rubric.criteria
        if criterion.check is None
        for name in criterion.evidence
    }
    rested_on = {name for report in request.reports for finding in report.findings for name in finding.facts}
    seen: set[str] = set()
    ranks: list[tuple[int, int]] = []
    for place, fact in enumerate(request.facts):
        if fact.id in seen:
            rank = 4
        elif fact.id in evidence:
            rank = 0
        elif fact.id in rested_on:
            rank = 1
        else:
            rank = 2 if fact.id.startswith(("build.", "run.")) else 3
        seen.add(fact.id)
        ranks.append((rank, place))
    return [place for _, place in sorted(ranks)]


def _asked_checks(rubric: Rubric) -> set[str]:
    scoring = {criterion.check for criterion in rubric.criteria if criterion.check is not None}
    return scoring | set(rubric.overall.gates)


def _show_fact(fact: Fact) -> str:
    value = _join(redact(fact.value)) if isinstance(fact.value, str) else fact.digits
    cells = (fact.id, value, fact.unit, fact.provenance.value, _join(fact.case or ""), fact.label)
    return f"| {' | '.join(cells)} |"


def _show_report(report: CheckReport) -> list[str]:
    shown = [_show_finding(finding) for finding in report.findings[:_FINDINGS_PER_CHECK]]
    more = len(report.findings) - len(shown)
    return [
        f"- {report.check}: {report.status.value}: {report.reason}",
        *shown,
        *([f"  - and {more} more findings"] if more else []),
    ]


def _show_finding(finding: Finding) -> str:
    lines = f", line {', '.join(map(str, finding.lines))}" if finding.lines else ""
    facts = f" (facts: {', '.join(finding.facts)})" if finding.facts else ""
    return f"  - {finding.severity.value}{lines}: {finding.message}{facts}"


def _join(text: str) -> str:
    """Return `text` as the cell of a table: one line, and no bar that would begin another cell."""
    return " ".join(text.split()).replace("|", r"\|")
