"""Certificates: what the test allows, in words and numbers by hand, and every reason to refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.review.labels import Label, read_labels
from pipeline.routing import certifying
from pipeline.routing.certificates import Register
from pipeline.routing.certifying import certify_policy
from pipeline.routing.fitting import Fitted, fit
from pipeline.routing.observations import Observations, observe
from pipeline.routing.splits import Splits
from pipeline.store import Store
from pipeline.types import GRADE, RoutingPolicy, Scope, Split
from tests.review.desk_examples import FINGERPRINT, NOON, copy_store
from tests.routing.crowd import POLICY, Draft, add_drafts, add_labels, fill

SCOPE = Scope.of(FINGERPRINT)
MANY_LOOKS = POLICY.model_copy(update={"looks": (0.1,) * 10})
#: Of both splits that matter the same, so that a few hundred drafts are enough.
HALVES: dict[Split, float] = {"choose": 0, "fit": 0.5, "certify": 0.5, "report": 0}


@dataclass(frozen=True)
class Crowd:
    store: Store
    seen: Observations
    fitted: Fitted
    splits: Splits

    def certify(
        self, policy: RoutingPolicy = POLICY, seen: Observations | None = None
    ) -> list[certifying.Tested]:
        return certify_policy(seen or self.seen, self.fitted, self.splits, policy, by="dora", at=NOON)


def gather(store: Store, shares: Mapping[Split, float] = HALVES) -> Crowd:
    splits = Splits(store, shares)
    seen = observe(store, SCOPE, read_labels(store), POLICY)
    return Crowd(store, seen, fit(seen, splits, POLICY), splits)


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    with copy_store(empty_database, tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def crowd(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    """400 drafts, 300 of them labelled, every tenth wrong and unsure; tests take looks and change no more."""
    with copy_store(empty_database, tmp_path_factory.mktemp("crowd")) as store:
        fill(store, 400, labelled=300)
        yield gather(store)


def is_wrong(submission_id: str) -> bool:
    return int(submission_id[2:]) % 10 == 0


def test_a_certificate_says_what_its_labels_prove(crowd: Crowd) -> None:
    (tested,) = crowd.certify()
    issued = tested.certificate
    assigned = crowd.splits.assign([unit.submission_id for unit in crowd.seen.labelled], SCOPE.rubric)
    certifying = [name for name, split in assigned.items() if split == "certify"]
    right = [name for name in certifying if not is_wrong(name)]
    stream = [unit.submission_id for unit in crowd.seen.units if unit.submission_id not in certifying]
    # Everything sure is right: all of it stands, and with what is unsure one in ten would be wrong.
    assert (issued.n, issued.accepted, issued.errors) == (len(certifying), len(right), 0)
    assert issued.coverage == sum(not is_wrong(name) for name in stream) / len(stream)
    # The first look has 0.5 of delta, each of two chains half of that; without errors the exact bound is
    # 1 - level^(1/n).
    assert (issued.level, issued.look, issued.chains, issued.sampling) == (0.05, 1, 2, "random")
    assert issued.bound == pytest.approx(1 - 0.025 ** (1 / len(right)))
    assert issued.threshold in issued.grid
    assert issued.reason == (
        f"These {100 * issued.coverage:.3g} % of grades may stand without a human: with 90 % confidence at"
        " most 10 % of them differ from what your experts would say."
    )
    assert set(issued.tasks) == {f"task-{number:02}" for number in range(8)}
    assert len(issued.authors) == 3
    assert (issued.issued_by, issued.constructed, issued.experts_differ) == ("dora", False, None)
    assert [one.more for one in tested.outlooks] == [50, 100, 200]


def test_the_very_same_test_is_no_second_look_and_after_the_last_look_nothing_is_tested(
    empty_database: Path, tmp_path: Path
) -> None:
    with copy_store(empty_database, tmp_path) as store:
        drafts = fill(store, 400, labelled=300)
        crowd = gather(store)
        first, again = crowd.certify()[0].certificate, crowd.certify()[0].certificate
        assert first == again
        add_labels(store, [(draft, 3, 3) for draft in drafts[300:340] if not is_wrong(f"s-{draft.name}")])
        crowd = replace(crowd, seen=observe(store, SCOPE, read_labels(store), POLICY))
        assert (crowd.certify()[0].certificate.look, crowd.certify()[0].certificate.level) == (2, 0.05)
        add_labels(store, [(draft, 3, 3) for draft in drafts[340:380] if not is_wrong(f"s-{draft.name}")])
        crowd = replace(crowd, seen=observe(store, SCOPE, read_labels(store), POLICY))
        refused = crowd.certify()[0].certificate
        assert (refused.look, refused.level, refused.threshold) == (3, 0, None)
        assert refused.reason == (
            "Accept nothing: this scope was tested 2 times already and the policy allows 2: what is tested"
            " until it passes proves nothing."
        )
        assert crowd.splits.count_looks(SCOPE) == 2


def test_by_criteria_delta_is_split_and_what_stands_is_what_is_sure_in_each(crowd: Crowd) -> None:
    policy = POLICY.model_copy(update={"by": "criteria", "looks": (0.2, 0.2, 0.2, 0.2, 0.2)})
    clarity, safety = (tested.certificate for tested in crowd.certify(policy))
    assert (clarity.criterion, safety.criterion) == ("clarity", "safety")
    assert clarity.level == safety.level == pytest.approx(0.1 * 0.2 / 2)
    # Nothing tells drafts of clarity apart and each is right, but a level stands with the whole grade alone.
    assert len(set(clarity.grid)) == 1
    assert safety.errors == clarity.errors == 0
    assert clarity.accepted == safety.accepted < safety.n
    assert safety.coverage is not None
    assert clarity.coverage == safety.coverage < 1
    assert "levels of safety may stand" in safety.reason


def test_on_average_is_another_promise(crowd: Crowd) -> None:
    policy = POLICY.model_copy(update={"mode": "expected", "looks": (0.1,) * 10})
    issued = crowd.certify(policy)[0].certificate
    # About one in ten is wrong: (errors + 1) / (n + 1) decides whether all may stand, or what is sure alone.
    assert issued.threshold is not None
    assert issued.bound == pytest.approx((issued.errors + 1) / (issued.n + 1))
    assert issued.bound is not None
    assert issued.bound <= 0.1
    assert "on average" in issued.reason
    assert "confidence" not in issued.reason


def test_a_certificate_goes_into_the_register_and_a_refusal_does_too(crowd: Crowd) -> None:
    tested = crowd.certify(MANY_LOOKS)
    register = Register(crowd.store)
    register.put(crowd.fitted.calibrator, [one.certificate for one in tested])
    assert set(register.in_force(SCOPE, tested[0].certificate.policy)) == {GRADE}


@pytest.mark.parametrize(
    ("labelled", "says"),
    [
        (0, "no label of the fit split"),
        (1, "Accept nothing: there are no probabilities"),
        (30, "Accept nothing: "),
        (60, "Accept nothing: too few labels to certify on: "),
    ],
)
def test_too_few_labels_certify_nothing_and_cost_no_look(store: Store, labelled: int, says: str) -> None:
    fill(store, 100, labelled=labelled)
    crowd = gather(store)
    issued = crowd.certify()[0].certificate
    assert (issued.threshold, issued.level, issued.bound, issued.coverage) == (None, 0, None, None)
    assert says in issued.reason
    assert crowd.splits.count_looks(SCOPE) == 0
    if labelled == 60:
        # ln(0.025) / ln(0.9) = 35.01: with fewer labels not even a spotless sample proves anything.
        assert "of at least 36" in issued.reason
        assert "more labelled submissions, drawn at random" in issued.reason


def test_a_judge_who_drafts_nothing_is_refused_criterion_by_criterion(store: Store) -> None:
    add_drafts(store, [Draft("silent", clarity=None, safety=None)])
    issued = [one.certificate for one in gather(store).certify(POLICY.model_copy(update={"by": "criteria"}))]
    assert [certificate.criterion for certificate in issued] == ["clarity", "safety"]
    assert {certificate.reason for certificate in issued} == {
        "Accept nothing: there are no probabilities to go by, the judge drafted none."
    }


def test_a_judge_who_is_always_wrong_is_refused_after_a_look(store: Store) -> None:
    drafts = [Draft(f"{number}", task=f"task-{number % 5}", origin=f"m/{number}.py") for number in range(150)]
    add_drafts(store, drafts)
    add_labels(store, [(draft, 0, 0) for draft in drafts])
    crowd = gather(store)
    (tested,) = crowd.certify()
    issued = tested.certificate
    assert (issued.threshold, issued.accepted, issued.errors, issued.bound) == (None, 0, 0, None)
    assert tested.wrong.all()
    assert "more labels would not help" in issued.reason
    assert crowd.splits.count_looks(SCOPE) == 1


def relabel(crowd: Crowd, change: Callable[[Label], Mapping[str, object]], *, beside: bool = False) -> Crowd:
    """Return the crowd as if its labels had been others, or had others beside them; its store stays."""
    own = read_labels(crowd.store)
    others = [label.model_copy(update=dict(changed)) for label in own if (changed := change(label))]
    seen = observe(crowd.store, SCOPE, [*own, *others] if beside else others, POLICY)
    return replace(crowd, seen=seen, fitted=fit(seen, crowd.splits, POLICY))


def test_experts_who_differ_more_than_a_judge_may_certify_nothing(crowd: Crowd) -> None:
    # Of 25 that two saw they differ in 5: 20 %, where 10 % is allowed.
    seen_twice = [f"s-{number:04}" for number in range(1, 251, 10)]

    def second(label: Label) -> dict[str, object]:
        if label.submission_id not in seen_twice:
            return {}
        level = 0 if label.submission_id in seen_twice[:5] and label.criterion == "safety" else label.level
        return {"rater": "ben", "at": NOON + timedelta(days=1), "level": level}

    looks = crowd.splits.count_looks(SCOPE)
    issued = relabel(crowd, second, beside=True).certify(MANY_LOOKS)[0].certificate
    assert (issued.experts_differ, issued.experts_pairs, issued.threshold) == (0.2, 25, None)
    assert "experts differ among themselves in 20 % of 25 submissions" in issued.reason
    assert crowd.splits.count_looks(SCOPE) == looks


def test_labels_that_nobody_drew_from_few_tasks_prove_nothing(crowd: Crowd) -> None:
    looks = crowd.splits.count_looks(SCOPE)
    issued = relabel(crowd, lambda _: {"calibration": None}).certify(MANY_LOOKS)[0].certificate
    assert issued.threshold is None
    assert "the labels are no random sample, so errors count by task, and 8 tasks" in issued.reason
    assert crowd.splits.count_looks(SCOPE) == looks


def test_labels_that_nobody_drew_from_many_tasks_count_by_task(store: Store) -> None:
    fill(store, 640, tasks=64, probability=None)
    issued = gather(store).certify(POLICY.model_copy(update={"fewest_per_task": 1}))[0].certificate
    assert issued.threshold is not None
    assert (issued.sampling, issued.errors) == ("clusters", 0)
    assert "(errors counted by task, 64 tasks)" in issued.reason


def test_constructed_labels_say_so_in_the_certificate(crowd: Crowd) -> None:
    made_up = relabel(crowd, lambda _: {"source": "constructed", "rater": "author"})
    issued = made_up.certify(MANY_LOOKS)[0].certificate
    assert issued.threshold is not None
    assert issued.constructed
    assert made_up.fitted.calibrator is not None
    assert made_up.fitted.calibrator.constructed
    assert issued.reason.startswith("Constructed labels, not evidence of quality: ")


def test_what_is_tested_is_what_may_stand_alone_and_nothing_else(store: Store) -> None:
    # Every other draft is by an author of its own, whom no two splits can have labels of.
    drafts = [
        Draft(
            f"{number}",
            task="rare" if number < 4 else f"task-{number % 5}",
            origin=f"{'many' if number % 2 else number}/{number}.py",
        )
        for number in range(400)
    ]
    add_drafts(store, drafts)
    add_labels(store, [(draft, 3, 3) for draft in drafts[:300]])
    crowd = gather(store)
    issued = crowd.certify()[0].certificate
    assigned = crowd.splits.assign([unit.submission_id for unit in crowd.seen.labelled], SCOPE.rubric)
    others = [draft for draft in drafts if assigned.get(f"s-{draft.name}") != "certify"]
    fitted = [draft for draft in others if assigned.get(f"s-{draft.name}") == "fit"]
    lone = [draft for draft in fitted if not int(draft.name) % 2 and draft.task != "rare"]
    tested = [number for number in range(5, 300, 2) if assigned[f"s-{number}"] == "certify"]
    standing = len(lone) + sum(draft.task != "rare" and int(draft.name) % 2 for draft in others)
    assert set(issued.tasks) == {f"task-{number}" for number in range(5)}
    assert issued.n == issued.accepted == len(tested)
    # Authors of the rare task's drafts that were fitted on are known, but the task is not covered.
    assert len(issued.authors) == 1 + sum(not int(draft.name) % 2 for draft in fitted)
    assert issued.coverage == pytest.approx(standing / len(others))


def test_policies_share_what_may_go_wrong_in_one_scope(store: Store) -> None:
    fill(store, 400, labelled=300)
    crowd = gather(store)
    first = crowd.certify(POLICY.model_copy(update={"version": "v2", "looks": (0.7,)}))[0].certificate
    second = crowd.certify(POLICY.model_copy(update={"version": "v3", "looks": (0.0, 1.0)}))[0].certificate
    third = crowd.certify(POLICY.model_copy(update={"version": "v4", "looks": (0.0, 0.0, 1.0)}))[
        0
    ].certificate
    assert [one.look for one in (first, second, third)] == [1, 2, 3]
    assert [one.level for one in (first, second, third)] == [pytest.approx(0.07), pytest.approx(0.03), 0]
    assert third.threshold is None
    assert "under policies with other looks, took all of what may go wrong" in third.reason


def test_a_task_that_changed_is_covered_again_once_it_has_labels(store: Store) -> None:
    changed = FINGERPRINT.model_copy(update={"task": "d" * 64})
    drafts = [
        Draft(f"{n}", origin=f"m/{n}.py", made=changed if n % 50 == 0 else FINGERPRINT) for n in range(200)
    ]
    add_drafts(store, drafts)
    add_labels(store, [(draft, 3, 3) for draft in drafts])
    crowd = gather(store)
    issued = crowd.certify()[0].certificate
    assigned = crowd.splits.assign([unit.submission_id for unit in crowd.seen.labelled], SCOPE.rubric)
    old = [draft for draft in drafts if draft.made == FINGERPRINT]
    # The few drafts of the task as it is now are neither tested nor in what may stand.
    assert issued.n == sum(assigned[f"s-{draft.name}"] == "certify" for draft in old)
    assert (issued.tasks, issued.task_versions) == (("matmul_tiled",), (FINGERPRINT.task,))


def test_copies_of_one_code_are_one_piece_of_evidence(store: Store) -> None:
    # Handed in again and again: 30 codes, ten times each.
    drafts = [Draft(f"{number}", origin=f"m/{number}.py", code=f"# {number % 30}\n") for number in range(300)]
    add_drafts(store, drafts)
    add_labels(store, [(draft, 3, 3) for draft in drafts])
    crowd = gather(store)
    issued = crowd.certify()[0].certificate
    codes = {unit.submission_id: int(unit.submission_id[2:]) % 30 for unit in crowd.seen.labelled}
    assigned = crowd.splits.assign(codes, SCOPE.rubric)
    certifying = {code for name, code in codes.items() if assigned[name] == "certify"}
    assert issued.threshold is None
    assert f"are copies of {len(certifying)} codes" in issued.reason
    assert "fewer than the 29 that could prove anything" in issued.reason
