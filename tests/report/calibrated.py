"""Made-up calibrations to render: their figures come from our own statistics on made-up drafts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from pipeline.routing.calibration_result import (
    Findings,
    PassTable,
    Savings,
    ScopeCalibration,
    ScopeNames,
    SplitCount,
)
from pipeline.routing.truth import Population, measure_truth
from pipeline.stats.agreement import compare_pairs, proportion
from pipeline.stats.alternative_annotator import compare_with_annotators
from pipeline.stats.drift import start_alarm
from pipeline.stats.label_budget import outlook
from pipeline.stats.reliability import measure_reliability
from pipeline.stats.selective import grid_of
from pipeline.types import GRADE, Certificate, Costs, Loss, RoutingPolicy, Scope

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
ATTACK = '<script>alert("x")</script>\x1b[31m\u202e'
PROMISE = (
    "With 90 % confidence at most 10 % of these grades differ from what your experts would say:"
    " 62 % of drafts may stand alone."
)
REFUSAL = "Nothing may stand alone: 19 labels are too few; about 90 more would help."

POLICY = RoutingPolicy(
    id="standard",
    version="v1",
    title="Accept what is covered",
    mode="selective",
    alpha=0.1,
    delta=0.1,
    loss=Loss(),
    by="grade",
    looks=(0.5, 0.3, 0.2),
    calibration_rate=0.2,
    fewest_per_task=5,
    second_review_below=0.5,
    costs=Costs(expert_hour=120, wrong_grade=60),
)


def scope(judge: str = "rules 1") -> Scope:
    """Return a scope of that judge."""
    parts = dict.fromkeys(Scope.model_fields, "0" * 8)
    return Scope(**parts | {"judge": judge, "rubric": "5b" * 32})


def certificate(*, threshold: float | None, constructed: bool = False, criterion: str = GRADE) -> Certificate:
    """Return a certificate, or a refusal."""
    certified = threshold is not None
    return Certificate(
        scope=scope(),
        calibrator="c" * 64,
        policy=POLICY.content_hash(),
        criterion=criterion,
        loss=Loss(),
        mode="selective",
        alpha=0.1,
        delta=0.1,
        level=0.05,
        look=1,
        grid=(0.95, 0.8, 0.6),
        chains=2,
        threshold=threshold,
        accepted=130 if certified else 0,
        errors=5 if certified else 0,
        bound=0.0789 if certified else None,
        n=210 if certified else 19,
        coverage=0.62 if certified else None,
        sampling="random",
        tasks=("matmul_tiled", "softmax_rows"),
        authors=(),
        labels="d" * 64,
        constructed=constructed,
        experts_differ=0.04,
        experts_pairs=60,
        issued_at=NOON,
        issued_by="lena",
        reason=PROMISE if certified else REFUSAL,
    )


def findings(
    n: int, *, criterion: str = GRADE, title: str = "The grade", issued: Certificate | None, seed: int = 3
) -> Findings:
    """Return what is measured on `n` made-up drafts of twelve tasks whose probabilities nearly hold."""
    generator = np.random.default_rng(seed)
    sure = generator.beta(6, 1.4, n).round(3)
    right = (generator.random(n) < sure**1.2).astype(int)
    tasks = [f"task {number}" for number in generator.integers(0, 12, n)]
    size = 2 if criterion == GRADE else 5
    people = generator.integers(0, size, n)
    judge = np.where(right == 1, people, (people + 1) % size)
    second = np.where(generator.random(n) < 0.9, people, (people + 1) % size)
    pairs = compare_pairs(judge.tolist(), people.tolist(), tasks, size)
    raters = np.stack([people, second], axis=1) if n else np.empty((0, 2), dtype=int)
    return Findings(
        criterion=criterion,
        title=title,
        curve=f"isotonic, fitted on {4 * n} labels",
        reliability=measure_reliability(sure, right, tasks),
        judge=pairs,
        people=compare_pairs(second.tolist(), people.tolist(), tasks, size),
        annotators=compare_with_annotators(judge, raters),
        passes=PassTable(
            proportion(int(((judge == 1) & (people == 1)).sum()), int((people == 1).sum())),
            proportion(int(((judge == 0) & (people == 0)).sum()), int((people == 0).sum())),
        )
        if criterion == GRADE
        else None,
        certificate=issued,
        outlooks=outlook(sure, 1 - right, sure, grid_of(sure), alpha=0.1, level=0.05, draws=200) if n else (),
        budget="200 more labels to certify would let 71 % stand alone." if n else "there is nothing to go by",
    )


def calibration(
    n: int = 200,
    *,
    certified: bool = True,
    constructed: bool = False,
    dry_run: bool = False,
    hostile: bool = False,
    judge: str = "rules 1",
) -> ScopeCalibration:
    """Return a calibration whose report split holds `n` drafts."""
    issued = None if dry_run else certificate(threshold=0.8 if certified else None, constructed=constructed)
    return ScopeCalibration(
        scope=scope(judge),
        names=ScopeNames(
            judge=ATTACK if hostile else judge,
            rubric="performance_quality v1",
            prompt=ATTACK if hostile else "grade_kernel v2",
            runs_on="emulator 6, trn2, NKI 0.6",
        ),
        policy=POLICY,
        constructed=constructed,
        dry_run=dry_run,
        drafts=1450,
        labelled=7 * n,
        tasks=12 if n else 0,
        raters=4 if n else 0,
        unjudged=3,
        left_out={ATTACK if hostile else "settled by facts": 64},
        splits={
            "choose": SplitCount(n // 2, n),
            "fit": SplitCount(2 * n, 4 * n),
            "certify": SplitCount(2 * n, 4 * n),
            "report": SplitCount(n, 2 * n),
        },
        calibrator=None,
        findings=(
            findings(n, issued=issued),
            findings(n, criterion="judgement", title=ATTACK if hostile else "Judgement", issued=None, seed=5),
        ),
        truth=measure_truth(Population((), {}, 0)),
        alarm=start_alarm(0.1, 0.1),
        savings=Savings(
            accepted=62,
            timed=140,
            minutes=11.5,
            saved=1426,
            wrong=4.9,
            cost=294,
            sentence="Of 100 drafts 62 stand alone.",
        )
        if certified and not dry_run
        else None,
        notes=(ATTACK,) if hostile else (),
        taken_back=False,
        verdict=ATTACK if hostile else PROMISE if certified else REFUSAL,
        summary=ATTACK if hostile else "What it says in one paragraph.",
    )


def two_scopes() -> tuple[ScopeCalibration, ScopeCalibration]:
    """Return one that certifies and one with too few labels for any number."""
    return calibration(), replace(calibration(19, certified=False, judge="language m 2"), raters=1)
