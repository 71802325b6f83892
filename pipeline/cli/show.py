"""``nki-grader show``: one submission, with everything that is known about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option, plain_option
from pipeline.cli.render import Cell, Screen, level_bar, print_json, show_overall, style_of

if TYPE_CHECKING:
    from pipeline.report.collect import Detail
    from pipeline.types import CaseResult, Citation, Score

__all__ = ["command", "detail_data", "print_detail"]

#: How the parts of feedback are introduced, in the order in which an author reads them.
_PARTS = {"works": "What works", "change": "What must change", "next": "Next step"}


@click.command("show", short_help="Show a submission: facts, scores, feedback, route.")
@click.argument("identifier", metavar="ID")
@database_option
@json_option
@plain_option
def command(identifier: str, database: Path, as_json: bool, plain: bool) -> int:
    """Show the grading, submission or review called ID, or whose id alone begins with ID.

    Of a submission the latest grading is shown. Works while a batch runs, and on gradings in any state.
    """
    from pipeline.cli.lookup import echo_notices, find_summary, open_existing
    from pipeline.report.collect import Collector

    with open_existing(database) as store:
        echo_notices(store)
        detail = Collector(store).load_detail(find_summary(store, identifier))
    if as_json:
        print_json(detail_data(detail))
    else:
        print_detail(Screen(plain), detail)
    return ExitCode.OK


def print_detail(screen: Screen, detail: Detail) -> None:
    """Print a grading from top to bottom: what came of it, why, and what to do."""
    _print_head(screen, detail)
    _print_scores(screen, detail)
    _print_feedback(screen, detail)
    _print_doubts(screen, detail)
    _print_findings(screen, detail)
    _print_facts(screen, detail)
    _print_cases(screen, detail)
    _print_code(screen, detail)


def _print_head(screen: Screen, detail: Detail) -> None:
    summary, made = detail.summary, detail.fingerprint
    verdict = summary.verdict.value if summary.verdict else "none yet"
    task = f"{summary.task_id} — {detail.task.title}" if detail.task else summary.task_id
    fields: dict[str, str | Cell] = {
        "submission": f"{summary.submission_id}  {summary.origin}".rstrip(),
        "grading": summary.grading_id,
        "task": task,
        "verdict": style_of(verdict),
    }
    if summary.author:
        fields["author"] = summary.author
    overall = detail.overall
    if overall is not None:
        fields["overall"] = show_overall(overall.value, overall.passed)
        fields[""] = f"{overall.reason} ({overall.scored_weight:.0%} of the weight scored)"
    if detail.route is not None:
        fields["route"] = Cell(f"{detail.route.destination}: {detail.route.reason}")
    fields["state"] = style_of(summary.state)
    if summary.review_id:
        fields["review"] = summary.review_id
    if detail.confidence is not None:
        number = "" if detail.confidence.value is None else f"{detail.confidence.value:.2f}: "
        fields["confidence"] = f"{number}{detail.confidence.reason}"
    fields["judge"] = detail.judgment.judge if detail.judgment else made.judge
    fields["graded on"] = _say_where(detail)
    screen.fields(fields)
    _print_faults(screen, detail)
    for state in detail.reviews:
        decision = state.decision
        if decision is not None:
            levels = (
                ", ".join(f"{name}={level}" for name, level in decision.levels.items())
                or "the draft's levels"
            )
            screen.line(
                f"decided by {decision.reviewer}: {levels}. {decision.comment}".rstrip(), style="cyan"
            )


def _say_where(detail: Detail) -> str:
    made = detail.fingerprint
    executor = detail.build.executor if detail.build else made.executor
    sandbox = f"sandbox: {detail.build.sandbox}" if detail.build else "not run"
    return f"{executor}, {made.target}, NKI {made.toolchain}, {sandbox}"


def _print_faults(screen: Screen, detail: Detail) -> None:
    for fault in detail.faults:
        screen.line(f"fault of the {fault.owner}: {fault}", style="red")


def _print_scores(screen: Screen, detail: Detail) -> None:
    if not detail.scores:
        return
    criteria = {criterion.id: criterion for criterion in detail.rubric.criteria} if detail.rubric else {}
    name = f" — {detail.rubric.title} {detail.rubric.version}" if detail.rubric else ""
    screen.heading(f"Scores{name}")
    for score in detail.scores:
        criterion = criteria.get(score.criterion)
        screen.line(f"{level_bar(score.level):<10}  {criterion.title if criterion else score.criterion}")
        anchors = {step.level: step.anchor for step in criterion.levels} if criterion else {}
        if score.level in anchors:
            screen.line(f"            {anchors[score.level]}", style="dim")
        screen.line(f"            {score.source}: {score.reason}{_say_citations(score)}", style="dim")


def _say_citations(score: Score) -> str:
    said = ", ".join(_say_citation(citation) for citation in score.citations)
    return f" [{said}]" if said else ""


def _say_citation(citation: Citation) -> str:
    if citation.kind == "fact":
        return f"{citation.fact} = {citation.value}" if citation.value else str(citation.fact)
    if citation.last_line in (None, citation.first_line):
        return f"line {citation.first_line}"
    return f"lines {citation.first_line}–{citation.last_line}"


def _print_feedback(screen: Screen, detail: Detail) -> None:
    if not detail.feedback:
        return
    screen.heading("Feedback" if detail.grade else "Feedback (draft)")
    for part, title in _PARTS.items():
        items = [item for item in detail.feedback if item.part == part]
        if items:
            screen.line(title, style="italic")
        for item in items:
            # A remark on lines begins with their numbers.
            names_lines = item.text.startswith(("Line ", "Lines "))
            said = ", ".join(
                _say_citation(citation)
                for citation in item.citations
                if citation.kind == "fact" or not names_lines
            )
            screen.line(f"  • {item.text}" + (f" [{said}]" if said else ""))


def _print_doubts(screen: Screen, detail: Detail) -> None:
    """Print what speaks against the draft: what was struck, what facts contradict, who voted how."""
    judgment = detail.judgment
    if judgment is None or not judgment.usage:
        return
    screen.heading("The judge's draft")
    calls = judgment.usage.get("calls", 0)
    screen.line(
        f"{calls} {'answer' if calls == 1 else 'answers'}, {judgment.citations_checked} citations looked up, "
        f"{len(judgment.struck)} statements struck"
    )
    for finding in judgment.findings:
        lines = f" (line {', '.join(map(str, finding.lines))})" if finding.lines else ""
        screen.line(f"{finding.severity}: {finding.message}{lines}")
    for struck in judgment.struck:
        screen.line(f"struck: {struck.member}, {struck.place}: {struck.text}", style="dim")
        screen.line(f"        {'; '.join(struck.problems)}", style="dim")
    for score in judgment.scores:
        if len(score.votes) > 1:
            votes = ", ".join(
                f"{vote.member}: {'unscored' if vote.level is None else vote.level}" for vote in score.votes
            )
            screen.line(f"votes on {score.criterion}: {votes}")


def _print_findings(screen: Screen, detail: Detail) -> None:
    if not detail.reports:
        return
    screen.heading("Checks")
    screen.table(
        ["check", "status", "reason"],
        [[report.check, style_of(report.status.value), report.reason] for report in detail.reports],
    )
    for report in detail.reports:
        for finding in report.findings:
            if finding.message == report.reason and not finding.lines:
                continue
            lines = f" (line {', '.join(map(str, finding.lines))})" if finding.lines else ""
            screen.line(f"{finding.severity}: {finding.check}: {finding.message}{lines}")


def _print_facts(screen: Screen, detail: Detail) -> None:
    if not detail.facts:
        return
    screen.heading("Facts")
    screen.table(
        ["fact", "value", "how", "case", "meaning"],
        [[fact.id, fact.text, f"{fact.provenance}", fact.case or "", fact.label] for fact in detail.facts],
    )


def _print_cases(screen: Screen, detail: Detail) -> None:
    if detail.run is None or not detail.run.cases:
        return
    screen.heading("Cases")
    screen.table(
        ["case", "kind", "draw", "axes", "verdict", "message"],
        [
            [
                case.case,
                case.kind.value,
                str(case.seed),
                " ".join(f"{name}={value}" for name, value in case.axes.items()),
                style_of(case.verdict.value),
                case.message,
            ]
            for case in detail.run.cases
        ],
    )
    _print_other_rules(screen, detail.run.cases)
    _print_limits(screen, _group_limits(detail.run.cases))


def _print_other_rules(screen: Screen, cases: Sequence[CaseResult]) -> None:
    """Print what two usual rules would have said of the same outputs; they decide nothing."""
    errors = [error for case in cases for error in case.errors if error.tolerance is not None]
    if errors:
        aws, numpy = sum(error.aws_rule for error in errors), sum(error.allclose for error in errors)
        total = f"{len(errors)} output{'s' if len(errors) > 1 else ''}"
        screen.line(
            f"beside them, of {total}: AWS's rule, atol + rtol * max, passes {aws}; np.allclose {numpy}",
            style="dim",
        )


def _print_limits(screen: Screen, groups: dict[tuple[str, ...], list[str]]) -> None:
    """Print how limits were derived; the steps that all of them share once."""
    shared = [step for step in next(iter(groups), ()) if all(step in derivation for derivation in groups)]
    if len(groups) > 1 and shared:
        groups = {
            tuple(shared): ["every output and case"],
            **{
                tuple(step for step in derivation if step not in shared): names
                for derivation, names in groups.items()
            },
        }
    for derivation, names in groups.items():
        screen.line(f"limits of {'; '.join(names)}", style="italic")
        for step in derivation:
            screen.line(f"  • {step}", style="dim")


def _group_limits(cases: Sequence[CaseResult]) -> dict[tuple[str, ...], list[str]]:
    """Return which outputs of which cases share a derivation of their limits, by its steps."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for case in cases:
        for error in case.errors:
            if error.tolerance is not None and error.tolerance.derivation:
                name = f"output {error.output}, case {case.case}, draw {case.seed}"
                groups.setdefault(error.tolerance.derivation, []).append(name)
    return groups


def _print_code(screen: Screen, detail: Detail) -> None:
    if not detail.cited_lines:
        return
    screen.heading("Code, around the lines cited")
    screen.code(detail.submission.code, detail.cited_lines)


def detail_data(detail: Detail) -> dict[str, Any]:
    """Return all that is known about a grading, as JSON-like data."""

    def dump(model: Any) -> Any:
        return None if model is None else model.model_dump(mode="json")

    return {
        **dump(detail.summary),
        "submission": dump(detail.submission),
        "fingerprint": dump(detail.fingerprint),
        "rubric": dump(detail.rubric),
        "build": dump(detail.build),
        "run": dump(detail.run),
        "inspection": dump(detail.inspection),
        "facts": [dump(fact) for fact in detail.facts],
        "judgment": dump(detail.judgment),
        "confidence": dump(detail.confidence),
        "route": dump(detail.route),
        "reviews": [dump(state) for state in detail.reviews],
        "grade": dump(detail.grade),
    }
