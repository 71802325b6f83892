"""The judge protocol: whoever drafts scores and feedback, rules or language models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pipeline.judge.calls.spending import Spending
from pipeline.types import CheckReport, Fact, Fault, Judgment, Prompt, Rubric, Submission, Task, Verdict

__all__ = ["Judge", "JudgeRequest", "JudgmentDeferred"]


class JudgmentDeferred(Exception):
    """There is no judgment yet, and nothing is wrong with that: it is asked for again later."""


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

        A judge that fails returns a judgment with a fault, whose owner is never the submission, and every
        criterion unscored that it was asked about.

        Raises:
            JudgmentDeferred: If it has to wait, for `fetch` or for another run.
        """

    async def fetch(self) -> bool:
        """Get what deferred judgments wait for; return whether there is anything new to go on with."""

    @property
    def in_flight(self) -> int:
        """How many gradings it is worth having under way, so that it is never idle."""

    @property
    def spending(self) -> Spending | None:
        """What this run asked and paid so far; None for a judge that asks nobody, or not at once."""

    @property
    def stopped(self) -> Fault | None:
        """Why this judge cannot draft any more in this run, or None."""

    async def aclose(self) -> None:
        """Let go of connections; the judge may be used again, also in another event loop."""
