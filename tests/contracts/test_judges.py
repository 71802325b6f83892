"""Every judge, whoever it is, answers every request in the same form."""

from __future__ import annotations

import inspect

import pytest

from pipeline.checks import Evidence
from pipeline.judge import JUDGES, Judge, judge_named
from pipeline.judge.citations import check_citations
from pipeline.library.rubrics import list_rubrics
from pipeline.types import Owner, Verdict
from tests.checks.evidence import (
    CODE,
    a_build,
    a_failed_build,
    a_program,
    a_submission,
    a_task,
    an_honest_answer,
)
from tests.judge.test_rules_judge import a_request

every_judge = pytest.mark.parametrize("name", JUDGES)
REQUESTS = {
    "right": an_honest_answer(),
    "not built": Evidence(
        task=a_task(), submission=a_submission(), build=a_failed_build(Verdict.COMPILE_ERROR, line=6)
    ),
    "not ours to judge": Evidence(
        task=a_task(),
        submission=a_submission(),
        build=a_failed_build(Verdict.UNSUPPORTED, owner=Owner.GRADER),
    ),
    "imprecise": an_honest_answer(build=a_build(a_program(compute_dtypes=("bfloat16",)))),
}


@every_judge
def test_a_judge_has_the_members_of_the_protocol(name: str) -> None:
    judge = judge_named(name)
    assert judge.id
    assert inspect.iscoroutinefunction(judge.judge)
    assert list(inspect.signature(type(judge).judge).parameters) == list(
        inspect.signature(Judge.judge).parameters
    )


@every_judge
@pytest.mark.parametrize("rubric", list_rubrics())
@pytest.mark.parametrize("evidence", REQUESTS.values(), ids=REQUESTS)
async def test_a_judge_answers_each_criterion_once_and_cites_what_is_there(
    name: str, rubric: str, evidence: Evidence
) -> None:
    request = a_request(evidence, rubric)
    judgment = await judge_named(name).judge(request)
    assert [score.criterion for score in judgment.scores] == [c.id for c in request.rubric.criteria]
    for score in judgment.scores:
        assert score.level in (None, 0, 1, 2, 3, 4)
        assert score.reason
    assert check_citations(judgment, CODE, request.facts) == []
    assert judgment.judge == judge_named(name).id
