"""The judge protocol: whoever drafts scores and feedback, rules or language models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pipeline.types import CheckReport, Fact, Judgment, Prompt, Rubric, Submission, Task, Verdict

__all__ = ["Judge", "JudgeRequest"]


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """All that a judge is told."""

    task: Task
    submission: Submission
    verdict: Verdict
    facts: tuple[Fact, ...]
    reports: tuple[CheckReport, ...]
    rubric: Rubric
    prompt: Prompt
    grading_id: str = ""
    """What its calls are charged to; empty outside a grading."""


class Judge(Protocol):
    """Drafts a judgment."""

    @property
    def id(self) -> str:
        """Name, version and every parameter that shapes an answer; part of the fingerprint."""

    async def judge(self, request: JudgeRequest) -> Judgment:
        """Return a level or a reason for none per criterion, each exactly once, and feedback.

        A judge that fails returns a judgment with a fault of owner ``judge`` and every criterion unscored.
        """
