"""How long does it take, and how much memory, to calibrate on very many labels?

Makes drafts of a panel and what one expert said of each, then runs them through the statistics in the order
of a calibration: features, curves, reliability, agreement, certificates. The labels come out of memory: what
reading them from a store costs is not in here. Run:

    python -m evals.bench.calibration [--labels 100000]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.judge.features import NAMES, TaskHistory, read_features
from pipeline.judge.scoring import grade_overall
from pipeline.stats.agreement import MISSING, compare_pairs
from pipeline.stats.recalibration import apply_curve, fit_curve
from pipeline.stats.reliability import measure_reliability
from pipeline.stats.selective import certify, grid_of
from pipeline.types import (
    GRADE,
    Criterion,
    Fact,
    Inspection,
    Judgment,
    Level,
    Overall,
    Provenance,
    Rubric,
    Score,
    Struck,
    Verdict,
    Vote,
)

LABELS, SECONDS, GIGABYTES = 100_000, 60.0, 2.0
TASKS = 200
ALPHA, DELTA = 0.1, 0.1
#: Of the choose, fit, certify and report splits.
SHARES = (0.10, 0.40, 0.35, 0.15)
JUDGED = ("overlap", "layout", "reuse", "clarity", "judgement")


def make_rubric() -> Rubric:
    """Return a rubric of five criteria for the judge and two for checks."""
    levels = tuple(Level(level=level, anchor="what one sees") for level in range(5))
    sources = dict.fromkeys(JUDGED, "judge") | {name: f"check:{name}" for name in ("traffic", "use")}
    criteria = tuple(
        Criterion(
            id=name, title=name, question="?", weight=1, source=source, evidence=("code",), levels=levels
        )
        for name, source in sources.items()
    )
    overall = Overall(gates=(), pass_mark=0.6, minimum_scored_weight=0.6)
    return Rubric(
        id="bench", version="v1", title="Bench", purpose="Speed.", criteria=criteria, overall=overall
    )


RUBRIC = make_rubric()


class Labelled(NamedTuple):
    """A draft and what an expert said of its criteria."""

    task: int
    inspection: Inspection
    judgment: Judgment
    expert: dict[str, int]


def make_drafts(count: int) -> Iterator[Labelled]:
    """Yield drafts of a panel of three whose members differ more where the expert differs too."""
    generator = np.random.default_rng(7)
    for number in range(count):
        doubt = generator.beta(1, 4)
        truth = generator.integers(0, 5, len(JUDGED))
        noise = generator.normal(0, 0.3 + 1.5 * doubt, (3, len(JUDGED)))
        votes = np.clip(np.rint(truth + noise), 0, 4).astype(int)
        seen = np.clip(np.rint(truth + generator.normal(0, 0.4, len(JUDGED))), 0, 4).astype(int)
        scores = [_score(name, votes[:, at].tolist(), 1 - doubt) for at, name in enumerate(JUDGED)]
        scores += [
            Score(
                criterion=criterion.id, level=int(truth[at]), source=criterion.source, reason="", confidence=1
            )
            for at, criterion in enumerate(RUBRIC.criteria[len(JUDGED) :])
        ]
        place = f"score {JUDGED[number % len(JUDGED)]}"
        struck = Struck(member="judge m 1", place=place, text="", problems=("no such line",))
        judgment = Judgment(
            judge="bench 1",
            scores=tuple(scores),
            overall=grade_overall(RUBRIC, scores, ()),
            struck=(struck,) * int(doubt > 0.4),
        )
        length = Fact(
            id="build.instructions", value=int(50 + 500 * doubt), provenance=Provenance.COUNTED, label=""
        )
        inspection = Inspection(verdict=Verdict.CORRECT, sandbox="bubblewrap", facts=(length,))
        task = int(TASKS * generator.random() ** 2)
        yield Labelled(task, inspection, judgment, dict(zip(JUDGED, seen.tolist(), strict=True)))


def _score(name: str, votes: list[int], sure: float) -> Score:
    level = sorted(votes)[1]
    return Score(
        criterion=name,
        level=level,
        source="judge",
        reason="",
        confidence=sure * votes.count(level) / 3,
        votes=tuple(
            Vote(member=f"member {place}", level=vote, confidence=sure) for place, vote in enumerate(votes)
        ),
    )


def is_wrong(draft: Labelled, name: str) -> bool:
    """Return whether a level lies two or more from the expert's or, of a grade, any does or it flips."""
    given = {score.criterion: score for score in draft.judgment.scores}
    apart = {key: abs((given[key].level or 0) - level) >= 2 for key, level in draft.expert.items()}
    if name != GRADE:
        return apart[name]
    said = [
        score.model_copy(update={"level": draft.expert.get(score.criterion, score.level)})
        for score in draft.judgment.scores
    ]
    flipped = grade_overall(RUBRIC, said, ()).passed != draft.judgment.overall.passed
    return flipped or any(apart.values())


@contextmanager
def clock(what: str) -> Iterator[None]:
    """Print how long the block took, and the most memory that the process has held."""
    start = time.perf_counter()
    yield
    print(f"{what:<28} {time.perf_counter() - start:6.1f} s  {peak_gigabytes():5.2f} GB at most")


def peak_gigabytes() -> float:
    """Return the most memory that this process has held."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e9 if sys.platform == "darwin" else 1e6)


def calibrate(drafts: list[Labelled], names: tuple[str, ...]) -> None:
    """Run all that a calibration computes, and print what came out."""
    count = len(drafts)
    tasks = np.array([draft.task for draft in drafts])
    with clock("features"):
        seen = [draft.task % 7 for draft in drafts]
        rows = [
            read_features(draft.inspection, draft.judgment, RUBRIC, TaskHistory(labels, labels, 0.9))
            for draft, labels in zip(drafts, seen, strict=True)
        ]
        features = {name: np.array([row[name] for row in rows]) for name in names}
        rows.clear()
    with clock("errors"):
        right = {name: np.array([not is_wrong(draft, name) for draft in drafts]) for name in names}
    ends = np.cumsum([round(share * count) for share in SHARES[:-1]])
    _, fit, proof, report = np.split(np.random.default_rng(1).permutation(count), ends)
    sure: dict[str, NDArray[np.float64]] = {}
    with clock(f"curves, {len(names)} x {len(fit):,}"):
        for name in names:
            fitted = fit_curve(features[name][fit], right[name][fit], tasks[fit].tolist())
            if fitted.curve is not None:
                sure[name] = apply_curve(fitted.curve, features[name])
            else:
                print(f"  {name}: {fitted.reason}")
    with clock(f"reliability, {len(sure)} x {len(report):,}"):
        measured = {
            name: measure_reliability(found[report], right[name][report], tasks[report].tolist())
            for name, found in sure.items()
        }
    with clock(f"agreement, {len(JUDGED)} x {count:,}"):
        given = [{score.criterion: score.level for score in draft.judgment.scores} for draft in drafts]
        agreed = {
            name: compare_pairs(
                [MISSING if (level := levels[name]) is None else level for levels in given],
                [draft.expert[name] for draft in drafts],
                tasks.tolist(),
                5,
            )
            for name in JUDGED
        }
    with clock(f"certificates, {len(sure)} x {len(proof):,}"):
        certified = {
            name: certify(
                found[proof], ~right[name][proof], grid_of(found), alpha=ALPHA, level=DELTA / len(sure)
            )
            for name, found in sure.items()
        }
    print(f"\n{'':<12} {'right':>7} {'ECE':>7} {'AUROC':>7} {'kappa':>7} {'threshold':>10}")
    for name in sure:
        numbers = (measured[name].right, measured[name].calibration_error, measured[name].auroc)
        kappa = agreed[name].kappa.value if name in agreed else None
        threshold = certified[name].threshold
        cells = [*(estimate.value for estimate in numbers), kappa]
        shown = " ".join(f"{'-':>7}" if cell is None else f"{cell:7.3f}" for cell in cells)
        print(f"{name:<12} {shown} {'none' if threshold is None else f'{threshold:.3f}':>10}")


def main() -> int:
    """Measure once, print the parts and the total; 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description="Time a calibration.")
    parser.add_argument("--labels", type=int, default=LABELS, help="of single criteria, five per draft")
    labels: int = parser.parse_args().labels
    if labels < len(JUDGED):
        parser.error(f"--labels must be at least {len(JUDGED)}: one draft has so many")
    drafts = list(make_drafts(labels // len(JUDGED)))
    print(f"{labels:,} labels of {len(drafts):,} drafts, {len(NAMES)} features, {TASKS} tasks")
    print(f"before: {peak_gigabytes():.2f} GB for the drafts themselves\n")
    start = time.perf_counter()
    calibrate(drafts, (*JUDGED, GRADE))
    seconds, held = time.perf_counter() - start, peak_gigabytes()
    print(f"\nin all {seconds:.1f} s of {SECONDS:.0f} s, {held:.2f} GB of {GIGABYTES:.0f} GB")
    return int(labels >= LABELS and (seconds > SECONDS or held > GIGABYTES))


if __name__ == "__main__":
    sys.exit(main())
