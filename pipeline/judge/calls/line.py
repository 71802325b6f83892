"""One model of one provider as this run knows it: how it is reached and limited, and whether it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pipeline.errors import GraderError
from pipeline.judge.calls.clock import Clock, Deadline
from pipeline.judge.calls.throttle import Throttle
from pipeline.judge.protocol import JudgmentDeferred
from pipeline.judge.providers.models import Model, find_model
from pipeline.judge.providers.provider import Provider, ProviderError
from pipeline.types import Fault, JudgeRole, Owner

__all__ = ["Line", "LineClosed"]

#: Answers that fail for good, one after another, before nobody is asked any more. Each was repeated until
#: its deadline, or was refused outright: so many are an outage or a setting, and every further one sends a
#: submission to a person for nothing.
_FAILURES: Final = 8
#: Whose faults count. A request of ours that a provider does not take fails for every submission alike; what
#: a model does with one submission says nothing about the next.
_COUNTED: Final = (Owner.ENVIRONMENT, Owner.GRADER)
#: Faults that one submission meets and the next need not, whoever owns them.
_UNCOUNTED: Final = frozenset({"blocked", "request_too_large"})


class LineClosed(GraderError, JudgmentDeferred):
    """A model is not asked any more in this run; nothing was sent, and a later run goes on from here."""


class Line:
    """The way to one model.

    Attributes:
        name: What its provider is called in costs.
        model: Limits and price.
        provider: Who is asked.
        throttle: Its limits in use.
        has_answered: Whether any call of this run has brought an answer.
    """

    def __init__(self, role: JudgeRole, open_provider: Callable[[JudgeRole], Provider], clock: Clock) -> None:
        """Open the provider of `role`; nothing is sent yet.

        Raises:
            GraderError: If there is no usable key, or the list of models cannot be read.
        """
        self.name = role.called
        self.model: Model = find_model(role)
        self.provider = open_provider(role)
        self.throttle = Throttle(
            start=self.model.concurrency.start,
            maximum=self.model.concurrency.maximum,
            requests_per_minute=self.model.requests_per_minute,
            tokens_per_minute=self.model.tokens_per_minute,
            clock=clock,
        )
        self.has_answered = False
        self._failures = 0
        self._fault: Fault | None = None
        self._for_good = False

    @property
    def fault(self) -> Fault | None:
        """Why it is not asked any more in this run, or None."""
        return self._fault

    def check_open(self) -> None:
        """Let nothing pass that would fail as what came before did.

        Raises:
            LineClosed: If it is not asked any more.
        """
        if self._fault is not None:
            raise LineClosed(self._fault)

    def note_answer(self) -> None:
        """Forget earlier failures; an outage that a call under way has outlasted is over."""
        self.has_answered = True
        self._failures = 0
        if not self._for_good:
            self._fault = None

    def conclude(self, error: ProviderError, deadline: Deadline, longest_wait: float) -> ProviderError:
        """Return the error that a question ends with, and remember what it says about the next ones."""
        fault = self._explain(error, deadline, longest_wait)
        if error.stops_run:
            self._fault, self._for_good = self._fault or fault, True
        elif fault.owner in _COUNTED and fault.code not in _UNCOUNTED:
            self._failures += 1
            if self._failures >= _FAILURES and self._fault is None:
                self._fault = Fault(
                    owner=fault.owner,
                    code="provider_unavailable",
                    message=f"{self.name} gave no answer {self._failures} times in a row; the last time:"
                    f" {fault.message}",
                    where=fault.where,
                    remedy="run the same command again when it answers: stored answers cost nothing",
                )
        return ProviderError(
            fault,
            throttled=error.throttled,
            retry_after=error.retry_after,
            maybe_charged=error.maybe_charged,
            stops_run=error.stops_run,
        )

    def _explain(self, error: ProviderError, deadline: Deadline, longest_wait: float) -> Fault:
        fault = error.fault
        if error.retryable and error.retry_after is not None and error.retry_after > longest_wait:
            fault = Fault(
                owner=Owner.ENVIRONMENT,
                code="retry_after_too_long",
                message=f"{self.name} asks to wait {error.retry_after:g} s, and {longest_wait:g} s is the"
                f" most that is waited: {fault.message}",
                where=fault.where,
                remedy="run the same command again later, or raise retry_after_seconds",
            )
        if error.retryable or deadline.attempts > 1:
            attempts = "1 attempt" if deadline.attempts == 1 else f"{deadline.attempts} attempts"
            message = f"{fault.message} ({attempts} in {deadline.elapsed:.0f} s)"
            fault = fault.model_copy(update={"message": message})
        return fault
