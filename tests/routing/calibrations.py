"""Calibrators and certificates that tests make up, for drafts under the store examples' fingerprint."""

from __future__ import annotations

from pipeline.types import GRADE, Calibrator, Certificate, Curve, Loss, Scope
from tests.review.desk_examples import FINGERPRINT, NOON

SCOPE = Scope.of(FINGERPRINT)
POLICY = "f" * 64


def make_calibrator(scope: Scope = SCOPE, **changed: object) -> Calibrator:
    curve = Curve(
        criterion=GRADE,
        method="platt",
        features=("level",),
        centres=(0.5,),
        scales=(0.5,),
        weights=(1.0,),
        intercept=0.0,
        ranks=(-1.0, 1.0),
        probabilities=(0.5, 0.9),
        n=50,
    )
    whole: dict[str, object] = {
        "scope": scope,
        "features": "features 1",
        "loss": Loss(),
        "curves": (curve,),
        "labels": "a" * 64,
        "constructed": False,
        "histories": {"matmul_tiled": (50, 40)},
        "usual": 0.8,
        **changed,
    }
    return Calibrator.model_validate(whole)


def make_certificate(calibrator: Calibrator | None = None, **changed: object) -> Certificate:
    whole: dict[str, object] = {
        "scope": calibrator.scope if calibrator else SCOPE,
        "calibrator": calibrator.content_hash() if calibrator else "",
        "policy": POLICY,
        "criterion": GRADE,
        "loss": Loss(),
        "mode": "selective",
        "alpha": 0.1,
        "delta": 0.1,
        "level": 0.05,
        "look": 1,
        "grid": (0.9, 0.7),
        "chains": 2,
        "threshold": 0.9,
        "accepted": 60,
        "errors": 1,
        "bound": 0.08,
        "n": 100,
        "coverage": 0.6,
        "sampling": "random",
        "tasks": ("matmul_tiled",),
        "task_versions": ("c" * 64,),
        "authors": (),
        "labels": "b" * 64,
        "constructed": False,
        "experts_differ": None,
        "experts_pairs": 0,
        "issued_at": NOON,
        "issued_by": "dora",
        "reason": "60 % may stand alone",
        **changed,
    }
    return Certificate.model_validate(whole)
