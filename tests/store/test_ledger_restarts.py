"""What a kill leaves of the ledger, and what the next process makes of it."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.store import open_store
from tests.store.calls import answer, answered, ask_snapshot, call, provider_batch
from tests.store.examples import NOON, database
from tests.store.processes import ROOT, heard, started, tell


def run_until_killed(code: str, path: Path) -> None:
    """Run `code` in a process that has the database at `path` open as ``store`` and kills itself."""
    script = (
        "import os, signal, sys, asyncio\n"
        "from pathlib import Path\n"
        "from pipeline.store import open_store\n"
        "from tests.store.calls import *\n"
        "store = open_store(Path(sys.argv[1]))\n"
        "ledger = store.ledger\n"
        f"{code}\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(path)], cwd=ROOT, check=False)
    assert ran.returncode == -9


def test_a_call_that_was_in_flight_at_a_kill_is_open_afterwards(tmp_path: Path) -> None:
    path = database(tmp_path)
    run_until_killed(
        "ledger.begin_calls([call('a'), call('b')])\nledger.end_calls([(answered('a', 500), answer())])", path
    )
    with open_store(path) as store:
        assert store.notices == []
        assert store.ledger.open_calls() == [call("b")]
        assert store.ledger.find_answer("k-a") == answer()
        assert store.ledger.spent() == 1400
        # Asked again: the first may have been paid as well, and is named.
        store.ledger.begin_calls([call("again", key="k-b", started_at=NOON + timedelta(hours=1))])
        store.ledger.end_calls([(answered("again", 600), answer())])
        (line,) = store.ledger.list_costs("role")
        assert (line.calls, line.open, line.cost, line.possibly_twice_cost) == (3, 1, 2000, 900)


def test_a_batch_that_was_intended_at_a_kill_is_known_afterwards(tmp_path: Path) -> None:
    path = database(tmp_path)
    run_until_killed("ledger.intend_batch(*provider_batch('one', 'b', 'a'))", path)
    opened, calls = provider_batch("one", "b", "a")
    with open_store(path) as store:
        (state,) = store.ledger.list_provider_batches()
        assert (state.batch, state.events) == (opened, ())
        assert store.ledger.list_calls_of_batch("pb-one") == calls
        store.ledger.note_batch("pb-one", "adopted", "msgbatch_1")
        store.ledger.end_calls([(answered("a"), answer("of a")), (answered("b"), answer("of b"))])
        assert store.ledger.find_answer("k-b") == answer("of b")


WRITE_FOR_EVER = """
import threading
threading.Timer({delay}, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
number = 0
while True:
    ledger.begin_calls([call(str(number))], wait=False)
    ledger.end_calls([(answered(str(number), 1), answer(str(number)))], wait=number % 50 == 0)
    number += 1
"""


@pytest.mark.parametrize("seed", range(3))
def test_whenever_it_is_killed_an_end_has_its_answer_and_its_beginning(tmp_path: Path, seed: int) -> None:
    path = database(tmp_path)
    delay = 0.2 + random.Random(seed).uniform(0.0, 0.3)
    run_until_killed(WRITE_FOR_EVER.format(delay=delay), path)
    with open_store(path) as store:
        ended, whole = ask_snapshot(
            store,
            "SELECT (SELECT count(*) FROM call_ends), (SELECT count(*) FROM call_ends e"
            " JOIN calls c ON c.id = e.call_id JOIN answers a ON a.call_id = e.call_id)",
        )[0]
        assert ended == whole
        assert store.ledger.spent() == ended + 900 * len(store.ledger.open_calls())


@pytest.mark.parametrize("end", ["in good order", "by a kill"])
def test_what_an_owner_took_is_there_once_after_it_ended(tmp_path: Path, end: str) -> None:
    path = database(tmp_path)
    with started("hold", path) as owner:
        heard(owner)
        with open_store(path) as store:
            store.ledger.intend_batch(*provider_batch("one", "b"))
            store.ledger.begin_calls([call("a")], wait=False)
            store.ledger.end_calls([(answered("a"), answer())], wait=False)
            store.ledger.note_batch("pb-one", "sent", "msgbatch_1", wait=False)
            # Reading commits at the owner what the client still believes to be on its way.
            assert len(store.ledger.list_provider_batches()[0].events) == 1
            if end == "by a kill":
                owner.kill()
            else:
                tell(owner)
            owner.wait()
            (state,) = store.ledger.list_provider_batches()
            assert store.is_owner
            assert [event.event for event in state.events] == ["sent"]
            assert store.ledger.find_answer("k-a") == answer()
            assert store.ledger.spent() == 500 + 900


def test_a_kill_after_settling_loses_nothing(tmp_path: Path) -> None:
    path = database(tmp_path)
    run_until_killed(
        "from pipeline.store.settling import Settling\n"
        "async def work(settling, name):\n"
        "    ledger.begin_calls([call(name)], wait=False)\n"
        "    await settling.settle()\n"
        "async def main():\n"
        "    settling = Settling(store)\n"
        "    await asyncio.gather(*(work(settling, str(number)) for number in range(100)))\n"
        "asyncio.run(main())",
        path,
    )
    with open_store(path) as store:
        assert {each.id for each in store.ledger.open_calls()} == {f"c-{number}" for number in range(100)}
