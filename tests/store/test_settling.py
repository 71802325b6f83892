"""Waiting for commits from event loops. `test_ledger_restarts.py` kills a process that has settled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from pipeline.store import Store, StoreError
from pipeline.store.settling import Settling
from pipeline.store.transport import Insert
from tests.store.calls import call


@pytest.fixture
def settling(store: Store) -> Iterator[Settling]:
    made = Settling(store)
    yield made
    made.close()


class Gate:
    """Holds up every flush of a store until it is opened, and counts them."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.opened, self.flushes = threading.Event(), threading.Event(), 0
        real = store.flush

        def flush() -> None:
            self.flushes += 1
            self.entered.set()
            self.opened.wait()
            real()

        monkeypatch.setattr(store, "flush", flush)


@pytest.fixture
def gate(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(store, monkeypatch)
    yield made
    made.opened.set()


async def reach(gate: Gate) -> None:
    while not gate.entered.is_set():
        await asyncio.sleep(0)


def settling_threads() -> int:
    return sum(thread.name == "store-settling" for thread in threading.enumerate())


async def test_the_loop_goes_on_while_a_commit_is_waited_for(settling: Settling, gate: Gate) -> None:
    waiting = asyncio.create_task(settling.settle())
    await reach(gate)
    # This line runs although the flush has not returned.
    assert not waiting.done()
    gate.opened.set()
    await waiting


async def test_one_flush_serves_all_who_came_during_the_last_through_one_thread(
    settling: Settling, gate: Gate
) -> None:
    first = asyncio.create_task(settling.settle())
    await reach(gate)
    others = [asyncio.create_task(settling.settle()) for _ in range(200)]
    await asyncio.sleep(0)
    assert settling_threads() == 1
    gate.opened.set()
    await asyncio.gather(first, *others)
    assert gate.flushes == 2


async def test_whoever_comes_during_a_flush_is_not_served_by_it(settling: Settling, gate: Gate) -> None:
    first = asyncio.create_task(settling.settle())
    await reach(gate)
    late = asyncio.create_task(settling.settle())
    await asyncio.sleep(0)
    gate.entered.clear()
    gate.opened.set()
    await asyncio.gather(first, late)
    assert gate.entered.is_set()


async def test_an_error_reaches_everybody_and_the_next_one_too(store: Store, settling: Settling) -> None:
    if store.is_owner:
        # A row that passes every check of ours and that DuckDB cannot take.
        finding = ("run", "k", 0, "legal", "info", "judge", "message", [1], ["\ud800"])
        store._transport.write([Insert("findings", [finding])])
    else:
        store.close()
    results = await asyncio.gather(*(settling.settle() for _ in range(20)), return_exceptions=True)
    assert [type(result) for result in results] == [StoreError] * 20
    with pytest.raises(StoreError):
        await settling.settle()
    if store.is_owner:
        with pytest.raises(StoreError, match="surrogate"):
            store.close()


async def test_a_waiter_that_is_cancelled_harms_nobody(settling: Settling, gate: Gate) -> None:
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, complaint: complaints.append(complaint))
    cancelled, stays = asyncio.create_task(settling.settle()), asyncio.create_task(settling.settle())
    await reach(gate)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    gate.opened.set()
    await stays
    await settling.settle()
    assert complaints == []


def test_several_loops_at_once_are_served(store: Store, settling: Settling) -> None:
    served = []

    async def work(worker: int) -> None:
        for number in range(10):
            store.ledger.begin_calls([call(f"{worker}-{number}")], wait=False)
            await settling.settle()
            served.append((worker, number))

    threads = [threading.Thread(target=asyncio.run, args=(work(worker),)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(served) == 60
    assert settling_threads() == 1
    assert len(store.ledger.open_calls()) == 60


def test_a_loop_that_ended_meanwhile_keeps_nobody_else_waiting(settling: Settling, gate: Gate) -> None:
    async def wait_and_give_up() -> None:
        task = asyncio.create_task(settling.settle())
        await reach(gate)
        task.cancel()

    asyncio.run(wait_and_give_up())
    gate.opened.set()
    asyncio.run(settling.settle())
    assert gate.flushes == 2


async def test_closing_serves_who_waits_and_refuses_who_comes_later(settling: Settling, gate: Gate) -> None:
    waiting = asyncio.create_task(settling.settle())
    await reach(gate)
    gate.opened.set()
    await asyncio.to_thread(settling.close)
    await waiting
    settling.close()
    assert settling_threads() == 0
    with pytest.raises(StoreError, match="closed"):
        await settling.settle()


def test_closing_what_nobody_waited_for_is_harmless(store: Store) -> None:
    Settling(store).close()
    assert settling_threads() == 0
