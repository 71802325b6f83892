"""A small desk: a rubric of three criteria, of which a check settles one, and people to sit at it."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from argon2 import PasswordHasher

from pipeline.library.tasks import load_tasks
from pipeline.review.chances import Secret
from pipeline.review.desk import Desk
from pipeline.review.passwords import Passwords
from pipeline.review.places import Place
from pipeline.store import Document, StageRecord, Store, open_store
from pipeline.types import (
    Account,
    Answer,
    Assessment,
    Batch,
    BatchItem,
    CheckReport,
    CheckStatus,
    Criterion,
    DeskSettings,
    Destination,
    FeedbackItem,
    Grade,
    Grading,
    Inspection,
    Judgment,
    Level,
    Overall,
    OverallGrade,
    Review,
    Role,
    Route,
    Rubric,
    Score,
    Submission,
    Verdict,
)
from tests.store.examples import FINGERPRINT as STORED_FINGERPRINT

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
#: Hashes passwords in no time; what it takes to guess them is no matter here.
QUICK = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
CODE = "first\nsecond\nthird\n"
LEVELS = tuple(Level(level=level, anchor=f"anchor {level}") for level in range(5))


def _criterion(name: str, source: str = "judge", weight: float = 40) -> Criterion:
    return Criterion(
        id=name,
        title=name.capitalize(),
        question=f"How about {name}?",
        weight=weight,
        source=source,
        evidence=("code",),
        levels=LEVELS,
    )


#: With "correct" at level 4 the overall number is (20 + 40 * clarity / 4 + 40 * safety / 4) / 100.
RUBRIC = Rubric(
    id="small",
    version="v1",
    title="Small",
    purpose="tests",
    criteria=(_criterion("correct", "check:correct", 20), _criterion("clarity"), _criterion("safety")),
    overall=Overall(gates=("correct",), pass_mark=0.6, minimum_scored_weight=0.5),
)
HASH = RUBRIC.content_hash()
TASK = load_tasks(Path(__file__).parents[2] / "data" / "tasks")["matmul_tiled"]
OTHER_TASK = load_tasks(Path(__file__).parents[2] / "data" / "tasks")["softmax_rows"]
FINGERPRINT = STORED_FINGERPRINT.model_copy(update={"task": TASK.content_hash(), "rubric": HASH})

ANNA = Account(name="anna", role=Role.REVIEWER)
BEN = Account(name="ben", role=Role.REVIEWER)
EVE = Account(name="eve", role=Role.REVIEWER)
CARLA = Account(name="carla", role=Role.ADJUDICATOR)
DORA = Account(name="dora", role=Role.LEAD)
VERA = Account(name="vera", role=Role.VIEWER)

#: Nothing by chance, so that a test says itself what it draws.
PLAIN = DeskSettings(second_review_rate=0, gold_rate=0, audit_rate=0)


_KEYS = itertools.count()


class Clock:
    """A clock that goes on when told."""

    def __init__(self) -> None:
        self.now = NOON + timedelta(days=1)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def copy_store(empty_database: Path, folder: Path) -> Store:
    path = folder / "grades.duckdb"
    if not path.exists():
        shutil.copy(empty_database, path)
    store = open_store(path)
    # One secret for all runs: what chance decides is the same in each of them.
    store.desk.save_record("secret", "desk", Secret(value="5" * 64))
    store.save_documents(
        [
            Document(
                kind=kind, id=model.id, version="", sha256=model.content_hash(), text=model.model_dump_json()
            )
            for kind, model in (("rubric", RUBRIC), ("task", TASK), ("task", OTHER_TASK))
        ]
    )
    return store


def add_graded(
    store: Store,
    name: str,
    *,
    destination: Destination = Destination.REVIEW,
    task_id: str = TASK.id,
    origin: str = "",
    author: str = "",
    correct: CheckStatus = CheckStatus.PASSED,
) -> None:
    """Keep a grading as far as its route."""
    task = {TASK.id: TASK, OTHER_TASK.id: OTHER_TASK}[task_id]
    fingerprint = FINGERPRINT.model_copy(update={"task": task.content_hash()})
    store.save_submissions([Submission(id=f"s-{name}", task_id=task_id, code=CODE)])
    store.save_gradings([Grading(id=f"g-{name}", submission_id=f"s-{name}", fingerprint=fingerprint)])
    item = BatchItem(
        grading_id=f"g-{name}",
        submission_id=f"s-{name}",
        origin=origin or f"{name}/kernel.py",
        author=author,
    )
    store.open_batch(Batch(id=f"b-{name}", opened_at=NOON, items=(item,), rejections=()))
    inspection = Inspection(
        verdict=Verdict.CORRECT,
        reports=(CheckReport(check="correct", status=correct, reason="all cases agree"),),
        sandbox="namespaces",
    )
    draft = Judgment(
        judge="rules 1",
        scores=(
            Score(criterion="correct", level=4, source="check:correct", reason="all cases agree"),
            Score(criterion="clarity", level=1, source="judge", reason="the judge's secret reason"),
            Score(criterion="safety", level=1, source="judge", reason="the judge's secret reason"),
        ),
        feedback=(FeedbackItem(part="works", text="It runs."),),
        overall=OverallGrade(value=0.4, passed=False, reason="draft", scored_weight=1.0),
    )
    for stage, output in (("inspect", inspection), ("judge", draft)):
        record = StageRecord(stage=stage, key=f"{stage}-{name}", output=output.model_dump_json(), seconds=0.1)
        store.record_stage(record)
    store.link_stages(f"g-{name}", {"inspect": f"inspect-{name}", "judge": f"judge-{name}"})
    route = Route(destination=destination, reason="no certificate covers it", policy="gates 1")
    store.save_route(f"g-{name}", route)


def add_waiting(
    store: Store,
    name: str,
    *,
    minute: int = 0,
    destination: Destination = Destination.REVIEW,
    task_id: str = TASK.id,
    origin: str = "",
    author: str = "",
    correct: CheckStatus = CheckStatus.PASSED,
) -> str:
    """Keep a grading that waits for a person, and return the id of its review."""
    add_graded(
        store,
        name,
        destination=destination,
        task_id=task_id,
        origin=origin,
        author=author,
        correct=correct,
    )
    # Days apart: what chance moves a place by is an hour at most.
    opened_at = NOON - timedelta(days=100) + timedelta(days=minute)
    store.open_review(
        Review(id=f"r-{name}", grading_id=f"g-{name}", reason="no certificate covers it", opened_at=opened_at)
    )
    return f"r-{name}"


def add_accepted(store: Store, name: str) -> None:
    """Keep a grading whose grade stands alone."""
    add_graded(store, name, destination=Destination.ACCEPT)
    store.save_grade(
        Grade(
            grading_id=f"g-{name}",
            verdict=Verdict.CORRECT,
            scores=(),
            overall=OverallGrade(value=0.8, passed=True, reason="gates", scored_weight=1.0),
            feedback=(),
            decided_by="gates",
            released_at=NOON,
        )
    )


def assess(clarity: int | None = 3, safety: int | None = 3, **more: object) -> Assessment:
    answers = {
        name: Answer(level=level, reason="" if level is not None else f"{name} cannot be seen")
        for name, level in (("clarity", clarity), ("safety", safety))
    }
    return Assessment(answers=answers, **more)  # type: ignore[arg-type]


def commit(
    desk: Desk,
    account: Account,
    place: Place,
    blind: Assessment | None = None,
    seconds: float | None = 60,
    **more: object,
) -> Place:
    """Commit a place blind under a key of its own."""
    name, slot = place.item.review.id, place.slot
    return desk.commit(
        account,
        name,
        slot,
        place.lease_id,
        blind or assess(),
        rubric=HASH,
        seconds=seconds,
        key=f"commit {name} {slot}",
        **more,  # type: ignore[arg-type]
    )


def finish(
    desk: Desk,
    account: Account,
    place: Place,
    final: Assessment | None = None,
    revisions: Sequence[object] = (),
    seconds: float | None = 30,
) -> Place:
    """Finish a place under a key of its own."""
    name, slot = place.item.review.id, place.slot
    assert place.submitted is not None
    return desk.finish(
        account,
        name,
        slot,
        final or place.submitted.blind,
        revisions=tuple(revisions),  # type: ignore[arg-type]
        seconds=seconds,
        key=f"finish {name} {slot}",
    )


def review_once(desk: Desk, account: Account, blind: Assessment | None = None) -> Place:
    """Draw the next item, commit it, and finish it unchanged."""
    place = desk.draw(account, key=f"draw {next(_KEYS)}")
    assert place is not None
    return finish(desk, account, commit(desk, account, place, blind))
