"""What the language judge makes of answers: who is asked, what stands, and whose fault a failure is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.errors import GraderError
from pipeline.judge import JudgeRequest
from pipeline.judge.calls.question import Question
from pipeline.judge.language import LanguageJudge
from pipeline.judge.providers.provider import ProviderError
from pipeline.judge.rules import RulesJudge
from pipeline.types import (
    Completion,
    Fault,
    JudgeRole,
    JudgeSetup,
    Judgment,
    Owner,
    Severity,
    StopReason,
    Usage,
    Verdict,
)
from tests.checks.evidence import CODE, a_failed_build, a_profile, a_submission, a_task, an_honest_answer
from tests.judge.test_rules_judge import a_request as request_of

LINE = {"first_line": 6, "last_line": 6, "quote": "y = load(x)"}
JUDGED = ("overlap", "judgement")


def a_request() -> JudgeRequest:
    return request_of(an_honest_answer(), "performance_quality")


def an_answer(level: int | None = 3, sure: float = 0.9, **changes: Any) -> str:
    entry = {"reason": "The tile is loaded once.", "citations": [LINE], "level": level, "confidence": sure}
    answer: dict[str, Any] = {
        "scores": dict.fromkeys(JUDGED, entry),
        "feedback": [
            {
                "part": "works",
                "text": "The call to `load` stands once, before the return.",
                "citations": [LINE],
            },
            {"part": "next", "text": "Load the next tile while this one computes.", "citations": [LINE]},
        ],
    }
    return json.dumps(answer | changes)


def completed(text: str, stop: StopReason = "complete", **more: Any) -> Completion:
    return Completion(text=text, stop=stop, model="m", usage=Usage(input_tokens=10, output_tokens=5), **more)


def out_of_reach() -> ProviderError:
    fault = Fault(owner=Owner.ENVIRONMENT, code="overloaded", message="the provider is overloaded")
    return ProviderError(fault)


class ScriptedCaller:
    """Answers each role from its script, and remembers what was asked."""

    def __init__(self, **scripts: list[Completion | Exception | str]) -> None:
        self.scripts = scripts
        self.asked: list[Question] = []
        self.stopped: Fault | None = None
        self.spending = None

    async def ask(self, question: Question) -> Completion:
        self.asked.append(question)
        answer = self.scripts[question.role_name].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return completed(answer) if isinstance(answer, str) else answer

    async def aclose(self) -> None:
        pass


def a_role(model: str = "m", **changes: Any) -> JudgeRole:
    return JudgeRole(provider="openai-compatible", model=model, base_url="http://127.0.0.1:1/v1", **changes)


async def judge_with(
    caller: ScriptedCaller, *, request: JudgeRequest | None = None, draw: str = "", **setup: Any
) -> Judgment:
    roles = {"judge": a_role()} | setup
    return await LanguageJudge(JudgeSetup(**roles), caller, draw=draw).judge(request or a_request())


def levels(judgment: Judgment) -> dict[str, int | None]:
    return {score.criterion: score.level for score in judgment.scores if score.criterion in JUDGED}


async def test_a_good_answer_becomes_levels_feedback_and_usage() -> None:
    judgment = await judge_with(ScriptedCaller(judge=[an_answer(3)]))
    assert judgment.fault is None
    assert levels(judgment) == {"overlap": 3, "judgement": 3}
    assert judgment.usage == {
        "calls": 1, "input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 0, "cache_write_tokens": 0,
    }  # fmt: skip
    assert judgment.struck == ()
    assert judgment.feedback[0].part == "works"
    assert judgment.citations_checked == 4


async def test_what_checks_score_is_neither_asked_nor_overruled() -> None:
    caller = ScriptedCaller(judge=[an_answer(0)])
    judgment = await judge_with(caller)
    settled = await RulesJudge().judge(a_request())
    known = {score.criterion: score for score in settled.scores if score.source.startswith("check:")}
    assert {s.criterion: s for s in judgment.scores if s.source.startswith("check:")} == known
    assert caller.asked[0].criteria == JUDGED


@pytest.mark.parametrize("verdict", [Verdict.COMPILE_ERROR, Verdict.ILLEGAL_ON_TARGET])
async def test_a_closed_gate_costs_no_call_and_stays_closed(verdict: Verdict) -> None:
    from pipeline.checks import Evidence

    evidence = Evidence(task=a_task(), submission=a_submission(), build=a_failed_build(verdict, line=6))
    caller = ScriptedCaller()
    judgment = await judge_with(caller, request=request_of(evidence, "performance_quality"))
    assert caller.asked == []
    assert judgment.overall.closed_gates
    assert judgment.overall.value == 0
    assert judgment.fault is None
    assert judgment.feedback


async def test_a_statement_without_evidence_is_struck_and_its_criterion_unscored() -> None:
    wrong = {**LINE, "quote": "y = store(x)"}
    scores = {
        "overlap": {"reason": "It stores early.", "citations": [wrong], "level": 4, "confidence": 1.0},
        "judgement": {"reason": "It loads once.", "citations": [LINE], "level": 3, "confidence": 0.9},
    }
    judgment = await judge_with(ScriptedCaller(judge=[an_answer(scores=scores)]))
    assert levels(judgment) == {"overlap": None, "judgement": 3}
    (struck,) = judgment.struck
    assert (struck.place, struck.text) == ("score overlap", "It stores early.")


async def test_an_invalid_answer_is_sent_back_once_with_what_is_wrong() -> None:
    caller = ScriptedCaller(judge=["not json", an_answer(2)])
    judgment = await judge_with(caller)
    assert levels(judgment) == {"overlap": 2, "judgement": 2}
    assert judgment.usage["calls"] == 2
    first, second = caller.asked
    assert second.key != first.key
    assert [message.role for message in second.request.messages] == ["user", "assistant", "user"]
    assert second.request.messages[1].text == "not json"


async def test_an_empty_answer_is_not_quoted_back() -> None:
    caller = ScriptedCaller(judge=["", an_answer(2)])
    await judge_with(caller)
    assert [message.role for message in caller.asked[1].request.messages] == ["user"]


@pytest.mark.parametrize(
    ("answers", "code", "owner"),
    [
        (["not json", "again not"], "not_json", Owner.JUDGE),
        (["", ""], "empty_answer", Owner.JUDGE),
        ([":", "Thought process:"], "not_json", Owner.JUDGE),
        ([an_answer(9), an_answer(9)], "level_not_offered", Owner.JUDGE),
        ([completed("", "refusal", refusal="policy")], "refused", Owner.JUDGE),
        ([completed(an_answer(4), "refusal")], "refused", Owner.JUDGE),
        ([completed(an_answer(4), "length")], "truncated", Owner.JUDGE),
        ([completed("", "context")], "too_long_for_model", Owner.JUDGE),
        ([out_of_reach()], "overloaded", Owner.ENVIRONMENT),
    ],
)
async def test_a_judge_that_fails_is_at_fault_and_lowers_nothing(
    answers: list[Any], code: str, owner: Owner
) -> None:
    judgment = await judge_with(ScriptedCaller(judge=answers))
    assert judgment.fault is not None
    assert (judgment.fault.code, judgment.fault.owner) == (code, owner)
    assert levels(judgment) == {"overlap": None, "judgement": None}
    by_rules = await RulesJudge().judge(a_request())
    settled = [score for score in by_rules.scores if score.criterion not in JUDGED]
    assert [score for score in judgment.scores if score.criterion not in JUDGED] == settled
    assert judgment.overall.value == by_rules.overall.value
    assert judgment.feedback


async def test_samples_are_separate_questions_and_one_failure_among_them_is_noted() -> None:
    caller = ScriptedCaller(judge=[an_answer(3), out_of_reach(), an_answer(3)])
    judgment = await judge_with(caller, judge=a_role(samples=3))
    assert len({question.key for question in caller.asked}) == 3
    assert judgment.fault is None
    assert [vote.level for vote in judgment.scores[-1].votes] == [3, 3]
    assert any("overloaded" in finding.message for finding in judgment.findings)


async def test_a_sure_judge_is_not_followed_by_a_second() -> None:
    caller = ScriptedCaller(judge=[an_answer(3, 0.9)])
    await judge_with(caller, second=a_role("strong"))
    assert [question.role_name for question in caller.asked] == ["judge"]


async def test_an_unsure_judge_is_followed_by_a_second_and_dissent_by_an_arbiter() -> None:
    caller = ScriptedCaller(judge=[an_answer(4, 0.5)], second=[an_answer(1)], arbiter=[an_answer(2)])
    judgment = await judge_with(caller, second=a_role("strong"), arbiter=a_role("other"))
    assert [question.role_name for question in caller.asked] == ["judge", "second", "arbiter"]
    assert levels(judgment) == {"overlap": 2, "judgement": 2}
    assert judgment.scores[-1].dispersion == 3
    assert [vote.member for vote in judgment.scores[-1].votes] == [
        "judge m 1",
        "second strong 1",
        "arbiter other 1",
    ]


async def test_agreement_of_the_second_needs_no_arbiter() -> None:
    caller = ScriptedCaller(judge=[an_answer(2, 0.5)], second=[an_answer(2)])
    await judge_with(caller, second=a_role("strong"), arbiter=a_role("other"))
    assert [question.role_name for question in caller.asked] == ["judge", "second"]


async def test_samples_that_differ_call_the_second_however_sure_they_are() -> None:
    caller = ScriptedCaller(judge=[an_answer(3, 1.0), an_answer(2, 1.0)], second=[an_answer(2)])
    await judge_with(caller, judge=a_role(samples=2), second=a_role("strong"))
    assert [question.role_name for question in caller.asked] == ["judge", "judge", "second"]


async def test_a_judge_out_of_reach_is_replaced_by_the_second() -> None:
    caller = ScriptedCaller(judge=[out_of_reach()], second=[an_answer(3)])
    judgment = await judge_with(caller, second=a_role("strong"))
    assert judgment.fault is None
    assert levels(judgment) == {"overlap": 3, "judgement": 3}


async def test_a_prompt_that_no_model_holds_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = ScriptedCaller()
    judgment = await judge_with(caller, judge=a_role(max_output_tokens=10_000_000))
    assert caller.asked == []
    assert judgment.fault is not None
    assert judgment.fault.code == "too_long_for_model"


async def test_the_key_of_a_question_holds_all_that_shapes_the_answer_and_not_the_random_mark() -> None:
    async def key_of(request: JudgeRequest | None = None, draw: str = "", **role: Any) -> str:
        caller = ScriptedCaller(judge=[an_answer()])
        await judge_with(caller, request=request, draw=draw, judge=a_role(**role))
        return caller.asked[0].key

    request = a_request()
    other_code = JudgeRequest(
        **{name: getattr(request, name) for name in request.__dataclass_fields__}
        | {"submission": request.submission.model_copy(update={"code": CODE + "\nz = 1\n"})}
    )
    keys = [
        await key_of(),
        await key_of(draw="again"),
        await key_of(model="other"),
        await key_of(effort="high"),
        await key_of(temperature=0.5),
        await key_of(max_output_tokens=4000),
        await key_of(request=other_code),
    ]
    assert len(set(keys)) == len(keys)
    assert await key_of() == keys[0]
    assert await key_of(key_variable="OTHER_KEY") == keys[0]


async def test_what_is_paid_for_is_kept_when_another_sample_runs_into_the_cap() -> None:
    class Capped(GraderError):
        pass

    cap = Capped(Fault(owner=Owner.ENVIRONMENT, code="spending_cap", message="enough"))
    caller = ScriptedCaller(judge=[cap, an_answer()])
    with pytest.raises(Capped):
        await judge_with(caller, judge=a_role(samples=2))
    assert len(caller.asked) == 2, "the other sample was under way and was not given up"


async def test_a_claim_against_the_verdict_is_a_finding_against_the_judge() -> None:
    feedback = [
        {"part": "change", "text": "The kernel gives wrong results for every shape.", "citations": [LINE]},
        {"part": "next", "text": "Mend the load in the first line of the loop.", "citations": [LINE]},
    ]
    judgment = await judge_with(ScriptedCaller(judge=[an_answer(1, feedback=feedback)]))
    against = [finding for finding in judgment.findings if finding.severity is Severity.WARNING]
    assert against
    assert all(finding.owner is Owner.JUDGE for finding in against)


async def test_findings_that_the_draft_passes_over_are_told_to_the_author_all_the_same() -> None:
    small = a_profile(dma_bytes_per_partition=64, hbm_traffic_ratio=4.0)
    request = request_of(an_honest_answer(profile=small), "performance_quality")
    known = (await RulesJudge().judge(request)).feedback
    told = {item.text for item in known if item.part == "change" and item.citations}
    assert told, "the profile is made so that checks have something to say"
    judgment = await judge_with(ScriptedCaller(judge=[an_answer()]), request=request)
    assert judgment.usage["calls"] == 1
    assert told <= {item.text for item in judgment.feedback}
