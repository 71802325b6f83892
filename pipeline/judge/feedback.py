"""What the rules judge tells an author: what works, what must change and why, and the next step.

Every sentence is made of findings, reasons and anchors that exist; a number in it is a cited fact or a
check's own. Nothing is praised without evidence, and nothing is held against the author that is not the
author's. `pipeline.judge.standard` says what feedback is held to; this writer is held to it too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from pipeline.judge.citations import cite_fact, cite_line, split_lines
from pipeline.judge.protocol import JudgeRequest
from pipeline.types import (
    CheckReport,
    CheckStatus,
    Citation,
    Criterion,
    FeedbackItem,
    Finding,
    OverallGrade,
    Owner,
    Score,
    Severity,
    Verdict,
)

__all__ = ["write_feedback"]

#: Levels from which on a criterion counts as something that works.
_GOOD: Final = 3
#: Levels below the best from which on a criterion is spoken of, whatever else is.
_FAR: Final = 2

#: What is cited for a finding that names no evidence itself: a sentence, and the facts that fill it.
_WITNESSES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "correct": ("At worst the error is {} times its tolerance.", ("run.error_over_tolerance",)),
    "special_values": (
        "On such inputs the error is {} times what the tolerance leaves for it.",
        ("special_values.own_error_over_tolerance",),
    ),
    "output_written": ("Outputs with gaps: {}.", ("build.unwritten_outputs",)),
}
#: The same where that error says nothing: it is not finite, or the failing cases have none.
_INSTEAD: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "correct": ("{} of {} case runs pass.", ("run.cases_passed", "run.cases")),
    "special_values": (
        "The worst error on such inputs is {}.",
        ("special_values.own_error_over_tolerance",),
    ),
    "generality": ("{} of {} case runs pass.", ("run.cases_passed", "run.cases")),
}

#: What a closed gate asks for; ``{entry}`` is the kernel's function, ``{place}`` where to begin.
_STEPS: Final = {
    "compiles": "Make it compile for every shape first, beginning {place}; nothing else can be judged"
    " before.",
    "legal": "Bring it within the target's rules first, beginning {place}; the chip's compiler would refuse"
    " it as it is.",
    "authentic": "Let the tracer record {entry} as it is called; a person looks at this submission.",
    "device_work": "Move the computation of {entry} into NKI operations first.",
    "input_dependence": "Compute every output of {entry} from its inputs; a person looks at this submission.",
    "inputs_preserved": "Write what {entry} computes to a tensor of your own; a person looks at this"
    " submission.",
    "output_written": "Write the whole output of {entry} first; its values are looked at after that.",
    "correct": "Make {entry} right for every case first; how well the kernel is made counts only after that.",
    "compute_precision": "Raise the precision of {entry} first: within tolerance is not enough where the"
    " task names a dtype.",
}

#: The same for a kernel that did not build, where it was not the language that refused it.
_BUILD_STEPS: Final = {
    Verdict.RUNTIME_ERROR: "Make it run for every shape that the task allows first, beginning {place};"
    " nothing else can be judged before.",
    Verdict.TIMEOUT: "Make it trace in time for every shape first, beginning {place}; nothing else can be"
    " judged before.",
    Verdict.TOO_LARGE: "Bring it below the limit for every shape first, beginning {place}; nothing else can"
    " be judged before.",
}


def write_feedback(
    request: JudgeRequest, scores: Sequence[Score], overall: OverallGrade
) -> tuple[FeedbackItem, ...]:
    """Return the remarks on one submission: what works, changes by severity, the next step.

    Args:
        request: What the judge was told.
        scores: One per criterion, in the rubric's order.
        overall: Made of `scores`.
    """
    return (
        *_say_what_works(request, scores, overall),
        *_say_what_must_change(request, overall),
        *_say_what_comes_next(request, scores, overall),
    )


def _say_what_works(
    request: JudgeRequest, scores: Sequence[Score], overall: OverallGrade
) -> Iterator[FeedbackItem]:
    """Yield what facts witness: checks that the rubric asks about, at a level that deserves saying.

    While a gate is closed only what the gates say is worth saying, such as how many cases pass already.
    """
    levels = {score.source.removeprefix("check:"): score.level for score in scores}
    gates = request.rubric.overall.gates
    for report in request.reports:
        if overall.closed_gates:
            worth_saying = report.check in gates
        else:
            level = levels.get(report.check)
            asked = report.check in gates or level is not None
            worth_saying = report.status is CheckStatus.PASSED and asked and (level is None or level >= _GOOD)
        for finding in report.findings:
            if worth_saying and finding.severity is Severity.INFO:
                yield _remark("works", finding.message, _cite(finding, request))


def _say_what_must_change(request: JudgeRequest, overall: OverallGrade) -> Iterator[FeedbackItem]:
    """Yield one remark per fault of the submission, errors first.

    A warning counts where the rubric asks for its check; while a gate is closed, only from a gate: a legal
    but doubtful instruction may be what makes the answer wrong.
    """
    asked = set(request.rubric.overall.gates)
    if not overall.closed_gates:
        asked |= {criterion.check for criterion in request.rubric.criteria if criterion.check is not None}
    said: set[str] = set()
    for severity in (Severity.ERROR, Severity.WARNING):
        for report in request.reports:
            findings = [
                finding
                for finding in report.findings
                if finding.owner is Owner.SUBMISSION and finding.severity is severity
            ]
            for finding in _merge(report.check, findings):
                wanted = severity is Severity.ERROR or finding.check in asked
                if wanted and finding.message not in said:
                    said.add(finding.message)
                    yield _remark_on(finding, request)


def _merge(check: str, findings: Sequence[Finding]) -> list[Finding]:
    """Return one finding per fault: what one rule says at several lines is one, and so are wrong cases."""
    if check == "correct" and len(findings) > 1:
        return [findings[0].model_copy(update={"message": _tell_cases([f.message for f in findings])})]
    merged: dict[str, Finding] = {}
    for finding in findings:
        before = merged.setdefault(finding.message, finding)
        lines = tuple(sorted({*before.lines, *finding.lines}))
        facts = tuple(dict.fromkeys((*before.facts, *finding.facts)))
        merged[finding.message] = before.model_copy(update={"lines": lines, "facts": facts})
    return _merge_rules(list(merged.values())) if check == "legal" else list(merged.values())


def _merge_rules(findings: Sequence[Finding]) -> list[Finding]:
    """Return one finding per rule of the target: its first message whole, then where else it is broken."""
    rules: dict[str, list[Finding]] = {}
    for finding in findings:
        rules.setdefault(finding.message.rpartition(" [")[2], []).append(finding)
    merged: list[Finding] = []
    for first, *others in rules.values():
        lines = tuple(sorted({line for finding in (first, *others) for line in finding.lines}))
        elsewhere = sorted(set(lines) - set(first.lines))
        told = f" Another operand of line {first.lines[0]} breaks it too." if first.lines and others else ""
        if elsewhere:
            told = f" Broken at line{'s' if len(elsewhere) > 1 else ''} {', '.join(map(str, elsewhere))} too."
        merged.append(first.model_copy(update={"message": f"{_end(first.message)}{told}", "lines": lines}))
    return merged


def _tell_cases(messages: Sequence[str]) -> str:
    """Return the first message whole, the other wrong cases by name, and what is said about all of them."""
    first, *others = messages
    cases = [message for message in others if message.startswith("Case ")]
    heads = [f"c{message.partition(': ')[0][1:]}" for message in cases]
    also = [f"Also wrong: {'; '.join(heads)}."] if heads else []
    general = [_end(message) for message in others if message not in cases]
    return " ".join((_end(first), *also, *general))


def _remark_on(finding: Finding, request: JudgeRequest) -> FeedbackItem:
    """Return the remark on a fault, with something cited wherever there is something to cite."""
    text = _name_lines(finding) + finding.message
    citations = _cite(finding, request)
    if not citations:
        sentence, citations = _find_witness(finding, request)
        text = f"{_end(text)} {sentence}" if sentence else text
    return _remark("change", text, citations or _cite_entry(request))


def _find_witness(finding: Finding, request: JudgeRequest) -> tuple[str, tuple[Citation, ...]]:
    """Return a sentence on the facts that witness a finding, and their citations; nothing where none do."""
    known = {fact.id: fact for fact in request.facts}
    sentence, names = _WITNESSES.get(finding.check, ("", ()))
    value = known[names[0]].value if names and names[0] in known else None
    if finding.check in _INSTEAD and not (isinstance(value, float) and 1 < value < math.inf):
        sentence, names = _INSTEAD[finding.check]
    if not names or not all(name in known for name in names):
        return "", ()
    facts = [known[name] for name in names]
    return sentence.format(*(fact.digits for fact in facts)), tuple(map(cite_fact, facts))


def _say_what_comes_next(
    request: JudgeRequest, scores: Sequence[Score], overall: OverallGrade
) -> Iterator[FeedbackItem]:
    reports = {report.check: report for report in request.reports}
    if overall.closed_gates:
        yield _explain_gate(reports[overall.closed_gates[0]], request)
        return
    undecided = any(
        gate not in reports or reports[gate].status is CheckStatus.UNKNOWN
        for gate in request.rubric.overall.gates
    )
    steps = list(_suggest_improvements(request, scores))
    if undecided:
        yield _remark(
            "next",
            f"Nothing for you to do, the grader could not judge your kernel: {overall.reason}",
            _cite_entry(request),
        )
        if request.verdict in (Verdict.UNSUPPORTED, Verdict.INFRASTRUCTURE):
            return
    elif not steps:
        yield _remark("next", _say_what_is_open(request, scores), ())
    yield from steps


def _suggest_improvements(request: JudgeRequest, scores: Sequence[Score]) -> Iterator[FeedbackItem]:
    """Yield the criterion that costs the grade most, and those far below their best that no change names."""
    ranked = _rank_losses(request.rubric.criteria, scores)
    failed = {report.check for report in request.reports if report.status is CheckStatus.FAILED}
    for place, (criterion, score) in enumerate(ranked):
        best = max(level.level for level in criterion.levels)
        level = score.level or 0
        spoken_of = criterion.check in failed or best - level < _FAR
        if place > 0 and spoken_of:
            continue
        anchors = {step.level: step.anchor for step in criterion.levels}
        aim = best if criterion.scale is None else level + 1
        gains = "gains most: it stands" if place == 0 else "stands"
        yield _remark(
            "next",
            f"{criterion.title} {gains} at level {score.level} because {score.reason.rstrip('.')}."
            f" Level {aim} reads: {' '.join(anchors[aim].split())}",
            score.citations,
        )


def _say_what_is_open(request: JudgeRequest, scores: Sequence[Score]) -> str:
    """Return what is left where nothing that was scored could be better."""
    levels = {score.criterion: score.level for score in scores}
    open_ = [c.title for c in request.rubric.criteria if levels.get(c.id) is None]
    if not open_:
        return f"Nothing is left to mend: every criterion of {request.rubric.title} is at its best level."
    return (
        "Nothing that was scored is left to mend: each such criterion is at its best level."
        f" Still open: {'; '.join(open_)}."
    )


def _explain_gate(closed: CheckReport, request: JudgeRequest) -> FeedbackItem:
    entry = f"`{request.task.entry}`"
    if closed.check == "compiles" and request.submission.refusal is not None:
        text = f"Hand in one kernel as plain Python that defines {entry}; nothing can be judged before."
        return _remark("next", text, ())
    step = _STEPS.get(closed.check, f"Mend this first, beginning {{place}}: {_escape(closed.reason)}")
    if closed.check == "compiles":
        step = _BUILD_STEPS.get(request.verdict, step)
    lines = [line for finding in closed.findings for line in finding.lines]
    citation = cite_line(request.submission.code, lines[0]) if lines and "{place}" in step else None
    if citation is not None:
        return _remark("next", step.format(entry=entry, place=f"at line {lines[0]}"), (citation,))
    return _remark("next", step.format(entry=entry, place=f"with {entry}"), _cite_entry(request))


def _escape(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _rank_losses(criteria: Sequence[Criterion], scores: Sequence[Score]) -> list[tuple[Criterion, Score]]:
    """Return the scored criteria that are not at their best, the one that costs the grade most first."""
    given = {score.criterion: score for score in scores}
    lost: list[tuple[float, Criterion, Score]] = []
    for criterion in criteria:
        score = given.get(criterion.id)
        best = max(level.level for level in criterion.levels)
        if score is not None and score.level is not None and score.level < best:
            lost.append((criterion.weight * (best - score.level) / best, criterion, score))
    return [(criterion, score) for _, criterion, score in sorted(lost, key=lambda entry: -entry[0])]


def _cite(finding: Finding, request: JudgeRequest) -> tuple[Citation, ...]:
    known = {fact.id: fact for fact in request.facts}
    lines = (cite_line(request.submission.code, line) for line in finding.lines)
    facts = (cite_fact(known[name]) for name in finding.facts if name in known)
    return (*(citation for citation in lines if citation is not None), *facts)


def _cite_entry(request: JudgeRequest) -> tuple[Citation, ...]:
    """Return the line that begins the kernel, for what concerns all of it; nothing where there is none."""
    header = re.compile(rf"\s*def\s+{re.escape(request.task.entry)}\b")
    lines = enumerate(split_lines(request.submission.code), start=1)
    found = next((number for number, line in lines if header.match(line)), None)
    citation = None if found is None else cite_line(request.submission.code, found)
    return () if citation is None else (citation,)


def _name_lines(finding: Finding) -> str:
    if not finding.lines:
        return ""
    noun = "line" if len(finding.lines) == 1 else "lines"
    return f"{noun} {', '.join(map(str, finding.lines))}: "


def _remark(
    part: Literal["works", "change", "next"], text: str, citations: tuple[Citation, ...]
) -> FeedbackItem:
    sentence = text.strip()
    first = sentence.split(maxsplit=1)[0]
    # A name such as nl.arange stays as it is written.
    if first.isalpha():
        sentence = sentence[0].upper() + sentence[1:]
    return FeedbackItem(part=part, text=_end(sentence), citations=citations)


def _end(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
