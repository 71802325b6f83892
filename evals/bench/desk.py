"""How the review desk holds up: a full queue, many people at once, and a batch through the same database.

    python -m evals.bench.desk [--quick]

Twenty simulated people review over loopback HTTP what `nki-grader serve` hands out, out of 10,000 items,
first alone and then while `nki-grader grade` works on a batch through the same owner of the database. A lead
watches the other screens. Prints how long every screen and action took on both sides, and how many
assessments and decisions were lost or made twice. Target: p95 under 150 ms for every screen, none lost, none
twice.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from evals.bench.desk_people import Observed, work
from evals.bench.desk_queue import hire, make_queue, write_batch
from pipeline.review.desk import Desk
from pipeline.store import Store, open_store

__all__ = ["Balance", "main", "take_stock"]

PROGRAM = Path(sys.executable).with_name("nki-grader")
TARGET_MS = 150.0
_PATIENCE_SECONDS = 120.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both sides and print them side by side; return 1 if anything was lost or made twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000, help="items in the queue")
    parser.add_argument("--reviewers", type=int, default=20)
    parser.add_argument("--batch", type=int, default=2_000, help="submissions graded meanwhile")
    parser.add_argument("--seconds", type=float, default=180.0, help="for how long people work, per side")
    # With eight actions an item is done in 40 s, several times as fast as a person does it.
    parser.add_argument("--think", type=float, default=5.0, help="mean pause before every action, in seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a small run: 200 items, 5 people, 20 s a side")
    chosen = parser.parse_args(arguments)
    if chosen.quick:
        chosen.items, chosen.reviewers, chosen.batch = 200, 5, 50
        chosen.seconds, chosen.think = 20.0, 0.2
    # A shell starts background jobs with Ctrl-C ignored; the processes begun here are ended with it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database, rows = folder / "desk.duckdb", folder / "batch.jsonl"
        started = time.perf_counter()
        with open_store(database) as store:
            make_queue(store, chosen.items)
            names, token = hire(store, chosen.reviewers)
        write_batch(rows, chosen.batch)
        print(f"{chosen.items} items made in {time.perf_counter() - started:.0f} s", flush=True)
        with serving(database) as address:
            people = {"seconds": chosen.seconds, "think": chosen.think}
            alone = asyncio.run(work(address, names, **people, seed=chosen.seed))
            with grading(database, rows, address, token) as batch:
                before = batch.count_finished()
                beside = asyncio.run(work(address, names, **people, seed=chosen.seed + 1))
                after = batch.count_finished()
        print(f"{chosen.reviewers} people, {chosen.think:g} s of thought before every action")
        print(f"beside: the batch went from {before} to {after} of {chosen.batch} submissions meanwhile")
        if after == chosen.batch:
            print("the batch ended before people did: give a larger one with --batch")
        print_times(alone, beside)
        with open_store(database) as store:
            balance = take_stock(store, (alone, beside))
    print(balance.describe())
    return 1 if balance.lost or balance.doubled else 0


# Processes


@contextmanager
def serving(database: Path) -> Iterator[str]:
    """Serve the desk in a process of its own; yield the address."""
    command = [str(PROGRAM), "serve", "--db", str(database), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://[0-9.:]+", server.stdout.readline())
            if found is None:
                raise RuntimeError("the desk does not say where it is")
            yield found[0]
        finally:
            _end(server)


class Grading:
    """A batch that is being graded."""

    def __init__(self, address: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(base_url=address, headers=headers, timeout=60)
        self._before = self._list()

    def __enter__(self) -> Grading:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._client.close()

    def count_finished(self) -> int:
        """Return how many of its submissions no work is left on."""
        finished = 0
        for batch_id in self._list() - self._before:
            states = self._client.get(f"/api/v1/batches/{batch_id}").json()["states"]
            finished += sum(states.get(state, 0) for state in ("graded", "waiting", "decided", "held"))
        return finished

    def _list(self) -> set[str]:
        return {batch["id"] for batch in self._client.get("/api/v1/batches").json()["items"]}


@contextmanager
def grading(database: Path, rows: Path, address: str, token: str) -> Iterator[Grading]:
    """Grade a batch in a process at low priority; yield once the first submission of it is graded."""
    # People come first: a batch beside them runs at low priority, as docs/desk.md advises.
    command = ["nice", "-n", "19", str(PROGRAM), "grade", str(rows), "--db", str(database)]
    command += ["--allow-unsandboxed", "--plain"]
    batch = Grading(address, token)
    with batch, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_until(lambda: batch.count_finished() > 0, "the batch does not begin", process)
            yield batch
        finally:
            _end(process)


def _wait_until(holds: Callable[[], bool], otherwise: str, process: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline or process.poll() not in (None, 0):
            raise RuntimeError(otherwise)
        time.sleep(0.2)


def _end(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


# Figures


def print_times(alone: Observed, beside: Observed) -> None:
    """Print every screen and action, alone and beside a batch."""
    print(f"{'':14s}{'alone':^38s}  {'beside a batch':^38s}")
    print(f"{'':14s}" + 2 * f"{'n':>6s}{'p50':>10s}{'p95':>10s}{'max':>10s}    ")
    for what in alone.seconds:
        print(f"{what:14s}{_line(alone.seconds[what])}    {_line(beside.seconds.get(what, []))}")
    print(f"milliseconds; target: p95 under {TARGET_MS:.0f} ms for every screen")


def _line(seconds: Sequence[float]) -> str:
    if len(seconds) < 2:
        return f"{len(seconds):6d}{'too few':>30s}"
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    figures = (cuts[49], cuts[94], max(seconds))
    return f"{len(seconds):6d}" + "".join(f"{1e3 * figure:10.1f}" for figure in figures)


class Balance(NamedTuple):
    """What became of what the server said it had kept."""

    committed: int
    finished: int
    decided: int
    lost: tuple[str, ...]
    doubled: tuple[str, ...]

    def describe(self) -> str:
        """Return it as lines for people."""
        lines = [
            f"{self.committed} blind and {self.finished} final assessments acknowledged, "
            f"{self.decided} reviews decided; lost: {len(self.lost)}, doubled: {len(self.doubled)}"
        ]
        return "\n".join([*lines, *self.lost[:20], *self.doubled[:20]])


def take_stock(store: Store, sides: Sequence[Observed]) -> Balance:
    """Hold what people were told against what `store` has, after the server ended."""
    Desk(store).decide_due()
    kept: dict[str, Counter[tuple[str, int, str]]] = {"committed": Counter(), "finished": Counter()}
    for _, event in store.desk.list_events():
        if event.action.kind in kept:
            kept[event.action.kind][event.review_id, event.slot, event.actor] += 1
    lost: list[str] = []
    for kind in kept:
        for side in sides:
            told = side.committed if kind == "committed" else side.finished
            lost += [f"lost: {kind} {one}" for one in told if not kept[kind][one]]
    doubled = [f"doubled: {kind} {one}" for kind in kept for one, times in kept[kind].items() if times > 1]
    places = Counter((review_id, slot) for review_id, slot, _ in kept["committed"])
    people = Counter((review_id, name) for review_id, _, name in kept["committed"])
    doubled += [f"doubled: two people in one place {place}" for place, n in places.items() if n > 1]
    doubled += [f"doubled: one person twice in a review {who}" for who, n in people.items() if n > 1]
    decisions = Counter(state.review.id for state in store.list_reviews(open_only=False) if state.decision)
    doubled += [f"doubled: decision {review_id}" for review_id, n in decisions.items() if n > 1]
    lost += [f"lost: decision {review_id}" for review_id in Desk(store).list_due()]
    return Balance(
        committed=sum(len(side.committed) for side in sides),
        finished=sum(len(side.finished) for side in sides),
        decided=len(decisions),
        lost=tuple(lost),
        doubled=tuple(doubled),
    )


if __name__ == "__main__":
    sys.exit(main())
