"""A crowd of drafts for the small desk's rubric, with labels from a file, as many as a test wants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.judge.scoring import grade_overall
from pipeline.review.labels import FileLabel, keep_file_labels
from pipeline.store import StageRecord, Store
from pipeline.types import (
    Answer,
    Batch,
    BatchItem,
    CheckReport,
    CheckStatus,
    Costs,
    Fault,
    Fingerprint,
    Grading,
    Inspection,
    Judgment,
    Loss,
    Owner,
    RoutingPolicy,
    Score,
    Submission,
    Verdict,
)
from tests.review.desk_examples import FINGERPRINT, HASH, NOON, RUBRIC

__all__ = ["POLICY", "Draft", "add_drafts", "add_labels", "fill"]

POLICY = RoutingPolicy(
    id="test",
    version="v1",
    title="Test",
    mode="selective",
    alpha=0.1,
    delta=0.1,
    loss=Loss(),
    by="grade",
    looks=(0.5, 0.5),
    calibration_rate=0.2,
    fewest_per_task=5,
    second_review_below=0.5,
    costs=Costs(expert_hour=100, wrong_grade=50),
)


@dataclass(frozen=True)
class Draft:
    """A draft; the grade of levels c and s is (20 + 10 c + 10 s) / 100, and 0.6 passes."""

    name: str
    clarity: int | None = 3
    safety: int | None = 3
    sure: float = 0.9
    task: str = "matmul_tiled"
    origin: str = ""
    author: str = ""
    made: Fingerprint = FINGERPRINT
    grading: str = ""
    verdict: Verdict = Verdict.CORRECT
    sandbox: str = "namespaces"
    correct: CheckStatus = CheckStatus.PASSED
    fault: bool = False
    drafted: bool = True
    code: str = ""

    @property
    def grading_id(self) -> str:
        return self.grading or f"g-{self.name}"


def add_drafts(store: Store, drafts: Iterable[Draft]) -> None:
    """Keep gradings as far as their drafts, one after the other."""
    drafts = list(drafts)
    for draft in drafts:
        store.save_submissions(
            [Submission(id=f"s-{draft.name}", task_id=draft.task, code=draft.code or f"# {draft.name}\n")]
        )
        store.save_gradings(
            [Grading(id=draft.grading_id, submission_id=f"s-{draft.name}", fingerprint=draft.made)]
        )
        report = CheckReport(check="correct", status=draft.correct, reason="as it is")
        inspection = Inspection(verdict=draft.verdict, reports=(report,), sandbox=draft.sandbox)
        scores = [Score(criterion="correct", level=4, source="check:correct", reason="it is")]
        scores += [
            Score(criterion=name, level=level, source="judge", reason="it reads so", confidence=draft.sure)
            for name, level in (("clarity", draft.clarity), ("safety", draft.safety))
        ]
        fault = Fault(owner=Owner.JUDGE, code="garbage", message="no JSON") if draft.fault else None
        judgment = Judgment(
            judge="j 1",
            scores=() if fault else tuple(scores),
            overall=grade_overall(RUBRIC, () if fault else scores, inspection.reports),
            fault=fault,
        )
        outputs = {"inspect": inspection, "judge": judgment} if draft.drafted else {"inspect": inspection}
        keys = {stage: f"{stage} of {draft.grading_id}" for stage in outputs}
        for stage, output in outputs.items():
            record = StageRecord(stage=stage, key=keys[stage], output=output.model_dump_json(), seconds=0.1)
            store.record_stage(record)
        store.link_stages(draft.grading_id, keys)
    items = tuple(
        BatchItem(
            grading_id=draft.grading_id,
            submission_id=f"s-{draft.name}",
            origin=draft.origin,
            author=draft.author,
        )
        for draft in drafts
    )
    store.open_batch(Batch(id=f"b-{drafts[0].name}-{len(drafts)}", opened_at=NOON, items=items))
    store.flush()


def add_labels(
    store: Store,
    said: Iterable[tuple[Draft, int | None, int | None]],
    *,
    rater: str = "anna",
    probability: float | None = 0.2,
    rubric: str = HASH,
    at: datetime = NOON,
) -> None:
    """Keep what a person said of clarity and safety."""
    keep_file_labels(
        store,
        [
            FileLabel(
                grading_id=draft.grading_id,
                submission_id=f"s-{draft.name}",
                task_id=draft.task,
                rubric=rubric,
                criterion=criterion,
                answer=Answer(level=level, reason="" if level is not None else "out of sight"),
                rater=rater,
                probability=probability,
                at=at,
                file="f" * 64,
                imported_by="dora",
                imported_at=at + timedelta(days=1),
            )
            for draft, clarity, safety in said
            for criterion, level in (("clarity", clarity), ("safety", safety))
        ],
    )


def fill(
    store: Store, count: int, *, tasks: int = 8, labelled: int | None = None, probability: float | None = 0.2
) -> list[Draft]:
    """Keep drafts of which every tenth is wrong and says that it is unsure, and labels of the first ones."""
    drafts = [
        Draft(
            f"{number:04}",
            sure=0.3 if number % 10 == 0 else 0.6 + 0.04 * (number % 10),
            task=f"task-{number // 10 % tasks:02}",
            origin=f"model-{number % 3}/{number}.py",
        )
        for number in range(count)
    ]
    add_drafts(store, drafts)
    said = [(draft, 3, 3 if number % 10 else 0) for number, draft in enumerate(drafts)]
    add_labels(store, said[:labelled], probability=probability)
    return drafts
