"""Collect questions instead of asking them: for a dry run, and for provider batches."""

from __future__ import annotations

from pipeline.judge.calls.question import Question, check_permission, check_prices
from pipeline.judge.protocol import JudgmentDeferred
from pipeline.store import Store
from pipeline.types import Completion, Fault, JudgeSetup

__all__ = ["AnswerPending", "CollectingCaller"]


class AnswerPending(JudgmentDeferred):
    """The answer to a question is not there yet; the question is kept.

    Attributes:
        question: What was asked.
    """

    def __init__(self, question: Question) -> None:
        super().__init__(f"no answer yet to {question.role_name} about {question.submission_id}")
        self.question = question


class CollectingCaller:
    """Answers from what is stored, and collects the questions that nobody has answered yet.

    What is collected is what would be asked next: a panel that needs the judge's answer to know whether it
    has to ask the second collects the judge's questions only.
    """

    def __init__(self, setup: JudgeSetup, store: Store) -> None:
        """Collect what `setup` permits; nothing is sent.

        Raises:
            GraderError: If there is a cap and a model without a price (``price_unknown``).
        """
        check_prices(setup)
        self._setup = setup
        self._store = store
        self._wanted: dict[str, Question] = {}

    @property
    def wanted(self) -> tuple[Question, ...]:
        """Questions without an answer, in the order in which they were first asked; no key twice."""
        return tuple(self._wanted.values())

    @property
    def spending(self) -> None:
        """Nothing is asked at once; the ledger tells what batches cost."""

    @property
    def stopped(self) -> Fault | None:
        """Nothing stops collecting."""
        return None

    async def ask(self, question: Question) -> Completion:
        """Return the stored answer to `question`.

        Raises:
            AnswerPending: If there is none; the question is in `wanted`.
            ProviderError: If the code may not be sent to that provider.
        """
        known = self._store.ledger.find_answer(question.key)
        if known is not None:
            return known
        check_permission(question.role, self._setup)
        self._wanted.setdefault(question.key, question)
        raise AnswerPending(question)

    async def fetch(self) -> bool:
        """Nothing: what is collected is asked by whoever reads `wanted`."""
        return False

    async def aclose(self) -> None:
        """Let go of nothing: no connection was made."""
