"""Who judges: the roles that models play, and what they may cost."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pipeline.types.model import Frozen, hash_text

__all__ = ["JudgeRole", "JudgeSetup"]


class JudgeRole(Frozen):
    """One model in one role."""

    provider: Literal["anthropic", "openai", "openai-compatible"]
    """Which wire format it speaks."""
    model: str = Field(min_length=1)
    name: str = ""
    """What this provider is called in costs and in lists of who may be sent code; empty: as `provider`."""
    base_url: str | None = None
    """Where it is served; required of ``openai-compatible``, e.g. ``http://127.0.0.1:8000/v1``."""
    samples: int = Field(default=1, ge=1, le=16)
    """Independent answers asked of it per submission."""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    """Reasoning effort, for models that have one; None for the provider's default."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """For providers that take one; None for the provider's default."""
    max_output_tokens: int = Field(default=8192, ge=64)
    key_variable: str | None = None
    """Environment variable that holds the key; None for the SDK's own."""
    key_file: str | None = None
    """File that holds the key; only its owner may be able to read it."""

    @property
    def called(self) -> str:
        """The name in costs and permissions."""
        return self.name or self.provider

    def identity(self) -> dict[str, Any]:
        """Return what shapes an answer: all but where the key comes from."""
        return self.model_dump(mode="json", exclude={"key_variable", "key_file"})


class JudgeSetup(Frozen):
    """A panel: a judge, and optionally a second and an arbiter who are asked when it is unsure."""

    judge: JudgeRole
    second: JudgeRole | None = None
    """Asked when the judge's draft is less sure than `escalate_below`, or its samples differ."""
    arbiter: JudgeRole | None = None
    """Asked when the second differs from the judge on a level."""
    escalate_below: float = Field(default=0.7, ge=0, le=1)
    """Confidence, of the least sure criterion, below which the second is asked."""
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars that one run may cost; None for no limit."""
    max_cost_per_day: float | None = Field(default=None, gt=0)
    """US dollars that may be spent from this database in one UTC day; None for no limit."""
    send_to: tuple[str, ...] | None = None
    """Names of providers that submitted code may be sent to; None for every one that is configured."""
    deadline_seconds: float = Field(default=600.0, gt=0)
    """Longest that one answer may take, repeats included; waiting in our own line is not."""
    retry_after_seconds: float = Field(default=60.0, gt=0)
    """Longest wait that a provider may ask for; above it the call ends as unavailable."""
    batch_poll_seconds: float = Field(default=60.0, gt=0)
    """How often a provider is asked how far a batch is."""

    @property
    def roles(self) -> dict[str, JudgeRole]:
        """Roles that are filled, in the order in which they are asked."""
        filled = {"judge": self.judge, "second": self.second, "arbiter": self.arbiter}
        return {name: role for name, role in filled.items() if role is not None}

    def identity(self) -> str:
        """Return a short name of everything here that shapes a judgment, for the fingerprint."""
        models = "+".join(f"{role.model}x{role.samples}" for role in self.roles.values())
        shaping = {name: role.identity() for name, role in self.roles.items()}
        return f"{models} {hash_text(shaping, self.escalate_below)[:12]}"
