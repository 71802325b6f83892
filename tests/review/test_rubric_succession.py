"""A signed change of words carries labels and waiting reviews over; any other change carries nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest

from pipeline.library.errors import LibraryError
from pipeline.library.rubric_revisions import RubricRevision
from pipeline.review.errors import DeskError
from pipeline.review.exchange.answers import Parsed, import_answers
from pipeline.review.exchange.items import collect_items, gather_criteria
from pipeline.review.exchange.subjects import Subjects
from pipeline.review.labels import read_labels
from pipeline.review.progress import Progress
from pipeline.review.rubric_succession import (
    RubricSuccession,
    Successions,
    carry_over,
    find_signature,
    read_successions,
    rubric_root,
    sign_revision,
)
from pipeline.routing.splits import Splits
from pipeline.store import Document, Store, open_store
from pipeline.types import Account, Grading, Review, Rubric, Scope
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import (
    ANNA,
    BEN,
    DORA,
    FINGERPRINT,
    HASH,
    NOON,
    RUBRIC,
    Clock,
    add_graded,
    add_waiting,
    assess,
    commit,
    finish,
)


def reworded(rubric: Rubric, version: str) -> Rubric:
    """Return `rubric` with another question for clarity, as a later version."""
    correct, clarity, safety = rubric.criteria
    clarity = clarity.model_copy(update={"question": f"Is it clear, asks {version}?"})
    return rubric.model_copy(update={"version": version, "criteria": (correct, clarity, safety)})


V2 = reworded(RUBRIC, "v2")
V3 = reworded(RUBRIC, "v3")
HARDER = RUBRIC.model_copy(
    update={"version": "v2", "overall": RUBRIC.overall.model_copy(update={"pass_mark": 0.9})}
)
TO_V2 = RubricRevision(RUBRIC, V2, "editorial")
TO_V3 = RubricRevision(V2, V3, "editorial")


@pytest.fixture(autouse=True)
def _people(store: Store) -> None:
    for account in (ANNA, BEN, DORA):
        store.desk.save_record("account", account.name, account)


def sign(store: Store, revision: RubricRevision, clock: Clock, lead: str = "dora") -> RubricSuccession:
    return sign_revision(store, revision, lead=lead, reason="clearer", clock=clock)


def question(rubric: Rubric) -> str:
    return rubric.criteria[1].question


# The sign-off


def test_a_signed_change_leads_to_the_oldest_version_and_an_unsigned_one_to_itself(
    store: Store, clock: Clock
) -> None:
    assert [rubric_root(store, one.content_hash()) for one in (RUBRIC, V2, V3)] == [
        HASH,
        V2.content_hash(),
        V3.content_hash(),
    ]
    sign(store, TO_V3, clock)
    assert rubric_root(store, V3.content_hash()) == V2.content_hash()
    sign(store, TO_V2, clock)
    assert {rubric_root(store, one.content_hash()) for one in (RUBRIC, V2, V3)} == {HASH}
    assert rubric_root(store, "of no rubric") == "of no rubric"


def test_the_signature_says_who_when_why_and_outlives_the_process(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    sign(store, TO_V2, clock)
    store.close()
    with open_store(tmp_path / "grades.duckdb") as again:
        signed = find_signature(again, TO_V2)
        assert signed is not None
        assert (signed.rubric, signed.after, signed.version) == ("small", "v1", "v2")
        assert (signed.lead, signed.reason, signed.at) == ("dora", "clearer", clock.now)
        assert rubric_root(again, V2.content_hash()) == HASH
        # Both texts are kept whole, whether or not anything was graded by them.
        for rubric in (RUBRIC, V2):
            document = again.find_document(rubric.content_hash())
            assert document is not None
            assert Rubric.model_validate_json(document.text) == rubric


@pytest.mark.parametrize("kind", ["semantic", None])
def test_a_change_that_is_not_said_to_be_editorial_cannot_be_signed(
    store: Store, clock: Clock, kind: str | None
) -> None:
    with pytest.raises(LibraryError, match=r"small v2 .*carries nothing over"):
        sign(store, RubricRevision(RUBRIC, V2, kind), clock)  # type: ignore[arg-type]
    assert len(read_successions(store)) == 0


def test_a_change_that_claims_to_be_editorial_and_is_not_cannot_be_signed(store: Store, clock: Clock) -> None:
    with pytest.raises(LibraryError, match=r"overall\.pass_mark from 0\.6 to 0\.9"):
        sign(store, RubricRevision(RUBRIC, HARDER, "editorial"), clock)
    assert rubric_root(store, HARDER.content_hash()) == HARDER.content_hash()


@pytest.mark.parametrize(
    ("lead", "said"),
    [
        ("nobody", "there is no account 'nobody'"),
        ("anna", "anna is a reviewer; only a lead signs"),
        ("gone", "the account gone is not active"),
        ("", "there is no account ''"),
    ],
)
def test_only_an_active_lead_signs(store: Store, clock: Clock, lead: str, said: str) -> None:
    gone = DORA.model_copy(update={"name": "gone", "active": False})
    store.desk.save_record("account", "gone", gone)
    with pytest.raises(DeskError, match=said):
        sign(store, TO_V2, clock, lead)
    assert rubric_root(store, V2.content_hash()) == V2.content_hash()


def test_of_leads_who_sign_at_the_same_time_one_does(store: Store, clock: Clock) -> None:
    together = Barrier(4)

    def press(number: int) -> RubricSuccession | None:
        together.wait()
        try:
            return sign_revision(store, TO_V2, lead="dora", reason=f"reason {number}", clock=clock)
        except DeskError:
            return None

    with ThreadPoolExecutor(4) as threads:
        signed = [one for one in threads.map(press, range(4)) if one is not None]
    assert signed == [find_signature(store, TO_V2)]


def test_a_second_signature_is_refused_and_the_first_stands_after_its_lead_has_gone(
    store: Store, clock: Clock
) -> None:
    first = sign(store, TO_V2, clock)
    emil = Account(name="emil", role=DORA.role)
    store.desk.save_record("account", "emil", emil)
    store.desk.save_record("account", "dora", DORA.model_copy(update={"active": False}))
    with pytest.raises(DeskError, match="small v2 was signed already, by dora on 2026-12-01 12:00 UTC"):
        sign(store, TO_V2, clock, "emil")
    assert find_signature(store, TO_V2) == first
    assert rubric_root(store, V2.content_hash()) == HASH


def test_records_that_go_round_in_a_circle_end_somewhere() -> None:
    def said(version: str, after: str) -> RubricSuccession:
        return RubricSuccession(
            rubric="r", version=version, after=after, sha256=version, after_sha256=after, lead="x", at=NOON
        )

    circle = Successions([said("a", "b"), said("b", "a")])
    assert circle.root("a") in "ab"
    assert circle.wording("a", NOON) in "ab"


# Labels


def answer_under(store: Store, review_id: str, rubric: Rubric, rater: str, level: int) -> None:
    row = Parsed(
        where="row 1",
        review_id=review_id,
        rater=rater,
        rubric=rubric.content_hash(),
        answers={"clarity": level},
        reasons={},
        seconds=None,
        at=NOON,
    )
    result = import_answers(store, "argilla", [row], imported_by="test", now=NOON)
    assert result.bad == (), result.bad


def test_labels_under_both_words_are_compared_as_one_rubric_s(
    store: Store, clock: Clock, open_desk: OpenDesk
) -> None:
    for name, minute in (("one", 1), ("two", 2)):
        add_waiting(store, name, minute=minute)
    answer_under(store, "r-one", RUBRIC, "x", 3)
    sign(store, TO_V2, clock)
    answer_under(store, "r-two", V2, "x", 1)
    assert {label.rubric for label in read_labels(store)} == {HASH, V2.content_hash()}
    assert {label.rubric for label in carry_over(store, read_labels(store))} == {HASH}
    imported = [row for row in Progress(store).measure(DORA).imported if row.criterion == "clarity"]
    assert [row.rubric for row in imported] == ["small v1"]


def test_answers_under_a_semantic_change_are_still_another_version_s(store: Store, clock: Clock) -> None:
    add_waiting(store, "one")
    sign(store, TO_V2, clock)
    row = Parsed("row 1", "r-one", "x", HARDER.content_hash(), {"clarity": 3}, {}, seconds=None, at=NOON)
    result = import_answers(store, "argilla", [row], imported_by="test", now=NOON)
    assert [bad.reason for bad in result.bad] == [
        "it was answered under another version of the rubric; export the item again"
    ]


def test_items_go_out_in_the_newest_signed_words_under_one_form(store: Store, clock: Clock) -> None:
    add_waiting(store, "one", minute=1)
    sign(store, TO_V2, clock)
    add_again(store, "two", V2)
    items, left_out = collect_items(store)
    assert left_out == []
    assert {item.rubric for item in items} == {V2}
    clarity, _ = gather_criteria(items)
    assert clarity.question == question(V2)


def test_a_label_from_a_file_under_the_old_words_is_of_the_grading_under_the_new(
    store: Store, clock: Clock
) -> None:
    add_again(store, "one", V2)

    def is_current() -> bool:
        return Subjects(store).find(review="r-one-again", grading="", submission="", rubric=HASH).is_current

    assert not is_current()
    sign(store, TO_V2, clock)
    assert is_current()


def test_labels_under_the_old_words_count_for_a_judge_under_the_new_once_signed(
    store: Store, clock: Clock
) -> None:
    add_waiting(store, "one")
    store.save_documents([document(V2), document(HARDER)])
    answer_under(store, "r-one", RUBRIC, "x", 3)
    labels = read_labels(store)
    splits = Splits(store, {"choose": 0, "fit": 0, "certify": 0, "report": 1})

    def used(rubric: Rubric) -> int:
        scope = Scope.of(FINGERPRINT.model_copy(update={"rubric": rubric.content_hash()}))
        return len(splits.use(labels, "report", scope))

    assert (used(RUBRIC), used(V2)) == (1, 0)
    sign(store, TO_V2, clock)
    assert (used(RUBRIC), used(V2), used(HARDER)) == (1, 1, 0)


# Reviews that wait


def document(rubric: Rubric) -> Document:
    return Document(
        kind="rubric",
        id=rubric.id,
        version=rubric.version,
        sha256=rubric.content_hash(),
        text=rubric.model_dump_json(),
    )


def add_again(store: Store, name: str, rubric: Rubric) -> str:
    """Keep a review of a submission that was graded again, by `rubric`, and return its id."""
    if not store.list_gradings_of(f"s-{name}"):
        add_graded(store, name)
    first = f"g-{name}"
    store.save_documents([document(rubric)])
    made = FINGERPRINT.model_copy(update={"rubric": rubric.content_hash()})
    name = f"{name}-again"
    store.save_gradings([Grading(id=f"g-{name}", submission_id=first.replace("g-", "s-"), fingerprint=made)])
    store.link_stages(f"g-{name}", store.list_stages(first))
    review = Review(id=f"r-{name}", grading_id=f"g-{name}", reason="none covers it", opened_at=NOON)
    store.open_review(review)
    return review.id


def test_what_nobody_has_begun_is_shown_in_the_new_words_and_labelled_under_them(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    assert question(desk.rubric_of("r-one")) == question(RUBRIC)
    clock.pass_by(60)
    sign(store, TO_V2, clock)
    desk.refresh()
    assert question(desk.rubric_of("r-one")) == question(V2)
    place = desk.draw(ANNA, key="1")
    assert place is not None
    assert place.item.rubric == V2.content_hash()
    done = desk.commit(
        ANNA, "r-one", 0, place.lease_id, assess(), rubric=V2.content_hash(), seconds=9, key="2"
    )
    finish(desk, ANNA, done)
    clock.pass_by(60)
    assert [decision.review_id for decision in desk.decide_due()] == ["r-one"]
    assert {label.rubric for label in read_labels(store)} == {V2.content_hash()}


def test_what_somebody_has_begun_keeps_its_words_to_the_end_also_for_those_who_come_later(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    clock.pass_by(60)
    sign(store, TO_V2, clock)
    for again in (desk, open_desk()):
        again.refresh()
        assert question(again.rubric_of("r-one")) == question(RUBRIC)
    desk.hand_back(ANNA, "r-one", 0, place.lease_id, reason="", skip=True)
    desk.refresh()
    later = desk.draw(BEN, key="2")
    assert later is not None
    assert later.item.rubric == HASH
    commit(desk, BEN, later)
    assert {label.rubric for label in read_labels(store)} == {HASH}


def test_a_review_begun_in_new_words_keeps_them_when_newer_ones_come_and_the_desk_starts_again(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one", minute=1)
    add_waiting(store, "two", minute=2)
    sign(store, TO_V2, clock)
    clock.pass_by(60)
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    assert place.item.review.id == "r-one"
    clock.pass_by(60)
    sign(store, TO_V3, clock)
    clock.pass_by(60)
    for again in (desk, open_desk()):
        again.refresh()
        assert question(again.rubric_of("r-one")) == question(V2)
        assert question(again.rubric_of("r-two")) == question(V3)


def test_a_form_in_the_old_words_is_taken_where_the_new_ones_mean_the_same(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    sign(store, TO_V2, clock)
    clock.pass_by(60)
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    for wrong in (HARDER.content_hash(), V3.content_hash(), ""):
        with pytest.raises(DeskError) as refusal:
            desk.commit(
                ANNA, "r-one", 0, place.lease_id, assess(), rubric=wrong, seconds=9, key=f"no {wrong}"
            )
        assert refusal.value.code == "stale_rubric"
    commit(desk, ANNA, place)
    assert {label.rubric for label in read_labels(store)} == {HASH}


def test_a_semantic_change_opens_another_review_and_the_old_one_ends_under_its_own_version(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    review_id = add_again(store, "one", HARDER)
    desk.refresh()
    assert desk.rubric_of("r-one").overall.pass_mark == 0.6
    assert desk.rubric_of(review_id).overall.pass_mark == 0.9
    place = desk.draw(ANNA, key="1")
    assert place is not None
    assert place.item.review.id == "r-one"
    commit(desk, ANNA, place)
    assert {label.rubric for label in read_labels(store)} == {HASH}
    assert rubric_root(store, HARDER.content_hash()) != rubric_root(store, HASH)


def test_words_that_were_signed_later_are_no_words_of_then() -> None:
    def said(version: str, after: str, hours: int) -> RubricSuccession:
        at = datetime(2026, 12, 1, hours, tzinfo=UTC)
        return RubricSuccession(
            rubric="r", version=version, after=after, sha256=version, after_sha256=after, lead="x", at=at
        )

    signed = Successions([said("v3", "v2", 9), said("v2", "v1", 6)])
    six = datetime(2026, 12, 1, 6, tzinfo=UTC)
    words = [signed.wording("v1", six + timedelta(hours=hours)) for hours in (-1, 0, 2, 3)]
    assert words == ["v1", "v2", "v2", "v3"]
    assert signed.root("v3") == "v1"
