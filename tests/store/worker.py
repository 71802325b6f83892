"""Another process, for tests: ``python -m tests.store.worker ACTION DATABASE``; prints JSON lines."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

from pipeline.store import Store, StoreError, open_store
from tests.store.desk_examples import claimed, committed
from tests.store.examples import batch, decision, grade, save_waiting, stage, submission


def say(**words: object) -> None:
    print(json.dumps(words), flush=True)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wal_size(path: Path) -> int:
    return path.with_name(path.name + ".wal").stat().st_size


def close_two_batches(store: Store) -> None:
    """Two closed batches of two gradings each and one decision; says how long the log is each time."""
    for name in ("one", "two"):
        members = (f"{name}1", f"{name}2")
        store.open_batch(batch(name, *members))
        say(committed=f"{name} opened", wal=wal_size(store.path))
        for member in members:
            save_waiting(store, member)
            say(committed=member, wal=wal_size(store.path))
        store.close_batch(f"b-{name}")
        say(committed=f"{name} closed", wal=wal_size(store.path), hash=store.canonical_hash())
    store.decide(decision("one1"))
    say(committed="decided", wal=wal_size(store.path), hash=store.canonical_hash())
    die()


def write_until_killed(store: Store) -> None:
    """Says the number of every submission once it is committed."""
    number = 0
    while True:
        store.save_submissions([submission(f"{number:06}")])
        store.record_stage(stage(f"{number:06}"))
        number += 1
        if number % 7 == 0:
            store.flush()
            say(flushed=number, owner=store.is_owner)


def decide_until_killed(store: Store) -> None:
    """Says each decision once it is made."""
    number = 0
    while True:
        save_waiting(store, str(number))
        store.decide(decision(str(number)))
        say(decided=number)
        number += 1


def commit_until_killed(store: Store) -> None:
    """Says each blind assessment once it is kept."""
    number = 0
    while True:
        save_waiting(store, str(number))
        store.desk.record([claimed(str(number)), committed(str(number))])
        say(committed=number)
        number += 1


def hold(store: Store) -> None:
    """Owns the database until it is told to go."""
    say(owner=store.is_owner)
    sys.stdin.readline()


def hold_and_freeze(store: Store) -> None:
    """Owns the database, publishes a snapshot, and stops answering."""
    save_waiting(store, "old")
    store.snapshot()
    save_waiting(store, "new")
    say(owner=store.is_owner)
    os.kill(os.getpid(), signal.SIGSTOP)


def hold_and_leave_a_child(store: Store) -> None:
    """Dies and leaves a forked child behind that holds on to whatever it inherited."""
    save_waiting(store, "a")
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    say(child=child)
    sys.stdin.readline()
    die()


def fill_the_disk(store: Store) -> None:
    """Writes until the system refuses, and says what the store made of it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
    number = 0
    try:
        while True:
            store.save_artifact(number.to_bytes(4, "big") + os.urandom(1 << 16), "application/octet-stream")
            store.save_submissions([submission(str(number))])
            store.flush()
            number += 1
    except StoreError as error:
        say(flushed=number, fault=str(error), code=error.fault.code)
    try:
        store.save_submissions([submission("after")])
    except StoreError as error:
        say(code=error.fault.code)
    die()


def grade_one(store: Store) -> None:
    """What a second process does while a batch runs elsewhere."""
    save_waiting(store, "other")
    store.decide(decision("other"))
    store.save_grade(grade("other"))
    say(owner=store.is_owner, state=store.load_summary("g-other").state)


ACTIONS = {
    action.__name__: action
    for action in (
        close_two_batches,
        write_until_killed,
        decide_until_killed,
        commit_until_killed,
        hold,
        hold_and_freeze,
        hold_and_leave_a_child,
        fill_the_disk,
        grade_one,
    )
}

if __name__ == "__main__":
    with open_store(Path(sys.argv[2])) as opened:
        ACTIONS[sys.argv[1]](opened)
