"""The path from labels to certificates keeps its word; see ``python -m evals.certificates.assembled``."""

from __future__ import annotations

from evals.certificates import assembled


def test_what_stands_is_what_was_tested_where_rare_tasks_are_the_better_ones() -> None:
    # With coverage read off the labels that certify, three stores in four promised what was not so.
    (outcome,) = assembled.measure(3, wanted="rare tasks")
    assert (outcome.hits, outcome.trials, outcome.holds) == (0, 3, True)
