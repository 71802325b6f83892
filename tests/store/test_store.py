"""One contract, kept over both transports."""

from __future__ import annotations

import threading
from datetime import timedelta

import duckdb
import pytest

from pipeline.store import Document, Store, StoreError
from pipeline.types import Destination, Fact, Fault, Owner, Provenance, Rejection, Route, Verdict
from tests.store.examples import (
    NOON,
    ROUTE,
    batch,
    decision,
    grade,
    grading,
    review,
    save_waiting,
    stage,
    submission,
)


def test_what_is_saved_is_loaded_again_before_and_after_it_is_committed(store: Store) -> None:
    store.save_submissions([submission("a")])
    store.save_gradings([grading("a")])
    assert store.load_submission("s-a") == submission("a")
    assert store.load_grading("g-a") == grading("a")
    store.flush()
    assert store.load_submission("s-a") == submission("a")
    assert store.load_grading("g-a") == grading("a")


@pytest.mark.parametrize(
    "load", ["load_submission", "load_grading", "load_batch", "load_review", "load_artifact", "load_summary"]
)
def test_what_was_never_saved_is_a_key_error(store: Store, load: str) -> None:
    with pytest.raises(KeyError, match="nothing"):
        getattr(store, load)("nothing")


def test_text_that_a_database_might_stumble_over_comes_back_unchanged(store: Store) -> None:
    awkward = submission("a").model_copy(update={"code": "x = 'a''b'; -- \x00 \u2028 \U0001f600 $1 ? {}\r\n"})
    store.save_submissions([awkward])
    store.flush()
    assert store.load_submission("s-a").code == awkward.code


def test_a_document_is_found_by_its_hash(store: Store) -> None:
    text = Document(kind="rubric", id="clarity", version="v1", sha256="ab" * 32, text="be clear")
    store.save_documents([text, text])
    assert store.find_document(text.sha256) == text
    assert store.find_document("cd" * 32) is None


def test_a_batch_is_opened_once(store: Store) -> None:
    refused = Rejection(
        origin="x.bin", fault=Fault(owner=Owner.SUBMISSION, code="binary", message="is no text")
    )
    opened = batch("one", "a", "b").model_copy(update={"rejections": (refused,)})
    assert store.open_batch(opened)
    assert not store.open_batch(opened)
    assert store.load_batch("b-one") == opened
    (line,) = store.list_batches()
    assert (line.gradings, line.rejections, line.closed) == (2, 1, False)


def test_a_stage_record_is_found_by_its_key_with_all_its_parts(store: Store) -> None:
    store.record_stage(stage("a"))
    assert store.find_stage("run", "k-a") == stage("a")
    store.flush()
    assert store.find_stage("run", "k-a") == stage("a")
    assert store.find_stage("build", "k-a") is None
    assert store.find_stage("run", "k-b") is None


def test_the_first_record_of_a_stage_key_stays(store: Store) -> None:
    store.record_stage(stage("a"))
    store.record_stage(stage("a").model_copy(update={"seconds": 99.0, "facts": ()}))
    store.flush()
    assert store.find_stage("run", "k-a") == stage("a")
    assert store.count_stages() == 1


def test_numbers_that_json_has_no_word_for_survive(store: Store) -> None:
    odd = stage("a").model_copy(
        update={
            "output": '{"verdict": "incorrect", "rel_l2": NaN}',
            "facts": (Fact(id="run.worst", value=float("inf"), provenance=Provenance.EMULATED),),
        }
    )
    store.record_stage(odd)
    store.flush()
    found = store.find_stage("run", "k-a")
    assert found is not None
    assert found.facts[0].value == float("inf")
    assert found.output == odd.output


def test_stages_of_a_grading_are_listed_in_order_and_the_newest_link_counts(store: Store) -> None:
    for name in ("old", "new"):
        store.record_stage(stage(name, "build"))
    store.record_stage(stage("a", "run"))
    store.save_gradings([grading("a")])
    store.link_stages("g-a", {"build": "k-old"})
    store.link_stages("g-a", {"build": "k-new"})
    store.link_stages("g-a", {"run": "k-a"})
    assert list(store.list_stages("g-a").items()) == [("build", "k-new"), ("run", "k-a")]


def test_an_artifact_is_kept_under_its_sha256(store: Store) -> None:
    name = store.save_artifact(b"abc", "application/octet-stream")
    # The published test vector of FIPS 180-2.
    assert name == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert store.load_artifact(name) == b"abc"
    store.flush()
    assert store.load_artifact(name) == b"abc"


def test_an_artifact_of_megabytes_is_kept(store: Store) -> None:
    data = bytes(range(256)) * (20 << 12)
    assert store.load_artifact(store.save_artifact(data, "application/octet-stream")) == data


def test_the_newest_route_counts_and_saving_it_again_adds_nothing(store: Store) -> None:
    held = Route(destination=Destination.HOLD, reason="no executor", policy="gates 1")
    assert store.load_route("g-a") is None
    for route in (held, ROUTE, held, held):
        store.save_route("g-a", route)
        assert store.load_route("g-a") == route
    store.flush()
    assert store.load_route("g-a") == held
    with duckdb.connect(str(store.snapshot()), read_only=True) as reader:
        assert reader.execute("SELECT count(*) FROM routes").fetchone() == (3,)


def test_a_grade_that_differs_only_in_its_time_is_not_written_again(store: Store) -> None:
    store.save_grade(grade("a"))
    store.save_grade(grade("a").model_copy(update={"released_at": NOON + timedelta(days=1)}))
    assert store.load_grade("g-a") == grade("a")
    assert store.load_grade("g-b") is None


def test_a_review_waits_until_it_is_decided(store: Store) -> None:
    save_waiting(store, "a", "b")
    assert [state.review.id for state in store.list_reviews()] == ["r-a", "r-b"]
    assert store.list_decided() == []
    store.decide(decision("a"))
    assert [state.review.id for state in store.list_reviews()] == ["r-b"]
    assert [state.decision for state in store.list_reviews(open_only=False)] == [decision("a"), None]
    assert store.load_review("r-a").decision == decision("a")
    assert store.list_decided() == ["g-a"]
    store.save_grade(grade("a"))
    assert store.list_decided() == []


def test_of_one_submission_the_newest_grading_comes_first_in_the_queue(store: Store) -> None:
    save_waiting(store, "b")
    store.save_submissions([submission("a")])
    for number in (1, 2):
        again = grading("a").model_copy(update={"id": f"g-a{number}"})
        store.save_gradings([again])
        opened = NOON - timedelta(hours=2) + timedelta(hours=number)
        store.open_review(
            review("a").model_copy(update={"id": f"r-a{number}", "grading_id": again.id, "opened_at": opened})
        )
    assert [state.review.id for state in store.list_reviews()] == ["r-a2", "r-a1", "r-b"]
    assert [state.review.id for state in store.list_reviews(limit=1)] == ["r-a2"]


def test_a_second_decision_is_refused_and_the_first_stays(store: Store) -> None:
    save_waiting(store, "a")
    store.decide(decision("a", "ada"))
    with pytest.raises(StoreError, match="r-a was already decided by ada"):
        store.decide(decision("a", "eve"))
    assert store.load_review("r-a").decision == decision("a", "ada")


def test_the_same_decision_again_is_no_second_one(store: Store) -> None:
    save_waiting(store, "a")
    store.decide(decision("a"))
    store.decide(decision("a"))
    assert len(store.path.with_name("grades.duckdb.journal.jsonl").read_text().splitlines()) == 1


def test_a_decision_on_an_unknown_review_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no review r-a"):
        store.decide(decision("a"))
    assert not store.path.with_name("grades.duckdb.journal.jsonl").exists()


def test_finished_says_why_no_work_is_left(store: Store) -> None:
    save_waiting(store, "waiting", "decided", "graded")
    store.decide(decision("decided"))
    store.decide(decision("graded"))
    store.save_grade(grade("graded"))
    store.save_submissions([submission("held"), submission("open")])
    store.save_gradings([grading("held"), grading("open")])
    store.save_route("g-held", Route(destination=Destination.HOLD, reason="no executor", policy="gates 1"))
    names = ["g-waiting", "g-decided", "g-graded", "g-held", "g-open", "g-unknown"]
    assert store.finished(names) == {"g-waiting": "waiting", "g-graded": "graded", "g-held": "held"}


def test_a_summary_shows_what_is_known_so_far(store: Store) -> None:
    store.open_batch(batch("one", "a", "b", "c"))
    save_waiting(store, "a", "b")
    store.decide(decision("b"))
    store.save_grade(grade("b"))
    waiting, graded, unknown = store.list_gradings("b-one")
    assert (waiting.state, waiting.verdict, waiting.overall, waiting.passed) == (
        "waiting",
        Verdict.CORRECT,
        0.75,
        True,
    )
    assert (waiting.origin, waiting.destination, waiting.review_id) == ("a.py", Destination.REVIEW, "r-a")
    assert (graded.state, graded.overall, graded.review_id) == ("graded", 0.8, None)
    assert (unknown.grading_id, unknown.state, unknown.verdict) == ("g-c", "open", None)
    assert store.load_summary("g-a") == waiting
    assert {line.grading_id for line in store.list_gradings()} == {"g-a", "g-b"}
    assert len(store.list_gradings(limit=1)) == 1


def test_a_refused_submission_shows_its_verdict_without_any_stage(store: Store) -> None:
    from pipeline.types import Admission

    fault = Fault(owner=Owner.SUBMISSION, code="too_large", message="300 KiB of code; the limit is 256")
    refused = submission("a").model_copy(
        update={"code": "", "refusal": Admission(verdict=Verdict.TOO_LARGE, fault=fault)}
    )
    store.save_submissions([refused])
    store.save_gradings([grading("a")])
    assert store.load_summary("g-a").verdict == Verdict.TOO_LARGE


def test_a_beginning_of_an_id_is_enough_where_it_is_the_only_one(store: Store) -> None:
    save_waiting(store, "abc", "abd")
    store.open_batch(batch("xyz"))
    assert store.resolve("g-abc") == "g-abc"
    assert store.resolve("b-x") == "b-xyz"
    with pytest.raises(StoreError, match="several ids: g-abc, g-abd"):
        store.resolve("g-ab")
    with pytest.raises(StoreError, match="starts with 'q'"):
        store.resolve("q")
    with pytest.raises(StoreError, match="starts with ''"):
        store.resolve("")
    with pytest.raises(StoreError, match="starts with '%'"):
        store.resolve("%")


def test_a_closed_batch_stays_closed_and_is_journaled_once(store: Store) -> None:
    store.open_batch(batch("one", "a"))
    save_waiting(store, "a")
    assert not store.is_batch_closed("b-one")
    store.close_batch("b-one")
    store.close_batch("b-one")
    assert store.is_batch_closed("b-one")
    assert store.list_batches()[0].closed
    assert len(store.path.with_name("grades.duckdb.journal.jsonl").read_text().splitlines()) == 1


def test_an_unknown_batch_cannot_be_closed(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no batch b-one"):
        store.close_batch("b-one")


def test_a_snapshot_is_a_database_of_its_own_with_everything_so_far(store: Store) -> None:
    save_waiting(store, "a")
    store.save_documents([])
    with duckdb.connect(str(store.snapshot()), read_only=True) as reader:
        assert reader.execute("SELECT id FROM reviews_current").fetchall() == [("r-a",)]
        assert reader.execute("SELECT fact FROM facts ORDER BY position").fetchall() == [
            ("run.worst_rel_l2",),
            ("profile.hbm_read_bytes",),
        ]
        assert reader.execute("SELECT lines FROM findings").fetchall() == [([3, 4],)]
        assert reader.execute("SELECT level FROM scores").fetchall() == [(None,)]
        assert reader.execute("SELECT worst_rel_l2 FROM case_results").fetchall() == [(1e-6,)]
        assert reader.execute("SELECT state FROM canonical_results").fetchall() == [("waiting",)]
    before = sorted(store.path.parent.iterdir())
    store.snapshot()
    assert sorted(store.path.parent.iterdir()) == before


def test_many_threads_write_and_read_at_once_and_nothing_is_lost(store: Store) -> None:
    faults: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            for number in range(25):
                name = f"{worker}-{number}"
                store.save_submissions([submission(name)])
                store.save_gradings([grading(name)])
                store.record_stage(stage(name))
                assert store.find_stage("run", f"k-{name}") == stage(name)
                store.link_stages(f"g-{name}", {"run": f"k-{name}"})
                if number % 10 == 0:
                    store.open_review(review(name))
                    assert store.load_review(f"r-{name}").review == review(name)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(store.list_gradings()) == 200
    assert store.count_stages() == 200
    assert len(store.list_reviews()) == 8 * 3


def test_closing_twice_is_harmless_and_a_closed_store_says_so(store: Store) -> None:
    store.save_submissions([submission("a")])
    store.close()
    store.close()
    with pytest.raises(StoreError, match="the store is closed"):
        store.save_submissions([submission("b")])
    with pytest.raises(StoreError, match="the store is closed"):
        store.list_reviews()
