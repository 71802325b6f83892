"""Statements of a judge that deterministic facts contradict, recorded as findings against the judge.

Few patterns, read narrowly: a sentence about the whole kernel that says the opposite of the verdict, praise
for lines that an error names, a high level where the check on the same facts failed, and a modelled number
called measured. Silence proves nothing; a finding says that a reader should look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pipeline.judge.answer import Draft
from pipeline.judge.protocol import JudgeRequest
from pipeline.judge.statements import find_false_measurements
from pipeline.types import CheckStatus, Citation, Finding, Owner, Severity, Verdict

__all__ = ["find_contradictions"]

#: Levels from which on a criterion counts as met.
_GOOD: Final = 3

#: What stands for the submission as a whole. A part of it ("the tail handling is correct") may well be right.
_WHOLE: Final = (
    r"(?:\b(?:the|this|your) (?:kernel|code|submission|implementation|program|solution|whole kernel)"
    r"|\b(?:the|its|all) (?:outputs?|results?|answers?)|\beverything|^\W*it)"
)
_ADVERBS: Final = (
    r"(?:\s+(?:is|are|fully|numerically|functionally|entirely|completely|also|still|already|simply|just))*"
)
_RIGHT: Final = re.compile(
    rf"{_WHOLE}{_ADVERBS}\s+(?:(?:is|are)\s+(?:\w+ly\s+)?(?:correct|right)\b|(?:\w+ly\s+)?correct\b"
    r"|(?:passes|pass)\s+(?:all|every)\b|(?:computes|produces|gives|returns)\s+(?:the\s+)?(?:correct|right)\b"
    r"|matches\s+the\s+reference\b)"
    r"|\b(?:all|every)(?:\s+(?:of\s+)?(?:the|\d+))*\s+(?:cases?|case\s+runs?|tests?|shapes?)\s+(?:pass(?:es)?"
    r"|(?:is|are)\s+(?:correct|right|within\s+(?:the\s+)?tolerance))\b",
    re.I,
)
_WRONG: Final = re.compile(
    rf"{_WHOLE}{_ADVERBS}\s+(?:(?:is|are)\s+(?:\w+ly\s+)?(?:wrong|incorrect)\b|(?:\w+ly\s+)?(?:wrong|incorrect)\b"
    r"|(?:computes|produces|gives|returns)\s+(?:the\s+)?(?:wrong|incorrect)\b"
    r"|(?:fails|fail)\s+(?:all|every|to\s+compile|the\s+(?:cases|tests))\b|(?:does|do)\s+not\s+(?:compile|build)\b)"
    r"|\b(?:some|all)(?:\s+(?:of\s+)?(?:the|\d+))*\s+(?:cases?|case\s+runs?|tests?)\s+(?:fail|fails|are\s+wrong)\b",
    re.I,
)
_BUILDS: Final = re.compile(
    rf"{_WHOLE}{_ADVERBS}\s+(?:compiles|builds|traces)\b(?!\s+(?:on|up|a|the)\b)", re.I
)
_LEGAL: Final = re.compile(
    rf"{_WHOLE}{_ADVERBS}\s+(?:(?:is|are)\s+)?(?:\w+ly\s+)?(?:legal|valid)\s+(?:on|for)\b"
    rf"|{_WHOLE}{_ADVERBS}\s+(?:respects|keeps\s+within|stays\s+within)\s+(?:all|every|the)\s+(?:hardware\s+)?limits?\b",
    re.I,
)
#: Makes of a sentence something other than a claim: a denial, a condition, a wish, somebody else's word.
_UNCLAIMED: Final = re.compile(
    r"\b(?:not|never|no\s+longer|neither|nor|hardly|would|could|should|might|may|must|will|if|once|until|unless|when"
    r"|whether|make|makes|made|to\s+be|says?|claims?|suggests?|comment|docstring|so\s+that|after|before|except|but)\b"
    r"|n['’]t\b",
    re.I,
)
#: Makes of a claim about the whole one about a part, right behind it.
_PARTIAL: Final = re.compile(
    r"\W{0,3}(?:only|except|but|apart|up\s+to|as\s+(?:long|far)|where|when|if|while|once|after|unless|with(?:out)?|in"
    r"|(?:for|on)(?!\s+(?:all|every|any|each)\b))\b",
    re.I,
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+|,\s+(?=(?:and|so|but|which|because)\b)")

_NOT_BUILT: Final = frozenset({Verdict.COMPILE_ERROR})
_OVERTURNED: Final = frozenset(
    {
        Verdict.INCORRECT,
        Verdict.COMPILE_ERROR,
        Verdict.ILLEGAL_ON_TARGET,
        Verdict.NO_DEVICE_WORK,
        Verdict.SUSPECT,
    }
)


@dataclass(frozen=True, slots=True)
class _Statement:
    place: str
    text: str
    citations: tuple[Citation, ...]
    praises: bool


def find_contradictions(draft: Draft, request: JudgeRequest) -> tuple[Finding, ...]:
    """Return what in `draft` facts speak against, each as a warning owned by the judge.

    Args:
        draft: What is left of it after the citation check.
        request: What the judge was told.
    """
    statements = [
        *(
            _Statement(f"score {score.criterion}", score.reason, score.citations, False)
            for score in draft.scores
            if score.level is not None
        ),
        *(
            _Statement(f"feedback item {number}", item.text, item.citations, item.part == "works")
            for number, item in enumerate(draft.feedback, start=1)
        ),
    ]
    told = [statement for statement in statements if statement.praises or statement.place.startswith("score")]
    # "Until all cases pass" is no claim that they do; that a right kernel is wrong is one wherever it stands.
    judging = statements if request.verdict is Verdict.CORRECT else told
    found = [
        *(finding for statement in judging for finding in _contradict_verdict(statement, request)),
        *(
            finding
            for statement in told
            if statement.praises
            for finding in _contradict_errors(statement, request)
        ),
        *_contradict_checks(draft, request),
        *(finding for statement in statements for finding in _contradict_provenance(statement, request)),
    ]
    return tuple(dict.fromkeys(found))


def _contradict_verdict(statement: _Statement, request: JudgeRequest) -> Iterator[Finding]:
    """Yield what a sentence says of the whole kernel against its verdict."""
    verdict = request.verdict
    opposites = (
        (_RIGHT, "right", verdict in _OVERTURNED),
        (_WRONG, "wrong", verdict is Verdict.CORRECT),
        (_BUILDS, "built", verdict in _NOT_BUILT),
        (_LEGAL, "legal", verdict is Verdict.ILLEGAL_ON_TARGET),
    )
    for sentence in _SENTENCE_END.split(statement.text):
        for pattern, said, opposite in opposites:
            claim = pattern.search(sentence) if opposite else None
            if claim is None or _UNCLAIMED.search(sentence[: claim.start()]):
                continue
            if not _PARTIAL.match(sentence[claim.end() :]):
                yield _note(
                    statement,
                    f"says that the kernel is {said} ({claim[0]!r}), and the verdict is {verdict.value}",
                )


def _contradict_errors(statement: _Statement, request: JudgeRequest) -> Iterator[Finding]:
    """Yield praise for lines that an error names."""
    spans = [
        (citation.first_line, citation.last_line)
        for citation in statement.citations
        if citation.kind == "lines" and citation.first_line and citation.last_line
    ]
    for report in request.reports:
        for finding in report.findings:
            named = tuple(
                line for line in finding.lines if any(first <= line <= last for first, last in spans)
            )
            if named and finding.severity is Severity.ERROR and finding.owner is Owner.SUBMISSION:
                yield _note(
                    statement,
                    f"praises line {named[0]}, where {finding.check} says: {finding.message}",
                    lines=named,
                )


def _contradict_checks(draft: Draft, request: JudgeRequest) -> Iterator[Finding]:
    """Yield every high level on a criterion whose own evidence made a check fail."""
    evidence = {criterion.id: criterion.evidence for criterion in request.rubric.criteria}
    for score in draft.scores:
        if score.level is None or score.level < _GOOD:
            continue
        for report in request.reports:
            against = tuple(
                name
                for finding in report.findings
                if finding.severity is not Severity.INFO
                for name in finding.facts
                if name in evidence.get(score.criterion, ())
            )
            if report.status is CheckStatus.FAILED and against:
                place = _Statement(f"score {score.criterion}", "", (), False)
                yield _note(
                    place,
                    f"gives level {score.level}, and check {report.check} failed on {against[0]}",
                    facts=tuple(dict.fromkeys(against)),
                )


def _contradict_provenance(statement: _Statement, request: JudgeRequest) -> Iterator[Finding]:
    """Yield every modelled or emulated number that is called measured."""
    known = {fact.id: fact for fact in request.facts}
    cited = [known[c.fact] for c in statement.citations if c.fact is not None and c.fact in known]
    for problem in find_false_measurements(statement.text, cited) if cited else ():
        yield _note(statement, problem, facts=tuple(fact.id for fact in cited))


def _note(
    statement: _Statement, message: str, *, lines: tuple[int, ...] = (), facts: tuple[str, ...] = ()
) -> Finding:
    return Finding(
        check="judge",
        severity=Severity.WARNING,
        owner=Owner.JUDGE,
        message=f"{statement.place} {message}",
        lines=lines,
        facts=facts,
    )
