"""Every judge, whoever it is, answers every request in the same form."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from pipeline.checks import Evidence
from pipeline.config import Settings
from pipeline.judge import JUDGES, Judge, open_judge
from pipeline.judge.citations import check_citations
from pipeline.judge.providers.compatible import forget_dialects
from pipeline.library.rubrics import list_rubrics
from pipeline.store import Store, open_store
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
from tests.judge.loopback import Loopback
from tests.judge.test_rules_judge import a_request

Opener = Callable[[str], Judge]

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


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-a-key-that-opens-nothing")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-opens-nothing")
    monkeypatch.delenv("NKI_GRADER_MODELS", raising=False)
    forget_dialects()
    with Loopback() as server:
        yield server
    forget_dialects()


@pytest.fixture
def store(tmp_path: Path, empty_database: Path) -> Iterator[Store]:
    with open_store(shutil.copy(empty_database, tmp_path / "g.duckdb")) as opened:
        yield opened


@pytest.fixture
async def open_named(loopback: Loopback, store: Store) -> AsyncIterator[Opener]:
    """Open a judge by name, over the loopback server where it asks models; close them all at the end."""
    opened: list[Judge] = []

    def open_one(name: str) -> Judge:
        settings = Settings(judge=name)
        if name != "rules":
            settings = Settings(judge=name, model="model-1", base_url=loopback.url(name))
        opened.append(open_judge(settings, store))
        return opened[-1]

    yield open_one
    for judge in opened:
        await judge.aclose()


@every_judge
async def test_a_judge_has_the_members_of_the_protocol(name: str, open_named: Opener) -> None:
    judge = open_named(name)
    assert judge.id
    assert judge.stopped is None
    for member in ("judge", "fetch", "aclose"):
        method = getattr(judge, member)
        assert inspect.iscoroutinefunction(method), member
        protocol = inspect.signature(getattr(Judge, member))
        assert list(inspect.signature(getattr(type(judge), member)).parameters) == list(protocol.parameters)


@every_judge
@pytest.mark.parametrize("rubric", list_rubrics())
@pytest.mark.parametrize("evidence", REQUESTS.values(), ids=REQUESTS)
async def test_a_judge_answers_each_criterion_once_and_cites_what_is_there(
    name: str, rubric: str, evidence: Evidence, open_named: Opener
) -> None:
    request = a_request(evidence, rubric)
    judge = open_named(name)
    judgment = await judge.judge(request)
    assert [score.criterion for score in judgment.scores] == [c.id for c in request.rubric.criteria]
    for score in judgment.scores:
        assert score.level in (None, 0, 1, 2, 3, 4)
        assert score.reason
    assert check_citations(judgment, CODE, request.facts) == []
    assert judgment.judge == judge.id
    assert judgment.fault is None


@every_judge
async def test_a_judge_leaves_a_closed_gate_closed_and_asks_nobody_about_it(
    name: str, open_named: Opener, loopback: Loopback
) -> None:
    for rubric in list_rubrics():
        judgment = await open_named(name).judge(a_request(REQUESTS["not built"], rubric))
        assert (judgment.overall.value, judgment.overall.passed) == (0.0, False)
    assert loopback.requests == []


@pytest.mark.parametrize("name", [name for name in JUDGES if name != "rules"])
async def test_a_judge_that_asks_models_scores_what_the_rules_leave_open(
    name: str, open_named: Opener, loopback: Loopback
) -> None:
    request = a_request(REQUESTS["right"], "performance_quality")
    judgment = await open_named(name).judge(request)
    # The loopback server answers level 2 to everything that it is asked.
    levels = {score.criterion: score.level for score in judgment.scores if score.source == "judge"}
    assert levels == {"overlap": 2, "judgement": 2}
    assert len(loopback.calls) == 1


@every_judge
async def test_a_judge_serves_again_after_it_was_closed(name: str, open_named: Opener) -> None:
    judge = open_named(name)
    request = a_request(REQUESTS["right"], "performance_quality")
    first = await judge.judge(request)
    await judge.aclose()
    await judge.aclose()
    again = await judge.judge(request)
    assert (again.scores, again.overall) == (first.scores, first.overall)
