"""The language judge: models draft, machines check what can be checked, and nothing is believed unseen.

What facts settle is never asked: criteria that checks score, and submissions whose gate is closed, cost no
call. A judge that fails, refuses or answers garbage is our fault and named as such; it lowers no level.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.judge.answer import AnswerError, Draft, answer_schema
from pipeline.judge.calls.caller import Caller, Question
from pipeline.judge.calls.spending import Spending
from pipeline.judge.consensus import Member, agree, choose_speaker, find_dissent
from pipeline.judge.contradictions import find_contradictions
from pipeline.judge.feedback import write_feedback
from pipeline.judge.prompt import RenderedPrompt, estimate_tokens, render_prompt
from pipeline.judge.protocol import JudgeRequest
from pipeline.judge.providers.models import find_model
from pipeline.judge.providers.provider import Message, ModelRequest, ProviderError
from pipeline.judge.replies import (
    Unreadable,
    explain_invalid,
    explain_too_long,
    read_reply,
    repair_question,
)
from pipeline.judge.rules import RulesJudge
from pipeline.judge.scoring import grade_overall, score_checks
from pipeline.judge.standard import check_feedback
from pipeline.judge.statements import Evidence, collect_evidence
from pipeline.judge.strike import strike_unsupported
from pipeline.types import (
    Completion,
    Fault,
    FeedbackItem,
    Finding,
    JudgeRole,
    JudgeSetup,
    Judgment,
    Owner,
    Score,
    Severity,
    hash_text,
)

__all__ = ["VERSION", "LanguageJudge"]

#: Raised whenever the same answers can make another judgment; part of every fingerprint and content key.
VERSION = 1


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of one sample: a member, or why there is none; and what it took."""

    member: Member | None
    fault: Fault | None
    completions: tuple[Completion, ...]


@dataclass(frozen=True, slots=True)
class _Matter:
    """What all members of a panel share about one submission."""

    request: JudgeRequest
    asked: tuple[str, ...]
    """Criteria."""
    rendered: RenderedPrompt
    schema: Mapping[str, Any]
    evidence: Evidence

    @staticmethod
    def open(request: JudgeRequest, asked: tuple[str, ...]) -> _Matter:
        rendered = render_prompt(request)
        evidence = collect_evidence(request, rendered.shown)
        return _Matter(request, asked, rendered, answer_schema(request.rubric), evidence)


class LanguageJudge:
    """Asks the models of a setup.

    Args:
        setup: Who is asked, and when the next one is.
        caller: Remembers, limits, repeats and pays for calls.
        draw: Label under which answers are asked for anew; empty to use those that are known.
    """

    def __init__(self, setup: JudgeSetup, caller: Caller, *, draw: str = "") -> None:
        self._setup = setup
        self._caller = caller
        self._draw = draw
        self._rules = RulesJudge()

    @property
    def id(self) -> str:
        """Name, version, models, a hash of every parameter, and the draw."""
        drawn = f" draw {self._draw}" if self._draw else ""
        return f"language {VERSION} {self._setup.identity()}{drawn}"

    @property
    def in_flight(self) -> int:
        """Enough to use what a provider takes at once; each waits for seconds and holds next to nothing."""
        return 128

    @property
    def spending(self) -> Spending | None:
        """What the caller asked and paid."""
        return self._caller.spending

    @property
    def stopped(self) -> Fault | None:
        """Why no model can be asked any more in this run, or None."""
        return self._caller.stopped

    async def judge(self, request: JudgeRequest) -> Judgment:
        """Return the panel's draft, with everything taken out that its citations do not carry.

        Raises:
            JudgmentDeferred: If the caller puts questions off, or can ask nothing more in this run; answers
                that were on their way are kept.
        """
        settled = score_checks(request.rubric, request.reports, request.facts)
        asked = tuple(c.id for c in request.rubric.criteria if c.source == "judge")
        if not asked or grade_overall(request.rubric, settled, request.reports).closed_gates:
            drafted = await self._rules.judge(request)
            return drafted.model_copy(update={"judge": self.id})
        matter = _Matter.open(request, asked)
        members: list[Member] = []
        answers: list[_Answer] = []
        for name, role in self._setup.roles.items():
            if not self._is_needed(name, members, request):
                continue
            found = await self._ask_role(name, role, matter)
            answers += found
            members += [answer.member for answer in found if answer.member is not None]
        return self._conclude(request, settled, members, answers)

    async def fetch(self) -> bool:
        """Get the answers that were put off; return whether there is anything new to go on with."""
        return await self._caller.fetch()

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._caller.aclose()

    def _is_needed(self, role: str, members: Sequence[Member], request: JudgeRequest) -> bool:
        if role == "judge" or not members:
            return True
        if role == "arbiter":
            return bool(find_dissent(members, request.rubric))
        scores = agree(members, request.rubric)
        return any(
            score.dispersion > 0 or (score.confidence or 0.0) < self._setup.escalate_below for score in scores
        )

    def _number_samples(self, name: str) -> range:
        """Return the numbers of a role's samples: roles that one model plays share none of its answers."""
        asker = _identify(self._setup.roles[name])
        before = [other for other in _before(name, self._setup.roles) if _identify(other) == asker]
        first = sum(other.samples for other in before)
        return range(first, first + self._setup.roles[name].samples)

    async def _ask_role(self, name: str, role: JudgeRole, matter: _Matter) -> list[_Answer]:
        model = find_model(role)
        texts = (*matter.rendered.system, matter.rendered.user)
        needed = sum(map(estimate_tokens, texts)) + role.max_output_tokens
        if needed > model.context_tokens:
            return [_Answer(None, explain_too_long(role, needed, model), ())]
        samples = await asyncio.gather(
            *(
                self._ask_member(name, role, matter, sample, number)
                for sample, number in enumerate(self._number_samples(name))
            ),
            # What is on its way is paid: it is kept, whatever became of the others.
            return_exceptions=True,
        )
        answers = []
        for sample in samples:
            if isinstance(sample, BaseException):
                raise sample
            answers.append(sample)
        return answers

    async def _ask_member(
        self,
        role_name: str,
        role: JudgeRole,
        matter: _Matter,
        sample: int,
        number: int,
    ) -> _Answer:
        request, rendered = matter.request, matter.rendered
        question = Question(
            role_name=role_name,
            role=role,
            request=ModelRequest(
                model=role.model,
                system=rendered.system,
                messages=(Message("user", rendered.user),),
                schema=matter.schema,
                schema_name="judgment",
                max_output_tokens=role.max_output_tokens,
                effort=role.effort,
                temperature=role.temperature,
            ),
            key=hash_text("answer", _identify(role), rendered.identity, matter.schema, number, self._draw),
            grading_id=request.grading_id,
            submission_id=request.submission.id,
            criteria=matter.asked,
        )
        completions: list[Completion] = []
        fault: Fault | None = None
        member: Member | None = None
        name = f"{role_name} {role.model} {sample + 1}"
        try:
            completions.append(await self._caller.ask(question))
            draft: Draft | AnswerError = read_reply(completions[-1], request, role)
            if isinstance(draft, AnswerError):
                completions.append(await self._caller.ask(repair_question(question, completions[-1], draft)))
                draft = read_reply(completions[-1], request, role)
            if isinstance(draft, AnswerError):
                fault = explain_invalid(role, draft)
            else:
                checked = strike_unsupported(draft, request, rendered.shown, name, evidence=matter.evidence)
                member = Member(role_name, name, checked.draft, checked.struck, checked.checked)
        except ProviderError as error:
            fault = error.fault
        except Unreadable as error:
            fault = error.fault
        return _Answer(member, fault, tuple(completions))

    def _conclude(
        self,
        request: JudgeRequest,
        settled: Sequence[Score],
        members: list[Member],
        answers: Sequence[_Answer],
    ) -> Judgment:
        faults = [answer.fault for answer in answers if answer.fault is not None]
        given = {score.criterion: score for score in settled}
        if members:
            drafted = agree(members, request.rubric)
            given |= {score.criterion: score for score in drafted}
        scores = tuple(
            given.get(criterion.id)
            or Score(
                criterion=criterion.id,
                level=None,
                source=criterion.source,
                reason=f"the judge gave no usable answer: {faults[0].message}",
            )
            for criterion in request.rubric.criteria
        )
        overall = grade_overall(request.rubric, scores, request.reports)
        known = write_feedback(request, scores, overall)
        feedback = known
        findings: list[Finding] = []
        if members:
            speaker = choose_speaker(members, drafted)
            feedback = _complete(speaker.draft.feedback, known)
            findings += find_contradictions(Draft(scores=drafted, feedback=feedback), request)
            shortcomings = check_feedback(
                feedback,
                scores,
                overall,
                request.rubric,
                reports=request.reports,
                names=(request.task.entry,),
            )
            findings += [_note(f"the feedback falls short: {line}") for line in shortcomings]
            findings += [_note(f"a member of the panel gave no answer: {fault}") for fault in faults]
        return Judgment(
            judge=self.id,
            scores=scores,
            feedback=feedback,
            overall=overall,
            fault=None if members else faults[0],
            usage=_add_up(answers),
            struck=tuple(struck for member in members for struck in member.struck),
            citations_checked=sum(member.checked for member in members),
            findings=tuple(findings),
        )


def _identify(role: JudgeRole) -> dict[str, Any]:
    """Return what shapes one answer of a role; how many are asked for does not."""
    return {name: value for name, value in role.identity().items() if name != "samples"}


def _before(name: str, roles: Mapping[str, JudgeRole]) -> list[JudgeRole]:
    order = list(roles)
    return [roles[other] for other in order[: order.index(name)]]


def _complete(drafted: Sequence[FeedbackItem], known: Sequence[FeedbackItem]) -> tuple[FeedbackItem, ...]:
    """Return the draft's feedback, and what checks found that it passes over; parts stay in order."""
    if not drafted:
        return tuple(known)
    # Praise of a line takes back nothing that was found there.
    touched = {
        (citation.kind, citation.first_line, citation.fact)
        for item in drafted
        if item.part == "change"
        for citation in item.citations
    }
    missing = [
        item
        for item in known
        if item.part == "change"
        and not any((c.kind, c.first_line, c.fact) in touched for c in item.citations)
    ]
    steps = [item for item in drafted if item.part == "next"]
    if not steps:
        missing += [item for item in known if item.part == "next"]
    order = ("works", "change", "next")
    return tuple(sorted((*drafted, *missing), key=lambda item: order.index(item.part)))


def _add_up(answers: Sequence[_Answer]) -> dict[str, int]:
    used = [completion.usage for answer in answers for completion in answer.completions]
    if not used:
        return {}
    return {
        "calls": len(used),
        "input_tokens": sum(usage.input_tokens for usage in used),
        "cache_read_tokens": sum(usage.cache_read_tokens for usage in used),
        "cache_write_tokens": sum(usage.cache_write_tokens for usage in used),
        "output_tokens": sum(usage.output_tokens for usage in used),
    }


def _note(message: str) -> Finding:
    return Finding(check="judge", severity=Severity.INFO, message=message, owner=Owner.JUDGE)
