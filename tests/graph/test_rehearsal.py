"""A rehearsal does everything up to the judge, keeps it, and concludes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.config import Settings
from pipeline.graph.batch import grade_batch
from pipeline.graph.rehearsal import Rehearsal, rehearse
from pipeline.graph.services import open_services
from pipeline.judge.calls.pending import CollectingCaller
from pipeline.judge.setup import read_setup
from pipeline.library.submissions import Received, collect
from pipeline.library.tasks import load_tasks
from pipeline.store import Store, open_store
from pipeline.types import Rejection
from tests.cli.terminal import TINY_SOLUTIONS, TINY_TASKS

pytestmark = pytest.mark.sandbox

#: An address where nobody listens: what is sent would fail.
NOBODY = "http://127.0.0.1:1/v1"
SETTINGS = Settings(tasks=TINY_TASKS, judge="openai-compatible", model="m", base_url=NOBODY, workers=1)
#: Two that are right and one whose gate the facts close.
FILES = [TINY_SOLUTIONS / name for name in ("good_add.py", "good_add_swapped.py", "bad_multiplies.py")]


def items(*more: Path) -> list[Received | Rejection]:
    return list(collect([*FILES, *more], load_tasks(TINY_TASKS), None))


def rehearse_with(store: Store, given: list[Received | Rejection]) -> Rehearsal:
    caller = CollectingCaller(read_setup(SETTINGS), store)
    with open_services(store, SETTINGS, caller=caller) as services:
        return rehearse(given, services, caller)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "g.duckdb") as opened:
        yield opened


def test_a_rehearsal_asks_about_what_facts_leave_open_and_concludes_nothing(
    store: Store, tmp_path: Path
) -> None:
    stray = tmp_path / "stray.py"
    stray.write_text("x = 1\n")
    rehearsal = rehearse_with(store, items(stray))
    assert (rehearsal.total, rehearsal.asking, rehearsal.held) == (3, 2, 0)
    assert {question.criteria for question in rehearsal.questions} == {("overlap", "judgement")}
    assert len({question.submission_id for question in rehearsal.questions}) == 2
    assert [rejection.origin for rejection in rehearsal.rejections] == [str(stray)]
    assert {"code", "facts", "claims", "task"} <= {part.what for part in rehearsal.sent}
    ids = [question.grading_id for question in rehearsal.questions]
    assert store.finished(ids) == {}
    assert all(store.load_route(grading_id) is None for grading_id in ids)
    assert store.ledger.list_costs("day") == []


def test_the_same_rehearsal_again_shows_the_same(store: Store) -> None:
    first, second = rehearse_with(store, items()), rehearse_with(store, items())
    assert {question.key for question in first.questions} == {question.key for question in second.questions}


def test_the_real_run_starts_from_what_the_rehearsal_built(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearse_with(store, items())
    rules = Settings(tasks=TINY_TASKS, workers=1)
    with open_services(store, rules) as services:

        def refuse(*_: object, **__: object) -> None:
            pytest.fail("it was built again")

        monkeypatch.setattr(type(services.executor), "build", refuse)
        outcome = grade_batch(items(), services)
    assert (outcome.graded, outcome.waiting, outcome.held, outcome.left) == (1, 2, 0, 0)
