"""Rehearse a batch: everything up to the judge, and what would be asked then. Nothing leaves this machine.

What was built, run and inspected is kept, so that the real run starts from there; no grade is released and
nobody's queue grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pipeline.graph.batch import register, separate
from pipeline.graph.services import Services
from pipeline.graph.threads import Progress, advance
from pipeline.judge.calls.caller import Question
from pipeline.judge.calls.pending import CollectingCaller
from pipeline.judge.calls.spending import Spending
from pipeline.judge.privacy import SentItem, list_sent
from pipeline.judge.prompt import render_prompt
from pipeline.judge.protocol import Judge, JudgeRequest, JudgmentDeferred
from pipeline.library.submissions import Received
from pipeline.types import Fault, Judgment, Rejection

__all__ = ["Rehearsal", "rehearse"]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a run would ask.

    Attributes:
        total: Distinct gradings.
        asking: Of these, gradings for which a model would be asked.
        held: Gradings that infrastructure kept from being judged.
        questions: What would be sent now; what a first answer leads to (a repair, a second, an arbiter) is
            not known before.
        sent: What the first of them holds.
        rejections: Inputs that are no submissions.
    """

    total: int
    asking: int
    held: int
    questions: tuple[Question, ...]
    sent: tuple[SentItem, ...]
    rejections: tuple[Rejection, ...]


def rehearse(
    items: Iterable[Received | Rejection],
    services: Services,
    caller: CollectingCaller,
    *,
    on_progress: Callable[[Progress], None] | None = None,
) -> Rehearsal:
    """Take `items` up to the judge of `services`, which asks through `caller`, and no further.

    Raises:
        SandboxError: If this machine can no longer run submissions.
        StoreError: If the store can no longer keep results.
    """
    received, rejections = separate(items)
    planned = {p.grading.id: p for p in register([item.submission for item in received], services)}
    services.judge = judge = _Rehearsing(services.judge)
    advance(list(planned.values()), services, on_progress=on_progress)
    services.store.flush()
    questions = tuple(caller.wanted)
    return Rehearsal(
        total=len(planned),
        asking=len({question.grading_id for question in questions}),
        held=list(services.store.finished(planned).values()).count("held"),
        questions=questions,
        sent=judge.sent,
        rejections=tuple(rejections),
    )


class _Rehearsing:
    """A judge that never concludes, whatever the one inside would say."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.sent: tuple[SentItem, ...] = ()

    @property
    def id(self) -> str:
        """That of the judge inside."""
        return self._judge.id

    @property
    def in_flight(self) -> int:
        """That of the judge inside."""
        return self._judge.in_flight

    @property
    def spending(self) -> Spending | None:
        """That of the judge inside."""
        return self._judge.spending

    @property
    def stopped(self) -> Fault | None:
        """That of the judge inside."""
        return self._judge.stopped

    async def judge(self, request: JudgeRequest) -> Judgment:
        """Let the judge inside ask, and stop there."""
        try:
            await self._judge.judge(request)
        except JudgmentDeferred:
            self.sent = self.sent or tuple(list_sent(render_prompt(request), request))
            raise
        raise JudgmentDeferred

    async def fetch(self) -> bool:
        """Nothing: what is asked is only shown."""
        return False

    async def aclose(self) -> None:
        """Close the judge inside."""
        await self._judge.aclose()
