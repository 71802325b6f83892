"""Observations: one row per submission, wrong or right by hand, and nothing that no certificate rests on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.errors import GraderError
from pipeline.judge.features import NAMES
from pipeline.review.labels import Label, read_labels
from pipeline.review.rubric_succession import RubricSuccession
from pipeline.routing.certificates import Register
from pipeline.routing.observations import Observations, Unit, observe, read_scopes
from pipeline.routing.splits import Splits
from pipeline.store import Document, Store, open_store
from pipeline.types import GRADE, CheckStatus, Loss, Purpose, RoutingPolicy, Scope, Split, Verdict
from tests.review.desk_examples import ANNA, BEN, CARLA, FINGERPRINT, HASH, NOON, RUBRIC, copy_store
from tests.review.labelled import Teller, add_review
from tests.routing.calibrations import make_calibrator, make_certificate
from tests.routing.crowd import POLICY, Draft, add_drafts, add_labels

SCOPE = Scope.of(FINGERPRINT)
ALL_CERTIFY: dict[Split, float] = {"choose": 0, "fit": 0, "certify": 1, "report": 0}


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    with copy_store(empty_database, tmp_path) as opened:
        yield opened


def see(store: Store, scope: Scope = SCOPE, policy: RoutingPolicy = POLICY) -> Observations:
    return observe(store, scope, read_labels(store), policy)


def units_of(seen: Observations) -> dict[str, Unit]:
    return {unit.submission_id[2:]: unit for unit in seen.units}


@pytest.mark.parametrize(
    ("drafted", "said", "wrong", "value", "passed"),
    [
        # 0.2 + 0.3 + 0.3 = 0.8 beside 0.7: one level apart and a pass on both sides.
        ((3, 3), (3, 2), {"clarity": False, "safety": False, GRADE: False}, 0.7, True),
        # 0.6 passes still, but safety lies two levels off.
        ((3, 3), (3, 1), {"clarity": False, "safety": True, GRADE: True}, 0.6, True),
        # 0.7 beside 0.5: every level is one off, and pass becomes fail.
        ((3, 2), (2, 1), {"clarity": False, "safety": False, GRADE: True}, 0.5, False),
        # Without safety (20 + 30) / 60, enough weight: what cannot be judged is no level.
        ((3, 3), (3, None), {"clarity": False, GRADE: False}, 0.833333, True),
        # The judge left clarity out: nobody is wrong about it, but (20 + 30) / 60 passes and 0.5 fails.
        ((None, 3), (0, 3), {"safety": False, GRADE: True}, 0.5, False),
        # A person who can judge nothing gives no grade: 20 of 100 is less weight than the rubric asks for.
        ((3, 3), (None, None), {}, None, None),
    ],
    ids=["near", "far", "flips", "unjudged", "undrafted", "nothing"],
)
def test_a_draft_is_wrong_by_the_loss_beside_the_expert(
    store: Store,
    drafted: tuple[int | None, int | None],
    said: tuple[int | None, int | None],
    wrong: dict[str, bool],
    value: float | None,
    passed: bool | None,
) -> None:
    draft = Draft("one", *drafted)
    add_drafts(store, [draft])
    add_labels(store, [(draft, *said)])
    (unit,) = see(store).units
    assert unit.wrong == wrong
    assert unit.first is not None
    assert (unit.first.rater, unit.first.value, unit.first.passed) == ("anna", value, passed)
    assert set(unit.features) == {GRADE} | {
        name for name, level in zip(("clarity", "safety"), drafted, strict=True) if level is not None
    }
    assert unit.features[GRADE].shape == (len(NAMES),)
    lenient = POLICY.model_copy(update={"loss": Loss(apart=4, flips=False)})
    assert not any(see(store, policy=lenient).units[0].wrong.values())


def test_what_no_certificate_lets_stand_is_left_out_and_counted(store: Store) -> None:
    modelled = POLICY.model_copy(update={"demand_measured": ("clarity",)})
    drafts = [
        Draft("good"),
        Draft("closed", correct=CheckStatus.FAILED),
        Draft("fault", fault=True),
        Draft("silent", clarity=None, safety=None),
        Draft("undrafted", drafted=False),
        Draft("unconfined", sandbox="limits"),
        Draft("suspect", verdict=Verdict.SUSPECT),
        Draft("elsewhere", made=FINGERPRINT.model_copy(update={"judge": "another"})),
    ]
    add_drafts(store, drafts)
    seen = see(store)
    assert set(units_of(seen)) == {"good"}
    assert sorted(seen.left_out.values()) == [1] * 6
    assert {"nothing was drafted", "the judge failed, refused or answered garbage"} <= set(seen.left_out)
    assert see(store, policy=modelled).units == ()


def test_gradings_that_differ_in_what_follows_a_draft_are_one_and_the_labelled_one_stands(
    store: Store,
) -> None:
    later = FINGERPRINT.model_copy(update={"policy": "gates 2 + certificates"})
    latest = FINGERPRINT.model_copy(update={"confidence": "draft 2"})
    drafts = [
        Draft("one"),
        Draft("one", made=later, grading="g-later"),
        Draft("one", made=latest, grading="g-l"),
    ]
    for draft in drafts:
        add_drafts(store, [draft])
    assert [unit.grading_id for unit in see(store).units] == ["g-l"]
    add_labels(store, [(drafts[2], 3, 3)], at=NOON)
    add_labels(store, [(drafts[1], 0, 0)], at=NOON + timedelta(days=1))
    (unit,) = see(store).units
    assert (unit.grading_id, len(unit.labels)) == ("g-later", 2)
    assert unit.wrong == {"clarity": False, "safety": False, GRADE: False}


def test_first_is_who_said_it_earliest_and_another_shows_how_experts_differ(store: Store) -> None:
    for name in ("desk", "file"):
        add_review(store, name, clarity=3, safety=3)
    teller = Teller(store, NOON)
    teller.open(BEN, "desk", 1, Purpose.SECOND)
    teller.commit(BEN, "desk", 1, clarity=0, safety=3)
    teller.open(CARLA, "desk", 2, Purpose.ADJUDICATION)
    teller.commit(CARLA, "desk", 2, clarity=4, safety=4)
    teller.at = NOON + timedelta(hours=1)
    teller.commit(ANNA, "desk", clarity=3, safety=3)
    teller.commit(ANNA, "file", clarity=3, safety=3)
    teller.keep()
    add_labels(store, [(Draft("file"), 1, 3)], rater="zoe", at=NOON)
    seen = see(store)
    raters = {
        name: (unit.first and unit.first.rater, unit.second and unit.second.rater)
        for name, unit in units_of(seen).items()
    }
    assert raters == {"desk": ("anna", "ben"), "file": ("zoe", "anna")}
    # The small desk's drafts here have no overall number, so that no grade is wrong; experts' grades differ.
    assert units_of(seen)["file"].wrong == {"clarity": True, "safety": False}
    assert units_of(seen)["desk"].experts_differ == {"clarity": True, "safety": False, GRADE: True}
    assert seen.labels_left_out == {"not somebody's own view: adjudications, gold items, norming": 2}


def test_labels_of_other_rubrics_and_unknown_submissions_are_counted_and_used_for_nothing(
    store: Store,
) -> None:
    draft = Draft("one")
    add_drafts(store, [draft, Draft("gated", correct=CheckStatus.FAILED)])
    add_labels(store, [(draft, 0, 0)], rubric="0" * 64)
    add_labels(store, [(Draft("gone"), 0, 0)])
    add_labels(store, [(draft, 3, 3)], rater="ben")
    seen = see(store)
    assert sum(seen.labels_left_out.values()) == 4
    assert [unit.first and unit.first.rater for unit in seen.units] == ["ben"]
    with pytest.raises(GraderError) as unknown:
        see(store, SCOPE.model_copy(update={"rubric": "0" * 64}))
    assert unknown.value.fault.code == "unknown_rubric"


def test_a_label_counts_for_another_judge_and_its_chance_where_all_of_that_stream_was_drawn_from(
    store: Store,
) -> None:
    newer = FINGERPRINT.model_copy(update={"judge": "another"})
    drafts = [Draft(name) for name in ("a", "b")]
    again = [Draft(name, made=newer, grading=f"g-new-{name}", clarity=1) for name in ("a", "b")]
    add_drafts(store, drafts)
    add_drafts(store, again)
    add_labels(store, [(drafts[0], 3, 3)])
    there = Scope.of(newer)
    unit = units_of(see(store, there))["a"]
    assert (unit.wrong["clarity"], {label.calibration for label in unit.labels}) == (True, {0.2})
    add_drafts(store, [Draft("new", made=newer)])
    unit = units_of(see(store, there))["a"]
    assert (unit.wrong["clarity"], {label.calibration for label in unit.labels}) == (True, {None})
    assert {label.calibration for label in units_of(see(store))["a"].labels} == {0.2}
    other_task = Draft("a", made=newer.model_copy(update={"task": "t2"}), grading="g-other")
    add_drafts(store, [other_task])
    unit = units_of(see(store, there))["a"]
    assert (unit.grading_id, unit.first) == ("g-other", None)


def test_constructed_labels_count_only_where_nobody_came_first(store: Store) -> None:
    drafts = [Draft("a"), Draft("b")]
    add_drafts(store, drafts)
    add_labels(store, [(drafts[0], 3, 3)])
    made_up = [
        label.model_copy(update={"submission_id": f"s-{name}", "grading_id": f"g-{name}", **_MADE_UP})
        for label in read_labels(store)
        for name in ("a", "b")
    ]
    seen = observe(store, SCOPE, [*read_labels(store), *made_up], POLICY)
    by_name = units_of(seen)
    assert (by_name["a"].constructed, by_name["a"].second) == (False, None)
    assert (by_name["b"].constructed, by_name["b"].first and by_name["b"].first.rater) == (True, "author")


_MADE_UP: dict[str, object] = {"source": "constructed", "rater": "author", "at": NOON - timedelta(days=9999)}


def test_authors_are_told_apart_by_where_submissions_came_from_under_a_pseudonym(store: Store) -> None:
    add_drafts(
        store, [Draft("a", origin="m1/a.py"), Draft("b", origin="m1/b.py"), Draft("c", origin="m2/a.py")]
    )
    by_name = units_of(see(store))
    assert by_name["a"].author == by_name["b"].author != by_name["c"].author
    assert "m1" not in by_name["a"].author


def test_a_declared_author_is_one_wherever_the_work_lay_and_files_of_rows_are_not(store: Store) -> None:
    drafts = [
        Draft("a", origin="m1/a.py", author="model 7"),
        Draft("b", origin="nights/1.jsonl:4", author="model 7"),
        Draft("c", origin="nights/1.jsonl:5"),
        Draft("d", origin="nights/2.jsonl:1"),
        Draft("e", origin="mornings/2.jsonl:1"),
    ]
    add_drafts(store, drafts)
    found = {name: unit.author for name, unit in units_of(see(store)).items()}
    assert found["a"] == found["b"]
    assert found["c"] == found["d"]
    assert len(set(found.values())) == 3
    # Whoever hands the same code in later takes nothing from the first.
    add_drafts(store, [Draft("a", grading="g-again", author="model 8"), Draft("f", author="model 8")])
    later = {name: unit.author for name, unit in units_of(see(store)).items()}
    assert {name: later[name] for name in found} == found
    assert later["f"] not in found.values()


def test_scopes_come_newest_first_and_a_client_sees_what_the_owner_sees(store: Store) -> None:
    newer = FINGERPRINT.model_copy(update={"prompt": "p2"})
    add_drafts(store, [Draft("a")])
    add_drafts(store, [Draft("b", made=newer)])
    add_drafts(store, [Draft("c", made=FINGERPRINT.model_copy(update={"judge": "none"}), drafted=False)])
    assert read_scopes(store) == [Scope.of(newer), SCOPE]
    with open_store(store.path) as client:
        assert not client.is_owner
        assert read_scopes(client) == [Scope.of(newer), SCOPE]
        assert [unit.submission_id for unit in see(client).units] == ["s-a"]


def test_a_rubric_whose_words_alone_changed_keeps_labels_looks_and_certificates(store: Store) -> None:
    newer = RUBRIC.model_copy(update={"version": "v2", "title": "Smaller"})
    sha256 = newer.content_hash()
    document = Document(kind="rubric", id="small", version="v2", sha256=sha256, text=newer.model_dump_json())
    store.save_documents([document])
    made = FINGERPRINT.model_copy(update={"rubric": sha256})
    there = Scope.of(made)
    drafts = [Draft("a"), Draft("b", made=made), Draft("c", made=FINGERPRINT, grading="g-c")]
    add_drafts(store, drafts)
    add_labels(store, [(drafts[0], 3, 3), (drafts[1], 3, 3)])
    assert {name: unit.first is not None for name, unit in units_of(see(store)).items()} == {
        "a": True,
        "c": False,
    }
    signed = RubricSuccession(
        rubric="small", version="v2", sha256=sha256, after="v1", after_sha256=HASH, lead="dora", at=NOON
    )
    with open_store(store.path) as client:
        # Another reader, which remembers nothing of before the lead signed.
        client.desk.save_record("rubric_succession", sha256, signed)
        assert read_scopes(client) == [SCOPE]
        for scope in (SCOPE, there):
            assert set(units_of(see(client, scope))) == {"a", "b", "c"}
            assert [unit.submission_id for unit in see(client, scope).labelled] == ["s-a", "s-b"]
        Splits(client, ALL_CERTIFY).use(see(client).labels, "certify", SCOPE)
        assert Splits(client).count_looks(there) == 1
        certificate = make_certificate(calibrator := make_calibrator())
        register = Register(client)
        register.put(calibrator, [certificate])
        assert register.in_force(there, certificate.policy) == {GRADE: certificate}
        assert register.explain_void(certificate, there) is None
        changed = there.model_copy(update={"judge": "x"})
        assert register.explain_void(certificate, changed) == "void: the judge changed since it was issued"


def test_nothing_is_nothing(store: Store) -> None:
    seen = see(store)
    assert (seen.units, seen.labels, seen.criteria, seen.unjudged, read_scopes(store)) == ((), [], [], 0, [])
    labels: list[Label] = []
    assert seen.select(labels) == []


def test_what_chance_drew_stays_in_the_sample_where_somebody_labelled_it_before(store: Store) -> None:
    drafts = [Draft("a"), Draft("b"), Draft("c")]
    add_drafts(store, drafts)
    add_labels(store, [(draft, 0, 0) for draft in drafts[:2]], rater="adam", probability=None)
    later = NOON + timedelta(hours=1)
    add_labels(store, [(draft, 3, 3) for draft in drafts[1:]], rater="ben", probability=0.2, at=later)
    by_name = units_of(see(store))
    assert {name: {label.calibration for label in unit.labels} for name, unit in by_name.items()} == {
        "a": {None},
        "b": {0.2},
        "c": {0.2},
    }
    assert {name: unit.first and unit.first.rater for name, unit in by_name.items()} == {
        "a": "adam",
        "b": "adam",
        "c": "ben",
    }
