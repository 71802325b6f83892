"""Certificates in the graph: what they let stand alone, what voids them, and what chance draws."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.config import Settings
from pipeline.graph.batch import BatchOutcome, grade_batch
from pipeline.graph.services import Services, open_services
from pipeline.judge.features import NAMES
from pipeline.library.lock import lock_new_versions
from pipeline.library.policies import load_policy
from pipeline.library.prompts import load_prompt
from pipeline.library.roots import policies_root, rubrics_root
from pipeline.library.submissions import collect
from pipeline.library.tasks import load_tasks
from pipeline.review.audit_draw import AuditDraw
from pipeline.review.calibration_draw import CalibrationDraw
from pipeline.review.chances import load_secret
from pipeline.review.pseudonyms import author_to_cover, pseudonym_of
from pipeline.routing.certificates import Register
from pipeline.store import GradingSummary, Store, open_store
from pipeline.types import GRADE, Calibrator, Curve, Destination, Fingerprint, Grading, Scope
from tests.cli.terminal import TINY_SOLUTIONS, TINY_TASKS
from tests.conftest import ShareFolder
from tests.review.desk_examples import FINGERPRINT, NOON
from tests.routing.calibrations import make_calibrator, make_certificate

#: Two that are right and one whose gate the facts close.
GOOD = [TINY_SOLUTIONS / "good_add.py", TINY_SOLUTIONS / "good_add_swapped.py"]
FILES = [*GOOD, TINY_SOLUTIONS / "bad_multiplies.py"]
SENTENCE = "with 90 % confidence at most 10 % of what stands alone is wrong"


@dataclass
class Night:
    """A store and the settings that everything in it is graded under."""

    store: Store
    settings: Settings

    @contextmanager
    def open(self) -> Iterator[Services]:
        with open_services(self.store, self.settings) as services:
            yield services

    def grade(self, author: str = "") -> dict[str, GradingSummary]:
        """Grade the files, of `author` if there is one, and return the line of each by its name."""
        items = list(collect(FILES, load_tasks(TINY_TASKS), None, author))
        with self.open() as services:
            outcome: BatchOutcome = grade_batch(items, services)
        lines = self.store.list_gradings(outcome.batch_id)
        return {Path(line.origin).name: line for line in lines}

    def certify(self, **changed: object) -> Calibrator:
        """Put a calibrator in force that is 95 % sure of everything, and a certificate that asks for 90 %."""
        with self.open() as services:
            scope = Scope.of(services.fingerprint("tiny_add"))
        width = len(NAMES)
        curve = Curve(
            criterion=GRADE,
            method="platt",
            features=NAMES,
            centres=(0.0,) * width,
            scales=(1.0,) * width,
            weights=(0.0,) * width,
            intercept=0.0,
            ranks=(-9.0, 9.0),
            probabilities=(0.95, 0.95),
            n=50,
        )
        calibrator = make_calibrator(scope, curves=(curve,), histories={"tiny_add": (50, 40)})
        author = pseudonym_of(load_secret(self.store), author_to_cover("", str(FILES[0]), "unused"))
        version = load_tasks(TINY_TASKS)["tiny_add"].content_hash()
        whole = {
            "tasks": ("tiny_add",),
            "task_versions": (version,),
            "authors": (author,),
            "reason": SENTENCE,
            **changed,
        }
        policy = load_policy(root=self.settings.policies).content_hash()
        Register(self.store).put(calibrator, [make_certificate(calibrator, policy=policy, **whole)])
        return calibrator


def write_settings(root: Path) -> Settings:
    """Write a policy that draws everything, and a rubric by which the rules judge's drafts have a number."""
    policy = (policies_root() / "standard" / "v1.toml").read_text()
    rubric = (rubrics_root() / "performance_quality" / "v1.toml").read_text()
    for folder, name, text in (
        ("policies", "standard", policy.replace("calibration_rate = 0.2", "calibration_rate = 1.0")),
        ("rubrics", "performance_quality", rubric.replace("scored_weight = 0.6", "scored_weight = 0.4")),
    ):
        (root / folder / name).mkdir(parents=True, exist_ok=True)
        (root / folder / name / "v1.toml").write_text(text)
        lock_new_versions(root / folder, ".toml")
    return settings_in(root)


def settings_in(root: Path) -> Settings:
    return Settings(tasks=TINY_TASKS, policies=root / "policies", rubrics=root / "rubrics", workers=1)


@pytest.fixture(scope="module")
def graded(share_folder: ShareFolder) -> Path:
    """A database in which no certificate was in force yet, with its policy and rubric."""

    def fill(folder: Path) -> None:
        with open_store(folder / "g.duckdb") as store:
            Night(store, write_settings(folder)).grade()

    return share_folder("certified", fill)


@pytest.fixture
def night(graded: Path, tmp_path: Path) -> Iterator[Night]:
    for name in ("g.duckdb", "g.duckdb.journal.jsonl"):
        shutil.copy(graded / name, tmp_path / name)
    with open_store(tmp_path / "g.duckdb") as store:
        yield Night(store, settings_in(graded))


def reviews_of(night: Night, line: GradingSummary) -> list[tuple[str, float | None, float | None]]:
    states = night.store.list_reviews_of(line.grading_id)
    return [(state.review.kind, state.review.probability, state.review.calibration) for state in states]


@pytest.mark.sandbox
def test_without_a_certificate_drafts_go_to_people_and_those_drawn_say_with_which_chance(
    night: Night,
) -> None:
    lines = night.grade()
    good, bad = lines["good_add.py"], lines["bad_multiplies.py"]
    assert (good.destination, good.reason) == (
        Destination.REVIEW,
        "no certificate covers this judge yet, so a person decides",
    )
    assert bad.destination is Destination.ACCEPT
    assert reviews_of(night, good) == [("route", None, 1.0)]
    assert reviews_of(night, bad) == [], "a closed gate is settled: there is no draft to label"
    grade = night.store.load_grade(bad.grading_id)
    assert grade is not None
    assert grade.decided_by == "gates"
    made = night.store.load_grading(good.grading_id).fingerprint
    assert made.confidence == "draft 1"
    assert (
        made.policy
        == f"gates 2 + standard v1 {load_policy(root=night.settings.policies).content_hash()[:16]}"
    )


@pytest.mark.sandbox
def test_a_certificate_lets_new_gradings_stand_reusing_all_stages_up_to_the_judge(night: Night) -> None:
    before, stages = night.grade(), night.store.count_stages()
    calibrator = night.certify()
    lines = night.grade()
    assert night.store.count_stages() == stages + len(FILES), "one assessment each, and nothing else"
    good, bad = lines["good_add.py"], lines["bad_multiplies.py"]
    assert {line.grading_id for line in lines.values()}.isdisjoint(
        line.grading_id for line in before.values()
    )
    assert (good.state, good.destination, good.reason) == ("graded", Destination.ACCEPT, SENTENCE)
    route, grade = night.store.load_route(good.grading_id), night.store.load_grade(good.grading_id)
    assert route is not None
    assert grade is not None
    assert (route.rule, route.policy) == ("certified", "gates 2 + standard v1")
    assert grade.decided_by == "certificate"
    settled = night.store.load_grade(bad.grading_id)
    assert settled is not None
    assert settled.decided_by == "gates"
    assert calibrator.content_hash()[:16] in night.store.load_grading(good.grading_id).fingerprint.confidence

    # Drawn and accepted: an audit of a grade that stands, which no other audit is drawn beside.
    assert reviews_of(night, good) == [("audit", 1.0, 1.0)]
    AuditDraw(night.store, load_secret(night.store)).draw(1.0, NOON)
    assert reviews_of(night, good) == [("audit", 1.0, 1.0)]
    assert reviews_of(night, bad) == [("audit", 1.0, None)]

    # The same again is the same gradings; without the certificate they go to people again.
    assert night.grade().keys() == lines.keys()
    kept = Register(night.store).list_all()[0].certificate
    Register(night.store).revoke(kept.content_hash(), by="dora", reason="the rubric is under review")
    after = night.grade()["good_add.py"]
    assert after.destination is Destination.REVIEW
    assert after.grading_id == before["good_add.py"].grading_id, "nobody is asked about it a second time"
    assert night.store.load_grade(good.grading_id) == grade, "what was released stays"


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("changed", "rule", "said"),
    [
        ({"constructed": True}, "constructed_labels", "not evidence of quality"),
        (
            {"threshold": None, "reason": "accept nothing: 90 more labels would help"},
            "no_certificate",
            "no certificate covers this judge",
        ),
        ({"threshold": 0.96}, "below_threshold", "probability 0.950"),
        ({"authors": ("amber-heron-42",)}, "uncovered_author", "author"),
    ],
    ids=["constructed", "refused", "unsure", "author"],
)
def test_a_certificate_that_does_not_cover_a_draft_sends_it_to_a_person_who_is_told_why(
    night: Night, changed: dict[str, object], rule: str, said: str
) -> None:
    night.certify(**changed)
    line = night.grade()["good_add.py"]
    route = night.store.load_route(line.grading_id)
    assert route is not None
    assert (route.destination, route.rule) == (Destination.REVIEW, rule)
    assert said in route.reason
    assert night.store.load_grade(line.grading_id) is None
    assert reviews_of(night, line) == [("route", None, 1.0)]


@pytest.mark.sandbox
def test_a_declared_author_is_covered_by_name_wherever_files_lie_and_the_first_one_counts(
    night: Night,
) -> None:
    of_the_folder = pseudonym_of(load_secret(night.store), str(FILES[0].parent))
    night.certify(authors=(pseudonym_of(load_secret(night.store), "model 7"),))
    assert night.grade()["good_add.py"].destination is Destination.REVIEW, "nobody said that it is model 7's"
    night.certify(authors=(pseudonym_of(load_secret(night.store), "model 7"),), n=301)
    line = night.grade("model 7")["good_add.py"]
    assert (line.destination, line.reason) == (Destination.ACCEPT, SENTENCE)
    night.certify(authors=(of_the_folder, pseudonym_of(load_secret(night.store), "model 8")), n=302)
    assert night.grade("model 8")["good_add.py"].destination is Destination.REVIEW, "model 7 came first"


@pytest.mark.sandbox
def test_a_changed_prompt_voids_the_certificate_that_was_earned_with_the_earlier_one(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    night.certify()
    changed = load_prompt("judge").model_copy(update={"version": "v99"})
    monkeypatch.setattr("pipeline.graph.library.load_prompt", lambda _: changed)
    line = night.grade()["good_add.py"]
    route = night.store.load_route(line.grading_id)
    assert route is not None
    assert (route.destination, route.rule) == (Destination.REVIEW, "void_certificate")
    assert route.reason == "its certificate is void: the prompt changed since it was issued"


def made_by(submission: str, **changed: str) -> Grading:
    fingerprint: Fingerprint = FINGERPRINT.model_copy(update=changed)
    return Grading(id=fingerprint.grading_id(submission), submission_id=submission, fingerprint=fingerprint)


def test_chance_draws_a_submission_the_same_way_whatever_follows_the_draft(
    empty_database: Path, tmp_path: Path
) -> None:
    shutil.copy(empty_database, tmp_path / "g.duckdb")
    names = [f"s-{number}" for number in range(400)]

    def drawn(store: Store, rate: float, to: Destination = Destination.REVIEW, **changed: str) -> set[str]:
        draw = CalibrationDraw(store, rate)
        found = {name: draw.draw(made_by(name, **changed), to) for name in names}
        assert set(found.values()) <= {None, max(rate, 0.05 if to is Destination.ACCEPT else 0)}
        return {name for name, chance in found.items() if chance is not None}

    with open_store(tmp_path / "g.duckdb") as store:
        some = drawn(store, 0.2)
        # 80 expected, with a standard deviation of 8.
        assert 48 <= len(some) <= 112
        assert drawn(store, 0.2) == some, "asked again it is the same"
        assert drawn(store, 0.2, policy="gates 9", confidence="draft 9") == some, (
            "another policy is no new draw"
        )
        assert drawn(store, 0.2, prompt="another") != some, "another judge is another stream"
        assert drawn(store, 0.1) < some, "a lower rate draws fewer of the same"
        assert drawn(store, 0.2, Destination.ACCEPT) == some, "whatever its route is"
        assert drawn(store, 0.01) <= drawn(store, 0.01, Destination.ACCEPT), "the desk audits 5 % at least"
