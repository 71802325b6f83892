"""Judges draft scores and feedback; whoever they are, facts bound what they may say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.judge.protocol import Judge, JudgeRequest
from pipeline.judge.rules import RulesJudge
from pipeline.types import Fault, Owner

if TYPE_CHECKING:
    from pipeline.judge.calls.caller import Caller
    from pipeline.store import Store

__all__ = ["JUDGES", "Judge", "JudgeRequest", "check_judge", "open_judge"]


def _open_rules(settings: Settings, store: Store, caller: Caller | None) -> Judge:
    return RulesJudge()


def _open_language(settings: Settings, store: Store, caller: Caller | None) -> Judge:
    # The SDKs take seconds to import: only runs that ask a model pay for them.
    from pipeline.judge.batches import BatchCaller
    from pipeline.judge.calls.caller import LiveCaller
    from pipeline.judge.language import LanguageJudge
    from pipeline.judge.setup import read_setup

    setup = read_setup(settings)
    if caller is None:
        caller = BatchCaller(setup, store) if settings.provider_batches else LiveCaller(setup, store)
    return LanguageJudge(setup, caller, draw=settings.fresh)


#: Every judge by the name that settings and the command line use; a path ending in .toml sets up a panel.
JUDGES: Final[dict[str, Callable[[Settings, Store, Caller | None], Judge]]] = {
    "rules": _open_rules,
    "anthropic": _open_language,
    "openai": _open_language,
    "openai-compatible": _open_language,
}


def open_judge(settings: Settings, store: Store, *, caller: Caller | None = None) -> Judge:
    """Return the judge that `settings` name.

    Args:
        settings: Name the judge, its model and its limits.
        store: Where calls and answers are kept.
        caller: What asks the models; None for live calls.

    Raises:
        GraderError: If there is no such judge, or it is not set up as it should be.
    """
    return _find(settings.judge)(settings, store, caller)


def check_judge(settings: Settings, *, sending: bool = True) -> None:
    """Make sure that the judge of `settings` exists, is set up and has its keys; nothing is sent.

    Args:
        settings: Name the judge.
        sending: Whether it is going to be asked anything; otherwise keys may be missing.

    Raises:
        GraderError: If not; one line says what to do.
    """
    if _find(settings.judge) is _open_language:
        from pipeline.judge.setup import check_setup, read_setup

        check_setup(read_setup(settings), batches=settings.provider_batches, sending=sending)
    elif settings.model or settings.base_url or settings.provider_batches:
        # Whoever forgot to name the judge should not find out from the grades.
        raise GraderError(
            Fault(
                owner=Owner.ENVIRONMENT,
                code="invalid_setup",
                message="the rules judge asks no model, so --model, --base-url and --provider-batches are not"
                " for it",
                remedy="name a judge that does with --judge",
            )
        )


def _find(name: str) -> Callable[[Settings, Store, Caller | None], Judge]:
    if name.endswith(".toml"):
        return _open_language
    if name in JUDGES:
        return JUDGES[name]
    raise GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="unknown_judge",
            message=f"there is no judge {name!r}",
            remedy=f"choose one of: {', '.join(JUDGES)}; or a .toml file that sets up a panel",
        )
    )
