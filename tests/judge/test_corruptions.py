"""Nothing corrupted survives the citation check, and nothing honest falls to it: evals/citations."""

from __future__ import annotations

import functools

import pytest

from evals.citations.cases import Case, load_cases
from evals.citations.corruptions import CORRUPTIONS, Corruption, corrupt
from evals.citations.run import Outcome, check_case, main, measure
from pipeline.types import Struck

CASES = load_cases()


@functools.cache
def outcome() -> Outcome:
    return measure()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_statement_of_an_honest_draft_is_struck(case: Case) -> None:
    checked = check_case(case)
    assert checked.struck == ()
    assert (checked.draft.scores, checked.draft.feedback) == (case.scores, case.feedback)
    cited = sum(len(statement.citations) for statement in case.statements)
    assert checked.checked == cited


def test_every_corrupted_statement_is_struck() -> None:
    assert outcome().missed == []


def test_enough_was_tried_for_that_to_mean_something() -> None:
    assert len(CASES) >= 20
    assert outcome().drafts >= 200
    assert len([kind for kind, (_, total) in outcome().kinds.items() if total >= 5]) >= 20


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda corruption: corruption.name)
def test_a_corruption_touches_one_statement_and_only_that_falls(corruption: Corruption) -> None:
    made = next(m for case in CASES if (m := corrupt(case, corruption, CASES)) is not None)
    honest = {s.place: s for case in CASES if case.name == made.case.name for s in case.statements}
    changed = [s.place for s in made.case.statements if s != honest[s.place]]
    assert changed == [made.place]
    assert [struck.place for struck in check_case(made.case).struck] == [made.place]


def test_the_script_fails_when_something_is_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = {f"kind {number}": (20, 20) for number in range(10)}
    whole = Outcome(kinds, [], [], 100)
    missed = Outcome({**kinds, "kind 0": (19, 20)}, ["a draft"], [], 100)
    unjust = Outcome(kinds, [], [("a case", Struck(member="m", place="p", text="t", problems=("q",)))], 100)
    few = Outcome({"kind 0": (199, 199)}, [], [], 100)
    codes = []
    for made in (whole, missed, unjust, few):
        monkeypatch.setattr("evals.citations.run.measure", lambda made=made: made)
        codes.append(main())
    assert codes == [0, 1, 1, 1]
    # Wilson's interval of 20 in 20 at 95 %: 1 / (1 + 1.96**2 / 20) is 0.839.
    assert "kind 0                      20 of  20     0.839 to 1.000" in capsys.readouterr().out
