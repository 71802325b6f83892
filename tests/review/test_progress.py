"""Progress and agreement: figures against counts made by hand."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from pipeline.review.errors import DeskError
from pipeline.review.labels import ImportedAssessment, keep_imported
from pipeline.review.progress import Progress, Report
from pipeline.stats.intervals import wilson_interval
from pipeline.store import Store
from pipeline.types import (
    Account,
    Answer,
    Cause,
    Committed,
    Decision,
    Planted,
    Purpose,
    Reopened,
    Revision,
    Role,
)
from tests.review.desk_examples import ANNA, BEN, CARLA, DORA, HASH, NOON, VERA, Clock
from tests.review.labelled import Teller, add_review, answer


@pytest.fixture
def teller(store: Store) -> Teller:
    return Teller(store)


def measure(store: Store, clock: Clock) -> Report:
    return Progress(store, clock=clock).measure(DORA)


@pytest.mark.parametrize("account", [ANNA, CARLA])
def test_figures_of_everybody_are_not_for_reviewers(store: Store, clock: Clock, account: Account) -> None:
    with pytest.raises(DeskError) as refused:
        Progress(store, clock=clock).measure(account)
    assert refused.value.code == "forbidden"


def test_an_empty_desk_has_figures_that_say_so(store: Store, clock: Clock) -> None:
    report = Progress(store, clock=clock).measure(VERA)
    assert (report.waiting.places, report.waiting.oldest) == (0, None)
    assert report.people == report.judge == report.imported == report.fast == ()
    assert report.pace.blind.reason == "too few: 0 of at least 20"
    assert report.changes.rate.value is None
    assert report.audit.differs.value is None
    assert report.reviewers.lowest is None
    assert report.reviewers.reason


def test_work_is_counted_on_its_day_and_what_was_taken_back_is_not(
    store: Store, clock: Clock, teller: Teller
) -> None:
    for name in ("a", "b", "c"):
        add_review(store, name)
    teller.commit(ANNA, "a", seconds=1200, clarity=3)
    teller.finish(ANNA, "a", seconds=600, clarity=3)
    teller.at = NOON + timedelta(days=1)
    teller.commit(BEN, "b", seconds=1800, clarity=3)
    teller.finish(BEN, "b", clarity=3)
    teller.tell(BEN, "b", Reopened())
    teller.keep()
    clock.now = NOON + timedelta(days=1, hours=1)
    days = measure(store, clock).days
    assert len(days) == 14
    yesterday, today = days[-2:]
    assert (yesterday.committed, yesterday.finished, yesterday.people) == (1, 1, 1)
    assert yesterday.hours == pytest.approx(0.5)
    assert (today.committed, today.finished, today.people) == (1, 0, 1)
    assert today.hours == pytest.approx(0.5)


def test_what_waits_is_counted_by_age(store: Store, clock: Clock, teller: Teller) -> None:
    clock.now = NOON
    ages = {"a": 0.5, "b": 7.9, "c": 8, "d": 23, "e": 80, "decided": 90}
    for name, hours in ages.items():
        add_review(store, name, opened_at=NOON - timedelta(hours=hours))
    # The first review of "a" is made; a second, opened two days ago, waits.
    teller.at = NOON - timedelta(hours=48)
    teller.commit(ANNA, "a", clarity=3)
    teller.open(DORA, "a", 1, Purpose.SECOND)
    teller.keep()
    store.decide(Decision(review_id="r-decided", reviewer="anna", levels={}, decided_at=NOON))
    waiting = measure(store, clock).waiting
    assert waiting.places == 5
    assert waiting.oldest == timedelta(hours=80)
    assert waiting.by_age == (
        ("under 1 hour", 0),
        ("under 8 hours", 1),
        ("under 1 day", 2),
        ("under 3 days", 1),
        ("3 days or more", 1),
    )


def test_the_judge_is_compared_with_blind_levels_of_the_stream_alone(
    store: Store, clock: Clock, teller: Teller
) -> None:
    # 15 equal, 6 where the judge is one level more lenient, 3 where it is two stricter.
    for place in range(24):
        judge, human = (3, 3) if place < 15 else (3, 2) if place < 21 else (1, 3)
        name = f"{place:02}"
        add_review(store, name, clarity=judge)
        teller.commit(ANNA, name, clarity=human, safety=None)
        # What was changed after the reveal, and what is said elsewhere, is no evidence.
        teller.finish(ANNA, name, clarity=judge, safety=None)
        teller.open(DORA, name, 1, Purpose.GOLD)
        teller.commit(BEN, name, 1, clarity=0)
        teller.open(DORA, name, 2, Purpose.NORMING)
        teller.commit(BEN, name, 2, clarity=0)
        teller.open(DORA, name, 3, Purpose.ADJUDICATION)
        teller.commit(CARLA, name, 3, clarity=0)
    teller.keep()
    report = measure(store, clock)
    clarity, safety = report.judge
    assert (clarity.rubric, clarity.criterion) == ("small v1", "clarity")
    figures = clarity.agreement
    assert (figures.n, figures.clusters) == (24, 24)
    assert figures.table[3][3] == 15  # Judge 3, human 3.
    assert figures.table[3][2] == 6
    assert figures.table[1][3] == 3
    assert figures.exact.value == pytest.approx(15 / 24)
    assert figures.adjacent.value == pytest.approx(21 / 24)
    assert figures.difference.value == pytest.approx((6 - 6) / 24)
    assert figures.absolute_error.value == pytest.approx(12 / 24)
    assert figures.exact.interval is not None
    # Nothing of safety could be judged, and the judge gave no level.
    assert (safety.criterion, safety.unjudged, safety.agreement.n) == ("safety", 24, 0)
    assert safety.agreement.kappa.reason == "too few: 0 of at least 20"


def test_a_criterion_that_a_check_settled_is_no_agreement_of_the_judge(
    store: Store, clock: Clock, teller: Teller
) -> None:
    add_review(store, "a", clarity=3)
    teller.commit(ANNA, "a", clarity=3, correct=4)
    teller.keep()
    assert {row.criterion: row.agreement.n for row in measure(store, clock).judge} == {
        "clarity": 1,
        "correct": 0,
    }


def test_people_are_compared_pair_by_pair(store: Store, clock: Clock, teller: Teller) -> None:
    # 20 pairs: 12 equal, 8 one apart; five reviews without a second are left out.
    for place in range(25):
        name = f"{place:02}"
        add_review(store, name, clarity=2)
        teller.commit(ANNA, name, clarity=place % 4)
        if place < 20:
            teller.open(DORA, name, 1, Purpose.SECOND, 0.15)
            teller.commit(BEN, name, 1, clarity=place % 4 + (place >= 12))
    teller.keep()
    report = measure(store, clock)
    (clarity,) = report.people
    assert clarity.agreement.n == 20
    assert clarity.agreement.exact.value == pytest.approx(0.6)
    assert clarity.agreement.adjacent.value == 1.0
    assert report.judge[0].agreement.n == 45
    assert report.judge[0].agreement.clusters == 25
    # One pair of reviewers is nobody's aggregate.
    assert (report.reviewers.pairs, report.reviewers.measured, report.reviewers.median) == (1, 1, None)
    assert "pairs of reviewers" in report.reviewers.reason


def test_pairs_of_reviewers_are_told_as_a_spread_without_names(
    store: Store, clock: Clock, teller: Teller
) -> None:
    people = [Account(name=name, role=Role.REVIEWER) for name in ("p", "q", "r")]
    pairs = [(people[0], people[1], 10), (people[1], people[2], 15), (people[0], people[2], 20)]
    for number, (first, second, equal) in enumerate(pairs):
        for place in range(20):
            name = f"{number}-{place:02}"
            add_review(store, name)
            teller.commit(first, name, clarity=2)
            teller.open(DORA, name, 1, Purpose.SECOND)
            teller.commit(second, name, 1, clarity=2 if place < equal else 3)
    teller.keep()
    spread = measure(store, clock).reviewers
    assert (spread.pairs, spread.measured) == (3, 3)
    assert (spread.lowest, spread.median, spread.highest) == (0.5, 0.75, 1.0)


def test_changes_after_the_reveal_are_counted_by_cause(store: Store, clock: Clock, teller: Teller) -> None:
    # 20 reviews of two answers: 40 answers, 6 changed, 4 of them to the judge's.
    for place in range(20):
        name = f"{place:02}"
        add_review(store, name, clarity=1, safety=1)
        teller.commit(ANNA, name, clarity=3, safety=3)
        revisions: tuple[Revision, ...] = ()
        if place < 4:
            revisions = (Revision(criterion="clarity", before=3, after=1, cause=Cause.MISSED_EVIDENCE),)
        elif place < 6:
            revisions = (Revision(criterion="safety", before=3, after=2, cause=Cause.SLIP),)
        teller.finish(ANNA, name, revisions=revisions, clarity=3, safety=3)
    teller.keep()
    changes = measure(store, clock).changes
    assert (changes.changed, changes.towards_judge) == (6, 4)
    assert changes.by_cause == {Cause.MISSED_EVIDENCE: 4, Cause.SLIP: 2}
    assert (changes.rate.value, changes.rate.n) == (pytest.approx(0.15), 40)
    assert changes.rate.interval == wilson_interval(6, 40)


def test_the_median_time_is_of_reviews_and_not_of_gold_items(
    store: Store, clock: Clock, teller: Teller
) -> None:
    for place in range(21):
        name = f"{place:02}"
        add_review(store, name)
        teller.commit(ANNA, name, seconds=100 + place, clarity=3)
        teller.finish(ANNA, name, seconds=10, clarity=3)
        teller.open(DORA, name, 1, Purpose.GOLD)
        teller.commit(BEN, name, 1, seconds=5000, clarity=3)
    teller.keep()
    pace = measure(store, clock).pace
    assert (pace.blind.value, pace.blind.n) == (110, 21)
    assert pace.final.value == 10


def tell_reviews(store: Store, teller: Teller, account: Account, seconds: float, agreeing: int) -> None:
    """Have somebody make 20 reviews of which so many end with the judge's level."""
    for place in range(20):
        name = f"{account.name}-{place:02}"
        add_review(store, name, clarity=1)
        level = 1 if place < agreeing else 3
        teller.commit(account, name, seconds=seconds + place, clarity=level)
        teller.finish(account, name, clarity=level)


def test_fast_agreement_beyond_the_others_is_a_reason_to_look(
    store: Store, clock: Clock, teller: Teller
) -> None:
    tell_reviews(store, teller, ANNA, 10, 20)
    tell_reviews(store, teller, BEN, 300, 20)
    tell_reviews(store, teller, CARLA, 400, 8)
    teller.keep()
    (found,) = measure(store, clock).fast
    assert found.account == "anna"
    # The fastest quarter of 60 are 15 reviews, all of them Anna's.
    assert (found.share.value, found.others.value) == (0.75, 0.0)


def test_fast_work_that_disagrees_is_no_reason_to_look(store: Store, clock: Clock, teller: Teller) -> None:
    tell_reviews(store, teller, ANNA, 10, 0)
    tell_reviews(store, teller, BEN, 300, 20)
    teller.keep()
    assert measure(store, clock).fast == ()


def test_an_audit_with_one_probability_is_a_plain_rate(store: Store, clock: Clock, teller: Teller) -> None:
    # 25 audits: 4 differ by one level, 2 by two; routed reviews are none of them.
    for place in range(25):
        name = f"{place:02}"
        add_review(store, name, kind="audit", probability=0.05, clarity=2, safety=2)
        teller.commit(ANNA, name, clarity=2, safety=1 if place < 4 else 4 if place < 6 else 2)
    for place in range(25, 50):
        add_review(store, f"{place}", clarity=2)
        teller.commit(ANNA, f"{place}", clarity=0)
    add_review(store, "unknown", kind="audit", clarity=2)
    teller.commit(ANNA, "unknown", clarity=0)
    teller.keep()
    audit = measure(store, clock).audit
    assert (audit.differs.value, audit.differs.n) == (pytest.approx(6 / 25), 25)
    assert audit.differs.interval == wilson_interval(6, 25)
    assert audit.far.value == pytest.approx(2 / 25)
    assert (audit.unequal, audit.left_out) == (False, 1)


def test_an_audit_with_unequal_probabilities_weighs_each_by_its_inverse(
    store: Store, clock: Clock, teller: Teller
) -> None:
    # 10 drawn with 0.1 (weight 10), all wrong; 40 drawn with 0.5 (weight 2), none wrong: 100 of 180.
    for place in range(50):
        name = f"{place:02}"
        add_review(store, name, kind="audit", probability=0.1 if place < 10 else 0.5, clarity=2)
        teller.commit(ANNA, name, clarity=0 if place < 10 else 2)
    teller.keep()
    audit = measure(store, clock).audit
    assert audit.unequal
    assert audit.far.value == pytest.approx(100 / 180)
    # Kish: 180 ** 2 / (10 * 100 + 40 * 4) = 27.9 observations are left, 15 of them wrong.
    assert audit.far.interval == wilson_interval(15, 27)


def test_gold_figures_and_imported_labels_stand_apart(store: Store, clock: Clock, teller: Teller) -> None:
    add_review(store, "a", clarity=2)
    teller.tell(DORA, "a", Planted(levels={"clarity": 3}))
    teller.open(DORA, "a", 1, Purpose.GOLD)
    teller.commit(ANNA, "a", 1, clarity=3)
    teller.keep()
    keep_imported(
        store,
        [
            ImportedAssessment(
                review_id="r-a",
                rater="ada",
                source="argilla",
                answers={"clarity": Answer(level=1)},
                rubric=HASH,
                at=NOON,
                imported_by="dora",
                imported_at=NOON,
            )
        ],
    )
    report = measure(store, clock)
    assert (report.gold.overall.levels, report.gold.overall.exact) == (1, 1)
    assert report.people == report.judge == ()
    assert [row.agreement.n for row in report.imported] == [1]


def test_one_that_is_kept_takes_in_what_is_new(store: Store, clock: Clock, teller: Teller) -> None:
    progress = Progress(store, clock=clock)
    assert progress.measure(DORA).waiting.places == 0
    add_review(store, "a", clarity=2)
    assert progress.measure(DORA).waiting.places == 1
    teller.commit(ANNA, "a", clarity=2)
    teller.keep()
    assert progress.measure(DORA).waiting.places == 0
    assert progress.measure(DORA) == Progress(store, clock=clock).measure(DORA)


def test_a_page_gets_the_last_figures_at_once_and_newer_ones_are_measured_meanwhile(
    store: Store, clock: Clock, teller: Teller
) -> None:
    progress = Progress(store, clock=clock)
    first = progress.recall(DORA)
    add_review(store, "a")
    clock.pass_by(60)
    assert progress.recall(DORA) is first
    clock.pass_by(1)
    assert progress.recall(DORA) is first
    for thread in threading.enumerate():
        if thread.name == "progress":
            thread.join()
    assert progress.recall(DORA).waiting.places == 1
    with pytest.raises(DeskError):
        progress.recall(ANNA)


def test_what_rubrics_should_say_instead_is_listed_by_week_the_newest_first(
    store: Store, clock: Clock, teller: Teller
) -> None:
    def adjudicate(name: str, slot: int, text: str, days_ago: int) -> None:
        teller.at = NOON - timedelta(days=days_ago)
        teller.open(DORA, name, slot, Purpose.ADJUDICATION)
        action = Committed(assessment=answer(clarity=2), rubric=HASH, seconds=60, rubric_change=text)
        teller.tell(CARLA, name, action, slot)

    for name in ("a", "b", "c", "d"):
        add_review(store, name)
    # Noon of the tests is a Monday.
    adjudicate("a", 1, "too long ago", 57)
    adjudicate("b", 1, "Say what a race is.", 8)
    adjudicate("c", 1, "Say what a tail is.", 3)
    adjudicate("d", 1, " ", 2)
    adjudicate("a", 2, "Say what clear is.", 1)
    teller.keep()
    weeks = measure(store, clock).rubric_changes
    assert [(name, [change.text for change in changes]) for name, changes in weeks] == [
        ("2026-W48", ["Say what clear is.", "Say what a tail is."]),
        ("2026-W47", ["Say what a race is."]),
    ]
    assert weeks[1][1][0].review_id == "r-b"
    assert weeks[1][1][0].rubric == "small v1"
