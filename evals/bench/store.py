"""How fast the store is: stage records and memo lookups per second, in process and over the socket.

Run with ``python evals/bench/store.py [RECORDS]``; nothing here is a test.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.store import StageRecord, Store, open_store
from pipeline.types import CheckReport, CheckStatus, Fact, Provenance, Score


def record(number: int) -> StageRecord:
    """A stage record of the size that grading makes: 2 KB of output, 20 facts, 6 checks, 6 scores."""
    return StageRecord(
        stage="inspect",
        key=f"{number:064x}",
        output='{"verdict": "correct", "text": "' + "x" * 2000 + '"}',
        seconds=0.01,
        facts=tuple(
            Fact(id=f"profile.fact_{index}", value=index * number, provenance=Provenance.COUNTED)
            for index in range(20)
        ),
        reports=tuple(
            CheckReport(check=f"check_{index}", status=CheckStatus.PASSED, reason="as it should be")
            for index in range(6)
        ),
        scores=tuple(
            Score(criterion=f"criterion_{index}", level=index % 5, source="judge", reason="as it is")
            for index in range(6)
        ),
    )


def rate(count: int, work: Callable[[], None]) -> str:
    started, used = time.perf_counter(), time.process_time()
    work()
    wall, processor = time.perf_counter() - started, time.process_time() - used
    return (
        f"{count / wall:9,.0f} /s   {1e3 * wall / count:7.3f} ms wall   {1e3 * processor / count:7.3f} ms cpu"
    )


def measure(store: Store, count: int, first: int) -> None:
    records = [record(first + number) for number in range(count)]

    def write() -> None:
        for item in records:
            store.record_stage(item)
        store.flush()

    def look_up() -> None:
        for item in records:
            store.find_stage(item.stage, item.key)

    def miss() -> None:
        for number in range(count):
            store.find_stage("build", f"{number:064x}")

    def wait_each() -> None:
        for item in records[: count // 20]:
            store.record_stage(item.model_copy(update={"stage": "assess"}))
            store.flush()

    def from_threads() -> None:
        threads = [
            threading.Thread(
                target=lambda part=part: [store.find_stage(item.stage, item.key) for item in records[part::4]]
            )
            for part in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    print(f"  records, flushed at the end   {rate(count, write)}")
    print(f"  records, each flushed         {rate(count // 20, wait_each)}")
    print(f"  lookups, found                {rate(count, look_up)}")
    print(f"  lookups, not found            {rate(count, miss)}")
    print(f"  lookups from 4 threads        {rate(count, from_threads)}")
    started = time.perf_counter()
    store.snapshot()
    print(f"  snapshot                      {1e3 * (time.perf_counter() - started):9.1f} ms")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.duckdb"
        started = time.perf_counter()
        with open_store(path) as owner:
            print(f"made and opened in {1e3 * (time.perf_counter() - started):.0f} ms")
            print("in process")
            measure(owner, count, 0)
            with open_store(path) as client:
                print("over the socket")
                measure(client, count, count)
            started = time.perf_counter()
        print(f"closed in {1e3 * (time.perf_counter() - started):.0f} ms")
        started = time.perf_counter()
        with open_store(path):
            print(f"opened again in {1e3 * (time.perf_counter() - started):.0f} ms")
        print(f"{path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
