"""Put questions off, hand them over in batches, and answer from what came back."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.judge.batches.attempts import is_hopeless, list_attempts
from pipeline.judge.batches.desk import BatchDesk, Waiting
from pipeline.judge.calls.budget import Budget, SpendingStopped
from pipeline.judge.calls.clock import Clock
from pipeline.judge.calls.pending import CollectingCaller
from pipeline.judge.calls.question import Question
from pipeline.judge.providers import open_batch_provider
from pipeline.judge.providers.provider import BatchProvider, ProviderError
from pipeline.store import Store
from pipeline.types import Completion, Fault, JudgeRole, JudgeSetup, Owner

__all__ = ["BatchCaller"]


class BatchCaller:
    """Collects questions until `fetch`, which brings their answers; they are then found in the store.

    Args:
        setup: Who is asked, and the limits.
        store: Where intents, answers and costs are kept.
        open_provider: Opens who serves a role.
        on_progress: Told whenever a provider was asked how far it is.
        clock: What waiting goes by.

    Raises:
        GraderError: If there is a cap and a model without a price.
    """

    def __init__(
        self,
        setup: JudgeSetup,
        store: Store,
        *,
        open_provider: Callable[[JudgeRole], BatchProvider] = open_batch_provider,
        on_progress: Callable[[Waiting], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._setup = setup
        self._store = store
        self._providers: dict[str, BatchProvider] = {
            role.called: open_provider(role) for role in setup.roles.values()
        }
        self._clock = clock if clock is not None else Clock()
        self._budget = Budget(setup, store.ledger, self._clock)
        self._on_progress = on_progress
        self._collected = CollectingCaller(setup, store)
        self._last: Fault | None = None
        self._stopped: Fault | None = None

    @property
    def spending(self) -> None:
        """Nothing is asked at once; the ledger tells what batches cost."""

    @property
    def stopped(self) -> Fault | None:
        """Why nothing more can be asked in this run, once what was answered has been used."""
        return self._stopped

    async def ask(self, question: Question) -> Completion:
        """Return the stored answer to `question`, or put it off.

        Raises:
            AnswerPending: If it is to be handed over with the next batch.
            ProviderError: If it was handed over as often as it may be, for nothing.
        """
        if self._store.ledger.find_answer(question.key) is None and is_hopeless(
            self._store.ledger, question.key
        ):
            raise ProviderError(self._explain(question))
        return await self._collected.ask(question)

    async def fetch(self) -> bool:
        """Get the answers to all that was put off; return whether there is anything new to go on with.

        A cap, or a provider that takes nothing more, ends the run; what came before is used first.

        Raises:
            StoreError: If the store can keep nothing more.
        """
        if self._last is not None:
            self._stopped = self._last
            return False
        questions = self._collected.wanted
        self._collected = CollectingCaller(self._setup, self._store)
        if not questions:
            return False
        desk = BatchDesk(self._setup, self._providers, self._store.ledger, self._budget, clock=self._clock)
        try:
            await desk.work_off(questions, on_progress=self._on_progress)
        except (SpendingStopped, ProviderError) as error:
            self._last = error.fault
        return True

    async def aclose(self) -> None:
        """Let go of connections."""
        for provider in self._providers.values():
            await provider.aclose()

    def _explain(self, question: Question) -> Fault:
        attempts = list_attempts(self._store.ledger, question.key)
        failed = next((end for end in attempts if end.outcome == "failed"), None)
        if failed is not None:
            return Fault(
                owner=Owner.GRADER if failed.code == "bad_request" else Owner.ENVIRONMENT,
                code=failed.code,
                message=f"{question.role.model} refused the request: {failed.message}",
                remedy="a person grades it, or grade again without --provider-batches",
            )
        return Fault(
            owner=Owner.ENVIRONMENT,
            code="batch_line_lost",
            message=f"{question.role.called} took the request in {len(attempts)} batches and never answered"
            f" it: {attempts[-1].message}",
            remedy="a person grades it, or grade again without --provider-batches",
        )
