"""How long does it take, and how much memory, to calibrate on very many labels?

Makes drafts of a panel and what one expert said of each, keeps them in a store as grading and the desk would,
then calibrates out of that store: labels, drafts, splits, curves, reliability, agreement, certificates.
Filling the store is not counted. Run:

    python -m evals.bench.calibration [--labels 100000]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.judge.features import NAMES
from pipeline.judge.scoring import grade_overall
from pipeline.review.labels import read_labels
from pipeline.routing.certificates import Register
from pipeline.routing.certifying import certify_policy
from pipeline.routing.fitting import fit, probabilities_of
from pipeline.routing.observations import observe, read_scopes
from pipeline.routing.splits import Splits
from pipeline.stats.agreement import MISSING, compare_pairs
from pipeline.stats.reliability import measure_reliability
from pipeline.store import Document, StageRecord, Store, open_store
from pipeline.types import (
    GRADE,
    Answer,
    Assessment,
    Batch,
    BatchItem,
    Committed,
    Costs,
    Criterion,
    DeskEvent,
    Fact,
    Fingerprint,
    Grading,
    Inspection,
    Judgment,
    Level,
    Loss,
    Overall,
    Provenance,
    Review,
    RoutingPolicy,
    Rubric,
    Score,
    Struck,
    Submission,
    Verdict,
    Vote,
)

LABELS, SECONDS, GIGABYTES = 100_000, 60.0, 2.0
TASKS, AT_ONCE = 200, 500
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
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
POLICY = RoutingPolicy(
    id="bench",
    version="v1",
    title="Bench",
    mode="selective",
    alpha=0.1,
    delta=0.1,
    loss=Loss(),
    by="criteria",
    looks=(0.5, 0.5),
    calibration_rate=1,
    fewest_per_task=5,
    second_review_below=0.5,
    costs=Costs(expert_hour=120, wrong_grade=60),
)
MADE = Fingerprint(
    task="t",
    rubric=RUBRIC.content_hash(),
    prompt="p",
    judge="bench 1",
    executor="emulator 1",
    target="trn2",
    toolchain="0.3",
    numerics="numpy 2",
    comparison="1",
    checks="1",
    confidence="1",
    policy="1",
    isolated=True,
)
#: As many facts as an inspection has, so that there is as much to read.
FACTS = tuple(
    Fact(id=f"profile.fact_{number}", value=number, provenance=Provenance.MODELLED, label="a fact")
    for number in range(80)
)


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
        inspection = Inspection(verdict=Verdict.CORRECT, sandbox="bubblewrap", facts=(length, *FACTS))
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


def fill(store: Store, drafts: Iterable[Labelled]) -> None:
    """Keep drafts, each with the review of one expert."""
    store.save_documents(
        [
            Document(
                kind="rubric",
                id=RUBRIC.id,
                version=RUBRIC.version,
                sha256=RUBRIC.content_hash(),
                text=RUBRIC.model_dump_json(),
            )
        ]
    )
    numbered = enumerate(drafts)
    while page := list(islice(numbered, AT_ONCE)):
        for number, draft in page:
            keep(store, f"{number:06}", draft)
        items = tuple(
            BatchItem(
                grading_id=f"g-{number:06}",
                submission_id=f"s-{number:06}",
                origin=f"m{number % 9}/{number}.py",
            )
            for number, _ in page
        )
        store.open_batch(Batch(id=f"b-{page[0][0]}", opened_at=NOON, items=items))
        store.desk.record([tell(f"{number:06}", draft) for number, draft in page])


def keep(store: Store, name: str, draft: Labelled) -> None:
    """Keep a submission, its grading as far as the draft, and its review."""
    store.save_submissions([Submission(id=f"s-{name}", task_id=f"task-{draft.task}", code=f"# {name}")])
    store.save_gradings([Grading(id=f"g-{name}", submission_id=f"s-{name}", fingerprint=MADE)])
    for stage, output in (("inspect", draft.inspection), ("judge", draft.judgment)):
        key = f"{stage} {name}"
        store.record_stage(StageRecord(stage=stage, key=key, output=output.model_dump_json(), seconds=0.1))
    store.link_stages(f"g-{name}", {stage: f"{stage} {name}" for stage in ("inspect", "judge")})
    store.open_review(
        Review(id=f"r-{name}", grading_id=f"g-{name}", reason="chance", opened_at=NOON, calibration=1)
    )


def tell(name: str, draft: Labelled) -> DeskEvent:
    """Return what the expert committed."""
    answers = {criterion: Answer(level=level) for criterion, level in draft.expert.items()}
    done = Committed(assessment=Assessment(answers=answers), rubric=RUBRIC.content_hash(), seconds=60)
    return DeskEvent(id=f"e-{name}", review_id=f"r-{name}", slot=0, actor="anna", at=NOON, action=done)


@contextmanager
def clock(what: str) -> Iterator[None]:
    """Print how long the block took, of that the processor's time, and the most memory held so far."""
    start, used = time.perf_counter(), time.process_time()
    yield
    wall, processor = time.perf_counter() - start, time.process_time() - used
    print(f"{what:<18} {wall:6.1f} s  {processor:6.1f} s of CPU  {peak_gigabytes():5.2f} GB at most")


def peak_gigabytes() -> float:
    """Return the most memory that this process has held."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e9 if sys.platform == "darwin" else 1e6)


def calibrate(store: Store) -> None:
    """Calibrate the one scope of a store, and print what came out."""
    with clock("labels"):
        labels = read_labels(store)
    with clock("scope"):
        (scope,) = read_scopes(store)
    with clock("observations"):
        seen = observe(store, scope, labels, POLICY)
    splits = Splits(store)
    with clock("splits"):
        splits.assign((unit.submission_id for unit in seen.labelled), scope.rubric)
    with clock("curves"):
        fitted = fit(seen, splits, POLICY)
    calibrator = fitted.calibrator
    if calibrator is None:
        raise SystemExit(f"no curve: {fitted.reasons}")
    with clock("reliability"):
        report = seen.select(splits.use(seen.labels, "report", scope))
        measured = {
            name: measure_reliability(
                probabilities_of(calibrator, known, name),
                np.array([not unit.wrong[name] for unit in known]),
                [unit.task for unit in known],
            )
            for name in (*seen.criteria, GRADE)
            for known in ([unit for unit in report if name in unit.wrong],)
        }
    with clock("agreement"):
        known = [(unit, unit.first) for unit in seen.units if unit.first is not None]
        agreed = {
            name: compare_pairs(
                [_level(unit.levels.get(name)) for unit, _ in known],
                [_level(said.levels.get(name)) for _, said in known],
                [unit.task for unit, _ in known],
                5,
            )
            for name in seen.criteria
        }
    with clock("certificates"):
        tested = {one.certificate.criterion: one for one in certify_policy(seen, fitted, splits, POLICY)}
        Register(store).put(calibrator, [one.certificate for one in tested.values()])
    print(f"\n{'':<12} {'right':>7} {'ECE':>7} {'AUROC':>7} {'kappa':>7} {'threshold':>10}")
    for name, reliability in measured.items():
        numbers = (reliability.right, reliability.calibration_error, reliability.auroc)
        kappa = agreed[name].kappa.value if name in agreed else None
        threshold = tested[name].certificate.threshold if name in tested else None
        cells = [*(estimate.value for estimate in numbers), kappa]
        shown = " ".join(f"{'-':>7}" if cell is None else f"{cell:7.3f}" for cell in cells)
        print(f"{name:<12} {shown} {'none' if threshold is None else f'{threshold:.3f}':>10}")


def _level(level: int | None) -> int:
    return MISSING if level is None else level


def main() -> int:
    """Measure once, print the parts and the total; 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description="Time a calibration.")
    parser.add_argument("--labels", type=int, default=LABELS, help="of single criteria, five per draft")
    parser.add_argument("--db", type=Path, help="a store that was filled already")
    parser.add_argument("--fill", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    labels: int = asked.labels
    if labels < len(JUDGED):
        parser.error(f"--labels must be at least {len(JUDGED)}: one draft has so many")
    if asked.db is None:
        with tempfile.TemporaryDirectory() as folder:
            # By other processes, so that the memory of this one is that of calibrating alone.
            path = Path(folder) / "bench.duckdb"
            command = [sys.executable, "-m", "evals.bench.calibration", f"--labels={labels}", f"--db={path}"]
            subprocess.run([*command, "--fill"], check=True)
            return subprocess.run(command, check=False).returncode
    with open_store(asked.db) as store:
        if asked.fill:
            with clock("filling the store"):
                fill(store, make_drafts(labels // len(JUDGED)))
                store.flush()
            return 0
        print(f"{labels:,} labels of {labels // len(JUDGED):,} drafts, {len(NAMES)} features, {TASKS} tasks")
        print(f"before: {peak_gigabytes():.2f} GB\n")
        start, used = time.perf_counter(), time.process_time()
        calibrate(store)
        seconds, processor = time.perf_counter() - start, time.process_time() - used
    held = peak_gigabytes()
    print(f"\nin all {seconds:.1f} s of {SECONDS:.0f} s, {processor:.1f} s of CPU")
    print(f"{held:.2f} GB of {GIGABYTES:.0f} GB")
    return int(labels >= LABELS and (seconds > SECONDS or held > GIGABYTES))


if __name__ == "__main__":
    sys.exit(main())
