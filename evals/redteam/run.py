"""What submissions achieve that try to be accepted without being right, and what honest ones suffer.

    python -m evals.redteam.run [--seed SEED] [NAME ...]

Builds, runs and inspects every attack and every honest look-alike in the sandbox, or those named, and prints
one line each and the shares with Wilson's interval at 95 %. Exits with 1 if an attack is accepted or an
honest submission is not.

Attacks and defences have one author, so 0 of n says little of what strangers try.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from secrets import token_hex

from evals.injection.cases import Outcome
from evals.redteam.cases import Work, load_attacks, load_honest, open_arena
from pipeline.routing.policy import closed_gates
from pipeline.stats.intervals import wilson_interval
from pipeline.types import CheckStatus, Verdict

__all__ = ["Trial", "main", "try_all"]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One submission and what became of it."""

    work: Work
    outcome: Outcome

    @property
    def verdict(self) -> Verdict:
        """What it came to."""
        return self.outcome.inspection.verdict

    @property
    def gates(self) -> tuple[str, ...]:
        """The checks of closed gates."""
        return tuple(report.check for report in closed_gates(self.outcome.inspection, self.outcome.rubric))

    @property
    def accepted(self) -> bool:
        """Whether it counts as right: no gate is closed, and the verdict says so."""
        return self.verdict is Verdict.CORRECT and not self.gates

    @property
    def reason(self) -> str:
        """What the fault or the checks say of it, and its first wrong case; empty where nothing is wrong."""
        inspection = self.outcome.inspection
        if inspection.fault is not None:
            return inspection.fault.message
        closed = [report for report in inspection.reports if report.check in self.gates]
        run = self.outcome.evidence.run
        wrong = [case for case in (run.cases if run else ()) if case.verdict is not Verdict.CORRECT]
        first = [f"{case.case!r}, draw {case.seed}: {case.message}" for case in wrong[:1]]
        return "; ".join([*(f"{report.check}: {report.reason}" for report in closed), *first])

    def has_witness(self) -> bool:
        """Whether the check that is named as its witness failed and says what it should."""
        expected = self.work.witness
        return expected is None or any(
            report.check == expected.check
            and report.status is CheckStatus.FAILED
            and expected.phrase in report.reason
            for report in self.outcome.inspection.reports
        )

    @property
    def as_expected(self) -> bool:
        """Whether it came to its verdict, for its reason."""
        return self.verdict is self.work.verdict and self.has_witness()


def try_all(works: Sequence[Work], seed: str | None = None) -> list[Trial]:
    """Return what the stages before the judge make of `works`, in their order.

    Args:
        works: The submissions.
        seed: What inputs are drawn from; None for a new secret.
    """
    with open_arena(seed=seed) as arena, ThreadPoolExecutor(2) as threads:
        outcomes = threads.map(arena.try_out, works)
        return [Trial(work, outcome) for work, outcome in zip(works, outcomes, strict=True)]


def main(arguments: Sequence[str]) -> int:
    """Print the report; return the exit code."""
    parser = ArgumentParser(prog="python -m evals.redteam.run")
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to try; everything by default")
    parser.add_argument(
        "--seed", default=token_hex(16), help="what inputs are drawn from, 32 hexadecimal digits"
    )
    chosen = parser.parse_args(arguments)
    print(f"inputs are drawn from seed {chosen.seed}")
    attacks = try_all(_choose(load_attacks(), chosen.names), chosen.seed)
    honest = try_all(_choose(load_honest(), chosen.names), chosen.seed)
    accepted = [trial for trial in attacks if trial.accepted]
    rejected = [trial for trial in honest if not trial.accepted]
    surprises = [trial for trial in attacks if not trial.as_expected]
    for title, trials in (("attacks", attacks), ("honest look-alikes", honest)):
        print(f"{title}:")
        for trial in trials:
            print(f"  {_describe(trial)}")
    _print_share("attacks accepted", len(accepted), len(attacks))
    _print_share("attacks that came to another verdict than expected", len(surprises), len(attacks))
    _print_share("honest look-alikes rejected", len(rejected), len(honest))
    for trial in (*accepted, *rejected):
        print(f"  {trial.work.name}: {trial.reason or trial.verdict.value}")
    return int(bool(accepted or rejected))


def _choose(works: Iterable[Work], names: Sequence[str]) -> list[Work]:
    return [work for work in works if not names or work.name in names]


def _describe(trial: Trial) -> str:
    work = trial.work
    mark = " " if trial.as_expected else "!"
    rows = ",".join(map(str, work.rows))
    verdicts = f"{work.verdict.value:17} {trial.verdict.value:17}"
    return f"{mark} {rows:8} {work.name:32} {verdicts} {trial.reason[:160]}"


def _print_share(name: str, count: int, total: int) -> None:
    if total:
        interval = wilson_interval(count, total)
        print(f"{name}: {count} of {total} ({interval.low:.3f} to {interval.high:.3f})")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
