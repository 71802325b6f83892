"""Time, providers and questions of the tests."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline.judge.calls.clock import Clock
from pipeline.judge.calls.question import Question
from pipeline.judge.providers.provider import Message, ModelRequest, ProviderError
from pipeline.types import Completion, Fault, JudgeRole, Owner, Usage

MIDNIGHT = datetime(2026, 12, 1, tzinfo=UTC)

#: Prices that are read off at a glance: a token read costs 1 micro-dollar, a token written 2.
MODELS = """
[[model]]
provider = "house"
id = "priced"
context_tokens = 100_000
max_output_tokens = 10_000
concurrency = { start = 4, maximum = 8 }
[model.price]
input = 1
cache_read = 0.1
cache_write = 1
output = 2
batch_discount = 0.5

[[model]]
provider = "house"
id = "one-by-one"
context_tokens = 100_000
max_output_tokens = 10_000
concurrency = { start = 1, maximum = 1 }
"""


def write_models(folder: Path) -> Path:
    path = folder / "models.toml"
    path.write_text(MODELS, encoding="utf-8")
    return path


class SteppedTime:
    """Time that stands still until everybody sleeps, and then goes on to the first who wakes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def clock(self) -> Clock:
        return Clock(now=lambda: self.seconds, sleep=self.sleep, today=self.today)

    def today(self) -> datetime:
        return MIDNIGHT + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self.seconds + seconds, self._count, future))
        await future

    async def run(self, *work: Coroutine[Any, Any, Any]) -> list[Any]:
        """Run `work` to its end and return what each came to, exceptions included."""
        tasks = [asyncio.ensure_future(one) for one in work]
        while not all(task.done() for task in tasks):
            # A turn passes along a line of waiters in a few steps of the loop each.
            for _ in range(20 + 5 * len(tasks)):
                await asyncio.sleep(0)
            sleeping = [entry for entry in self._sleepers if not entry[2].done()]
            heapq.heapify(sleeping)
            self._sleepers = sleeping
            if not sleeping:
                assert all(task.done() for task in tasks), "everybody waits for somebody else"
                break
            self.seconds, _, future = heapq.heappop(self._sleepers)
            future.set_result(None)
        return await asyncio.gather(*tasks, return_exceptions=True)


class LeapingTime:
    """Time in which every sleep is over at once; for tests in which real threads do the waiting."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.day = MIDNIGHT

    def clock(self) -> Clock:
        return Clock(now=lambda: self.seconds, sleep=self.sleep, today=lambda: self.day)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


Answer = Completion | BaseException | Callable[[ModelRequest, float], Awaitable[Completion]]


class ScriptedProvider:
    """Gives the answers of a script, one per call, and the last one for ever after."""

    def __init__(self, *script: Answer) -> None:
        self.script = list(script) or [an_answer()]
        self.requests: list[ModelRequest] = []
        self.timeouts: list[float] = []
        self.under_way = 0
        self.most_under_way = 0
        self.closed = 0

    async def complete(self, request: ModelRequest, *, timeout: float) -> Completion:
        self.requests.append(request)
        self.timeouts.append(timeout)
        answer = self.script[min(len(self.requests), len(self.script)) - 1]
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(0)
            if isinstance(answer, BaseException):
                raise answer
            return answer if isinstance(answer, Completion) else await answer(request, timeout)
        finally:
            self.under_way -= 1

    async def count_tokens(self, request: ModelRequest) -> int:
        return 1

    async def aclose(self) -> None:
        self.closed += 1


def an_answer(text: str = "yes", read: int = 100, written: int = 10) -> Completion:
    """Of the priced model: 100 micro-dollars read and 20 written."""
    usage = Usage(input_tokens=read, output_tokens=written)
    return Completion(text=text, stop="complete", model="priced", usage=usage)


def an_error(
    code: str = "overloaded",
    *,
    owner: Owner = Owner.ENVIRONMENT,
    retryable: bool = True,
    throttled: bool = False,
    retry_after: float | None = None,
    maybe_charged: bool = False,
    stops_run: bool = False,
) -> ProviderError:
    return ProviderError(
        Fault(owner=owner, code=code, message=f"the provider said {code}"),
        retryable=retryable,
        throttled=throttled,
        retry_after=retry_after,
        maybe_charged=maybe_charged,
        stops_run=stops_run,
    )


def a_role(model: str = "priced", name: str = "house", **settings: Any) -> JudgeRole:
    return JudgeRole(
        provider="openai-compatible",
        name=name,
        model=model,
        base_url="http://127.0.0.1:9/v1",
        max_output_tokens=100,
        **settings,
    )


def a_question(key: str = "k1", role: JudgeRole | None = None, text: str = "Is it right?") -> Question:
    role = role if role is not None else a_role()
    return Question(
        role_name="judge",
        role=role,
        request=ModelRequest(
            model=role.model,
            system=("You judge.",),
            messages=(Message("user", text),),
            schema={"type": "object"},
            schema_name="judgment",
            max_output_tokens=role.max_output_tokens,
        ),
        key=key,
        grading_id="g-1",
        submission_id="s-1",
        criteria=("clarity",),
    )
