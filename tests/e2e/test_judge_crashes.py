"""Whatever kills the grader while models are asked: nothing is lost, and what may be paid twice is named.

Every server here counts what reaches it. Calls that it saw, less the questions there are, is what was paid
twice; that is at most the calls that were in flight at the kills, and nothing in provider batches.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import open_store
from tests.e2e.commands import ROOT, TINY_SOLUTIONS, TINY_TASKS, copy_database, environment
from tests.e2e.judge_killer import BATCH_POINTS, LIVE_POINTS
from tests.judge.loopback import Loopback

SUBMISSIONS = 5
SAMPLES = 2
#: The answer about this one is no JSON at first, whoever asks, until the repair is asked for.
SPOILT = "variant 3"
#: Two samples of five submissions, and a repair of both samples of the spoilt one.
QUESTIONS = SUBMISSIONS * SAMPLES + SAMPLES
MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna"}
HOSTED = tuple(MODELS)
#: Where the request of the call that is killed has certainly been sent.
PAID_TWICE = ("post:pending", "answer:received", "repair:pending", "repair:received")

pytestmark = pytest.mark.slow


class Runner:
    """Runs commands in children of one process that has everything imported."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.judge_killer"],
            env=environment() | {"ANTHROPIC_API_KEY": "sk-ant-nothing", "OPENAI_API_KEY": "sk-nothing"},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, output: Path, *arguments: str | Path, **order: Any) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order |= {"arguments": [str(argument) for argument in arguments], "output": str(output)}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline())["code"])

    def close(self) -> None:
        self._process.communicate()


@dataclass
class Desk:
    """One database, one server, and the command that is run again and again."""

    runner: Runner
    folder: Path
    submissions: Path
    server: Loopback
    provider: str
    batches: bool

    @property
    def db(self) -> Path:
        return self.folder / "grader.duckdb"

    @property
    def flights(self) -> Path:
        return self.folder / "flights"

    def write_setup(self) -> Path:
        setup = self.folder / "judge.toml"
        setup.write_text(
            f'[judge]\nprovider = "{self.provider}"\nmodel = "{MODELS[self.provider]}"\nsamples = {SAMPLES}\n'
            # The address shapes the fingerprint, and runs are compared: they all ask the same one.
            f'base_url = "{self.server.url(self.provider)}"\n'
            "[policy]\nbatch_poll_seconds = 0.2\n",
            encoding="utf-8",
        )
        return setup

    def grade(self, **order: Any) -> int:
        arguments: list[str | Path] = [
            "grade", self.submissions, "--task", "tiny_add", "--tasks", TINY_TASKS, "--db", self.db,
            "--judge", self.write_setup(),
        ]  # fmt: skip
        if self.batches:
            arguments.append("--provider-batches")
        return self.runner.run(self.folder / "output", *arguments, flights=str(self.flights), **order)

    def finish(self) -> None:
        code = self.grade()
        assert code == 0, (self.folder / "output").read_text()

    def canonical_hash(self) -> str:
        with open_store(self.db, read_only=True) as store:
            return store.canonical_hash()

    def read_costs(self) -> dict[str, Any]:
        printed = self.folder / "costs.json"
        printed.unlink(missing_ok=True)
        assert self.runner.run(printed, "costs", "--db", self.db, "--by", "day", "--json") == 0
        return dict(json.loads(printed.read_text()))

    def count_in_flight(self) -> int:
        """Return how many calls were under way when the process died, by its own word."""
        open_calls: Counter[str] = Counter()
        if self.flights.exists():
            for line in self.flights.read_text().splitlines():
                mark, key = line.split(" ")
                # A call that is repeated, after an error, is still the same one.
                open_calls[key] = 1 if mark == "+" else 0
            self.flights.unlink()
        return open_calls.total()


def answer(wire: str, request: dict[str, Any]) -> str | None:
    turns = request["messages"] if wire == "anthropic" else request["input"]
    asks_anew = turns[-2]["role"] == "assistant" if len(turns) > 1 else False
    return "I like it." if SPOILT in json.dumps(turns) and not asks_anew else None


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submissions")
    code = (TINY_SOLUTIONS / "good_add.py").read_text()
    for number in range(SUBMISSIONS):
        (folder / f"s{number}.py").write_text(f'LABEL = "variant {number}"\n{code}')
    return folder


@pytest.fixture(scope="module")
def graded(runner: Runner, submissions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which everything is known but what models say."""
    folder = tmp_path_factory.mktemp("graded")
    db = folder / "grader.duckdb"
    assert runner.run(
        folder / "output", "grade", submissions, "--task", "tiny_add", "--tasks", TINY_TASKS, "--db", db
    ) == 0, (folder / "output").read_text()  # fmt: skip
    return db


@pytest.fixture(scope="module")
def port() -> int:
    """One address for all servers of this module: it is part of what a judgment depends on."""
    with Loopback() as server:
        return int(server.address.rpartition(":")[2])


@dataclass
class Ground:
    """What all runs of this module share."""

    runner: Runner
    submissions: Path
    graded: Path
    port: int
    undisturbed: dict[tuple[str, bool], str] = field(default_factory=dict)
    """What a run comes to that nobody kills, by provider and by whether batches are used."""

    @contextmanager
    def open_desk(self, folder: Path, provider: str, *, batches: bool) -> Iterator[Desk]:
        """Yield a database in `folder` and a server that answers."""
        copy_database(self.graded, folder / "grader.duckdb")
        # Answers take long enough for several calls to be under way at once, and batches for several polls.
        with Loopback(port=self.port, delay=0.15, answer=answer, batch_seconds=0.5) as server:
            yield Desk(self.runner, folder, self.submissions, server, provider, batches)


@pytest.fixture(scope="module")
def ground(
    runner: Runner, submissions: Path, graded: Path, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Ground:
    ground = Ground(runner, submissions, graded, port)
    for provider in HOSTED:
        for batches in (False, True):
            folder = tmp_path_factory.mktemp("undisturbed")
            with ground.open_desk(folder, provider, batches=batches) as desk:
                desk.finish()
                ground.undisturbed[provider, batches] = desk.canonical_hash()
                assert count_asked(desk) == QUESTIONS
    return ground


def count_asked(desk: Desk) -> int:
    """Return how many requests to models the server was sent, alone or as lines of batches it accepted."""
    return len(desk.server.calls) + sum(len(batch.lines) for batch in desk.server.desk.batches.values())


def check_end(desk: Desk, undisturbed: str, in_flight: int, *, lost: int = 0, failed: int = 0) -> None:
    """Check that nothing is lost, that little is paid twice, and that all of it is named.

    Args:
        undisturbed: What it had to come to.
        in_flight: Calls under way at the kills.
        lost: Calls whose answer broke off: they may have been paid.
        failed: Calls that the server refused.
    """
    assert desk.canonical_hash() == undisturbed
    twice = count_asked(desk) - failed - QUESTIONS
    assert 0 <= twice <= in_flight + lost
    costs = desk.read_costs()
    kept = sum(line["calls"] - line["failed"] for line in costs["lines"])
    named = len(costs["possibly_paid_twice"])
    # Every call that the server saw is in the ledger, where all but one of each question is named.
    assert count_asked(desk) - failed <= kept
    assert kept - named == QUESTIONS
    assert twice <= named <= in_flight + lost


@pytest.mark.parametrize("point", LIVE_POINTS)
def test_killed_between_live_calls_or_in_one_it_pays_twice_for_those_in_flight_at_most(
    point: str,
    ground: Ground,
    tmp_path: Path,
) -> None:
    with ground.open_desk(tmp_path, "anthropic", batches=False) as desk:
        assert desk.grade(point=point, count=LIVE_POINTS[point]) == -signal.SIGKILL
        in_flight = desk.count_in_flight()
        desk.finish()
        check_end(desk, ground.undisturbed["anthropic", False], in_flight)
        if point in PAID_TWICE:
            assert count_asked(desk) > QUESTIONS


@pytest.mark.parametrize(
    ("first", "second"), [("answer:received", "post:pending"), ("post:pending", "repair:received")]
)
def test_killed_twice_it_pays_twice_for_those_in_flight_at_both(
    first: str,
    second: str,
    ground: Ground,
    tmp_path: Path,
) -> None:
    with ground.open_desk(tmp_path, "anthropic", batches=False) as desk:
        in_flight = 0
        for point in (first, second):
            assert desk.grade(point=point, count=1) == -signal.SIGKILL
            in_flight += desk.count_in_flight()
        desk.finish()
        check_end(desk, ground.undisturbed["anthropic", False], in_flight)


def test_killed_while_a_refused_call_waits_for_its_repeat_it_pays_for_what_was_answered_only(
    ground: Ground,
    tmp_path: Path,
) -> None:
    with ground.open_desk(tmp_path, "anthropic", batches=False) as desk:
        desk.server.play("status:429;retry-after=2")
        # By then the others are answered, and the refused one waits.
        assert desk.grade(after=3.0) == -signal.SIGKILL
        in_flight = desk.count_in_flight()
        desk.finish()
        check_end(desk, ground.undisturbed["anthropic", False], in_flight, failed=1)


def test_calls_whose_answer_broke_off_before_a_kill_are_named_as_well(
    ground: Ground,
    tmp_path: Path,
) -> None:
    with ground.open_desk(tmp_path, "anthropic", batches=False) as desk:
        desk.server.play("reset-body", "reset")
        assert desk.grade(point="answer:received", count=6) == -signal.SIGKILL
        in_flight = desk.count_in_flight()
        desk.finish()
        check_end(desk, ground.undisturbed["anthropic", False], in_flight, lost=2)
        assert {call["outcome"] for call in desk.read_costs()["possibly_paid_twice"]} == {"lost", "open"}


@pytest.mark.parametrize("provider", HOSTED)
@pytest.mark.parametrize(
    ("point", "count", "step"), BATCH_POINTS, ids=[f"{point}-{n}-{step}" for point, n, step in BATCH_POINTS]
)
def test_killed_anywhere_in_the_life_of_a_batch_it_pays_for_no_line_twice(
    point: str,
    count: int,
    step: str,
    provider: str,
    ground: Ground,
    tmp_path: Path,
) -> None:
    with ground.open_desk(tmp_path, provider, batches=True) as desk:
        desk.server.play_batches(step)
        assert desk.grade(point=point, count=count) == -signal.SIGKILL
        if step in ("hang", "drip"):
            assert desk.server.requests[-1].step == step
        desk.finish()
        check_end(desk, ground.undisturbed[provider, True], in_flight=0)


@pytest.mark.parametrize("provider", HOSTED)
@pytest.mark.parametrize(
    "points",
    [("submit:accepted", "adopted:noted"), ("intend:after", "refused:noted"), ("ends:kept", "ends:kept")],
    ids="-".join,
)
def test_killed_again_while_it_mends_the_first_kill_it_pays_for_no_line_twice(
    points: tuple[str, str],
    provider: str,
    ground: Ground,
    tmp_path: Path,
) -> None:
    with ground.open_desk(tmp_path, provider, batches=True) as desk:
        for point in points:
            assert desk.grade(point=point) == -signal.SIGKILL
        desk.finish()
        check_end(desk, ground.undisturbed[provider, True], in_flight=0)


@pytest.mark.parametrize("batches", [False, True], ids=["live", "batches"])
@pytest.mark.parametrize("seed", range(5))
def test_killed_twice_at_random_moments_it_ends_as_if_undisturbed(
    seed: int,
    batches: bool,
    ground: Ground,
    tmp_path: Path,
) -> None:
    moments = random.Random(seed)
    provider = HOSTED[seed % 2]
    with ground.open_desk(tmp_path, provider, batches=batches) as desk:
        in_flight = 0
        for _ in range(2):
            desk.grade(after=moments.uniform(0.2, 2.5))
            in_flight += desk.count_in_flight()
        desk.finish()
        check_end(desk, ground.undisturbed[provider, batches], in_flight)
