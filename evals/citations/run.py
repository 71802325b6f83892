"""How much of what is wrong with a draft's evidence the citation check finds, and what it strikes wrongly.

    python -m evals.citations.run

Prints a table per kind of corruption, with Wilson's interval at 95 %, and exits with 1 unless every corrupted
statement is struck, no honest one is, and at least 200 drafts were corrupted in ten ways or more.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from typing import Final

from evals.citations.cases import Case, load_cases
from evals.citations.corruptions import CORRUPTIONS, corrupt
from pipeline.judge.answer import Draft
from pipeline.judge.claims import separate_claims
from pipeline.judge.protocol import JudgeRequest
from pipeline.judge.strike import Checked, strike_unsupported
from pipeline.library.roots import tasks_root
from pipeline.library.rubrics import load_rubric
from pipeline.library.tasks import load_task
from pipeline.stats.intervals import wilson_interval
from pipeline.types import Prompt, Rubric, Struck, Submission, Task

__all__ = ["Outcome", "check_case", "main", "measure", "request_for"]

LEAST_DRAFTS: Final = 200
LEAST_KINDS: Final = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the cases.

    Attributes:
        kinds: Per kind of corruption how many were found, and of how many.
        missed: What was not found, one line each.
        struck: Honest statements that were struck, with their case.
        honest: How many honest statements there are.
    """

    kinds: dict[str, tuple[int, int]]
    missed: list[str]
    struck: list[tuple[str, Struck]]
    honest: int

    @property
    def drafts(self) -> int:
        """How many drafts were corrupted."""
        return sum(total for _, total in self.kinds.values())

    @property
    def holds(self) -> bool:
        """Whether all was found, nothing honest struck, and enough tried."""
        tried = [kind for kind, (_, total) in self.kinds.items() if total]
        enough = self.drafts >= LEAST_DRAFTS and len(tried) >= LEAST_KINDS
        return enough and not self.missed and not self.struck


def measure() -> Outcome:
    """Check every honest draft, and every corrupted one."""
    cases = load_cases()
    struck = [(case.name, one) for case in cases for one in check_case(case).struck]
    kinds: dict[str, tuple[int, int]] = {}
    missed: list[str] = []
    for corruption in CORRUPTIONS:
        spoiled = [made for case in cases if (made := corrupt(case, corruption, cases)) is not None]
        found = 0
        for made in spoiled:
            if made.place in [one.place for one in check_case(made.case).struck]:
                found += 1
            else:
                statement = next(s for s in made.case.statements if s.place == made.place)
                missed.append(f"{made.case.name}, {made.place}, {corruption.name}: {statement.text}")
        kinds[corruption.name] = found, len(spoiled)
    return Outcome(kinds, missed, struck, sum(len(case.statements) for case in cases))


def check_case(case: Case) -> Checked:
    """Run the check on a case's draft, as after a real answer."""
    separated = separate_claims(case.code)
    shown = separated[0] if separated is not None else []
    return strike_unsupported(Draft(case.scores, case.feedback), request_for(case), shown, "judge")


def request_for(case: Case) -> JudgeRequest:
    """Return what the judge of a case was told."""
    task, rubric = _load(case.task, *case.rubric.split())
    return JudgeRequest(
        task=task,
        submission=Submission(id="s-case", task_id=case.task, code=case.code),
        verdict=case.verdict,
        facts=case.facts,
        reports=case.reports,
        rubric=rubric,
        prompt=Prompt(id="judge", version="v0", text="", placeholders=()),
    )


@functools.cache
def _load(task: str, rubric: str, version: str) -> tuple[Task, Rubric]:
    return load_task(tasks_root() / task), load_rubric(rubric, version)


def main() -> int:
    """Print the table; return 0 when all holds."""
    outcome = measure()
    print(f"{'corruption':26s} found          95 % interval")
    for kind, (found, total) in outcome.kinds.items():
        interval = wilson_interval(found, total)
        print(f"{kind:26s} {found:3d} of {total:3d}     {interval.low:.3f} to {interval.high:.3f}")
    found = sum(found for found, _ in outcome.kinds.values())
    interval = wilson_interval(found, outcome.drafts)
    print(f"{'all':26s} {found:3d} of {outcome.drafts:3d}     {interval.low:.3f} to {interval.high:.3f}")
    interval = wilson_interval(len(outcome.struck), outcome.honest)
    print(
        f"honest statements struck: {len(outcome.struck)} of {outcome.honest}"
        f" ({interval.low:.3f} to {interval.high:.3f})"
    )
    for line in outcome.missed:
        print(f"missed: {line}")
    for case, one in outcome.struck:
        print(f"struck: {case}, {one.place}: {'; '.join(one.problems)}\n    {one.text}")
    return 0 if outcome.holds else 1


if __name__ == "__main__":
    sys.exit(main())
