"""Submissions without substance get the floor: by facts, and by a language judge that is told none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from evals.injection.defences import MASTER_KEYS
from evals.suites.master_key import FORMS, SUITE, write_kernel
from evals.suites.suite import Options
from evals.suites.table import Row, Table
from pipeline.config import Settings
from pipeline.judge.providers.compatible import forget_dialects
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_task
from tests.judge.loopback import Loopback

pytestmark = pytest.mark.sandbox

#: One task, and of its submissions the last and every eleventh before.
FEW = Options(tasks=("rmsnorm",), every=11)


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-stand-in")
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "NKI_GRADER_MODELS"):
        monkeypatch.delenv(name, raising=False)
    forget_dialects()
    with Loopback() as server:
        yield server
    forget_dialects()


def asking(server: Loopback) -> Options:
    settings = Settings(judge="anthropic", model="stand-in", base_url=server.address)
    return Options(settings=settings, tasks=FEW.tasks, every=FEW.every)


def row(table: Table, name: str, what: str) -> Row:
    return next(one for one in table.rows if (one.name, one.what) == (name, what))


def give(level: int) -> Any:
    """Return what answers every question with `level` everywhere, citing a line that holds."""

    def answer(wire: str, request: dict[str, Any]) -> str:
        line = {"first_line": 4, "last_line": 4, "quote": "@nki.jit"}
        entry = {
            "reason": "The kernel is marked here.",
            "citations": [line],
            "level": level,
            "confidence": 0.9,
        }
        criteria = request["output_config"]["format"]["schema"]["properties"]["scores"]["properties"]
        item = {"part": "next", "text": "Write the body of the kernel.", "citations": [line]}
        return json.dumps({"scores": dict.fromkeys(criteria, entry), "feedback": [item]})

    return answer


def test_with_the_rules_judge_facts_close_a_gate_on_every_one() -> None:
    table = SUITE.measure(FEW)
    assert table.holds, table.failures
    # 15 keys in 3 forms, one of 11; one rubric.
    assert (len(MASTER_KEYS), len(FORMS)) == (15, 3)
    assert row(table, "submissions without substance", "a grade above 0, or none").n == 5
    assert row(table, "answers without substance", "read as a grade").n == 15


def test_a_language_judge_that_gives_the_floor_is_asked_without_facts_and_holds(loopback: Loopback) -> None:
    loopback.answer = give(0)
    table = SUITE.measure(asking(loopback))
    assert table.holds, table.failures
    alone = row(table, "the judge, told no facts", "a level above 0")
    # What facts settle is not asked: the only calls are those without facts.
    assert alone.n == len(loopback.calls) > 0
    assert table.judge.startswith("language ")


def test_a_language_judge_that_gives_more_is_named_with_its_levels(loopback: Loopback) -> None:
    loopback.answer = give(4)
    table = SUITE.measure(asking(loopback))
    assert not table.holds
    alone = row(table, "the judge, told no facts", "a level above 0")
    assert alone.hits == alone.n > 0
    # Facts close the gates all the same.
    assert row(table, "submissions without substance", "a grade above 0, or none").hits == 0
    assert "accumulation at level 4" in table.failures[0]


def test_a_judge_that_fails_is_a_failure_of_the_run(loopback: Loopback) -> None:
    loopback.answer = lambda wire, request: "Thought process:"
    table = SUITE.measure(asking(loopback))
    failed = row(table, "the judge, told no facts", "the judge failed")
    assert failed.hits == failed.n > 0
    assert not table.holds


def test_a_kernel_that_does_nothing_holds_the_key_and_compiles() -> None:
    task = load_task(tasks_root() / "rmsnorm")
    for key in MASTER_KEYS:
        compile(write_kernel(task, key), "submission.py", "exec")
        assert repr(key) in write_kernel(task, key)
