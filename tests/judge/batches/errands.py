"""A run that asks through batches: a real SDK client, a real store, a server, and time that leaps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from pipeline.judge.batches import BatchCaller, Waiting
from pipeline.judge.batches.desk import _call
from pipeline.judge.calls.clock import Clock
from pipeline.judge.calls.pending import AnswerPending
from pipeline.judge.calls.question import Question
from pipeline.judge.providers.provider import ProviderError
from pipeline.store import Store
from pipeline.types import Completion, JudgeRole, JudgeSetup, ProviderBatch
from tests.judge.calls.fakes import a_question
from tests.judge.loopback import Loopback
from tests.judge.loopback.batches import Batch

#: Seconds between two looks at a batch.
POLL = 60.0


class RunOver(Exception):
    """Ends a run in the middle, as a kill would."""


class Errand:
    """One run, as the graph makes it: ask, fetch what was put off, ask again.

    Args:
        server: Where the provider is.
        store: Outlives the run.
        provider: Which wire format is spoken.
        during_sleep: What happens while the run waits for the n-th time; usually, all batches end.
        setup: Further settings of the panel.
    """

    def __init__(
        self,
        server: Loopback,
        store: Store,
        provider: str,
        during_sleep: Callable[[int], None] | None = None,
        **setup: Any,
    ) -> None:
        self.server = server
        self.store = store
        self.role = make_role(server, provider)
        self.seconds = 0.0
        self.slept: list[float] = []
        self.seen: list[Waiting] = []
        self._during_sleep = during_sleep if during_sleep is not None else lambda _: server.end_batches()
        self.caller = BatchCaller(
            JudgeSetup(judge=self.role, batch_poll_seconds=POLL, **setup),
            store,
            clock=Clock(now=lambda: self.seconds, sleep=self._sleep, today=lambda: datetime.now(UTC)),
            on_progress=self.seen.append,
        )

    async def _sleep(self, seconds: float) -> None:
        assert len(self.slept) < 200, "this goes on for ever"
        self.slept.append(seconds)
        self.seconds += seconds
        self._during_sleep(len(self.slept))
        await asyncio.sleep(0)

    def question(self, key: str) -> Question:
        return a_question(key, self.role, f"Is {key} right?")

    async def run(self, *keys: str) -> dict[str, Completion | ProviderError | None]:
        """Return the answer to each question, why there is none, or None where the run ended before."""
        outcomes: dict[str, Completion | ProviderError | None] = {}
        try:
            while True:
                for key in keys:
                    try:
                        outcomes[key] = await self.caller.ask(self.question(key))
                    except AnswerPending:
                        outcomes[key] = None
                    except ProviderError as error:
                        outcomes[key] = error
                if None not in outcomes.values() or not await self.caller.fetch():
                    return outcomes
        finally:
            await self.caller.aclose()

    async def break_off(self, *keys: str) -> None:
        """Send `keys` and end while they are under way, as a kill would."""
        self._during_sleep = _raise_over
        try:
            await self.run(*keys)
        except RunOver:
            return
        raise AssertionError("it never waited")


def _raise_over(_: int) -> None:
    raise RunOver


def make_role(server: Loopback, provider: str, **fields: Any) -> JudgeRole:
    given = {"name": "house", "model": "priced", "base_url": server.url(provider), "max_output_tokens": 100}
    return JudgeRole.model_validate({"provider": provider} | given | fields)


def list_sent(server: Loopback) -> list[list[str]]:
    """Return what each batch that the server accepted asks, in the order of the lines."""
    return [[_find_question(line) for _, line, _ in batch.lines] for batch in server.desk.batches.values()]


def _find_question(line: dict[str, Any]) -> str:
    turns = line["messages"] if "messages" in line else line["input"]
    return str(turns[-1]["content"]).removeprefix("Is ").removesuffix(" right?")


def get_batch(server: Loopback, number: int = 0) -> Batch:
    return list(server.desk.batches.values())[number]


def count_requests(server: Loopback, method: str, ending: str) -> int:
    return sum(r.method == method and r.path.endswith(ending) for r in server.requests)


def list_events(store: Store) -> list[list[str]]:
    """Return what became of each batch."""
    return [[event.event for event in state.events] for state in store.ledger.list_provider_batches()]


def list_outcomes(store: Store) -> dict[str, int]:
    """Return how many calls the ledger has of each outcome; none that there are none of."""
    lines = store.ledger.list_costs("provider")
    totals = {
        name: sum(getattr(line, name) for line in lines) for name in ("answered", "failed", "lost", "open")
    }
    return {name: total for name, total in totals.items() if total}


def read_codes(outcomes: dict[str, Completion | ProviderError | None]) -> dict[str, str]:
    return {
        key: outcome.fault.code
        if isinstance(outcome, ProviderError)
        else ""
        if outcome is None
        else "answered"
        for key, outcome in outcomes.items()
    }


def intend(store: Store, errand: Errand, keys: Sequence[str]) -> ProviderBatch:
    """Keep a batch that was never sent, or of which nobody knows."""
    now = datetime.now(UTC)
    batch = ProviderBatch(
        id="pb-00000000", provider="house", model="priced", keys=tuple(keys), created_at=now
    )
    store.ledger.intend_batch(batch, [_call(errand.question(key), batch, now) for key in keys])
    return batch
