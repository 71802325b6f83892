"""Running a graded submission again: bit for bit as recorded, on fresh inputs, or one sentence why not."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.errors import GraderError
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.sandbox import Level, LevelProbe, choose_level, probe
from pipeline.graph.reruns import Rerunner, run_again
from pipeline.review.desk import Desk
from pipeline.review.reruns import Rerun, RerunKind, RerunOutcome, Reruns, RerunState
from pipeline.store import StageRecord, Store, open_store
from pipeline.types import Account, DeskSettings, Fault, Role, RunResult, Verdict
from tests.cli.terminal import TINY_SOLUTIONS, TINY_TASKS, run

pytestmark = pytest.mark.sandbox

ANNA = Account(name="anna", role=Role.REVIEWER)
BY = {"right": "good_add.py", "wrong": "bad_multiplies.py", "broken": "bad_syntax.py"}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a right, a wrong and a broken submission of the tiny task."""
    folder = tmp_path_factory.mktemp("reruns")
    (folder / "tiny_add").mkdir()
    for name in BY.values():
        shutil.copy(TINY_SOLUTIONS / name, folder / "tiny_add" / name)
    ended = run("grade", folder / "tiny_add", "--tasks", TINY_TASKS, "--db", folder / "grades.duckdb")
    assert ended.code == 0, ended.err
    return folder / "grades.duckdb"


@pytest.fixture
def store(graded: Path, tmp_path: Path) -> Iterator[Store]:
    shutil.copy(graded, tmp_path / "grades.duckdb")
    shutil.copy(f"{graded}.journal.jsonl", tmp_path / "grades.duckdb.journal.jsonl")
    with open_store(tmp_path / "grades.duckdb") as opened:
        yield opened


@pytest.fixture(scope="module")
def executor() -> Iterator[EmulatorExecutor]:
    with closing(EmulatorExecutor(choose_level(), workers=1)) as opened:
        yield opened


def grading_of(store: Store, which: str) -> str:
    """Id of one of the gradings in `BY`."""
    code = (TINY_SOLUTIONS / BY[which]).read_text()
    return next(
        row.grading_id
        for row in store.list_gradings()
        if store.load_submission(row.submission_id).code == code
    )


def recorded_run(store: Store, grading_id: str) -> tuple[str, RunResult]:
    key = store.list_stages(grading_id)["run"]
    found = store.find_stage("run", key)
    assert found is not None
    return key, RunResult.model_validate_json(found.output)


@pytest.mark.parametrize(("which", "verdict"), [("right", Verdict.CORRECT), ("wrong", Verdict.INCORRECT)])
def test_a_replay_is_bit_for_bit_as_recorded(
    store: Store, executor: EmulatorExecutor, which: str, verdict: Verdict
) -> None:
    grading_id = grading_of(store, which)
    outcome = run_again(store, grading_id, RerunKind.REPLAY, executor)
    assert (outcome.verdict, outcome.differing, outcome.notes) == (verdict, 0, ())
    assert [case.result for case in outcome.cases] == list(recorded_run(store, grading_id)[1].cases)


def test_a_run_on_fresh_inputs_has_other_inputs_and_the_same_cases(
    store: Store, executor: EmulatorExecutor
) -> None:
    grading_id = grading_of(store, "right")
    replayed = run_again(store, grading_id, RerunKind.REPLAY, executor)
    fresh = run_again(store, grading_id, RerunKind.FRESH, executor)
    assert (fresh.verdict, fresh.failing) == (Verdict.CORRECT, 0)
    assert [case.result.case for case in fresh.cases] == [case.result.case for case in replayed.cases]
    assert fresh.seed_id != replayed.seed_id
    pairs = zip(fresh.cases, replayed.cases, strict=True)
    assert any(one.result.outputs_hash != other.result.outputs_hash for one, other in pairs)


def test_what_is_wrong_is_wrong_on_fresh_inputs_too(store: Store, executor: EmulatorExecutor) -> None:
    outcome = run_again(store, grading_of(store, "wrong"), RerunKind.FRESH, executor)
    assert outcome.verdict is Verdict.INCORRECT
    assert outcome.failing > 0


def test_the_seed_itself_is_in_nothing_that_comes_of_it(store: Store, executor: EmulatorExecutor) -> None:
    grading_id = grading_of(store, "right")
    outcome = run_again(store, grading_id, RerunKind.REPLAY, executor)
    assert recorded_run(store, grading_id)[1].battery_seed not in repr(outcome)


def test_nothing_is_written(store: Store, executor: EmulatorExecutor) -> None:
    grading_id = grading_of(store, "right")
    before = store.list_stages(grading_id), recorded_run(store, grading_id), store.load_summary(grading_id)
    run_again(store, grading_id, RerunKind.FRESH, executor)
    assert before == (
        store.list_stages(grading_id),
        recorded_run(store, grading_id),
        store.load_summary(grading_id),
    )


def change_run(store: Store, grading_id: str, **changes: object) -> None:
    _, recorded = recorded_run(store, grading_id)
    output = recorded.model_copy(update=changes).model_dump_json()
    store.record_stage(StageRecord(stage="run", key="changed", output=output, seconds=0))
    store.link_stages(grading_id, store.list_stages(grading_id) | {"run": "changed"})


def test_a_record_that_says_otherwise_differs(store: Store, executor: EmulatorExecutor) -> None:
    grading_id = grading_of(store, "right")
    cases = recorded_run(store, grading_id)[1].cases
    changed = cases[0].model_copy(update={"outputs_hash": "0" * 64})
    change_run(store, grading_id, cases=(changed, *cases[1:]))
    outcome = run_again(store, grading_id, RerunKind.REPLAY, executor)
    assert outcome.differing == 1
    assert outcome.cases[0].differences == ("outputs",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"executor": "trainium 1"}, "it ran on trainium 1, which this machine does not have"),
        ({"battery_seed": ""}, "holds no seed"),
        ({"cases": ()}, "has no run"),
    ],
    ids=["another executor", "no seed", "no cases"],
)
def test_what_cannot_be_repeated_here_is_one_sentence(
    store: Store, executor: EmulatorExecutor, changes: dict[str, object], words: str
) -> None:
    grading_id = grading_of(store, "right")
    change_run(store, grading_id, **changes)
    with pytest.raises(GraderError, match=words):
        run_again(store, grading_id, RerunKind.REPLAY, executor)


def test_what_never_ran_cannot_run_again(store: Store, executor: EmulatorExecutor) -> None:
    with pytest.raises(GraderError, match="its verdict is compile_error"):
        run_again(store, grading_of(store, "broken"), RerunKind.FRESH, executor)


# The thread that does what the desk's people ask for


class Watched(Reruns):
    """Reruns of what Anna has at a desk; they say when one has ended, and how niced its thread was."""

    def __init__(self, store: Store) -> None:
        store.desk.save_record(
            "settings", "desk", DeskSettings(audit_rate=0.0, second_review_rate=0.0, gold_rate=0.0)
        )
        desk = Desk(store)
        super().__init__(desk)
        place = desk.draw(ANNA, key="an item")
        assert place is not None
        self.review_id = place.item.review.id
        self.settled = threading.Event()
        self.niceness = 0

    def ask_one(self) -> Rerun:
        return self.ask(ANNA, self.review_id, 0, RerunKind.REPLAY, key="one")

    @property
    def only(self) -> Rerun:
        (found,) = self.list(ANNA, self.review_id, 0)
        return found

    def settle(self, rerun: Rerun, came: RerunOutcome | Fault) -> Rerun:
        self.niceness = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        kept = super().settle(rerun, came)
        self.settled.set()
        return kept


def test_what_people_ask_for_is_run_behind_everything_else(store: Store) -> None:
    reruns = Watched(store)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    with Rerunner(store, reruns):
        asked = reruns.ask_one()
        assert reruns.settled.wait(300)
    assert (reruns.only.id, reruns.only.state, reruns.only.fault) == (asked.id, RerunState.ENDED, None)
    assert reruns.only.outcome is not None
    assert reruns.only.outcome.differing == 0
    assert reruns.niceness == max(own, 10)
    assert os.getpriority(os.PRIO_PROCESS, 0) == own


def test_leaving_waits_for_nothing_and_leaves_nothing_running(store: Store) -> None:
    reruns = Watched(store)
    reruns.ask_one()
    with Rerunner(store, reruns):
        pass
    assert reruns.only.state is not RerunState.RUNNING


def test_a_machine_without_a_sandbox_runs_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def only_limits(level: Level) -> LevelProbe:
        return LevelProbe(level, level is Level.LIMITS, "forbidden here")

    monkeypatch.setattr(probe, "probe_level", only_limits)
    reruns = Watched(store)
    reruns.ask_one()
    assert Rerunner(store, reruns).step()
    assert reruns.only.fault is not None
    assert reruns.only.fault.code == "no_sandbox"
    assert "--allow-unsandboxed" not in reruns.only.fault.remedy


def test_a_defect_is_one_sentence_and_the_next_one_runs(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    reruns = Watched(store)
    reruns.ask_one()
    rerunner = Rerunner(store, reruns, "no level")  # type: ignore[arg-type]
    assert rerunner.step()
    assert reruns.only.fault is not None
    assert reruns.only.fault.code == "defect"
    assert "Traceback" not in str(reruns.only.fault)
    assert "could not be run again" in caplog.text
    assert not rerunner.step()
