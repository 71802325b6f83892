"""Two judges on the same submissions: what is a pair, what counts as an error, and what is shown by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import GraderError
from pipeline.library.policies import load_policy
from pipeline.review.labels import FileLabel, keep_file_labels, read_labels
from pipeline.routing.judge_comparison import JudgeComparison, compare_judges, labels_for_margin
from pipeline.routing.known_scopes import find_scope, list_scopes
from pipeline.routing.splits import LabelUse, Splits
from pipeline.store import Document, Store
from pipeline.types import GRADE, CheckStatus, Loss, Split
from tests.review.desk_examples import HASH, RUBRIC, copy_store
from tests.routing.two_judges import NEW, OLD, keep_draft, label, scopes

ALL_CHOOSE: dict[Split, float] = {"choose": 1, "fit": 0, "certify": 0, "report": 0}
TASKS = 8
POLICY = load_policy()
CANNOT = "the expert could not judge it, or was not asked about all of it"
RIGHT, WRONG = (3, 3), (0, 3)
TRUTH = {"clarity": 3, "safety": 3}


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    with copy_store(empty_database, tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def better(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store in which the old judge is wrong about 16 of 40 and the new one about 8 of these."""
    with copy_store(empty_database, tmp_path_factory.mktemp("better")) as opened:
        fill(opened, old_wrong=16, new_wrong=8)
        yield opened


def compare(store: Store, *, swapped: bool = False, **more: object) -> JudgeComparison:
    old, new = scopes(store)[::-1] if swapped else scopes(store)
    found: JudgeComparison = compare_judges(
        store,
        old,
        new,
        read_labels(store),
        splits=Splits(store, ALL_CHOOSE),
        policy=POLICY.model_copy(update={"loss": more.pop("loss", POLICY.loss)}),
        **more,  # type: ignore[arg-type]
    )
    return found


def fill(store: Store, old_wrong: int, new_wrong: int, n: int = 40, labelled: int = 40) -> None:
    """Keep `n` pairs, spread over the tasks; each judge is wrong about the first so many."""
    labels: list[FileLabel] = []
    for number in range(n):
        name, task = f"{number:03}", f"task {number % TASKS}"
        grading_id = keep_draft(store, name, task, OLD, WRONG if number < old_wrong else RIGHT)
        keep_draft(store, name, task, NEW, WRONG if number < new_wrong else RIGHT)
        if number < labelled:
            labels += label(name, task, grading_id, TRUTH)
    keep_file_labels(store, labels)


def test_a_better_judge_is_shown_to_be_no_worse(better: Store) -> None:
    found = compare(better)
    assert (found.pairs, found.tasks, found.left_out) == (40, 8, {})
    assert (found.old_rate.value, found.new_rate.value) == (0.4, 0.2)
    # Two of five in each of eight tasks: 0.4 less 2.365 * (0.4 * 0.6 / 39)^0.5, by Student's t(7).
    assert found.old_rate.interval is not None
    assert found.old_rate.interval.low == pytest.approx(0.2145, abs=1e-4)
    # Numbers 8 to 15: one per task, on which the old judge alone is wrong.
    assert (found.errors.only_old, found.errors.only_new, found.errors.clusters) == (8, 0, 8)
    assert found.errors.difference.value == pytest.approx(-0.2)
    assert found.errors.p_value == pytest.approx(2 * 0.5**8)
    assert found.is_shown
    # Tasks are alike, so Student's t(7) over items: 0.2 - 2.365 * (0.2 * 0.8 / 39)^0.5 = 0.0485.
    assert found.sentence.startswith("Shown: the new judge errs less often, by at least 0.049 ")
    assert found.differ_in == ("prompt",)
    assert not found.constructed


def test_a_worse_judge_is_not_shown_and_it_is_said_what_would_be_needed(better: Store) -> None:
    found = compare(better, swapped=True)
    assert found.errors.difference.value == pytest.approx(0.2)
    assert (found.is_shown, found.is_too_little) == (False, False)
    # Of 40 pairs 8 differ, and tasks are alike: (1.95996 + 0.84162)^2 * 0.2 / 0.02^2 = 3924.4.
    assert found.needed == 3925
    assert found.sentence == (
        "Worse: the new judge errs more often, by at least 0.049 (40 labelled pairs on 8 tasks)."
    )


def test_flips_need_no_labels(store: Store) -> None:
    fill(store, old_wrong=16, new_wrong=8, labelled=0)
    found = compare(store)
    clarity, safety, grade = found.flips
    assert (clarity.criterion, safety.criterion, grade.criterion) == ("clarity", "safety", GRADE)
    assert (clarity.differ.value, clarity.apart) == (0.2, 8)
    assert clarity.shift == pytest.approx(8 * 3 / 40)
    assert (safety.differ.value, safety.apart, safety.shift) == (0.0, 0, 0.0)
    # (0, 3) is 0.5, a fail, and (3, 3) is 0.8, a pass.
    assert (grade.differ.value, grade.apart) == (0.2, 8)
    assert found.left_out == {"not labelled": 40}
    assert found.is_too_little
    # Nothing labelled: flips bound how often errors can differ.
    assert found.needed == 3925
    assert found.sentence.startswith("Too few to say anything: 0 labelled pairs of at least 20; about 3925")


@pytest.mark.parametrize("labelled", [0, 1, 19])
def test_too_few_is_said_and_no_number_given(store: Store, labelled: int) -> None:
    fill(store, old_wrong=3, new_wrong=3, n=20, labelled=labelled)
    found = compare(store)
    assert found.is_too_little
    assert (found.errors.difference.value, found.old_rate.value, found.needed) == (None, None, None)
    assert f"{labelled} labelled pairs of at least 20" in found.sentence
    assert "before two drafts differ" in found.sentence


def test_two_judges_who_say_the_same_need_many_tasks(store: Store) -> None:
    fill(store, old_wrong=8, new_wrong=8)
    found = compare(store, margin=0.1)
    assert not found.is_shown
    # 8 tasks without a difference leave open 1 - 0.025^(1/8) = 0.369; (1 - 0.1)^36 < 0.025 < (1 - 0.1)^35.
    assert found.errors.difference.interval is not None
    assert found.errors.difference.interval.high == pytest.approx(0.3694, abs=1e-4)
    assert found.tasks_needed == 36
    assert "on 36 tasks or more" in found.sentence


def test_what_is_no_pair_is_counted_by_its_reason(store: Store) -> None:
    fill(store, old_wrong=0, new_wrong=0, n=20, labelled=20)
    keep_draft(store, "closed", "task 0", OLD, RIGHT, correct=CheckStatus.FAILED)
    keep_draft(store, "closed", "task 0", NEW, RIGHT, correct=CheckStatus.FAILED)
    keep_draft(store, "fault", "task 0", OLD, RIGHT)
    keep_draft(store, "fault", "task 0", NEW, (None, None), failed=True)
    keep_draft(store, "silent", "task 0", OLD, (None, None))
    keep_draft(store, "silent", "task 0", NEW, RIGHT)
    keep_draft(store, "moved", "task 0", OLD, RIGHT)
    keep_draft(store, "moved", "task 0", NEW.model_copy(update={"task": "another version"}), RIGHT)
    keep_draft(store, "alone", "task 0", OLD, RIGHT)
    store.flush()
    found = compare(store)
    assert found.pairs == 20
    assert found.left_out == {
        "not drafted by both: facts settle it, or a judge gave nothing": 3,
        "graded on different versions of the task": 1,
    }


def test_what_an_expert_cannot_judge_is_counted_and_left_out(store: Store) -> None:
    fill(store, old_wrong=0, new_wrong=0, n=21, labelled=20)
    grading_id = store.list_gradings_of("s-020")[0]
    keep_file_labels(store, label("020", "task 4", grading_id, {"clarity": None, "safety": None}))
    whole = compare(store)
    assert (whole.errors.n, whole.left_out) == (
        20,
        {CANNOT: 1},
    )
    clarity = compare(store, criterion="clarity")
    assert (clarity.errors.n, clarity.left_out) == (20, {CANNOT: 1})


def test_the_first_reviewer_is_the_reference(store: Store) -> None:
    fill(store, old_wrong=20, new_wrong=0, n=20, labelled=20)
    # Whoever came later agrees with the old judge.
    later = {"clarity": 0, "safety": 3}
    keep_file_labels(
        store,
        [
            given
            for number in range(20)
            for grading_id in store.list_gradings_of(f"s-{number:03}")[:1]
            for given in label(f"{number:03}", "task", grading_id, later, rater="ben", minute=30)
        ],
    )
    found = compare(store)
    assert (found.old_rate.value, found.new_rate.value) == (1.0, 0.0)


def test_a_criterion_is_wrong_by_its_own_levels(better: Store) -> None:
    assert compare(better, criterion="clarity").errors.only_old == 8
    assert compare(better, criterion="safety").errors.only_old == 0
    # Three levels apart are wrong no more, and nothing else flips.
    wide = compare(better, criterion="clarity", loss=Loss(apart=4))
    assert (wide.old_rate.value, wide.new_rate.value) == (0.0, 0.0)
    with pytest.raises(GraderError, match="choose from: clarity, safety"):
        compare(better, criterion="speed")


def test_what_was_used_to_choose_is_kept_and_certifies_nothing(store: Store) -> None:
    fill(store, old_wrong=4, new_wrong=4, n=24, labelled=20)
    compare(store)
    compare(store)
    uses = store.desk.list_records("label_use", LabelUse)
    # Once for each judge, and the very same comparison again is no other use.
    assert sorted((use.split, len(use.submissions)) for use in uses) == [("choose", 20), ("choose", 20)]
    assert {use.scope for use in uses} == {scope.sha256 for scope in scopes(store)}


def test_only_labels_for_choosing_are_looked_at(store: Store) -> None:
    fill(store, old_wrong=4, new_wrong=4, n=20, labelled=20)
    shares: dict[Split, float] = {"choose": 0, "fit": 0, "certify": 1, "report": 0}
    found = compare_judges(
        store, *scopes(store), read_labels(store), policy=POLICY, splits=Splits(store, shares)
    )
    assert found.left_out == {"labelled, but not for choosing": 20}
    assert found.is_too_little
    assert store.desk.list_records("label_use", LabelUse) == []


def test_labels_under_another_rubric_or_version_of_the_task_say_nothing(store: Store) -> None:
    fill(store, old_wrong=4, new_wrong=4, n=20, labelled=0)
    other = RUBRIC.model_copy(update={"version": "v2"})
    text = other.model_dump_json()
    store.save_documents(
        [Document(kind="rubric", id="small", version="v2", sha256=other.content_hash(), text=text)]
    )
    labels: list[FileLabel] = []
    for number in range(20):
        name, task = f"{number:03}", f"task {number % TASKS}"
        grading_id = store.list_gradings_of(f"s-{name}")[0]
        labels += label(name, task, grading_id, TRUTH, rubric=other.content_hash())
        # In a third scope, so that nothing else is graded on the earlier version.
        moved = keep_draft(
            store, name, task, OLD.model_copy(update={"task": "earlier", "judge": "third"}), RIGHT
        )
        labels += label(name, task, moved, TRUTH, rubric=HASH)
    keep_file_labels(store, labels)
    found = compare(store)
    assert found.left_out == {"not labelled": 20}


def test_scopes_are_listed_with_what_they_hold_and_found_by_a_beginning(store: Store) -> None:
    fill(store, old_wrong=0, new_wrong=0, n=3, labelled=2)
    old, new = scopes(store)
    assert (len(old.members), old.labelled, len(new.members), new.labelled) == (3, 2, 3, 2)
    assert (old.names.rubric, old.names.prompt) == ("small", "old prompt")
    known = list_scopes(store)
    assert find_scope(known, old.sha256[:10]) == old
    for prefix, code in (("zz", "unknown_id"), ("", "unknown_id")):
        with pytest.raises(GraderError) as error:
            find_scope(known, prefix)
        assert error.value.fault.code == code
    with pytest.raises(GraderError, match="2 scopes begin") as ambiguous:
        find_scope([old, old], old.sha256[:6])
    assert ambiguous.value.fault.code == "ambiguous_id"


def test_a_judge_is_not_compared_with_itself(store: Store) -> None:
    fill(store, old_wrong=0, new_wrong=0, n=1)
    old, _ = scopes(store)
    with pytest.raises(GraderError, match="both are the same scope"):
        compare_judges(store, old, old, [], policy=POLICY)


def test_constructed_labels_are_said_to_be_such(better: Store) -> None:
    made_up = [
        given.model_copy(update={"source": "constructed", "rater": "the task's author"})
        for given in read_labels(better)
    ]
    found = compare_judges(better, *scopes(better), made_up, policy=POLICY, splits=Splits(better, ALL_CHOOSE))
    assert (found.constructed, found.errors.n) == (True, 40)


def test_how_many_labels_show_a_margin() -> None:
    # (1.959964 + 0.841621)^2 = 7.84888, times 0.1 / 0.05^2 = 313.96.
    assert labels_for_margin(0.1, 0.05) == 314
    assert labels_for_margin(0.1, 0.05, effect=2) == 628
    assert labels_for_margin(0.001, 0.5) == 20
    for wrong in ((0.0, 0.05), (0.1, 0.0), (0.1, 1.0), (1.1, 0.05)):
        with pytest.raises(ValueError, match="no sample size"):
            labels_for_margin(*wrong)
