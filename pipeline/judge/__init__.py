"""Judges draft scores and feedback; whoever they are, facts bound what they may say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pipeline.errors import GraderError
from pipeline.judge.protocol import Judge, JudgeRequest
from pipeline.judge.rules import RulesJudge
from pipeline.types import Fault, Owner

__all__ = ["JUDGES", "Judge", "JudgeRequest", "judge_named"]

#: Every judge by the name that settings and the command line use.
JUDGES: Final[dict[str, Callable[[], Judge]]] = {"rules": RulesJudge}

_ANNOUNCED: Final = ("anthropic", "openai")


def judge_named(name: str) -> Judge:
    """Return the judge called `name`.

    Raises:
        GraderError: If there is none, or it comes with a later release; the message lists those there are.
    """
    if name in JUDGES:
        return JUDGES[name]()
    known = ", ".join(JUDGES)
    announced = name in _ANNOUNCED
    raise GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="judge_not_available" if announced else "unknown_judge",
            message=f"judge {name!r} comes with a later release"
            if announced
            else f"there is no judge {name!r}",
            remedy=f"choose one of: {known}",
        )
    )
