"""A stage is repeated when something it depends on changed, and only then."""

from __future__ import annotations

import pytest

from pipeline.graph.keys import StageKeys
from pipeline.types import Fingerprint, Grading, Submission

STAGES = ("build", "run", "profile", "inspect", "judge", "assess")
FINGERPRINT = Fingerprint(
    task="t", rubric="r", prompt="p", judge="rules 1", executor="emulator 1", target="trn2", toolchain="0.6",
    numerics="numpy", comparison="comparison 1", checks="c", confidence="scored weight 1", policy="gates 1",
    isolated=True,
)  # fmt: skip
SUBMISSION = Submission(id="s-1", task_id="t", code="import nki")

#: Field of the fingerprint, and the stages that a change of it repeats.
DEPENDENTS = {
    "task": STAGES,
    "executor": STAGES,
    "target": STAGES,
    "toolchain": STAGES,
    "isolated": STAGES,
    "numerics": ("run", "inspect", "judge", "assess"),
    "comparison": ("run", "inspect", "judge", "assess"),
    "checks": ("inspect", "judge", "assess"),
    "rubric": ("judge", "assess"),
    "prompt": ("judge", "assess"),
    "judge": ("judge", "assess"),
    "confidence": ("assess",),
    "policy": (),
}


def keys(fingerprint: Fingerprint, submission: Submission = SUBMISSION) -> dict[str, str]:
    grading = Grading(id="g-1", submission_id=submission.id, fingerprint=fingerprint)
    return StageKeys.derive(grading, submission).as_dict()


def test_every_field_of_the_fingerprint_is_accounted_for() -> None:
    assert DEPENDENTS.keys() == Fingerprint.model_fields.keys()


@pytest.mark.parametrize("field", DEPENDENTS)
def test_a_change_repeats_exactly_the_stages_that_depend_on_it(field: str) -> None:
    value = getattr(FINGERPRINT, field)
    changed = FINGERPRINT.model_copy(
        update={field: not value if isinstance(value, bool) else f"{value} changed"}
    )
    before, after = keys(FINGERPRINT), keys(changed)
    assert tuple(stage for stage in STAGES if before[stage] != after[stage]) == DEPENDENTS[field]


@pytest.mark.parametrize("field", DEPENDENTS)
def test_a_change_of_anything_makes_another_grading(field: str) -> None:
    value = getattr(FINGERPRINT, field)
    changed = FINGERPRINT.model_copy(
        update={field: not value if isinstance(value, bool) else f"{value} changed"}
    )
    assert FINGERPRINT.grading_id("s-1") != changed.grading_id("s-1")


def test_other_code_repeats_everything() -> None:
    other = SUBMISSION.model_copy(update={"code": "import nki  # other", "id": "s-2"})
    before, after = keys(FINGERPRINT), keys(FINGERPRINT, other)
    assert all(before[stage] != after[stage] for stage in STAGES)


def test_stages_never_share_a_key() -> None:
    assert len(set(keys(FINGERPRINT).values())) == len(STAGES)
