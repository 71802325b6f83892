"""False rejects over good solutions and false accepts over bad ones, on inputs drawn anew again and again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evals.correctness.ground import Built, Ground, Outcome
from pipeline.types import Solution, Task, Verdict

__all__ = ["Grading", "grade_solutions", "seed_number"]


@dataclass(frozen=True, slots=True)
class Grading:
    """One solution, graded on one seed.

    Attributes:
        task: Id of its task.
        solution: Name of its file.
        good: Whether it is a good one.
        seed: What the inputs were drawn from.
        expected: Its declared verdict.
        verdict: What it came to.
        refusal: Why it is not accepted as right, in a line; empty where it is.
    """

    task: str
    solution: str
    good: bool
    seed: str
    expected: Verdict
    verdict: Verdict
    refusal: str

    @property
    def wrong(self) -> bool:
        """Whether it is a false reject or a false accept."""
        return self.good is bool(self.refusal)


def seed_number(number: int) -> str:
    """Return a battery seed: the same for the same number, so that a run can be repeated."""
    return hashlib.sha256(f"nki-grader evals correctness {number}".encode()).hexdigest()[:32]


def grade_solutions(
    ground: Ground,
    task: Task,
    seeds: Sequence[str],
    *,
    on_progress: Callable[[str], None] = lambda line: None,
) -> Iterator[Grading]:
    """Yield the gradings of every solution of `task` on every seed.

    Each is built once; those that do not build come to the same verdict on every seed and are yielded once.
    Solutions share the draws of a seed.
    """
    built: list[tuple[Solution, Built]] = []
    for solution in task.solutions:
        one = ground.build(task, solution.code)
        if one.result is None or one.result.verdict is not None:
            yield _grading(task, solution, seeds[0], ground.grade(one, seeds[0]))
        else:
            built.append((solution, one))
    for number, seed in enumerate(seeds, 1):
        on_progress(f"{task.id}: seed {number} of {len(seeds)}, {len(built)} solutions that build")
        for solution, one in built:
            yield _grading(task, solution, seed, ground.grade(one, seed))


def _grading(task: Task, solution: Solution, seed: str, outcome: Outcome) -> Grading:
    good = solution.expected is Verdict.CORRECT
    return Grading(
        task.id, solution.name, good, seed, solution.expected, outcome.verdict, outcome.refusal or ""
    )
