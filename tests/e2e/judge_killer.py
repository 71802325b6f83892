"""A patch for the crash tests of judges: the process dies with SIGKILL at a named point, and notes its calls.

The code under test knows nothing of it.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from tests.e2e.killer import leave_out_report

LIVE_POINTS = {
    "ask:before": 4,
    "intent:before": 3,
    "intent:queued": 4,
    "intent:committed": 5,
    "post:pending": 6,
    "answer:received": 5,
    "answer:queued": 4,
    "answer:committed": 3,
    "samples:between": 2,
    "repair:before": 1,
    "repair:pending": 1,
    "repair:received": 1,
    "repair:committed": 1,
    "judgment:before": 3,
    "judgment:after": 2,
    "judge:recorded": 2,
    "judge:committed": 2,
}
#: A point of provider batches, how often it is passed, and what becomes of the batch that is being created.
BATCH_POINTS = (
    ("intend:before", 1, "ok"),
    ("intend:after", 1, "ok"),
    ("submit:pending", 1, "hang"),
    ("submit:pending", 1, "drip"),
    ("submit:accepted", 1, "ok"),
    ("sent:noted", 1, "ok"),
    ("poll:before", 1, "ok"),
    ("poll:after", 2, "ok"),
    ("ended:noted", 1, "ok"),
    ("line:read", 1, "ok"),
    ("line:read", 5, "ok"),
    ("ends:kept", 2, "ok"),
    ("collected:before", 1, "ok"),
    ("collected:noted", 1, "ok"),
    ("intend:after", 2, "ok"),
    ("submit:accepted", 2, "ok"),
    ("collected:before", 2, "ok"),
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def count_arrived(address: str) -> int:
    with urllib.request.urlopen(address, timeout=30) as response:
        return int(json.load(response)["requests"])


def replace(owner: Any, name: str, with_what: Any) -> None:
    setattr(owner, name, with_what)


class Plan:
    """What is to happen to this process.

    Args:
        point: Where it dies; empty for nowhere.
        count: At which arrival there.
        flights: File that gets ``+ KEY`` just before a live call's request leaves, and ``- KEY`` when its
            caller has the answer or knows that there is none; or None.
    """

    def __init__(self, point: str, count: int, flights: str | None) -> None:
        self.point = point
        self.left = count
        self._flights = os.open(flights, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if flights else None

    def arrive(self, point: str) -> None:
        if point != self.point:
            return
        self.left -= 1
        if not self.left:
            die()

    def arrive_pending(self, point: str, base_url: str, requests: int) -> None:
        """Die when the server has got so many requests more: the last of them is under way then."""
        if point != self.point:
            return
        self.left -= 1
        if self.left:
            return
        address = "/".join(base_url.split("/")[:3]) + "/_loopback"
        arrived = count_arrived(address) + requests

        def watch() -> None:
            while count_arrived(address) < arrived:
                time.sleep(0.002)
            die()

        threading.Thread(target=watch, daemon=True).start()

    def note(self, mark: str, key: str) -> None:
        if self._flights is not None:
            os.write(self._flights, f"{mark} {key}\n".encode())


def install(point: str = "", count: int = 1, flights: str | None = None) -> None:
    """Let this process die, and note its calls; see `Plan`."""
    leave_out_report()
    plan = Plan(point, count, flights)
    _install_live(plan)
    _install_batches(plan)


def _install_live(plan: Plan) -> None:
    from pipeline.judge.calls.books import Books
    from pipeline.judge.calls.caller import LiveCaller
    from pipeline.judge.language import LanguageJudge
    from pipeline.judge.providers.anthropic import AnthropicProvider
    from pipeline.judge.providers.openai import OpenAIProvider
    from pipeline.store import Store
    from pipeline.store.ledger import Ledger

    def surround_complete(original: Any) -> Any:
        async def complete(provider: Any, request: Any, *, timeout: float) -> Any:
            repairs = len(request.messages) > 1
            plan.arrive("intent:committed")
            pending = "repair:pending" if repairs else "post:pending"
            plan.arrive_pending(pending, provider._role.base_url, 1)
            answer = await original(provider, request, timeout=timeout)
            plan.arrive("repair:received" if repairs else "answer:received")
            return answer

        return complete

    for provider in (AnthropicProvider, OpenAIProvider):
        replace(provider, "complete", surround_complete(provider.complete))

    make_call = Books.make_call

    async def watched_make_call(books: Any, question: Any, *others: Any) -> Any:
        plan.note("+", question.key)
        return await make_call(books, question, *others)

    ask = LiveCaller.ask
    asked: set[str] = set()

    async def watched_ask(caller: Any, question: Any) -> Any:
        repairs = len(question.request.messages) > 1
        plan.arrive("repair:before" if repairs else "ask:before")
        try:
            answer = await ask(caller, question)
        finally:
            plan.note("-", question.key)
        plan.arrive("repair:committed" if repairs else "answer:committed")
        if question.grading_id not in asked:
            asked.add(question.grading_id)
            plan.arrive("samples:between")
        return answer

    begin_calls, end_calls = Ledger.begin_calls, Ledger.end_calls

    def watched_begin(ledger: Any, calls: Any, **options: Any) -> None:
        plan.arrive("intent:before")
        begin_calls(ledger, calls, **options)
        plan.arrive("intent:queued")

    def watched_end(ledger: Any, ends: Any, **options: Any) -> None:
        end_calls(ledger, ends, **options)
        plan.arrive("answer:queued" if options else "ends:kept")

    judge = LanguageJudge.judge

    async def watched_judge(language: Any, request: Any) -> Any:
        plan.arrive("judgment:before")
        judgment = await judge(language, request)
        plan.arrive("judgment:after")
        return judgment

    record_stage = Store.record_stage

    def watched_record(store: Any, record: Any) -> None:
        record_stage(store, record)
        if record.stage == "judge":
            plan.arrive("judge:recorded")
            if plan.point == "judge:committed":
                store.flush()
            plan.arrive("judge:committed")

    replace(Books, "make_call", watched_make_call)
    replace(LiveCaller, "ask", watched_ask)
    replace(Ledger, "begin_calls", watched_begin)
    replace(Ledger, "end_calls", watched_end)
    replace(LanguageJudge, "judge", watched_judge)
    replace(Store, "record_stage", watched_record)


def _install_batches(plan: Plan) -> None:
    from pipeline.judge.batches import collection
    from pipeline.judge.providers.anthropic_batches import AnthropicBatchProvider
    from pipeline.judge.providers.openai_batches import OpenAIBatchProvider
    from pipeline.store.ledger import Ledger

    # So that a batch of a few lines is committed in several groups.
    replace(collection, "_GROUP", 2)

    def surround_submit(original: Any, steps: int) -> Any:
        async def submit(provider: Any, batch_id: str, requests: Any) -> Any:
            plan.arrive_pending("submit:pending", provider._role.base_url, steps)
            accepted = await original(provider, batch_id, requests)
            plan.arrive("submit:accepted")
            return accepted

        return submit

    def surround_poll(original: Any) -> Any:
        async def poll(provider: Any, provider_id: str) -> Any:
            plan.arrive("poll:before")
            found = await original(provider, provider_id)
            plan.arrive("poll:after")
            return found

        return poll

    def surround_results(original: Any) -> Any:
        async def results(provider: Any, provider_id: str) -> AsyncIterator[Any]:
            async with aclosing(original(provider, provider_id)) as lines:
                async for line in lines:
                    plan.arrive("line:read")
                    yield line

        return results

    # One of them takes a file first.
    for provider, steps in ((AnthropicBatchProvider, 1), (OpenAIBatchProvider, 2)):
        replace(provider, "submit", surround_submit(provider.submit, steps))
        replace(provider, "poll", surround_poll(provider.poll))
        replace(provider, "results", surround_results(provider.results))

    intend_batch: Any = Ledger.intend_batch
    note_batch: Any = Ledger.note_batch

    def watched_intend(ledger: Any, *given: Any) -> None:
        plan.arrive("intend:before")
        intend_batch(ledger, *given)
        plan.arrive("intend:after")

    def watched_note(ledger: Any, batch_id: str, event: str, *given: Any) -> None:
        plan.arrive(f"{event}:before")
        note_batch(ledger, batch_id, event, *given)
        plan.arrive(f"{event}:noted")

    replace(Ledger, "intend_batch", watched_intend)
    replace(Ledger, "note_batch", watched_note)
