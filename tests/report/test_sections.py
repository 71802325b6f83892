"""The numbers of a report, counted by hand from the batch in `tests.report.examples`."""

from __future__ import annotations

import pytest

from pipeline.report.collect import Collector
from pipeline.report.sections import Sections, Standing, Step, count_sections
from pipeline.store import Store
from pipeline.types import Verdict
from tests.report.examples import BATCH


@pytest.fixture(scope="module")
def sections(store: Store) -> Sections:
    collector = Collector(store)
    batch, rows = collector.load_batch(BATCH)
    return count_sections(batch, rows, (collector.load_detail(row) for row in rows))


def test_the_funnel_loses_each_input_once_and_says_why(sections: Sections) -> None:
    assert sections.funnel == (
        Step("received", 7, ()),
        Step("admitted", 5, (("compile_error", 1), ("unknown_task", 1))),
        Step("built", 2, (("compile_error", 1), ("held", 1), ("not reached yet", 1))),
        Step("legal", 2, ()),
        Step("correct", 1, (("incorrect", 1),)),
    )


def test_standings_add_up_to_what_was_received(sections: Sections) -> None:
    assert sections.standing == Standing(released=2, waiting=2, decided=0, held=1, open=1, rejected=1)


def test_reasons_to_ask_a_person_are_counted_without_their_particulars(sections: Sections) -> None:
    assert sections.waiting_reasons == (
        ("no certificate covers this judge yet", 1),
        ("wrong on the emulator", 1),
    )


def test_a_rate_counts_only_what_says_something_about_the_author(sections: Sections) -> None:
    (task,) = sections.tasks
    assert task.verdicts == {
        Verdict.CORRECT: 1,
        Verdict.INCORRECT: 1,
        Verdict.COMPILE_ERROR: 2,
        None: 2,
    }
    assert (task.correct.count, task.correct.total) == (1, 4)
    assert (task.passed.count, task.passed.total) == (1, 4)
    assert task.overall == (0.0, 0.0, 0.0, 1.0)
    assert task.pass_mark == 0.7


def test_levels_are_counted_per_criterion_with_unscored_apart(sections: Sections) -> None:
    (criteria,) = sections.criteria.values()
    assert list(sections.criteria) == ["numerical_correctness v7"]
    margin, explained = criteria
    assert (margin.levels, margin.unscored) == ((1, 0, 0, 0, 1), 2)
    assert (explained.levels, explained.unscored) == ((0, 0, 0, 0, 0), 1)


def test_checks_are_counted_by_status(sections: Sections) -> None:
    counts = {count.check: (count.passed, count.failed, count.unknown) for count in sections.checks}
    assert counts == {
        "correct": (1, 1, 0),
        "compiles": (0, 2, 0),
        "hbm_traffic": (0, 1, 0),
        "speed_of_light": (0, 0, 1),
    }


def test_identity_names_what_graded_the_batch(sections: Sections) -> None:
    assert sections.identity.executors == ("emulator 1",)
    assert sections.identity.sandboxes == ("bubblewrap",)
    assert sections.identity.rubrics == ("numerical_correctness v7",)


def test_rows_are_ordered_by_task_and_origin(sections: Sections) -> None:
    origins = [row.origin for row in sections.rows]
    assert origins == sorted(origins)
