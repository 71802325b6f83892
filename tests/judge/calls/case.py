"""A caller over one scripted provider, and what its ledger says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from pipeline.judge.calls.caller import LiveCaller, Question
from pipeline.judge.calls.line import LineClosed
from pipeline.judge.providers.provider import ProviderError
from pipeline.store import Store
from pipeline.types import Completion, JudgeSetup
from tests.judge.calls.fakes import (
    Answer,
    LeapingTime,
    ScriptedProvider,
    a_question,
    a_role,
)


class Case:
    """A caller over one scripted provider, in a time in which every sleep is over at once."""

    def __init__(self, store: Store, *script: Answer, **setup: Any) -> None:
        self.store = store
        self.provider = ScriptedProvider(*script)
        self.time = LeapingTime()
        self.caller = LiveCaller(
            JudgeSetup(judge=a_role(), **setup),
            store,
            open_provider=lambda role: self.provider,
            clock=self.time.clock(),
            random=Random(1),
        )

    async def ask(self, question: Question | None = None) -> Completion:
        try:
            return await self.caller.ask(question if question is not None else a_question())
        finally:
            await self.caller.aclose()

    async def ask_all(self, *questions: Question) -> list[Any]:
        try:
            return await asyncio.gather(*map(self.caller.ask, questions), return_exceptions=True)
        finally:
            await self.caller.aclose()

    async def fail(self, question: Question | None = None) -> ProviderError | LineClosed:
        with pytest.raises((ProviderError, LineClosed)) as raised:
            await self.ask(question)
        return raised.value

    def counts(self) -> tuple[int, int, int, int]:
        """Calls that the ledger has as answered, failed, lost and open."""
        lines = self.store.ledger.list_costs("provider")
        return (
            sum(line.answered for line in lines),
            sum(line.failed for line in lines),
            sum(line.lost for line in lines),
            sum(line.open for line in lines),
        )


CaseMaker = Callable[..., Case]
