"""True quality and drift from a store: a small desk whose reviews and audits are told as events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.routing.drift import Window, compare_windows, read_window, watch_audits
from pipeline.routing.truth import Population, measure_truth, read_population
from pipeline.store import StageRecord, Store
from pipeline.types import (
    CheckStatus,
    Confidence,
    Destination,
    Grade,
    Judgment,
    Loss,
    OverallGrade,
    Purpose,
    Review,
    Score,
    Verdict,
)
from tests.review.desk_examples import ANNA, BEN, NOON, add_graded, copy_store
from tests.review.labelled import Teller

LOSS = Loss()


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    with copy_store(empty_database, tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def filled(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that tests only read."""
    with copy_store(empty_database, tmp_path_factory.mktemp("filled")) as opened:
        fill(opened)
        yield opened


def add(
    store: Store, name: str, *, accepted: bool, probability: float | None = None, reviewed: bool = True
) -> None:
    """Keep a grading that the judge drafts at level 3 twice, 0.8 and a pass, and perhaps a review of it."""
    add_graded(store, name, destination=Destination.ACCEPT if accepted else Destination.REVIEW)
    draft = Judgment(
        judge="j 1",
        scores=(
            Score(criterion="correct", level=4, source="check:correct", reason="all cases agree"),
            Score(criterion="clarity", level=3, source="judge", reason="it reads so"),
            Score(criterion="safety", level=3, source="judge", reason="it reads so"),
        ),
        overall=OverallGrade(value=0.8, passed=True, reason="draft", scored_weight=1.0),
    )
    outputs = {"judge": draft, "assess": Confidence(value=0.5, reason="half")}
    for stage, output in outputs.items():
        store.record_stage(
            StageRecord(
                stage=stage,
                key=f"{stage}-of-{name}",
                output=output.model_dump_json(),
                seconds=0.1,
                scores=draft.scores if stage == "judge" else (),
            )
        )
    store.link_stages(f"g-{name}", {stage: f"{stage}-of-{name}" for stage in outputs})
    if accepted:
        store.save_grade(
            Grade(
                grading_id=f"g-{name}",
                verdict=Verdict.CORRECT,
                scores=draft.scores,
                overall=draft.overall,
                feedback=(),
                decided_by="certificate",
                released_at=NOON,
            )
        )
    if reviewed:
        store.open_review(
            Review(
                id=f"r-{name}",
                grading_id=f"g-{name}",
                reason="it needs a person",
                opened_at=NOON,
                kind="audit" if accepted else "route",
                probability=probability,
            )
        )


def fill(store: Store) -> None:
    """Keep 20 that went to people and 80 that stand alone, of which chance drew 40 for audits.

    People give (3, 3), 0.8, to half of the former and (1, 1), 0.4, to the other half; of the audited ones
    ten get (1, 3), 0.6: a pass still, yet two levels apart.
    """
    teller = Teller(store)
    for number in range(20):
        add(store, f"p{number:02}", accepted=False)
        level = 3 if number < 10 else 1
        teller.commit(ANNA, f"p{number:02}", clarity=level, safety=level)
    for number in range(80):
        name = f"a{number:02}"
        add(store, name, accepted=True, probability=0.5, reviewed=number < 40)
        if number < 40:
            teller.at = NOON + timedelta(minutes=number)
            teller.commit(BEN, name, clarity=1 if number < 10 else 3, safety=3)
    teller.keep()
    store.flush()


def test_true_means_by_hand(filled: Store) -> None:
    population = read_population(filled, LOSS)
    assert len(population.judged) == 100
    assert population.left_out == {}
    truth = measure_truth(population)
    # 0.2 * 0.6 + 0.8 * (0.8 - 10 / 40 * 0.2) = 0.72; everything that stands alone passes, half of the rest.
    assert truth.quality.estimate.value == pytest.approx(0.72)
    assert truth.quality.estimate.n == 60
    assert truth.passed.estimate.value == pytest.approx(0.2 * 0.5 + 0.8)
    # The draft is constant, so predictions add nothing: the labels' mean.
    assert truth.accepted_quality.estimate.value == pytest.approx(0.75)
    assert truth.accepted_wrong.estimate.value == pytest.approx(0.25)
    assert truth.accepted_wrong.estimate.interval is not None
    # Wilson's interval of 10 in 40.
    assert truth.accepted_wrong.estimate.interval.low == pytest.approx(0.1419, abs=1e-4)
    assert truth.accepted_wrong.sentence == (
        "The share of wrong grades among what stands alone is 0.250, with 95 % confidence 0.142 to 0.402"
        " (40 of 80 audited)."
    )
    assert "20 went to people, 0 of them not labelled; 80 stand alone" in truth.quality.sentence


def test_a_wider_loss_forgives_two_levels(filled: Store) -> None:
    truth = measure_truth(read_population(filled, Loss(apart=3)))
    assert truth.accepted_wrong.estimate.value == 0.0


def test_the_alarm_follows_audits_in_the_order_of_labels(filled: Store) -> None:
    population = read_population(filled, LOSS)
    alarm = watch_audits(population.judged, alpha=0.05, delta=0.05)
    assert (alarm.n, alarm.errors) == (40, 10)
    # The ten wrong ones were labelled first, and three in a row are enough.
    assert alarm.raised_at == 3
    assert alarm == watch_audits(population.judged[::-1], alpha=0.05, delta=0.05)


def test_a_second_reviewer_and_an_audit_by_rule_count_for_nothing(store: Store) -> None:
    teller = Teller(store)
    add(store, "chosen", accepted=True, probability=None)
    teller.open(ANNA, "chosen", 0, Purpose.FIRST)
    teller.commit(ANNA, "chosen", clarity=1, safety=1)
    teller.open(BEN, "chosen", 1, Purpose.SECOND)
    teller.commit(BEN, "chosen", 1, clarity=4, safety=4)
    teller.keep()
    (one,) = read_population(store, LOSS).judged
    assert one.true_value == pytest.approx(0.4)
    assert (one.wrong, one.probability) == (True, None)
    assert watch_audits([one], alpha=0.05, delta=0.05).n == 0
    truth = measure_truth(Population((one,), {}, 0))
    assert truth.accepted_wrong.estimate.reason == "too few: 0 of at least 20"


def test_what_cannot_be_judged_is_no_label(store: Store) -> None:
    teller = Teller(store)
    add(store, "dark", accepted=False)
    teller.commit(ANNA, "dark", clarity=None, safety=None)
    teller.keep()
    population = read_population(store, LOSS)
    assert population.unjudged == 1
    assert population.judged[0].true_value is None


def test_what_no_judge_drafted_is_counted_apart(store: Store) -> None:
    add_graded(store, "closed", destination=Destination.ACCEPT, correct=CheckStatus.FAILED)
    add_graded(store, "held", destination=Destination.HOLD)
    store.flush()
    population = read_population(store, LOSS)
    assert population.judged == ()
    assert population.left_out == {"no level was drafted by a judge": 1, "not graded yet": 1}


def test_an_empty_store_says_that_nobody_can_say(store: Store) -> None:
    truth = measure_truth(read_population(store, LOSS))
    for figure in (truth.quality, truth.passed, truth.accepted_quality, truth.accepted_wrong):
        assert figure.estimate.value is None
        assert figure.sentence.startswith("Nobody can say")
    assert watch_audits([], alpha=0.05, delta=0.05).n == 0


def test_unequal_draws_are_weighted(store: Store) -> None:
    teller = Teller(store)
    for number in range(40):
        # Twenty drawn with a half and right stand for forty, twenty with an eighth and wrong for 160.
        add(store, f"u{number:02}", accepted=True, probability=0.5 if number < 20 else 0.125)
        teller.commit(ANNA, f"u{number:02}", clarity=3, safety=3 if number < 20 else 0)
    teller.keep()
    truth = measure_truth(read_population(store, LOSS))
    assert truth.accepted_wrong.estimate.value == pytest.approx(0.8)
    # (3, 0) is 0.2 + 0.3 = 0.5.
    assert truth.accepted_quality.estimate.value == pytest.approx(0.2 * 0.8 + 0.8 * 0.5)


def test_a_window_is_what_its_batches_hold(filled: Store) -> None:
    window = read_window(filled, [f"b-p{number:02}" for number in range(20)] + ["b-a00", "b-a00"])
    assert window.confidences == (0.5,) * 21
    assert window.levels["clarity"] == (0, 0, 0, 21, 0)
    assert (window.routed, window.escalated) == (21, 20)


def test_windows_that_differ_are_called_changed() -> None:
    before = Window((0.9,) * 50, {"clarity": (0, 0, 0, 25, 25)}, 50, 10)
    after = Window((0.5,) * 50, {"clarity": (0, 0, 25, 25, 0)}, 50, 12)
    confidence, escalated, levels = compare_windows(before, after)
    assert (confidence.changed, escalated.changed, levels.changed) == (True, False, True)
    assert levels.stability is not None
    assert levels.stability > 1
    same = compare_windows(before, before)
    assert not any(change.changed for change in same)


def test_empty_windows_change_nothing_and_say_why() -> None:
    nothing = Window((), {}, 0, 0)
    for change in compare_windows(nothing, nothing):
        assert (change.changed, change.adjusted) == (False, None)
        assert "too few" in change.test.reason
