"""What a model whose every answer is hostile can do to the grader and to the author."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evals.citations.cases import load_cases
from evals.citations.run import request_for
from pipeline.judge.answer import Draft
from pipeline.judge.passages import Passages
from pipeline.judge.strike import strike_unsupported
from pipeline.types import Citation, FeedbackItem, Finding, Owner, Severity
from tests.checks.evidence import an_honest_answer
from tests.judge.test_language import LINE, ScriptedCaller, a_role, an_answer, judge_with
from tests.judge.test_rules_judge import a_request

CASE = next(case for case in load_cases() if case.name == "rmsnorm-good_fused")


def struck(text: str, code: str, *citations: Citation) -> tuple[str, ...]:
    """Return what is held against one remark on `code`."""
    request = request_for(CASE)
    request = replace(request, submission=request.submission.model_copy(update={"code": code}))
    item = FeedbackItem(part="change", text=text, citations=citations)
    checked = strike_unsupported(Draft((), (item,)), request, code.split("\n"), "judge m 1")
    return tuple(problem for one in checked.struck for problem in one.problems)


def lines(first: int, last: int, quote: str) -> Citation:
    return Citation(kind="lines", first_line=first, last_line=last, quote=quote)


@pytest.mark.parametrize("figure", ["9", "㉑", "۹", "𝟗", "９"])
def test_a_line_number_of_thousands_of_digits_is_one_that_is_not_cited(figure: str) -> None:
    (problem,) = struck(f"See line {figure * 3900} and here.", "y = x", lines(1, 1, "y = x"))
    assert problem.startswith("line ")
    assert problem.endswith(" is spoken of and not cited")
    assert len(problem) < 60


def test_the_whole_of_a_long_file_is_no_evidence() -> None:
    code = "\n".join(f"x{place} = y" for place in range(500))
    assert struck("It copies `y` often.", code, lines(1, 400, "x1 = y")) == ()
    assert struck("It copies `y` often.", code, lines(1, 401, "x1 = y")) == (
        "it cites 401 lines; 400 is the most",
    )
    halves = (lines(1, 201, "x1 = y"), lines(250, 450, "x300 = y"))
    assert struck("It copies `y` often.", code, *halves) == ("it cites 402 lines; 400 is the most",)
    same = (lines(1, 300, "x1 = y"), lines(101, 400, "x300 = y"))
    assert struck("It copies `y` often.", code, *same) == (), "a line that is cited twice counts once"


@pytest.mark.parametrize("tick", ["`", "\N{FULLWIDTH GRAVE ACCENT}"])
def test_a_remark_of_nothing_but_names_is_no_remark(tick: str) -> None:
    text = f"See {tick}y{tick} " * 101
    assert struck(text, "y = x", lines(1, 1, "y = x")) == ("it has 101 names in backticks; 100 is the most",)


def test_white_space_makes_no_name_of_two_and_no_two_of_one() -> None:
    code = "return tile"
    assert struck("See `return  tile` there.", code, lines(1, 1, code)) == ()
    assert struck("See `returntile` there.", code, lines(1, 1, code)) != ()
    assert struck("See `return ti le` there.", code, lines(1, 1, code)) != ()


def test_of_a_dotted_name_of_any_length_few_parts_are_kept() -> None:
    names = Passages(["y = x  # " + ".".join(["a"] * 100_000)]).list_names([(1, 1)])
    # The names y and x, the whole, and beginnings of at most eight parts; the endings are the same.
    assert len(names) == 2 + 1 + 8
    assert max(len(name) for name in names - {max(names, key=len)}) == len("a.a.a.a.a.a.a.a")


@pytest.mark.parametrize(("part", "kept"), [("works", True), ("next", True), ("change", False)])
async def test_only_a_remark_on_what_must_change_stands_for_what_a_check_found_there(
    part: str, kept: bool
) -> None:
    request = a_request(an_honest_answer(), "performance_quality")
    report = next(r for r in request.reports if r.check not in request.rubric.overall.gates)
    found = Finding(
        check=report.check,
        severity=Severity.ERROR,
        owner=Owner.SUBMISSION,
        message="The load waits for the store before it.",
        lines=(6,),
    )
    changed = report.model_copy(update={"findings": (found,)})
    request = replace(request, reports=tuple(changed if r is report else r for r in request.reports))
    remark = {"part": part, "text": "The call to `load` is where to look.", "citations": [LINE]}
    judgment = await judge_with(ScriptedCaller(judge=[an_answer(feedback=[remark])]), request=request)
    assert remark["text"] in [item.text for item in judgment.feedback]
    assert any(found.message in item.text for item in judgment.feedback) is kept


async def test_an_answer_without_an_end_is_not_bought_again_as_part_of_the_next_question() -> None:
    endless = "x" * 200_001
    caller = ScriptedCaller(judge=[endless, an_answer()])
    judgment = await judge_with(caller)
    assert judgment.fault is None
    (turn,) = caller.asked[1].request.messages
    assert endless not in turn.text
    assert "the answer has 200001 characters" in turn.text


async def test_a_model_is_no_second_opinion_on_itself_by_the_same_answer() -> None:
    unsure, again = an_answer(3, 0.1), an_answer(2, 0.1)
    caller = ScriptedCaller(judge=[unsure, unsure], second=[again, again], arbiter=[unsure])
    await judge_with(caller, judge=a_role(samples=2), second=a_role(samples=2), arbiter=a_role())
    keys = [question.key for question in caller.asked]
    assert len(keys) == 5
    assert len(set(keys)) == 5


async def test_asking_for_more_samples_buys_only_those() -> None:
    async def keys_of(**role: Any) -> list[str]:
        caller = ScriptedCaller(judge=[an_answer()] * 3)
        await judge_with(caller, judge=a_role(**role))
        return [question.key for question in caller.asked]

    assert await keys_of(samples=1) == (await keys_of(samples=3))[:1]
