"""A judge that says the opposite of a fact is told on, and one that does not is left alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from evals.citations.cases import Case, load_cases
from evals.citations.run import request_for
from pipeline.judge.answer import Draft
from pipeline.judge.contradictions import find_contradictions
from pipeline.judge.protocol import JudgeRequest
from pipeline.judge.rules import RulesJudge
from pipeline.types import Citation, Fact, FeedbackItem, Finding, Owner, Provenance, Score, Severity, Verdict

CASES = {case.name: case for case in load_cases()}


def request(verdict: Verdict, name: str = "rmsnorm-good_fused") -> JudgeRequest:
    return replace(request_for(CASES[name]), verdict=verdict)


def works(text: str, *citations: Citation) -> Draft:
    return Draft((), (FeedbackItem(part="works", text=text, citations=citations),))


def messages(draft: Draft, told: JudgeRequest) -> list[str]:
    return [finding.message for finding in find_contradictions(draft, told)]


def lines(first: int, last: int) -> Citation:
    return Citation(kind="lines", first_line=first, last_line=last, quote="any")


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Verdict.INCORRECT, "The kernel is correct."),
        (Verdict.INCORRECT, "It is numerically correct and fast."),
        (Verdict.INCORRECT, "Loads are wide, and the result is right."),
        (Verdict.INCORRECT, "The kernel produces the correct output for every shape."),
        (Verdict.INCORRECT, "All cases pass."),
        (Verdict.INCORRECT, "All 9 case runs are within tolerance."),
        (Verdict.INCORRECT, "Your code passes all tests."),
        (Verdict.SUSPECT, "The output is correct."),
        (Verdict.COMPILE_ERROR, "The code compiles."),
        (Verdict.COMPILE_ERROR, "This kernel builds for each shape."),
        (Verdict.ILLEGAL_ON_TARGET, "The kernel is legal on trn2."),
        (Verdict.ILLEGAL_ON_TARGET, "It respects all hardware limits."),
        (Verdict.CORRECT, "The kernel is wrong."),
        (Verdict.CORRECT, "The results are incorrect."),
        (Verdict.CORRECT, "The kernel produces wrong values."),
        (Verdict.CORRECT, "It does not compile."),
        (Verdict.CORRECT, "Some cases fail."),
        (Verdict.CORRECT, "The submission fails the tests."),
    ],
)
def test_the_opposite_of_the_verdict_is_found(verdict: Verdict, text: str) -> None:
    (finding,) = find_contradictions(works(text), request(verdict))
    assert (finding.check, finding.severity, finding.owner) == ("judge", Severity.WARNING, Owner.JUDGE)
    assert finding.message.startswith("feedback item 1 says that the kernel is ")
    assert finding.message.endswith(f"the verdict is {verdict.value}")


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Verdict.CORRECT, "The kernel is correct."),
        (Verdict.INCORRECT, "The kernel is wrong."),
        (Verdict.INCORRECT, "The kernel is not correct."),
        (Verdict.INCORRECT, "The tail handling is correct."),
        (Verdict.INCORRECT, "The kernel is correct for full tiles."),
        (Verdict.INCORRECT, "The kernel is correct only where no tail is left."),
        (Verdict.INCORRECT, "The kernel would be correct with a wider accumulator."),
        (Verdict.INCORRECT, "Once line 13 is mended the kernel is correct."),
        (Verdict.INCORRECT, "The docstring claims the result is correct."),
        (Verdict.INCORRECT, "5 of 9 cases pass."),
        (Verdict.INCORRECT, "All cases pass except the largest."),
        (Verdict.INCORRECT, "All loads are wide."),
        (Verdict.INCORRECT, "The right operand stays in SBUF."),
        (Verdict.INCORRECT, "The code compiles."),
        (Verdict.COMPILE_ERROR, "The code builds on the original's idea."),
        (Verdict.COMPILE_ERROR, "The code compiles once the keyword is gone."),
        (Verdict.ILLEGAL_ON_TARGET, "The stationary tile is legal."),
        (Verdict.CORRECT, "The kernel is never wrong."),
        (Verdict.CORRECT, "No cases fail."),
        (Verdict.CORRECT, "A larger shape could make the result wrong."),
        (Verdict.CORRECT, "It is the wrong engine for this step."),
        (Verdict.UNSUPPORTED, "The kernel is correct."),
    ],
)
def test_a_near_miss_is_none(verdict: Verdict, text: str) -> None:
    assert messages(works(text), request(verdict)) == []


def test_a_reason_is_read_too_and_a_remark_on_changes_is_not() -> None:
    score = Score(criterion="accumulation", level=2, source="judge", reason="The kernel is correct.")
    told = request(Verdict.INCORRECT)
    assert len(messages(Draft((score,), ()), told)) == 1
    unscored = score.model_copy(update={"level": None})
    change = FeedbackItem(part="change", text="The kernel is correct.")
    assert messages(Draft((unscored,), (change,)), told) == []


def test_that_a_right_kernel_is_wrong_is_found_in_remarks_on_changes_too() -> None:
    change = FeedbackItem(part="change", text="The kernel gives wrong results for every shape.")
    assert len(messages(Draft((), (change,)), request(Verdict.CORRECT))) == 1
    assert messages(Draft((), (change,)), request(Verdict.INCORRECT)) == []


def test_praise_for_a_line_that_an_error_names_is_found() -> None:
    # The shipped solution's finding: line 24, a moving operand that is too wide.
    told = request(Verdict.ILLEGAL_ON_TARGET, "matmul_tiled-bad_moving_too_wide")
    (first, *rest) = find_contradictions(works("Wide matmuls.", lines(22, 24)), told)
    assert first.lines == (24,)
    assert first.message.startswith("feedback item 1 praises line 24, where legal says: nc_matmul: ")
    assert len(rest) == 1, "there are two errors at that line"
    assert messages(works("Narrow loads.", lines(22, 23)), told) == []
    change = Draft((), (FeedbackItem(part="change", text="Split it.", citations=(lines(24, 24),)),))
    assert messages(change, told) == []


@pytest.mark.parametrize(("level", "count"), [(4, 1), (3, 1), (2, 0), (None, 0)])
def test_a_high_level_against_a_failed_check_is_found(level: int | None, count: int) -> None:
    # Check compute_precision failed on build.least_precise_dtype, which is evidence of accumulation.
    told = request(Verdict.INCORRECT, "softmax_rows-bad_bf16_exponentials")
    score = Score(criterion="accumulation", level=level, source="judge", reason="It sums in float32.")
    found = find_contradictions(Draft((score,), ()), told)
    assert len(found) == count
    for finding in found:
        assert finding.message == (
            f"score accumulation gives level {level}, and check compute_precision failed on"
            " build.least_precise_dtype"
        )
        assert finding.facts == ("build.least_precise_dtype",)


def test_a_high_level_where_the_check_passed_is_none() -> None:
    score = Score(criterion="accumulation", level=4, source="judge", reason="It sums in float32.")
    assert messages(Draft((score,), ()), request(Verdict.CORRECT)) == []


@pytest.mark.parametrize("part", ["works", "change", "next"])
def test_a_modelled_number_called_measured_is_found(part: str) -> None:
    cited = Citation(kind="fact", fact="profile.hbm_bound_seconds", value="7.242e-06")
    item = FeedbackItem.model_validate(
        {"part": part, "text": "Measured, it takes 7.2 µs.", "citations": (cited,)}
    )
    (finding,) = find_contradictions(Draft((), (item,)), request(Verdict.CORRECT))
    assert finding.facts == ("profile.hbm_bound_seconds",)
    assert "no fact that it speaks of was measured" in finding.message


def test_a_measured_number_may_be_called_so() -> None:
    fact = Fact(id="profile.seconds", value=7.2e-06, unit="s", provenance=Provenance.MEASURED)
    told = replace(request(Verdict.CORRECT), facts=(fact,))
    cited = Citation(kind="fact", fact=fact.id, value="7.2e-06")
    assert messages(works("Measured, it takes 7.2 µs.", cited), told) == []


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_an_honest_draft_contradicts_nothing(case: Case) -> None:
    told = request_for(case)
    rules = asyncio.run(RulesJudge().judge(told))
    found: tuple[Finding, ...] = find_contradictions(Draft(case.scores, case.feedback), told)
    assert found == ()
    assert find_contradictions(Draft((), rules.feedback), told) == ()
