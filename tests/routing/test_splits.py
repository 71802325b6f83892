"""Splits: what was used to choose or to fit never certifies, however one tries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.errors import GraderError
from pipeline.library.rubric_revisions import RubricRevision
from pipeline.review.chances import Secret
from pipeline.review.labels import Label
from pipeline.review.rubric_succession import sign_revision
from pipeline.routing.splits import Assignment, LabelUse, Splits, hash_labels
from pipeline.store import Document, Store
from pipeline.types import Grading, Purpose, Scope, Split, Submission, hash_text
from tests.review.desk_examples import DORA, FINGERPRINT, HASH, NOON, RUBRIC, TASK, copy_store

COUNT = 400
SCOPE = Scope.of(FINGERPRINT)
OTHER_JUDGE = SCOPE.model_copy(update={"judge": "another"})
SPLITS: tuple[Split, ...] = ("choose", "fit", "certify", "report")


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    with copy_store(empty_database, tmp_path) as opened:
        add(opened, range(COUNT))
        yield opened


def add(store: Store, numbers: range, code: str = "") -> None:
    store.save_submissions(
        [Submission(id=f"s-{n}", task_id=TASK.id, code=code or f"kernel {n}\n") for n in numbers]
    )
    store.save_gradings(
        [Grading(id=f"g-{n}", submission_id=f"s-{n}", fingerprint=FINGERPRINT) for n in numbers]
    )
    store.flush()


def label(number: int, **changed: object) -> Label:
    return Label.model_validate(
        {
            "review_id": f"r-{number}",
            "slot": 0,
            "grading_id": f"g-{number}",
            "submission_id": f"s-{number}",
            "task_id": TASK.id,
            "rubric": HASH,
            "criterion": "clarity",
            "state": "judged",
            "level": 3,
            "reason": "",
            "rater": "anna",
            "source": "desk",
            "purpose": Purpose.FIRST,
            "sampling": "route",
            "probability": None,
            "calibration": 0.1,
            "seconds": 60,
            "at": NOON,
            **changed,
        }
    )


LABELS = [label(number) for number in range(COUNT)]


def numbers(labels: list[Label]) -> set[str]:
    return {used.submission_id for used in labels}


def code_of(error: pytest.ExceptionInfo[GraderError]) -> str:
    assert "\n" not in error.value.fault.message
    return error.value.fault.code


def test_every_label_is_for_one_use(store: Store) -> None:
    used = [Splits(store).use(LABELS, split, SCOPE) for split in SPLITS]
    assert sum(map(len, used)) == COUNT
    assert set().union(*map(numbers, used)) == numbers(LABELS)
    # Of 400: 40, 160, 140, 60, each within four standard deviations sqrt(n p (1 - p)) of a binomial.
    for got, share in zip(map(len, used), (0.10, 0.40, 0.35, 0.15), strict=True):
        assert abs(got - COUNT * share) <= 4 * (COUNT * share * (1 - share)) ** 0.5


def test_a_submission_stays_where_it_is_whatever_comes_after(store: Store) -> None:
    first = Splits(store).assign(numbers(LABELS[:200]), HASH)
    store.desk.save_record("secret", "desk", Secret(value="7" * 64))
    shares: dict[Split, float] = {"choose": 0, "fit": 0, "certify": 1, "report": 0}
    again = Splits(store, shares).assign(numbers(LABELS), HASH)
    assert {name: again[name] for name in first} == first
    assert {split for name, split in again.items() if name not in first} == {"certify"}


def test_the_same_secret_assigns_the_same_in_any_order(
    store: Store, empty_database: Path, tmp_path: Path
) -> None:
    first = Splits(store).assign(numbers(LABELS), HASH)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with copy_store(empty_database, folder) as elsewhere:
        add(elsewhere, range(COUNT))
        splits = Splits(elsewhere)
        for number in reversed(range(COUNT)):
            if number % 50 == 0:
                splits.assign([f"s-{number}"], HASH)
        assert splits.assign(numbers(LABELS), HASH) == first


@pytest.mark.parametrize(
    "shares",
    [
        {"choose": 0.5, "fit": 0.5},
        {"choose": 0.5, "fit": 0.5, "certify": 0.5, "report": 0.5},
        {"choose": -0.5, "fit": 0.5, "certify": 0.5, "report": 0.5},
    ],
)
def test_shares_that_are_none_are_refused(store: Store, shares: dict[Split, float]) -> None:
    with pytest.raises(ValueError, match="no shares"):
        Splits(store, shares)


def test_another_judge_or_version_of_the_rubric_gives_no_other_split(store: Store) -> None:
    newer = RUBRIC.model_copy(update={"version": "v2"})
    sha256 = newer.content_hash()
    text = newer.model_dump_json()
    store.save_documents([Document(kind="rubric", id="small", version="v2", sha256=sha256, text=text)])
    splits = Splits(store)
    fitted = splits.use(LABELS, "fit", SCOPE)
    assert numbers(splits.use(LABELS, "fit", OTHER_JUDGE)) == numbers(fitted)
    relabelled = [given.model_copy(update={"rubric": sha256}) for given in LABELS]
    under_newer = SCOPE.model_copy(update={"rubric": sha256})
    assert numbers(splits.use(relabelled, "fit", under_newer)) == numbers(fitted)
    assert not numbers(splits.use(relabelled, "certify", under_newer)) & numbers(fitted)


def certifying(splits: Splits) -> list[Label]:
    assigned = splits.assign(numbers(LABELS), HASH)
    return [given for given in LABELS if assigned[given.submission_id] == "certify"]


@pytest.mark.parametrize("used_for", ["choose", "fit"])
def test_labels_that_fitted_or_chose_anything_certify_nothing(store: Store, used_for: Split) -> None:
    splits = Splits(store)
    spent = certifying(splits)[0]
    splits.mark_used([spent], used_for, OTHER_JUDGE)
    with pytest.raises(GraderError, match=spent.submission_id) as error:
        splits.use(LABELS, "certify", SCOPE)
    assert code_of(error) == "labels_used"
    assert splits.count_looks(SCOPE) == 0


def test_an_overwritten_assignment_does_not_launder_what_was_fitted_on(store: Store) -> None:
    splits = Splits(store)
    fitted = splits.use(LABELS, "fit", SCOPE)
    (record,) = [
        kept
        for kept in store.desk.list_records("label_split", Assignment)
        if kept.submission_id == fitted[0].submission_id
    ]
    moved = record.model_copy(update={"split": "certify"})
    store.desk.save_record("label_split", hash_text("small", moved.submission_id), moved)
    with pytest.raises(GraderError) as error:
        Splits(store).use(LABELS, "certify", SCOPE)
    assert code_of(error) == "labels_used"


def test_another_expert_or_criterion_does_not_make_a_used_submission_fresh(store: Store) -> None:
    splits = Splits(store)
    fitted = splits.use(LABELS, "fit", SCOPE)
    others = [
        given.model_copy(update={"rater": "ben", "criterion": "safety", "purpose": Purpose.SECOND})
        for given in fitted
    ]
    assert splits.use(others, "certify", SCOPE) == []
    assert splits.count_looks(SCOPE) == 0


def test_a_label_moved_to_another_submission_is_found_out(store: Store) -> None:
    splits = Splits(store)
    fitted, fresh = splits.use(LABELS, "fit", SCOPE)[0], certifying(splits)[0]
    moved = fitted.model_copy(update={"submission_id": fresh.submission_id})
    with pytest.raises(GraderError) as error:
        splits.use([moved], "certify", SCOPE)
    assert code_of(error) == "wrong_labels"


def test_code_handed_in_again_is_in_the_split_it_was_in(store: Store) -> None:
    add(store, range(1000, 1050), code="the same\n")
    splits = Splits(store)
    assert len(set(splits.assign([f"s-{n}" for n in range(1000, 1050)], HASH).values())) == 1


def test_labels_under_another_rubric_or_of_lost_submissions_are_left_out(store: Store) -> None:
    splits = Splits(store)
    fresh = certifying(splits)
    odd = [
        fresh[0].model_copy(update={"rubric": "0" * 64}),
        fresh[1].model_copy(update={"submission_id": "", "grading_id": ""}),
    ]
    assert splits.use([*odd, *fresh[2:]], "certify", SCOPE) == fresh[2:]


def test_an_unknown_rubric_is_a_sentence(store: Store) -> None:
    with pytest.raises(GraderError, match="is not in the store") as error:
        Splits(store).use(LABELS, "fit", SCOPE.model_copy(update={"rubric": "0" * 64}))
    assert code_of(error) == "unknown_rubric"


def test_every_look_is_counted_and_the_very_same_test_once(store: Store) -> None:
    moments = iter(NOON + timedelta(hours=hour) for hour in range(10_000))
    splits = Splits(store, clock=lambda: next(moments))
    splits.use(LABELS, "fit", SCOPE)
    assert splits.count_looks(SCOPE) == 0
    splits.use(LABELS, "certify", SCOPE)
    splits.use(LABELS, "certify", SCOPE)
    assert splits.count_looks(SCOPE) == 2
    for _ in range(2):
        splits.use(LABELS, "certify", SCOPE, test="alpha 0.05")
    assert splits.count_looks(SCOPE) == 3
    splits.use(LABELS, "certify", SCOPE, test="alpha 0.10")
    splits.use(LABELS[:-1], "certify", SCOPE, test="alpha 0.10")
    assert Splits(store).count_looks(SCOPE) >= 4
    assert splits.count_looks(OTHER_JUDGE) == 0


def test_a_look_that_was_taken_keeps_its_number(store: Store) -> None:
    splits = Splits(store)
    mine = certifying(splits)
    numbers_of = [
        splits.place_look(given, SCOPE, test=test).number
        for given, test in ((mine, "a"), (mine, "b"), (mine[1:], "a"), (mine, "a"), (mine, "b"))
        if splits.use(given, "certify", SCOPE, test=test)
    ]
    assert numbers_of == [1, 2, 3, 1, 2]
    assert splits.place_look(mine, SCOPE, test="c").number == 4
    assert splits.place_look(mine, OTHER_JUDGE, test="a").number == 1


def test_what_a_look_took_of_delta_is_kept_and_adds_up(store: Store) -> None:
    splits = Splits(store, clock=lambda: NOON)
    mine = certifying(splits)
    splits.use(mine, "certify", SCOPE, test="a", share=0.5)
    splits.use(mine, "certify", SCOPE, test="b", share=0.25)
    # Both at the same instant: one comes first all the same, and which does not change.
    assert sorted(splits.place_look(mine, SCOPE, test=test).number for test in "ab") == [1, 2]
    assert splits.place_look(mine, SCOPE, test="c") == (3, 0.75)


def test_looks_under_a_rubric_count_for_the_one_that_it_is_signed_to_mean(store: Store) -> None:
    newer = RUBRIC.model_copy(update={"version": "v2"})
    sha256 = newer.content_hash()
    text = newer.model_dump_json()
    store.save_documents([Document(kind="rubric", id="small", version="v2", sha256=sha256, text=text)])
    under_newer = SCOPE.model_copy(update={"rubric": sha256})
    splits = Splits(store)
    given = [one.model_copy(update={"rubric": sha256}) for one in certifying(splits)]
    splits.use(given, "certify", under_newer, test="a", share=0.5)
    assert splits.count_looks(SCOPE) == 0
    store.desk.save_record("account", DORA.name, DORA)
    sign_revision(store, RubricRevision(RUBRIC, newer, "editorial"), lead=DORA.name)
    assert (splits.count_looks(SCOPE), splits.count_looks(under_newer)) == (1, 1)
    assert splits.place_look(given, SCOPE, test="b").spent == 0.5


def test_a_use_says_of_what_for_what_when_and_how_many(store: Store) -> None:
    used = Splits(store, clock=lambda: NOON).use(LABELS, "report", SCOPE)
    (kept,) = store.desk.list_records("label_use", LabelUse)
    assert (kept.scope, kept.family, kept.split) == (SCOPE.content_hash(), "small", "report")
    assert (kept.count, kept.at, kept.labels) == (len(used), NOON, hash_labels(reversed(used)))


def test_no_labels_are_no_use_and_no_look(store: Store) -> None:
    splits = Splits(store)
    for split in SPLITS:
        assert splits.use([], split, SCOPE) == []
    assert splits.count_looks(SCOPE) == 0


def test_thinning_leaves_equal_probabilities(store: Store) -> None:
    labels = [label(number, calibration=0.1 if number < 200 else 0.4) for number in range(COUNT)]
    thinned = Splits(store).thin(labels)
    kept = Counter(int(given.submission_id[2:]) < 200 for given in thinned.labels)
    assert (thinned.probability, thinned.unknown) == (0.1, 0)
    assert kept[True] == 200
    # 200 draws at 0.1 / 0.4: 50, within four standard deviations of sqrt(200 * 0.25 * 0.75) = 6.1.
    assert 26 <= kept[False] <= 74
    assert thinned.thinned == COUNT - sum(kept.values())
    assert Splits(store).thin(labels[::-1]).labels == thinned.labels[::-1]


def test_equal_probabilities_are_left_as_they_are(store: Store) -> None:
    assert Splits(store).thin(LABELS).labels == LABELS


def test_labels_of_one_grading_stay_together(store: Store) -> None:
    pairs = [
        given
        for number in range(COUNT)
        for chance in (0.1 if number % 2 else 0.2,)
        for given in (
            label(number, calibration=chance),
            label(number, calibration=0.15, rater="ben", purpose=Purpose.SECOND),
        )
    ]
    thinned = Splits(store).thin(pairs)
    assert thinned.unknown == 0
    assert set(Counter(given.grading_id for given in thinned.labels).values()) == {2}


@pytest.mark.parametrize(
    "odd",
    [
        {"calibration": None},
        {"calibration": None, "sampling": "audit", "probability": 0.1},
        {"grading_id": ""},
    ],
    ids=str,
)
def test_what_nobody_drew_from_the_stream_is_no_random_sample(store: Store, odd: dict[str, object]) -> None:
    thinned = Splits(store).thin([label(0, **odd), label(1)])
    assert (thinned.labels, thinned.unknown) == ([label(1)], 1)


def test_probabilities_that_contradict_each_other_are_none(store: Store) -> None:
    labels = [label(0, purpose=None, calibration=chance, rater=str(chance)) for chance in (0.1, 0.9)]
    thinned = Splits(store).thin(labels)
    assert (thinned.labels, thinned.probability, thinned.unknown) == ([], None, 1)


def test_thinning_nothing_is_nothing(store: Store) -> None:
    thinned = Splits(store).thin([])
    assert (thinned.labels, thinned.probability, thinned.thinned, thinned.unknown) == ([], None, 0, 0)
