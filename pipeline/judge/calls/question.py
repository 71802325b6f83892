"""A question to a model, and whether it may be asked at all."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.errors import GraderError
from pipeline.judge.providers.models import find_model
from pipeline.judge.providers.provider import ModelRequest, ProviderError
from pipeline.types import Fault, JudgeRole, JudgeSetup, Owner

__all__ = ["Question", "check_permission", "check_prices"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be asked, of whom, and on whose account.

    Attributes:
        role_name: ``judge``, ``second`` or ``arbiter``.
        role: Who plays it.
        request: What is sent.
        key: Content key of everything that shapes the answer.
        grading_id: The grading that it is asked for.
        submission_id: The submission that it is asked about.
        criteria: What it asks about; they share its cost.
    """

    role_name: str
    role: JudgeRole
    request: ModelRequest
    key: str
    grading_id: str
    submission_id: str
    criteria: tuple[str, ...]


def check_permission(role: JudgeRole, setup: JudgeSetup) -> None:
    """Make sure that code may be sent to the provider of `role`.

    Raises:
        ProviderError: If it may not (``provider_not_allowed``).
    """
    if setup.send_to is None or role.called in setup.send_to:
        return
    raise ProviderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="provider_not_allowed",
            message=f"submitted code may not be sent to {role.called}",
            remedy=f"allowed: {', '.join(setup.send_to) or 'none'}; add it with --send-to {role.called}",
        ),
        stops_run=True,
    )


def check_prices(setup: JudgeSetup) -> None:
    """Make sure that the caps of `setup` can be kept.

    Raises:
        GraderError: If there is a cap and a model without a price (``price_unknown``).
    """
    if setup.max_cost is None and setup.max_cost_per_day is None:
        return
    for role_name, role in setup.roles.items():
        if find_model(role).price is None:
            raise GraderError(
                Fault(
                    owner=Owner.ENVIRONMENT,
                    code="price_unknown",
                    message="a cap on cost cannot be kept: the price of"
                    f" {role.model} ({role_name}, {role.called}) is unknown",
                    remedy="write its price into a file named by NKI_GRADER_MODELS (0 for a server of your"
                    " own), or drop the cap",
                )
            )
