"""What a model's reply is worth: a draft, a reason to ask once more, or a fault of the judge."""

from __future__ import annotations

from dataclasses import replace

from pipeline.errors import GraderError
from pipeline.judge.answer import AnswerError, Draft, read_answer, write_repair
from pipeline.judge.calls.question import Question
from pipeline.judge.protocol import JudgeRequest
from pipeline.judge.providers.models import Model
from pipeline.judge.providers.provider import Message
from pipeline.types import Completion, Fault, JudgeRole, Owner, hash_text

__all__ = ["Unreadable", "explain_invalid", "explain_too_long", "read_reply", "repair_question"]


class Unreadable(GraderError):
    """An answer that no repair can mend."""


def read_reply(completion: Completion, request: JudgeRequest, role: JudgeRole) -> Draft | AnswerError:
    """Return the draft in a reply, or what is wrong with it: why the model stopped comes first.

    Raises:
        Unreadable: If no repair can mend it.
    """
    if completion.stop == "refusal":
        said = f": {completion.refusal}" if completion.refusal else ""
        raise Unreadable(
            _fault("refused", f"{role.model} declined to judge{said}", "a person grades this submission")
        )
    if completion.stop == "length":
        raise Unreadable(
            _fault(
                "truncated",
                f"{role.model} wrote {completion.usage.output_tokens} tokens and was cut off at its limit of"
                f" {role.max_output_tokens}",
                "raise max_output_tokens of this role",
            )
        )
    if completion.stop == "context":
        raise Unreadable(
            _fault(
                "too_long_for_model",
                f"the submission does not fit the context of {role.model}",
                "choose a model with a larger context, or let a person grade it",
            )
        )
    try:
        return read_answer(completion.text, request.rubric)
    except AnswerError as error:
        return error


def repair_question(question: Question, completion: Completion, error: AnswerError) -> Question:
    """Return the question that shows a model what is wrong with its answer; it is asked once."""
    # An answer of any length would be paid for a second time, as a part of the question.
    quoted = completion.text.strip() and error.code != "answer_too_long"
    said = (Message("assistant", completion.text),) if quoted else ()
    asked = question.request.messages
    repair = write_repair(error)
    if said:
        messages = (*asked, *said, Message("user", repair))
    else:
        # Providers refuse an empty turn, so an empty answer is not quoted back.
        messages = (replace(asked[0], text=f"{asked[0].text}\n\n{repair}"),)
    return replace(
        question,
        request=replace(question.request, messages=messages),
        key=hash_text("repair", question.key, completion.text),
    )


def explain_too_long(role: JudgeRole, needed: int, model: Model) -> Fault:
    """Return the fault of a prompt that is not sent because its model cannot hold it."""
    return _fault(
        "too_long_for_model",
        f"prompt and answer may take {needed} tokens; {role.model} holds {model.context_tokens}",
        "choose a model with a larger context, or let a person grade it",
    )


def explain_invalid(role: JudgeRole, error: AnswerError) -> Fault:
    """Return the fault of a model whose repaired answer is no better."""
    more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
    return _fault(
        error.code,
        f"{role.model} gave no valid answer, twice: {error.problems[0]}{more}",
        "a person grades it",
    )


def _fault(code: str, message: str, remedy: str) -> Fault:
    return Fault(owner=Owner.JUDGE, code=code, message=message, remedy=remedy)
