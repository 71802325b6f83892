"""The prompt that a language model is given: a published text, filled in one pass.

Everything that others wrote stands in a fence longer than any run of backticks inside it, so no text can
leave its block; and since placeholders are filled in one pass, a submission that contains one pulls nothing
in.
"""

from __future__ import annotations

import re

from pipeline.errors import GraderError
from pipeline.judge.citations import split_lines
from pipeline.judge.claims import Claim, separate_claims
from pipeline.judge.protocol import JudgeRequest
from pipeline.types import Criterion, Fact, Fault, Owner

__all__ = ["fence", "render_prompt"]

_BACKTICKS = re.compile(r"`+")


def render_prompt(request: JudgeRequest) -> str:
    """Return the text of `request.prompt` with every placeholder filled from `request`.

    Only criteria that a judge scores are listed; those that checks settle are known already.

    Raises:
        GraderError: If the prompt has a placeholder that nothing fills.
    """
    code, claims = _show_code(request.submission.code)
    values = {
        "task": _join_lines(request.task.title),
        "statement": fence(request.task.statement),
        "source": _show_source(request.task.source),
        "verdict": request.verdict.value,
        "facts": "\n".join(map(_show_fact, request.facts)) or "None.",
        "code": code,
        "claims": claims,
        "criteria": "\n\n".join(
            _show_criterion(criterion) for criterion in request.rubric.criteria if criterion.source == "judge"
        ),
    }
    unknown = [name for name in request.prompt.placeholders if name not in values]
    if unknown:
        raise GraderError(
            Fault(
                owner=Owner.GRADER,
                code="unknown_placeholder",
                message=f"prompt {request.prompt.id} {request.prompt.version} asks for {', '.join(unknown)}",
                remedy=f"known: {', '.join(values)}",
            )
        )
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{\{{({names})\}}\}}", lambda match: values[match[1]], request.prompt.text)


def fence(text: str, language: str = "") -> str:
    """Return `text` as a fenced Markdown block that nothing inside it can close."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.strip(chr(10))}\n{ticks}"


def _show_code(code: str) -> tuple[str, str]:
    """Return the numbered code without claims, and the claims; both fenced."""
    separated = separate_claims(code)
    if separated is None:
        return fence(_number(split_lines(code))), "None told apart: the code is no Python."
    lines, claims = separated
    shown = fence("\n".join(map(_show_claim, claims))) if claims else "None."
    return fence(_number(lines)), shown


def _number(lines: list[str]) -> str:
    width = len(str(len(lines)))
    return "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(lines, start=1))


def _show_claim(claim: Claim) -> str:
    return f"line {claim.line}: {claim.text}"


def _show_source(files: dict[str, str]) -> str:
    shown = (f"{_join_lines(name)}\n\n{fence(text)}" for name, text in sorted(files.items()))
    return "\n\n".join(shown) or "None."


def _show_fact(fact: Fact) -> str:
    notes = [
        fact.provenance.value,
        *([fact.label] if fact.label else []),
        *([fact.case] if fact.case else []),
    ]
    return f"- {fact.id} = {fact.text} ({_join_lines('; '.join(notes))})"


def _show_criterion(criterion: Criterion) -> str:
    anchors = "\n".join(
        f"- Level {level.level}: {level.anchor}"
        for level in sorted(criterion.levels, key=lambda level: -level.level)
    )
    evidence = ", ".join(criterion.evidence)
    return f"## {criterion.id}: {criterion.title}\n\n{criterion.question}\nEvidence: {evidence}\n\n{anchors}"


def _join_lines(text: str) -> str:
    return " ".join(text.split())
