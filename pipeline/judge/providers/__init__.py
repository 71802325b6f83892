"""Who serves models: one file per wire format.

Nothing here loads an SDK before a provider is opened: a run without a language judge never pays for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import GraderError
from pipeline.types import Fault, JudgeRole, Owner

if TYPE_CHECKING:
    from pipeline.judge.providers.provider import BatchProvider, Provider

__all__ = ["open_batch_provider", "open_provider"]


def open_provider(role: JudgeRole) -> Provider:
    """Return who serves the model of `role`; before the first call nothing is sent and no key looked for.

    Raises:
        GraderError: If the role asks for something that its provider does not have.
    """
    if role.provider == "openai-compatible":
        if not role.base_url:
            raise _misused(
                role, "no_base_url", "an openai-compatible server needs its address", "set base_url"
            )
        from pipeline.judge.providers.compatible import CompatibleProvider

        return CompatibleProvider(role)
    return open_batch_provider(role)


def open_batch_provider(role: JudgeRole) -> BatchProvider:
    """Return who serves the model of `role`, also many requests at once.

    Raises:
        GraderError: If the provider takes no batches (code ``no_batches``), or lacks what the role asks for.
    """
    if role.provider == "anthropic":
        if role.temperature is not None:
            # The Messages API of today has no such parameter: to leave it out silently would make every
            # fingerprint lie.
            raise _misused(
                role, "no_temperature", "anthropic takes no temperature", "remove temperature from this role"
            )
        from pipeline.judge.providers.anthropic_batches import AnthropicBatchProvider

        return AnthropicBatchProvider(role)
    if role.provider == "openai":
        from pipeline.judge.providers.openai_batches import OpenAIBatchProvider

        return OpenAIBatchProvider(role)
    raise _misused(
        role,
        "no_batches",
        f"{role.called} takes no batches",
        "use a hosted provider, or grade without batches",
    )


def _misused(role: JudgeRole, code: str, message: str, remedy: str) -> GraderError:
    return GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code=code,
            message=message,
            where=f"{role.called} {role.model}",
            remedy=remedy,
        )
    )
