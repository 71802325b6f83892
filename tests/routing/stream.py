"""A stream of drafts that experts labelled: how often the judge is wrong follows from how sure it seems."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from pipeline.judge.scoring import grade_overall
from pipeline.review.labels import FileLabel, keep_file_labels
from pipeline.store import StageRecord, Store
from pipeline.types import (
    Answer,
    Batch,
    BatchItem,
    CheckReport,
    CheckStatus,
    Destination,
    Fingerprint,
    Grading,
    Inspection,
    Judgment,
    Purpose,
    Review,
    Route,
    Score,
    Submission,
    Verdict,
)
from tests.review.desk_examples import ANNA, BEN, EVE, FINGERPRINT, HASH, NOON, RUBRIC
from tests.review.labelled import Teller

#: Of clarity and safety: 0.9, 0.7 and 0.4, a fail.
_LEVELS = ((3, 4), (2, 3), (1, 1))
TASKS = tuple(f"task_{number}" for number in range(8))


def fill_stream(
    store: Store,
    drafts: int,
    labelled: int,
    *,
    twice: int = 24,
    raters: int = 2,
    fingerprint: Fingerprint = FINGERPRINT,
    worst: float = 0.5,
    doubtful: float = 0.3,
    calibration: float | None = 0.5,
    seconds: float = 600,
    experts_err: float = 0.02,
    seed: int = 1,
) -> None:
    """Keep drafts, of which the first `labelled` somebody labelled.

    Args:
        store: With the small desk's documents.
        drafts: How many.
        labelled: How many of these are labelled.
        twice: How many of these at the desk, by two people; the others come from a file.
        raters: How many people give first labels, 1 or 2.
        fingerprint: How they are made.
        worst: Chance that a draft is wrong that the judge doubts.
        doubtful: How much doubt that is, 0..1; what it doubts less is right.
        calibration: With which chance they were drawn; None where nobody drew them.
        seconds: Of each assessment at the desk.
        experts_err: How often a second expert is two levels off the first.
        seed: Of all of it.
    """
    generator = np.random.default_rng(seed)
    teller = Teller(store)
    passed = CheckReport(check="correct", status=CheckStatus.PASSED, reason="all cases agree")
    inspection = Inspection(verdict=Verdict.CORRECT, reports=(passed,), sandbox="namespaces")
    submissions, gradings, items, labels = [], [], [], []
    for number in range(drafts):
        name = f"{seed}-{number:05}"
        doubt = float(generator.beta(0.8, 3))
        levels = dict(zip(("clarity", "safety"), _LEVELS[number % len(_LEVELS)], strict=True))
        scores = (
            Score(criterion="correct", level=4, source="check:correct", reason="all cases agree"),
            *(
                Score(
                    criterion=criterion,
                    level=level,
                    source="judge",
                    reason="it reads so",
                    confidence=round(1 - doubt, 3),
                )
                for criterion, level in levels.items()
            ),
        )
        draft = Judgment(
            judge="j 1", scores=scores, overall=grade_overall(RUBRIC, scores, inspection.reports)
        )
        task = TASKS[number % len(TASKS)]
        submission = Submission(id=f"s-{name}", task_id=task, code=f"x = {number}\n")
        submissions.append(submission)
        gradings.append(Grading(id=f"g-{name}", submission_id=submission.id, fingerprint=fingerprint))
        items.append(BatchItem(grading_id=f"g-{name}", submission_id=submission.id, origin=f"in/{name}.py"))
        for stage, output in (("inspect", inspection), ("judge", draft)):
            store.record_stage(
                StageRecord(
                    stage=stage,
                    key=f"{stage}-{name}",
                    output=output.model_dump_json(),
                    seconds=0.1,
                    scores=scores if stage == "judge" else (),
                )
            )
        store.link_stages(f"g-{name}", {"inspect": f"inspect-{name}", "judge": f"judge-{name}"})
        store.save_route(
            f"g-{name}",
            Route(destination=Destination.REVIEW, reason="no certificate covers it", policy="gates 2"),
        )
        store.open_review(
            Review(
                id=f"r-{name}",
                grading_id=f"g-{name}",
                reason="no certificate covers it",
                opened_at=NOON,
                calibration=calibration,
            )
        )
        wrong = generator.random() < worst and doubt >= doubtful
        said = levels | ({"clarity": (levels["clarity"] + 2) % 4} if wrong else {})
        at = NOON + timedelta(seconds=number)
        if number < min(twice, labelled):
            # The desk keeps every event for good, which takes its time: few of these.
            teller.at = at
            off = generator.random() < experts_err
            again = said | ({"safety": (said["safety"] + 2) % 4} if off else {})
            teller.commit((ANNA, BEN)[number % raters], name, seconds=seconds, **said)
            teller.open(EVE, name, 1, Purpose.SECOND, 0.25)
            teller.commit(EVE, name, 1, **again)
        elif number < labelled:
            labels += [
                FileLabel(
                    grading_id=f"g-{name}",
                    submission_id=submission.id,
                    task_id=task,
                    rubric=HASH,
                    criterion=criterion,
                    answer=Answer(level=level),
                    rater=("anna", "ben")[number % raters],
                    probability=calibration,
                    at=at,
                    file="0" * 64,
                    imported_by="dora",
                    imported_at=NOON,
                )
                for criterion, level in said.items()
            ]
    store.save_submissions(submissions)
    store.save_gradings(gradings)
    store.open_batch(Batch(id=f"b-{seed}", opened_at=NOON, items=tuple(items), rejections=()))
    teller.keep()
    keep_file_labels(store, labels)
