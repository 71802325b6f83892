"""Whatever kills the grader while models are asked: nothing is lost, and what may be paid twice is named.

Every server here counts what reaches it. Calls that it saw, less the questions there are, is what was paid
twice; that is at most the calls that were in flight at the kills, and nothing in provider batches.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import open_store
from tests.e2e.commands import TINY_SOLUTIONS, TINY_TASKS, copy_database, run, run_json
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
INSTALL = "tests.e2e.judge_killer:install"
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-nothing", "OPENAI_API_KEY": "sk-nothing"}

pytestmark = pytest.mark.slow


@dataclass
class Desk:
    """One database, one server, and the command that is run again and again."""

    folder: Path
    submissions: Path
    server: Loopback
    provider: str
    batches: bool
    undisturbed: str
    """What a run comes to that nobody kills."""

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
            "[policy]\nbatch_poll_seconds = 0.1\n",
            encoding="utf-8",
        )
        return setup

    def grade(self, *, timeout: float = 240, **plan: Any) -> subprocess.CompletedProcess[str]:
        """Run the command, in a process that is patched as `judge_killer.Plan` says."""
        arguments: list[str | Path] = [
            "grade", self.submissions, "--task", "tiny_add", "--tasks", TINY_TASKS, "--db", self.db,
            "--judge", self.write_setup(),
        ]  # fmt: skip
        if self.batches:
            arguments.append("--provider-batches")
        plan["flights"] = str(self.flights)
        return run(*arguments, timeout=timeout, patch=INSTALL, plan=plan, variables=KEYS)

    def kill(self, **plan: Any) -> None:
        """Run it until it dies where `plan` says."""
        assert self.grade(**plan).returncode == -signal.SIGKILL

    def kill_after(self, seconds: float) -> bool:
        """Kill it after so many seconds; return whether it had not ended by then."""
        try:
            self.grade(timeout=seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def finish(self) -> None:
        done = self.grade()
        assert done.returncode == 0, done.stderr

    def canonical_hash(self) -> str:
        with open_store(self.db, read_only=True) as store:
            return store.canonical_hash()

    def read_costs(self) -> dict[str, Any]:
        return dict(run_json("costs", "--db", self.db, "--by", "day"))

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
def submissions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submissions")
    code = (TINY_SOLUTIONS / "good_add.py").read_text()
    for number in range(SUBMISSIONS):
        (folder / f"s{number}.py").write_text(f'LABEL = "variant {number}"\n{code}')
    return folder


@pytest.fixture(scope="module")
def graded(submissions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which everything is known but what models say."""
    folder = tmp_path_factory.mktemp("graded")
    db = folder / "grader.duckdb"
    done = run("grade", submissions, "--task", "tiny_add", "--tasks", TINY_TASKS, "--db", db)
    assert done.returncode == 0, done.stderr
    return db


@pytest.fixture(scope="module")
def port() -> int:
    """One address for all servers of this module: it is part of what a judgment depends on."""
    with Loopback() as server:
        return int(server.address.rpartition(":")[2])


@dataclass
class Ground:
    """What all runs of this module share."""

    submissions: Path
    graded: Path
    port: int
    folders: pytest.TempPathFactory
    _undisturbed: dict[tuple[str, bool], str] = field(default_factory=dict)

    @contextmanager
    def open_desk(self, folder: Path, provider: str, *, batches: bool) -> Iterator[Desk]:
        """Yield a database in `folder` and a server that answers."""
        if (provider, batches) not in self._undisturbed:
            with self._open(self.folders.mktemp("undisturbed"), provider, batches, "") as desk:
                desk.finish()
                assert count_asked(desk) == QUESTIONS
                self._undisturbed[provider, batches] = desk.canonical_hash()
        with self._open(folder, provider, batches, self._undisturbed[provider, batches]) as desk:
            yield desk

    @contextmanager
    def _open(self, folder: Path, provider: str, batches: bool, undisturbed: str) -> Iterator[Desk]:
        copy_database(self.graded, folder / "grader.duckdb")
        # Answers take long enough for several calls to be under way at once, and batches for several polls.
        with Loopback(port=self.port, delay=0.1, answer=answer, batch_seconds=0.25) as server:
            yield Desk(folder, self.submissions, server, provider, batches, undisturbed)


@pytest.fixture(scope="module")
def ground(submissions: Path, graded: Path, port: int, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(submissions, graded, port, tmp_path_factory)


def count_asked(desk: Desk) -> int:
    """Return how many requests to models the server was sent, alone or as lines of batches it accepted."""
    return len(desk.server.calls) + sum(len(batch.lines) for batch in desk.server.desk.batches.values())


def check_end(desk: Desk, in_flight: int, *, lost: int = 0, failed: int = 0) -> None:
    """Check that nothing is lost, that little is paid twice, and that all of it is named.

    Args:
        in_flight: Calls under way at the kills.
        lost: Calls whose answer broke off: they may have been paid.
        failed: Calls that the server refused.
    """
    assert desk.canonical_hash() == desk.undisturbed
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
        desk.kill(point=point, count=LIVE_POINTS[point])
        in_flight = desk.count_in_flight()
        desk.finish()
        check_end(desk, in_flight)
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
            desk.kill(point=point, count=1)
            in_flight += desk.count_in_flight()
        desk.finish()
        check_end(desk, in_flight)


def test_killed_while_a_refused_call_waits_for_its_repeat_it_pays_for_what_was_answered_only(
    ground: Ground,
    tmp_path: Path,
) -> None:
    with ground.open_desk(tmp_path, "anthropic", batches=False) as desk:
        desk.server.play("status:429;retry-after=2")
        # By then the others are answered, and the refused one waits.
        assert desk.kill_after(3.0)
        in_flight = desk.count_in_flight()
        desk.finish()
        check_end(desk, in_flight, failed=1)


def test_calls_whose_answer_broke_off_before_a_kill_are_named_as_well(
    ground: Ground,
    tmp_path: Path,
) -> None:
    with ground.open_desk(tmp_path, "anthropic", batches=False) as desk:
        desk.server.play("reset-body", "reset")
        desk.kill(point="answer:received", count=6)
        in_flight = desk.count_in_flight()
        desk.finish()
        check_end(desk, in_flight, lost=2)
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
        desk.kill(point=point, count=count)
        if step in ("hang", "drip"):
            assert desk.server.requests[-1].step == step
        desk.finish()
        check_end(desk, in_flight=0)


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
            desk.kill(point=point)
        desk.finish()
        check_end(desk, in_flight=0)


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
            desk.kill_after(moments.uniform(0.1, 1.2))
            in_flight += desk.count_in_flight()
        desk.finish()
        check_end(desk, in_flight)
