"""Fitting: what labels of the fit split teach, frozen, and the same when a draft is graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from pipeline.judge.features import NAMES
from pipeline.review.labels import read_labels
from pipeline.routing.fitting import Fitted, estimate, fit, history_of, probabilities_of
from pipeline.routing.observations import Observations, observe
from pipeline.routing.splits import LabelUse, Splits
from pipeline.store import Store
from pipeline.types import GRADE, Calibrator, Inspection, Judgment, Scope, Split
from tests.review.desk_examples import FINGERPRINT, RUBRIC, copy_store
from tests.routing.crowd import POLICY, Draft, add_drafts, add_labels, fill

SCOPE = Scope.of(FINGERPRINT)
ALL_FIT: dict[Split, float] = {"choose": 0, "fit": 1, "certify": 0, "report": 0}


@dataclass(frozen=True)
class Crowd:
    store: Store
    seen: Observations
    fitted: Fitted

    @property
    def calibrator(self) -> Calibrator:
        assert self.fitted.calibrator is not None
        return self.fitted.calibrator


@pytest.fixture(scope="module")
def crowd(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    """A hundred labelled drafts for eight tasks and twenty without labels; tests only read."""
    with copy_store(empty_database, tmp_path_factory.mktemp("crowd")) as store:
        fill(store, 120, labelled=100)
        seen = observe(store, SCOPE, read_labels(store), POLICY)
        yield Crowd(store, seen, fit(seen, Splits(store, ALL_FIT), POLICY))


def test_what_was_right_is_more_probable_than_what_was_wrong(crowd: Crowd) -> None:
    units = crowd.seen.units
    found = probabilities_of(crowd.calibrator, units, GRADE)
    wrong = np.array([int(unit.submission_id[2:]) % 10 == 0 for unit in units])
    assert len(units) == 120
    assert found[wrong].max() < found[~wrong].min()
    assert found[wrong].mean() < 0.5 < 0.9 < found[~wrong].mean()


def test_histories_count_labelled_grades_by_task_and_leave_a_draft_s_own_out_when_fitting(
    crowd: Crowd,
) -> None:
    # Of labels 0..99 ten go to a task in turn, one of them wrong: tasks 0 and 1 have twenty, others ten.
    expected = {f"task-{task:02}": (20, 18) if task < 2 else (10, 9) for task in range(8)}
    assert crowd.calibrator.histories == expected
    assert crowd.calibrator.usual == pytest.approx(0.9)
    (curve,) = [curve for curve in crowd.calibrator.curves if curve.criterion == GRADE]
    # Novelty was 1 / (1 + 19) for 40 drafts and 1 / (1 + 9) for 60.
    assert curve.centres[NAMES.index("novelty")] == pytest.approx((40 / 20 + 60 / 10) / 100)
    history = history_of(crowd.calibrator, "task-00")
    assert (history.labels, history.right, history.usual) == (20, 18, pytest.approx(0.9))
    assert history_of(crowd.calibrator, "another").labels == 0


def test_grading_estimates_what_calibrating_computed(crowd: Crowd) -> None:
    places = {place.grading_id: place for place in crowd.store.drafts.list_places()}
    units = [crowd.seen.units[0], crowd.seen.units[7]]
    found = {name: probabilities_of(crowd.calibrator, units, name) for name in ("clarity", "safety", GRADE)}
    for number, unit in enumerate(units):
        ((_, inspected, judged),) = crowd.store.drafts.read([places[unit.grading_id]])
        drafted = Inspection.model_validate_json(inspected), Judgment.model_validate_json(judged)
        history = history_of(crowd.calibrator, unit.task)
        estimated = estimate(crowd.calibrator, *drafted, RUBRIC, history)
        assert estimated == {name: pytest.approx(row[number]) for name, row in found.items()}
        older = crowd.calibrator.model_copy(update={"features": "features 0"})
        assert estimate(older, *drafted, RUBRIC, history) == {}


def test_the_same_labels_give_the_same_calibrator_and_are_kept_as_used(crowd: Crowd) -> None:
    again = fit(crowd.seen, Splits(crowd.store, ALL_FIT), POLICY)
    assert again.calibrator == crowd.calibrator
    assert Calibrator.model_validate_json(crowd.calibrator.model_dump_json()).content_hash() == (
        crowd.calibrator.content_hash()
    )
    uses = crowd.store.desk.list_records("label_use", LabelUse)
    assert Counter(use.split for use in uses) == {"fit": 1}
    assert crowd.calibrator.constructed is False


def test_a_criterion_that_never_errs_is_as_probable_everywhere(crowd: Crowd) -> None:
    assert "every label says right" in crowd.fitted.reasons["clarity"]
    found = probabilities_of(crowd.calibrator, crowd.seen.units, "clarity")
    # Laplace: (100 + 1) / (100 + 2).
    assert set(found) == {101 / 102}


@pytest.mark.parametrize("labelled", [0, 1, 19])
def test_too_few_labels_make_no_curve_and_say_so(empty_database: Path, tmp_path: Path, labelled: int) -> None:
    with copy_store(empty_database, tmp_path) as store:
        fill(store, 20, labelled=labelled)
        seen = observe(store, SCOPE, read_labels(store), POLICY)
        fitted = fit(seen, Splits(store, ALL_FIT), POLICY)
        assert fitted.calibrator is None
        assert set(fitted.reasons) == {"clarity", "safety", GRADE}
        if labelled:
            assert fitted.reasons[GRADE] == f"too few: {labelled} of at least 20 labels"


@pytest.mark.parametrize("level", [0, 3], ids=["all wrong", "all right"])
def test_a_judge_who_is_always_or_never_right_has_probabilities(
    empty_database: Path, tmp_path: Path, level: int
) -> None:
    drafts = [Draft(f"{number}", task=f"task-{number % 3}") for number in range(30)]
    with copy_store(empty_database, tmp_path) as store:
        add_drafts(store, drafts)
        add_labels(store, [(draft, level, level) for draft in drafts])
        seen = observe(store, SCOPE, read_labels(store), POLICY)
        calibrator = fit(seen, Splits(store, ALL_FIT), POLICY).calibrator
    assert calibrator is not None
    expected = 31 / 32 if level else 1 / 32
    assert set(probabilities_of(calibrator, seen.units, GRADE)) == {expected}
