"""Trivial candidates over all cases of a task: which pass where they are wrong, and which no case refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evals.correctness.ground import Ground, judge
from pipeline.compare.trivial import make_trivial
from pipeline.types import Task, Verdict

__all__ = ["Tally", "tally_trivial"]


@dataclass(slots=True)
class Tally:
    """How one trivial candidate fared over the cases of a task.

    Attributes:
        task: Id of the task.
        candidate: What it is, and of which output.
        refused: Draws on which it was refused.
        right: Cases on which it passed because it is the answer.
        accepted: Cases on which it passed although it is not.
    """

    task: str
    candidate: str
    refused: int
    right: list[str]
    accepted: list[str]

    @property
    def holds(self) -> bool:
        """Whether it was refused at least once, and accepted nowhere."""
        return self.refused > 0 and not self.accepted


def tally_trivial(ground: Ground, task: Task, seed: str, other_seed: str) -> Iterator[Tally]:
    """Yield how each trivial candidate fares on the first draw of every case.

    Args:
        ground: Where draws come from.
        task: The task.
        seed: What is graded on.
        other_seed: What the answers to other draws come from.
    """
    tallies: dict[str, Tally] = {}
    others = {case.name: ground.draw(task, case, 0, other_seed) for case in task.cases}
    for case in task.cases:
        draw = ground.draw(task, case, 0, seed)
        for trivial in make_trivial(task, draw, others[case.name]):
            name = f"{trivial.name} as {trivial.output}"
            tally = tallies.setdefault(name, Tally(task.id, name, 0, [], []))
            if judge(task, case, 0, trivial.outputs, draw).verdict is not Verdict.CORRECT:
                tally.refused += 1
            else:
                (tally.right if trivial.right else tally.accepted).append(case.name)
    yield from tallies.values()
