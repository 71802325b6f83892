"""The register: what is put in force holds until it is replaced, taken back, or anything changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.errors import GraderError
from pipeline.routing.certificates import Register, explain_void
from pipeline.store import Store, open_store
from pipeline.types import GRADE, Scope
from tests.review.desk_examples import NOON, copy_store
from tests.routing.calibrations import POLICY, SCOPE, make_calibrator, make_certificate


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    with copy_store(empty_database, tmp_path) as opened:
        yield opened


def test_what_is_put_is_in_force_for_its_scope_and_policy_alone(store: Store) -> None:
    calibrator = make_calibrator()
    grade, clarity = make_certificate(calibrator), make_certificate(calibrator, criterion="clarity")
    refusal = make_certificate(calibrator, criterion="safety", threshold=None, bound=None, coverage=None)
    register = Register(store)
    register.put(calibrator, [grade, clarity, refusal])
    assert register.in_force(SCOPE, POLICY) == {GRADE: grade, "clarity": clarity}
    assert register.calibrator_for(SCOPE) == register.calibrator_for(SCOPE, POLICY) == calibrator
    elsewhere = SCOPE.model_copy(update={"prompt": "p2"})
    for scope, policy in ((elsewhere, POLICY), (SCOPE, "e" * 64)):
        assert register.in_force(scope, policy) == {}
        assert register.calibrator_for(scope, policy) is None
    assert {kept.certificate for kept in register.list_all()} == {grade, clarity, refusal}


def test_another_process_reads_what_was_put_and_a_restart_keeps_it(
    empty_database: Path, tmp_path: Path
) -> None:
    calibrator = make_calibrator()
    with copy_store(empty_database, tmp_path) as owner:
        with open_store(owner.path) as client:
            assert not client.is_owner
            Register(client).put(calibrator, [make_certificate(calibrator)])
        assert GRADE in Register(owner).in_force(SCOPE, POLICY)
    with open_store(tmp_path / "grades.duckdb") as again:
        assert Register(again).calibrator_for(SCOPE) == calibrator


def test_the_latest_of_a_policy_replaces_the_earlier_even_by_a_refusal_and_when_clocks_go_back(
    store: Store,
) -> None:
    first = make_calibrator()
    register = Register(store, clock=lambda: NOON)
    register.put(first, [make_certificate(first)])
    second = make_calibrator(usual=0.7)
    other = make_certificate(second, policy="e" * 64)
    earlier = Register(store, clock=lambda: NOON - timedelta(days=1))
    earlier.put(second, [other])
    # Another policy's calibration takes nothing from this one's.
    assert register.calibrator_for(SCOPE) == second
    assert register.calibrator_for(SCOPE, POLICY) == first
    assert set(register.in_force(SCOPE, POLICY)) == {GRADE}
    refusal = make_certificate(None, threshold=None, bound=None, coverage=None)
    earlier.put(None, [refusal])
    assert register.in_force(SCOPE, POLICY) == {}
    assert register.calibrator_for(SCOPE, POLICY) is None
    assert [kept.certificate for kept in register.list_all()] == [refusal, other, make_certificate(first)]


def test_the_same_certificate_issued_again_changes_nothing(store: Store) -> None:
    calibrator = make_calibrator()
    first = make_certificate(calibrator)
    register = Register(store)
    register.put(calibrator, [first])
    again = make_certificate(calibrator, issued_at=NOON + timedelta(days=1), issued_by="anna")
    register.put(calibrator, [again])
    assert register.in_force(SCOPE, POLICY) == {GRADE: first}
    assert len(register.list_all()) == 1
    register.put(calibrator, [make_certificate(calibrator, coverage=0.7)])
    assert len(register.list_all()) == 2


def test_what_was_taken_back_stays_so_with_who_and_why(store: Store) -> None:
    calibrator = make_calibrator()
    certificate = make_certificate(calibrator)
    register = Register(store, clock=lambda: NOON)
    register.put(calibrator, [certificate])
    name = certificate.content_hash()
    revoked = register.revoke(name[:6], by="dora", reason="an expert was mistaken")
    assert (revoked.revoked_at, revoked.revoked_by, revoked.revoked_because) == (
        NOON,
        "dora",
        "an expert was mistaken",
    )
    register.put(calibrator, [certificate])
    assert register.in_force(SCOPE, POLICY) == {}
    assert register.revoke(name, by="anna", reason="again").revoked_by == "dora"
    assert {kept.revoked_by for kept in register.list_all()} == {"dora"}
    # Another calibration in between, such as one on constructed labels, does not bring it back as new.
    register.put(calibrator, [make_certificate(calibrator, constructed=True)])
    again = make_certificate(calibrator, issued_at=NOON + timedelta(days=1), issued_by="anna")
    register.put(calibrator, [again])
    assert register.in_force(SCOPE, POLICY) == {}
    assert register.find(again.content_hash()).revoked_by == "dora"


@pytest.mark.parametrize(
    ("name", "by", "code"),
    [
        ("", "dora", "unknown_certificate"),
        ("0123456", "dora", "unknown_certificate"),
        (None, "dora", "unknown_certificate"),
        ("full", " ", "no_reason"),
    ],
    ids=["empty", "unknown", "too short", "nobody"],
)
def test_only_one_known_certificate_is_taken_back_by_somebody(
    store: Store, name: str | None, by: str, code: str
) -> None:
    calibrator = make_calibrator()
    certificate = make_certificate(calibrator)
    Register(store).put(calibrator, [certificate])
    sha256 = certificate.content_hash()
    asked = {None: sha256[:5], "full": sha256}.get(name, name)
    with pytest.raises(GraderError) as refused:
        Register(store).revoke(str(asked), by=by, reason="why not")
    assert refused.value.fault.code == code
    assert "\n" not in refused.value.fault.message


def test_what_does_not_belong_together_is_not_put_in_force(store: Store) -> None:
    calibrator = make_calibrator()
    for given in (
        (None, []),
        (None, [make_certificate(calibrator)]),
        (calibrator, [make_certificate(calibrator), make_certificate(calibrator, policy="e" * 64)]),
        (make_calibrator(SCOPE.model_copy(update={"judge": "x"})), [make_certificate(calibrator)]),
    ):
        with pytest.raises(ValueError):
            Register(store).put(*given)
    assert Register(store).list_all() == []


@pytest.mark.parametrize("part", Scope.model_fields)
def test_any_change_of_what_makes_drafts_voids_a_certificate_by_name(part: str) -> None:
    certificate = make_certificate()
    changed = SCOPE.model_copy(update={part: "another"})
    assert explain_void(certificate, changed) == f"void: the {part} changed since it was issued".replace(
        "numerics", "numerics libraries"
    )
    both = changed.model_copy(update={"judge": "x", "prompt": "y", "checks": "z"})
    assert " and the checks changed" in (explain_void(certificate, both) or "")
    assert explain_void(certificate, SCOPE) is None
